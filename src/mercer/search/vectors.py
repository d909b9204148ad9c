"""Searches among rows of numbers, by native loops.

`NormedRows` are rows under Minkowski's distance. `SummedRows` compares tiles of them, for indexes
whose candidates come in tiles. `VectorSearch` is one question to an index that
holds such rows, as `mercer.search.compare.Search` is one to an index of samples of any kind. It
divides the work among threads, and calls a `VectorRows` for each part: `AllRows`, which compares
everything, or the tree of kd_tree.py.

Distances are summed in float64 and rounded once to the precision of the rows, so that every source
gives the same distances and the same order to the last bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from mercer import _native
from mercer.distances import Coordinates, Distance, dense_rows
from mercer.gram import Place
from mercer.persistence import fields, floats, number, permutation
from mercer.samples import Prepared, Samples
from mercer.search.rows import by_query, merged, refuse_beyond, slices
from mercer.threads import count_jobs, ordered_map

ALONE = 2**20  # products, which a core computes while another thread would be woken
STEP, FEWEST = 2048, 32  # queries of a task, at most and at least
WORK = 4e10  # products of numbers of one native call at most, so that Ctrl-C waits a second
SHARES = 4  # tasks of each thread, so that none waits long for the others
ROOM = 16  # neighbours of a query within a radius, as a first guess


@fields(rows=floats(2), weights=floats(1, lambda normed: normed.rows.shape[1]), p=number())
class NormedRows:
    """Rows of numbers, and the norm of their differences."""

    largest: float

    def __init__(self, coordinates: Coordinates):
        self.rows, self.p, weights = coordinates
        columns = self.rows.shape[1]
        dtype = self.rows.dtype
        self.weights = np.ones(columns, dtype) if weights is None else weights.astype(dtype)
        #: the largest absolute number of the rows
        self.largest = float(max(self.rows.max(initial=0), -self.rows.min(initial=0)))
        with np.errstate(over="ignore"):
            heaviest = float(self.weights.max(initial=0))
            farthest = heaviest * columns * (2 * np.float64(self.largest)) ** 2
        if not np.isfinite(self.largest) or (self.p == 2 and not np.isfinite(farthest)):
            j = int(np.abs(self.rows).max(axis=0).argmax())
            raise ValueError(
                f"column {j} of X reaches {self.largest:.3g}, and the square of a distance between "
                f"such rows is beyond {dtype}: divide the column by its largest value "
                "(sklearn.preprocessing.MaxAbsScaler does it for all columns)."
            )

    def __len__(self) -> int:
        return len(self.rows)

    def safe_with(self, largest: float) -> bool:
        """Whether sums in the precision of the rows can be trusted, beside rows whose largest
        number is this."""
        reach = 1e9 if self.weights.dtype == np.float32 else 1e60
        weights = self.weights[self.weights > 0]
        usual = weights.size == 0 or (weights.max() <= reach and weights.min() >= 1 / reach)
        return bool(usual and max(self.largest, largest) <= reach)


class Question(NamedTuple):
    """Queries, and the number of the training row that each of them is, or -1."""

    rows: np.ndarray
    own: np.ndarray
    safe: bool


class VectorRows(ABC):
    """Training rows, which find the nearest ones and those within a radius."""

    #: whether parts of the rows can be searched, one after the other
    divisible: bool
    #: the largest absolute number of the rows
    largest: float

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """The precision of the rows."""

    @abstractmethod
    def astype(self, dtype: DTypeLike) -> VectorRows:
        """The same rows in another precision."""

    @abstractmethod
    def order_of(self, queries: np.ndarray) -> np.ndarray | None:
        """An order in which queries that are near to each other follow each other; None: any."""

    @abstractmethod
    def nearest(
        self, asked: Question, part: slice, distances: np.ndarray, indices: np.ndarray
    ) -> None:
        """Fill (n, k) with the nearest rows of a part, ascending by distance, then by index."""

    @abstractmethod
    def within(
        self, asked: Question, part: slice, radius: float, found: tuple[np.ndarray, ...]
    ) -> int:
        """Fill queries, indices and distances with all pairs within the radius, as far as there is
        room; returns the number of pairs."""

    @abstractmethod
    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """The first row of each node of a tree, in the order of the leaves, and the one behind."""

    @abstractmethod
    def reach(self, asked: Question, edges: tuple[np.ndarray, ...]) -> None:
        """Find the shortest edge to another part for queries that are training rows, as `Reach` in
        src/native/row_search.hpp says."""


@fields(
    features=permutation(lambda rows: rows.normed.rows.shape[1]),
    origin=floats(1, lambda rows: rows.normed.rows.shape[1]),
)
class AllRows(VectorRows):
    """Rows that are all compared with each query."""

    divisible = True
    #: the number of each row, ascending; None: its place
    numbers: np.ndarray | None = None

    def __init__(self, normed: NormedRows):
        self.normed, self.largest = normed, normed.largest
        rows, weights = normed.rows, normed.weights
        some = rows[:: len(rows) // 256 + 1].astype(np.float64)
        # estimates measure rows from here, where they are small and lose few digits
        self.origin = some.mean(axis=0).astype(rows.dtype)
        # the most telling columns first: sums that only grow are given up early
        spread = np.abs(some - some.mean(axis=0)).mean(axis=0)
        telling = weights * spread ** (normed.p if 0 < normed.p < np.inf else 1)
        self.features = np.argsort(-telling, kind="stable").astype(np.int32)
        if normed.p == 2:
            self.features = np.arange(rows.shape[1], dtype=np.int32)

    @property
    def shape(self) -> tuple[int, int]:
        return self.normed.rows.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype:
        return self.normed.rows.dtype

    def astype(self, dtype: DTypeLike) -> AllRows:
        normed = self.normed
        if self.dtype == dtype:
            return self
        other = AllRows(
            NormedRows(Coordinates(normed.rows.astype(dtype), normed.p, normed.weights))
        )
        other.numbers = self.numbers
        return other

    def only(self, kept: np.ndarray) -> AllRows:
        """Copies of some of the rows, (n,) of bool, which keep their numbers."""
        normed, other = copy(self.normed), copy(self)
        normed.rows, other.normed, other.numbers = normed.rows[kept], normed, np.flatnonzero(kept)
        return other

    def order_of(self, queries: np.ndarray) -> np.ndarray | None:
        return None

    def nearest(
        self, asked: Question, part: slice, distances: np.ndarray, indices: np.ndarray
    ) -> None:
        _native.nearest_rows(*self._read(asked, part), distances, indices)
        if self.numbers is not None:
            found = indices < len(self.numbers)
            indices[found] = self.numbers[indices[found]]

    def within(
        self, asked: Question, part: slice, radius: float, found: tuple[np.ndarray, ...]
    ) -> int:
        count = _native.rows_within(*self._read(asked, part), radius, *found)
        if self.numbers is not None:
            indices = found[1][:count]
            indices[:] = self.numbers[indices]
        return count

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return np.empty(0, np.int64), np.empty(0, np.int64)

    def reach(self, asked: Question, edges: tuple[np.ndarray, ...]) -> None:
        _native.rows_reach(*self._read(asked, slice(None)), *edges)

    def _read(self, asked: Question, part: slice) -> tuple:
        """The arguments that the native loops begin with."""
        normed, own = self.normed, asked.own
        if self.numbers is not None:  # their places
            places = np.searchsorted(self.numbers, own)
            here = np.append(self.numbers, -1)[places] == own
            own = np.where(here, places, -1)
        training = normed.rows[part], part.start or 0, normed.weights, self.origin, self.features
        return asked.rows, own, *training, normed.p, asked.safe


class SummedRows(Distance):
    """A distance between rows of numbers by the sums of `AllRows`, for tiles of pairs.

    Parameters
    ----------
    distance : Distance
        A bound distance that has ``coordinates``.
    """

    def __init__(self, distance: Distance):
        self.distance = distance

    def prepare(self, X: Samples, like: Samples | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        found = self.distance.coordinates(dense_rows(X))
        assert found is not None  # as the training rows have them
        return Prepared((found.rows,), NormedRows(found))

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return self.within(X, Z, np.inf)

    def within(self, X: Any, Z: Any, limit: float) -> np.ndarray:
        X, Z = self.sides(X, Z)
        normed, (n, m) = Z.common, (X.shape[0], Z.shape[0])
        dtype = np.result_type(X.dtype, Z.dtype)
        A, B = (np.ascontiguousarray(side.parts[0], dtype) for side in (X, Z))
        D = np.full((n, m), np.inf, dtype)
        found = np.empty(n * m, np.int64), np.empty(n * m, np.int64), np.empty(n * m, dtype)
        origin, features = B[:1].mean(axis=0, dtype=dtype), np.arange(B.shape[1], dtype=np.int32)
        count = _native.rows_within(
            A, np.full(n, -1), B, 0, normed.weights.astype(dtype), origin, features, normed.p,
            normed.safe_with(X.common.largest), limit, *found,
        )  # fmt: skip
        i, j, near = (column[:count] for column in found)
        D[i, j] = near
        return D

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        X, Z = self.sides(X, Z)
        dtype = np.result_type(X.dtype, Z.dtype)
        A, B = (np.ascontiguousarray(side.parts[0], dtype) for side in (X, Z))
        D, normed = np.empty(len(pairs), dtype), Z.common
        _native.rows_of_pairs(
            A, B, normed.weights.astype(dtype), normed.p, np.ascontiguousarray(pairs, np.int64), D
        )
        return D.astype(np.float64, copy=False)


def exact_tiles(distance: Distance, X: Samples) -> Distance:
    """The distance by which tiles of the encoded training rows X are compared: every index then
    gives the same distances of rows of numbers, to the last bit."""
    return distance if distance.coordinates(X[:1]) is None else SummedRows(distance)


class VectorSearch:
    """One question to an index of rows of numbers.

    ``own`` has the number of the training row that each query is, and which is no neighbour of it;
    the results are in the order of these numbers. None: the queries are new rows.
    """

    def __init__(
        self,
        source: VectorRows,
        queries: NormedRows,
        own: np.ndarray | None,
        memory: int | float | str | None,
        n_jobs: int | None,
    ):
        self.dtype = np.result_type(queries.rows.dtype, source.dtype)
        self.source = source.astype(self.dtype)
        self.queries = queries.rows.astype(self.dtype, copy=False)
        self.safe = queries.safe_with(source.largest)
        self.memory, self.n_jobs = memory, n_jobs
        n = len(queries)
        self.own = np.full(n, -1) if own is None else own
        self.places = np.arange(n) if own is None else own
        order = self.source.order_of(self.queries) if own is None else None
        self.order = np.arange(n) if order is None else order
        self.tasks = list(self._tasks())

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query, (n, k): their distances and numbers."""
        shape = len(self.own), k
        self._check_room(shape[0] * k, f"k={k}")
        distances = np.full(shape, np.inf, self.dtype)
        indices = np.full(shape, np.iinfo(np.int64).max)

        def search(task: tuple[slice, slice]) -> tuple[np.ndarray, np.ndarray]:
            rows, part = task
            count = rows.stop - rows.start
            near, numbers = np.empty((count, k), self.dtype), np.empty((count, k), np.int64)
            self.source.nearest(self._asked(rows), part, near, numbers)
            return near, numbers

        found = ordered_map(search, self.tasks, self.n_jobs)
        for (rows, part), (near, numbers) in zip(self.tasks, found, strict=True):
            places = self.places[self.order[rows]]
            if part.start > 0:  # other parts came before
                near, numbers = merged(distances[places], indices[places], near, numbers)
            distances[places], indices[places] = near, numbers
        return distances, indices

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All within a radius of each query: distances, numbers, and where each query starts."""
        most = Place(self.memory).budget() // (3 * (self.dtype.itemsize + 16))
        total = 0

        def search(task: tuple[slice, slice]) -> tuple[np.ndarray, ...]:
            rows, part = task
            asked, room = self._asked(rows), min(ROOM * (rows.stop - rows.start), most)
            while True:
                types = np.int64, np.int64, self.dtype
                buffers = tuple(np.empty(room, dtype) for dtype in types)
                count = self.source.within(asked, part, radius, buffers)
                if count <= room:
                    break
                room = count
                self._check_room(3 * (total + room), f"radius={radius:g}")
            here, numbers, near = (column[:count] for column in buffers)
            return self.places[self.order[rows]][here], numbers.copy(), near.copy()

        found = []
        for pairs in ordered_map(search, self.tasks, self.n_jobs):
            found.append(pairs)
            total += len(pairs[0])
            # a second copy, and a third of the numbers by which they are sorted
            self._check_room(3 * total, f"radius={radius:g}")
        return by_query(found, len(self.own), self.dtype)

    def _asked(self, rows: slice) -> Question:
        places = self.order[rows]
        return Question(np.ascontiguousarray(self.queries[places]), self.own[places], self.safe)

    def _tasks(self) -> Any:
        """Queries and parts of the training rows, so that there is work for all threads."""
        n, (m, d) = len(self.own), self.source.shape
        jobs = 1 if n * m * d <= ALONE else count_jobs(self.n_jobs)
        shares = SHARES * jobs if jobs > 1 else 1
        step = int(np.clip(-(-n // shares), FEWEST, STEP))
        pairs = WORK / max(d, 1)
        if not self.source.divisible:
            yield from ((rows, slice(0, m)) for rows in slices(n, step))
            return
        step = int(np.clip(pairs / max(m, 1), FEWEST, step))
        few = n <= FEWEST  # then threads share the training rows
        parts = shares if few and m > STEP * SHARES else 1
        width = int(min(max(-(-m // parts), 1), max(pairs / step, 1)))
        for rows in slices(n, step):
            yield from ((rows, part) for part in slices(m, width))

    def _check_room(self, pairs: int, asked: str) -> None:
        refuse_beyond(pairs, self.dtype, self.memory, asked)
