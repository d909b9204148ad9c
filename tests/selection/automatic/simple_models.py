"""Simple models of encoded rows, fitted by their names as a search does."""

from mercer.selection.automatic.candidates import MACHINES, Candidate, simple_candidates
from mercer.selection.automatic.machines import Recipe


def simple_names(features):
    """The names of those that suit a table."""
    return tuple(candidate.name for candidate in simple_candidates(features))


def simple_model(name, features, M, y, task, weights=None):
    """The machine of a simple model for a `Task`."""
    machine, kind = next((m, k) for m, k in MACHINES.items() if k.prefix == name)
    kernel = Candidate(kind.family, machine=machine).kernel(features)
    return Recipe(machine).fit(task, kernel, M, y, weights)
