"""Nearest neighbours by comparing everything: tiles of distances stream by, and the nearest stay.

Exact for every distance, and the measure of every other index. Where the distance has a ``key``
(the length of a string), rows are held in its order, and tiles whose keys are too far apart are
passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.distances import Distance
from mercer.gram.memory import memory_budget
from mercer.threads import count_jobs, ordered_map

__all__ = ["BruteForce"]

EDGE, LEAST = 512, 32  # rows and columns of a tile, at most and at least
TASKS = 16  # tasks at least that a search is divided into, whatever the number of threads
NOBODY = np.iinfo(np.int64).max


class BruteForce(BaseEstimator):
    """An index that compares each query with each row of the training sample.

    Parameters
    ----------
    distance : Distance
    memory : int, str or None
        Budget in bytes or as "4GB" for tiles and results; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores. Results do not depend on it.

    Attributes
    ----------
    distance_ : Distance
        Bound to the training sample.
    n_samples_fit_ : int

    Notes
    -----
    O(n m) distances for n queries of m rows; memory O(n k) beside the tiles, never O(n m). Of
    equally near rows the one of smaller index comes first. Distances are those of the tiles, where
    rounding may differ from that of the whole matrix.

    Examples
    --------
    >>> from mercer.distances import Edit
    >>> index = BruteForce(Edit()).fit(["anna", "hanna", "otto", "anne"])
    >>> distances, indices = index.query(["hannah"], k=2)
    >>> distances, indices
    (array([[1., 2.]]), array([[1, 0]]))
    >>> distances, indices, starts = index.query_radius(radius=1)
    >>> indices, starts
    (array([1, 3, 0, 0]), array([0, 2, 3, 3, 4]))
    """

    def __init__(
        self,
        distance: Distance,
        memory: int | float | str | None = None,
        n_jobs: int | None = None,
    ):
        self.distance = distance
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> BruteForce:
        """Encode the rows of X and bind the distance to them; y is not used."""
        if not isinstance(self.distance, Distance):
            raise TypeError(
                f"distance={self.distance!r}: give a distance of mercer.distances, such as "
                "Minkowski(2) or Edit()."
            )
        self.distance.validate()
        X = self.distance.encode(X)
        self.distance_ = self.distance.bind(X, y)
        self._rows = Ordered(self.distance_, X)
        self.n_samples_fit_ = X.shape[0]
        return self

    def query(self, Z: Any = None, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest training rows of each row of Z.

        Parameters
        ----------
        Z : samples, optional
            None: the training rows, none of which is its own neighbour.
        k : int >= 1

        Returns
        -------
        distances : ndarray of shape (n, k)
            Ascending in each row.
        indices : ndarray of shape (n, k), int64

        Raises
        ------
        ValueError
            There are fewer than k neighbours, or the results exceed ``memory``.
        """
        queries, budget = self._queries(Z), memory_budget(self.memory)
        n, most = len(queries.order), self.n_samples_fit_ - (Z is None)
        if not (isinstance(k, Integral) and 1 <= k <= most):
            raise ValueError(
                f"k={k!r}: give an integer from 1 to {most}, the number of training rows"
                + (" beside the row itself." if Z is None else ".")
            )
        dtype = np.result_type(queries.X.dtype, self._rows.X.dtype)
        self._check_room(n * k, dtype, budget, f"k={k}")
        distances, indices = np.full((n, k), np.inf, dtype), np.full((n, k), NOBODY)
        tiles = Tiles(queries, self._rows, self._edge(dtype, budget))

        def search(task: Task) -> tuple[np.ndarray, np.ndarray]:
            """The nearest of some rows, among some tiles of the training rows."""
            X, places = queries.X[task.rows], queries.order[task.rows]
            own = places if Z is None else np.full(len(places), -1)
            best = np.full((len(places), int(k)), np.inf, dtype)
            nearest = np.full(best.shape, NOBODY)
            for columns, gap in tiles.of(task, np.inf):
                worst = float(best[:, -1].max())
                if gap**self.distance_.exponent > worst:
                    break
                D = self.distance_.within(X, self._rows.X[columns], worst)
                D = np.ascontiguousarray(D, dtype)
                _native.keep_nearest(D, self._rows.order[columns], own, best, nearest)
            return best, nearest

        for task, (best, nearest) in zip(
            tiles.tasks, ordered_map(search, tiles.tasks, self.n_jobs)
        ):
            places = queries.order[task.rows]
            best = np.hstack([distances[places], best])
            nearest = np.hstack([indices[places], nearest])
            kept = np.lexsort((nearest, best), axis=-1)[:, :k]
            distances[places] = np.take_along_axis(best, kept, 1)
            indices[places] = np.take_along_axis(nearest, kept, 1)
        return self._root(distances), indices

    def query_radius(
        self, Z: Any = None, radius: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All training rows within a distance of each row of Z.

        Parameters
        ----------
        Z : samples, optional
            None: the training rows, none of which is its own neighbour.
        radius : float >= 0, default=1.0
            A row at this very distance is within it.

        Returns
        -------
        distances : ndarray of shape (total,)
        indices : ndarray of shape (total,), int64
            Row i of Z has the neighbours ``indices[starts[i] : starts[i + 1]]``, ascending.
        starts : ndarray of shape (n + 1,), int64

        Raises
        ------
        ValueError
            The radius is negative, or the results exceed ``memory``.
        """
        queries, budget = self._queries(Z), memory_budget(self.memory)
        if not (isinstance(radius, Real) and radius >= 0):
            raise ValueError(f"radius={radius!r}: give a number >= 0.")
        dtype = np.result_type(queries.X.dtype, self._rows.X.dtype)
        exponent = self.distance_.exponent
        # a power and its root may round to less: what is found beyond the radius is left out below
        limit = float(radius) ** exponent * (1 if exponent == 1 else 1 + 1e-6)
        n = len(queries.order)
        tiles = Tiles(queries, self._rows, self._edge(dtype, budget))
        total, counting = 0, Lock()

        def count(pairs: int) -> None:
            nonlocal total
            with counting:
                total += pairs * (2 if Z is None else 1)
                # a second copy, and a third of the numbers by which they are sorted
                self._check_room(3 * total, dtype, budget, f"radius={radius:g}")

        def search(task: Task) -> list[tuple[np.ndarray, ...]]:
            """Pairs of a row and a near training row, with their distances, from some tiles."""
            found = []
            X, places = queries.X[task.rows], queries.order[task.rows]
            for columns, _ in tiles.of(task, float(radius)):
                if Z is None and columns.stop <= task.rows.start:
                    continue  # its mirror image is computed
                D = self.distance_.within(X, self._rows.X[columns], limit)
                i, j = np.divmod(np.flatnonzero(np.less_equal(D, limit)), D.shape[1])
                if Z is None:
                    above = i + task.rows.start < j + columns.start
                    i, j = i[above], j[above]
                near = self._root(D[i, j].astype(dtype))
                inside = near <= radius
                i, j = places[i[inside]], self._rows.order[columns][j[inside]]
                found.append((i, j, near[inside]))
                count(len(i))
            return found

        found = [part for parts in ordered_map(search, tiles.tasks, self.n_jobs) for part in parts]
        nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype)
        i, j, distances = (np.concatenate(column) for column in zip(nothing, *found))
        if Z is None:
            i, j = np.concatenate([i, j]), np.concatenate([j, i])
            distances = np.concatenate([distances, distances])
        order = np.lexsort((j, i))
        starts = np.concatenate(([0], np.cumsum(np.bincount(i, minlength=n))))
        return distances[order], j[order], starts

    def _queries(self, Z: Any) -> Ordered:
        check_is_fitted(self, "distance_")
        if Z is None:
            return self._rows
        return Ordered(self.distance_, self.distance_.encode(Z, like=self._rows.X))

    def _edge(self, dtype: np.dtype, budget: int) -> int:
        """Rows and columns of a tile: some copies of one for each thread fit the budget."""
        room = budget / (count_jobs(self.n_jobs) * 8 * dtype.itemsize)
        return int(np.clip(np.sqrt(room), LEAST, EDGE))

    def _check_room(self, pairs: int, dtype: np.dtype, budget: int, asked: str) -> None:
        needed = pairs * (dtype.itemsize + 16)
        if needed > budget:
            raise ValueError(
                f"{asked} finds {pairs:,} pairs or more, {needed / 1e9:.3g} GB, beyond memory="
                f"{self.memory!r} ({budget / 1e9:.3g} GB): query fewer rows at a time, or ask less."
            )

    def _root(self, D: np.ndarray) -> np.ndarray:
        """Distances from their powers."""
        exponent = self.distance_.exponent
        if exponent == 2:
            return np.sqrt(D, out=D)
        return D if exponent == 1 else D ** (1 / exponent)


class Ordered:
    """Samples in the order of the keys that a distance has for them, if it has.

    Parameters
    ----------
    distance : Distance
        Bound.
    X : encoded samples
    """

    def __init__(self, distance: Distance, X: Any):
        keys = distance.key(X)
        if keys is None:
            self.X, self.order, self.keys = X, np.arange(X.shape[0]), np.zeros(X.shape[0])
        else:
            self.order = np.argsort(keys, kind="stable")
            self.X, self.keys = X[self.order], keys[self.order]


class Task(NamedTuple):
    """A chunk of queries, and which part of the tiles of training rows to compare it with."""

    rows: slice
    part: int


class Tiles:
    """How the matrix of queries and training rows is divided into tasks, and these into tiles.

    Few queries are divided by training rows too, so that there is work for all threads.
    """

    def __init__(self, queries: Ordered, training: Ordered, edge: int):
        self.keys = queries.keys
        self.columns = _slices(len(training.order), edge)
        self.low = training.keys[[c.start for c in self.columns]]
        self.high = training.keys[[c.stop - 1 for c in self.columns]]
        chunks = _slices(len(queries.order), edge)
        self.parts = min(-(-TASKS // len(chunks)), len(self.columns))
        self.tasks = [Task(rows, part) for rows in chunks for part in range(self.parts)]

    def of(self, task: Task, limit: float) -> Iterator[tuple[slice, float]]:
        """Tiles of a task with the gap of their keys up to a limit, the narrowest ones first."""
        first, last = self.keys[task.rows.start], self.keys[task.rows.stop - 1]
        gaps = np.maximum(np.maximum(self.low - last, first - self.high), 0)
        for t in np.argsort(gaps, kind="stable")[task.part :: self.parts].tolist():
            if gaps[t] > limit:
                break
            yield self.columns[t], float(gaps[t])


def _slices(n: int, step: int) -> list[slice]:
    return [slice(s, min(s + step, n)) for s in range(0, n, step)]
