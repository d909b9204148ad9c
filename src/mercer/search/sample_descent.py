"""A graph of near samples of any kind, found by descent: neighbours under costly distances.

The descent of graph.py, with distances of lists of pairs by `Distance.of_pairs`, which may give up
on pairs that are too far apart. New samples walk along the graph, many at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

from mercer import _native
from mercer.distances import Distance
from mercer.estimator import estimator
from mercer.persistence import fields, whole
from mercer.samples import Samples
from mercer.search.graph import (
    JOINED,
    PIVOTS,
    SEEN,
    Found,
    GraphIndex,
    Known,
    Lists,
    descend,
    keep_pairs,
)
from mercer.search.rows import slices
from mercer.search.vectors import exact_tiles
from mercer.threads import ordered_map, raise_if_stopped

PARTITIONS, LEAF = 4, 32  # distances are costly: fewer of them than between vectors
STRIP = 2048  # rows whose pairs are listed at a time
TASK = 2048  # pairs of a task
TABLE = 2**20  # distances of some queries to the rows at which walks may begin
ENTRIES = 8  # of the rows drawn, the nearest at which a walk begins
ENOUGH = 0.95  # a recall that is lower asks for more rows at which walks may begin


def _rows(index: SampleDescentIndex) -> int:
    return len(index._training)


def in_single(lengths: np.ndarray) -> np.ndarray:
    """Lengths in float32; what is beyond its range, or no number, is its largest one."""
    most = float(np.finfo(np.float32).max)
    return np.nan_to_num(np.minimum(lengths, most), nan=most).astype(np.float32)


@estimator
@fields(drawn_=whole(_rows))
class SampleDescentIndex(GraphIndex):
    r"""An index of samples of any kind that finds most neighbours, by nearest-neighbour descent.

    .. math:: \mathrm{recall} = \frac{|\mathrm{found} \cap \mathrm{nearest}_k|}{k}

    It is measured as ``recall_``. Results have the shape (queries, k).

    ``algorithm="descent"`` takes it where the distance is none of those of `DescentIndex`. It is
    for distances that take long, such as those of series, where all pairs are too many.

    Parameters
    ----------
    distance : Distance

    Attributes
    ----------
    n_compared_ : int
        Pairs of rows whose distance `fit` and `add` asked for.

    See Also
    --------
    mercer.search.BruteForce : All neighbours; under DTW it passes over most pairs by bounds.
    mercer.search.DescentIndex : For vectors.
    mercer.search.NeighbourGraph : The neighbours of all rows, with the recall that was measured.

    Notes
    -----
    A row is compared with some hundred others, however many there are. The recall is low where
    samples have no structure, such as random texts, most of which are equally far apart. Walks
    begin at the 8 nearest of 64 rows. Where their recall is below .95, as with many groups that are
    far from each other, it is the 8 nearest of so many that each row is linked with one: about one
    in ``connectivity``, with all of which a new sample is compared.

    References
    ----------
    Dong, Moses & Li, "Efficient k-nearest neighbor graph construction for generic similarity
    measures", WWW 2011.

    Examples
    --------
    >>> from mercer.distances import Edit
    >>> from mercer.search import SampleDescentIndex
    >>> names = ["anna", "hanna", "otto", "lotto", "peter", "petra"]
    >>> SampleDescentIndex(Edit()).fit(names).query(["hannah"], k=2)
    (array([[1., 2.]]), array([[1, 0]]))
    """

    def arrange(self, X: Samples) -> None:
        self.n_compared_ = 0
        self.drawn_, self.links_, self.far_ = self._descend(X, None)

    def _recall_of(self, some: np.ndarray, limits: np.ndarray, k: int) -> float:
        """The recall. Where it is low, each row gets an entry that is linked with it, if walks then
        find half of what they missed."""
        drawn, recall = self.drawn_, super()._recall_of(some, limits, k)
        if recall >= ENOUGH:
            return recall
        self.drawn_ = _covering(self.links_, drawn)
        more = super()._recall_of(some, limits, k)
        if 1 - more > (1 - recall) / 2:
            self.drawn_ = drawn
            return recall
        return more

    def _insert(self, X: Samples) -> None:
        """Join new rows to the graph: from near rows that walks find, by the same descent."""
        n, k = len(self._training), self.links_.shape[1] // 2
        training = self._training.with_more(X)
        near = self._walked(self.reading_.rows(X), k)
        i, j = np.nonzero(near >= 0)
        known = Known(self.links_[:, :k], self.far_, np.stack([n + i, near[i, j]], axis=1))
        _, links, far = self._descend(training.X, known)
        # walks begin at some of the new rows too, the same share of them as of the others
        m = len(training) - n
        some = np.random.default_rng(0).permutation(m)[: -(-len(self.drawn_) * m // n)]
        self.drawn_ = np.append(self.drawn_, (n + np.sort(some)).astype(np.int32))
        self._training, self.links_, self.far_ = training, links, far

    def _descend(
        self, X: Samples, known: Known | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pivots among the rows that are new, and what `descend` finds."""
        n, first = X.shape[0], 0 if known is None else len(known.far)
        k = max(1, min(int(self.connectivity), n - 1))
        self._check(n, 4 * PIVOTS + 8 * PARTITIONS * LEAF + 16 * JOINED + 20 * k)
        tiles = exact_tiles(self.distance_, X)
        measure = Measure(tiles, tiles.prepare(X), self.n_jobs)
        drawn = np.sort(np.random.default_rng(0).permutation(n - first)[:PIVOTS])
        table = in_single(measure.table(measure.held[first:], first + drawn))

        def begin(lists: Lists) -> None:
            if known is not None:
                keep_pairs(measured(known.pairs, lists), lists, self.n_jobs)
            for pairs in self._leaves(table, drawn):
                keep_pairs(measured(first + pairs, lists), lists, self.n_jobs)

        def join(rows: slice, newer: np.ndarray, older: np.ndarray, lists: Lists) -> Found:
            return measured(_joined(newer[rows], older[rows], n), lists)

        def measured(pairs: np.ndarray, lists: Lists) -> list[tuple[np.ndarray, np.ndarray]]:
            self.n_compared_ += len(pairs)
            worst = lists[1][:, -1].astype(np.float64)
            limits = np.maximum(worst[pairs[:, 0]], worst[pairs[:, 1]])
            lengths = measure.of_pairs(measure.held, pairs, limits)
            near = lengths <= limits
            return [(pairs[near].astype(np.int32), in_single(lengths[near]))]

        self.n_compared_ += table.size
        links, far = descend(n, k, STRIP, begin, join, self.n_jobs, known)
        return (first + drawn).astype(np.int32), links, far

    def _leaves(self, table: np.ndarray, drawn: np.ndarray) -> Iterable[np.ndarray]:
        """The pairs of rows that are in one leaf of a partition, for some partitions."""
        n, apart = len(table), np.ascontiguousarray(table[drawn])
        most = 2 * n // (LEAF + 1) + 1
        for seed in range(PARTITIONS):
            order = np.empty(n, np.int32)
            children, pivots = np.empty((most, 2), np.int32), np.empty((most, 2), np.int32)
            bounds, starts = np.empty(most, np.float32), np.empty(most + 1, np.int32)
            count = _native.descent_parts(
                table, apart, LEAF, seed, order, children, pivots, bounds, starts
            )
            ends = np.repeat(starts[1 : count + 1], np.diff(starts[: count + 1]))
            later = ends - np.arange(n) - 1  # of each place, those that follow it in its leaf
            first = np.repeat(np.arange(n), later)
            step = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later) + 1
            yield np.stack([order[first], order[first + step]], axis=1)

    # --- what a `GraphSearch` asks for ------------------------------------------------------------

    @property
    def rows_(self) -> Samples:
        return self.reading_.held

    @property
    def reading_(self) -> Measure:
        tiles = exact_tiles(self.distance_, self._training.X)
        return Measure(tiles, self._training.prepare(tiles), self.n_jobs)

    def _walked(self, rows: Samples, count: int, own: np.ndarray | None = None) -> np.ndarray:
        """Numbers of near rows of each query, the nearest first; none is the row ``own``."""
        n, q, measure = len(self._training), rows.shape[0], self.reading_
        left_out = np.full(q, -1) if own is None else own
        parts = slices(q, max(1, min(SEEN // n, TABLE // len(self.drawn_))))
        return np.concatenate(
            [self._walk(measure, rows[part], left_out[part], count) for part in parts]
        )

    def _walk(self, measure: Measure, Z: Samples, own: np.ndarray, count: int) -> np.ndarray:
        """Numbers of near rows of each query, (q, count), -1 where none is known. Its row ``own``
        is neither an entry nor met."""
        n, q, wide = len(self._training), Z.shape[0], max(int(self.expansion), count)
        table = measure.table(Z, self.drawn_)
        table[self.drawn_ == own[:, None]] = np.inf
        entries = np.argsort(table, axis=1, kind="stable")[:, :ENTRIES]
        ids, far = np.full((q, wide), -1, np.int32), np.full((q, wide), np.inf)
        some = min(entries.shape[1], wide)
        ids[:, :some] = self.drawn_[entries[:, :some]]
        far[:, :some] = np.take_along_axis(table, entries[:, :some], axis=1)
        seen, known = np.zeros((q, n), np.uint8), own >= 0
        np.put_along_axis(seen, ids[:, :some].astype(np.int64), 1, axis=1)
        seen[known, own[known]] = 1
        ids[ids == own[:, None]] = -1
        closed = (ids < 0).view(np.uint8)
        room = np.empty((q * self.links_.shape[1], 2), np.int64)
        while count_new := _native.descent_open(self.links_, ids, closed, seen, room):
            pairs = room[:count_new]
            lengths = measure.of_pairs(Z, pairs, far[pairs[:, 0], -1])
            _native.descent_meet(pairs, lengths, ids, far, closed)
        return ids[:, :count]


class Measure:
    """Distances of listed pairs of prepared samples and training rows, in powers."""

    def __init__(self, tiles: Distance, held: Samples, n_jobs: int | None):
        self.tiles, self.held, self.n_jobs = tiles, held, n_jobs

    def rows(self, X: Samples) -> Samples:
        """Encoded samples, prepared like the training rows."""
        return self.tiles.prepare(X, self.held)

    def table(self, Z: Samples, listed: np.ndarray) -> np.ndarray:
        """All distances of prepared samples to listed rows, (q, m), float64."""
        q, m = Z.shape[0], len(listed)
        i, j = np.divmod(np.arange(q * m), m)
        pairs = np.stack([i, listed[j]], axis=1)
        return self.of_pairs(Z, pairs, np.full(len(pairs), np.inf)).reshape(q, m)

    def of_pairs(self, Z: Samples, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        """The distance of row i of Z and training row j for each pair (i, j), (k,), float64.
        Where it is above its limit, any number above the limit may stand."""

        def task(part: slice) -> np.ndarray:
            raise_if_stopped()
            return self.tiles.of_pairs(Z, self.held, pairs[part], limits[part])

        found = ordered_map(task, slices(len(pairs), TASK), self.n_jobs)
        return np.concatenate([np.empty(0), *found])

    def listed(
        self, Z: Samples, X: Samples, ids: np.ndarray, starts: np.ndarray, dtype: DTypeLike
    ) -> np.ndarray:
        """Distances of row i of Z to the rows ``ids[starts[i] : starts[i + 1]]`` of X, (total,)."""
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pairs = np.stack([rows, ids.astype(np.int64)], axis=1)
        powers = self.of_pairs(Z, pairs, np.full(len(pairs), np.inf))
        return (powers ** (1 / self.tiles.exponent)).astype(dtype)


def _covering(links: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Rows such that each row is one of them or linked from one, (m,): those given, and others by
    Luby's rounds: a row whose rank is lowest among all that it is linked with is taken.

    Luby, "A simple parallel algorithm for the maximal independent set problem", SIAM Journal on
    Computing 15, 1986.
    """
    n = len(links)
    rank = np.append(np.random.default_rng(0).permutation(n), n)  # links without a row are -1
    taken, free = np.zeros(n, bool), np.ones(n, bool)
    taken[drawn] = True
    new = drawn
    while True:
        free[new] = False
        free[links[new][links[new] >= 0]] = False
        rank[:n][~free] = n
        rows = np.flatnonzero(free)
        if not len(rows):
            return np.flatnonzero(taken).astype(np.int32)
        new = rows[rank[rows] < rank[links[rows]].min(axis=1)]
        taken[new] = True


def _joined(newer: np.ndarray, older: np.ndarray, n: int) -> np.ndarray:
    """The pairs of new rows of each list, and of a new and an old one; each pair once."""
    width = newer.shape[1]
    both = np.concatenate([newer, older], axis=1).astype(np.int64)
    a, b = np.broadcast_arrays(newer.astype(np.int64)[:, :, None], both[:, None])
    asked = (a >= 0) & (b >= 0) & (a != b)
    asked[:, :, :width] &= np.triu(np.ones((width, width), bool), 1)
    a, b = a[asked], b[asked]
    keys = np.sort(np.minimum(a, b) * n + np.maximum(a, b))  # np.unique hashes, and takes longer
    return np.stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], n), axis=1)
