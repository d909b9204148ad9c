"""Signatures of a few bits a hash, from which Jaccard's index is estimated without the shingles.

Of each min-wise hash b bits are kept, after its bits were mixed. They are equal where the hashes
are, with the probability J, and by chance otherwise, so that a share m of equal ones gives the
estimate (m - 2⁻ᵇ) / (1 - 2⁻ᵇ). Source: Li & König, "b-bit minwise hashing", WWW 2010, for sets
that are small compared with all possible items.
"""

from __future__ import annotations

import numpy as np

from mercer import _native
from mercer.search import MinHash

BITS = (1, 2, 4, 8)
PAIRS = 2**16  # pairs of signatures that are compared at a time


class Signatures:
    """h min-wise hashes of b bits each.

    Their functions are not those of the bands: documents that share a band have equal hashes there
    more often than their similarity says.
    """

    def __init__(self, bits: int, n_hashes: int, seed: int):
        self.bits, self.n_hashes = bits, n_hashes
        self._minhash = MinHash(n_hashes, random_state=(seed + 2**31) % 2**32).fit()
        width = np.arange(256, dtype=np.uint8)
        fields = [width >> k & (2**bits - 1) for k in range(0, 8, bits)]
        differ = np.sum([field > 0 for field in fields], axis=0)
        self._different = np.asarray(differ, np.uint8)

    @property
    def width(self) -> int:
        """Bytes of a signature."""
        return self.n_hashes * self.bits // 8

    def of(self, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The signatures of sets of shingles, (n, width), uint8."""
        out = np.empty((len(starts) - 1, self.n_hashes), np.uint32)
        numbers = (values >> np.uint64(32)).astype(np.uint32)
        given = self._minhash.factors_, self._minhash.shifts_
        _native.least_hashes(numbers, starts, *given, out)
        # the lowest bits of a x + b are those of x in all functions: two shingles that agree in
        # them would do so everywhere. MurmurHash3 mixes the bits of a number so.
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            out ^= out >> np.uint32(shift)
            out *= np.uint32(factor)
        bits = (out >> np.uint32(32 - self.bits)).astype(np.uint8)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        return np.bitwise_or.reduce(bits.reshape(-1, self.width, len(shifts)) << shifts, axis=2)

    def similarity(
        self, A: np.ndarray, B: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Estimates of Jaccard's index for rows ``left`` of A and ``right`` of B."""
        out, chance = np.empty(len(left)), 0.5**self.bits
        for start in range(0, len(left), PAIRS):
            here = slice(start, start + PAIRS)
            differ = self._different[A[left[here]] ^ B[right[here]]].sum(axis=1, dtype=np.int64)
            share = 1 - differ / self.n_hashes
            out[here] = np.clip((share - chance) / (1 - chance), 0, 1)
        return out

    def deviation(self, similarity: float) -> float:
        """The standard deviation of an estimate."""
        chance = 0.5**self.bits
        share = similarity + (1 - similarity) * chance
        return float(np.sqrt(share * (1 - share) / self.n_hashes) / (1 - chance))
