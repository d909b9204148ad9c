"""A Gram matrix of two classes that is held in blocks: those of the classes, and one between."""

from __future__ import annotations

import numpy as np

from mercer.gram.operator import GramOperator, Rows

__all__ = ["PairGram"]


class PairGram(GramOperator):
    """K = [[A, B], [Bᵀ, D]], symmetric, from its blocks; it is not put together.

    Parameters
    ----------
    first, second : ndarray of shape (a, a), (d, d)
        A and D: each class with itself.
    across : ndarray of shape (a, d)
        B.
    room : ndarray of (a + d)² numbers, optional
        Memory for rows that a solver puts together: fresh memory is slow, and several pairs, one
        after the other, may use the same.
    """

    symmetric = True

    def __init__(
        self,
        first: np.ndarray,
        across: np.ndarray,
        second: np.ndarray,
        room: np.ndarray | None = None,
    ):
        self.first, self.across, self.second = first, across, second
        n = len(first) + len(second)
        self.shape, self.dtype = (n, n), across.dtype
        self.room = (np.empty(n * n, self.dtype) if room is None else room)[: n * n].reshape(n, n)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        a, places = len(self.first), np.arange(self.shape[0])
        rows, columns = places[i], places[j]
        out = np.empty((len(rows), len(columns)), self.dtype)
        for above in (True, False):
            for left in (True, False):
                r, c = np.flatnonzero((rows < a) == above), np.flatnonzero((columns < a) == left)
                K = {
                    (True, True): self.first,
                    (True, False): self.across,
                    (False, True): self.across.T,
                    (False, False): self.second,
                }[above, left]
                lines = rows[r] if above else rows[r] - a
                out[np.ix_(r, c)] = K[np.ix_(lines, columns[c] if left else columns[c] - a)]
        return out

    def diag(self) -> np.ndarray:
        return np.concatenate([self.first.diagonal(), self.second.diagonal()])
