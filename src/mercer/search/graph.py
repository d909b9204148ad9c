"""Graphs of near rows, found by descent: what descent.py and sample_descent.py share.

Neighbours of a neighbour are likely to be neighbours. Random partitions give each row its first
neighbours, those in the same leaves; then the neighbours of each row are compared with each other,
and lists of nearest rows are replaced by nearer ones, until few change. New rows walk along the
graph; those that are added go on by the descent from the neighbours that their walks found.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from mercer import _native
from mercer.distances import Distance
from mercer.estimator import estimator
from mercer.gram import Place
from mercer.persistence import fields, floats, number, whole
from mercer.samples import Samples, check_count
from mercer.search.brute import kth_distances
from mercer.search.index import Asked, Index
from mercer.search.rows import OrderedRows, by_query, refuse_beyond, slices
from mercer.threads import count_jobs, ordered_map, raise_if_stopped

PIVOTS = 64  # rows by whose distances all rows are parted
JOINED = 20  # near rows of each row that are compared, of those that are new and of the others
TURNS, CHANGED = 30, 0.001  # the most turns, and the share of neighbours that change in the last
STRIP = 16384  # queries whose candidates are listed at a time
LISTED = 2**22  # candidates of some queries that are listed at a time, where a mask leaves some out
SEEN = 2**26  # marks of rows that some queries have seen
WALKED = 8  # a walk compares so many rows for each that it keeps in view
JUDGED, NEAREST, GROWN = 50, 10, 1.1  # rows and neighbours of the recall, and when it is measured

#: the nearest rows of each row, their distances in powers, and whether they are new
Lists = tuple[np.ndarray, np.ndarray, np.ndarray]
Found = list[tuple[np.ndarray, np.ndarray]]  # pairs of rows and their lengths


class Known(NamedTuple):
    """Where a descent begins, for a graph that gets more rows."""

    ids: np.ndarray  # the nearest rows of those that were there, (n, k), and their distances
    far: np.ndarray
    pairs: np.ndarray  # pairs of a new row and one that was there, near each other


def _rows(index: GraphIndex) -> int:
    return len(index._training)


@estimator
@fields(
    links_=whole(_rows, least=-1, axes=2, length=_rows),
    far_=floats(2, _rows, lambda index: index.links_.shape[1] // 2),
    recall_=number(),
)
class GraphIndex(Index):
    """Abstract: an index that walks along the links of near rows.

    A subclass defines `arrange`, `_insert` and `_walked`, and has ``rows_`` and ``reading_``.

    Parameters
    ----------
    connectivity : int >= 2
        Neighbours of a row in the graph: ask for no more of the training rows. More of them make
        it more exact, and take longer.
    expansion : int >= 1
        Rows that the walk of a query keeps in view; more find more neighbours and take longer.
    memory : int, str or None
        Budget in bytes or as "4GB" for the graph; None means half of what is free.

    Attributes
    ----------
    recall_ : float
        The share of the 10 nearest of 50 rows that walks find as if each of them were a new row,
        which its own walk does not meet. It is compared with brute force by `fit`, and by `add`
        once a tenth of the rows is new.
    """

    distance: Distance
    connectivity: int = 16
    expansion: int = 64
    memory: int | float | str | None = None
    n_jobs: int | None = None

    exact = False
    holds_copies_once = True
    links_: np.ndarray = field(init=False)

    @abstractmethod
    def _insert(self, X: Samples) -> None:
        """Take more encoded rows in, all of which differ."""

    @abstractmethod
    def _walked(self, rows: Any, count: int, own: np.ndarray | None = None) -> np.ndarray:
        """The numbers of near rows of each row, (n, count), the nearest first; -1 for none.
        No walk meets the row ``own`` of its query."""

    def insert(self, X: Samples) -> bool:
        """Rows walk to their neighbours, and the descent goes on from there."""
        if self.links_.shape[1] < 2 * self.connectivity:  # there were so few rows
            return False
        self._insert(X)
        return True

    def _hold(self, X: Samples) -> None:
        super()._hold(X)
        self._judge()

    def _extend(self, X: Samples) -> None:
        super()._extend(X)
        if len(self._training) > GROWN * self._judged:
            self._judge()

    def _judge(self) -> None:
        """Measure the recall of walks."""
        X, n = self._training.X, len(self._training)
        self._judged, self.recall_, k = n, 1.0, min(NEAREST, n - 1)
        if k == 0:
            return
        # by another seed than the pivots, from which walks begin, and as if each were a new row
        some = np.sort(np.random.default_rng(1).permutation(n)[:JUDGED])
        limits = kth_distances(X, self.distance_, some, k, self.memory, self.n_jobs)
        self.recall_ = self._recall_of(some, limits, k)

    def _recall_of(self, some: np.ndarray, limits: np.ndarray, k: int) -> float:
        """The share of the k nearest of some rows, those within the limits, that walks find."""
        search = GraphSearch(self, self._training, self._training)
        keys = self._walked(search.rows[some], k, some)
        counts = (keys >= 0).sum(axis=1)
        starts = np.concatenate(([0], np.cumsum(counts)))
        D = search.measured(some, keys[keys >= 0], starts)
        near = np.repeat(limits[:, 0], counts) >= D
        return float(near.sum() / (k * len(some)))

    def _check(self, n: int, each: int) -> None:
        """Refuse wrong parameters, and a graph of n rows of so many bytes beyond the memory."""
        for name, least in (("connectivity", 2), ("expansion", 1)):
            check_count(name, getattr(self, name), least, optional=False)
        if not (place := Place(self.memory)).holds(n * each):
            place.refuse(n * each, f"the graph of {n:,} rows")

    def listed(
        self, rows: Any, count: int, own: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """About ``count`` near rows of each row, without row ``own``, and the lists' starts.

        All rows have the numbers in which they are held.
        """
        k = self.links_.shape[1] // 2
        if own is not None and count <= k + 1:
            keys = self.links_[own, :k]
        else:
            keys = self._walked(rows, count)  # through the row itself, whose links are near
        kept = keys >= 0
        if own is not None:
            kept &= keys != own[:, None]
        return keys[kept], np.concatenate(([0], np.cumsum(kept.sum(axis=1))))

    def _ask(self, Z: Samples | None, allowed: np.ndarray | None = None) -> Asked:
        training = self._training
        return GraphSearch(self, training if Z is None else OrderedRows(Z), training, allowed)


class GraphSearch:
    """One question to a `GraphIndex`; the counterpart of `mercer.search.compare.Search`."""

    def __init__(
        self,
        index: Any,
        queries: OrderedRows,
        training: OrderedRows,
        allowed: np.ndarray | None = None,
    ):
        self.index, self.among_themselves = index, queries is training
        self.rows = index.rows_ if self.among_themselves else index.reading_.rows(queries.X)
        self.dtype = np.result_type(queries.X.dtype, training.X.dtype)
        self.places, self.numbers = queries.order, training.order.astype(np.int32)
        self.allowed = None if allowed is None else allowed[training.order]

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query that were found, (n, k): their distances and numbers."""
        n = self.rows.shape[0]
        self._check_room(n * k, f"k={k}")
        distances, indices = np.empty((n, k), self.dtype), np.empty((n, k), np.int64)

        def keep(rows: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> None:
            near, numbers = np.empty((len(rows), k), self.dtype), np.empty((len(rows), k), np.int64)
            D = self.measured(rows, ids, starts)
            _native.nearest_listed(D, self.numbers[ids], starts, near, numbers)
            distances[self.places[rows]], indices[self.places[rows]] = near, numbers

        if self.allowed is None:
            for part in slices(n, STRIP):
                rows = np.arange(part.start, part.stop)
                keep(rows, *self._listed(rows, k + self.among_themselves))
            return distances, indices
        # a walk that keeps more rows in view meets as many that may be neighbours; where it meets
        # fewer than k, or would take longer than all of these, all of these are compared
        some = np.flatnonzero(self.allowed).astype(np.int32)
        wide = -(-max(self.index.expansion, k) * len(self.allowed) // len(some))
        left = [np.arange(n)]
        if WALKED * wide < len(some):
            left = []
            for part in slices(n, max(1, LISTED // wide)):
                rows = np.arange(part.start, part.stop)
                ids, starts = self._listed(rows, wide)
                kept = self.allowed[ids]
                ids, starts = ids[kept], np.concatenate(([0], np.cumsum(kept)))[starts]
                enough = np.diff(starts) >= k
                first = starts[:-1][enough][:, None] + np.arange(k)
                keep(rows[enough], ids[first].ravel(), np.arange(len(first) + 1) * k)
                left.append(rows[~enough])
        others = np.concatenate(left) if left else np.empty(0, np.int64)
        for part in slices(len(others), max(1, LISTED // len(some))):
            rows = others[part]
            pairs = np.ones((len(rows), len(some)), bool)
            if self.among_themselves:
                pairs = rows[:, None] != some
            starts = np.concatenate(([0], np.cumsum(pairs.sum(axis=1))))
            keep(rows, np.broadcast_to(some, pairs.shape)[pairs], starts)
        return distances, indices

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those within a radius of each query that were found, as `Index.query_radius`."""
        n, m, found = self.rows.shape[0], len(self.numbers), []
        for part in slices(n, min(STRIP, max(1, SEEN // m))):
            rows = np.arange(part.start, part.stop)
            # of a training row, its neighbours are known; others walk to theirs
            ids, starts = self._listed(rows, 1 if self.among_themselves else self.index.expansion)
            query = np.repeat(np.arange(len(rows)), np.diff(starts))
            seen = np.zeros((len(rows), m), bool)
            if self.among_themselves:
                seen[rows - part.start, rows] = True
            seen[query, ids] = True
            while len(ids):
                raise_if_stopped()
                D = self.measured(rows, ids, starts)
                inside = radius >= D
                kept = inside if self.allowed is None else inside & self.allowed[ids]
                numbers = self.numbers[ids[kept]].astype(np.int64)
                found.append((self.places[rows[query[kept]]], numbers, D[kept]))
                self._check_room(2 * sum(len(part[0]) for part in found), f"{radius=:g}")
                # rows that are linked with those inside may be inside too
                query, ids = self._linked(query[inside], ids[inside], seen)
                starts = np.searchsorted(query, np.arange(len(rows) + 1))
        return by_query(found, n, self.dtype)

    def _linked(
        self, query: np.ndarray, ids: np.ndarray, seen: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows linked with some rows that the queries beside them have not seen, which they now
        have; by query."""
        links, m = self.index.links_, len(self.numbers)
        keys = [np.empty(0, np.int64)]
        for part in slices(len(ids), LISTED // links.shape[1]):
            linked = links[ids[part]]
            asked = np.broadcast_to(query[part, None], linked.shape)
            new = (linked >= 0) & ~seen[asked, linked]
            asked, linked = asked[new], linked[new]
            keys.append(np.unique(asked * m + linked))
            seen[asked, linked] = True
        asked, linked = np.divmod(np.sort(np.concatenate(keys)), m)
        return asked, linked.astype(np.int32)

    def _listed(self, rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows that the graph proposes, as they are held, and where those of each start."""
        own = rows if self.among_themselves else None
        return self.index.listed(self.rows[rows], min(count, len(self.numbers)), own)

    def measured(self, rows: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Exact distances of listed rows."""
        index = self.index
        return index.reading_.listed(self.rows[rows], index.rows_, ids, starts, self.dtype)

    def _check_room(self, pairs: int, asked: str) -> None:
        refuse_beyond(pairs, self.dtype, self.index.memory, asked)


def descend(
    n: int,
    k: int,
    step: int,
    begin: Callable[[Lists], None],
    join: Callable[[slice, np.ndarray, np.ndarray, Lists], Found],
    n_jobs: int | None,
    known: Known | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of each of n rows that were found, then rows that found it, (n, 2 k); and the
    distances of the nearest, (n, k).

    ``begin`` fills the lists of near rows, which hold what is known; ``join`` compares, for the
    lists of some rows, the rows of them that are new with each other and with `JOINED` others,
    ``step`` lists at a time.
    """
    ids, far = np.full((n, k), -1, np.int32), np.full((n, k), np.inf, np.float32)
    lists = ids, far, np.zeros((n, k), np.uint8)
    if known is not None:
        ids[: len(known.ids)], far[: len(known.far)] = known.ids, known.far
    begin(lists)
    newer, older = np.empty((n, JOINED), np.int32), np.empty((n, JOINED), np.int32)
    for turn in range(TURNS):
        _native.descent_candidates(turn, ids, lists[2], newer, older)
        changed = 0
        for strip in slices(n, step):
            changed += keep_pairs(join(strip, newer, older, lists), lists, n_jobs)
        if changed < CHANGED * n * k:
            break
    links = np.empty((n, 2 * k), np.int32)
    _native.descent_links(ids, far, links)
    return links, far


def keep_pairs(found: Found, lists: Lists, n_jobs: int | None) -> int:
    """Put pairs with their lengths into the lists of both rows; how many lists changed."""

    def keep(some: slice) -> int:
        ends = some.start, some.stop
        return sum(_native.descent_apply(*pairs, *ends, *lists) for pairs in found)

    n = len(lists[0])
    return sum(ordered_map(keep, slices(n, max(1, -(-n // count_jobs(n_jobs)))), n_jobs))
