"""A graph of near rows, found by descent: approximate neighbours among many vectors.

The descent of graph.py. Distances are computed in float32, in tiles (src/native/descent.cpp), and
those of the rows that are found once more, in the precision of the samples.
"""

from __future__ import annotations

import numpy as np

from mercer import _native
from mercer.distances import Distance
from mercer.estimator import estimator
from mercer.persistence import fields, floats, halves, number, offsets, whole
from mercer.samples import Samples
from mercer.search.graph import (
    JOINED,
    PIVOTS,
    STRIP,
    Found,
    GraphIndex,
    Known,
    Lists,
    descend,
    keep_pairs,
)
from mercer.search.readings import VectorReading, reading_of
from mercer.search.rows import slices
from mercer.threads import count_jobs, ordered_map

LANES = 16  # rows have a multiple of so many numbers, as in src/native/bind_descent.cpp
PARTITIONS, LEAF = 8, 64  # one partition alone would never be left again
PART = 1024  # rows of a step that one thread joins
STEP = 1024  # queries of a task
# leaves at which a walk begins: a query just across a bound has its neighbours behind it
PROBES = 6
FARTHEST = 1e15  # of a query, in units of the largest number of the rows


def _rows(index: DescentIndex) -> int:
    return len(index._training)


@estimator
@fields(
    rows_=floats(2, _rows),
    placed_=floats(2, _rows),
    origin_=floats(1, lambda index: index.rows_.shape[1]),
    scale_=number(),
    drawn_=whole(_rows),
    children_=halves,
    pivots_=whole(
        lambda index: len(index.drawn_), axes=2, length=lambda index: len(index.children_)
    ),
    bounds_=floats(1, lambda index: len(index.children_)),
    starts_=offsets(_rows, length=lambda index: len(index.children_) + 2),
)
class DescentIndex(GraphIndex):
    r"""An index of many vectors that finds most neighbours, by nearest-neighbour descent.

    .. math:: \mathrm{recall} = \frac{|\mathrm{found} \cap \mathrm{nearest}_k|}{k}

    It is measured as ``recall_``. Results have the shape (queries, k).

    Parameters
    ----------
    distance : Distance
        `Minkowski` or `MappedMinkowski` with p = 1 or 2, `Mahalanobis` or `Cosine`.

    See Also
    --------
    mercer.search.BruteForce : All neighbours, and faster up to some ten thousand rows.
    mercer.LSHIndex : Sets and categories too, with a recall that is known beforehand.
    mercer.search.NeighbourGraph : The neighbours of all rows, with the recall that was measured.

    Notes
    -----
    A row is compared with about 600 others, however many there are: 70,000 images of 784 pixels
    take about 8 processor seconds, with a recall of 0.99 for 15 neighbours. The recall is lower in
    more dimensions, for rows without structure. The index holds the rows twice, and
    ``12 connectivity`` bytes beside each.

    A row that asks for more than ``connectivity`` neighbours of its own walks like a new one. A
    radius is searched by walks that keep twice as many rows in view until they leave it. Where a
    mask leaves rows out, a walk keeps so many more in view that as many of the others are among
    them; a query that meets fewer than k of these is compared with all of them.

    References
    ----------
    Dong, Moses & Li, "Efficient k-nearest neighbor graph construction for generic similarity
    measures", WWW 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.distances import Minkowski
    >>> X = np.arange(100.0)[:, None]
    >>> DescentIndex(Minkowski()).fit(X).query([[41.25]], k=2)
    (array([[0.25, 0.75]]), array([[41, 42]]))
    """

    def arrange(self, X: Samples) -> np.ndarray:
        reading = _reading(self.distance_, X)
        rows = reading.rows(X)
        n = len(rows)
        self._check_rows(n, rows.shape[1])
        # rows measured from their mean, in a unit of their own, lose few digits in float32
        self.reading_, self.origin_ = reading, rows.mean(axis=0, dtype=np.float64)
        ends = rows.max(axis=0) - self.origin_, self.origin_ - rows.min(axis=0)
        largest = max(float(np.max(ends, initial=0)), np.finfo(np.float64).tiny)
        self.scale_ = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))
        placed = self._placed(rows)
        drawn = np.sort(np.random.default_rng(0).permutation(n)[:PIVOTS]).astype(np.int32)
        parted = self._partitions(placed, drawn)
        order, numbers = self._in_leaves(parted[0], placed, rows, drawn)
        leaves = [(numbers[each[0]], each[1]) for each in parted]
        k = max(1, min(int(self.connectivity), n - 1))
        self.links_, self.far_ = self._descend(self.placed_, leaves, k, None)
        return order

    def _insert(self, X: Samples) -> None:
        """Join new rows to the graph: from near rows that walks find, by the same descent."""
        n, k, more = len(self.placed_), self.links_.shape[1] // 2, self.reading_.rows(X)
        m = len(more)
        self._check_rows(n + m, more.shape[1])
        near = self._walked(more, k)
        i, j = np.nonzero(near >= 0)
        known = Known(self.links_[:, :k], self.far_, np.stack([n + i, near[i, j]], axis=1))
        placed = np.concatenate([self.placed_, self._placed(more)])
        drawn = np.sort(np.random.default_rng(0).permutation(m)[:PIVOTS]).astype(np.int32)
        parted = self._partitions(placed[n:], drawn)
        leaves = [(each[0] + np.int32(n), each[1]) for each in parted]
        links, far = self._descend(placed, leaves, k, known)
        parted = self._partitions(placed, self.drawn_, 1)
        training = self._training.with_more(X, parted[0][0])
        rows = np.concatenate([self.rows_, more])
        order, numbers = self._in_leaves(parted[0], placed, rows, self.drawn_)
        links = links[order]
        self.links_, self.far_ = np.where(links < 0, -1, numbers[links]), far[order]
        self._training = training

    def _check_rows(self, n: int, d: int) -> None:
        width = -(-d // LANES) * LANES
        each = width + PIVOTS + PARTITIONS + 5 * JOINED + 5 * int(self.connectivity)
        self._check(n, 4 * each)

    def _in_leaves(
        self,
        parted: tuple[np.ndarray, ...],
        placed: np.ndarray,
        rows: np.ndarray,
        drawn: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Hold rows in the order of the leaves, so that near rows are near in memory; the order,
        and the number that each row has then."""
        order, self.starts_, self.children_, self.pivots_, self.bounds_ = parted
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        self.placed_, self.rows_, self.drawn_ = placed[order], rows[order], numbers[drawn]
        return order, numbers

    def _partitions(
        self, placed: np.ndarray, drawn: np.ndarray, count: int = PARTITIONS
    ) -> list[tuple[np.ndarray, ...]]:
        """The rows in the order of the leaves, where each leaf starts, and the nodes."""
        n, table = len(placed), self._table(placed, drawn, placed)
        apart = np.ascontiguousarray(table[drawn])
        most = 2 * n // (LEAF + 1) + 1  # as halves of more than LEAF rows have half as many

        def part(seed: int) -> tuple[np.ndarray, ...]:
            order = np.empty(n, np.int32)
            children, pivots = np.empty((most, 2), np.int32), np.empty((most, 2), np.int32)
            bounds, starts = np.empty(most, np.float32), np.empty(most + 1, np.int32)
            leaves = _native.descent_parts(
                table, apart, LEAF, seed, order, children, pivots, bounds, starts
            )
            nodes = leaves - 1
            return order, starts[: leaves + 1], children[:nodes], pivots[:nodes], bounds[:nodes]

        return list(ordered_map(part, range(count), self.n_jobs))

    def _placed(self, rows: np.ndarray) -> np.ndarray:
        """Rows as the native loops compare them, (n, a multiple of 16)."""
        n, d = rows.shape
        placed = np.zeros((n, -(-d // LANES) * LANES), np.float32)
        for part in slices(n, STRIP):
            some = (rows[part] - self.origin_) * self.scale_
            placed[part, :d] = np.clip(some, -FARTHEST, FARTHEST)
        return placed

    def _table(self, placed: np.ndarray, listed: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """The distances of the rows of Z to listed rows, in powers."""
        out = np.empty((len(Z), len(listed)), np.float32)

        def compare(part: slice) -> None:
            _native.descent_table(placed, self._squared, Z[part], listed, out[part])

        for _ in ordered_map(compare, slices(len(Z), STEP), self.n_jobs):
            pass
        return out

    @property
    def _squared(self) -> bool:
        return self.reading_.norm == "squares"

    def _descend(
        self,
        X: np.ndarray,
        leaves: list[tuple[np.ndarray, np.ndarray]],
        k: int,
        known: Known | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """What `descend` finds of placed rows."""
        squared, n = self._squared, len(X)

        def begin(lists: Lists) -> None:
            if known is not None:
                i, j = known.pairs.astype(np.int32).T
                starts, lengths = np.arange(len(i) + 1), np.empty(len(i), np.float32)
                measure = _native.listed_squares if squared else _native.listed_manhattan
                measure(X[i], X, np.empty(0, np.float32), np.ascontiguousarray(j), starts, lengths)
                keep_pairs([(np.stack([i, j], axis=1), lengths)], lists, self.n_jobs)
            for order, starts in leaves:

                def compare(
                    part: slice, order: np.ndarray = order, starts: np.ndarray = starts
                ) -> None:
                    some = np.ascontiguousarray(starts[part.start : part.stop + 1])
                    _native.descent_leaves(X, squared, order, some, *lists)

                for _ in ordered_map(compare, slices(len(starts) - 1, LEAF), self.n_jobs):
                    pass

        room = JOINED * (JOINED - 1) // 2 + JOINED**2  # pairs of a row

        def join(strip: slice, newer: np.ndarray, older: np.ndarray, lists: Lists) -> Found:
            def compare(part: slice) -> tuple[np.ndarray, np.ndarray]:
                most = (part.stop - part.start) * room
                pairs, lengths = np.empty((most, 2), np.int32), np.empty(most, np.float32)
                count = _native.descent_join(
                    X, squared, newer[part], older[part], lists[1], pairs, lengths
                )
                return pairs[:count].copy(), lengths[:count].copy()

            parts = [
                slice(strip.start + part.start, strip.start + part.stop)
                for part in slices(strip.stop - strip.start, PART)
            ]
            return list(ordered_map(compare, parts, self.n_jobs))

        return descend(n, k, STRIP, begin, join, self.n_jobs, known)

    def _walked(self, rows: np.ndarray, count: int, own: np.ndarray | None = None) -> np.ndarray:
        """Numbers of near rows of each query, the nearest first; none is the row ``own``."""
        Z = self._placed(rows)
        keys = np.empty((len(Z), count), np.int32)
        wide = max(int(self.expansion), count)
        table = self._table(self.placed_, self.drawn_, Z)
        tree = self.children_, self.pivots_, self.bounds_, self.starts_
        left_out = np.full(len(Z), -1, np.int32) if own is None else own.astype(np.int32)

        def walk(part: slice) -> None:
            _native.descent_walk(
                self.placed_, self._squared, self.links_, *tree, Z[part], table[part],
                left_out[part], PROBES, wide, keys[part],
            )  # fmt: skip

        step = max(1, min(STEP, -(-len(Z) // count_jobs(self.n_jobs))))
        for _ in ordered_map(walk, slices(len(Z), step), self.n_jobs):
            pass
        return keys


def vector_reading(distance: Distance, X: Samples) -> VectorReading | None:
    """How rows are read between which the descent compares vectors; None for other distances."""
    try:
        reading = reading_of(distance, X)
    except TypeError:
        return None
    if isinstance(reading, VectorReading) and reading.norm in ("squares", "manhattan"):
        return reading
    return None


def _reading(distance: Distance, X: Samples) -> VectorReading:
    """The `vector_reading`, or a TypeError if there is none."""
    reading = vector_reading(distance, X)
    if reading is None:
        raise TypeError(
            f"DescentIndex has no graph for {distance!r}: give Minkowski or MappedMinkowski with p "
            "= 1 or 2, Mahalanobis or Cosine; or use SampleDescentIndex, LSHIndex or BruteForce."
        )
    return reading
