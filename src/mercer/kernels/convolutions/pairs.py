"""Features of series together with those of their steps, and in units of the training series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.convolutions.competing import CompetingConvolutions
from mercer.kernels.convolutions.fixed import FixedConvolutions
from mercer.kernels.convolutions.plans import differences
from mercer.persistence import fields, floats
from mercer.samples import Series

ZEROS = 4  # the power of the share of zeros that is added to the spread of a count


@dataclass(frozen=True)
class WithDifferences:
    """Features of series, then those of the steps between their points."""

    of_points: Any
    of_steps: Any

    @classmethod
    def fixed(cls, X: Series, count: int, random: np.random.RandomState) -> WithDifferences:
        """About so many features, four for each bias, as in MultiRocket."""
        pools, half = 4, count // 2
        of_points = FixedConvolutions.learnt(X, half, pools, random)
        return cls(of_points, FixedConvolutions.learnt(differences(X), half, pools, random))

    @classmethod
    def competing(cls, X: Series, groups: int, random: np.random.RandomState) -> WithDifferences:
        """So many groups for each dilation, half of which read the steps."""
        some = max(1, groups // 2)
        of_points = CompetingConvolutions.drawn(X, max(1, groups - some), random)
        return cls(of_points, CompetingConvolutions.drawn(differences(X), some, random))

    @property
    def count(self) -> int:
        return self.of_points.count + self.of_steps.count

    def __call__(self, X: Series) -> np.ndarray:
        return np.hstack([self.of_points(X), self.of_steps(differences(X))])


@fields(means=floats(1), spreads=floats(1))
@dataclass(frozen=True)
class ScaledCounts:
    """Roots of counts minus their means, in units of their spread; a count of 0 stays 0.

    The share of zeros to the fourth power is added to the spread, so that a count that is almost
    always 0 has no great weight.
    """

    counts: WithDifferences
    means: np.ndarray
    spreads: np.ndarray

    @classmethod
    def learnt(
        cls, X: Series, counts: WithDifferences, weights: np.ndarray | None = None
    ) -> ScaledCounts:
        S = _roots(counts(X))
        means, spreads = moments(S, weights)
        spreads += np.average(S == 0, axis=0, weights=weights) ** ZEROS
        spreads[spreads <= 10 * np.finfo(S.dtype).eps * means] = 1
        return cls(counts, means.astype(S.dtype), spreads.astype(S.dtype))

    @property
    def count(self) -> int:
        return len(self.means)

    def __call__(self, X: Series) -> np.ndarray:
        S = _roots(self.counts(X))
        dtype = S.dtype
        found = (S - self.means.astype(dtype)) / self.spreads.astype(dtype)
        return np.where(S > 0, found, dtype.type(0))


def moments(F: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of columns in float64, where a weight is a repetition."""
    if weights is None:
        return F.mean(axis=0, dtype=np.float64), F.std(axis=0, dtype=np.float64)
    means = np.average(F, axis=0, weights=weights)
    return means, np.sqrt(np.average(np.square(F - means), axis=0, weights=weights))


def _roots(F: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(F, 0, out=F), out=F)
