"""Gram matrices of pairs of classes, from blocks that they share: those of the classes.

A pair's matrix is held in blocks, those of its two classes and one between, and not put together.
"""

from __future__ import annotations

import threading

import numpy as np

from mercer.gram.operator import GramOperator, Rows
from mercer.gram.row_sources import PairRows, RowSource
from mercer.threads import count_jobs, ordered_map

__all__ = ["PairGram", "PairGrams"]


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

    def row_source(self, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
        return PairRows(self, n_jobs)


class PairGrams:
    """Gram matrices of pairs of classes, with what they share computed once.

    The rows of a class against the class itself stand in all its pairs: where pairs are small
    they are held, n² / k values for k classes, and each pair computes only its rows of one class
    against those of the other. So each value of K is computed once in all, and K is never held.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
    codes : ndarray of shape (n,), int
        The class of each row.
    small : int
        Rows up to which a pair's matrix is held.
    memory : int
        Bytes for what is held: the parts that are shared, and in each thread those of a pair.
    n_jobs : int or None
    """

    def __init__(
        self, K: GramOperator, codes: np.ndarray, small: int, memory: int, n_jobs: int | None = None
    ):
        self.K, self.small, self.here = K, small, threading.local()
        self.rows = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        self.own: dict[int, np.ndarray] = {}
        sizes = sorted(len(rows) for rows in self.rows)
        shared = [c for c, rows in enumerate(self.rows) if len(rows) + sizes[0] <= small]
        self.largest = min(small, sizes[-1] + sizes[-2])  # rows of a pair that is held
        numbers = sum(len(self.rows[c]) ** 2 for c in shared)
        jobs = count_jobs(n_jobs)
        numbers += jobs * 2 * self.largest**2
        if len(sizes) > 2 and numbers * np.dtype(K.dtype).itemsize <= memory:
            parts = ordered_map(lambda c: K.part(self.rows[c]).dense(), shared, jobs)
            self.own = dict(zip(shared, parts))

    def _room(self) -> np.ndarray:
        """Memory for rows of K, the same for all pairs of a thread: fresh memory is slow."""
        if not hasattr(self.here, "room"):
            self.here.room = np.empty(self.largest**2, self.K.dtype)
        return self.here.room

    def rows_of(self, first: int, second: int) -> np.ndarray:
        """The rows of a pair, those of the first class first; of two classes all, in order."""
        if len(self.rows) == 2:
            return np.arange(self.K.shape[0])
        return np.concatenate([self.rows[first], self.rows[second]])

    def of(self, first: int, second: int) -> tuple[np.ndarray, GramOperator]:
        """The rows of a pair and K between them, which a thread may use until it asks for the
        next pair."""
        rows = self.rows_of(first, second)
        if len(self.rows) == 2:
            return rows, self.K
        a, b = self.rows[first], self.rows[second]
        if len(rows) > self.small or first not in self.own or second not in self.own:
            return rows, self.K.part(rows)
        own = self.own[first], self.own[second]
        return rows, PairGram(own[0], self.K.block(a, b), own[1], self._room())
