"""Locality-sensitive hashing: near rows share a key in some hash table, far rows seldom do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.distances import Distance
from mercer.estimator import Seed, estimator
from mercer.gram import Place
from mercer.persistence import equal, fields, length_of, number, offsets, unread, whole
from mercer.samples import Samples, check_count, is_number, is_whole
from mercer.search.brute import BruteForce
from mercer.search.families import (
    Amplification,
    HashFamily,
    QueryCosts,
    StableProjections,
    cheapest,
    s_curve,
)
from mercer.search.index import Asked, Index
from mercer.search.readings import reading_of
from mercer.search.rows import OrderedRows, by_query, refuse_beyond, slices
from mercer.threads import count_jobs, ordered_map

STEP, TASKS = 1024, 16  # queries of a task at most, and tasks at least
LEAST = 2**16  # candidates that a piece may have, whatever the budget


class ListedSearch:
    """One question to a fitted index that lists candidates.

    ``queries`` is ``training`` where the training rows ask for their own neighbours; a row is then
    no neighbour of itself.
    """

    def __init__(
        self,
        index: LSHIndex,
        queries: OrderedRows,
        training: OrderedRows,
        allowed: np.ndarray | None,
    ):
        self.index, self.among_themselves = index, queries is training
        self.allowed = None if allowed is None else allowed[training.order]
        self.numbers = training.order.astype(np.int32)
        self.training = index.rows_
        self.queries = index.rows_ if self.among_themselves else index.reading_.rows(queries.X)
        self.n = len(queries)
        self.dtype = np.result_type(queries.X.dtype, training.X.dtype)
        self.budget = Place(index.memory).budget()
        each = 12 + self.dtype.itemsize  # bytes of a candidate
        self.room = max(LEAST, self.budget // (8 * count_jobs(index.n_jobs) * each))

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of each query, (n, k): their distances and numbers."""
        self._check_room(self.n * k, f"k={k}")
        distances = np.empty((self.n, k), self.dtype)
        indices = np.empty((self.n, k), np.int64)

        def keep(rows: slice, D: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> None:
            _native.nearest_listed(D, self.numbers[ids], starts, distances[rows], indices[rows])

        self._for_all(keep)
        return distances, indices

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All within a radius of each query: distances, numbers, and where each query starts."""
        total = 0

        def keep(rows: slice, D: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> tuple:
            nonlocal total
            near = np.flatnonzero(radius >= D)
            total += len(near)
            self._check_room(2 * total, f"radius={radius:g}")
            query = np.repeat(np.arange(rows.start, rows.stop), np.diff(starts))[near]
            return query, self.numbers[ids[near]].astype(np.int64), D[near]

        return by_query(self._for_all(keep), self.n, self.dtype)

    def _for_all(self, keep: Callable) -> list:
        """The results of ``keep`` for all queries, some of them at a time."""

        def search(task: slice) -> list:
            return [keep(*piece) for piece in self._compared(task)]

        tasks = slices(self.n, min(STEP, max(1, -(-self.n // TASKS))))
        return [part for parts in ordered_map(search, tasks, self.index.n_jobs) for part in parts]

    def _compared(self, task: slice) -> Iterator[tuple]:
        """Pieces of some queries, with the distances, numbers and starts of their candidates."""
        index, Z = self.index, self.queries[task]
        keys = index.keys(Z)
        most = np.cumsum(index.most_candidates(keys))
        start = 0
        while start < len(most):
            used = most[start - 1] if start else 0
            end = max(int(np.searchsorted(most, used + self.room, side="right")), start + 1)
            here = slice(task.start + start, task.start + end)
            own = np.arange(here.start, here.stop) if self.among_themselves else None
            piece = np.ascontiguousarray(keys[:, start:end])
            ids, starts = index.listed(piece, int(most[end - 1] - used), own)
            if self.allowed is not None:
                kept = self.allowed[ids]
                ids, starts = ids[kept], np.concatenate(([0], np.cumsum(kept)))[starts]
            D = index.reading_.listed(Z[start:end], self.training, ids, starts, self.dtype)
            yield here, D, ids, starts
            start = end

    def _check_room(self, pairs: int, asked: str) -> None:
        refuse_beyond(pairs, self.dtype, self.index.memory, asked)


HASHED = 2**22  # hash values that a thread computes at a time
SAMPLE, AMONG = 128, 100_000  # rows that ask, and rows among which they do, to choose the tables
PAIRS = 2**14  # distances of pairs as they come
MOST_TABLES = 1000
#: of a step of a projection, in units of the distance that should be found
WIDTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
#: nanoseconds of one operation, of a table, of a row that is met there, and of one that is fetched
OPERATION, TABLE, VISIT, FETCH = 0.3, 60.0, 4.0, 20.0


class Sample(NamedTuple):
    """Pairs by which the functions are chosen."""

    #: distances of pairs that should be found, and of pairs as they come
    wanted: np.ndarray
    others: np.ndarray
    pairs: tuple[Any, Any] | None  # rows of pairs that should be found


@fields(
    rows_=length_of(lambda index: len(index._training)),
    ids_=whole(lambda index: len(index._training), axes=2, length=lambda index: index.n_tables_),
    starts_=offsets(
        lambda index: len(index._training), axes=2, length=lambda index: index.n_tables_
    ),
    keys_=unread,
    n_tables_=equal(lambda index: len(index.ids_)),
    n_samples_fit_=number(
        lambda index: len(index._training if index._copies is None else index._copies)
    ),
)
@estimator
class LSHIndex(Index):
    r"""An index of neighbours by hashing, which finds near rows with a wanted probability.

    It has b tables. The key of a row in one of them is made of r random hash functions, which are
    equal for two rows at the distance d with the probability p(d). Rows that share a key in some
    table are candidates, with the probability

    .. math:: P = 1 - (1 - p(d)^r)^b ;

    their distances are then computed exactly. r and b, and the width of a projection's steps, are
    those that cost least.

    Parameters
    ----------
    distance : Distance
        `Jaccard` (by `MinHash`), `Cosine` (`Hyperplanes`), `Mahalanobis`, `Minkowski` or
        `MappedMinkowski` with p = 1 or 2 (`StableProjections`), `Minkowski(0)` or `Match`
        (`BitSampling`). The families are in `mercer.search`.
    near : float > 0, optional
        The distance of two rows that should be found with the probability ``recall``; nearer pairs
        are found more often. None: the ``n_neighbors`` nearest rows should be found, on average
        over a sample.
    recall : float in (0, 1), default=0.95
    n_neighbors : int >= 1, default=10
        Number of neighbours by which distances are judged if ``near`` is None.
    n_tables, n_hashes : int, optional
        b and r, in place of those that cost least. Give both or none.
    random_state : int, RandomState or None, default=0
        Seed for drawing the hash functions and the sample.
    memory : int, str or None
        Budget in bytes or as "4GB"; tables take half of it at most. None means half of what is
        free.

    Attributes
    ----------
    n_tables_, n_hashes_ : int
        b and r.
    family_ : HashFamily
        The functions, b r of them.
    near_ : float
        The distance at which a pair is found with the probability ``recall``.
    share_ : float
        The share of the rows with which a query is compared, as expected.

    See Also
    --------
    mercer.search.BruteForce : All neighbours, exactly.
    mercer.plots.HashingDisplay : The curve of the probability over the distance.

    Notes
    -----
    A query takes O(b r d) operations for its keys, and O(d) for each candidate. Memory: 8 to 16
    bytes for each row and table, beside the rows. A neighbour that is not found is missing from the
    answer, and a query may have fewer than k neighbours: the distance is then infinite and the
    index -1. Where neighbours are hardly nearer than other rows, as for many columns of noise,
    nearly all rows are candidates (see ``share_``), and `BruteForce` is faster. Sparse rows are
    made dense.

    References
    ----------
    Indyk & Motwani, "Approximate nearest neighbors: towards removing the curse of dimensionality",
    STOC 1998. Slaney, Lifshits & He, "Optimal parameters for locality-sensitive hashing",
    Proceedings of the IEEE 100, 2012.

    Examples
    --------
    >>> from mercer.distances import Jaccard
    >>> texts = ["the cat sat on the mat", "a cat sat on the mat", "dogs bark at night"]
    >>> index = LSHIndex(Jaccard(" "), near=0.5, recall=0.99).fit(texts)
    >>> distances, indices = index.query(["the cat sat on a mat"], k=2)
    >>> indices, distances.round(2)
    (array([[1, 0]]), array([[0.  , 0.17]]))
    >>> index.collision([0.2, 0.5, 0.9]).round(2) >= [0.99, 0.99, 0.0]
    array([ True,  True,  True])
    """

    distance: Distance
    near: float | None = None
    recall: float = 0.95
    n_neighbors: int = 10
    n_tables: int | None = None
    n_hashes: int | None = None
    random_state: Seed = 0
    memory: int | float | str | None = None
    n_jobs: int | None = None

    exact = False
    holds_copies_once = True

    def collision(self, distance: ArrayLike) -> np.ndarray:
        """The probability that two rows at these distances are compared, the S-curve.

        Parameters
        ----------
        distance : array-like of numbers >= 0

        Returns
        -------
        ndarray, of the same shape, values in [0, 1]
        """
        check_is_fitted(self, "family_")
        return s_curve(self.family_.collision(distance), self.n_hashes_, self.n_tables_)

    # --- what an index defines -------------------------------------------------------------------

    def arrange(self, X: Samples) -> None:
        """Choose r and b, draw the functions, and build the tables."""
        self._validate()
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self.reading_ = reading_of(self.distance_, X)
        self.rows_ = self.reading_.rows(X)
        sample = self._sample(X, rng)
        family, chosen, most = self._plan(X, sample)
        self.n_hashes_, self.n_tables_ = chosen.n_hashes, chosen.n_tables
        self._draw(family, sample, most, rng)
        p = family.collision(sample.others)
        self.share_ = float(s_curve(p, self.n_hashes_, self.n_tables_).mean())
        self.near_ = self._distance_of(sample)
        self.starts_, self.ids_, self.keys_ = self._tables(self._all_keys(self.rows_))

    def insert(self, X: Samples) -> bool:
        """The functions stay as they were drawn."""
        known = np.empty_like(self.keys_)
        np.put_along_axis(known, self.ids_.astype(np.int64), self.keys_, axis=1)
        more = self._all_keys(self.reading_.rows(X))
        tables = self._tables(np.concatenate([known, more], axis=1))
        training = self._training.with_more(X)
        self.rows_ = self.reading_.rows(training.X)
        self._training, (self.starts_, self.ids_, self.keys_) = training, tables
        return True

    def _ask(self, Z: Samples | None, allowed: np.ndarray | None = None) -> Asked:
        training = self._training
        return ListedSearch(self, training if Z is None else OrderedRows(Z), training, allowed)

    # --- tables ----------------------------------------------------------------------------------

    def keys(self, rows: Any) -> np.ndarray:
        """The key of each row of ``reading_.rows`` in each table, (tables, n), uint32."""
        hashes = np.ascontiguousarray(self.family_.hashes(rows))
        out = np.empty((self.n_tables_, len(hashes)), np.uint32)
        _native.hash_keys(hashes, out)
        return out

    def most_candidates(self, keys: np.ndarray) -> np.ndarray:
        """How many candidates each query has at most, (n,)."""
        out = np.empty(keys.shape[1], np.int64)
        _native.count_candidates(keys, self.starts_, self.ids_, self.keys_, out)
        return out

    def listed(
        self, keys: np.ndarray, most: int, own: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The candidates of all queries, ``most`` of them at most, and where each query starts."""
        n = keys.shape[1]
        own = np.full(n, -1) if own is None else own
        ids, starts = np.empty(most, np.int32), np.empty(n + 1, np.int64)
        seen = np.zeros(len(self._training), np.uint32)
        total = _native.list_candidates(
            keys, self.starts_, self.ids_, self.keys_, own, seen, ids, starts
        )
        return ids[:total], starts

    def _all_keys(self, rows: Any) -> np.ndarray:
        """`keys` of many rows, on all threads."""
        step = max(1, HASHED // (self.n_hashes_ * self.n_tables_))
        parts = slices(rows.shape[0], step)
        return np.concatenate(
            list(ordered_map(lambda part: self.keys(rows[part]), parts, self.n_jobs)), axis=1
        )

    def _tables(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the rows of each bucket start, their numbers, and their keys, in each table."""
        tables, n = keys.shape
        starts = np.empty((tables, _buckets(n) + 1), np.uint32)
        ids, sorted_keys = np.empty((tables, n), np.int32), np.empty((tables, n), np.uint32)

        def sort(t: slice) -> None:
            _native.hash_tables(keys[t], starts[t], ids[t], sorted_keys[t])

        for _ in ordered_map(sort, slices(tables, 1), self.n_jobs):
            pass
        return starts, ids, sorted_keys

    # --- how many --------------------------------------------------------------------------------

    def _validate(self) -> None:
        """Refuse parameters out of their ranges."""
        if self.near is not None and not (is_number(self.near) and 0 < self.near < np.inf):
            raise ValueError(f"near={self.near!r}: give a number > 0, or None.")
        if not (is_number(self.recall) and 0 < self.recall < 1):
            raise ValueError(
                f"recall={self.recall!r}: give a number between 0 and 1, such as 0.95."
            )
        check_count("n_neighbors", self.n_neighbors, optional=False)
        if (self.n_tables is None) != (self.n_hashes is None):
            raise ValueError(
                f"n_tables={self.n_tables!r} and n_hashes={self.n_hashes!r}: give both or none."
            )
        for name in ("n_tables", "n_hashes"):
            value = getattr(self, name)
            if value is not None and not (is_whole(value) and value >= 1):
                raise ValueError(f"{name}={value!r}: give an integer >= 1.")

    def _room(self, n: int) -> int:
        """How many tables of n rows half of the memory holds while they are built."""
        each = 12 * n + 4 * _buckets(n)  # bytes
        place, least = Place(self.memory), self.n_tables or 1
        room = int(place.budget(2 * MOST_TABLES * each) // (2 * each))
        if room < least:
            what = f"{least} hash tables of {n:,} rows, {each / 1e6:.3g} MB each, in half of it"
            place.refuse(2 * each * least, what, ", or fewer tables")
        return min(room, MOST_TABLES)

    def _sample(self, X: Samples, rng: np.random.Generator) -> Sample:
        """Distances of some rows to their neighbours, and to others."""
        self._room(X.shape[0])  # or nothing need be computed
        # which of the rows of X each of those is that came: equal rows are neighbours too
        held = np.arange(X.shape[0]) if self._copies is None else self._copies.numbers
        n, rows = len(held), self.rows_
        asking = held[np.sort(rng.choice(n, min(SAMPLE, n), replace=False))]
        among = held[np.sort(rng.choice(n, min(PAIRS // 8, n), replace=False))]
        others = self.distance_.whole(X[asking], X[among], self.n_jobs).ravel().astype(np.float64)
        others = rng.choice(others, min(PAIRS, len(others)), replace=False)
        some = held[np.sort(rng.choice(n, min(AMONG, n), replace=False))]
        # a part of the rows holds as large a part of the neighbours
        k = round(self.n_neighbors * len(some) / n) if self.near is None else SAMPLE // 4
        k = int(np.clip(k, 1, max(len(some) - 1, 1)))
        brute = BruteForce(self.distance_, self.memory, self.n_jobs).fit(X[some])
        wanted, near = brute.query(X[asking], min(k + 1, len(some)))
        first = min(1, wanted.shape[1] - 1)  # the nearest is the row itself, or as near
        wanted, near = wanted[:, first:].astype(np.float64), near[:, first:]
        if self.near is not None:
            i, j = np.nonzero((wanted > 0.9 * self.near) & (wanted <= self.near))
            pairs = rows[asking[i]], rows[some[near[i, j]]]
            if len(i) < SAMPLE // 2:  # too few to count, so that pairs are made
                towards = rows[rng.permutation(asking)]
                made = self.reading_.stepped(rows[asking], towards, self.near)
                pairs = None if made is None else (rows[asking], made)
            return Sample(np.array([float(self.near)]), others, pairs)
        # rows that share nothing, such as sets without a common item, are no neighbours
        found = self.reading_.family.collision(wanted) > 0
        if not found.any():
            return Sample(np.zeros(1), others, None)
        i, j = np.nonzero(found)
        return Sample(wanted[found], others, (rows[asking[i]], rows[some[near[i, j]]]))

    def _plan(self, X: Samples, sample: Sample) -> tuple[HashFamily, Amplification, int]:
        """The family, with the width of its steps; r and b; and the most tables."""
        hashing, comparing = self.reading_.sizes(self.rows_)
        costs = QueryCosts(
            OPERATION * hashing, TABLE, VISIT, FETCH + OPERATION * comparing, X.shape[0]
        )
        most, plans = self._room(X.shape[0]), []
        for family in _widths(self.reading_.family, sample):
            if self.n_tables is None or self.n_hashes is None:
                plan = cheapest(
                    family.collision, sample.wanted, sample.others, self.recall, costs, most
                )
            else:  # the width that finds as much as is wanted, and compares least
                curve = [
                    float(s_curve(family.collision(d), self.n_hashes, self.n_tables).mean())
                    for d in (sample.wanted, sample.others)
                ]
                cost = curve[1] if curve[0] >= self.recall else 2 - curve[0]
                plan = Amplification(self.n_hashes, self.n_tables, cost)
            if plan is not None:
                plans.append((family, plan))
        if not plans:
            raise ValueError(
                f"{most} tables cannot find pairs at the distance "
                f"{float(np.median(sample.wanted)):.4g} with recall={self.recall:g}: give a "
                "smaller near or recall, or more memory=; or search exactly by BruteForce."
            )
        return (*min(plans, key=lambda pair: pair[1].cost), most)

    def _draw(
        self, family: HashFamily, sample: Sample, most: int, rng: np.random.Generator
    ) -> None:
        """Draw the functions, and more of them until the pairs of the sample are found.

        The probabilities hold for functions as they come. Those that were drawn may find less,
        where they tell all pairs apart alike: Cauchy's law has some very long projections, and an
        item that many sets have may be late in the order of many functions.
        """
        while True:
            self.family_ = family.draw(self.rows_, self.n_hashes_ * self.n_tables_, rng)
            if sample.pairs is None or self.n_tables is not None or self.n_tables_ == most:
                return
            first, second = map(self.keys, sample.pairs)
            if (first == second).any(axis=0).mean() >= self.recall:
                return
            self.n_tables_ = min(self.n_tables_ + 1 + self.n_tables_ // 8, most)

    def _distance_of(self, sample: Sample) -> float:
        """The distance at which the S-curve falls below the recall, by bisection."""
        low, high = 0.0, float(max(sample.wanted.max(), sample.others.max(), 1e-300))
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.collision(middle) >= self.recall else (low, middle)
        return low


def _buckets(n: int) -> int:
    """A power of 2, about as many as there are rows."""
    return 1 << max(1, (n - 1).bit_length())


def _widths(family: HashFamily, sample: Sample) -> list[HashFamily]:
    """The family with steps of several widths, if it has steps."""
    if not isinstance(family, StableProjections):
        return [family]
    wanted, others = sample.wanted, sample.others
    scales = (float(np.median(wanted)), float(np.mean(wanted)), float(np.median(others)))
    scale = next((s for s in scales if 0 < s < np.inf), 1.0)
    return [StableProjections(family.p, scale * width) for width in WIDTHS]
