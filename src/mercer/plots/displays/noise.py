"""Draw which features a distance is better without."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plots.classes import colour
from mercer.plots.displays.display import Display, drawable


class NoiseFeatureDisplay(Display):
    """The change of the leave-one-out error where a feature is left out, most useful one on top.

    A bar to the right is what the feature is worth. A feature whose bar is short or to the left is
    noise, whose bars are drawn in another colour.

    Parameters
    ----------
    names : list of str
    changes : array-like of shape (d,)
        Error without the feature minus error with all.
    deviations : array-like of shape (d,), optional
        Standard errors of the changes.

    Attributes
    ----------
    ax_, figure_, bars_ : the matplotlib objects that `plot` drew

    Examples
    --------
    >>> NoiseFeatureDisplay(["age", "id"], [0.2, -0.01]).changes
    array([ 0.2 , -0.01])
    """

    def __init__(self, names: list[str], changes: Any, deviations: Any = None):
        self.names = list(names)
        self.changes = drawable("changes", changes, 1)
        zeros = np.zeros(len(self.names))
        self.deviations = drawable(
            "deviations", zeros if deviations is None else deviations, 1, missing=True
        )
        if self.changes.shape != zeros.shape or self.deviations.shape != zeros.shape:
            raise ValueError(
                f"names, changes and deviations have {len(zeros)}, {self.changes.shape} and "
                f"{self.deviations.shape} entries: give one of each for each feature."
            )

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> NoiseFeatureDisplay:
        """Draw what `mercer.noise_features` found."""
        return cls(result.names, -result.gains, result.deviations).plot(ax)

    def plot(self, ax: Any = None, **kwargs: Any) -> NoiseFeatureDisplay:
        """Draw a bar for each feature. ``kwargs`` are passed to ``ax.barh``."""
        size = (6.4, 1.2 + 0.28 * len(self.names))
        self._draw_on(ax, figsize=size, layout="constrained")
        order = np.argsort(self.changes, kind="stable")
        useful = self.changes[order] > self.deviations[order]
        self.bars_ = self.ax_.barh(
            [self.names[j] for j in order], self.changes[order], xerr=self.deviations[order],
            **{"color": [colour(0) if u else colour(1) for u in useful],
               "error_kw": {"ecolor": "grey", "lw": 1}, **kwargs},
        )  # fmt: skip
        self.ax_.axvline(0, color="grey", lw=0.8)
        self.ax_.set(
            xlabel="Leave-one-out error without the feature, minus that with all", ylabel="Feature"
        )
        return self
