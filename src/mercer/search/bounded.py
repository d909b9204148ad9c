"""Nearest neighbours by bounds: the distance of a pair is computed only where a bound, which is
much cheaper, leaves it open whether the pair is near enough.

Each query asks for the distances of its candidates in the order of their bounds, some at a time,
and passes over all whose bound is beyond the neighbours that it has. Distances are given up in the
middle where they exceed those.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances import Distance
from mercer.gram import Place
from mercer.search.rows import (
    TASKS,
    OrderedRows,
    by_distance,
    by_query,
    merged,
    refuse_beyond,
    slices,
)
from mercer.threads import count_jobs, ordered_map, raise_if_stopped

NOBODY = np.iinfo(np.int64).max
FIRST, MOST = 4, 256  # candidates of a query that are compared first, and at most at a time
COPIES = 4  # arrays as large as the bounds, of one chunk of queries


class BoundedSearch:
    """One question by encoded queries; None: by the training rows, none of which finds itself."""

    def __init__(self, index: Any, queries: Any, training: OrderedRows):
        self.index, self.distance = index, index.distance_
        self.among_themselves = queries is None
        self.X = training.X
        self.Z = self.X if queries is None else queries
        self.order = training.order
        self.dtype = np.result_type(self.Z.dtype, self.X.dtype)
        n, m = self.Z.shape[0], self.X.shape[0]
        room = Place(index.memory).budget() / (count_jobs(index.n_jobs) * 8 * COPIES * max(m, 1))
        self.chunks = slices(n, max(1, min(int(room), -(-n // TASKS))))

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query, (n, k): their distances and numbers."""
        refuse_beyond(self.Z.shape[0] * k, self.dtype, self.index.memory, f"k={k}")

        def search(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            bounds = self._bounds(rows)
            candidates = np.argsort(bounds, axis=1, kind="stable")
            best = np.full((len(bounds), k), np.inf)
            nearest = np.full(best.shape, NOBODY)
            done, step, active = 0, max(k, FIRST), np.arange(len(bounds))
            while len(active):
                raise_if_stopped()
                columns = candidates[active, done : done + step]
                limits = best[active, -1]
                D = self._compared(rows, active, columns, bounds, limits)
                D, numbers = by_distance(D, np.where(np.isnan(D), NOBODY, self.order[columns]))
                D[np.isnan(D)] = np.inf
                best[active], nearest[active] = merged(best[active], nearest[active], D, numbers)
                done += step
                step = min(2 * step, MOST)
                if done >= candidates.shape[1]:
                    break
                # the nearest of the others may still be near enough
                following = bounds[active, candidates[active, done]]
                active = active[following <= best[active, -1]]
            return best, nearest

        found = list(ordered_map(search, self.chunks, self.index.n_jobs))
        distances, indices = (np.concatenate(parts) for parts in zip(*found, strict=True))
        # different powers may have the same root
        return by_distance(_rooted(self.distance, distances).astype(self.dtype), indices)

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All within a radius of each query: distances, numbers, and where each query starts."""
        with np.errstate(over="ignore"):  # beyond floats is as good as no limit
            limit = float(np.float64(radius) ** self.distance.exponent * (1 + 1e-6))

        def search(rows: slice) -> tuple[np.ndarray, ...]:
            raise_if_stopped()
            bounds = self._bounds(rows)
            pairs = np.argwhere((bounds <= limit) & ~np.isnan(bounds))
            refuse_beyond(3 * len(pairs), self.dtype, self.index.memory, f"radius={radius:g}")
            limits = np.full(len(pairs), limit)
            found = self.distance.of_pairs(self.Z[rows], self.X, pairs, limits)
            near = _rooted(self.distance, found).astype(self.dtype)
            inside = near <= radius
            i, j = pairs[inside].T
            return rows.start + i, self.order[j], near[inside]

        found = list(ordered_map(search, self.chunks, self.index.n_jobs))
        return by_query(found, self.Z.shape[0], self.dtype)

    def _bounds(self, rows: slice) -> np.ndarray:
        """Bounds of some queries from all training rows; NaN for a row and itself."""
        bounds = self.distance.bounds(self.Z[rows], self.X)
        assert bounds is not None  # as the index has asked
        if self.among_themselves:
            own = np.arange(rows.start, rows.stop)
            bounds[own - rows.start, own] = np.nan
        return bounds

    def _compared(
        self, rows: slice, queries: np.ndarray, columns: np.ndarray, bounds: np.ndarray,
        limits: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Powers of the distances of some queries from their candidates, NaN for the pairs whose
        bound is beyond the limit of the query."""
        asked = bounds[queries[:, None], columns] <= limits[:, None]
        i, j = np.nonzero(asked)
        pairs = np.stack([queries[i], columns[i, j]], axis=1)
        D = np.full(columns.shape, np.nan)
        D[i, j] = self.distance.of_pairs(self.Z[rows], self.X, pairs, limits[i])
        return D


def _rooted(distance: Distance, D: np.ndarray) -> np.ndarray:
    """Distances from their powers."""
    return np.sqrt(D) if distance.exponent == 2 else D ** (1 / distance.exponent)
