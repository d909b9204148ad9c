"""A package of a user's own: docs/extending.rst explains it. It uses only public names."""
