"""The features of each frame: its loudness in 40 bands, relative to the recording.

Bands of the mel scale, which follow the ear, take the logarithm of their power. Subtracting a
band's mean over time, and dividing by its spread, removes the effect of microphone, room and level.
The features include the frame before and the frame after, and the recording's noise floor.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import lfilter

from mercer.speech.audio import BIN, FRAMES

BANDS = 40
LOWEST, HIGHEST = 60.0, 4000.0  # Hz
USED = 129  # bins up to 4,000 Hz, which both rates have
FLOOR = 1e-7  # of the mean power: what silence has
SMOOTH = 0.7  # of the last frame that stays in the smoothed power of the noise
QUIET = 15  # percentile over time that is the noise floor
SPREAD = 0.3  # added to the spread, so that a steady band is not blown up
CONTEXT = 1  # frames before and after
REMEMBERED = 3 * FRAMES  # frames that a stream takes the noise floor from
WIDTH = (2 * CONTEXT + 2) * BANDS


@cache
def mel_bands() -> np.ndarray:
    """Weights (BANDS, USED) of triangular bands; each row has the sum 1."""
    lowest, highest = (2595 * np.log10(1 + hertz / 700) for hertz in (LOWEST, HIGHEST))
    mel = np.linspace(lowest, highest, BANDS + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    hertz = BIN * np.arange(USED)
    rise = (hertz - edges[:-2, None]) / np.diff(edges)[:-1, None]
    fall = (edges[2:, None] - hertz) / np.diff(edges)[1:, None]
    weights = np.maximum(np.minimum(rise, fall), 0)
    return weights / weights.sum(axis=1, keepdims=True)


def band_powers(power: np.ndarray) -> np.ndarray:
    """Power of each band, (frames, BANDS), from that of the bins."""
    return power[:, :USED] @ mel_bands().T


def whole_features(power: np.ndarray) -> np.ndarray:
    """Features (frames, WIDTH) of a whole recording, float32, from the power of its bins.

    Examples
    --------
    >>> power = np.random.default_rng(0).random((50, USED))
    >>> whole_features(power).shape
    (50, 160)
    >>> bool(np.abs(whole_features(100 * power) - whole_features(power)).max() < 1e-5)
    True
    """
    mean = power[:, :USED].mean()
    E = band_powers(power / mean if mean > 0 else power) + FLOOR
    L = np.log(E)
    noise = np.log(np.percentile(_smoothed(E, E[0]), QUIET, axis=0))
    centred = (L - L.mean(axis=0)) / (L.std(axis=0) + SPREAD)
    return _spliced(centred, np.broadcast_to(noise, L.shape))


class RunningFeatures:
    """Features of a stream: each frame is compared with what came before it.

    Means, spreads and the level are those of all frames so far, and the noise floor that of the
    last three seconds; before the first frame it is taken to have lasted as long. However the
    frames are dealt out to calls, the features are the same.

    Examples
    --------
    >>> power = np.random.default_rng(0).random((50, USED))
    >>> stream = RunningFeatures()
    >>> parts = [stream.push(power[:20]), stream.push(power[20:]), stream.rest()]
    >>> [len(part) for part in parts]
    [19, 30, 1]
    """

    def __init__(self) -> None:
        self.frames = 0
        self.level = 0.0  # sum of the mean powers of all frames
        self.sums = np.zeros(BANDS)  # of the logarithms
        self.squares = np.zeros(BANDS)
        self.smooth = np.zeros((0, BANDS))  # smoothed powers of the last frames
        self.last = np.zeros((0, 2 * BANDS))  # two frames: the next one decides about the second

    def push(self, power: np.ndarray) -> np.ndarray:
        """The features of all frames whose next one is known, (frames, WIDTH)."""
        if not len(power):
            return np.zeros((0, WIDTH), np.float32)
        count = self.frames + np.arange(1.0, len(power) + 1)[:, None]
        levels = self.level + np.cumsum(power[:, :USED].mean(axis=1))[:, None]
        level = np.where(levels > 0, levels / count, 1)
        E = band_powers(power) + FLOOR * level
        L = np.log(E)
        sums, squares = self.sums + np.cumsum(L, axis=0), self.squares + np.cumsum(L * L, axis=0)
        mean = sums / count
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0))
        if not self.frames:
            self.smooth = np.repeat(E[:1], REMEMBERED - 1, axis=0)
        smooth = np.vstack([self.smooth, _smoothed(E, self.smooth[-1])])
        windows = sliding_window_view(smooth, REMEMBERED, axis=0)
        place = QUIET * REMEMBERED // 100
        noise = np.log(np.partition(windows, place, axis=-1)[..., place] / level)
        fresh = np.hstack([(L - mean) / (spread + SPREAD), noise])
        known = np.vstack([self.last if self.frames else fresh[:1], fresh])
        self.frames += len(power)
        self.level, self.sums, self.squares = float(levels[-1, 0]), sums[-1], squares[-1]
        self.smooth, self.last = smooth[1 - REMEMBERED :], known[-2:]
        return _spliced(known[:, :BANDS], known[:, BANDS:])[1:-1]

    def rest(self) -> np.ndarray:
        """The features of the last frame, which nothing follows."""
        known = np.vstack([self.last, self.last[-1:]])
        return _spliced(known[:, :BANDS], known[:, BANDS:])[1:-1]


def _smoothed(E: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Powers smoothed over time, after the smoothed power ``before``."""
    return lfilter([1 - SMOOTH], [1, -SMOOTH], E, axis=0, zi=SMOOTH * before[None])[0]


def _spliced(centred: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Frames with their neighbours in time, the first and the last repeated, and the noise."""
    padded = np.pad(centred, ((CONTEXT, CONTEXT), (0, 0)), mode="edge")
    seen = [padded[i : i + len(centred)] for i in range(2 * CONTEXT + 1)]
    return np.hstack([*seen, noise]).astype(np.float32)
