"""Nearest neighbours by comparing everything.

Exact for every distance, and the reference for every other index. Rows of numbers are searched by
the native loops of vectors.py. For other samples distances are computed tile by tile, and the
nearest are kept; where the distance has a ``key`` (the length of a string), rows are held in its
order, and tiles whose keys are too far apart are skipped; where it has ``bounds``, only the
distances that these leave open are computed. Where the distances are a sparse matrix,
`KnownNeighbours` does not search: it takes the nearest entries of each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances import Distance, dense_rows
from mercer.estimator import documented
from mercer.gram import Place
from mercer.persistence import fields, length_of, offsets
from mercer.samples import Samples
from mercer.search.index import Asked, Index
from mercer.search.rows import (
    EDGE,
    TASKS,
    OrderedRows,
    Selection,
    by_distance,
    by_query,
    merged,
    refuse_beyond,
    slices,
)
from mercer.search.vectors import AllRows, NormedRows, VectorSearch
from mercer.threads import count_jobs, ordered_map, raise_if_stopped


class KnownNeighbours(Index):
    r"""An index that reads the neighbours of a sparse matrix of distances.

    .. math:: D_{z i_1} \le \ldots \le D_{z i_k} \le D_{z j}

    D, of shape (queries, n), is the sparse matrix; j runs over the other rows that it holds for z.

    Parameters
    ----------
    distance : Distance
        One that holds such a matrix (``Distance.known``), such as "precomputed" of the learners.
    memory, n_jobs
        Accepted as by every index, and not used: nothing is computed.

    Attributes
    ----------
    distance_ : Distance
    n_samples_fit_ : int

    Raises
    ------
    ValueError
        A sample is asked for more neighbours than its row of the matrix holds.

    Notes
    -----
    O(N log N) operations for the N distances that the rows of the queries hold. Rows farther away
    than those are not found by `query_radius`.

    Examples
    --------
    >>> from mercer import NearestNeighbors
    >>> graph = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0], [9.0]]).kneighbors_graph(
    ...     mode="distance")
    >>> model = NearestNeighbors(metric="precomputed").fit(graph)
    >>> model.algorithm_
    'known'
    >>> model.kneighbors(n_neighbors=1)[1].ravel()
    array([1, 0, 1, 2])
    """

    def _hold(self, X: Samples) -> None:
        self._training = OrderedRows(X)

    def _ask(self, Z: Samples | None, allowed: np.ndarray | None = None) -> KnownSearch:
        """The search among the distances that are known."""
        X = self._training.X
        graph = self.distance_.known(X if Z is None else Z, X)
        if graph is None:
            assert Z is not None  # of new samples all distances are known
            graph = _complete(self.distance_.block(Z, X))
        return KnownSearch(graph, Z is None, allowed)


def _complete(D: np.ndarray) -> sp.csr_array:
    """All numbers of a matrix as sparse rows, zeros too."""
    n, m = D.shape
    return sp.csr_array((D.ravel(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=D.shape)


def _ascending(rows: np.ndarray, values: np.ndarray, columns: np.ndarray) -> bool:
    """Whether the entries of each row ascend by value, and equal ones by column."""
    up, level = values[1:] > values[:-1], values[1:] == values[:-1]
    return bool((up | (level & (columns[1:] > columns[:-1])) | (rows[1:] != rows[:-1])).all())


class KnownSearch:
    """One question: the entries of some sparse rows, ascending by distance, then by index."""

    def __init__(self, graph: Any, among_themselves: bool, allowed: np.ndarray | None):
        n, columns = graph.shape[0], graph.indices
        rows = np.repeat(np.arange(n), np.diff(graph.indptr))
        values = graph.data
        if not _ascending(rows, values, columns):
            order = np.lexsort((columns, values, rows))
            rows, columns, values = rows[order], columns[order], values[order]
        if among_themselves or allowed is not None:
            others = np.full(len(rows), True) if allowed is None else allowed[columns]
            others = others & (rows != columns) if among_themselves else others
            rows, columns, values = rows[others], columns[others], values[others]
        self.rows, self.indices, self.distances = rows, columns.astype(np.int64), values
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(self.rows, minlength=n))))

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        counts = np.diff(self.starts)
        if len(counts) and counts.min() < k:
            i = int(counts.argmin())
            raise ValueError(
                f"{k} neighbors are required, but row {i} of the sparse matrix has only "
                f"{counts[i]}: ask for fewer, or make the matrix with more neighbours of each row."
            )
        places = self.starts[:-1, None] + np.arange(k)
        return self.distances[places], self.indices[places]

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        near = np.flatnonzero(self.distances <= radius)
        near = near[np.lexsort((self.indices[near], self.rows[near]))]
        counts = np.bincount(self.rows[near], minlength=len(self.starts) - 1)
        starts = np.concatenate(([0], np.cumsum(counts)))
        return self.distances[near], self.indices[near], starts


# Nearest neighbours by bounds: the distance of a pair is computed only where a bound, which is
# much cheaper, leaves it open whether the pair is near enough.
#
# Each query asks for the distances of its candidates in the order of their bounds, some at a time,
# and passes over all whose bound is beyond the neighbours that it has. Distances are given up in
# the middle where they exceed those.


NOBODY = np.iinfo(np.int64).max
FIRST, MOST = 4, 256  # candidates of a query that are compared first, and at most at a time
COPIES = 4  # arrays as large as the bounds, of one chunk of queries


class BoundedSearch:
    """One question by encoded queries; None: by the training rows, none of which finds itself."""

    def __init__(self, index: Any, queries: Any, training: OrderedRows, allowed: np.ndarray | None):
        self.index, self.distance = index, index.distance_
        self.refused = None if allowed is None else ~allowed[training.order]
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
        """Bounds of some queries from all training rows; NaN for a row and itself, and for those
        that may not be neighbours."""
        bounds = self.distance.bounds(self.Z[rows], self.X)
        assert bounds is not None  # as the index has asked
        if self.among_themselves:
            own = np.arange(rows.start, rows.stop)
            bounds[own - rows.start, own] = np.nan
        if self.refused is not None:
            bounds[:, self.refused] = np.nan
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


def kth_distances(
    X: Any, distance: Distance, some: np.ndarray, k: int, memory: Any, n_jobs: int | None
) -> np.ndarray:
    """The distance of some encoded rows X from the k-th nearest other one, (some, 1), with room for
    rounding: tiles of some distances are rounded otherwise."""
    brute = BruteForce(distance, memory, n_jobs).fit_bound(X, distance)
    near, numbers = brute.query(X[some], k + 1)
    others = numbers != some[:, None]
    others[others.all(axis=1), -1] = False  # a row with more copies than neighbours
    return near[others].reshape(-1, k)[:, -1:] * (1 + np.sqrt(np.finfo(near.dtype).eps))


@fields(
    _bounds=offsets(lambda index: len(index._training)),
    _low=length_of(lambda index: len(index._bounds) - 1),
    _high=length_of(lambda index: len(index._bounds) - 1),
)
@documented
class BruteForce(Index):
    r"""An index that compares each query with each row of the training sample.

    .. math:: d(z, x_{i_1}) \le \ldots \le d(z, x_{i_k}) \le d(z, x_j) \text{ for all other } j

    Results have the shape (queries, k).

    See Also
    --------
    KDTree, MetricTree : The same neighbours by fewer distances.
    fit_index : Takes the one that is likely to be the fastest.

    Notes
    -----
    O(n m) distances for n queries of m rows; memory O(n k) beside the tiles and the rows, never
    O(n m). Of equally near rows the one of smaller index comes first. Distances between dense rows
    of numbers (``Distance.coordinates``) are summed in float64 and rounded once, and do not depend
    on other rows; others are those of the tiles, where rounding may differ from that of the whole
    matrix.

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

    divisible = True
    _most_gone = 0.0

    def _hold(self, X: Samples) -> None:
        """Keep the rows: as numbers where the distance is one of vectors."""
        found = self.distance_.coordinates(X)
        self._rows = None if found is None else AllRows(NormedRows(found))
        if self._rows is None:
            super()._hold(X)
        else:
            self._training = OrderedRows(X)

    def _ask(self, Z: Samples | None, allowed: np.ndarray | None = None) -> Asked:
        """The search among vectors, known distances or other samples, as the distance allows."""
        rows = self._rows
        if rows is None:
            known = None if Z is None else self.distance_.known(Z, self._training.X)
            if known is not None:
                return KnownSearch(known, False, allowed)
            one = self._training.X[:1]
            if self.distance_.bounds(one, one) is not None:
                return BoundedSearch(self, Z, self._training, allowed)
            return super()._ask(Z, allowed)
        source = rows if allowed is None else rows.only(allowed)
        if Z is None:
            own = np.arange(len(rows.normed))
            return VectorSearch(source, rows.normed, own, self.memory, self.n_jobs)
        queries = self.distance_.coordinates(dense_rows(Z))
        assert queries is not None  # as the training rows have them
        return VectorSearch(source, NormedRows(queries), None, self.memory, self.n_jobs)

    def arrange(self, X: Samples) -> np.ndarray | None:
        """The order of the keys; the tiles, and the least and the largest key of each."""
        order = self.arrange_queries(X)
        keys = self._keys(X) if order is None else self._keys(X)[order]
        bounds = np.append(np.arange(0, len(keys), EDGE), len(keys))
        self._bounds = bounds  # tile t has the rows from bounds[t] up to bounds[t + 1]
        self._low, self._high = keys[bounds[:-1]], keys[bounds[1:] - 1]
        return order

    def arrange_queries(self, Z: Samples) -> np.ndarray | None:
        keys = self.distance_.key(Z)
        return None if keys is None else np.argsort(keys, kind="stable")

    def candidates(self, Z: Samples, limits: np.ndarray) -> Iterator[tuple[Selection, Selection]]:
        """Tiles in the order of the gap between their keys and those of Z, up to the limits."""
        keys = self._keys(Z)
        gaps = np.maximum(np.maximum(self._low - keys.max(), keys.min() - self._high), 0)
        for t in np.argsort(gaps, kind="stable"):
            if gaps[t] > limits.max():
                return
            yield slice(None), slice(int(self._bounds[t]), int(self._bounds[t + 1]))

    def _keys(self, X: Samples) -> np.ndarray:
        """The key of each row; 0 where the distance has none."""
        keys = self.distance_.key(X)
        return np.zeros(X.shape[0]) if keys is None else keys
