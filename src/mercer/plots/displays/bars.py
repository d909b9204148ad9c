"""Displays of bars: canonical correlations, weights of kernels, and features that are noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from mercer.plots.classes import class_handles, colour, legend_below
from mercer.plots.displays.display import PARTLY_KNOWN, VECTOR, Display


@dataclass(eq=False, repr=False)
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

    correlations: Any = field(metadata=VECTOR)
    held_out: Any = field(default=None, metadata=PARTLY_KNOWN)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.held_out is None:
            self.held_out = np.full(self.correlations.shape, np.nan)
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


@dataclass(eq=False, repr=False)
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

    weights: Any = field(metadata=VECTOR)
    names: Any = None
    _: KW_ONLY
    most: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        names = range(len(self.weights)) if self.names is None else self.names
        self.names = [str(name) for name in names]
        if len(self.names) != len(self.weights):
            raise ValueError(
                f"names has {len(self.names)} entries: give one for each of the "
                f"{len(self.weights)} weights."
            )

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


@dataclass(eq=False, repr=False)
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

    names: list[str]
    changes: Any = field(metadata=VECTOR)
    deviations: Any = field(default=None, metadata=PARTLY_KNOWN)

    def __post_init__(self) -> None:
        super().__post_init__()
        zeros = np.zeros(len(self.names))
        if self.deviations is None:
            self.deviations = zeros
        if self.changes.shape != zeros.shape or self.deviations.shape != zeros.shape:
            raise ValueError(
                f"names, changes and deviations have {len(zeros)}, {self.changes.shape} and "
                f"{self.deviations.shape} entries: give one of each for each feature."
            )

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> NoiseFeatureDisplay:
        """Draw what `mercer.learners.metrics.noise_features` found."""
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
