"""Sources of rows of K, for solvers that read some rows of a symmetric matrix many times.

A `RowSource` gives the block of K between the rows of a working set, and adds K times a change of
some coefficients to K β. Sources differ in how they compute this; `row_source` chooses the one
that suits an operator (by_operator.py). `HeldRowSource` reads an array in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mercer import _native
from mercer.gram import GramOperator
from mercer.threads import count_jobs, ordered_map

SHARED = 1_000_000  # with at least this many numbers, threads share the update
PASSING = 512  # rows at a time of those that are used once and not kept
TILE = 2**19  # numbers in a strip of columns of these rows, which stays in a core's cache


class Square:
    """K between the rows of a subproblem, for the steps of its solver."""

    def __init__(self, K: np.ndarray):
        self.K = K

    def smo(self, *problem: object) -> int:
        """Take steps of two variables; arguments and result are those of `_native.smo_solve`."""
        return _native.smo_solve(self.K, *problem)

    def array(self) -> np.ndarray:
        """The whole block."""
        return self.K


class RowSource(ABC):
    r"""K between n rows and columns; a solver can leave some of them out for a time. Abstract.

    .. math:: K_{r:} = (k(x_r, x_1), \ldots, k(x_r, x_n)), \qquad K b = \sum_{r} b_r K_{r:}

    The rows r are read many times, and mostly kept.

    References
    ----------
    Chang & Lin, "LIBSVM: a library for support vector machines", ACM TIST 2, 2011.
    """

    #: whether columns can be left out, see `narrow`
    can_narrow = False
    #: smallest working set; large if a round costs the same for few variables
    least_set = 1
    #: whether rows are read only when steps need them: then all variables are the working set
    whole = False
    #: whether `add` needs only g, and not what was added to it before
    adds = True
    #: whether several threads can read it at a time
    stateless = False

    def begin(self) -> None:  # noqa: B027 - most sources keep no state of a problem
        """Start a new problem, where K β = 0."""

    @abstractmethod
    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        """K between rows[place], (r, r); ``rows`` must be ascending and distinct."""

    def square(self, rows: np.ndarray, place: np.ndarray) -> Square:
        """The same block for steps of two variables, which may read only few of its values."""
        return Square(self.block(rows, place))

    def lines(
        self, rows: np.ndarray, wanted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """K between some rows, in any order; perhaps only some of them are read.

        Parameters
        ----------
        rows : ndarray of int
            Distinct.
        wanted : ndarray of bool
            Which of the rows will be read first.

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
    if count * count < SHARED // 4:
        _native.smo_block(values, slots, columns, 0, count, out)
        return out
    jobs = count_jobs(n_jobs)
    edges = np.linspace(0, count, jobs + 1).astype(int)

    def strip(k: int) -> None:
        _native.smo_block(values, slots, columns, int(edges[k]), int(edges[k + 1]), out)

    for _ in ordered_map(strip, range(jobs), jobs):
        pass
    return out


class HeldRowSource(RowSource):
    """K is an array in memory."""

    stateless = True

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
