"""Parameters of several learners: their checks, what ``solver=`` takes, and what "auto" means.

An error names the parameter. ``solver=`` takes one of a learner's names, or a solver value, yours
too: a dataclass with ``solve``. What is in the learner's own equation, such as λ or the number of
clusters, replaces the value's field of that name. All other fields stay as they are, and the
learner's parameters for its named solvers (``tol``, ``max_iter``) are not read.

Beyond some number of rows, `LIMITS`, an exact fit takes longer than minutes. "auto" then
approximates K by a factor with few columns, and predictions compare new samples with its centres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mercer.estimator import Seed


def is_auto(value: object) -> bool:
    """Whether a parameter leaves the choice to the learner; arrays do not."""
    return isinstance(value, str) and value == "auto"


def drawn_seed(random_state: Seed) -> int:
    """A seed for generators that take a whole number, drawn from ``random_state``."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_seed(value: Seed) -> None:
    """Raise an error if ``random_state`` seeds no generator of random numbers."""
    try:
        check_random_state(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={value!r}: give a whole number from 0 to 2**32 - 1, a "
            "numpy.random.RandomState, or None."
        ) from None


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


PENALTY_ROWS = 1400  # most rows of the fit that chooses λ for one of more rows
SQUARES = 80  # bytes for each pair of columns of a factor: some small matrices in float64


class Limits(NamedTuple):
    """The limits of one kind of fit.

    Attributes
    ----------
    exact_rows : int
        Most rows for which it is exact.
    rank : int
        Centres of a low-rank machine, if ``rank`` is not given.
    matrices : int
        n x n matrices that an exact fit holds, K among them.
    """

    exact_rows: int
    rank: int
    matrices: int = 2

    def exact(self, solver: str, n: int) -> bool:
        """Whether a fit to n rows is exact, with ``solver`` "auto", "low_rank" or another."""
        return solver != "low_rank" and (solver != "auto" or n <= self.exact_rows)


#: What a fit costs beyond K itself: seconds on 2 cores of an AMD EPYC, in float64.
LIMITS = {
    # Cholesky, n³ / 3 operations: 30 s at 20,000 rows on 2 cores
    "ridge": Limits(20_000, 2000),
    # exact inside leaves, with this many centres between them: 5 s at 100,000 rows on 2 cores
    "local ridge": Limits(0, 500),
    # as "ridge"; for classes the inverse of the factor too, which costs as much again
    "feature machine": Limits(20_000, 2000),
    # an eigendecomposition, for all penalties at once: 3 s at 3,000 rows on 2 cores
    "leave one out": Limits(3000, 2000, 4),
    # an eigendecomposition, and features of all rows
    "discriminant": Limits(3000, 1000, 5),
    # two of them, and five more of each for the folds: 20 s at 1,000 rows on 2 cores
    "two views": Limits(1000, 400, 5),
    # an eigendecomposition, and Newton steps on all rows for each class
    "logistic": Limits(3000, 1000, 4),
    # all of K once, then rows of it: 20 s at 20,000 rows and 20 clusters
    "k-means": Limits(20_000, 300),
    # some fifty steps of 20 n³ operations for each layer; it counts its matrices by itself
    "deep kernel machine": Limits(1000, 200),
    # about ten products with K: 3 minutes at 100,000 rows, within 1 GB
    "components": Limits(100_000, 1000, 4),
    # rows of K when they are needed: 35 s at 200,000 rows, within 2 GB
    "support vectors": Limits(200_000, 2000),
}
