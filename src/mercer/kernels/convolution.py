"""Convolutions of time series with short kernels: the features of MiniRocket, MultiRocket and
Hydra, and the kernel that they make.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer import _native
from mercer.distances import Meaning
from mercer.kernels.base import OfFeatures
from mercer.persistence import fields, floats, offsets, one_of, whole
from mercer.samples import Series, is_whole

TAPS = 9  # of every kernel
MOST_CHANNELS = 9  # that one kernel reads


class FeatureMap(Protocol):
    """Features of encoded series, (n, count), in their precision."""

    @property
    def count(self) -> int: ...

    def __call__(self, X: Series) -> np.ndarray: ...


class ChannelLists(NamedTuple):
    """The channels of list k are ``channels[starts[k] : starts[k + 1]]``."""

    starts: np.ndarray
    channels: np.ndarray


def most_doublings(X: Series) -> float:
    """How often the taps can double their distance, until kernels are as long as the longest
    series."""
    return float(np.log2(max(1.0, (int(X.lengths.max()) - 1) / (TAPS - 1))))


def draw_channels(sizes: np.ndarray, d: int, random: np.random.RandomState) -> ChannelLists:
    """So many different channels of d for each list."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if d == 1:
        return ChannelLists(starts, np.zeros(len(sizes), np.int64))
    drawn = [np.sort(random.permutation(d)[:size]) for size in sizes]
    return ChannelLists(starts, np.concatenate(drawn).astype(np.int64))


def differences(X: Series) -> Series:
    """The steps from each point to the next one; one step of 0 for a series of one point."""
    lengths = np.maximum(X.lengths - 1, 1)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    steps = np.diff(X.values, axis=0, append=0.0)
    kept = np.ones(len(X.values), bool)
    kept[X.starts[1:] - 1] = X.lengths == 1
    steps[X.starts[1:][X.lengths == 1] - 1] = 0
    return Series(steps[kept], starts, X.dtype)


def arrays(X: Series) -> tuple[np.ndarray, np.ndarray]:
    """What the loops read of series."""
    values = np.ascontiguousarray(X.values, X.dtype)
    return values, np.ascontiguousarray(X.starts, np.int64)


KERNELS = 84  # ways to choose 3 of 9 taps
MOST_DILATIONS = 32
GOLDEN = (np.sqrt(5) + 1) / 2


