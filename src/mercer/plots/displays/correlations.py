"""Draw canonical correlations: what was found in the training rows, and what holds for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plots.classes import class_handles, colour, legend_below
from mercer.plots.displays.display import Display, drawable


class CanonicalCorrelationDisplay(Display):
    """Correlations of the pairs of canonical functions, on training rows and on rows held out.

    A pair whose correlation is high on the training rows alone is noise: the penalty is too small,
    or the two views do not share so many things.

    Parameters
    ----------
    correlations : array-like of shape (n_components,)
        Correlations on the training rows.
    held_out : array-like of shape (n_components,), optional
        Correlations on rows held out; NaN where one is not known.

    Attributes
    ----------
    ax_, figure_, bars_ : the matplotlib objects that `plot` drew

    Examples
    --------
    >>> CanonicalCorrelationDisplay([0.9, 0.8], [0.8, 0.1]).lost.round(3)
    array([0.1, 0.7])
    """

    def __init__(self, correlations: Any, held_out: Any = None):
        self.correlations = drawable("correlations", correlations, 1)
        missing = np.full(self.correlations.shape, np.nan)
        self.held_out = drawable(
            "held_out", missing if held_out is None else held_out, 1, missing=True
        )
        if self.held_out.shape != self.correlations.shape:
            raise ValueError(
                f"held_out has shape {self.held_out.shape}: give one for each of the "
                f"{len(self.correlations)} correlations."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> CanonicalCorrelationDisplay:
        """Draw the correlations of a fitted `KernelCCA`."""
        return cls(estimator.correlations_, estimator.held_out_correlations_).plot(ax)

    @property
    def lost(self) -> np.ndarray:
        """What of each correlation does not hold on other rows."""
        return self.correlations - self.held_out

    def plot(self, ax: Any = None, **kwargs: Any) -> CanonicalCorrelationDisplay:
        """Draw two bars for each pair. ``kwargs`` are passed to ``ax.bar``."""
        self._draw_on(ax)
        places = np.arange(1, len(self.correlations) + 1)
        self.bars_ = [
            self.ax_.bar(places + shift, values, width=0.38, **{"color": colour(c), **kwargs})
            for c, (shift, values) in enumerate(((-0.2, self.correlations), (0.2, self.held_out)))
        ]
        self.ax_.axhline(0, color="grey", lw=0.8)
        self.ax_.set(xlabel="Pair of functions", ylabel="Correlation", xticks=places)
        self.ax_.set_ylim(min(0.0, float(np.nanmin(self.held_out, initial=0))) * 1.1, 1.05)
        legend_below(self.ax_, class_handles(["training rows", "rows held out"]))
        return self
