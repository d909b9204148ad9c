"""The kernel on time series of convolutions, whose features are finite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer import _native
from mercer.distances import Meaning
from mercer.kernels.base import Kernel
from mercer.kernels.convolutions.fixed import FixedConvolutions
from mercer.kernels.convolutions.plans import (
    TAPS,
    FeatureMap,
    arrays,
    differences,
    draw_channels,
    most_doublings,
)
from mercer.persistence import fields, floats, offsets, whole
from mercer.samples import Prepared, Series, is_whole

# Convolutions of time series with groups of random kernels that compete, as in Hydra.


GROUP = 8  # kernels that compete
FEWEST_CHANNELS, MOST_CHANNELS = 2, 8  # of a group, where there are as many


@fields(
    dilations=whole(least=1),
    channel_starts=offsets(lambda of: len(of.channels), length=lambda of: len(of.weights) + 1),
    channels=whole(),
    weights=floats(2, columns=lambda of: GROUP * TAPS),
)
@dataclass(frozen=True)
class CompetingConvolutions:
    """For each group of 8 random kernels: which of them responds most, and which least.

    Of each kernel the first number is the sum of its responses at the places where it responds
    most, and the second the number of places where it responds least. Both are divided by the
    length. The first kernels in a group win draws. Zeros stand before and after a series.
    """

    dilations: np.ndarray
    channel_starts: np.ndarray
    channels: np.ndarray
    weights: np.ndarray  # (groups of all dilations, 72)

    @classmethod
    def drawn(cls, X: Series, groups: int, random: np.random.RandomState) -> CompetingConvolutions:
        """So many groups for each dilation 1, 2, 4 ... up to the length of the longest series."""
        dilations = 2 ** np.arange(int(most_doublings(X)) + 1)
        lists = groups * len(dilations)
        size = min(X.channels, int(np.clip(X.channels // 2, FEWEST_CHANNELS, MOST_CHANNELS)))
        channels = draw_channels(np.full(lists, size), X.channels, random)
        W = random.normal(size=(lists, GROUP, TAPS))
        W -= W.mean(axis=2, keepdims=True)
        W /= np.abs(W).sum(axis=2, keepdims=True)
        return cls(dilations, *channels, W.reshape(lists, -1).astype(X.dtype))

    @property
    def count(self) -> int:
        return 2 * GROUP * len(self.weights)

    def __call__(self, X: Series) -> np.ndarray:
        out = np.empty((len(X), self.count), X.dtype)
        _native.competing_convolutions(
            *arrays(X), self.dilations, self.channel_starts, self.channels,
            self.weights.astype(X.dtype, copy=False), out,
        )  # fmt: skip
        out /= X.lengths[:, None].astype(X.dtype)
        return out


# Features of series together with those of their steps, and in units of the training series.


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


ROUNDING = 1e-12  # the spread of equal shares is no larger
COUNT, GROUPS = 10_000, 64  # of the features of MiniRocket, and of Hydra


class Convolutions(Kernel):
    r"""Convolution kernel :math:`k(x, z) = \langle φ(x), φ(z) \rangle / (\|φ(x)\| \|φ(z)\|)` with
    the features φ of MiniRocket and Hydra, in units of their spread over the training sample.

    Parameters
    ----------
    random_state : int >= 0, default=0
        Seed of all that is drawn: the series from whose responses biases are taken, the kernels of
        Hydra, and which channels each kernel reads.

    See Also
    --------
    mercer.MiniRocket, mercer.Hydra : The features alone, for linear machines on many series.
    GlobalAlignment : Compares the points of series themselves.

    Notes
    -----
    It is positive semidefinite. k is a correlation of two series over about 16,000 features, each
    of which tells how often, or how strongly, a short pattern occurs; where in the series it occurs
    does not count. A series takes some 10,000 operations for each point, and 130 KB for its
    features in float64; a pair takes one product of two rows. A single training series, or equal
    ones, have no spread, and k = 0.

    References
    ----------
    Dempster, Schmidt & Webb, "MiniRocket: a very fast (almost) deterministic transform for time
    series classification", KDD 2021.
    Dempster, Schmidt & Webb, "Hydra: competing convolutional kernels for fast and accurate time
    series classification", Data Mining and Knowledge Discovery 37, 2023.

    Examples
    --------
    >>> t = np.arange(60)
    >>> X = [np.sin(t / 4), np.sin(t / 4 + 2), np.sin(t), np.sin(t + 2)]
    >>> K = Convolutions()(X)
    >>> bool(K[0, 1] > 0.2), bool(K[0, 2] < -0.2)
    (True, True)
    """

    meaning = Meaning(
        "φ(x) · φ(z) / |φ(x)| |φ(z)|, φ of MiniRocket and Hydra",
        "how far two series have the same short patterns",
    )
    kind = "series"
    #: of a bound kernel: the two maps, and the means and the factors of the first one's features
    maps_: tuple[FeatureMap, FeatureMap]
    means_: np.ndarray
    factors_: np.ndarray

    def __init__(self, random_state: int = 0):
        self.random_state = random_state

    def validate(self) -> None:
        if not (is_whole(self.random_state) and 0 <= self.random_state < 2**32):
            raise ValueError(
                f"random_state={self.random_state!r}: give a whole number from 0 to 2**32 - 1."
            )

    def bind(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        self.validate()
        if hasattr(self, "maps_"):
            return self
        random, bound = np.random.RandomState(int(self.random_state)), self.copied()
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        shares = FixedConvolutions.learnt(X, COUNT, 1, random, weights)
        F = shares(X)
        means, spreads = moments(F, weights)
        counts = ScaledCounts.learnt(X, WithDifferences.competing(X, GROUPS, random), weights)
        bound.maps_ = (shares, counts)
        bound.means_ = means.astype(F.dtype)
        known = spreads > ROUNDING  # else a new row with another share would outweigh all else
        bound.factors_ = np.where(known, 1 / np.where(known, spreads, 1), 0)
        bound.factors_ = bound.factors_.astype(F.dtype)
        return bound

    def unbound(self) -> Self:
        return type(self)(self.random_state)

    def features(self, X: Any) -> np.ndarray:
        """φ, each row divided by its norm, (n, p); 0 where that is 0. Only of a bound kernel."""
        if not hasattr(self, "maps_"):
            raise ValueError(
                "Convolutions() learns its features from the training sample: call "
                "Convolutions().bind(X) first (learners call it)."
            )
        shares, counts = self.maps_
        F = shares(X)
        F -= self.means_.astype(X.dtype)
        F *= self.factors_.astype(X.dtype)
        F = np.hstack([F, counts(X)])
        norms = np.sqrt(np.einsum("ij,ij->i", F, F))[:, None]
        return np.divide(F, norms, out=np.zeros_like(F), where=norms > 0)

    def pair_cost(self, X: Series) -> float:
        return 2.0 * (COUNT + 100 * GROUPS)

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((self.features(X),))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return X.parts[0] @ Z.parts[0].T

    def diag(self, X: Any) -> np.ndarray:
        F = self.prepare(X).parts[0]
        return np.einsum("ij,ij->i", F, F)
