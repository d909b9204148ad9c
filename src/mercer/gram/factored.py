"""Gram matrices with a known factor F, K = F Fᵀ: F has finitely many features, dense or sparse.

With n rows and m features, a product costs O(n m) and K itself is never formed: this is the primal
form of a linear kernel. `LowRankGram` has a factor too, which approximates another matrix.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.distances import inner_products, squared_norms
from mercer.gram.operator import GramOperator, Rows
from mercer.gram.place import Place
from mercer.threads import ordered_map

STRIP = 4096  # rows


class FactoredGram(GramOperator):
    """K = F Fᵀ of shape (n, n). Abstract: define `factor` and ``rank``."""

    symmetric = True
    cheap = frozenset({"rows", "factor"})
    rank: int

    @abstractmethod
    def factor(self, i: Rows) -> Any:
        """F[i], shape (len(i), m)."""

    @abstractmethod
    def strips(self) -> Iterator[tuple[slice, Any]]:
        """Yield (rows, F[rows]); the strips cover F once."""

    def combine(self, i: Rows, coef: np.ndarray) -> np.ndarray:
        """F[i]ᵀ coef, shape (m,), summed over strips in float64."""
        rows, total = np.arange(self.shape[0])[i], np.zeros(self.rank)
        for s in range(0, len(rows), STRIP):
            F = self.factor(rows[s : s + STRIP])
            total += F.T @ coef[s : s + STRIP].astype(F.dtype, copy=False)
        return total

    def gathered(self) -> np.ndarray:
        """Fᵀ F, shape (m, m), in float64, summed over strips."""
        total = np.zeros((self.rank, self.rank))
        for _, F in self.strips():
            total += F.T @ F
        return total

    def project(self, w: np.ndarray) -> np.ndarray:
        """F w, shape (n,)."""
        w = w.astype(self.dtype, copy=False)
        return np.concatenate([F @ w for _, F in self.strips()])

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        return FeatureGram(self.factor(i), Place(1, 1)) if j is None else super().part(i, j)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return inner_products(self.factor(i), self.factor(j))


class FeatureGram(FactoredGram):
    """K = F Fᵀ with F in memory: samples of a linear kernel, or features of another finite map.

    Parameters
    ----------
    F : ndarray or CSR matrix of shape (n, m)
    place : Place, default=Place(memory=1)
        Memory and threads; if K needs at most half of the memory, K may be kept in it.

    Examples
    --------
    >>> K = FeatureGram(np.array([[1.0, 0.0], [1.0, 2.0]]))
    >>> K.dense(), K @ np.array([1.0, 1.0])
    (array([[1., 1.],
           [1., 5.]]), array([2., 6.]))
    """

    nature = "in the primal"

    def __init__(self, F: Any, place: Place = Place(memory=1)):
        n, self.rank = F.shape
        self.shape, self.dtype, self.place = (n, n), F.dtype, place
        # strips do not depend on the number of threads; slices of a sparse matrix are copied once
        edges = [*range(0, n, STRIP), n]
        self._strips = [(slice(a, b), F[a:b]) for a, b in pairwise(edges)]
        self.F = F
        self._keep_if_it_fits()

    def factor(self, i: Rows) -> Any:
        return self.F[i]

    def strips(self) -> Iterator[tuple[slice, Any]]:
        yield from self._strips

    def project(self, w: np.ndarray) -> np.ndarray:
        w = w.astype(self.dtype, copy=False)
        parts = ordered_map(lambda strip: strip[1] @ w, self._strips, self.n_jobs)
        return np.concatenate(list(parts))

    def diag(self) -> np.ndarray:
        return squared_norms(self.F)

    def __matmul__(self, V: Any) -> np.ndarray:
        return self.F @ (self.F.T @ np.asarray(V))


class CrossFeatureGram(GramOperator):
    """K = F Gᵀ between two sets of samples, from the features of both.

    Parameters
    ----------
    F, G : ndarray or CSR matrix of shape (n, p), (m, p)
    place : Place
        Memory and threads.

    Examples
    --------
    >>> CrossFeatureGram(np.array([[1.0, 2.0]]), np.eye(2)) @ np.array([1.0, 10.0])
    array([21.])
    """

    nature = "in the primal"

    def __init__(self, F: Any, G: Any, place: Place = Place()):
        self.F, self.G, self.place = F, G, place
        self.shape = F.shape[0], G.shape[0]
        self.dtype = np.result_type(F.dtype, G.dtype)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return inner_products(self.F[i], self.G[j])

    def diag(self) -> np.ndarray:
        n = min(self.shape)
        products = self.F[:n] * self.G[:n]  # entry by entry, for sparse arrays too
        return np.asarray(products.sum(axis=1)).ravel()

    def __matmul__(self, V: Any) -> np.ndarray:
        return self.F @ (self.G.T @ np.asarray(V))
