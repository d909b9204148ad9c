"""Distances from what a user has: a function of two objects, a kernel, or a matrix of values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable
from time import perf_counter
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from mercer.distances.base import Distance, Rooted
from mercer.distances.comparison import Comparison, Meaning
from mercer.distances.products import dense_rows
from mercer.samples import (
    MatrixRows,
    Objects,
    Prepared,
    Samples,
    SamplesLike,
    accepted,
    check_format,
    check_square,
    float_array,
    kind_named,
    reading_numbers,
)
from mercer.threads import count_jobs, raise_if_stopped


class KernelDistance(Rooted):
    r"""Distance between the features φ(x) and φ(z) of a kernel

    .. math:: \rho(x, z)^2 = k(x, x) + k(z, z) - 2 k(x, z) ;

    if rounding makes it negative, it is 0.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric positive semidefinite kernel.

    Notes
    -----
    It is a metric if different samples have different features, otherwise a pseudometric. It costs
    as much as the kernel.

    References
    ----------
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, section 5.1.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> KernelDistance(Linear())([[0.0, 0.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    meaning = Meaning(
        "√(k(x, x) − 2 k(x, z) + k(z, z)), k = {kernel}",
        "the distance of two samples in the features of a kernel",
    )

    exponent = 2.0

    def __init__(self, kernel: Any):
        self.kernel = kernel

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        return 2.0 if self.kernel.positive_definite is True else 0.0

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.kernel.kind

    def validate(self) -> None:
        if not isinstance(self.kernel, Comparison) or not hasattr(self.kernel, "diag"):
            raise TypeError(f"kernel={self.kernel!r}: KernelDistance needs a Mercer kernel object.")
        self.kernel.validate()
        if not self.kernel.symmetric:
            raise TypeError(
                f"kernel={self.kernel!r} is not symmetric, but a distance needs k(x, z) = k(z, x): "
                "give a kernel that is."
            )

    def encoding(self) -> Hashable:
        return self.kernel.encoding()

    def encode(self, X: SamplesLike, like: Any = None) -> Any:
        return self.kernel.encode(X, like)

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        X = self.kernel.prepare(X, None if like is None else like.parts[0])
        return Prepared((X, self.kernel.diag(X)))

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (x, x_squares), (z, z_squares) = X.parts, Z.parts
        D = self.kernel.block(x, z)
        D *= -2
        D += x_squares[:, None]
        D += z_squares
        return np.maximum(D, 0, out=D)


FLOATS: Any = [np.float64, np.float32]


class Precomputed(Distance):
    """A distance whose values are given; the same as ``metric="precomputed"`` of the learners.

    For ``fit``, X is the matrix D of the distances between all training samples, of shape (n, n).
    For new samples, X has their distances to all training samples, shape (m, n).

    A sparse matrix holds the distances to some neighbours of each sample, as
    ``kneighbors_graph(mode="distance")`` writes them; a `mercer.search.NeighbourGraph` is one, too.
    What it leaves out is farther away, and a stored 0 is the distance 0. It need not be symmetric.
    Searches read it; learners that compare all pairs refuse it.

    Raises
    ------
    ValueError
        The matrix is not square or (where it is dense) not symmetric in ``fit``, or has another
        width later, or holds NaN, infinities or negative numbers.

    Examples
    --------
    >>> from mercer import NearestNeighbors
    >>> D = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]])
    >>> NearestNeighbors(n_neighbors=1, metric=Precomputed()).fit(D).kneighbors()[1].ravel()
    array([1, 0, 1])
    """

    meaning = Meaning("D given as a matrix", "a number that was computed elsewhere")

    kind = "precomputed"
    metric = False  # it is not known
    reflexive = False

    def encode(self, X: Any, like: Any = None) -> MatrixRows:
        if isinstance(X, MatrixRows):
            return X
        found = kind_named(self.kind).form_of(X)
        X = X if found is None else found
        shape = getattr(X, "shape", None) or float_array("X", X).shape
        if len(shape) == 2 and like is None and shape[0] != shape[1]:
            raise ValueError(
                f"X has shape {shape}: Precomputed matrix must be square in fit, with the distance "
                "of each training sample to each; give samples and another metric otherwise."
            )
        if len(shape) == 2 and like is not None and shape[1] != like.width:
            raise ValueError(
                f"X has shape {shape}, but X has to be (m, {like.width}): give the distances of m "
                f"new samples to all {like.width} training samples."
            )
        if sp.issparse(X):
            rows = _some_neighbours(X, like)
            least = rows.matrix.data.min(initial=0)
        else:
            X = accepted(X, self.reads, type(self).__name__)
            with reading_numbers(X, type(self).__name__):
                D = np.asarray(check_array(X, dtype=FLOATS, input_name="X"))
            if like is None:
                rows = MatrixRows.of(check_square(D, "distance"))
            else:
                rows = MatrixRows(D, np.arange(len(D)), None, like.width, D.dtype)
            least = D.min()
        if least < 0:
            i, j = (int(place[0]) for place in (rows.matrix == least).nonzero())
            raise ValueError(
                f"Negative values in data passed to a precomputed distance: X[{i}, {j}] = "
                f"{least:.6g}; give distances >= 0."
            )
        return rows

    def known(self, X: MatrixRows, Z: MatrixRows) -> sp.csr_array | None:
        if not sp.issparse(X.matrix):
            return None
        return X.matrix[X.rows][:, Z.columns]

    def block(self, X: MatrixRows, Z: MatrixRows) -> np.ndarray:
        if Z.columns is None or X.matrix is None:
            raise ValueError(
                "The distances between these samples are not known: the matrix holds those to the "
                "training samples; give another metric, and the samples."
            )
        if sp.issparse(X.matrix):
            raise ValueError(
                "X is a sparse matrix, which holds the distances to some neighbours, but all of "
                "them are needed here: give the full matrix, or the samples and a distance."
            )
        return X.matrix[np.ix_(X.rows, Z.columns)]


def _some_neighbours(X: SamplesLike, like: SamplesLike | None) -> MatrixRows:
    """Training samples from a square sparse matrix, or new samples from their rows."""
    check_format(X)
    csr: Any = "csr"
    graph: Any = sp.csr_array(check_array(X, accept_sparse=csr, dtype=FLOATS, input_name="X"))
    if not graph.has_canonical_format:  # entries given twice are added, as in scipy
        graph = graph.copy()
        graph.sum_duplicates()
    every = np.arange(graph.shape[0])
    return MatrixRows(graph, every, every if like is None else None, graph.shape[1], graph.dtype)


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

    def bind(self, X: Samples, y: object = None, sample_weight: object = None) -> Self:
        self.validate()
        if self.symmetric:
            self._look_at_symmetry(X)
        return self

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
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

    def value(self, X: Samples, i: int, x: object, Z: Samples, j: int, z: object) -> float:
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
        self, X: Samples, Z: Samples, n_jobs: int | None = None, values: Callable | None = None
    ) -> np.ndarray:
        """All values, (n, m), by several processes if calls are slow and can be pickled."""
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

    def _look_at_symmetry(self, X: Samples) -> None:
        """Refuse a function that is seen to depend on the order of two samples."""
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

    def refused(self, value: object, X: Samples, i: int, Z: Samples, j: int) -> str:
        """The error message for a value that is not allowed."""
        return (
            f"{function_name(self.function)} returned {_short(value)} for {_sample(X, i)} and "
            f"{_sample(Z, j)}: {type(self).__name__} calls it with two objects, and needs "
            f"{self.wanted}. {self.instead}"
        ).rstrip()


def listed(X: Samples) -> list:
    """The objects of samples as a list; for a matrix its rows."""
    return X.values.tolist() if isinstance(X, Objects) else list(dense_rows(X))


def function_name(function: object) -> str:
    """The name of a function, for error messages."""
    inner = getattr(function, "func", function)  # of functools.partial
    return getattr(inner, "__qualname__", repr(inner))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_)) and bool(np.isfinite(value))


def _pickles(function: object) -> bool:
    try:
        pickle.dumps(function)
    except Exception:  # objects raise different errors
        return False
    return True


def _sample(X: Samples, i: int) -> str:
    if isinstance(X, Objects):
        return f"X[{X.numbers[i]}] = {_short(X.values[i])}"
    return f"the row {_short(listed(X[i : i + 1])[0])}"


def _short(value: object) -> str:
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
    pair_rows = 1

    def __init__(self, function: Callable[[Any, Any], float], metric: bool = False):
        self.function = function
        self.metric = metric

    def block(self, X: Objects, Z: Objects) -> np.ndarray:
        D = super().block(X, Z)
        if D.size and D.min() < 0:
            i, j = np.unravel_index(D.argmin(), D.shape)
            raise ValueError(self.refused(float(D.min()), X, int(i), Z, int(j)))
        return D
