"""Draw bars: what each column adds (Shapley values of one row, of many rows, and of one column),
canonical correlations, weights of kernels, and features that are noise."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.explain import ShapleyValues, shapley_values
from mercer.plots.displays.display import (
    ARRAY,
    MATRIX,
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
    from sklearn.base import BaseEstimator

    from mercer.samples import SamplesLike


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
        cls,
        estimator: Any,
        *,
        most: int = 30,
        ax: Axes | None = None,
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


SPREAD = 0.32  # how far points of one column stand above and below its line
PLAIN = "#7d838c"  # colour of points whose cells have no order


@display
class ShapleyDisplay(Display):
    """What columns add to predictions: bars of a row, points of many rows, or one column.

    Parameters
    ----------
    values : array-like of shape (n, players)
        What each player adds to the prediction of each row.
    names : list of str
        The players.
    data : array-like of shape (n, players), optional
        What the rows hold. Points of numbers are coloured from the smallest to the largest.
    errors : array-like of shape (n, players), optional
        Standard errors; whiskers of the bars of a row. NaN where one is not known.
    row : int, optional
        The row whose bars are drawn; None draws all rows.
    column : str, optional
        The player whose values are drawn over what the rows hold.
    most : int, default=15
        Most players that are drawn, those of the largest mean size.

    Notes
    -----
    `mercer.explain.shapley_values` says what the values are, and what they cost; a drawing needs no
    prediction.

    References
    ----------
    Lundberg & Lee, "A unified approach to interpreting model predictions", NIPS 2017.

    Examples
    --------
    >>> ShapleyDisplay([[0.1, -0.5], [0.2, 0.4]], ["age", "size"]).order.tolist()
    [1, 0]
    """

    values: Any = field(metadata=MATRIX)
    names: list[str] = field(metadata=NAMES)
    _: KW_ONLY
    data: Any = field(default=None, metadata=ARRAY)
    errors: Any = field(default=None, metadata=ARRAY)
    row: int | None = None
    column: str | None = None
    most: int = 15

    def __post_init__(self) -> None:
        super().__post_init__()
        n, d = self.values.shape
        if len(self.names) != d:
            raise ValueError(f"names has {len(self.names)} entries, but values has {d} columns.")
        for name in ("data", "errors"):
            given = getattr(self, name)
            if given is not None and np.shape(given) != (n, d):
                raise ValueError(
                    f"{name} has the shape {np.shape(given)}: give that of values, {(n, d)}."
                )
        if self.row is not None and not -n <= self.row < n:
            raise ValueError(f"row={self.row}: give the number of one of the {n} rows, from 0.")
        if self.column is not None and self.column not in self.names:
            raise ValueError(f"column={self.column!r}: give one of {self.names}.")

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: SamplesLike, background: SamplesLike | None = None, *,
        output: int = 0, row: int | None = None, column: str | None = None, ax: Axes | None = None,
    ) -> ShapleyDisplay:  # fmt: skip
        """Draw the values of a fitted model's predictions for the rows of X.

        ``background`` is that of `mercer.explain.shapley_values`; of several outputs the one with
        the number ``output`` is drawn.
        """
        found = shapley_values(estimator, X, background)
        return cls.of(found, output=output, row=row, column=column).plot(ax)

    @classmethod
    def of(
        cls, found: ShapleyValues, *, output: int = 0, row: int | None = None,
        column: str | None = None,
    ) -> ShapleyDisplay:  # fmt: skip
        """The display of values that are known."""
        values, errors = (
            each if each.ndim == 2 else each[:, :, output] for each in (found.values, found.errors)
        )
        return cls(
            values, found.feature_names, data=found.data, errors=errors, row=row, column=column
        )

    @property
    def order(self) -> np.ndarray:
        """The players, the largest first: in the row that is drawn, or by their mean size."""
        size = np.abs(self.values)
        size = size.mean(axis=0) if self.row is None else size[self.row]
        return np.argsort(-size, kind="stable")

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> ShapleyDisplay:
        """Draw ``bars_`` of a row or ``points_``; ``kwargs`` go to ``barh`` or ``scatter``."""
        if self.column is not None:
            return self._draw_column(self._draw_on(ax), kwargs)
        shown = self.order[: self.most]
        ax = self._draw_on(ax, figsize=bars_size(len(shown)))
        if self.row is not None:
            self._draw_row(ax, shown, kwargs)
        else:
            self._draw_rows(ax, shown, kwargs)
        ax.set_xlabel("Adds to the prediction")
        rest = len(self.names) - len(shown)
        if rest:
            ax.set_title(f"{rest} other columns matter less", fontsize="medium")
        return self

    def _draw_row(self, ax: Axes, shown: np.ndarray, style: dict) -> None:
        """Draw the values of one row as bars."""
        assert self.row is not None
        values = self.values[self.row, shown]
        names = [self.names[j] for j in shown]
        if self.data is not None:
            cells = [_written(self.data[self.row, j]) for j in shown]
            names = [f"{name} = {cell}" for name, cell in zip(names, cells)]
        whiskers = None
        if self.errors is not None:
            whiskers = np.nan_to_num(np.asarray(self.errors, float)[self.row, shown])
        look = {"color": [colour(0) if v > 0 else colour(1) for v in values], **style}
        self.bars_ = named_bars(ax, names, values, whiskers, **look)

    def _draw_rows(self, ax: Axes, shown: np.ndarray, style: dict) -> None:
        """Draw the values of all rows as points, a line for each column."""
        random = np.random.default_rng(0)
        ax.axvline(0, color="grey", lw=0.8)
        self.points_ = []
        for place, j in zip(range(len(shown) - 1, -1, -1), shown):
            values = self.values[:, j]
            look = {"s": 12, "linewidths": 0, "zorder": 2, **self._colours(j), **style}
            heights = place + _jitter(values, random)
            self.points_.append(ax.scatter(values, heights, **look))
        ax.set_yticks(range(len(shown) - 1, -1, -1), [self.names[j] for j in shown])
        ax.set_ylim(-0.6, len(shown) - 0.4)
        coloured = [p for p in self.points_ if p.get_array() is not None]
        if coloured:
            bar = ax.figure.colorbar(coloured[0], ax=ax, label="What the row holds", ticks=[0, 1])
            bar.set_ticklabels(["smallest", "largest"])

    def _draw_column(self, ax: Axes, style: dict) -> ShapleyDisplay:
        """Draw the values of one column over what the rows hold in it."""
        j = self.names.index(str(self.column))
        if self.data is None:
            raise ValueError(f"column={self.column!r} is drawn over what rows hold: give data=.")
        cells = self.data[:, j]
        numbers = _as_numbers(cells)
        if numbers is None:
            levels, numbers = np.unique([_written(cell) for cell in cells], return_inverse=True)
            ax.set_xticks(range(len(levels)), levels)
            numbers = numbers + _jitter(self.values[:, j], np.random.default_rng(0))
        ax.axhline(0, color="grey", lw=0.8)
        look = {"s": 14, "color": colour(0), "alpha": 0.7, "linewidths": 0, **style}
        self.points_ = [ax.scatter(numbers, self.values[:, j], **look)]
        ax.set(xlabel=self.names[j], ylabel="Adds to the prediction")
        return self

    def _colours(self, j: int) -> dict[str, Any]:
        """The look of a column's points: ranks from 0 to 1, where its cells are numbers."""
        numbers = None if self.data is None else _as_numbers(self.data[:, j])
        if numbers is None or np.nanmin(numbers) == np.nanmax(numbers):
            return {"color": PLAIN}
        levels, code = np.unique(numbers, return_inverse=True)
        return {"c": code / (len(levels) - 1), "cmap": "viridis", "vmin": 0, "vmax": 1}


def _as_numbers(cells: np.ndarray) -> np.ndarray | None:
    """Cells as numbers; None if one is none, or if none is known."""
    try:
        numbers = np.array([np.nan if cell is None else cell for cell in cells], np.float64)
    except (TypeError, ValueError):
        return None
    return None if np.isnan(numbers).all() else numbers


def _written(cell: object) -> str:
    text = f"{cell:.4g}" if isinstance(cell, (float, np.floating)) else str(cell)
    return text if len(text) <= 24 else f"{text[:23]}…"


def _jitter(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """How far points stand from their line: further where many have nearly the same value."""
    if len(values) < 2 or np.ptp(values) == 0:
        return random.uniform(-SPREAD, SPREAD, len(values)) * (len(values) > 1)
    counts, edges = np.histogram(values, bins=40)
    crowd = counts[np.clip(np.searchsorted(edges, values, "right") - 1, 0, 39)] / counts.max()
    return random.uniform(-SPREAD, SPREAD, len(values)) * crowd
