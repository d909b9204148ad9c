"""A Gram matrix that is exact for rows of one leaf, and of low rank for rows of different ones.

With the low-rank factor F and the leaves of a tree it is K̂ = F Fᵀ + B, where the block of each leaf
in B is that of K - F Fᵀ. As these blocks are positive semidefinite, K̂ is, and its diagonal is that
of K. For Gaussian processes this is the "partially independent conditional" approximation (Snelson
& Ghahramani, "Local and global sparse Gaussian process approximations", AISTATS 2007).
"""

from __future__ import annotations

import numpy as np

from mercer.gram.leaves import Leaves
from mercer.gram.low_rank import LowRankGram
from mercer.gram.operator import GramOperator, Rows


class LocalGram(GramOperator):
    """K̂ of shape (n, n).

    Parameters
    ----------
    low : LowRankGram
        The low-rank part, which also knows the matrix that it approximates.
    leaves : Leaves
        The leaves of the same rows.

    Examples
    --------
    >>> from mercer.gram import DenseGram, grow_leaves, pivoted_cholesky
    >>> X = np.array([[0.0], [9.0], [1.0], [8.0]])
    >>> K = DenseGram(np.exp(-np.abs(X - X.T) / 9), symmetric=True)
    >>> low = pivoted_cholesky(K, 1, random_state=0)
    >>> leaves = grow_leaves(low, 2, random_state=0)
    >>> values, leaf = LocalGram(low, leaves).dense(), leaves.numbers()
    >>> bool(np.allclose(values[leaf[:, None] == leaf], K.dense()[leaf[:, None] == leaf]))
    True
    """

    symmetric = True
    nature = "local"

    def __init__(self, low: LowRankGram, leaves: Leaves):
        if low.K is None:
            raise ValueError("low does not know the matrix that it approximates: give one with K.")
        self.low, self.leaves, self.exact = low, leaves, low.K
        self.shape, self.dtype, self.centres = low.shape, low.dtype, low.centres
        self.place = low.place

    def residual(self, leaf: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """K - F Fᵀ of the rows of one leaf, (size, size), and their F, (size, m)."""
        rows = self.leaves.rows(leaf)
        F = self.low.factor(rows).astype(dtype, copy=False)
        return self.exact.block(rows, rows) - F @ F.T, F

    def some(self, most: int) -> tuple[LocalGram, np.ndarray]:
        """The matrix of at most ``most`` leaves, spread over the tree, and their rows."""
        count = self.leaves.count
        numbers = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
        parts = [self.leaves.rows(number) for number in numbers]
        rows, starts = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
        routes, cuts = self.leaves.routes[:, :0], self.leaves.cuts[:0]
        low = LowRankGram(
            self.low.centres, self.low.L, self.low.factor(rows), self.exact.part(rows)
        )  # fmt: skip
        return LocalGram(low, Leaves(np.arange(len(rows)), starts, routes, cuts)), rows

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        everything, leaves = np.arange(self.shape[0]), self.leaves.numbers()
        i, j = everything[i], everything[j]
        out = self.low.block(i, j)
        for leaf in np.intersect1d(leaves[i], leaves[j]):
            mine, theirs = np.flatnonzero(leaves[i] == leaf), np.flatnonzero(leaves[j] == leaf)
            out[np.ix_(mine, theirs)] = self.exact.block(i[mine], j[theirs])
        return out

    def diag(self) -> np.ndarray:
        return self.exact.diag()

    def describe(self) -> str:
        return f"{super().describe()}, rank {self.low.rank}, {self.leaves.count} leaves"
