"""How queries are compared with the candidates that an index proposes.

A `Search` is one question to an index. It divides the queries among the threads, computes the
distances to the candidates tile by tile, and keeps the nearest or those within a radius.
Called by `mercer.search.Index`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np

from mercer import _native
from mercer.gram import Place
from mercer.search.rows import (
    EDGE,
    LEAST,
    OrderedRows,
    QueryTask,
    Selection,
    by_distance,
    by_query,
    count,
    merged,
    pieces,
    refuse_beyond,
    tasks,
)
from mercer.search.vectors import exact_tiles
from mercer.threads import count_jobs, ordered_map

NOBODY = np.iinfo(np.int64).max
SLACK = 1 + 1e-6  # a power and its root may round to less


class Search:
    """One question to a fitted index.

    ``queries`` is ``training`` where the training rows ask for their own neighbours; a row is then
    no neighbour of itself. ``allowed`` says of each training row, in the order in which they came,
    whether it may be a neighbour; None: all.
    """

    def __init__(
        self,
        index: Any,
        queries: OrderedRows,
        training: OrderedRows,
        allowed: np.ndarray | None = None,
    ):
        self.allowed = None if allowed is None else allowed[training.order]
        self.index, self.distance = index, exact_tiles(index.distance_, training.X)
        self.queries, self.training = queries, training
        self.among_themselves = queries is training
        self.exponent = self.distance.exponent
        self.slack = 1.0 if self.exponent == 1 else SLACK
        self.dtype = np.result_type(queries.X.dtype, training.X.dtype)
        self.budget = Place(index.memory).budget()
        room = self.budget / (count_jobs(index.n_jobs) * 8 * self.dtype.itemsize)
        #: rows and columns of a tile: some copies of one for each thread fit the budget
        self.edge = int(np.clip(np.sqrt(room), LEAST, EDGE))
        self.tasks, self.parts = tasks(len(queries), len(training), self.edge, index.divisible)

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query, (n, k): their distances and numbers."""
        shape = len(self.queries), k
        self._check_room(shape[0] * k, f"k={k}")
        distances, indices = np.full(shape, np.inf, self.dtype), np.full(shape, NOBODY)
        A, B = self._sides()

        def search(task: QueryTask) -> tuple[np.ndarray, np.ndarray]:
            """The nearest of some rows, among a part of their candidates."""
            X, places = A[task.rows], self.queries.order[task.rows]
            own = places if self.among_themselves else np.full(len(places), -1)
            best = np.full((len(places), k), np.inf, self.dtype)
            nearest = np.full(best.shape, NOBODY)
            limits = np.full(len(places), np.inf)
            for i, j in self._tiles(task, limits):
                kept, numbers = best[i], nearest[i]  # views, or copies where i is an array
                D = self.distance.within(X[i], B[j], float(kept[:, -1].max()))
                D = np.ascontiguousarray(D, self.dtype)
                _native.keep_nearest(D, self.training.order[j], own[i], kept, numbers)
                best[i], nearest[i] = kept, numbers
                limits[i] = self._root(kept[:, -1].astype(np.float64)) * self.slack
            return best, nearest

        found = ordered_map(search, self.tasks, self.index.n_jobs)
        for task, (best, nearest) in zip(self.tasks, found, strict=True):
            places = self.queries.order[task.rows]
            if self.parts > 1:
                best, nearest = merged(distances[places], indices[places], best, nearest)
            distances[places], indices[places] = best, nearest
        distances = self._root(distances)
        # different powers may have the same root
        ties = (distances[:, :-1] == distances[:, 1:]) & (indices[:, :-1] > indices[:, 1:])
        rows = np.flatnonzero(ties.any(axis=1))
        distances[rows], indices[rows] = by_distance(distances[rows], indices[rows])
        if not self.index.exact:
            indices[indices == NOBODY] = -1
        return distances, indices

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All within a radius of each query: distances, numbers, and where each query starts."""
        # what is found beyond the radius, because of the slack, is left out below
        with np.errstate(over="ignore"):  # beyond floats is as good as no limit
            limit = float(np.float64(radius) ** self.exponent * self.slack)
        # one of two equal pairs is computed
        mirrored = self.among_themselves and self.index.exact and self.allowed is None
        A, B = self._sides()
        m, total, adding = len(self.training), 0, Lock()

        def add(pairs: int) -> None:
            nonlocal total
            with adding:
                total += pairs * (2 if mirrored else 1)
                # a second copy, and a third of the numbers by which they are sorted
                self._check_room(3 * total, f"radius={radius:g}")

        def search(task: QueryTask) -> list[tuple[np.ndarray, ...]]:
            """Pairs of a query and a near training row, with their distances."""
            found, rows = [], np.arange(task.rows.start, task.rows.stop)
            X, limits = A[task.rows], np.full(len(rows), radius)
            for i, j in self._tiles(task, limits):
                here, there = rows[i], np.arange(m)[j]
                if mirrored and there.max() <= here.min():
                    continue
                D = self.distance.within(X[i], B[j], limit)
                a, b = np.divmod(np.flatnonzero(np.less_equal(D, limit)), D.shape[1])
                if self.among_themselves:
                    wanted = here[a] < there[b] if mirrored else here[a] != there[b]
                    a, b = a[wanted], b[wanted]
                near = self._root(D[a, b].astype(self.dtype))
                inside = near <= radius
                query = self.queries.order[here[a[inside]]]
                neighbour = self.training.order[there[b[inside]]]
                found.append((query, neighbour, near[inside]))
                add(len(query))
            return found

        searched = ordered_map(search, self.tasks, self.index.n_jobs)
        found = [tile for tiles in searched for tile in tiles]
        return by_query(found, len(self.queries), self.dtype, mirrored)

    def _sides(self) -> tuple[Any, Any]:
        """Queries and training rows as the distance reads them, prepared once for all tiles."""
        B = self.training.prepare(self.distance)
        return self.queries.prepare(self.distance, B), B

    def _tiles(self, task: QueryTask, limits: np.ndarray) -> Iterator[tuple[Selection, Selection]]:
        """The candidates of a task, in tiles of ``edge`` columns at most."""
        Z, m = self.queries.X[task.rows], len(self.training)
        candidates = self.index.candidates(Z, limits)
        for rows, columns in islice(candidates, task.part, None, self.parts):
            if count(rows, len(limits)):
                if self.allowed is not None:
                    columns = np.arange(m)[columns]
                    columns = columns[self.allowed[columns]]
                for piece in pieces(columns, m, self.edge):
                    yield rows, piece

    def _check_room(self, pairs: int, asked: str) -> None:
        refuse_beyond(pairs, self.dtype, self.index.memory, asked)

    def _root(self, D: np.ndarray) -> np.ndarray:
        """Distances from their powers."""
        if self.exponent == 2:
            return np.sqrt(D, out=D)
        return D if self.exponent == 1 else D ** (1 / self.exponent)
