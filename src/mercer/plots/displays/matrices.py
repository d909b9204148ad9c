"""Draw matrices as pictures: Gram matrices with rows in the order of their class or target,
attention between tokens, and spectrograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.estimator import Seed
from mercer.plots.displays.display import (
    ARRAY,
    MATRIX,
    SQUARE,
    Display,
    Panels,
    display,
    drawable,
    square,
)
from mercer.plots.fitted import sample_gram, take
from mercer.plots.marks import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from mercer.deep import AttentionClassifier
    from mercer.samples import SamplesLike


@display
class GramDisplay(Display):
    """K between random rows, with the rows of a class side by side, or by ascending target.

    If the kernel suits the task, there are blocks along the diagonal: rows of the same class are
    more similar than rows of different classes.

    Parameters
    ----------
    K : array-like of shape (n, n)
        The matrix, in the order in which it is drawn.
    classes : array-like of shape (g,), optional
        The classes, in the order of their blocks; None for a numeric target.
    sizes : array-like of shape (g,), optional
        Number of rows of each block.

    Attributes
    ----------
    within, between : float or None
        Mean of K over pairs of different rows of the same class, and over pairs of rows of
        different classes; None if there are no such pairs.
    limits : (float, float)
        Ends of the colour scale: the smallest and largest value off the diagonal, or of all of K
        if these are equal.

    Examples
    --------
    >>> K = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> display = GramDisplay.from_gram(K, ["a", "b", "a"], classes=["a", "b"])
    >>> display.K[0], display.sizes, display.within, round(display.between, 2)
    (array([1. , 0.9, 0.2]), array([2, 1]), 0.9, 0.15)
    """

    K: Any = field(metadata=SQUARE)
    classes: Any = field(default=None, metadata=ARRAY)
    sizes: Any = field(default=None, metadata=ARRAY)

    def __post_init__(self) -> None:
        super().__post_init__()
        off = self.K[~np.eye(len(self.K), dtype=bool)]
        if not len(off) or off.min() == off.max():
            off = self.K
        self.limits = (float(off.min()), float(off.max()))
        self.within, self.between = self._means()

    @classmethod
    def from_gram(
        cls, K: np.ndarray, y: ArrayLike, *, classes: ArrayLike | None = None
    ) -> GramDisplay:
        """Sort a matrix by y: by class in the order of ``classes``, or by ascending number."""
        K, y = square("K", K), np.asarray(y)
        if y.shape != (len(K),):
            raise ValueError(
                f"y has the shape {y.shape}: give one target for each of {len(K)} rows."
            )
        if classes is None:
            order = np.argsort(y, kind="stable")
            return cls(K[np.ix_(order, order)])
        classes = np.asarray(classes)
        places = {label: i for i, label in enumerate(classes.tolist())}
        if unknown := [label for label in y.tolist() if label not in places]:
            raise ValueError(
                f"y has the label {unknown[0]!r}: give one of {classes.tolist()[:10]}."
            )
        codes = np.array([places[label] for label in y.tolist()])
        order = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes, minlength=len(classes))
        return cls(K[np.ix_(order, order)], classes[sizes > 0], sizes[sizes > 0])

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: SamplesLike,
        y: ArrayLike,
        *,
        max_samples: int = 300,
        random_state: Seed = 0,
        ax: Axes | None = None,
    ) -> GramDisplay:
        """Draw a fitted model's Gram matrix on a sample of the rows of X."""
        K, rows = sample_gram(estimator, X, max_samples=max_samples, random_state=random_state)
        classes = getattr(estimator, "classes_", None)
        return cls.from_gram(K, take(y, rows), classes=classes).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> GramDisplay:
        """Draw ``image_``, with lines between classes. ``kwargs`` are passed to ``ax.imshow``."""
        ax, (low, high) = self._draw_on(ax), self.limits
        self.image_ = picture(ax, self.K, "k(x, z)", **{"vmin": low, "vmax": high, **kwargs})
        ax.set(xticks=[], yticks=[])
        if self.classes is None or self.sizes is None:
            ax.set_xlabel("Rows by ascending target")
            return self
        ends = np.cumsum(self.sizes)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="white", lw=0.8)
            ax.axvline(end - 0.5, color="white", lw=0.8)
        ax.set_yticks(ends - self.sizes / 2 - 0.5, self.classes)
        return self

    def _means(self) -> tuple[float | None, float | None]:
        """The mean of K within groups, and between them; None without such pairs."""
        if self.sizes is None:
            return None, None
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        same = group[:, None] == group
        other = self.K[~same]
        np.fill_diagonal(same, False)
        alike = self.K[same]
        return (
            float(alike.mean()) if len(alike) else None,
            float(other.mean()) if len(other) else None,
        )


@display
class ClusterDisplay(Display):
    """Similarities between random samples, ordered by cluster: blocks along the diagonal.

    Parameters
    ----------
    K : array-like of shape (n, n)
    labels : array-like of shape (n,)
        The cluster of each sample.

    Attributes
    ----------
    within, between : float or None
        Mean similarity of different samples of the same cluster, and of different clusters.

    Examples
    --------
    >>> K = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> display = ClusterDisplay(K, [0, 1, 0])
    >>> display.within, round(display.between, 2)
    (0.9, 0.15)
    """

    K: InitVar[Any]
    labels: InitVar[Any]

    def __post_init__(self, K: Any, labels: Any) -> None:
        labels = np.asarray(labels)
        self.map = GramDisplay.from_gram(K, labels, classes=np.unique(labels))
        self.within, self.between = self.map.within, self.map.between

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: SamplesLike,
        *,
        max_samples: int = 300,
        random_state: Seed = 0,
        ax: Axes | None = None,
    ) -> ClusterDisplay:
        """Draw the clusters of a fitted KernelKMeans on a sample of its training samples X."""
        K, rows = sample_gram(estimator, X, max_samples=max_samples, random_state=random_state)
        return cls(K, np.asarray(estimator.labels_)[rows]).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ClusterDisplay:
        """Draw ``image_``, with lines between clusters. ``kwargs`` are passed to ``ax.imshow``."""
        self.image_ = self.map.plot(self._draw_on(ax), **kwargs).image_
        self.ax_.set_ylabel("Cluster")
        return self


SHOWN = 40  # tokens, beyond which their names would cover each other


@display
class AttentionDisplay(Display):
    """The weights of attention as a picture: queries are rows, and keys are columns.

    Parameters
    ----------
    weights : array-like of shape (l, s)
        Entry (i, j) says how much key j counts for query i. The rows sum to 1.
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
        estimator: AttentionClassifier,
        text: str,
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
        cls,
        estimator: Any,
        recording: ArrayLike,
        sample_rate: int = 16_000,
        *,
        axes: np.ndarray | None = None,
    ) -> SpectrogramDisplay:
        """Draw one recording, of shape (n,), as a fitted SpeechEnhancer changes it."""
        done = estimator.enhance(recording, sample_rate)
        return cls(done.before, done.mask, done.after, done.hop, done.bin).plot(axes)

    def plot(self, axes: np.ndarray | None = None) -> SpectrogramDisplay:
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
