"""How queries are compared with lists of candidates, one list for each query.

`ListedSearch` is one question to a `mercer.search.LSHIndex`, as `mercer.search.compare.Search` is
to an index whose candidates come in tiles. It divides the queries among the threads, and into
pieces whose lists fit the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer import _native
from mercer.gram import Place
from mercer.search.rows import OrderedRows, by_query, refuse_beyond, slices
from mercer.threads import count_jobs, ordered_map

STEP, TASKS = 1024, 16  # queries of a task at most, and tasks at least
LEAST = 2**16  # candidates that a piece may have, whatever the budget


class ListedSearch:
    """One question to a fitted index that lists candidates.

    ``queries`` is ``training`` where the training rows ask for their own neighbours; a row is then
    no neighbour of itself.
    """

    def __init__(self, index: Any, queries: OrderedRows, training: OrderedRows):
        self.index, self.among_themselves = index, queries is training
        self.training = index.rows_
        self.queries = index.rows_ if self.among_themselves else index.reading_.rows(queries.X)
        self.n = len(queries)
        self.dtype = np.result_type(queries.X.dtype, training.X.dtype)
        self.budget = Place(index.memory).budget()
        each = 12 + self.dtype.itemsize  # bytes of a candidate
        self.room = max(LEAST, self.budget // (8 * count_jobs(index.n_jobs) * each))

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query, (n, k): their distances and numbers."""
        self._check_room(self.n * k, f"k={k}")
        distances = np.empty((self.n, k), self.dtype)
        indices = np.empty((self.n, k), np.int64)

        def keep(rows: slice, D: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> None:
            _native.nearest_listed(D, ids, starts, distances[rows], indices[rows])

        self._for_all(keep)
        return distances, indices

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All within a radius of each query: distances, numbers, and where each query starts."""
        total = 0

        def keep(rows: slice, D: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> tuple:
            nonlocal total
            near = np.flatnonzero(radius >= D)
            total += len(near)
            self._check_room(2 * total, f"radius={radius:g}")
            query = np.repeat(np.arange(rows.start, rows.stop), np.diff(starts))[near]
            return query, ids[near].astype(np.int64), D[near]

        return by_query(self._for_all(keep), self.n, self.dtype)

    def _for_all(self, keep: Callable) -> list:
        """The results of ``keep`` for all queries, some of them at a time."""

        def search(task: slice) -> list:
            return [keep(*piece) for piece in self._compared(task)]

        tasks = slices(self.n, min(STEP, max(1, -(-self.n // TASKS))))
        return [part for parts in ordered_map(search, tasks, self.index.n_jobs) for part in parts]

    def _compared(self, task: slice) -> Iterator[tuple]:
        """Pieces of some queries, with the distances, numbers and starts of their candidates."""
        index, Z = self.index, self.queries[task]
        keys = index.keys(Z)
        most = np.cumsum(index.most_candidates(keys))
        start = 0
        while start < len(most):
            used = most[start - 1] if start else 0
            end = max(int(np.searchsorted(most, used + self.room, side="right")), start + 1)
            here = slice(task.start + start, task.start + end)
            own = np.arange(here.start, here.stop) if self.among_themselves else None
            piece = np.ascontiguousarray(keys[:, start:end])
            ids, starts = index.listed(piece, int(most[end - 1] - used), own)
            D = index.reading_.listed(Z[start:end], self.training, ids, starts, self.dtype)
            yield here, D, ids, starts
            start = end

    def _check_room(self, pairs: int, asked: str) -> None:
        refuse_beyond(pairs, self.dtype, self.index.memory, asked)
