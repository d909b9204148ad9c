"""How often each k-mer occurs in each string, and the sums over k-mers that strings share.

A `Pattern` says which symbols of a window are read; what stands there is the k-mer. `Windows` holds
the strings whose windows are read, and `count` numbers their k-mers so that equal k-mers, and no
others, have equal numbers. The kernels on k-mers (kmers.py, mismatches.py) are weighted sums of
`add_products` over patterns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.samples import Strings

__all__ = ["Counts", "Pattern", "Windows", "add_products", "columns", "count", "mirrored"]

DENSE = 2**23  # numbers at most in a pair of dense tables of counts
HALF, WHOLE = 2**32, 2**64


class Pattern(NamedTuple):
    """Windows of ``window`` symbols, compared at ``positions``; ``weight`` is that of the sum."""

    window: int
    positions: tuple[int, ...]
    weight: float = 1.0


class Windows(NamedTuple):
    """Strings whose windows are counted: ``values`` end to end, each string owned by a row.

    ``owners`` ascend from 0 to ``size`` - 1; ``base`` exceeds every value.
    """

    values: np.ndarray
    starts: np.ndarray
    owners: np.ndarray
    size: int
    base: int

    @classmethod
    def of(cls, X: Strings) -> Windows:
        """Those of encoded strings, each of which owns itself."""
        return cls(X.values, X.starts, np.arange(len(X), dtype=np.int32), len(X), len(X.alphabet))

    def lengths(self, window: int) -> np.ndarray:
        """Number of windows of each string."""
        return np.maximum(np.diff(self.starts) - window + 1, 0)

    def rows(self, window: int) -> np.ndarray:
        """The row of each window."""
        return np.repeat(self.owners, self.lengths(window))

    def numbers(self, window: int, positions: Any, base: int) -> np.ndarray:
        """The symbols at some positions of each window, as one number in base ``base``."""
        keys = np.empty(self.lengths(window).sum(), np.uint64)
        values, starts = np.ascontiguousarray(self.values), np.ascontiguousarray(self.starts)
        places = np.array(positions, np.int64)
        _native.kmer_keys(values, starts, window, places, base, keys)
        return keys


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


def add_products(K: np.ndarray, X: Counts, Z: Counts, weight: float, upper: bool) -> None:
    """K[i, j] += weight · Σ_u count_u(x_i) count_u(z_j); with ``upper``, at least for j >= i.

    K is float64. The strings that hold a k-mer are paired up; where k-mers are so few that most
    strings hold most of them, a matrix product takes fewer steps.
    """
    n, m = K.shape
    if n == 0 or m == 0:
        return
    pairs = len(X.keys) * len(Z.keys)  # times 1 / limit where k-mers are equally frequent
    if n * m * X.limit**2 < 32 * pairs and (n + m) * X.limit <= DENSE:
        # sums of counts, whole numbers, are exact in float32 up to 2^24
        most = X.counts.max(initial=0) * Z.counts.max(initial=0) * X.limit
        dtype = np.float32 if most < 2**24 else np.float64
        table = X.table(dtype)
        product = table @ (table if Z is X else Z.table(dtype)).T
        K += np.float64(weight) * product
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
    """Counts times a factor, one column for each k-mer of the vocabulary."""
    known = np.unique(vocabulary.keys)
    places = np.minimum(np.searchsorted(known, X.keys), max(len(known) - 1, 0))
    hit = known[places] == X.keys if len(known) else np.zeros(len(places), bool)
    values = (scale * X.counts[hit]).astype(dtype)
    return sp.csr_array((values, (X.rows[hit], places[hit])), (X.size, len(known)))
