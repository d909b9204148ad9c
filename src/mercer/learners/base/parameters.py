"""What learners check: parameters before a fit, and whether what it finds is finite after it.

An error names the parameter. ``solver=`` takes one of a learner's names, or a solver value, yours
too: a dataclass with ``solve``. What is in the learner's own equation, such as λ or the number of
clusters, replaces the value's field of that name. All other fields stay as they are, and the
learner's parameters for its named solvers (``tol``, ``max_iter``) are not read.

Beyond some number of rows, `LIMITS`, an exact fit takes longer than minutes. "auto" then
approximates K by a factor with few columns, and predictions compare new samples with its centres.

During a fit nothing checks for overflow, so `finite_fit` costs nothing. At the end the solution is
checked, which is small compared with K. If it is not finite, or if a factorisation failed before,
the error names the number that is farthest from 1: a column of X, y, the weights or a parameter.
Predictions are checked in the same way. Errors of a user's own code, such as a kernel's function,
are not replaced.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from numbers import Integral
from traceback import walk_tb
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils import check_random_state

from mercer.estimator import Seed
from mercer.samples import Samples, column_names, is_number
from mercer.threads import fitting


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


def is_value(solver: object) -> bool:
    """Whether a solver that `check_solver` let pass is a value, and not a name."""
    return not isinstance(solver, str)


def solver_name(solver: Any) -> str:
    """The name for ``solver_``: that of a value is its class's."""
    return type(solver).__name__ if is_value(solver) else solver


def check_solver(
    solver: object, names: Sequence[str], replaced: Sequence[str] = (), *, argument: str = "solver"
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


P = ParamSpec("P")
Owner = TypeVar("Owner")
Given = TypeVar("Given")
Learner = TypeVar("Learner")
Outputs = TypeVar("Outputs")

SOLUTION = ("dual_coef_", "leaf_coef_", "coef_", "intercept_", "eigenvalues_", "projection_")
#: what stops for numbers that are too large or too small; SciPy's are ValueErrors as well
BROKEN = (np.linalg.LinAlgError, ArithmeticError)
#: packages whose errors are about numbers that this library gave them
OURS = {"mercer", "numpy", "scipy", "sklearn", "threadpoolctl", *sys.stdlib_module_names}
SHRINK = "divide {name} by its largest value"
COLUMNS = f"{SHRINK} (sklearn.preprocessing.MaxAbsScaler does it for all columns)"


def finite_fit(
    fit: Callable[Concatenate[Owner, Given, P], Learner],
) -> Callable[Concatenate[Owner, Given, P], Learner]:
    """Decorate ``fit``, in place of `fitting`: a solution that is not finite is an error too, which
    names the scale to blame."""

    @fitting
    @functools.wraps(fit)
    def guarded(self: Owner, X: Given, *args: P.args, **kwargs: P.kwargs) -> Learner:
        given: dict[str, Any] = {**dict(zip(("y", "sample_weight"), args)), **kwargs}
        with np.errstate(all="ignore"):
            try:
                learner = fit(self, X, *args, **kwargs)
            except BROKEN as error:
                if _is_theirs(error):
                    raise
                raise ValueError(_explain(self, "the fit", X, given)) from error
            if not _is_solved(self):
                raise ValueError(_explain(self, "the solution", X, given))
        return learner

    return guarded


def finite_values(
    values: Callable[Concatenate[Owner, Given, P], Outputs],
) -> Callable[Concatenate[Owner, Given, P], Outputs]:
    """Decorate a method that computes outputs for new samples: outputs are finite, or an error."""

    @functools.wraps(values)
    def guarded(self: Owner, X: Given, *args: P.args, **kwargs: P.kwargs) -> Outputs:
        with np.errstate(all="ignore"):
            try:
                outputs = values(self, X, *args, **kwargs)
            except BROKEN as error:
                if _is_theirs(error):
                    raise
                raise ValueError(_explain(self, "the prediction", X, {})) from error
            if not _finite(outputs):
                raise ValueError(_explain(self, "the prediction", X, {}))
        return outputs

    return guarded


def _is_theirs(error: BaseException) -> bool:
    """Whether an error comes from code of a user, which knows more than the scale of numbers.

    A user's function has a note, also where another process called it.
    """
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    packages = {frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames}
    return bool(getattr(error, "__notes__", ())) or not packages <= OURS


def _is_solved(learner: object) -> bool:
    """Whether the solution is finite, in the precision of predictions too."""
    fitted = vars(learner)
    dtype = getattr(fitted.get("X_fit_"), "dtype", np.dtype(np.float64))
    dtype = dtype if np.dtype(dtype).kind == "f" else np.float64
    return all(_finite(fitted[name], dtype) for name in SOLUTION if name in fitted)


def _finite(values: Any, dtype: DTypeLike = np.float64) -> bool:
    values = values.data if sp.issparse(values) else np.asarray(values)
    return bool(np.isfinite(values.astype(dtype, copy=False)).all())


def _explain(learner: object, what: str, X: Any, given: dict[str, Any]) -> str:
    """The message: what is not finite, the number farthest from 1, and the remedy."""
    scales = _scales(learner, X, given)
    name, value, remedy = max(scales, key=_suspicion, default=("", 1.0, ""))
    message = f"{type(learner).__name__}: {what} is not finite"
    if not name:
        return f"{message}: check that the kernel returns finite numbers for these samples."
    size = "reaches" if value > 1 else "is at most"
    return f"{message}. {name} {size} {value:.3g}, where numbers near 1 are wanted: {remedy}."


def _suspicion(scale: tuple[str, float, str]) -> float:
    """Large numbers overflow by themselves; of small ones only the reciprocals do."""
    digits = np.log10(scale[1])
    return digits if digits > 0 else -digits / 4


def _scales(learner: Any, X: Samples, given: dict[str, Any]) -> Iterator[tuple[str, float, str]]:
    """Each number that a fit depends on: its name, its size > 0, and what to do about it."""
    for j, size in enumerate(_column_sizes(X)):
        name = f"column {column_names(X)[j]!r} of X"
        yield from _scale(name, size, COLUMNS)
    for name in ("y", "sample_weight"):
        values = np.asarray(given.get(name, ()))
        if values.dtype.kind in "fiu" and values.size:
            yield from _scale(name, np.abs(values.astype(np.float64)).max(), SHRINK)
    # whole numbers of a learner are counts, such as max_iter, on which no scale depends
    own = {k: v for k, v in learner.get_params(deep=False).items() if not isinstance(v, Integral)}
    kernel = learner.kernel_.get_params() if "kernel_" in vars(learner) else {}
    for name, value in {**{f"{k} of the kernel": v for k, v in kernel.items()}, **own}.items():
        if is_number(value):
            yield from _scale(name, abs(float(value)), "give a value nearer to 1")


def _scale(name: str, size: float, remedy: str) -> Iterator[tuple[str, float, str]]:
    if 0 < size < np.inf:
        yield name, float(size), remedy.format(name=name)


def _column_sizes(X: Any) -> np.ndarray:
    """The largest size of the numbers in each column; nothing for samples that are not numbers."""
    try:
        values = abs(X).max(axis=0).toarray() if sp.issparse(X) else np.asarray(X, np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0)
    return np.abs(values).reshape(-1, values.shape[-1]).max(axis=0) if values.ndim else values
