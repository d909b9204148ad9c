"""Draw a Gram matrix as a picture, with rows in the order of their class or target."""

from __future__ import annotations

from dataclasses import InitVar, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.estimator import Seed
from mercer.plots.displays.display import ARRAY, SQUARE, Display, display, square
from mercer.plots.fitted import sample_gram, take
from mercer.plots.marks import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    def from_gram(cls, K: np.ndarray, y: Any, *, classes: Any = None) -> GramDisplay:
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
        estimator: Any,
        X: Any,
        y: Any,
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
        X: Any,
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
