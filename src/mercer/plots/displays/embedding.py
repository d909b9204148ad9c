"""Draw samples on two of the axes that a transformer has found, coloured by class or number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.plots.classes import class_codes, class_handles, colour, legend_below, mark
from mercer.plots.displays.display import ARRAY, MATRIX, Display


@dataclass(eq=False, repr=False)
class EmbeddingDisplay(Display):
    """Scores of samples on two components, as a scatter plot.

    Parameters
    ----------
    scores : array-like of shape (n, 2)
    labels : array-like of shape (n,), optional
        Classes, each with a colour and a mark of its own, or numbers for a colour scale.
    names : pair of str
        Names of the axes.
    classes : array-like, optional
        The classes in ascending order; by default the labels, unless these are floats.

    Attributes
    ----------
    ax_, figure_ : the matplotlib axes and figure that `plot` drew on
    points_ : list of matplotlib collections, one for each class, or one for all samples

    Examples
    --------
    >>> display = EmbeddingDisplay([[0.0, 1.0], [2.0, 3.0]], ["a", "b"])
    >>> display.classes
    array(['a', 'b'], dtype='<U1')
    """

    scores: Any = field(metadata=MATRIX)
    labels: Any = field(default=None, metadata=ARRAY)
    names: tuple[str, str] = ("First component", "Second component")
    classes: Any = field(default=None, metadata=ARRAY)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scores.shape[1] != 2:
            raise ValueError(f"scores has shape {self.scores.shape}: give two columns.")
        if self.labels is not None and self.labels.shape != self.scores.shape[:1]:
            raise ValueError(
                f"labels has shape {self.labels.shape}: give one for each of the "
                f"{len(self.scores)} samples."
            )
        if self.classes is None and self.labels is not None and self.labels.dtype.kind != "f":
            self.classes = np.unique(self.labels)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        ax: Any = None,
    ) -> EmbeddingDisplay:
        """Draw the scores that a fitted transformer gives the samples X.

        Parameters
        ----------
        estimator : fitted estimator with ``transform``
        X : samples
        y : array-like of shape (n,), optional
            Classes or numbers to colour by.
        components : pair of int, default=(0, 1)
            Which columns of the scores are drawn.
        ax : matplotlib axes, optional
        """
        scores = np.asarray(estimator.transform(X))
        first, second = components
        if not -scores.shape[1] <= min(components) <= max(components) < scores.shape[1]:
            raise ValueError(
                f"components={components!r}: the estimator has {scores.shape[1]} of them, "
                "numbered from 0: give two of these."
            )
        named = getattr(estimator, "get_feature_names_out", None)
        plain = [f"{type(estimator).__name__.lower()}{i}" for i in range(scores.shape[1])]
        names = [str(name) for name in named()] if named else plain
        if names == plain:  # say no more than the number, which people count from 1
            names = [f"Component {i + 1}" for i in range(len(names))]
        return cls(scores[:, [first, second]], y, (names[first], names[second])).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> EmbeddingDisplay:
        """Draw the points. ``kwargs`` are passed to ``ax.scatter``."""
        self._draw_on(ax)
        style = {"s": 22, "alpha": 0.85, "edgecolors": "white", "linewidths": 0.4, **kwargs}
        x, y = self.scores.T
        self.points_ = []
        if self.classes is not None:
            codes = class_codes(self.labels, self.classes, "labels")
            for c in range(len(self.classes)):
                look = {"color": [colour(c)], "marker": mark(c), **style}
                self.points_.append(self.ax_.scatter(x[codes == c], y[codes == c], **look))
            legend_below(self.ax_, class_handles(self.classes))
        else:
            known = self.labels is not None
            look = {"c": self.labels, "cmap": "viridis"} if known else {"color": [colour(1)]}
            self.points_.append(self.ax_.scatter(x, y, **{**look, **style}))
            if known:
                self.figure_.colorbar(self.points_[0], ax=self.ax_)
        self.ax_.set(xlabel=self.names[0], ylabel=self.names[1])
        return self
