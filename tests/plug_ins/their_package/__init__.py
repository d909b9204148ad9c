"""A package of a user's own, which CONTRIBUTING.md walks through: public names of Mercer only."""
