"""What the fits of a search can share: samples encoded once, distances, and Gram matrices.

The fits of a search get `Rows`, the numbers of rows, in place of samples, and `SharedKernel` in
place of their kernel: it looks up what has been computed for the whole data set, so that learners
and solvers need not know. `SharedSamples` holds the matrices, within the memory budget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer.distances import Comparison
from mercer.gram import Gram
from mercer.gram.schedule import ordered_map
from mercer.kernels import Kernel
from mercer.kernels.base import Radial

__all__ = ["Rows", "SharedKernel", "SharedSamples", "fingerprint"]

STRIP = 512
SQUARINGS = 6  # of one matrix in a row


def fingerprint(value: Any) -> Any:
    """A hashable key, equal for parameters of equal meaning.

    Objects of no known kind are their identity.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> fingerprint(RBF(0.5)) == fingerprint(RBF(0.5)), fingerprint(RBF(0.5)) == fingerprint(RBF())
    (True, False)
    """
    if isinstance(value, Comparison):  # all that it holds: what `bind` learnt may be no parameter
        held = vars(value)
        return type(value), tuple((name, fingerprint(held[name])) for name in sorted(held))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return "array", value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, (list, tuple, np.ndarray)):
        return "list", tuple(fingerprint(item) for item in value)
    if isinstance(value, dict):
        return "dict", tuple((repr(k), fingerprint(v)) for k, v in value.items())
    if value is None or isinstance(value, (str, bytes, bool)):
        return value, type(value).__name__
    if isinstance(value, (int, float, np.number)):
        return "number", float(value)
    return "object", id(value)


class Rows:
    """Some rows of the shared samples, as encoded samples."""

    def __init__(self, numbers: np.ndarray, dtype: np.dtype):
        self.numbers = numbers
        self.dtype = dtype
        self.shape = (len(numbers), 1)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> Rows:
        return Rows(self.numbers[rows], self.dtype)


class SharedSamples:
    """The samples of a search, encoded for one kernel, and what has been computed for them.

    Parameters
    ----------
    memory : int
        Bytes that matrices of all rows may take.
    n_jobs : int or None
    """

    def __init__(self, memory: int, n_jobs: int | None):
        self.memory, self.n_jobs = memory, n_jobs
        self.samples: Any = None
        self.encoding: Any = None
        self.distances: tuple[Any, np.ndarray] | None = None
        self.grams: dict[Any, np.ndarray] = {}
        self._last: tuple[Kernel | None, np.ndarray] | None = None  # the newest of them
        self._squarings = 0  # that it came by
        self._crossed: dict[tuple, np.ndarray] = {}

    def use(self, samples: Any, encoding: Any) -> None:
        """Take encoded samples; matrices of samples encoded otherwise are forgotten."""
        if self.encoding != encoding:
            self.forget()
        self.samples, self.encoding = samples, encoding

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(getattr(self.samples, "dtype", np.float64))

    def matrix_bytes(self) -> int:
        """Of one matrix of all rows."""
        return self.samples.shape[0] ** 2 * self.dtype.itemsize

    def hold_distances(self, kernel: Radial) -> None:
        """Compute the distances of a bound radial kernel between all rows."""
        key = fingerprint(kernel.distance)
        if self.distances is None or self.distances[0] != key:
            self.distances = None  # its memory is for the next
            self.forget_grams()
            self.distances = key, self._evaluate(_RawDistance(kernel.distance))

    def hold_gram(self, kernel: Kernel | None) -> None:
        """Compute K of a bound kernel for all rows, from the distances where they are held.

        None: the samples are K itself.
        """
        if self._last is not None and self._squares(kernel, self._last[0]):
            K = self._squared(self._last[1])
            self._squarings += 1
        else:
            self._last = None  # its memory is for the next
            K, self._squarings = self._compute(kernel), 0
        self._last = kernel, K
        self.grams[fingerprint(kernel)] = K

    def _squares(self, kernel: Kernel | None, held: Kernel | None) -> bool:
        """Whether K is the square of the matrix that is held: k with 2γ is k with γ, squared.

        Each time relative errors double, so that there is an end to it.
        """
        if not (isinstance(kernel, Radial) and isinstance(held, Radial)):
            return False
        return self._squarings < SQUARINGS and kernel.is_square_of(held)

    def _compute(self, kernel: Kernel | None) -> np.ndarray:
        if kernel is None:
            return self.samples
        if self._reads_distances(kernel):
            return self._profile(kernel)  # type: ignore[arg-type]
        return self._evaluate(kernel)

    def forget(self) -> None:
        self.distances = None
        self.forget_grams()

    def forget_grams(self) -> None:
        self._last = None
        self.leave_grams()

    def leave_grams(self) -> None:
        """Forget the matrices but the newest, of which the next may be the square."""
        self.grams.clear()
        self._crossed.clear()

    def source(self, kernel: Kernel | None) -> tuple[str, Any]:
        """Where blocks of a bound kernel come from, and its key."""
        key = fingerprint(kernel)
        if key in self.grams:
            return "gram", key
        return "distances" if self._reads_distances(kernel) else "samples", key

    def block(self, kernel: Any, source: tuple, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """k between rows i and j; a fresh array."""
        if source[0] == "gram":
            return gather(self.grams[source[1]], i, j)
        if source[0] == "distances":
            return kernel.profile(gather(self.distances[1], i, j))  # type: ignore[index]
        return kernel.block(self.samples[i], self.samples[j])

    def crossed(self, kernel: Any, source: tuple, X: Rows, Z: Rows) -> np.ndarray:
        """k between all of X and Z; between different rows it is kept for the next model."""
        if X is Z:
            return self.block(kernel, source, X.numbers, Z.numbers)
        key = source[1], X.numbers.tobytes(), Z.numbers.tobytes()
        return self._kept(key, lambda: self.block(kernel, source, X.numbers, Z.numbers))

    def product(self, source: tuple, X: Rows, Z: Rows, V: np.ndarray) -> np.ndarray:
        """K V between X and Z, from a matrix that is held: rather than to take its columns one by
        one, coefficients are put where whole rows have theirs."""
        K = self.grams[source[1]]
        rows = self._kept((source[1], X.numbers.tobytes()), lambda: K[X.numbers])
        W = np.zeros((K.shape[1], *V.shape[1:]), np.result_type(K, V))
        np.add.at(W, Z.numbers, V)
        return rows @ W

    def _kept(self, key: tuple, values: Callable[[], np.ndarray]) -> np.ndarray:
        """Values for models to come; all that is kept takes as much as one matrix at most."""
        if key not in self._crossed:
            K = values()
            if sum(kept.nbytes for kept in self._crossed.values()) + K.nbytes > self.matrix_bytes():
                self._crossed.clear()
            self._crossed[key] = K
        return self._crossed[key]

    def _reads_distances(self, kernel: Kernel | None) -> bool:
        return (
            self.distances is not None
            and isinstance(kernel, Radial)
            and self.distances[0] == fingerprint(kernel.distance)
        )

    def _squared(self, K: np.ndarray) -> np.ndarray:
        """K², entry by entry; in the memory of K where that is wanted no more."""
        out = np.empty_like(K) if self.grams else K

        def strip(s: int) -> None:
            np.square(K[s : s + STRIP], out=out[s : s + STRIP])

        for _ in ordered_map(strip, range(0, len(K), STRIP), self.n_jobs):
            pass
        return out

    def _profile(self, kernel: Radial) -> np.ndarray:
        """K from the distances, strip by strip."""
        D = self.distances[1]  # type: ignore[index]
        K = np.empty_like(D)

        def strip(s: int) -> None:
            K[s : s + STRIP] = kernel.profile(D[s : s + STRIP].copy())

        for _ in ordered_map(strip, range(0, len(D), STRIP), self.n_jobs):
            pass
        return K

    def _evaluate(self, values: Any) -> np.ndarray:
        """A kernel, or the raw form of a distance, between all rows."""
        whole = 2 * self.matrix_bytes() + 1  # of a budget, Gram takes half
        return Gram(values, self.samples, memory=whole, n_jobs=self.n_jobs).dense()


class _RawDistance:
    """A distance as `Gram` reads a kernel: its blocks are the raw form, ρ ** exponent."""

    def __init__(self, distance: Any):
        self.distance = distance
        self.symmetric = distance.symmetric

    def encode(self, X: Any, like: Any = None) -> Any:
        return X

    def pair_cost(self, X: Any) -> float:
        return self.distance.pair_cost(X)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return self.distance.raw(X, Z)


def gather(K: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """K[i][:, j], fast where the columns come in few runs, as those of folds often do."""
    out = np.empty((len(i), len(j)), K.dtype)
    edges = np.flatnonzero(np.diff(j) != 1) + 1
    if len(edges) > 16:
        for s in range(0, len(i), STRIP):
            np.take(K[i[s : s + STRIP]], j, axis=1, out=out[s : s + STRIP])
    elif len(j):
        for s, e in zip([0, *edges], [*edges, len(j)]):
            out[:, s:e] = K[i, j[s] : j[s] + e - s]
    return out


class SharedKernel(Kernel):
    """A kernel on row numbers of shared samples, which looks up what has been computed.

    Parameters
    ----------
    kernel : Kernel or None
        None: the samples are the Gram matrix itself.
    shared : SharedSamples
    bound : bool
    """

    kind = "rows"

    def __init__(self, kernel: Kernel | None, shared: SharedSamples, bound: bool = False):
        self.kernel = kernel
        self.shared = shared
        self.bound = bound
        self.source = shared.source(kernel) if bound else ("samples", None)

    def __sklearn_clone__(self) -> SharedKernel:
        return self  # the matrices are not copied

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.kernel is None or self.kernel.symmetric

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        return None if self.kernel is None else self.kernel.positive_definite

    def validate(self) -> None:
        if self.kernel is not None:
            self.kernel.validate()

    def encode(self, X: Rows, like: Any = None) -> Rows:
        return X

    def bind(self, X: Rows, y: Any = None) -> SharedKernel:
        kernel = self.kernel
        if kernel is not None:
            kernel = kernel.bind(self.shared.samples[X.numbers], y)
        return SharedKernel(kernel, self.shared, bound=True)

    def pair_cost(self, X: Rows) -> float:
        if self.kernel is None or self.source[0] != "samples":  # looked up
            return 0.0
        return self.kernel.pair_cost(self.shared.samples)

    def held(self, X: Rows, Z: Rows) -> np.ndarray | None:
        """The whole matrix for `Gram`, where it is looked up rather than computed."""
        if self.source[0] == "samples":
            return None
        return self.shared.crossed(self.kernel, self.source, X, Z)

    @available_if(lambda self: self.source[0] == "gram")
    def product(self, X: Rows, Z: Rows, V: np.ndarray) -> np.ndarray:
        """K(X, Z) V for `TiledGram`, which needs no tiles of what is looked up."""
        return self.shared.product(self.source, X, Z, V)

    def block(self, X: Rows, Z: Rows) -> np.ndarray:
        return self.shared.block(self.kernel, self.source, X.numbers, Z.numbers)

    def diag(self, X: Rows) -> np.ndarray:
        if self.kernel is None:
            return self.shared.samples.diagonal()[X.numbers]
        return self.kernel.diag(self.shared.samples[X.numbers])
