"""Gram matrices of pairs of classes; pairs share the blocks of their classes.

The matrix of a pair is kept as blocks: one for each of its two classes and one between them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from mercer import _native
from mercer.gram import GramOperator, Rows
from mercer.solvers.rows.by_operator import row_source
from mercer.solvers.rows.row_sources import RowSource, Square, add_rows, gather
from mercer.threads import count_jobs, ordered_map, stopping


class PairGram(GramOperator):
    """K = [[A, B], [Bᵀ, D]], symmetric, kept as its blocks.

    Parameters
    ----------
    first, second : ndarray of shape (a, a), (d, d)
        A and D: each class with itself.
    across : ndarray of shape (a, d)
        B.
    room : ndarray of (a + d)² numbers, optional
        Memory for rows that a solver puts together. New memory is slow, so several pairs can use
        the same memory one after the other.
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


class PairGrams:
    """Gram matrices of pairs of classes, with their common blocks computed once.

    All pairs of a class need the block of the class with itself. If pairs are small these blocks
    are kept, n² / k values for k classes, and each pair computes only the block between its two
    classes. So each value of K is computed only once, and all of K is never kept.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
    codes : ndarray of shape (n,), int
        The class of each row.
    small : int
        Most rows of a pair whose matrix is kept.
    memory : int
        Most bytes for the shared blocks and for the rows of one pair in each thread.
    n_jobs : int or None
        Threads; None means all cores.
    """

    def __init__(
        self, K: GramOperator, codes: np.ndarray, small: int, memory: int, n_jobs: int | None = None
    ):
        self.K, self.small, self.here = K, small, threading.local()
        self.rows = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        self.own: dict[int, np.ndarray] = {}
        sizes = sorted(len(rows) for rows in self.rows)
        shared = [c for c, rows in enumerate(self.rows) if len(rows) + sizes[0] <= small]
        self.largest = min(small, sizes[-1] + sizes[-2])  # most rows of a pair that is kept
        numbers = sum(len(self.rows[c]) ** 2 for c in shared)
        jobs = count_jobs(n_jobs)
        numbers += jobs * 2 * self.largest**2
        if len(sizes) > 2 and numbers * np.dtype(K.dtype).itemsize <= memory:
            parts = ordered_map(lambda c: K.part(self.rows[c]).dense(), shared, jobs)
            self.own = dict(zip(shared, parts, strict=True))

    def _room(self) -> np.ndarray:
        """Memory for rows of K; all pairs of a thread use it, because new memory is slow."""
        if not hasattr(self.here, "room"):
            self.here.room = np.empty(self.largest**2, self.K.dtype)
        return self.here.room

    def rows_of(self, first: int, second: int) -> np.ndarray:
        """The rows of a pair, first class first; all rows in order if there are two classes."""
        if len(self.rows) == 2:
            return np.arange(self.K.shape[0])
        return np.concatenate([self.rows[first], self.rows[second]])

    def of(self, first: int, second: int) -> tuple[np.ndarray, GramOperator]:
        """The rows of a pair and K between them, valid until the thread gets the next pair."""
        rows = self.rows_of(first, second)
        if len(self.rows) == 2:
            return rows, self.K
        a, b = self.rows[first], self.rows[second]
        kept = len(rows) <= self.small and first in self.own and second in self.own
        if not kept or stopping():  # a solver that should stop reads no values
            return rows, self.K.part(rows)
        own = self.own[first], self.own[second]
        return rows, PairGram(own[0], self.K.block(a, b), own[1], self._room())


class PairRows(RowSource):
    """K in blocks: a row is put together when a step reads it for the first time.

    Few rows are read: with 1,000 rows and 60 support vectors, a tenth of the matrix.
    """

    whole = True

    def __init__(self, K: PairGram, n_jobs: int | None):
        self.K, self.n_jobs = K, n_jobs
        self.slots = np.full(len(K.room), -1)  # for each row of K, its row in K.room, or -1
        self.blocks = K.first, K.across, K.second, K.room, self.slots

    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        rows = rows[place]
        _native.smo_join(*self.blocks, rows)
        return gather(self.K.room, self.slots[rows], rows, self.n_jobs)

    def square(self, rows: np.ndarray, place: np.ndarray) -> Square:
        if len(place) == len(self.slots) and np.array_equal(place, np.arange(len(place))):
            return PairSquare(self.K, self.blocks)
        return super().square(rows, place)

    def magnitudes(self, rows: np.ndarray, beta: np.ndarray) -> np.ndarray:
        (first, across, second), split = self.blocks[:3], len(self.K.first)
        upper, lower = rows < split, rows >= split
        top, low = np.zeros(split), np.zeros(len(second))
        top[rows[upper]], low[rows[lower] - split] = beta[upper], beta[lower]
        first, across, second = np.abs(first), np.abs(across), np.abs(second)
        return np.concatenate([first @ top + across @ low, top @ across + second @ low])

    def add(self, rows, change, g, again=None) -> None:
        _native.smo_join(*self.blocks, rows)
        add_rows(self.K.room, self.slots[rows], change, g, self.n_jobs)


class PairSquare(Square):
    """The whole matrix of a pair, in blocks."""

    def __init__(self, K: PairGram, blocks: tuple):
        self.pair, self.blocks = K, blocks

    def smo(self, *problem: Any) -> int:
        return _native.smo_solve_blocks(*self.blocks, *problem)

    def array(self) -> np.ndarray:
        return self.pair.dense()


@row_source.register(PairGram)
def _of_pair(K: PairGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    return PairRows(K, n_jobs)
