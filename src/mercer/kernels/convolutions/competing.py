"""Convolutions of time series with groups of random kernels that compete, as in Hydra."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import _native
from mercer.kernels.convolutions.plans import TAPS, arrays, draw_channels, most_doublings
from mercer.persistence import fields, floats, offsets, whole
from mercer.samples import Series

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
