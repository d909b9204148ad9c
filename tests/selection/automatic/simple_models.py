"""Simple models of encoded rows, fitted by their names as a search does."""

from mercer.machines.candidates import Recipe, machine_kinds, simple_candidates
from mercer.machines.candidates.candidate import Candidate


def simple_names(features):
    """The names of those that suit a table."""
    return tuple(candidate.name for candidate in simple_candidates(features))


def simple_model(name, features, M, y, task, weights=None):
    """The machine of a simple model for a `Task`."""
    family, machine = next((k.family, k.name) for k in machine_kinds() if k.simple == name)
    kernel = Candidate(family, machine=machine).kernel(features)
    return Recipe(machine).fit(task, kernel, M, y, weights)
