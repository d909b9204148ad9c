"""A graph of near rows, found by descent: approximate neighbours among many vectors.

Neighbours of a neighbour are likely to be neighbours. Random partitions give each row its first
neighbours, those in the same leaves; then the neighbours of each row are compared with each other,
and lists of nearest rows are replaced by nearer ones, until few change. New rows walk along the
graph. Distances are computed in float32, in tiles (src/native/descent.cpp), and those of the rows
that are found once more, in the precision of the samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import Distance
from mercer.estimator import estimator
from mercer.gram import Place
from mercer.persistence import fields, floats, halves, number, offsets, whole
from mercer.samples import Samples, check_count
from mercer.search.index import Asked, Index
from mercer.search.readings import VectorReading, reading_of
from mercer.search.rows import OrderedRows, by_query, refuse_beyond, slices
from mercer.threads import count_jobs, ordered_map

LANES = 16  # rows have a multiple of so many numbers, as in src/native/bind_descent.cpp
PIVOTS = 64  # rows by whose distances all rows are parted
PARTITIONS, LEAF = 8, 64  # one partition alone would never be left again
JOINED = 20  # near rows of each row that are compared, of those that are new and of the others
TURNS, CHANGED = 30, 0.001  # the most turns, and the share of neighbours that change in the last
STRIP, PART = 16384, 1024  # rows of a step, which reads the lists that the last one left
STEP = 1024  # queries of a task
FARTHEST = 1e15  # of a query, in units of the largest number of the rows


#: the nearest rows of each row, their distances in powers, and whether they are new
Lists = tuple[np.ndarray, np.ndarray, np.ndarray]
Found = list[tuple[np.ndarray, np.ndarray]]  # pairs of rows and their lengths


def _rows(index: DescentIndex) -> int:
    return len(index.placed_)


@estimator
@fields(
    rows_=floats(2, _rows),
    placed_=floats(2),
    origin_=floats(1, lambda index: index.rows_.shape[1]),
    scale_=number(),
    drawn_=whole(_rows),
    links_=whole(_rows, least=-1, axes=2, length=_rows),
    children_=halves,
    pivots_=whole(
        lambda index: len(index.drawn_), axes=2, length=lambda index: len(index.children_)
    ),
    bounds_=floats(1, lambda index: len(index.children_)),
    starts_=offsets(_rows, length=lambda index: len(index.children_) + 2),
)
class DescentIndex(Index):
    """An index of many vectors that finds most neighbours, by nearest-neighbour descent.

    Parameters
    ----------
    distance : Distance
        `Minkowski` or `MappedMinkowski` with p = 1 or 2, `Mahalanobis` or `Cosine`.
    connectivity : int >= 2, default=16
        Neighbours of a row in the graph: ask for no more of the training rows. More of them make
        it more exact, and take longer.
    expansion : int >= 1, default=64
        Rows that the walk of a query keeps in view; more find more neighbours and take longer.
    memory : int, str or None
        Budget in bytes or as "4GB" for the graph; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores. Results do not depend on it.

    Attributes
    ----------
    distance_ : Distance
        The distance, bound to the training sample.
    n_samples_fit_ : int

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
    ``8 connectivity`` bytes beside each.

    A row that asks for more than ``connectivity`` neighbours of its own walks like a new one. A
    radius is searched by walks that keep twice as many rows in view until they leave it.

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

    distance: Distance
    connectivity: int = 16
    expansion: int = 64
    memory: int | float | str | None = None
    n_jobs: int | None = None

    exact = False
    holds_copies_once = True

    def arrange(self, X: Samples) -> np.ndarray:
        for name, least in (("connectivity", 2), ("expansion", 1)):
            check_count(name, getattr(self, name), least, optional=False)
        reading = _reading(self.distance_, X)
        rows = reading.rows(X)
        n, d = rows.shape
        k = max(1, min(int(self.connectivity), n - 1))
        width = -(-d // LANES) * LANES
        needed = n * (4 * width + 4 * PIVOTS + 4 * PARTITIONS + 20 * JOINED + 20 * k)
        if not (place := Place(self.memory)).holds(needed):
            place.refuse(needed, f"the graph of {n:,} rows")
        # rows measured from their mean, in a unit of their own, lose few digits in float32
        self.reading_, self.origin_ = reading, rows.mean(axis=0, dtype=np.float64)
        ends = rows.max(axis=0) - self.origin_, self.origin_ - rows.min(axis=0)
        largest = max(float(np.max(ends, initial=0)), np.finfo(np.float64).tiny)
        self.scale_ = float(np.ldexp(1.0, -int(np.frexp(largest)[1])))
        placed = self._placed(rows)
        drawn = np.sort(np.random.default_rng(0).permutation(n)[:PIVOTS]).astype(np.int32)
        parted = self._partitions(placed, drawn)
        # rows are numbered in the order of the first leaves, so that near rows are near in memory
        order, self.starts_, self.children_, self.pivots_, self.bounds_ = parted[0]
        numbers = np.empty(n, np.int32)
        numbers[order] = np.arange(n, dtype=np.int32)
        self.placed_, self.rows_, self.drawn_ = placed[order], rows[order], numbers[drawn]
        leaves = [(numbers[each[0]], each[1]) for each in parted]
        self.links_ = self._descend(leaves, k)
        return order

    def _partitions(self, placed: np.ndarray, drawn: np.ndarray) -> list[tuple[np.ndarray, ...]]:
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

        return list(ordered_map(part, range(PARTITIONS), self.n_jobs))

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

    def _descend(self, leaves: list[tuple[np.ndarray, np.ndarray]], k: int) -> np.ndarray:
        """The k nearest of each row that were found, then rows that found it, (n, 2 k)."""
        X, squared, n = self.placed_, self._squared, len(self.placed_)

        def begin(lists: Lists) -> None:
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

        return descend(n, k, JOINED, STRIP, begin, join, self.n_jobs)

    def listed(
        self, rows: np.ndarray, count: int, own: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """About ``count`` near rows of each row, without row ``own``, and the lists' starts.

        All rows have the numbers in which they are held.
        """
        k = self.links_.shape[1] // 2
        if own is not None and count <= k + 1:
            keys = self.links_[own, :k]
        else:
            Z = self._placed(rows)
            keys = np.empty((len(Z), count), np.int32)
            wide = max(int(self.expansion), count)
            table = self._table(self.placed_, self.drawn_, Z)
            tree = self.children_, self.pivots_, self.bounds_, self.starts_

            def walk(part: slice) -> None:
                _native.descent_walk(
                    self.placed_, self._squared, self.links_, *tree, Z[part], table[part], wide,
                    keys[part],
                )  # fmt: skip

            step = max(1, min(STEP, -(-len(Z) // count_jobs(self.n_jobs))))
            for _ in ordered_map(walk, slices(len(Z), step), self.n_jobs):
                pass
        kept = keys >= 0
        if own is not None:
            kept &= keys != own[:, None]
        return keys[kept], np.concatenate(([0], np.cumsum(kept.sum(axis=1))))

    def _ask(self, Z: Samples) -> Asked:
        training = self._training
        return DescentSearch(self, training if Z is None else OrderedRows(Z), training)


class DescentSearch:
    """One question to a `DescentIndex`; the counterpart of `mercer.search.compare.Search`."""

    def __init__(self, index: Any, queries: OrderedRows, training: OrderedRows):
        self.index, self.among_themselves = index, queries is training
        self.rows = index.rows_ if self.among_themselves else index.reading_.rows(queries.X)
        self.dtype = np.result_type(queries.X.dtype, training.X.dtype)
        self.places, self.numbers = queries.order, training.order.astype(np.int32)

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query that were found, (n, k): their distances and numbers."""
        n = self.rows.shape[0]
        self._check_room(n * k, f"k={k}")
        distances, indices = np.empty((n, k), self.dtype), np.empty((n, k), np.int64)
        for part in slices(n, STRIP):
            D, ids, starts = self._compared(part, k + self.among_themselves)
            near, numbers = np.empty_like(distances[part]), np.empty_like(indices[part])
            _native.nearest_listed(D, ids, starts, near, numbers)
            distances[self.places[part]], indices[self.places[part]] = near, numbers
        return distances, indices

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those within a radius of each query that were found, as `Index.query_radius`."""
        n, found = self.rows.shape[0], []
        count = min(self.index.expansion, self.index.rows_.shape[0])
        for part in slices(n, STRIP):
            rows = np.arange(part.start, part.stop)
            wanted = count
            while len(rows):
                D, ids, starts = self._compared(rows, wanted)
                query = np.repeat(rows, np.diff(starts))
                inside = radius >= D
                # walks that did not leave the radius go on, with more rows in view
                full = np.bincount(query[inside], minlength=n)[rows] >= np.diff(starts)
                full &= wanted < self.index.rows_.shape[0]
                done = inside & ~np.isin(query, rows[full])
                found.append((self.places[query[done]], ids[done].astype(np.int64), D[done]))
                pairs = sum(len(part[0]) for part in found)
                self._check_room(2 * pairs, f"{radius=:g}")
                rows, wanted = rows[full], min(2 * wanted, self.index.rows_.shape[0])
        return by_query(found, n, self.dtype)

    def _compared(
        self, rows: slice | np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Exact distances of the rows that the graph proposes, their numbers, and the starts."""
        index, Z = self.index, self.rows[rows]
        own = np.arange(self.rows.shape[0])[rows] if self.among_themselves else None
        ids, starts = index.listed(Z, min(count, index.rows_.shape[0]), own)
        near = index.reading_.listed(Z, index.rows_, ids, starts, self.dtype)
        return near, self.numbers[ids], starts

    def _check_room(self, pairs: int, asked: str) -> None:
        refuse_beyond(pairs, self.dtype, self.index.memory, asked)


def descend(
    n: int,
    k: int,
    joined: int,
    step: int,
    begin: Callable[[Lists], None],
    join: Callable[[slice, np.ndarray, np.ndarray, Lists], Found],
    n_jobs: int | None,
) -> np.ndarray:
    """The k nearest of each of n rows that were found, then rows that found it, (n, 2 k).

    ``begin`` fills the lists of near rows; ``join`` compares, for the lists of some rows, the rows
    of them that are new with each other and with ``joined`` others, ``step`` lists at a time.
    """
    ids, far = np.full((n, k), -1, np.int32), np.full((n, k), np.inf, np.float32)
    lists = ids, far, np.zeros((n, k), np.uint8)
    begin(lists)
    newer, older = np.empty((n, joined), np.int32), np.empty((n, joined), np.int32)
    for turn in range(TURNS):
        _native.descent_candidates(turn, ids, lists[2], newer, older)
        changed = 0
        for strip in slices(n, step):
            changed += keep_pairs(join(strip, newer, older, lists), lists, n_jobs)
        if changed < CHANGED * n * k:
            break
    links = np.empty((n, 2 * k), np.int32)
    _native.descent_links(ids, far, links)
    return links


def keep_pairs(found: Found, lists: Lists, n_jobs: int | None) -> int:
    """Put pairs with their lengths into the lists of both rows; how many lists changed."""

    def keep(some: slice) -> int:
        ends = some.start, some.stop
        return sum(_native.descent_apply(*pairs, *ends, *lists) for pairs in found)

    n = len(lists[0])
    return sum(ordered_map(keep, slices(n, max(1, -(-n // count_jobs(n_jobs)))), n_jobs))


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
    reading = vector_reading(distance, X)
    if reading is None:
        raise TypeError(
            f"DescentIndex has no graph for {distance!r}: give Minkowski or MappedMinkowski with p "
            "= 1 or 2, Mahalanobis or Cosine; or use SampleDescentIndex, LSHIndex or BruteForce."
        )
    return reading
