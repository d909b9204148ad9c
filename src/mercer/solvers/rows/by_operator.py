"""The source of rows that suits an operator, chosen by its class, and K of pairs of classes.

Every operator has one: what is not registered here computes rows when they are needed.
The matrix of a pair of classes is kept as blocks, which pairs share: one for each of its two
classes and one between them.
"""

from __future__ import annotations

import threading
from functools import singledispatch

import numpy as np

from mercer import _native
from mercer.distances import by_strips
from mercer.gram import DenseGram, FactoredGram, FeatureGram, GramOperator, MatrixPart, Rows
from mercer.solvers.rows.row_sources import (
    TILE,
    HeldRowSource,
    RowSource,
    Square,
    add_products,
    add_rows,
    gather,
)
from mercer.threads import blas_limit, count_jobs, ordered_map, stopping

SMALL = 2048  # with at most this many rows, all of K is computed, and the problem solved at once
ROUNDED_ROWS = 2000  # with this many or more, rows of K are kept in float32 if tol allows it


def is_small(K: GramOperator, cache_bytes: int) -> bool:
    """Whether all of K is computed at once, because this is faster than row by row."""
    n = K.shape[0]
    return K.symmetric and n <= SMALL and n * n * np.dtype(K.dtype).itemsize <= cache_bytes


def rounds_to_float32(diag: np.ndarray, room: float) -> bool:
    """Whether K with this diagonal is large, and ``room`` allows to round it to float32."""
    if len(diag) < ROUNDED_ROWS or diag.dtype == np.float32:
        return False
    rounding = float(np.finfo(np.float32).eps) / 2  # relative, at most
    return rounding * float(np.abs(diag).max()) <= room


# A source for K = F Fᵀ, which needs no rows of K: products with F do.


class FactorRows(RowSource):
    """K = F Fᵀ: the primal weights w = Fᵀ β are kept, and K β is one product with F.

    The blocks of working sets are computed, of at most ``cache_bytes``.
    """

    adds = False

    def __init__(self, K: FactoredGram, cache_bytes: int = 2**25):
        self.K = K
        fitting = np.sqrt(cache_bytes / np.dtype(K.dtype).itemsize)
        self.least_set = int(np.clip(fitting, 512, 2048))
        self.begin()

    def begin(self) -> None:
        self.w = np.zeros(self.K.rank)

    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        chosen = rows[place]
        return np.ascontiguousarray(self.K.block(chosen, chosen))

    def add(self, rows, change, g, again=None) -> None:
        w = self.w + self.K.combine(rows, change)
        g[:] = self.K.project(w)  # computed new each time, so that rounding errors do not add up
        self.w = w


