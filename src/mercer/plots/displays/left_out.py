"""Draw the leave-one-out scores of learners that choose k or a width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.plots.displays.display import Display


class LeaveOneOutDisplay(Display):
    """The leave-one-out score over the number of neighbours, the width of the window, or both.

    Parameters
    ----------
    scores : dict of k, of width or of (k, width) -> score
    chosen : the key of ``scores`` that was chosen
    label : str, default="score"
        What is scored, as the label of its axis.
    by : {"n_neighbors", "width"}, default="n_neighbors"
        What single keys are.

    Attributes
    ----------
    ax_, figure_, line_, image_, chosen_
        What `plot` drew; ``line_`` or ``image_`` is None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KNeighborsClassifier
    >>> model = KNeighborsClassifier("auto").fit(*load_iris(return_X_y=True))
    >>> display = LeaveOneOutDisplay(model.loo_scores_, model.n_neighbors_)
    >>> len(display.scores), round(display.scores[display.chosen], 2)
    (24, 0.98)
    """

    def __init__(
        self, scores: Mapping, chosen: Any, *, label: str = "score", by: str = "n_neighbors"
    ):
        self.scores = dict(scores)
        self.chosen = chosen
        self.label = label
        self.by = by

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> LeaveOneOutDisplay:
        """Draw the scores of a fitted learner that has ``loo_scores_``.

        Raises
        ------
        ValueError
            It chose nothing.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "loo_scores_"):
            raise ValueError(
                f"{type(estimator).__name__} chose nothing by leaving rows out: give it "
                'n_neighbors="auto" or width="auto".'
            )
        scores = estimator.loo_scores_
        pair = estimator.n_neighbors_, estimator.width_
        both = isinstance(next(iter(scores)), tuple)
        by = "n_neighbors" if pair[0] in scores else "width"
        chosen = pair if both else pair[0] if by == "n_neighbors" else pair[1]
        what = "accuracy" if is_classifier(estimator) else "R²"
        return cls(scores, chosen, label=f"leave-one-out {what}", by=by).plot(ax)

    def plot(self, ax: Any = None) -> LeaveOneOutDisplay:
        """Draw a curve, or a map for pairs; what was chosen is marked."""
        ax = self._draw_on(ax, figsize=(5.6, 3.6), layout="constrained")
        self.line_ = self.image_ = None
        names = {"n_neighbors": "neighbours k", "width": "width h of the window"}
        if isinstance(self.chosen, tuple):
            self._draw_map(ax, names)
            return self
        values = np.array(list(self.scores.values()))
        (self.line_,) = ax.plot(list(self.scores), values, color="#0072b2", marker=".", ms=5)
        best = self.scores[self.chosen]
        (self.chosen_,) = ax.plot(
            [self.chosen], [best], color="#d55e00", marker="o", ms=8, mfc="none", mew=1.8, ls="",
            label=f"chosen: {self.chosen:.3g}",
        )  # fmt: skip
        ax.set(xlabel=names[self.by], ylabel=self.label, xscale="log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.legend(frameon=False)
        return self

    def _draw_map(self, ax: Any, names: dict[str, str]) -> None:
        numbers, widths = (sorted({pair[i] for pair in self.scores}) for i in (0, 1))
        values = np.array([[self.scores[k, h] for k in numbers] for h in widths])
        self.image_ = ax.pcolormesh(
            np.arange(len(numbers)), np.arange(len(widths)), values, cmap="cividis"
        )
        ax.figure.colorbar(self.image_, ax=ax, label=self.label)
        place = numbers.index(self.chosen[0]), widths.index(self.chosen[1])
        (self.chosen_,) = ax.plot(
            *place, color="white", marker="o", ms=9, mfc="none", mew=2, ls="",
            label=f"chosen: k = {self.chosen[0]}, h = {self.chosen[1]:.3g}",
        )  # fmt: skip
        for axis, ticks in ((ax.xaxis, numbers), (ax.yaxis, widths)):
            at = np.unique(np.linspace(0, len(ticks) - 1, 6).round().astype(int))
            axis.set_ticks(at, [f"{ticks[i]:.3g}" for i in at])
        ax.set(xlabel=names["n_neighbors"], ylabel=names["width"])
        ax.set_title(self.chosen_.get_label(), fontsize="medium")
