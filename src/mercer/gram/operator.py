"""The one interface of all Gram matrices K[i, j] = k(X[i], Z[j]): products, rows, blocks.

Learners and solvers see this interface alone. What is not cheap for every operator stands in
``cheap``, and a solver that needs it is refused before it starts (`require`). Beside it here is
what every operator may turn into: a part of it, its transpose, an array in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.distances.tiles import EDGE
from mercer.gram.row_sources import CachedRows, HeldRows, RowSource, is_small, rounds_to_float32
from mercer.threads import ordered_map

__all__ = ["DenseGram", "GramOperator", "MatrixPart", "TransposedGram", "require"]

STRIP = 64  # rows of a matrix that are copied at a time: they stay in a core's cache
RUNS = 16  # runs of neighbouring columns, up to which these are copied run by run

Rows = slice | np.ndarray


class GramOperator(ABC):
    """The matrix K of shape (n, m). Abstract: define `block`; everything else has a default."""

    shape: tuple[int, int]
    dtype: np.dtype
    #: K is square and K == K.T
    symmetric: bool = False
    #: which of "dense" (K fits the memory whole) and "rows" (a row costs what its values cost)
    cheap: frozenset[str] = frozenset({"rows"})
    #: what a solver makes of it, in words for users: "in the primal", "low rank"; most say nothing
    nature: str = ""

    @abstractmethod
    def block(self, i: Rows, j: Rows) -> np.ndarray:
        """K[i, j] for row and column slices or index arrays; fresh, shape (len(i), len(j))."""

    @abstractmethod
    def diag(self) -> np.ndarray:
        """The diagonal, shape (min(n, m),)."""

    @property
    def T(self) -> GramOperator:
        """The transposed operator."""
        return self if self.symmetric else TransposedGram(self)

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        """K[i], shape (len(i), m); written to ``out``, in its precision, if it is given."""
        values = self.block(i, slice(None))
        if out is None:
            return values
        out[...] = values
        return out

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        """The operator between some rows and columns (the same ones when j is None)."""
        return PartGram(self, i, i if j is None else j)

    def tiles(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """(rows, columns, K[rows, columns]) covering K once; the upper triangle when symmetric."""
        n, m = self.shape
        step = self.edge()
        for s in range(0, n, step):
            for t in range(s if self.symmetric else 0, m, step):
                i, j = slice(s, min(s + step, n)), slice(t, min(t + step, m))
                yield i, j, self.block(i, j)

    def edge(self) -> int:
        """Rows of the square tiles that K is computed by."""
        return EDGE if np.dtype(self.dtype).itemsize <= 4 else 3 * EDGE // 4

    def __matmul__(self, V: Any) -> np.ndarray:
        """K @ V for V of shape (m,) or (m, c)."""
        V = np.asarray(V)
        step = self.edge()
        strips = [self.rows(slice(s, s + step)) @ V for s in range(0, self.shape[0], step)]
        return np.concatenate(strips)

    def dense(self) -> np.ndarray:
        """K as an array, shape (n, m), not to be written to."""
        return self.block(slice(None), slice(None))

    def held(self) -> GramOperator:
        """This matrix, computed and kept in memory where it fits; else as it is."""
        return DenseGram(self.dense(), self.symmetric) if "dense" in self.cheap else self

    def row_source(self, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
        """Where a solver that asks for rows of K, some of them again and again, gets them.

        Parameters
        ----------
        cache_bytes : int
            What rows that are kept may take.
        room : float
            The relative error of K's entries that the solver's tolerance leaves room for.
        n_jobs : int or None
        """
        if is_small(self, cache_bytes):
            return HeldRows(self.dense(), n_jobs)
        return CachedRows(self, cache_bytes, room, n_jobs)

    def describe(self) -> str:
        """The operator in words: its class, shape and precision."""
        n, m = self.shape
        return f"{type(self).__name__} {n} x {m} {np.dtype(self.dtype).name}"


class PartGram(GramOperator):
    """Rows i and columns j of an operator K, as an operator of their own."""

    def __init__(self, K: GramOperator, i: np.ndarray, j: np.ndarray):
        self.K, self.i, self.j = K, i, j
        self.shape, self.dtype, self.cheap = (len(i), len(j)), K.dtype, K.cheap
        self.symmetric = K.symmetric and i is j

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return self.K.block(self.i[i], self.j[j])

    def diag(self) -> np.ndarray:
        if self.symmetric:
            return self.K.diag()[self.i]
        n = min(self.shape)
        return np.array([self.block(slice(k, k + 1), slice(k, k + 1))[0, 0] for k in range(n)])


class TransposedGram(GramOperator):
    """Kᵀ of an operator K that is not symmetric."""

    def __init__(self, K: GramOperator):
        self.K = K
        self.shape = (K.shape[1], K.shape[0])
        self.dtype = K.dtype
        self.cheap = K.cheap

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return self.K.block(j, i).T

    def diag(self) -> np.ndarray:
        return self.K.diag()

    @property
    def T(self) -> GramOperator:
        return self.K


class DenseGram(GramOperator):
    """K as an array in memory."""

    cheap = frozenset({"rows", "dense"})

    def __init__(self, K: np.ndarray, symmetric: bool = False):
        self.K = K
        self.shape = K.shape
        self.dtype = K.dtype
        self.symmetric = symmetric

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        if isinstance(i, slice) and isinstance(j, slice):
            return self.K[i, j].copy()
        if isinstance(i, slice) or isinstance(j, slice):
            return self.K[i, j]
        return self.K[np.ix_(i, j)]

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        alike = j is None or j is i
        return MatrixPart(self.K, i, i if j is None else j, symmetric=self.symmetric and alike)

    def diag(self) -> np.ndarray:
        return self.K.diagonal().copy()

    @property
    def T(self) -> DenseGram:
        return DenseGram(self.K.T, self.symmetric)

    def __matmul__(self, V: Any) -> np.ndarray:
        return self.K @ V

    def dense(self) -> np.ndarray:
        return self.K

    def held(self) -> DenseGram:
        return self

    def row_source(self, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
        # in float32 where the tolerance and the memory have room for that: half the bytes to read
        if rounds_to_float32(self.diag(), room) and self.K.nbytes // 2 <= cache_bytes:
            K = np.empty(self.shape, np.float32)

            def strip(s: int) -> None:
                K[s : s + STRIP] = self.K[s : s + STRIP]

            for _ in ordered_map(strip, range(0, len(K), STRIP), n_jobs):
                pass
            return HeldRows(K, n_jobs)
        return HeldRows(self.K, n_jobs)


class MatrixPart(GramOperator):
    """Some rows and columns of an array in memory, which are copied when they are asked for.

    Parameters
    ----------
    K : ndarray of shape (N, M)
    i, j : ndarray of row and column numbers
    symmetric : bool
        Of the part.
    n_jobs : int or None
    """

    cheap = frozenset({"rows", "dense"})

    def __init__(
        self,
        K: np.ndarray,
        i: np.ndarray,
        j: np.ndarray,
        *,
        symmetric: bool = False,
        n_jobs: int | None = None,
    ):
        self.K, self.i, self.j, self.n_jobs = K, i, j, n_jobs
        self.shape, self.dtype, self.symmetric = (len(i), len(j)), K.dtype, symmetric

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return self._copied(self.i[i], self.j[j], self.dtype)

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> MatrixPart:
        alike = j is None or j is i
        columns = self.j[i if j is None else j]
        return MatrixPart(
            self.K, self.i[i], columns, symmetric=self.symmetric and alike, n_jobs=self.n_jobs
        )

    def diag(self) -> np.ndarray:
        n = min(self.shape)
        return self.K[self.i[:n], self.j[:n]]

    @property
    def T(self) -> MatrixPart:
        if self.symmetric:
            return self
        return MatrixPart(self.K.T, self.j, self.i, n_jobs=self.n_jobs)

    def __matmul__(self, V: Any) -> np.ndarray:
        """Rather than to take columns one by one, coefficients are put where whole rows have
        theirs."""
        V = np.asarray(V)
        W = np.zeros((self.K.shape[1], *V.shape[1:]), np.result_type(self.dtype, V))
        np.add.at(W, self.j, V)

        def strip(s: int) -> np.ndarray:
            return self.K[self.i[s : s + STRIP]] @ W

        parts = list(ordered_map(strip, range(0, self.shape[0], STRIP), self.n_jobs))
        return np.concatenate(parts) if parts else np.empty((0, *V.shape[1:]), W.dtype)

    def dense(self) -> np.ndarray:
        return self._copied(self.i, self.j, self.dtype)

    def row_source(self, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
        # in float32 where the tolerance has room for that: half the bytes to read
        if rounds_to_float32(self.diag(), room):
            return HeldRows(self._copied(self.i, self.j, np.dtype(np.float32)), n_jobs)
        return HeldRows(self.dense(), n_jobs)

    def _copied(self, i: np.ndarray, j: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """K[i][:, j], fast where the columns come in few runs, as those of folds often do."""
        out = np.empty((len(i), len(j)), dtype)
        edges = np.flatnonzero(np.diff(j) != 1) + 1
        runs = list(zip([0, *edges], [*edges, len(j)])) if len(j) else []

        def strip(s: int) -> None:
            rows, part = i[s : s + STRIP], out[s : s + STRIP]
            if len(runs) > RUNS:
                part[...] = np.take(self.K[rows], j, axis=1)
                return
            for a, b in runs:
                part[:, a:b] = self.K[rows, j[a] : j[a] + b - a]

        for _ in ordered_map(strip, range(0, len(i), STRIP), self.n_jobs):
            pass
        return out


def require(K: GramOperator, operation: str, solver: str) -> None:
    """Refuse an operator that lacks a cheap operation that the solver needs."""
    if operation not in K.cheap:
        raise TypeError(
            f"{solver} needs {operation} of the Gram matrix, which {type(K).__name__} cannot give "
            f"cheaply (it gives {sorted(K.cheap)}). Choose another solver, or a larger memory=."
        )
