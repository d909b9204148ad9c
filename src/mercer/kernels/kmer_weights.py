"""Counts of k-mers as searches of texts weigh them: logarithms of counts, and rare k-mers more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mercer.kernels.kmer_counts import WHOLE, Counts, Pattern, Windows, count
from mercer.persistence import fields


@fields()
class Rarity:
    """Inverse document frequencies of the k-mers of a training sample.

    Parameters
    ----------
    base : int
        Number of symbols of the training sample.
    keys, weights : list of ndarray
        For k = 1, 2, ... the k-mers as ascending numbers, and their weights.
    """

    def __init__(self, base: int, keys: list[np.ndarray], weights: list[np.ndarray]):
        self.base = base
        self.keys = keys
        self.weights = weights

    @classmethod
    def of(
        cls,
        windows: Windows,
        patterns: Iterable[Pattern],
        reader: str,
        sample_weight: np.ndarray | None = None,
    ) -> Rarity:
        """log((1 + n) / (1 + rows that have the k-mer)) + 1, as scikit-learn has it.

        A row of weight w counts as w rows.
        """
        lengths = {len(pattern.positions): pattern for pattern in patterns}
        longest = max(lengths, default=0)
        if max(windows.base, 2) ** longest > WHOLE:
            raise ValueError(
                f"idf=True: {reader} needs a number below 2**64 for each substring of {longest} "
                f"symbols, but there are {windows.base} symbols. Give a smaller k, or idf=False."
            )
        times = np.ones(windows.size) if sample_weight is None else sample_weight
        keys = [np.empty(0, np.uint64)] * longest
        weights = [np.empty(0)] * longest
        for length, pattern in lengths.items():
            (found,) = count(pattern, windows)
            keys[length - 1], which = np.unique(found.keys, return_inverse=True)
            rows = np.bincount(which, times[found.rows], minlength=len(keys[length - 1]))
            weights[length - 1] = np.log((1 + times.sum()) / (1 + rows)) + 1
        return cls(windows.base, keys, weights)

    def __repr__(self) -> str:
        return f"Rarity({sum(map(len, self.keys))} substrings)"

    def of_counts(self, pattern: Pattern, counts: Counts) -> np.ndarray:
        """The weight of each k-mer; 0 for those that are not in the training sample."""
        length = len(pattern.positions) - 1
        if length >= len(self.keys) or not len(self.keys[length]):
            return np.zeros(len(counts.keys))
        known = self.keys[length]
        places = np.minimum(np.searchsorted(known, counts.keys), len(known) - 1)
        return np.where(known[places] == counts.keys, self.weights[length][places], 0.0)


class Weighing(NamedTuple):
    """What becomes of counts: 1 + log(count) if ``sublinear``, times the ``rarity``."""

    sublinear: bool
    rarity: Rarity | None

    def __call__(self, pattern: Pattern, counts: Counts) -> Counts:
        values = 1 + np.log(counts.counts) if self.sublinear else counts.counts
        if self.rarity is None:
            return counts._replace(counts=values, largest=np.inf)
        weights = self.rarity.of_counts(pattern, counts)
        known = weights > 0
        return counts._replace(
            keys=counts.keys[known], rows=counts.rows[known], counts=(values * weights)[known],
            largest=np.inf,  # no whole numbers, which float32 would hold exactly
        )  # fmt: skip