@fields(
    dilations=whole(least=1),
    channel_starts=offsets(
        lambda of: len(of.channels), length=lambda of: KERNELS * len(of.dilations) + 1
    ),
    channels=whole(),
    bias_starts=offsets(
        lambda of: len(of.biases), length=lambda of: KERNELS * len(of.dilations) + 1
    ),
    biases=floats(1),
    pools=one_of(1, 4),
)
@dataclass(frozen=True)
class FixedConvolutions:
    """Numbers that say how far the responses of a series to 84 kernels exceed biases.

    Kernel q has the weight 2 at three of nine taps, and -1 at the others. Its taps are
    ``dilations[k]`` points apart. Zeros stand before and after a series. Kernels with k + q odd do
    not count the places whose taps are beyond an end, unless there are no others.

    Each bias gives the share of the places where the response z exceeds the bias b; with four
    ``pools`` also the mean of z - b there, their mean place, and their longest run, the latter two
    as parts of the length; 0 if there are none.
    """

    dilations: np.ndarray
    channel_starts: np.ndarray
    channels: np.ndarray
    bias_starts: np.ndarray
    biases: np.ndarray
    pools: int

    @classmethod
    def learnt(
        cls, X: Series, count: int, pools: int, random: np.random.RandomState,
        weights: np.ndarray | None = None,
    ) -> FixedConvolutions:  # fmt: skip
        """Convolutions with about ``count`` features. Biases are quantiles of the responses of
        random series, which are drawn as often as their ``weights`` say."""
        each = max(1, count // (KERNELS * pools))
        dilations, counts = spread_dilations(most_doublings(X), each)
        lists = len(dilations) * KERNELS
        most = np.log2(min(X.channels, MOST_CHANNELS) + 1)
        sizes = (2 ** random.uniform(0, most, lists)).astype(np.int64)
        channels = draw_channels(sizes, X.channels, random)
        if weights is None:
            examples = random.randint(len(X), size=lists)
        else:
            ends = np.cumsum(weights)
            drawn = random.uniform(0, ends[-1], lists)
            examples = np.minimum(np.searchsorted(ends, drawn, side="right"), len(X) - 1)
        sizes = np.repeat(counts, KERNELS)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        biases = _quantiles(X, dilations, channels, examples, starts)
        return cls(dilations, channels.starts, channels.channels, starts, biases, pools)

    @property
    def count(self) -> int:
        return self.pools * len(self.biases)

    def __call__(self, X: Series) -> np.ndarray:
        out = np.empty((len(X), self.count), X.dtype)
        _native.fixed_convolutions(
            *arrays(X), self.dilations, self.channel_starts, self.channels, self.bias_starts,
            self.biases.astype(X.dtype, copy=False), self.pools, out,
        )  # fmt: skip
        return out


def spread_dilations(doublings: float, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances of the taps, in even steps of their logarithms, and how many of ``each`` biases of
    a kernel each one gets."""
    steps = min(each, MOST_DILATIONS)
    spread = np.logspace(0, doublings, steps, base=2).astype(np.int64)
    dilations, counts = np.unique(spread, return_counts=True)
    counts = (counts * (each / steps)).astype(np.int64)
    counts[: each - counts.sum()] += 1  # what rounding has left over is less than one for each
    return dilations, counts


def _quantiles(
    X: Series,
    dilations: np.ndarray,
    channels: ChannelLists,
    examples: np.ndarray,
    starts: np.ndarray,
) -> np.ndarray:
    """The biases of each list: quantiles of the responses of its example."""
    lengths = X.lengths[examples]
    responses = np.empty(lengths.sum(), X.dtype)
    _native.fixed_responses(*arrays(X), dilations, *channels, examples.astype(np.int64), responses)
    shares = np.arange(1, starts[-1] + 1) * GOLDEN % 1
    biases = np.empty(starts[-1], X.dtype)
    ends = np.cumsum(lengths)
    for k in range(len(examples)):
        own = np.sort(responses[ends[k] - lengths[k] : ends[k]])
        places = shares[starts[k] : starts[k + 1]] * (lengths[k] - 1)
        low = places.astype(np.int64)
        part = (places - low).astype(X.dtype)
        above = own[np.minimum(low + 1, lengths[k] - 1)]
        biases[starts[k] : starts[k + 1]] = own[low] + part * (above - own[low])
    return biases


# Convolutions of time series with groups of random kernels that compete, as in Hydra.


GROUP = 8  # kernels that compete
GROUP_CHANNELS = 2, 8  # fewest and most of a group, where there are as many


@fields(
    dilations=whole(least=1),
    channel_starts=offsets(lambda of: len(of.channels), length=lambda of: len(of.weights) + 1),
    channels=whole(),
    weights=floats(2, columns=lambda of: GROUP * TAPS),
)
@dataclass(frozen=True)
class CompetingConvolutions:
    """Which kernel responds most, and which least, in each group of 8 random kernels.

    The first number of each kernel is the sum of its responses at the places where it responds
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
        size = min(X.channels, int(np.clip(X.channels // 2, *GROUP_CHANNELS)))
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


class Convolutions(OfFeatures):
    r"""Convolution kernel

    .. math:: k(x, z) = \langle φ(x), φ(z) \rangle / (\|φ(x)\| \|φ(z)\|)

    with the features φ of MiniRocket and Hydra, in units of their spread over the training sample.

    Parameters
    ----------
    random_state : int >= 0, default=0
        Seed of all that is drawn: the series from whose responses biases are taken, the kernels of
        Hydra, and which channels each kernel reads.

    See Also
    --------
    mercer.ConvolutionFeatures : The features alone, for linear machines on many series.
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

    def bind(self, X: Series, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
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

    def features(self, X: Series) -> np.ndarray:
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
