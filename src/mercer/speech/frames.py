"""Short pieces of a recording and their spectra, and back: the analysis that masks work on.

Frames of 32 ms start every 10 ms. Both ways they are multiplied by the root of a Hann window, and
overlapping frames are added and divided by the sum of the squared windows, so that frames that
nobody changed give the recording back to rounding. At 16,000 and at 8,000 samples a second the
same bins, of 31.25 Hz, are seen.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

RATES = (16_000, 8_000)
BIN = 31.25  # Hz between two bins, at either rate
FRAMES = 100  # that start in a second


class Frames:
    """The transform at one sampling rate.

    Parameters
    ----------
    rate : {16000, 8000}
        Samples a second.

    Examples
    --------
    >>> frames, x = Frames(16_000), np.sin(np.arange(1000.0))
    >>> S = frames.spectra(x)
    >>> S.shape, bool(np.abs(frames.waveform(S, len(x)) - x).max() < 1e-12)
    ((9, 257), True)
    """

    def __init__(self, rate: int = 16_000):
        self.rate = rate
        self.hop = rate // FRAMES
        self.width = round(rate / BIN)
        n = np.arange(self.width)
        self.window = np.sqrt(0.5 - 0.5 * np.cos(2 * np.pi * n / self.width))
        self.pieces = -(-self.width // self.hop)  # frames that reach over one hop
        padded = np.zeros(self.pieces * self.hop)
        padded[: self.width] = self.window**2
        self.overlap = padded.reshape(self.pieces, self.hop).sum(axis=0)
        self.before = self.width - self.hop  # zeros in front, so that all samples are covered alike

    def count(self, samples: int) -> int:
        """The number of frames of so many samples."""
        return -(-(samples + self.before) // self.hop)

    def spectra(self, x: np.ndarray) -> np.ndarray:
        """Complex spectra (frames, bins) of samples (n,), in the precision of x."""
        count = self.count(len(x))
        padded = np.zeros((count - 1) * self.hop + self.width, x.dtype)
        padded[self.before : self.before + len(x)] = x
        return self.of_padded(padded)

    def of_padded(self, padded: np.ndarray) -> np.ndarray:
        """Spectra of the frames that lie whole within these samples."""
        pieces = sliding_window_view(padded, self.width)[:: self.hop]
        return np.fft.rfft(pieces * self.window.astype(padded.dtype), axis=1)

    def waveform(self, S: np.ndarray, samples: int) -> np.ndarray:
        """The first ``samples`` samples of spectra (frames, bins); the inverse of `spectra`."""
        return self.added(S).ravel()[self.before :][:samples]

    def added(self, S: np.ndarray) -> np.ndarray:
        """Overlapping frames, added: (frames + pieces - 1, hop) samples."""
        pieces = np.fft.irfft(S, self.width, axis=1)
        pieces *= self.window.astype(pieces.dtype)
        short = self.pieces * self.hop - self.width
        blocks = np.pad(pieces, ((0, 0), (0, short))).reshape(len(S), self.pieces, self.hop)
        out = np.zeros((len(S) + self.pieces - 1, self.hop), pieces.dtype)
        for k in range(self.pieces):
            out[k : k + len(S)] += blocks[:, k]
        return out / self.overlap.astype(out.dtype)
