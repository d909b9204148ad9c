"""Gram matrices with a known factor, K = F Fᵀ: the features of a finite map, dense or sparse.

With n rows and m features, a product costs O(n m) and K itself is never formed: this is the primal
side of a linear kernel. `LowRankGram` has a factor too, of a matrix that it approximates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.gram.operator import GramOperator, Rows
from mercer.gram.schedule import ordered_map

__all__ = ["FactoredGram", "FeatureGram"]


STRIP = 4096  # rows


class FactoredGram(GramOperator):
    """K = F Fᵀ of shape (n, n). Abstract: define `factor` and ``rank``."""

    symmetric = True
    cheap = frozenset({"products", "rows", "tiles"})
    rank: int

    @abstractmethod
    def factor(self, i: Rows) -> Any:
        """F[i], shape (len(i), m)."""

    @abstractmethod
    def strips(self) -> Iterator[tuple[slice, Any]]:
        """(rows, F[rows]) covering F once."""

    def combine(self, i: Rows, coef: np.ndarray) -> np.ndarray:
        """F[i]ᵀ coef, shape (m,), summed over strips in float64."""
        rows, total = np.arange(self.shape[0])[i], np.zeros(self.rank)
        for s in range(0, len(rows), STRIP):
            F = self.factor(rows[s : s + STRIP])
            total += F.T @ coef[s : s + STRIP].astype(F.dtype, copy=False)
        return total

    def project(self, w: np.ndarray) -> np.ndarray:
        """F w, shape (n,)."""
        w = w.astype(self.dtype, copy=False)
        return np.concatenate([F @ w for _, F in self.strips()])

    @property
    def T(self) -> GramOperator:
        return self

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        return FeatureGram(self.factor(i), 1) if j is None else super().part(i, j)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        product = self.factor(i) @ self.factor(j).T
        return product.toarray() if sp.issparse(product) else product


class FeatureGram(FactoredGram):
    """F is held: the samples of a linear kernel, or the features of another finite map.

    Parameters
    ----------
    F : ndarray or CSR matrix of shape (n, m)
    n_jobs : int or None

    Examples
    --------
    >>> K = FeatureGram(np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> K.dense(), K @ np.array([1.0, 1.0])
    (array([[1., 1.],
           [1., 5.]]), array([2., 6.]))
    """

    def __init__(self, F: Any, n_jobs: int | None = None):
        n, self.rank = F.shape
        self.shape, self.dtype, self.n_jobs = (n, n), F.dtype, n_jobs
        # the same for any number of threads; slices of a sparse matrix are copies, made once
        edges = [*range(0, n, STRIP), n]
        self._strips = [(slice(a, b), F[a:b]) for a, b in pairwise(edges)]
        self.F = F

    def factor(self, i: Rows) -> Any:
        return self.F[i]

    def strips(self) -> Iterator[tuple[slice, Any]]:
        yield from self._strips

    def project(self, w: np.ndarray) -> np.ndarray:
        w = w.astype(self.dtype, copy=False)
        parts = ordered_map(lambda strip: strip[1] @ w, self._strips, self.n_jobs)
        return np.concatenate(list(parts))

    def diag(self) -> np.ndarray:
        F = self.F
        if sp.issparse(F):
            return np.asarray(F.multiply(F).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", F, F)

    def __matmul__(self, V: Any) -> np.ndarray:
        return self.F @ (self.F.T @ np.asarray(V))
