"""Displays of matrices as pictures: attention between tokens, and spectrograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.displays.display import MATRIX, Display, Panels, display, drawable
from mercer.plots.marks import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 40  # tokens, beyond which their names would cover each other


@display
class AttentionDisplay(Display):
    """The weights of attention as a picture: queries are rows, and keys are columns.

    Parameters
    ----------
    weights : array-like of shape (l, s)
        The rows sum to 1.
    queries, keys : list of tokens, optional
        The tokens of the rows and of the columns; ``keys=None`` means the queries where these are
        as many.
    name : str, default=""
        What stands above the picture.

    Examples
    --------
    >>> display = AttentionDisplay([[0.75, 0.25], [0.5, 0.5]], ["good", "fun"])
    >>> display.keys, display.weights.sum(axis=1)
    (['good', 'fun'], array([1., 1.]))
    """

    weights: Any
    queries: Sequence | None = None
    keys: Sequence | None = None
    name: str = ""

    def __post_init__(self) -> None:
        shape = getattr(self.weights, "shape", (0, 0))
        if len(shape) != 2:
            raise ValueError(f"weights has shape {shape}: give those of one head, (queries, keys).")
        self.weights = drawable("weights", self.weights, 2)
        shape = self.weights.shape
        if self.keys is None and shape[0] == shape[1]:
            self.keys = self.queries
        for side, count in zip(("queries", "keys"), shape):
            tokens = getattr(self, side)
            if tokens is not None and len(tokens) != count:
                raise ValueError(
                    f"{side} has {len(tokens)} tokens, and weights has shape {shape}: give "
                    "one for each row of weights (queries) and for each column (keys)."
                )
            setattr(self, side, None if tokens is None else [str(token) for token in tokens])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        text: Any,
        *,
        head: int | None = None,
        layer: int = 0,
        ax: Axes | None = None,
    ) -> AttentionDisplay:
        """Draw a layer of a fitted `mercer.deep.AttentionClassifier` for one text.

        Parameters
        ----------
        estimator : AttentionClassifier
        text : str, bytes or list of tokens
            One sample of the form that the classifier was fitted to.
        head : int, optional
            None is the mean of all heads.
        layer : int, default=0
        ax : matplotlib axes, optional
        """
        tokens, found = estimator.tokenise([text])[0], estimator.attention([text], layer)[0]
        if head is not None and not 0 <= head < len(found):
            raise ValueError(f"head={head!r}: give a number from 0 to {len(found) - 1}.")
        weights = found.mean(axis=0) if head is None else found[head]
        kernel = estimator.kernel
        name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
        return cls(weights, tokens, name=name.replace("_", " ")).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> AttentionDisplay:
        """Draw ``image_``, weights from 0 to the largest. ``kwargs`` go to ``ax.imshow``."""
        ax = self._draw_on(ax, figsize=(5, 4.6))
        self.image_ = picture(ax, self.weights, "Weight", **{"vmin": 0, **kwargs})
        ax.set(title=self.name, xticks=[], yticks=[])
        if self.queries is not None and len(self.queries) <= SHOWN:
            ax.set_yticks(range(len(self.queries)), self.queries, fontsize="small")
        if self.keys is not None and len(self.keys) <= SHOWN:
            ax.set_xticks(range(len(self.keys)), self.keys, rotation=90, fontsize="small")
        return self


RANGE = 60.0  # dB below the loudest point: darker ones look alike


@display
class SpectrogramDisplay(Panels):
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

    before: Any = field(metadata=MATRIX)
    mask: Any = field(metadata=MATRIX)
    after: Any = field(metadata=MATRIX)
    hop: float = 0.01
    bin: float = 31.25

    @classmethod
    def from_estimator(
        cls, estimator: Any, recording: Any, sample_rate: int = 16_000, *, axes: Any = None
    ) -> SpectrogramDisplay:
        """Draw one recording, of shape (n,), as a fitted SpeechEnhancer changes it."""
        done = estimator.enhance(recording, sample_rate)
        return cls(done.before, done.mask, done.after, done.hop, done.bin).plot(axes)

    def plot(self, axes: Any = None) -> SpectrogramDisplay:
        """Draw on three axes; without them a new figure is made."""
        above, middle, below = self._draw_in(axes, 3, 1, (8, 2.7), sharex=True, sharey=True)
        before, after = (
            10 * np.log10(np.maximum(power, np.finfo(np.float32).tiny))
            for power in (self.before, self.after)
        )
        loudest = float(np.max(before))
        shared = {"vmin": loudest - RANGE, "vmax": loudest, "cmap": "magma"}
        self._picture(above, before, "Recording", "dB", **shared)
        self._picture(middle, self.mask, "Mask", "Gain", vmin=0, vmax=1)
        self._picture(below, after, "Speech", "dB", **shared)
        below.set_xlabel("Time (s)")
        return self

    def _picture(self, ax: Axes, values: Any, title: str, unit: str, **look: Any) -> None:
        frames, bins = np.shape(values)
        extent = (0, frames * self.hop, 0, bins * self.bin / 1000)
        look |= {"origin": "lower", "aspect": "auto", "extent": extent, "interpolation": "auto"}
        picture(ax, np.transpose(values), unit, **look)
        ax.set(title=title, ylabel="Frequency (kHz)")
