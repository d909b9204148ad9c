"""The samples of one side of a search, and how the work of a search is divided.

`OrderedRows` are training rows or queries: encoded samples in an order that the index chooses, with
the values that the distance computes once for each. `QueryTask` is the part of a search for one
thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer import _native
from mercer.distances import Distance
from mercer.gram import Place
from mercer.persistence import fields, length_of, offsets, optional, permutation
from mercer.samples import Samples, joined

Selection = slice | np.ndarray  # which rows: a slice, or an array of their numbers

EDGE, LEAST = 512, 32  # rows and columns of a tile of distances, at most and at least
TASKS = 16  # tasks at least that a search is divided into, whatever the number of threads
LISTED = 2**20  # copies of the neighbours of some queries that are listed at a time


@fields(
    order=permutation(lambda rows: rows.X.shape[0]),
    prepared=optional(length_of(lambda rows: rows.X.shape[0])),
)
class OrderedRows:
    """Encoded samples in the order in which an index holds them.

    ``order`` has the row of X that comes first, the one that comes second ...; None: the order of
    X.
    """

    def __init__(self, X: Samples, order: np.ndarray | None = None):
        if order is None:
            self.X, self.order = X, np.arange(X.shape[0])
        else:
            self.order = np.asarray(order, np.int64)
            self.X = X[self.order]
        self.prepared: Any = None

    def __len__(self) -> int:
        return len(self.order)

    def with_more(self, X: Samples, order: np.ndarray | None = None) -> OrderedRows:
        """These rows, then encoded rows X that came after them; in an order of both."""
        both = OrderedRows(joined(self.X, X), order)
        both.order = np.append(self.order, np.arange(len(self), len(both)))[both.order]
        return both

    def prepare(self, distance: Distance, like: Samples | None = None) -> Any:
        """All rows as the distance reads them. The first call computes this and keeps it."""
        if self.prepared is None:
            self.prepared = distance.prepare(self.X, like)
        return self.prepared

    def __getstate__(self) -> dict[str, Any]:
        """The state without prepared rows: the next search prepares them again."""
        return vars(self) | {"prepared": None}


@fields(members=permutation(len), starts=offsets(len))
class Copies:
    """Rows that are copies of each other, of which an index holds one.

    Different row g is each of the rows ``members[starts[g] : starts[g + 1]]``, which ascend.

    Parameters
    ----------
    copies : ndarray of shape (n,)
        Which of the different rows each row is, as `mercer.samples.copies_of` tells.
    """

    def __init__(self, copies: np.ndarray):
        self.members = np.argsort(copies, kind="stable")
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(copies))))

    def __len__(self) -> int:
        return len(self.members)

    @property
    def count(self) -> int:
        """The number of different rows."""
        return len(self.starts) - 1

    @property
    def firsts(self) -> np.ndarray:
        """The first copy of each different row."""
        return self.members[self.starts[:-1]]

    @property
    def numbers(self) -> np.ndarray:
        """Which of the different rows each row is."""
        numbers = np.empty(len(self), np.int64)
        numbers[self.members] = np.repeat(np.arange(self.count), np.diff(self.starts))
        return numbers

    def only(self, kept: np.ndarray) -> tuple[Copies, np.ndarray]:
        """Some of the rows, (n,) of bool, and the place of each different row among them: in the
        order of their first copies, and last those without."""
        rows, some = np.flatnonzero(kept), object.__new__(Copies)
        groups = self.numbers[rows]
        first = np.full(self.count, len(self))
        np.minimum.at(first, groups, rows)
        places = np.argsort(np.argsort(first, kind="stable"))
        some.members = rows[np.argsort(places[groups], kind="stable")]
        counts = np.bincount(places[groups], minlength=self.count)
        some.starts = np.concatenate(([0], np.cumsum(counts)))
        return some, places

    def listed(self, groups: np.ndarray, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The members of some different rows, ``most`` of each at most, and how many each has."""
        sizes = np.diff(self.starts)[groups]
        sizes = sizes if most is None else np.minimum(sizes, most)
        ends = np.cumsum(sizes)
        places = np.arange(ends[-1] if len(ends) else 0)
        return self.members[places + np.repeat(self.starts[groups] - ends + sizes, sizes)], sizes


