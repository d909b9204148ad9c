"""Enhancement during a recording: samples in, samples out, 42 ms later."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.speech.audio import RATES, Frames, RunningFeatures, check_samples
from mercer.speech.enhancer import SpeechEnhancer

FRAMES_AT_ONCE = 100


class EnhancerStream:
    """One recording, enhanced as it comes.

    A frame is compared with what came before it (`RunningFeatures`), not with the whole recording,
    so that the result differs from that of ``enhance``. What comes out lags by `latency` samples,
    and does not depend on how the samples are dealt out to calls.

    Parameters
    ----------
    model : SpeechEnhancer
        A fitted one.
    sample_rate : {16000, 8000}

    Attributes
    ----------
    latency : int
        Samples between what goes in and what comes out, 42 ms.

    Examples
    --------
    >>> from mercer.speech import EnhancerStream, SpeechEnhancer
    >>> stream = EnhancerStream(SpeechEnhancer.pretrained(), sample_rate=8000)
    >>> parts = [stream.push(np.zeros(500)), stream.push(np.zeros(500)), stream.close()]
    >>> sum(len(part) for part in parts)
    1000
    """

    def __init__(self, model: SpeechEnhancer, sample_rate: int = RATES[0]):
        if sample_rate not in RATES:
            raise ValueError(
                f"sample_rate={sample_rate}: a stream works at {RATES[0]} or {RATES[1]} samples a "
                "second; bring it there before."
            )
        self.model = model
        self.frames = Frames(sample_rate)
        self.latency = self.frames.width + self.frames.hop
        self._features = RunningFeatures()
        self._pending = np.zeros(self.frames.before)  # samples that are not in a whole frame yet
        self._spectra = np.zeros((0, self.frames.width // 2 + 1), complex)  # that wait for features
        self._tail = np.zeros((self.frames.pieces - 1, self.frames.hop))  # of frames not complete
        self._taken = self._given = 0  # samples
        self._skip = self.frames.before  # zeros in front, which nobody gave

    def push(self, samples: Any) -> np.ndarray:
        """The next samples, of shape (n,), in; those that are ready by now out."""
        x = check_samples(samples, "samples", empty=True)
        self._taken += len(x)
        return self._ready(self._frames_of(np.concatenate([self._pending, x])))

    def close(self) -> np.ndarray:
        """All samples that are left, (m,); the stream is over."""
        count = self.frames.count(self._taken) if self._taken else 0
        missing = (
            (count - 1) * self.frames.hop + self.frames.width - self.frames.before - self._taken
        )
        parts = [self._ready(self._frames_of(np.pad(self._pending, (0, max(0, missing)))))]
        if len(self._spectra):
            parts.append(self._out(self._features.rest()))
            parts.append(self._cut(self._tail.ravel()))
        return np.concatenate(parts)

    def _frames_of(self, padded: np.ndarray) -> np.ndarray:
        """Spectra of the whole frames; the rest waits."""
        whole = max(0, (len(padded) - self.frames.width) // self.frames.hop + 1)
        self._pending = padded[whole * self.frames.hop :]
        if not whole:
            return self._spectra[:0]
        return self.frames.of_padded(padded[: (whole - 1) * self.frames.hop + self.frames.width])

    def _ready(self, S: np.ndarray) -> np.ndarray:
        """The samples that are known after some more spectra."""
        parts = [np.zeros(0)]
        for s in range(0, len(S), FRAMES_AT_ONCE):
            now = S[s : s + FRAMES_AT_ONCE]
            self._spectra = np.vstack([self._spectra, now])
            parts.append(self._out(self._features.push(np.abs(now) ** 2)))
        return np.concatenate(parts)

    def _out(self, features: np.ndarray) -> np.ndarray:
        """The samples that these frames complete."""
        if not len(features):
            return np.zeros(0)
        S, self._spectra = self._spectra[: len(features)], self._spectra[len(features) :]
        blocks = self.frames.added(S * self.model.mask_of(features, S.shape[1]))
        blocks[: len(self._tail)] += self._tail
        self._tail = blocks[len(S) :]
        return self._cut(blocks[: len(S)].ravel())

    def _cut(self, samples: np.ndarray) -> np.ndarray:
        skipped = min(self._skip, len(samples))
        self._skip -= skipped
        out = samples[skipped:][: self._taken - self._given]
        self._given += len(out)
        return out
