"""A distance of any objects, from a function of two of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from time import perf_counter
from typing import Any, Self

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.comparison import Comparison
from mercer.distances.meaning import Meaning
from mercer.distances.products import dense_rows
from mercer.samples import Objects
from mercer.threads import count_jobs, raise_if_stopped

# The common part of kernels and distances that call a user's function of two objects.


TRIED = 5  # pairs on which the symmetry is tested
LONG = 10.0  # if all calls take more seconds than this, several processes share them


class PairFunction(Comparison):
    """Abstract: a comparison whose values are ``function(x, z)``, a number for two objects."""

    kind = "objects"
    #: what the function must return, for error messages
    wanted: str = "a finite number"
    #: what to do if the function is not symmetric, for error messages
    remedy: str = "Give a function that is symmetric."
    #: what to do with a function of whole samples, for error messages
    instead: str = ""
    function: Callable[[Any, Any], float]

    def validate(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r}: give a function of two objects.")

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self.validate()
        if self.symmetric:
            self._look_at_symmetry(X)
        return self

    def block(self, X: Any, Z: Any) -> np.ndarray:
        out = np.empty((X.shape[0], Z.shape[0]), np.result_type(X.dtype, Z.dtype))
        half, columns = self.symmetric and X is Z, listed(Z)
        for i, x in enumerate(listed(X)):
            raise_if_stopped()
            first = i if half else 0
            others = enumerate(columns[first:], first)
            out[i, first:] = [self.value(X, i, x, Z, j, z) for j, z in others]
        if half:
            below = np.tril_indices(len(out), -1)
            out[below] = out.T[below]
        return out

    def value(self, X: Any, i: int, x: Any, Z: Any, j: int, z: Any) -> float:
        """function(x, z), where x is the i-th object of X and z the j-th of Z; errors name them."""
        try:
            value = self.function(x, z)
        except Exception as error:  # the user's function failed: say how it was called
            name, pair = function_name(self.function), f"{_sample(X, i)} and {_sample(Z, j)}"
            error.add_note(f"{name} was called with two objects, {pair}. {self.instead}".rstrip())
            raise
        if not _is_number(value):
            raise ValueError(self.refused(value, X, i, Z, j))
        return value

    def whole(
        self, X: Any, Z: Any, n_jobs: int | None = None, values: Callable | None = None
    ) -> np.ndarray:
        """All values; with several processes if calls are slow and the function can be pickled."""
        n, m, jobs = X.shape[0], Z.shape[0], count_jobs(n_jobs)
        began = perf_counter()
        self.block(X[:1], Z[: min(m, 20)])
        seconds = (perf_counter() - began) / min(m, 20) * n * m
        if jobs == 1 or seconds < LONG or not _pickles(self.function):
            return super().whole(X, Z, 1, values)  # threads would wait for each other
        from joblib import Parallel, delayed

        same = self.symmetric and X is Z
        strips = np.array_split(np.arange(n), min(n, 8 * jobs))
        # each strip of a symmetric matrix is computed only from its diagonal on
        starts = [int(rows[0]) if same else 0 for rows in strips]
        parts = Parallel(jobs)(
            delayed(self.block)(X[rows], Z[np.arange(s, m)]) for rows, s in zip(strips, starts)
        )
        out = np.empty((n, m), np.result_type(X.dtype, Z.dtype))
        for rows, s, part in zip(strips, starts, map(np.asarray, parts)):
            out[rows, s:] = part
            if same:
                out[s:, rows] = part.T
        return out

    def _look_at_symmetry(self, X: Any) -> None:
        places = np.unique(np.linspace(0, X.shape[0] - 1, TRIED + 1).astype(int))
        S = X[places]
        objects = listed(S)
        for k in range(len(objects) - 1):
            first, second = (S, k, objects[k]), (S, k + 1, objects[k + 1])
            a, b = self.value(*first, *second), self.value(*second, *first)
            if not np.isclose(a, b, rtol=1e-6, atol=1e-12):
                raise ValueError(
                    f"{function_name(self.function)} is not symmetric: it returned {a!r} for "
                    f"{_sample(S, k)} and {_sample(S, k + 1)}, and {b!r} for the same two objects "
                    f"in the other order. {self.remedy}"
                )

    def refused(self, value: Any, X: Any, i: int, Z: Any, j: int) -> str:
        """The error message for a value that is not allowed."""
        return (
            f"{function_name(self.function)} returned {_short(value)} for {_sample(X, i)} and "
            f"{_sample(Z, j)}: {type(self).__name__} calls it with two objects, and needs "
            f"{self.wanted}. {self.instead}"
        ).rstrip()


def listed(X: Any) -> list:
    """The objects of samples as a list; for a matrix its rows."""
    return X.values.tolist() if isinstance(X, Objects) else list(dense_rows(X))


def function_name(function: Any) -> str:
    """The name of a function, for error messages."""
    inner = getattr(function, "func", function)  # of functools.partial
    return getattr(inner, "__qualname__", repr(inner))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_)) and bool(np.isfinite(value))


def _pickles(function: Any) -> bool:
    try:
        pickle.dumps(function)
    except Exception:  # objects raise different errors
        return False
    return True


def _sample(X: Any, i: int) -> str:
    if isinstance(X, Objects):
        return f"X[{X.numbers[i]}] = {_short(X.values[i])}"
    return f"the row {_short(listed(X[i : i + 1])[0])}"


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


class FromFunction(PairFunction, Distance):
    """The distance ρ(x, z) = function(x, z) of any objects, from your own function.

    Parameters
    ----------
    function : callable
        It takes two objects (x, z) and returns a finite number >= 0, the same as for (z, x).
    metric : bool, default=False
        Whether the triangle inequality holds and the value is 0 only for equal objects.

    See Also
    --------
    mercer.kernels.FromFunction : The same for a similarity.
    mercer.kernels.FromDistance : The kernel exp(-γ ρ) from a distance ρ.

    Raises
    ------
    ValueError
        If the function does not return a finite number >= 0, or is not symmetric on one of the
        pairs that are tried; the message names the pair.

    Notes
    -----
    Samples are a list of any objects, which are not copied, or the rows of an array. For n samples
    the function is called n (n + 1) / 2 times, and up to 30 times more to test the symmetry and to
    measure how long a call takes. Slow calls are shared among several processes, if the function
    can be pickled.

    Examples
    --------
    >>> FromFunction(lambda a, b: abs(len(a) - len(b)))([(1, 2), (1,), ()])
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """

    meaning = Meaning("f(x, z)", "what a function of two samples returns")

    wanted = "a finite number >= 0"

    def __init__(self, function: Callable[[Any, Any], float], metric: bool = False):
        self.function = function
        self.metric = metric

    def block(self, X: Any, Z: Any) -> np.ndarray:
        D = super().block(X, Z)
        if D.size and D.min() < 0:
            i, j = np.unravel_index(D.argmin(), D.shape)
            raise ValueError(self.refused(float(D.min()), X, int(i), Z, int(j)))
        return D
