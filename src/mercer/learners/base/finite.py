"""Raise an error if what a fit stores or a prediction returns is not finite.

During a fit nothing checks for overflow, so this costs nothing. At the end the solution is checked,
which is small compared with K. If it is not finite, or if a factorisation failed before, the error
names the number that is farthest from 1: a column of X, y, the weights or a parameter. Predictions
are checked in the same way. Errors of a user's own code, such as a kernel's function, are not
replaced.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from numbers import Integral
from traceback import walk_tb
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.samples import Samples, column_names, is_number

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
    """Decorate ``fit``: a solution that is not finite is an error that names the scale to blame."""

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
