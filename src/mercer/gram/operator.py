"""The one interface of all Gram matrices K[i, j] = k(X[i], Z[j]): products, rows, blocks.

Learners and solvers see this interface alone. An operator says which of its operations are cheap
(``cheap``), and a solver that needs another is refused before it starts (`require`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["GramOperator", "TransposedGram", "require"]

Rows = slice | np.ndarray


class GramOperator(ABC):
    """The matrix K of shape (n, m). Abstract: define `block`; everything else has a default."""

    shape: tuple[int, int]
    dtype: np.dtype
    #: K is square and K == K.T
    symmetric: bool = False
    #: which of "products", "rows", "dense", "tiles" cost no more than they must
    cheap: frozenset[str] = frozenset({"products", "rows", "tiles"})

    @abstractmethod
    def block(self, i: Rows, j: Rows) -> np.ndarray:
        """K[i, j] for row and column slices or index arrays; shape (len(i), len(j))."""

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

    def edge(self, most: int | None = None) -> int:
        """Edge of the square tiles that K is computed by, at most so many rows if given."""
        return tile_edge(self.dtype) if most is None else most

    def __matmul__(self, V: Any) -> np.ndarray:
        """K @ V for V of shape (m,) or (m, c)."""
        V = np.asarray(V)
        step = self.edge()
        strips = [self.rows(slice(s, s + step)) @ V for s in range(0, self.shape[0], step)]
        return np.concatenate(strips)

    def dense(self) -> np.ndarray:
        """K as an array, shape (n, m)."""
        return self.block(slice(None), slice(None))


class PartGram(GramOperator):
    """Rows i and columns j of an operator K, as an operator of their own."""

    def __init__(self, K: GramOperator, i: np.ndarray, j: np.ndarray):
        self.K, self.i, self.j = K, i, j
        self.shape, self.dtype, self.cheap = (len(i), len(j)), K.dtype, K.cheap - {"dense"}
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


def tile_edge(dtype: np.dtype) -> int:
    """Edge of a square tile of about 1 MB, so that it stays in a core's L2 cache."""
    return 512 if np.dtype(dtype).itemsize <= 4 else 384


def require(K: GramOperator, operation: str, solver: str) -> None:
    """Refuse an operator that lacks a cheap operation that the solver needs."""
    if operation not in K.cheap:
        raise TypeError(
            f"{solver} needs {operation} of the Gram matrix, which {type(K).__name__} cannot give "
            f"cheaply (it gives {sorted(K.cheap)}). Choose another solver, or a larger memory=."
        )
