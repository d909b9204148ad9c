"""A graph of neighbours (HNSW) by the library USearch, for many vectors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.distances import Distance
from mercer.estimator import estimator
from mercer.gram import Place
from mercer.persistence import ModelFileError
from mercer.samples import Samples, is_whole
from mercer.search.index import Asked, Index
from mercer.search.readings import VectorReading, reading_of
from mercer.search.rows import OrderedRows, by_query, refuse_beyond, slices
from mercer.threads import count_jobs

STEP = 8192  # rows that are added, or that ask, at a time: Ctrl-C waits for them


@estimator
class GraphIndex(Index):
    """An index that walks along a graph of near rows, by the library USearch.

    It needs ``pip install "mercer[graph]"``. The graph proposes rows; their distances are computed
    exactly, and so are the order and the ties of those that it found.

    Parameters
    ----------
    distance : Distance
        `Minkowski` or `MappedMinkowski` with p = 2, `Mahalanobis` or `Cosine`.
    connectivity : int >= 2, default=16
        Neighbours of a row in the graph; more make it more exact and larger.
    expansion : int >= 1, default=64
        Rows that a walk keeps in view; more find more neighbours and take longer.
    memory : int, str or None
        Budget in bytes or as "4GB" for the graph; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores. With several of them the graph is not the same each time.

    Attributes
    ----------
    distance_ : Distance
        The distance, bound to the training sample.
    n_samples_fit_ : int

    See Also
    --------
    mercer.search.BruteForce : All neighbours, and faster up to tens of thousands of rows.
    mercer.LSHIndex : Sets, categories and l1 too, with a recall that is known beforehand.

    Notes
    -----
    The graph holds vectors in float32: ``4 d + 10 connectivity`` bytes for each row, about. A
    radius is searched by walks that keep twice as many rows in view until they leave it. It cannot
    be saved, since reading its own format from a file that may be altered is not safe; fit it
    again.

    References
    ----------
    Malkov & Yashunin, "Efficient and robust approximate nearest neighbor search using hierarchical
    navigable small world graphs", IEEE TPAMI 42, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.distances import Minkowski
    >>> X = np.arange(100.0)[:, None]
    >>> GraphIndex(Minkowski()).fit(X).query([[41.2]], k=2)  # doctest: +SKIP
    (array([[0.2, 0.8]]), array([[41, 42]]))
    """

    distance: Distance
    connectivity: int = 16
    expansion: int = 64
    memory: int | float | str | None = None
    n_jobs: int | None = None

    exact = False
    holds_copies_once = True

    def arrange(self, X: Samples) -> None:
        for name, least in (("connectivity", 2), ("expansion", 1)):
            value = getattr(self, name)
            if not (is_whole(value) and value >= least):
                raise ValueError(f"{name}={value!r}: give an integer >= {least}.")
        reading = _reading(self.distance_, X)
        rows = reading.rows(X)
        n, d = rows.shape
        needed = n * (4 * d + 10 * self.connectivity + 16)
        if not (place := Place(self.memory)).holds(needed):
            place.refuse(needed, f"the graph of {n:,} rows")
        graph = _usearch()(
            ndim=d, metric="l2sq", dtype="f32", connectivity=int(self.connectivity),
            expansion_add=2 * int(self.expansion), expansion_search=int(self.expansion),
        )  # fmt: skip
        # rows measured from their mean lose few digits in float32
        self.origin_ = rows.mean(axis=0, dtype=np.float64)
        self.reading_, self.rows_, self.graph_ = reading, rows, graph
        for part in slices(n, STEP):
            keys = np.arange(part.start, part.stop)
            graph.add(keys, self._placed(rows[part]), threads=count_jobs(self.n_jobs))

    def listed(
        self, rows: np.ndarray, count: int, own: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """About ``count`` near rows of each row, without row ``own``, and the lists' starts."""
        self.graph_.expansion_search = max(int(self.expansion), count)
        found = self.graph_.search(self._placed(rows), count, threads=count_jobs(self.n_jobs))
        keys = np.asarray(found.keys, np.int64).reshape(len(rows), -1)
        lengths = np.asarray(getattr(found, "counts", keys.shape[1])).reshape(-1)
        kept = np.arange(keys.shape[1]) < lengths[:, None]
        if own is not None:
            kept &= keys != own[:, None]
        starts = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
        return keys[kept].astype(np.int32), starts

    def save(self, path: str | os.PathLike) -> None:
        """Refused: a graph in a file that may be altered cannot be read safely."""
        check_is_fitted(self, "distance_")
        raise ModelFileError(
            "GraphIndex cannot be saved, because its graph has a format of another library, which "
            "is not safe to read from a file that may be altered: fit it again from the rows, or "
            "use BruteForce or LSHIndex."
        )

    def _placed(self, rows: np.ndarray) -> np.ndarray:
        placed = np.asarray(rows - self.origin_, np.float64)
        if np.abs(placed).max(initial=0) > np.finfo(np.float32).max:
            raise ValueError(
                "X is beyond the range of float32, in which the graph keeps rows: scale X."
            )
        return np.ascontiguousarray(placed, np.float32)

    def _ask(self, Z: Samples) -> Asked:
        training = self._training
        return GraphSearch(self, training if Z is None else OrderedRows(Z), training)


