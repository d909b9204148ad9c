"""How often each k-mer occurs in each string, and the sums over k-mers that strings share.

A `Pattern` says which symbols of a window are read; what stands there is the k-mer. `Windows` holds
the strings whose windows are read, and `count` numbers their k-mers so that equal k-mers, and no
others, have equal numbers. The kernels on k-mers (kmers.py, mismatches.py) are the weighted sums
over patterns of `products`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.samples import Strings

__all__ = ["Counts", "Pattern", "Windows", "columns", "count", "mirrored", "products"]

DENSE = 2**23  # numbers at most in a pair of dense tables of counts
HALF, WHOLE = 2**32, 2**64


class Pattern(NamedTuple):
    """Windows of ``window`` symbols, compared at ``positions``; ``weight`` is that of the sum."""

    window: int
    positions: tuple[int, ...]
    weight: float = 1.0


class Windows(NamedTuple):
    """Strings whose windows are counted: ``values`` end to end, each string owned by a row.

    ``owners`` ascend and are below ``size``. A window that holds a value of ``base`` or more is
    left out.
    """

    values: np.ndarray
    starts: np.ndarray
    owners: np.ndarray
    size: int
    base: int

    @classmethod
    def of(cls, X: Strings, base: int | None = None) -> Windows:
        """Those of encoded strings, each of which owns itself; all windows, by default."""
        owners = np.arange(len(X), dtype=np.int32)
        return cls(X.values, X.starts, owners, len(X), len(X.alphabet) if base is None else base)

    def places(self, window: int) -> np.ndarray:
        """Where each window begins."""
        lengths = np.maximum(np.diff(self.starts) - window + 1, 0)
        ends = np.cumsum(lengths)
        total = ends[-1] if len(ends) else 0
        return np.arange(total) + np.repeat(self.starts[:-1] - ends + lengths, lengths)

    def kept(self, window: int) -> slice | np.ndarray:
        """Which windows hold values below the base alone."""
        beyond = self.values >= self.base
        if not beyond.any():
            return slice(None)
        before = np.concatenate(([0], np.cumsum(beyond)))
        places = self.places(window)
        return before[places] == before[places + window]

    def rows(self, window: int) -> np.ndarray:
        """The row of each window that is kept."""
        rows = np.repeat(self.owners, np.maximum(np.diff(self.starts) - window + 1, 0))
        return rows[self.kept(window)]

    def numbers(self, window: int, positions: Any, base: int) -> np.ndarray:
        """The symbols at some positions of each window that is kept, as a number in that base."""
        total = np.maximum(np.diff(self.starts) - window + 1, 0).sum()
        keys, places = np.empty(total, np.uint64), np.array(positions, np.int64)
        values, starts = np.ascontiguousarray(self.values), np.ascontiguousarray(self.starts)
        _native.kmer_keys(values, starts, window, places, base, keys)
        return keys[self.kept(window)]


class Counts(NamedTuple):
    """k-mers as numbers below ``limit``, ascending, the rows that hold them, and how often.

    Rows ascend within a k-mer.
    """

    keys: np.ndarray
    rows: np.ndarray
    counts: np.ndarray
    size: int
    limit: int

    def squares(self) -> np.ndarray:
        """Sum of squared counts of each row, (size,)."""
        return np.bincount(self.rows, self.counts**2, self.size)

    def table(self, dtype: Any) -> np.ndarray:
        """The counts as a dense array (size, limit)."""
        table = np.zeros((self.size, self.limit), dtype)
        table[self.rows, self.keys.astype(np.int64)] = self.counts
        return table


def count(pattern: Pattern, *samples: Windows) -> list[Counts]:
    """Counts of the k-mers of each of several samples, numbered alike."""
    keys, limit = numbered(pattern, *samples)
    found = []
    for sample, numbers in zip(samples, keys):
        rows, counts = sample.rows(pattern.window), np.empty(len(numbers))
        size = _native.kmer_count(numbers, rows, counts)
        found.append(Counts(numbers[:size], rows[:size], counts[:size], sample.size, limit))
    return found


def numbered(pattern: Pattern, *samples: Windows) -> tuple[list[np.ndarray], int]:
    """The k-mer of each window as a number, and a number above them all.

    A k-mer whose symbols, as digits, do not fit into 64 bits is numbered in parts: the rank of
    what has been read, among all windows of the samples, and the next symbols. Equal numbers are
    equal k-mers, always.
    """
    window, positions, _ = pattern
    base = max(1, *(sample.base for sample in samples))
    taken = _digits(base, WHOLE, len(positions))
    keys = [sample.numbers(window, positions[:taken], base) for sample in samples]
    limit = base**taken
    while taken < len(positions):
        more = _digits(base, HALF, len(positions) - taken)
        distinct, ranks = np.unique(np.concatenate(keys), return_inverse=True)
        if len(distinct) > HALF:
            raise ValueError(f"{len(distinct)} different k-mers in one block: compare fewer rows.")
        ends = np.cumsum([len(part) for part in keys])[:-1]
        step = base**more
        keys = [
            rank.astype(np.uint64) * np.uint64(step)
            + sample.numbers(window, positions[taken : taken + more], base)
            for sample, rank in zip(samples, np.split(ranks, ends))
        ]
        limit, taken = len(distinct) * step, taken + more
    return keys, limit


def _digits(base: int, limit: int, most: int) -> int:
    """How many digits, at most ``most``, always make a number below the limit."""
    digits = 0
    while digits < most and base ** (digits + 1) <= limit:
        digits += 1
    return digits


def products(patterns: Iterable[Pattern], X: Windows, Z: Windows, symmetric: bool) -> np.ndarray:
    """Σ over patterns of weight · Σ_u count_u(x) count_u(z) for every pair of rows, in float64.

    Where ``symmetric`` says that the result is, its upper triangle is computed.
    """
    K = np.zeros((X.size, Z.size))
    for pattern in patterns if K.size else ():
        counts = count(pattern, X) if Z is X else count(pattern, X, Z)
        _add(K, counts[0], counts[-1], pattern.weight, symmetric)
    return mirrored(K) if symmetric else K


def _add(K: np.ndarray, X: Counts, Z: Counts, weight: float, upper: bool) -> None:
    """The strings that hold a k-mer are paired up; where k-mers are so few that most strings hold
    most of them, a matrix product takes fewer steps.
    """
    n, m = K.shape
    pairs = len(X.keys) * len(Z.keys)  # times 1 / limit where k-mers are equally frequent
    # a step of the product takes about 1/32 of the time of a pair
    if n * m * X.limit**2 < 32 * pairs and (n + m) * X.limit <= DENSE:
        # sums of counts, whole numbers, are exact in float32 up to 2^24
        most = X.counts.max(initial=0) * Z.counts.max(initial=0) * X.limit
        dtype = np.float32 if most < 2**24 else np.float64
        table = X.table(dtype)
        K += np.float64(weight) * (table @ (table if Z is X else Z.table(dtype)).T)
    else:
        _native.kmer_join(*X[:3], *Z[:3], float(weight), upper, K)


def mirrored(K: np.ndarray) -> np.ndarray:
    """The upper triangle in both; overwrites and returns K."""
    step = 128
    for s in range(0, len(K), step):
        e = s + step
        K[s:e, :s] = K[:s, s:e].T
        upper = np.triu(K[s:e, s:e], 1)
        K[s:e, s:e] = np.triu(K[s:e, s:e]) + upper.T
    return K


def columns(X: Counts, vocabulary: Counts, scale: float, dtype: Any) -> sp.csr_array:
    """Counts times a factor, one column for each k-mer of the vocabulary, ascending."""
    known = np.unique(vocabulary.keys)
    places = np.minimum(np.searchsorted(known, X.keys), max(len(known) - 1, 0))
    hit = known[places] == X.keys if len(known) else np.zeros(len(places), bool)
    values = (scale * X.counts[hit]).astype(dtype)
    return sp.csr_array((values, (X.rows[hit], places[hit])), (X.size, len(known)))
