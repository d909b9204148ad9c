"""Displays of bars: canonical correlations, weights of kernels, and features that are noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.displays.display import (
    NAMES,
    PARTLY_KNOWN,
    VECTOR,
    Display,
    display,
    one_for_each,
)
from mercer.plots.marks import bars_size, colour, legend_below, named_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOISE = "#c4c7cc"  # colour of bars that say nothing


@display
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

    Examples
    --------
    >>> CanonicalCorrelationDisplay([0.9, 0.8], [0.8, 0.1]).lost.round(3)
    array([0.1, 0.7])
    """

    correlations: Any = field(metadata=VECTOR)
    held_out: Any = field(default=None, metadata=PARTLY_KNOWN | one_for_each("correlations"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.held_out is None:
            self.held_out = np.full(self.correlations.shape, np.nan)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None
    ) -> CanonicalCorrelationDisplay:
        """Draw the correlations of a fitted `KernelCCA`."""
        return cls(estimator.correlations_, estimator.held_out_correlations_).plot(ax)

    @property
    def lost(self) -> np.ndarray:
        """What of each correlation does not hold on other rows."""
        return self.correlations - self.held_out

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> CanonicalCorrelationDisplay:
        """Draw two of ``bars_`` for each pair. ``kwargs`` are passed to ``ax.bar``."""
        ax = self._draw_on(ax)
        places = np.arange(1, len(self.correlations) + 1)
        self.bars_ = [
            ax.bar(places + shift, values, 0.38, **{"color": colour(c), "label": name, **kwargs})
            for c, (shift, values, name) in enumerate((
                (-0.2, self.correlations, "training rows"), (0.2, self.held_out, "rows held out")
            ))
        ]  # fmt: skip
        ax.axhline(0, color="grey", lw=0.8)
        ax.set(xlabel="Pair of functions", ylabel="Correlation", xticks=places)
        ax.set_ylim(min(0.0, float(np.nanmin(self.held_out, initial=0))) * 1.1, 1.05)
        legend_below(ax, self.bars_)
        return self


@display
class KernelWeightsDisplay(Display):
    """The weights that multiple-kernel learning gave to each kernel, the largest on top.

    Parameters
    ----------
    weights : array-like of shape (T,)
    names : sequence of str, optional
        None: the numbers of the kernels.
    most : int, default=30
        Most kernels that are drawn; the title says how many others there are.

    Examples
    --------
    >>> KernelWeightsDisplay([0.2, 0.8], ["size", "text"]).order.tolist()
    [1, 0]
    """

    weights: Any = field(metadata=VECTOR)
    names: Any = field(default=None, metadata=NAMES | one_for_each("weights"))
    _: KW_ONLY
    most: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names is None:
            self.names = [str(t) for t in range(len(self.weights))]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, most: int = 30, ax: Axes | None = None
    ) -> KernelWeightsDisplay:
        """Draw the weights of a fitted `MultipleKernelClassifier` or `MultipleKernelRegressor`."""
        return cls(estimator.weights_, estimator.names_, most=most).plot(ax)

    @property
    def order(self) -> np.ndarray:
        """The kernels, those of the largest weight first."""
        return np.argsort(-self.weights, kind="stable")

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> KernelWeightsDisplay:
        """Draw ``bars_``, one for each kernel. ``kwargs`` are passed to ``ax.barh``."""
        shown = self.order[: self.most]
        ax = self._draw_on(ax, figsize=bars_size(len(shown)))
        weights = self.weights[shown]
        self.bars_ = named_bars(ax, [self.names[t] for t in shown], weights, **kwargs)
        ax.bar_label(self.bars_, [f"{w:.3g}" for w in weights], padding=3)
        ax.set_xlim(0, 1.18 * float(self.weights.max(initial=0)) or 1.0)
        ax.set_xlabel("Weight of the kernel")
        rest = len(self.weights) - len(shown)
        if rest:
            total = float(self.weights[self.order[self.most :]].sum())
            others = "1 other kernel has" if rest == 1 else f"{rest} other kernels have"
            together = "" if rest == 1 else " together"
            ax.set_title(f"{others} {total:.3g}{together}", fontsize="medium")
        return self


@display
class NoiseFeatureDisplay(Display):
    """The change of the leave-one-out error where a feature is left out, most useful one on top.

    A bar to the right is what the feature is worth. A feature whose bar is short or to the left is
    noise, and its bar is grey.

    Parameters
    ----------
    names : list of str
    changes : array-like of shape (d,)
        Error without the feature minus error with all.
    deviations : array-like of shape (d,), optional
        Standard errors of the changes.

    Examples
    --------
    >>> NoiseFeatureDisplay(["age", "id"], [0.2, -0.01]).changes
    array([ 0.2 , -0.01])
    """

    names: list[str] = field(metadata=NAMES)
    changes: Any = field(metadata=VECTOR | one_for_each("names"))
    deviations: Any = field(default=None, metadata=PARTLY_KNOWN | one_for_each("names"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.deviations is None:
            self.deviations = np.zeros(len(self.names))

    @classmethod
    def from_result(cls, result: Any, *, ax: Axes | None = None) -> NoiseFeatureDisplay:
        """Draw what `mercer.learners.metrics.noise_features` found."""
        return cls(result.names, -result.gains, result.deviations).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> NoiseFeatureDisplay:
        """Draw ``bars_``, one for each feature. ``kwargs`` are passed to ``ax.barh``."""
        ax = self._draw_on(ax, figsize=bars_size(len(self.names)))
        order = np.argsort(-self.changes, kind="stable")
        names, changes = [self.names[j] for j in order], self.changes[order]
        useful = changes > self.deviations[order]
        look = {"color": [colour(1) if u else NOISE for u in useful], **kwargs}
        self.bars_ = named_bars(ax, names, changes, self.deviations[order], **look)
        ax.set_xlabel("Leave-one-out error without the feature, minus that with all")
        if not useful.all():
            ax.legend([self.bars_[-1]], ["noise"], frameon=False, loc="lower right")
        return self