class GraphSearch:
    """One question to a `GraphIndex`; the counterpart of `mercer.search.compare.Search`."""

    def __init__(self, index: GraphIndex, queries: OrderedRows, training: OrderedRows):
        self.index, self.among_themselves = index, queries is training
        self.rows = index.rows_ if self.among_themselves else index.reading_.rows(queries.X)
        self.dtype = np.result_type(queries.X.dtype, training.X.dtype)

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query that were found, (n, k): their distances and numbers."""
        self._check_room(len(self.rows) * k, f"k={k}")
        distances = np.empty((len(self.rows), k), self.dtype)
        indices = np.empty(distances.shape, np.int64)
        for part in slices(len(self.rows), STEP):
            D, ids, starts = self._compared(part, k + self.among_themselves)
            _native.nearest_listed(D, ids, starts, distances[part], indices[part])
        return distances, indices

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those within a radius of each query that were found, as `Index.query_radius`."""
        n, found = len(self.rows), []
        count = min(self.index.expansion, len(self.index.rows_))
        for part in slices(n, STEP):
            rows = np.arange(part.start, part.stop)
            wanted = count
            while len(rows):
                D, ids, starts = self._compared(rows, wanted)
                query = np.repeat(rows, np.diff(starts))
                inside = radius >= D
                # walks that did not leave the radius go on, with more rows in view
                full = np.bincount(query[inside], minlength=n)[rows] >= np.diff(starts)
                full &= wanted < len(self.index.rows_)
                done = inside & ~np.isin(query, rows[full])
                found.append((query[done], ids[done].astype(np.int64), D[done]))
                pairs = sum(len(part[0]) for part in found)
                self._check_room(2 * pairs, f"{radius=:g}")
                rows, wanted = rows[full], min(2 * wanted, len(self.index.rows_))
        return by_query(found, n, self.dtype)

    def _compared(self, rows: Any, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Exact distances of the rows that the graph proposes, their numbers, and the starts."""
        index, Z = self.index, self.rows[rows]
        own = np.arange(len(self.rows))[rows] if self.among_themselves else None
        ids, starts = index.listed(Z, min(count, len(index.rows_)), own)
        return index.reading_.listed(Z, index.rows_, ids, starts, self.dtype), ids, starts

    def _check_room(self, pairs: int, asked: str) -> None:
        refuse_beyond(pairs, self.dtype, self.index.memory, asked)


def _reading(distance: Distance, X: Samples) -> VectorReading:
    try:
        reading = reading_of(distance, X)
    except TypeError:
        reading = None
    if not (isinstance(reading, VectorReading) and reading.norm == "squares"):
        raise TypeError(
            f"GraphIndex has no graph for {distance!r}: give Minkowski or MappedMinkowski with p = "
            "2, Mahalanobis or Cosine; or use LSHIndex or BruteForce."
        )
    return reading


def _usearch() -> Any:
    try:
        from usearch.index import Index as Graph
    except ModuleNotFoundError as error:
        raise ImportError(
            f"GraphIndex needs USearch ({error.name} is not installed): run "
            'pip install "mercer[graph]".'
        ) from error
    return Graph
