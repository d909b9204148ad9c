"""Convolutions of time series with the 84 kernels of MiniRocket, and what is counted of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _native
from mercer.kernels.convolutions.plans import (
    MOST_CHANNELS,
    ChannelLists,
    arrays,
    draw_channels,
    most_doublings,
)
from mercer.persistence import fields, floats, offsets, one_of, whole
from mercer.samples import Series

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
        """For about so many features: biases are quantiles of the responses of random series, which
        are drawn as often as their ``weights`` say."""
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
