"""The source of rows that suits an operator, chosen by its class.

Every operator has one: what is not registered here computes rows when they are needed.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from mercer import _native
from mercer.distances import by_strips
from mercer.gram import DenseGram, FactoredGram, FeatureGram, GramOperator, MatrixPart
from mercer.solvers.rows.rounding import is_small, rounds_to_float32
from mercer.solvers.rows.row_sources import (
    TILE,
    HeldRows,
    RowSource,
    add_products,
    add_rows,
    gather,
)
from mercer.threads import blas_limit, ordered_map

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
    """The source of rows of K for a solver that reads some of the rows many times.

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
        return HeldRows(K.dense() if "dense" in K.cheap else K.rows(slice(None)), n_jobs)
    return CachedRows(K, cache_bytes, room, n_jobs)


@row_source.register(DenseGram)
def _of_array(K: DenseGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    values = K.dense()
    # in float32 if the tolerance and the memory allow it: half the bytes to read
    if rounds_to_float32(K.diag(), room) and values.nbytes // 2 <= cache_bytes:
        values = by_strips(values, lambda strip: strip, np.float32, n_jobs)
    return HeldRows(values, n_jobs)


@row_source.register(MatrixPart)
def _of_part(K: MatrixPart, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    dtype = np.dtype(np.float32 if rounds_to_float32(K.diag(), room) else K.dtype)
    if K.shape[0] * K.shape[1] * dtype.itemsize > cache_bytes:
        return CachedRows(K, cache_bytes, room, n_jobs)
    return HeldRows(K.rows(slice(None), np.empty(K.shape, dtype)), n_jobs)


@row_source.register(FactoredGram)
def _of_factor(K: FactoredGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    return FactorRows(K, cache_bytes)


@row_source.register(FeatureGram)
def _of_features(K: FeatureGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    if is_small(K, cache_bytes):
        return HeldRows(K.dense(), n_jobs)
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
        slots, columns = self.slot_of[rows], np.ascontiguousarray(rows[place], np.int64)
        missing = np.flatnonzero(slots < 0)
        out = gather(self.values, slots[place], columns, self.n_jobs)
        if len(missing):
            with blas_limit(0):  # the block is small
                part = self.K.block(rows[missing], rows)
            lines = np.flatnonzero(slots[place] < 0)
            if len(lines) == len(missing) and np.array_equal(place, np.arange(len(rows))):
                out[lines] = part
            else:  # variables share rows, or have another order
                out[lines] = part[np.searchsorted(missing, place[lines])][:, place]
        return out

    def add(self, rows, change, g, again=None) -> None:
        if again is not None and not again.all():
            once = (self.slot_of[rows] < 0) & ~again
            add_products(self.K, rows[once], None, change[once], g, self.n_jobs)
            rows, change = rows[~once], change[~once]
        for s in range(0, len(rows), len(self.values)):  # one pass if all rows fit in the cache
            part = slice(s, s + len(self.values))
            add_rows(self.values, self.fetch(rows[part]), change[part], g, self.n_jobs)
