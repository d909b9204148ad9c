"""A Gram matrix that is held in memory: computed once, or given ("precomputed")."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.operator import GramOperator, Rows

__all__ = ["DenseGram"]


class DenseGram(GramOperator):
    """K as an array in memory."""

    cheap = frozenset({"products", "rows", "tiles", "dense"})

    def __init__(self, K: np.ndarray, symmetric: bool = False):
        self.K = K
        self.shape = K.shape
        self.dtype = K.dtype
        self.symmetric = symmetric

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        if isinstance(i, slice) or isinstance(j, slice):
            return self.K[i, j]
        return self.K[np.ix_(i, j)]

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> DenseGram:
        alike = j is None or j is i
        return DenseGram(self.K[np.ix_(i, i if j is None else j)], self.symmetric and alike)

    def diag(self) -> np.ndarray:
        return self.K.diagonal().copy()

    @property
    def T(self) -> DenseGram:
        return DenseGram(self.K.T, self.symmetric)

    def __matmul__(self, V: Any) -> np.ndarray:
        return self.K @ V

    def dense(self) -> np.ndarray:
        return self.K