@singledispatch
def row_source(K: GramOperator, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    r"""The source of rows of K for a solver that reads some of the rows many times.

    .. math:: K_{r:} = (k(x_r, x_1), \ldots, k(x_r, x_n))

    A row r has the shape (n,).

    ``row_source.register(MyGram)`` makes another function the one for a class of operators.

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric
    cache_bytes : int
        Most bytes for rows that are kept.
    room : float
        The largest relative error of K's entries that the solver's tolerance allows.
    n_jobs : int or None
        Threads; None means all cores.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> K = gram(RBF(), np.arange(3.0)[:, None])
    >>> rows, Kb = np.array([0, 2]), np.zeros(3)
    >>> row_source(K, 2**20, 0.0, 1).add(rows, np.array([1.0, 1.0]), Kb)
    >>> np.allclose(Kb, K.dense() @ [1.0, 0.0, 1.0])
    True
    """
    if is_small(K, cache_bytes):
        return HeldRowSource(K.dense() if "dense" in K.cheap else K.rows(slice(None)), n_jobs)
    return CachedRows(K, cache_bytes, room, n_jobs)


@row_source.register(DenseGram)
def _of_array(K: DenseGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    values = K.dense()
    # in float32 if the tolerance and the memory allow it: half the bytes to read
    if rounds_to_float32(K.diag(), room) and values.nbytes // 2 <= cache_bytes:
        values = by_strips(values, lambda strip: strip, np.float32, n_jobs)
    return HeldRowSource(values, n_jobs)


@row_source.register(MatrixPart)
def _of_part(K: MatrixPart, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    dtype = np.dtype(np.float32 if rounds_to_float32(K.diag(), room) else K.dtype)
    if K.shape[0] * K.shape[1] * dtype.itemsize > cache_bytes:
        return CachedRows(K, cache_bytes, room, n_jobs)
    return HeldRowSource(K.rows(slice(None), np.empty(K.shape, dtype)), n_jobs)


@row_source.register(FactoredGram)
def _of_factor(K: FactoredGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    return FactorRows(K, cache_bytes)


@row_source.register(FeatureGram)
def _of_features(K: FeatureGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    if is_small(K, cache_bytes):
        return HeldRowSource(K.dense(), n_jobs)
    return FactorRows(K, cache_bytes)


# A source that computes rows of K when they are needed, and keeps those that were used last.


class CachedRows(RowSource):
    """Rows are computed when they are needed; the last used rows are kept, up to ``cache_bytes``.

    Rows of a large K are kept in float32 if the tolerance allows it: as in LIBSVM, K is rounded
    and sums are not.
    """

    can_narrow = True

    def __init__(self, K: GramOperator, cache_bytes: int, room: float, n_jobs: int | None):
        self.K, self.n_jobs = K, n_jobs
        n, dtype = K.shape[0], np.dtype(K.dtype)
        if rounds_to_float32(K.diag(), room):
            dtype = np.dtype(np.float32)
        numbers = max(cache_bytes // dtype.itemsize, n)
        self._lay_out(np.empty(min(numbers, n * n), dtype), n)

    def _lay_out(self, numbers: np.ndarray, n: int) -> None:
        """Divide an array among rows of n numbers."""
        self.numbers = numbers
        capacity = len(numbers) // n
        self.values = numbers[: capacity * n].reshape(capacity, n)
        self.slot_of = np.full(n, -1)
        self.row_in = np.full(capacity, -1)
        self.used = np.zeros(capacity, np.int64)
        self.clock = 0

    def narrow(self, kept: np.ndarray) -> CachedRows:
        """Keep the computed rows: the columns that stay are moved together in place."""
        known, n = int(np.flatnonzero(self.row_in >= 0).max(initial=-1)) + 1, len(kept)
        _native.smo_narrow(self.values, known, kept)
        place = np.full(len(self.slot_of), -1)
        place[kept] = np.arange(n)
        rows, used = self.row_in[:known], self.used[:known]
        self.K = self.K.part(kept)
        self._lay_out(self.numbers, n)
        known = min(known, len(self.row_in))
        self.row_in[:known] = np.where(rows[:known] >= 0, place[rows[:known]], -1)
        self.used[:known] = np.where(self.row_in[:known] >= 0, used[:known], 0)
        self.clock = int(used.max(initial=0))
        held = np.flatnonzero(self.row_in >= 0)
        self.slot_of[self.row_in[held]] = held
        return self

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """The slots of the rows in ``values``; missing rows are computed."""
        self.clock += 1
        slots = self.slot_of[rows]
        self.used[slots[slots >= 0]] = self.clock
        missing = rows[slots < 0]
        if len(missing):
            free = np.argsort(self.used, kind="stable")[: len(missing)]
            self.slot_of[self.row_in[free][self.row_in[free] >= 0]] = -1
            if (np.diff(free) == 1).all():
                self.K.rows(missing, self.values[free[0] : free[-1] + 1])
            else:
                self._scatter(missing, free)
            self.row_in[free], self.slot_of[missing] = missing, free
            self.used[free] = self.clock
            slots = self.slot_of[rows]
        return np.ascontiguousarray(slots, np.int64)

    def _scatter(self, rows: np.ndarray, slots: np.ndarray) -> None:
        """Write K[rows] to slots that are not next to each other, by strips of columns."""
        step = max(TILE // len(rows), 256)

        def strip(s: int) -> None:
            part = slice(s, s + step)
            self.values[slots, part] = self.K.block(rows, part)

        for _ in ordered_map(strip, range(0, len(self.slot_of), step), self.n_jobs):
            pass

    def lines(self, rows, wanted) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.fetch(rows[wanted][: len(self.values)])
        return self.values, self.slot_of[rows], rows

    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Compute only the block: many variables of a working set do not change, and the whole row
        is needed only for variables that change."""
        columns = np.ascontiguousarray(rows[place], np.int64)
        slots = self.slot_of[columns]
        out = gather(self.values, slots, columns, self.n_jobs)
        lines = np.flatnonzero(slots < 0)
        if len(lines):
            with blas_limit(0):  # the block is small
                out[lines] = self.K.block(columns[lines], columns)
        return out

    def add(self, rows, change, g, again=None) -> None:
        if again is not None and not again.all():
            once = (self.slot_of[rows] < 0) & ~again
            add_products(self.K, rows[once], None, change[once], g, self.n_jobs)
            rows, change = rows[~once], change[~once]
        for s in range(0, len(rows), len(self.values)):  # one pass if all rows fit in the cache
            part = slice(s, s + len(self.values))
            add_rows(self.values, self.fetch(rows[part]), change[part], g, self.n_jobs)


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

    def smo(self, *problem: object) -> int:
        return _native.smo_solve_blocks(*self.blocks, *problem)

    def array(self) -> np.ndarray:
        return self.pair.dense()


@row_source.register(PairGram)
def _of_pair(K: PairGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    return PairRows(K, n_jobs)
