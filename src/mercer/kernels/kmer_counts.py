"""How often each k-mer occurs in each string, and the sums over k-mers that strings share.

A `Pattern` says which symbols of a window are read; these symbols are the k-mer. `KmerWindows`
holds the strings whose windows are read. `count` gives each k-mer a number, so that two k-mers have
the same number exactly if they are equal. The kernels on k-mers (kmers.py, mismatches.py) are
weighted sums over patterns, which `products` computes. It reads `LazyKmers` rows: they keep the
counts for other blocks of a Gram matrix that read the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer import _native
from mercer.distances import mirrored
from mercer.persistence import fields, floats, number, offsets, optional, whole
from mercer.samples import Ragged, Strings
from mercer.threads import raise_if_stopped

DENSE = 2**23  # most numbers in a pair of dense tables of counts
KEPT = 2**27  # most bytes of counts that are kept for later blocks
ENTRY = 20  # bytes of one count: k-mer, row and number
HALF, WHOLE = 2**32, 2**64


class Pattern(NamedTuple):
    """Windows of ``window`` symbols, compared at ``positions``; ``weight`` is a factor."""

    window: int
    positions: tuple[int, ...]
    weight: float = 1.0


@fields(
    values=whole(),
    starts=offsets(lambda windows: len(windows.values)),
    owners=whole(lambda windows: windows.size, length=lambda windows: len(windows.starts) - 1),
    size=number(lambda windows: len(windows.starts) - 1),
    weights=optional(floats(1, lambda windows: len(windows.values))),
)
class KmerWindows(NamedTuple):
    """Strings whose windows are counted: their ``values`` one after the other.

    ``owners`` are the rows that the strings belong to, in ascending order, below ``size``. A window
    is left out if one of the symbols that are read (with ``strict``: any of its symbols) is not
    below ``base``. ``weights``, if given, are those of the windows that begin at each symbol.
    """

    values: np.ndarray
    starts: np.ndarray
    owners: np.ndarray
    size: int
    base: int
    strict: bool = False
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, X: Strings, base: int | None = None, *, strict: bool = False) -> KmerWindows:
        """The windows of encoded strings, one row for each string; by default all windows."""
        owners, base = np.arange(len(X), dtype=np.int32), len(X.alphabet) if base is None else base
        return cls(X.values, X.starts, owners, len(X), base, strict)

    def part(self, rows: slice | np.ndarray) -> KmerWindows:
        """The strings of some rows; the rows get new numbers, in their order."""
        chosen = np.arange(self.size)[rows]
        first = np.searchsorted(self.owners, chosen)
        counts = np.searchsorted(self.owners, chosen, "right") - first
        owners = np.repeat(np.arange(len(chosen), dtype=np.int32), counts)
        ends = np.cumsum(counts)
        which = np.arange(len(owners)) + np.repeat(first - ends + counts, counts)
        one_run = len(which) and which[-1] - which[0] + 1 == len(which) and isinstance(rows, slice)
        strings = slice(which[0], which[-1] + 1) if one_run else which
        found = Ragged(self.values, self.starts)[strings]
        weights = self.weights
        if weights is not None:
            weights = Ragged(weights, self.starts)[strings].values
        return self._replace(
            values=found.values, starts=found.starts, owners=owners, size=len(chosen),
            weights=weights,
        )  # fmt: skip

    def places(self, window: int) -> np.ndarray:
        """Where each window begins."""
        lengths = np.maximum(np.diff(self.starts) - window + 1, 0)
        ends = np.cumsum(lengths)
        total = ends[-1] if len(ends) else 0
        return np.arange(total) + np.repeat(self.starts[:-1] - ends + lengths, lengths)

    def kept(self, pattern: Pattern) -> slice | np.ndarray:
        """Which windows are counted."""
        known = self.values < self.base
        if known.all():
            return slice(None)
        places = self.places(pattern.window)
        kept = np.ones(len(places), bool)
        for position in range(pattern.window) if self.strict else pattern.positions:
            kept &= known[places + position]
        return kept

    def rows(self, pattern: Pattern) -> np.ndarray:
        """The row of each window that is counted."""
        rows = np.repeat(self.owners, np.maximum(np.diff(self.starts) - pattern.window + 1, 0))
        return rows[self.kept(pattern)]

    def weights_of(self, pattern: Pattern) -> np.ndarray:
        """The weight of each window that is counted."""
        kept = self.kept(pattern)
        if self.weights is not None:
            return self.weights[self.places(pattern.window)[kept]]
        windows = np.maximum(np.diff(self.starts) - pattern.window + 1, 0).sum()
        return np.ones(windows if isinstance(kept, slice) else np.count_nonzero(kept))

    def numbers(self, pattern: Pattern, digits: slice, base: int) -> np.ndarray:
        """Some of the symbols of each window that is counted, as the digits of a number."""
        total = np.maximum(np.diff(self.starts) - pattern.window + 1, 0).sum()
        keys, places = np.empty(total, np.uint64), np.array(pattern.positions[digits], np.int64)
        values, starts = np.ascontiguousarray(self.values), np.ascontiguousarray(self.starts)
        _native.kmer_keys(values, starts, pattern.window, places, base, keys)
        return keys[self.kept(pattern)]


class KmerCounts(NamedTuple):
    """k-mers as ascending numbers below ``limit``, the rows that have them, and how often.

    For each k-mer the rows ascend; ``largest`` is the largest count.
    """

    keys: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    size: int
    limit: int
    largest: float

    def squares(self) -> np.ndarray:
        """Sum of squared counts of each row, (size,)."""
        return np.bincount(self.rows, self.counts**2, self.size)


def tables(samples: list[KmerCounts], dtype: DTypeLike) -> np.ndarray:
    """The counts as one dense array (size, sum of limits), with the samples side by side."""
    table, first = np.zeros((samples[0].size, sum(c.limit for c in samples)), dtype), 0
    for c in samples:
        table[c.rows, c.keys.astype(np.int64) + first] = c.counts
        first += c.limit
    return table


Weigh = Callable[[Pattern, KmerCounts], KmerCounts]


class LazyKmers:
    """Rows whose k-mers are counted only when they are needed.

    ``kept`` is the number of patterns whose counts are kept for slices of these rows, if callers
    need the same slices several times. No row is kept twice. ``weigh`` changes counts, if given.
    """

    #: the number of patterns whose counts these rows keep themselves
    most = 0

    def __init__(self, windows: KmerWindows, kept: int = 0, weigh: Weigh | None = None):
        self.windows, self.kept, self.weigh = windows, kept, weigh
        self.dtype = np.dtype(np.float64)
        self._known: dict[tuple[int, int], KeptCounts] = {}

    @classmethod
    def within_memory(cls, windows: KmerWindows, weigh: Weigh | None = None) -> LazyKmers:
        """Keep the counts of as many patterns as fit into ``KEPT`` bytes."""
        return cls(windows, KEPT // (ENTRY * max(1, len(windows.values))), weigh)

    @property
    def shape(self) -> tuple[int]:
        return (self.windows.size,)

    def __getitem__(self, rows: Any) -> LazyKmers:
        start, stop, step = rows.indices(self.windows.size) if isinstance(rows, slice) else (0,) * 3
        known = self._known.get((start, stop)) if step == 1 else None
        if known is not None:
            return known
        windows = self.windows.part(rows)
        held = sum(stop - start for start, stop in list(self._known))
        if self.kept == 0 or step != 1 or held + windows.size > self.windows.size:
            return LazyKmers(windows, weigh=self.weigh)
        self._known[start, stop] = KeptCounts(windows, self.kept, self.weigh)
        return self._known[start, stop]

    def counts(self, pattern: Pattern) -> KmerCounts:
        """The counts of a pattern whose k-mers fit into 64 bits as numbers."""
        return self.weighed(pattern, *count(pattern, self.windows))

    def weighed(self, pattern: Pattern, counts: KmerCounts) -> KmerCounts:
        """Counts as they enter the products."""
        return counts if self.weigh is None else self.weigh(pattern, counts)

    def tables(self, counts: dict[Pattern, KmerCounts], dtype: DTypeLike) -> np.ndarray:
        """The `counts` of some patterns of these rows as a dense array, (rows, sum of limits)."""
        return tables(list(counts.values()), dtype)


class KeptCounts(LazyKmers):
    """Rows that keep their counts of the first ``most`` patterns."""

    def __init__(self, windows: KmerWindows, most: int, weigh: Weigh | None = None):
        super().__init__(windows, weigh=weigh)
        self.most = most
        self._counts: dict[Pattern, KmerCounts] = {}
        self._tables: dict[tuple, np.ndarray] = {}

    def counts(self, pattern: Pattern) -> KmerCounts:
        found = self._counts.get(pattern)
        if found is None:
            found = super().counts(pattern)
            if len(self._counts) < self.most:
                self._counts[pattern] = found
        return found

    def tables(self, counts: dict[Pattern, KmerCounts], dtype: DTypeLike) -> np.ndarray:
        key = tuple(counts), dtype
        found = self._tables.get(key)
        if found is None:
            found = super().tables(counts, dtype)
            if all(pattern in self._counts for pattern in counts):  # not larger than the counts
                self._tables[key] = found
        return found


def count(pattern: Pattern, *samples: KmerWindows) -> list[KmerCounts]:
    """Counts of the k-mers of each of several samples, with the same numbers in all of them."""
    windows, limit = numbered(pattern, *samples)
    found = []
    for sample, numbers in zip(samples, windows):
        raise_if_stopped()
        rows, counts = sample.rows(pattern), sample.weights_of(pattern)
        size = _native.kmer_count(numbers, rows, counts, sample.weights is not None)
        keys, rows, counts = (array[:size] for array in (numbers, rows, counts))
        largest = float(counts.max(initial=0))
        found.append(KmerCounts(keys, rows, counts, sample.size, limit, largest))
    return found


def numbered(pattern: Pattern, *samples: KmerWindows) -> tuple[list[np.ndarray], int]:
    """The k-mer of each window as a number, and a limit that is larger than all of them.

    A k-mer whose symbols, as digits, do not fit into 64 bits is numbered in parts: the symbols that
    have been read are replaced by their rank among all windows of the samples, and then the next
    symbols are added. Equal numbers always mean equal k-mers.
    """
    length = len(pattern.positions)
    base = max(1, *(sample.base for sample in samples))
    taken = _digits(base, WHOLE, length)
    keys = [sample.numbers(pattern, slice(taken), base) for sample in samples]
    limit = base**taken
    while taken < length:
        more = _digits(base, HALF, length - taken)
        distinct, ranks = np.unique(np.concatenate(keys), return_inverse=True)
        if len(distinct) > HALF:
            raise ValueError(f"One block has {len(distinct)} different k-mers: compare fewer rows.")
        ends = np.cumsum([len(part) for part in keys])[:-1]
        step = base**more
        keys = [
            rank.astype(np.uint64) * np.uint64(step)
            + sample.numbers(pattern, slice(taken, taken + more), base)
            for sample, rank in zip(samples, np.split(ranks, ends))
        ]
        limit, taken = len(distinct) * step, taken + more
    return keys, limit


def _digits(base: int, limit: int, most: int) -> int:
    """How many digits (at most ``most``) always give a number below the limit."""
    digits = 0
    while digits < most and base ** (digits + 1) <= limit:
        digits += 1
    return digits


class PatternCounts(NamedTuple):
    """The counts of a pattern in both sides of a block."""

    pattern: Pattern
    ours: KmerCounts
    theirs: KmerCounts


def products(
    patterns: Iterable[Pattern], X: LazyKmers, Z: LazyKmers, symmetric: bool
) -> np.ndarray:
    """Σ over patterns of weight · Σ_u count_u(x) count_u(z) for every pair of rows, in float64.

    Both sides have the same base. If the result is ``symmetric``, only its upper triangle is
    computed.
    """
    K = np.zeros((X.shape[0], Z.shape[0]))
    few: dict[float, list[PatternCounts]] = {}  # patterns with few different k-mers, by weight
    for pattern in patterns if K.size else ():
        by_digits = X.windows.base ** len(pattern.positions) <= WHOLE
        if by_digits:
            ours = X.counts(pattern)
            theirs = ours if X is Z else Z.counts(pattern)
        else:
            both = count(pattern, X.windows, Z.windows)
            ours, theirs = (side.weighed(pattern, c) for side, c in zip((X, Z), both))
        if by_digits and _few(ours, theirs):
            few.setdefault(pattern.weight, []).append(PatternCounts(pattern, ours, theirs))
        else:  # loop over the pairs of strings that share a k-mer
            _native.kmer_join(*ours[:3], *theirs[:3], float(pattern.weight), symmetric, K)
    for weight, group in few.items():
        # a wide table is worth its time only if it is kept for other blocks
        kept = len(group) <= min(X.most, Z.most)
        for some in _batches(group, DENSE // sum(K.shape) if kept else 0):
            product = _table_product(some, X, Z)
            K += product if weight == 1 else np.float64(weight) * product
    return mirrored(K) if symmetric else K


def _few(X: KmerCounts, Z: KmerCounts) -> bool:
    """Whether there are so few different k-mers, and so many in most strings, that a matrix product
    takes less time than a loop over pairs of strings."""
    pairs = len(X.keys) * len(Z.keys)  # times 1 / limit if all k-mers are equally frequent
    # one step of the product takes about 1/32 of the time of one pair
    work = X.size * Z.size * X.limit**2
    return work < 32 * pairs and (X.size + Z.size) * X.limit <= DENSE


def _batches(group: list[PatternCounts], most: int) -> Iterator[list[PatternCounts]]:
    """Groups of patterns with at most ``most`` different k-mers together, or single patterns."""
    some, width = [], 0
    for found in group:
        if some and width + found.ours.limit > most:
            yield some
            some, width = [], 0
        some.append(found)
        width += found.ours.limit
    yield some


def _table_product(some: list[PatternCounts], X: LazyKmers, Z: LazyKmers) -> np.ndarray:
    """Σ over patterns of Σ_u count_u(x) count_u(z)."""
    # sums of counts, whole numbers, are exact in float32 up to 2^24
    most = sum(f.ours.largest * f.theirs.largest * f.ours.limit for f in some)
    dtype = np.float32 if most < 2**24 else np.float64
    ours = X.tables({f.pattern: f.ours for f in some}, dtype)
    return ours @ Z.tables({f.pattern: f.theirs for f in some}, dtype).T


def columns(X: KmerCounts, vocabulary: np.ndarray, scale: float, dtype: DTypeLike) -> sp.csr_array:
    """Counts times a factor, with one column for each k-mer of the vocabulary, in order."""
    known = np.unique(vocabulary)
    places = np.minimum(np.searchsorted(known, X.keys), max(len(known) - 1, 0))
    hit = known[places] == X.keys if len(known) else np.zeros(len(places), bool)
    values = (scale * X.counts[hit]).astype(dtype)
    # scikit-learn's learners want short indices
    at = places[hit].astype(np.int32 if len(known) < HALF // 2 else np.int64)
    return sp.csr_array((values, (X.rows[hit].astype(at.dtype), at)), (X.size, len(known)))
