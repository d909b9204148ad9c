"""Draw what a speech enhancer does to a recording: its spectrum over time, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plots.displays.display import Display, drawable

RANGE = 60.0  # dB below the loudest point: darker ones look alike


class SpectrogramDisplay(Display):
    """Three pictures with the same axes: the recording, the mask, and the result.

    Parameters
    ----------
    before, after : array-like of shape (frames, bins)
        Power of each frame and frequency.
    mask : array-like of shape (frames, bins)
        Gain of each, between 0 and 1.
    hop : float
        Seconds from one frame to the next.
    bin : float
        Hz from one bin to the next.

    Attributes
    ----------
    axes_ : ndarray of shape (3,)
        The axes that `plot` drew on.
    figure_ : matplotlib figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.speech import SpeechEnhancer
    >>> hiss = np.random.default_rng(0).normal(size=16_000)
    >>> display = SpectrogramDisplay.from_estimator(SpeechEnhancer.pretrained(), hiss)
    >>> [ax.get_title() for ax in display.axes_]
    ['Recording', 'Mask', 'Speech']
    """

    def __init__(self, before: Any, mask: Any, after: Any, hop: float = 0.01, bin: float = 31.25):
        parts = {"before": before, "mask": mask, "after": after}
        self.before, self.mask, self.after = (drawable(name, parts[name], 2) for name in parts)
        self.hop, self.bin = hop, bin

    @classmethod
    def from_estimator(
        cls, estimator: Any, recording: Any, sample_rate: int = 16_000, *, axes: Any = None
    ) -> SpectrogramDisplay:
        """Draw one recording, of shape (n,), as a fitted SpeechEnhancer changes it."""
        done = estimator.enhance(recording, sample_rate)
        return cls(done.before, done.mask, done.after, done.hop, done.bin).plot(axes)

    def plot(self, axes: Any = None) -> SpectrogramDisplay:
        """Draw on three axes; without them a new figure is made."""
        import matplotlib.pyplot as plt

        if axes is None:
            axes = plt.subplots(
                3, 1, figsize=(8, 8), sharex=True, sharey=True, layout="constrained"
            )[1]
        self.axes_ = np.ravel(axes)
        self.figure_ = self.axes_[0].figure
        before, after = (
            10 * np.log10(np.maximum(power, np.finfo(np.float32).tiny))
            for power in (self.before, self.after)
        )
        loudest = float(np.max(before))
        shared = {"vmin": loudest - RANGE, "vmax": loudest, "cmap": "magma"}
        self._picture(self.axes_[0], before, "Recording", "dB", **shared)
        self._picture(self.axes_[1], self.mask, "Mask", "gain", vmin=0, vmax=1, cmap="viridis")
        self._picture(self.axes_[2], after, "Speech", "dB", **shared)
        self.axes_[2].set_xlabel("Time (s)")
        return self

    def _picture(self, ax: Any, values: Any, title: str, unit: str, **look: Any) -> None:
        frames, bins = np.shape(values)
        extent = (0, frames * self.hop, 0, bins * self.bin / 1000)
        image = ax.imshow(
            np.transpose(values), origin="lower", aspect="auto", extent=extent, **look
        )
        ax.set(title=title, ylabel="Frequency (kHz)")
        ax.figure.colorbar(image, ax=ax, label=unit)
