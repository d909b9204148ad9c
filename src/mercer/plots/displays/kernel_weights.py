"""Draw the weights of many kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plots.classes import colour
from mercer.plots.displays.display import Display, drawable


class KernelWeightsDisplay(Display):
    """The weights that multiple-kernel learning gave to each kernel, the largest on top.

    Parameters
    ----------
    weights : array-like of shape (T,)
    names : sequence of str, optional
        None: the numbers of the kernels.
    most : int, default=30
        Most kernels that are drawn; the title says how many others there are.

    Attributes
    ----------
    ax_, figure_, bars_ : the matplotlib objects that `plot` drew

    Examples
    --------
    >>> KernelWeightsDisplay([0.2, 0.8], ["size", "text"]).order.tolist()
    [1, 0]
    """

    def __init__(self, weights: Any, names: Any = None, *, most: int = 30):
        self.weights = drawable("weights", weights, 1)
        if names is None:
            names = [str(t) for t in range(len(self.weights))]
        self.names = [str(name) for name in names]
        if len(self.names) != len(self.weights):
            raise ValueError(
                f"names has {len(self.names)} entries: give one for each of the "
                f"{len(self.weights)} weights."
            )
        self.most = most

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, most: int = 30, ax: Any = None
    ) -> KernelWeightsDisplay:
        """Draw the weights of a fitted `MultipleKernelClassifier` or `MultipleKernelRegressor`."""
        return cls(estimator.weights_, estimator.names_, most=most).plot(ax)

    @property
    def order(self) -> np.ndarray:
        """The kernels, those of the largest weight first."""
        return np.argsort(-self.weights, kind="stable")

    def plot(self, ax: Any = None, **kwargs: Any) -> KernelWeightsDisplay:
        """Draw one bar for each kernel. ``kwargs`` are passed to ``ax.barh``."""
        shown = self.order[: self.most]
        size = (6.4, 1.2 + 0.32 * len(shown))
        self._draw_on(ax, figsize=size, layout="constrained")
        places = np.arange(len(shown))
        self.bars_ = self.ax_.barh(
            places, self.weights[shown], **{"color": colour(0), "height": 0.7, **kwargs}
        )
        self.ax_.bar_label(self.bars_, [f"{w:.3g}" for w in self.weights[shown]], padding=3)
        self.ax_.set_yticks(places, [self.names[t] for t in shown])
        self.ax_.set_ylim(len(shown) - 0.5, -0.5)
        self.ax_.set_xlim(0, 1.18 * float(self.weights.max(initial=0)) or 1.0)
        self.ax_.set_xlabel("Weight of the kernel")
        rest = len(self.weights) - len(shown)
        if rest:
            total = float(self.weights[self.order[self.most :]].sum())
            self.ax_.set_title(f"{rest} other kernels have {total:.3g} together", fontsize="medium")
        return self
