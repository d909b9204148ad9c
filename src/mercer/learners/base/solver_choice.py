"""What ``solver=`` of a learner takes: one of its names, or a solver value, yours too.

A value is a dataclass with ``solve``. What is in the learner's own equation, such as λ or the
number of clusters, replaces the value's field of that name. All other fields stay as they
are, and the learner's parameters for its named solvers (``tol``, ``max_iter``) are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any


def is_value(solver: Any) -> bool:
    """Whether a solver that `check_solver` let pass is a value, and not a name."""
    return not isinstance(solver, str)


def solver_name(solver: Any) -> str:
    """The name for ``solver_``: that of a value is its class's."""
    return type(solver).__name__ if is_value(solver) else solver


def check_solver(
    solver: Any, names: Sequence[str], replaced: Sequence[str] = (), *, argument: str = "solver"
) -> None:
    """Refuse what is neither a known name nor a solver value.

    Parameters
    ----------
    solver : object
        What the user gave.
    names : sequence of str
        The names that the learner knows.
    replaced : sequence of str
        Fields of a value that the learner replaces by its own numbers.
    argument : str
        The name of the learner's parameter.

    Raises
    ------
    ValueError
        The message names the argument, what came, and what may be given.
    """
    choices = f"give one of {list(names)}, or a solver: a dataclass with solve()"
    if replaced:
        choices += f" and the field {' and '.join(replaced)}"
    if isinstance(solver, str):
        if solver not in names:
            raise ValueError(f"{argument}={solver!r}: {choices}.")
        return
    if isinstance(solver, type):
        raise ValueError(
            f"{argument}={solver.__name__}, which is a class: give a value of it, such as "
            f"{solver.__name__}(), or one of {list(names)}."
        )
    known = {field.name for field in fields(solver)} if is_dataclass(solver) else set()
    solves = callable(getattr(solver, "solve", None))
    if not (solves and is_dataclass(solver) and known.issuperset(replaced)):
        raise ValueError(f"{argument}={solver!r}: {choices}.")
