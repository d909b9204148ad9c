"""Draw a Gram matrix with the samples of each cluster side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plots.displays.gram_map import GramDisplay
from mercer.plots.fitted import sample_gram


class ClusterDisplay:
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
    ax_, figure_, image_
        The matplotlib objects that `plot` drew.

    Examples
    --------
    >>> K = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.1], [0.9, 0.1, 1.0]])
    >>> display = ClusterDisplay(K, [0, 1, 0])
    >>> display.within, round(display.between, 2)
    (0.9, 0.15)
    """

    def __init__(self, K: Any, labels: Any):
        labels = np.asarray(labels)
        self.map = GramDisplay.from_gram(np.asarray(K), labels, classes=np.unique(labels))
        self.within, self.between = self.map.within, self.map.between

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        max_samples: int = 300,
        random_state: Any = 0,
        ax: Any = None,
    ) -> ClusterDisplay:
        """Draw the clusters of a fitted KernelKMeans on a sample of its training samples X."""
        K, rows = sample_gram(estimator, X, max_samples=max_samples, random_state=random_state)
        return cls(K, np.asarray(estimator.labels_)[rows]).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> ClusterDisplay:
        """Draw the matrix, with lines between clusters. ``kwargs`` are passed to ``ax.imshow``."""
        self.map.plot(ax, **kwargs)
        self.ax_, self.figure_, self.image_ = self.map.ax_, self.map.figure_, self.map.image_
        self.ax_.set_ylabel("cluster")
        return self
