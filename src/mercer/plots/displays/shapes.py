"""Draw the functions of an additive learner: curves, categories, and heat maps of pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.machines import Z95
from mercer.plots.displays.display import Panels, display
from mercer.plots.marks import colour, diverging

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES = (3.4, 2.7)  # of a panel
ACROSS = 3  # panels side by side
MOST_TICKS = 12  # categories with a name on an axis of a heat map
LONGEST = 18  # characters of a name of a category


@display
class ShapeDisplay(Panels):
    """The functions of columns and pairs, the strongest first.

    All curves have one scale. They have steps at the edges of their bins, and a band of 95%
    posterior intervals; a dotted line is the value of rows where the number is missing. Categories
    are dots with such intervals, in the order of their values. Pairs are heat maps, each with
    colours of its own scale: white adds nothing, and cells without rows are empty.

    Parameters
    ----------
    shapes : list of Shape
    surfaces : list of Surface
    output : int, default=0
        Which output of the learner is drawn.
    label : str
        What the functions add to.
    most : int, default=9
        Most functions that are drawn.

    Attributes
    ----------
    parts : list
        The shapes and surfaces that are drawn.

    Examples
    --------
    >>> from mercer import AdditiveRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> model = AdditiveRegressor(pairs=0).fit(X, 3 * X[:, 1] + X[:, 0] ** 2)
    >>> display = ShapeDisplay(model.shapes_, model.surfaces_)
    >>> [part.name for part in display.parts]
    ['1', '0']
    """

    shapes: InitVar[Any]
    surfaces: InitVar[Any] = ()
    _: KW_ONLY
    output: int = 0
    label: str = "adds to the output"
    most: InitVar[int] = 9

    def __post_init__(self, shapes: Any, surfaces: Any, most: int) -> None:
        ordered = sorted([*shapes, *surfaces], key=lambda part: -part.strength)
        self.parts = [part for part in ordered if part.strength > 0][:most]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, output: int = 0, most: int = 9, axes: Any = None
    ) -> ShapeDisplay:
        """Draw a fitted `AdditiveRegressor` or `AdditiveClassifier`."""
        label = "adds to the target"
        classes = vars(estimator).get("classes_")
        if classes is not None:
            drawn = classes[1] if len(classes) == 2 else classes[output]
            label = f"adds to the log-odds of {drawn}"
        made = cls(estimator.shapes_, estimator.surfaces_, output=output, label=label, most=most)
        return made.plot(axes)

    def plot(self, axes: Any = None) -> ShapeDisplay:
        """Draw each function in axes of its own; None makes a new figure."""
        self._reach = max((self._extent(part) for part in self.parts), default=1.0) or 1.0
        for ax, part in zip(self._draw_in(axes, len(self.parts), ACROSS, INCHES), self.parts):
            if part.values.ndim == 2:
                (self._draw_curve if part.ordered else self._draw_levels)(ax, part)
            else:
                self._draw_surface(ax, part)
        self.figure_.suptitle(f"What each column {self.label}", fontsize="medium")
        return self

    def _extent(self, part: Any) -> float:
        """The largest size of a function where there are rows."""
        values = part.values[..., self.output]
        return float(np.abs(values[part.counts > 0]).max(initial=0))

    def _limits(self, ax: Axes, scale: Any) -> None:
        scale(-1.15 * self._reach, 1.15 * self._reach)
        ax.spines[["top", "right"]].set_visible(False)

    def _draw_curve(self, ax: Axes, shape: Any) -> None:
        """Draw the function of a column of numbers as steps."""
        values, errors = shape.values[:, self.output], Z95 * shape.errors[:, self.output]
        levels = np.asarray(shape.levels, dtype=np.float64)
        ends = np.concatenate([levels[:1], shape.edges, levels[-1:]])
        ax.stairs(values[:-1], ends, baseline=None, color=colour(1), linewidth=1.6, zorder=3)
        ax.fill_between(
            ends, np.append(values[:-1] - errors[:-1], (values - errors)[-2:-1]),
            np.append(values[:-1] + errors[:-1], (values + errors)[-2:-1]),
            step="post", color=colour(1, 0.25), linewidth=0,
        )  # fmt: skip
        ax.axhline(0, color="0.6", linewidth=0.6, zorder=0)
        if shape.counts[-1] > 0:
            ax.axhline(values[-1], color=colour(0), linestyle=":", linewidth=1.4)
            ax.annotate(
                "missing", (1, values[-1]), xycoords=("axes fraction", "data"), ha="right",
                va="bottom", fontsize="small", color=colour(0),
            )  # fmt: skip
        ax.set_xlabel(_short(shape.name))
        self._limits(ax, ax.set_ylim)

    def _draw_levels(self, ax: Axes, shape: Any) -> None:
        """Draw the values of the levels of a column."""
        used = np.flatnonzero(shape.counts > 0)
        names = [*(str(level) for level in shape.levels), "missing"]
        order = used[np.argsort(shape.values[used, self.output], kind="stable")]
        if len(order) > MOST_TICKS:  # the most frequent ones, in the order of their values
            often = np.sort(np.argsort(-shape.counts[order], kind="stable")[:MOST_TICKS])
            order = order[often]
        places = np.arange(len(order))
        ax.errorbar(
            shape.values[order, self.output], places, xerr=Z95 * shape.errors[order, self.output],
            fmt="o", color=colour(1), markersize=4, linewidth=1.2,
        )  # fmt: skip
        ax.axvline(0, color="0.6", linewidth=0.6, zorder=0)
        ax.set_yticks(places, [_short(names[i]) for i in order], fontsize="small")
        rest = len(used) - len(order)
        ax.set_xlabel(_short(shape.name) + (f" ({rest} rarer levels not drawn)" if rest else ""))
        ax.set_ylim(-0.6, len(order) - 0.4)
        self._limits(ax, ax.set_xlim)

    def _draw_surface(self, ax: Axes, surface: Any) -> None:
        """Rows of the grid go to the right, and its columns up."""
        values = surface.values[..., self.output]
        rows, columns = (_used(surface.counts.sum(axis=1 - axis)) for axis in (0, 1))
        shown = np.where(surface.counts > 0, values, np.nan)[np.ix_(rows, columns)]
        edges = [
            _cell_edges(levels, used, ordered)
            for levels, used, ordered in zip(surface.levels, (rows, columns), surface.ordered)
        ]
        reach = self._extent(surface) or 1.0
        drawn = ax.pcolormesh(
            edges[0], edges[1], shown.T, cmap=diverging(), vmin=-reach, vmax=reach
        )
        scales = zip((ax.set_xticks, ax.set_yticks), surface.levels, (rows, columns),
                     surface.ordered)  # fmt: skip
        for set_ticks, levels, used, ordered in scales:
            if not ordered and len(used) <= MOST_TICKS:
                turned: dict[str, Any] = {"rotation": 60} if set_ticks == ax.set_xticks else {}
                names = [_short(str(levels[i])) for i in used]
                set_ticks(np.arange(len(used)), names, fontsize="small", **turned)
        ax.set_xlabel(_short(str(surface.columns[0])))
        ax.set_ylabel(_short(str(surface.columns[1])))
        self.figure_.colorbar(drawn, ax=ax)


def _used(counts: np.ndarray) -> np.ndarray:
    """Levels with rows; that of missing numbers has no place on the axis of the others."""
    return np.flatnonzero(counts[:-1] > 0) if counts[:-1].any() else np.arange(len(counts))


def _cell_edges(levels: list, used: np.ndarray, ordered: bool) -> np.ndarray:
    """Edges of cells halfway between numbers, or of equal width for categories."""
    if not ordered or len(used) < 2:
        return np.arange(len(used) + 1) - 0.5
    places = np.array([levels[i] for i in used], dtype=np.float64)
    middle = places[:-1] / 2 + places[1:] / 2
    return np.concatenate([places[:1], middle, places[-1:]])


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