class CopiedSearch:
    """A question to an index that holds one of equal rows: they are found where that one is.

    ``asked`` is the question to the index, by the queries; or by all different rows, where the
    training rows ask for their own neighbours: ``own`` has them then. ``copies`` has the rows that
    may be neighbours.
    """

    def __init__(
        self, asked: Any, copies: Copies, own: Copies | None, memory: int | float | str | None
    ):
        self.asked, self.copies, self.own, self.memory = asked, copies, own, memory

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query, (n, k): their distances and numbers.

        They are copies of the k nearest different rows: each nearer one has a copy that comes
        before.
        """
        wanted, held = k + (self.own is not None), np.diff(self.copies.starts)
        near, groups = self.asked.nearest(min(wanted, np.count_nonzero(held)))
        n = len(near) if self.own is None else len(self.own)
        refuse_beyond(n * k, near.dtype, self.memory, f"k={k}")
        sizes = np.where(groups < 0, 0, held[groups])
        enough = np.cumsum(np.minimum(sizes, wanted), axis=1) >= wanted
        last = np.where(enough.any(axis=1), enough.argmax(axis=1), -1)[:, None]
        used = (near <= np.take_along_axis(near, last, 1)) & (groups >= 0)
        distances = np.empty((len(near), wanted), near.dtype)
        indices = np.empty(distances.shape, np.int64)
        for rows in slices(len(near), max(1, LISTED // (wanted * groups.shape[1]))):
            i, j = np.nonzero(used[rows])
            members, counts = self.copies.listed(groups[rows][i, j], wanted)
            each = np.bincount(i, counts, minlength=len(used[rows])).astype(np.int64)
            _native.nearest_listed(
                np.repeat(near[rows][i, j], counts), members.astype(np.int32),
                np.concatenate(([0], np.cumsum(each))), distances[rows], indices[rows],
            )  # fmt: skip
        if self.own is None:
            return distances, indices
        numbers = self.own.numbers
        distances, indices = distances[numbers], indices[numbers]
        others = indices != np.arange(len(indices))[:, None]
        others[others.all(axis=1), -1] = False  # a row that is not among its own nearest
        return distances[others].reshape(-1, k), indices[others].reshape(-1, k)

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All within a radius of each query: distances, numbers, and where each query starts."""
        near, groups, starts = self.asked.within(radius)
        n, queries = len(starts) - 1, np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        sizes = np.diff(self.copies.starts)
        pairs = sizes[groups] * (1 if self.own is None else np.diff(self.own.starts)[queries])
        refuse_beyond(3 * int(pairs.sum()), near.dtype, self.memory, f"radius={radius:g}")
        members, counts = self.copies.listed(groups)
        near, queries = np.repeat(near, counts), np.repeat(queries, counts)
        if self.own is not None:
            n = len(self.own)
            queries, counts = self.own.listed(queries)
            members, near = np.repeat(members, counts), np.repeat(near, counts)
            others = queries != members
            queries, members, near = queries[others], members[others], near[others]
        return by_query([(queries, members, near)], n, near.dtype)


class QueryTask(NamedTuple):
    """Some queries, and which part of their candidates to compare them with."""

    rows: slice
    part: int


def tasks(n: int, m: int, step: int, divisible: bool) -> tuple[list[QueryTask], int]:
    """The tasks of a search by n queries of m training rows, and the number of parts of each chunk.

    A chunk has ``step`` queries at most. Few queries are divided into parts by their candidates
    where these are ``divisible``, and into smaller chunks otherwise, so that there is work for all
    threads.
    """
    if divisible:
        chunks = slices(n, step)
        parts = min(-(-TASKS // max(len(chunks), 1)), -(-m // EDGE))
    else:
        chunks, parts = slices(n, min(step, max(1, -(-n // TASKS)))), 1
    return [QueryTask(rows, part) for rows in chunks for part in range(parts)], parts


def slices(n: int, step: int) -> list[slice]:
    """0, ..., n - 1 in slices of a length of ``step`` at most."""
    return [slice(s, min(s + step, n)) for s in range(0, n, step)]


def pieces(rows: Selection, n: int, step: int) -> list[Selection]:
    """Some of n rows, a slice or an array of their numbers, in parts of ``step`` at most."""
    if isinstance(rows, slice):
        start, stop, stride = rows.indices(n)
        if stride == 1:
            return [slice(s, min(s + step, stop)) for s in range(start, stop, step)]
        rows = np.arange(start, stop, stride)
    return [rows[part] for part in slices(len(rows), step)]


def count(rows: Selection, n: int) -> int:
    """How many of n rows are selected."""
    return len(range(*rows.indices(n))) if isinstance(rows, slice) else len(rows)


def by_distance(distances: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both in the order of the distances within each row, then of the indices."""
    order = np.lexsort((indices, distances), axis=-1)
    return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)


def merged(
    distances: np.ndarray, indices: np.ndarray, more: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of two lists for each row, as many as each has."""
    k = distances.shape[1]
    both = by_distance(np.hstack([distances, more]), np.hstack([indices, numbers]))
    return both[0][:, :k], both[1][:, :k]


def by_query(
    found: list[tuple[np.ndarray, ...]], n: int, dtype: np.dtype, both_ways: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of a query and a row, with their distances, as `Index.query_radius` returns them."""
    nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype)
    i, j, distances = (np.concatenate(column) for column in zip(nothing, *found))
    if both_ways:
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
        distances = np.concatenate([distances, distances])
    order = np.lexsort((j, i))
    starts = np.concatenate(([0], np.cumsum(np.bincount(i, minlength=n))))
    return distances[order], j[order], starts


def refuse_beyond(
    pairs: int, dtype: np.dtype, memory: int | float | str | None, asked: str
) -> None:
    """Raise ValueError if so many pairs, two row numbers and a distance each, exceed the budget."""
    size = pairs * (dtype.itemsize + 16)
    budget = Place(memory).budget(size)
    if size > budget:
        raise ValueError(
            f"{asked} finds {pairs:,} pairs or more, {size / 1e9:.3g} GB, beyond memory="
            f"{memory!r} ({budget / 1e9:.3g} GB): give more memory, or query fewer rows at a time."
        )
