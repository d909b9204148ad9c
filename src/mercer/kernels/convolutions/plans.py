"""What convolutions of time series have in common: how far their taps are apart, which channels
they read, and the series of differences."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from mercer.samples import Series

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
