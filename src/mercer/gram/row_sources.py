"""Sources from which SMO gets K: an array in memory, a cache of rows, or a product of factors.

Each source gives the block of K between the rows of a working set, and adds K times a change of
some coefficients to K β. Sources differ in how they compute this. An operator chooses the source
that suits it (`GramOperator.row_source`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer import _native
from mercer.threads import blas_limit, count_jobs, ordered_map

if TYPE_CHECKING:
    from mercer.gram.factored import FactoredGram
    from mercer.gram.operator import GramOperator
    from mercer.gram.pairs import PairGram

__all__ = [
    "FactorRows",
    "HeldRows",
    "PairRows",
    "RowSource",
    "Square",
    "add_products",
    "is_small",
    "rounding_room",
    "rounds_to_float32",
]

SMALL = 2048  # with at most so many rows, all of K is computed, and the problem solved at once
ROUNDED_ROWS = 2000  # with at least so many, rows of K are kept in float32 if the tolerance allows
SHARED = 1_000_000  # with at least so many numbers, threads share the update
PASSING = 512  # rows at a time of those that are used once and not kept
TILE = 2**19  # numbers in a strip of columns of these rows, which stays in a core's cache


def is_small(K: GramOperator, cache_bytes: int) -> bool:
    """Whether all of K is computed at once, because this is faster than row by row."""
    n = K.shape[0]
    return K.symmetric and n <= SMALL and n * n * np.dtype(K.dtype).itemsize <= cache_bytes


def rounding_room(tol: float, C: np.ndarray) -> float:
    """The largest relative error of K's entries that optimality within ``tol`` allows.

    (f is a sum of entries with weights up to C.)
    """
    return tol / (10 * max(1.0, float(C.max(initial=0))))


def rounds_to_float32(diag: np.ndarray, room: float) -> bool:
    """Whether K with this diagonal is large, and ``room`` allows to round it to float32."""
    if len(diag) < ROUNDED_ROWS or diag.dtype == np.float32:
        return False
    rounding = float(np.finfo(np.float32).eps) / 2  # relative, at most
    return rounding * float(np.abs(diag).max()) <= room


class Square:
    """K between the rows of a subproblem, for the steps of its solver."""

    def __init__(self, K: np.ndarray):
        self.K = K

    def smo(self, *problem: Any) -> int:
        """Take steps of two variables; arguments and result are those of `_native.smo_solve`."""
        return _native.smo_solve(self.K, *problem)

    def array(self) -> np.ndarray:
        """The whole block."""
        return self.K


class RowSource(ABC):
    """Abstract: K between n rows and columns; a solver can leave some of them out for a time."""

    #: whether columns can be left out, see `narrow`
    can_narrow = False
    #: smallest working set; large if a round costs the same for few variables
    least_set = 1
    #: whether rows are read only when steps need them: then all variables are the working set
    whole = False

    def begin(self) -> None:  # noqa: B027 - most sources keep no state of a problem
        """Start a new problem, where K β = 0."""

    @abstractmethod
    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        """K between rows[place]; ``rows`` must be ascending and distinct."""

    def square(self, rows: np.ndarray, place: np.ndarray) -> Square:
        """The same block for steps of two variables, which may read only few of its values."""
        return Square(self.block(rows, place))

    def lines(
        self, rows: np.ndarray, wanted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """K between some rows, in any order, of which perhaps only some are read.

        Parameters
        ----------
        rows : ndarray of int
            Distinct.
        wanted : ndarray of bool
            Those of the rows that will be read first.

        Returns
        -------
        table : ndarray
        slots : ndarray of int
            The line of each row in the table, -1 where it is not there.
        columns : ndarray of int
            The column of each row there.
        """
        ascending = np.sort(rows)
        every = np.arange(len(rows))
        block = self.block(ascending, np.searchsorted(ascending, rows))
        return np.ascontiguousarray(block), every, every

    @abstractmethod
    def add(
        self, rows: np.ndarray, change: np.ndarray, g: np.ndarray, again: np.ndarray | None = None
    ) -> None:
        """g += K[:, rows] change, in place and in float64.

        ``again`` is a mask of the rows that will probably be needed again; None means all.
        """

    def magnitudes(self, rows: np.ndarray, beta: np.ndarray) -> np.ndarray | None:
        """``abs(K[:, rows]) @ beta`` if these rows are in memory, None if they are not."""
        return None

    def narrow(self, kept: np.ndarray) -> RowSource:
        """The source for some of the rows and columns, ascending; do not use this one again.

        Only if ``can_narrow``.
        """
        raise TypeError(
            f"{type(self).__name__} cannot leave out columns: check can_narrow before narrow()."
        )


def add_rows(values, slots, change, g, n_jobs) -> None:
    """g += values[slots].T change; the threads share strips of columns."""
    if len(g) * len(slots) < SHARED:
        _native.smo_add_rows(values, slots, change, g, 0, len(g))
        return
    jobs = count_jobs(n_jobs)
    edges = np.linspace(0, len(g), jobs + 1).astype(int)

    def strip(k: int) -> None:
        _native.smo_add_rows(values, slots, change, g, int(edges[k]), int(edges[k + 1]))

    for _ in ordered_map(strip, range(jobs), jobs):
        pass


def add_products(K: GramOperator, rows, columns, change, g, n_jobs) -> None:
    """g += K[columns, rows] change in float64, from tiles of K that are not kept.

    ``columns=None`` means all columns.
    """
    for first in range(0, len(rows), PASSING):
        part = rows[first : first + PASSING]
        delta, slots = change[first : first + PASSING], np.arange(len(part))
        step = max(TILE // len(part), 256)

        def strip(s: int, part=part, delta=delta, slots=slots, step=step) -> None:
            tile = K.block(part, slice(s, s + step) if columns is None else columns[s : s + step])
            piece = g[s : s + step]
            _native.smo_add_rows(np.ascontiguousarray(tile), slots, delta, piece, 0, len(piece))

        for _ in ordered_map(strip, range(0, len(g), step), n_jobs):
            pass


def gather(values, slots, columns, n_jobs) -> np.ndarray:
    """values[slots, columns] as a square block; rows with negative slots are not filled."""
    count = len(columns)
    out = np.empty((count, count), values.dtype)
    jobs = count_jobs(n_jobs) if count * count >= SHARED // 4 else 1
    edges = np.linspace(0, count, jobs + 1).astype(int)

    def strip(k: int) -> None:
        _native.smo_block(values, slots, columns, int(edges[k]), int(edges[k + 1]), out)

    for _ in ordered_map(strip, range(jobs), jobs):
        pass
    return out


class HeldRows(RowSource):
    """K is an array in memory."""

    def __init__(self, K: np.ndarray, n_jobs: int | None):
        self.values = np.require(K, None, ["C", "ALIGNED"])
        self.n_jobs = n_jobs

    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(rows[place], np.int64)
        if len(rows) == len(self.values) and np.array_equal(rows, np.arange(len(rows))):
            return self.values
        return gather(self.values, rows, rows, self.n_jobs)

    def lines(self, rows, wanted) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.values, rows, rows

    def magnitudes(self, rows: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return beta @ np.abs(self.values[rows])

    def add(self, rows, change, g, again=None) -> None:
        slots = np.ascontiguousarray(rows, np.int64)
        add_rows(self.values, slots, change, g, self.n_jobs)


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


class FactorRows(RowSource):
    """K = F Fᵀ: the primal weights w = Fᵀ β are kept, and K β is one product with F.

    The blocks of working sets are computed, of at most ``cache_bytes``.
    """

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
