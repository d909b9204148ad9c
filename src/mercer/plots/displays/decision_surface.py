"""Draw the predictions of fitted estimators over the plane of two features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.utils.validation import check_is_fitted

from mercer.plots.displays.display import ARRAY, PLANE, MeasuredDisplay, display, one_for_each
from mercer.plots.displays.plane import (
    as_given,
    axis_names,
    panel_title,
    row_target,
    support_rows,
    surface_values,
    two_columns,
)
from mercer.plots.marks import (
    INK,
    Axis,
    class_handles,
    class_points,
    colour,
    diverging,
    legend_below,
    padded,
)
from mercer.spoken import a_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from mercer.samples import SamplesLike


@display
class DecisionSurfaceDisplay(MeasuredDisplay):
    r"""A classifier, regressor or one-class machine over its two features, with the training rows.

    The surface shows, depending on the estimator:

    - two classes: the decision function f(x), white at f = 0. The decision line f = 0 is solid,
      the margins f = ±1 are dashed. If there is no ``decision_function``, the surface shows the
      probability of the second class, with the line at 1/2;
    - more classes: the regions of ``predict``;
    - a one-class machine (an outlier detector): its score f(x), with the boundary f = 0;
    - a regressor: the predicted value.

    Support vectors have a ring.

    Parameters
    ----------
    x, y : array-like of shape (r,)
        The coordinates of the grid, ascending.
    values : array-like of shape (r, r)
        ``values[i, j]`` at (x[j], y[i]): decision function, score, probability or predicted value;
        for regions, the position of the class in ``classes``.
    points : array-like of shape (n, 2)
        The rows to draw.
    target : array-like of shape (n,), optional
        The position of each row's class in ``classes``, or the row's number; None draws the rows
        without colour.
    classes : sequence, optional
        The classes in order; for a one-class machine "outside" and "inside".
    support : array-like of shape (vectors,), int, optional
        Numbers of the rows that get a ring.
    boundary : float, optional
        The value on the decision line; None if there is no line.
    margins : tuple of float
        The values on the dashed lines.
    limits : (float, float), optional
        Ends of the colour scale. None means the range of the values; with a boundary, the boundary
        ± 1.5 times the median distance of the grid's values from it, so that extreme values do not
        determine the scale.
    label : str
        Label of the colour bar.
    names : (str, str)
        Labels of the axes.
    title : str
        Title of the panel, if several are drawn side by side.

    Attributes
    ----------
    levels : ndarray of shape (levels,)
        Edges of the colour bands, at round numbers. Values outside have the colour of the last
        band. Empty for regions.

    Notes
    -----
    Cost: ``resolution`` squared predictions, one for each grid point.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import mercer
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = mercer.SVC(C=10).fit(X, y)
    >>> display = DecisionSurfaceDisplay.measured(model, X, y, resolution=50)
    >>> display.values.shape, display.boundary, display.margins
    ((50, 50), 0.0, (-1.0, 1.0))
    >>> bool((display.support == model.support_).all())
    True
    """

    x: Any = field(metadata=ARRAY)
    y: Any = field(metadata=ARRAY)
    values: Any = field(metadata=ARRAY)
    _: KW_ONLY
    points: Any = field(metadata=PLANE)
    target: Any = field(default=None, metadata=ARRAY | one_for_each("points"))
    classes: Sequence | None = None
    support: Any = field(default=None, metadata=ARRAY)
    boundary: float | None = None
    margins: tuple[float, ...] = ()
    limits: tuple[float, float] | None = None
    label: str = "f(x)"
    names: tuple[str, str] = ("$x_1$", "$x_2$")
    title: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.levels = _levels([self])

    @classmethod
    def measured(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        resolution: int = 200,
        margin: float = 0.1,
        feature_names: Sequence[str] | None = None,
    ) -> DecisionSurfaceDisplay:
        """Evaluate the estimator on a grid around X, without drawing.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator of this library or of scikit-learn, a pipeline that ends in one, or a
            search over them.
        X : array or data frame of shape (n, 2)
            The training samples. With other rows no support vectors are shown.
        y : array-like of shape (n,), optional
            Classes or numbers. Not used for a one-class machine, where the colour of a row shows
            its predicted side.
        resolution : int >= 2, default=200
            Grid points along each axis.
        margin : float >= 0, default=0.1
            Space around the rows, as a part of their range.
        feature_names : two str, optional
            Labels of the axes; None means the column names of a data frame.

        Raises
        ------
        ValueError
            X does not have two columns of finite numbers, or y is missing or does not match X.
        sklearn.exceptions.NotFittedError
            The estimator is not fitted.
        """
        check_is_fitted(estimator)
        points = two_columns(X)
        if not (isinstance(resolution, (int, np.integer)) and resolution >= 2):
            raise ValueError(f"resolution={resolution!r}: give a whole number >= 2.")
        if not margin >= 0:
            raise ValueError(f"margin={margin!r}: give a part of the range >= 0, such as 0.1.")
        names = axis_names(X, feature_names)
        target, classes = row_target(estimator, X, y)
        ends = zip(points.min(axis=0).tolist(), points.max(axis=0).tolist())
        across, up = (np.linspace(*padded(*pair, margin), resolution) for pair in ends)
        grid = np.column_stack([c.ravel() for c in np.meshgrid(across, up)])
        values, meaning = surface_values(estimator, as_given(grid, X), classes)
        return cls(
            across, up, values.reshape(resolution, resolution), points=points, target=target,
            classes=classes, support=support_rows(estimator, X), names=names,
            title=panel_title(estimator, X), **meaning,
        )  # fmt: skip

    @classmethod
    def compare(
        cls, estimators: Any, X: SamplesLike, y: ArrayLike | None = None, **kwargs: Any
    ) -> list[DecisionSurfaceDisplay]:
        """Draw several estimators side by side, with the same rows, axes, limits and colours.

        Parameters
        ----------
        estimators : dict of name -> fitted estimator, or list of fitted estimators
            The title of a panel is the name, or for a list the kernel, and below it the number of
            support vectors.
        X, y : as in `measured`
            The samples that all estimators were fitted to.
        **kwargs
            Passed to `measured`.

        Returns
        -------
        list of DecisionSurfaceDisplay
            One for each panel, in the given order; all have the same ``figure_``.
        """
        import matplotlib.pyplot as plt

        displays = [cls.measured(e, X, y, **kwargs) for e in _listed(estimators)]
        if isinstance(estimators, Mapping):
            for display, name in zip(displays, estimators):
                display.title = "\n".join([str(name), *display.title.split("\n")[1:]])
        rows = -(-len(displays) // 3)
        columns = -(-len(displays) // rows)
        figure, grid = plt.subplots(
            rows, columns, sharex=True, sharey=True, squeeze=False, layout="constrained",
            figsize=(3.4 * columns + 0.6, 3.3 * rows + 0.5),
        )  # fmt: skip
        axes = grid.ravel()
        one_scale = len({display.label for display in displays}) == 1
        levels = _levels(displays) if one_scale else None
        for display, ax in zip(displays, axes):
            style = {"s": 0.6 * display._mark_size()}  # panels are smaller
            display._draw(ax, display.levels if levels is None else levels, style)
            ax.set_title(display.title, fontsize="medium")
            ax.label_outer()
            if not one_scale:
                display._draw_scale([ax])
        for ax in axes[len(displays) :]:
            ax.remove()
        if one_scale:
            displays[0]._draw_scale(list(axes[: len(displays)]))
            for display in displays[1:]:
                display.colorbar_ = displays[0].colorbar_
        handles = max((d._handles() for d in displays), key=len)
        if handles:
            figure.legend(
                handles=handles, loc="outside lower center", ncols=min(len(handles), 6),
                frameon=False,
            )  # fmt: skip
        return displays

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> DecisionSurfaceDisplay:
        """Draw the surface, the lines and the rows.

        They are ``surface_``, ``boundary_``, ``margins_``, ``points_`` (a list, with one entry for
        each class), ``rings_`` and ``colorbar_``; None where there are none.

        Parameters
        ----------
        ax : matplotlib axes, optional
            It needs free space below for the legend: make it by
            ``plt.subplots(layout="constrained")``. None makes a new figure.
        **kwargs
            Passed to ``ax.scatter`` of the rows.
        """
        ax = self._draw_on(ax)
        self._draw(ax, self.levels, kwargs)
        self._draw_scale([ax])
        if handles := self._handles():
            legend_below(ax, handles)
        return self

    def _draw(self, ax: Axes, levels: np.ndarray, style: dict) -> None:
        """Draw the surface, its lines and the rows."""
        self._draw_on(ax)
        self.boundary_ = self.margins_ = self.rings_ = self.colorbar_ = None
        if len(levels):
            low, high = levels[0], levels[-1]
            self.surface_ = ax.contourf(
                self.x, self.y, self.values, levels, vmin=low, vmax=high,
                cmap="cividis" if self.boundary is None else diverging(),
                extend="neither" if self.limits == (low, high) else "both",
            )  # fmt: skip
        else:
            self._draw_regions(ax)
        if self.boundary is not None:
            self.boundary_ = self._line(ax, [self.boundary], linewidths=1.8)
            self.margins_ = self._line(ax, self.margins, linewidths=1.1, linestyles="dashed")
        self._draw_rows(ax, levels, style)
        ax.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        ax.set(xlabel=self.names[0], ylabel=self.names[1])

    def _draw_regions(self, ax: Axes) -> None:
        """Draw the region of each class, with smooth borders."""
        from matplotlib.colors import BoundaryNorm, ListedColormap

        assert self.classes is not None
        k = len(self.classes)
        self.surface_ = ax.pcolormesh(
            self.x, self.y, self.values, shading="nearest", rasterized=True,
            cmap=ListedColormap([colour(c, 0.35) for c in range(k)]),
            norm=BoundaryNorm(np.arange(k + 1) - 0.5, k),
        )  # fmt: skip
        for code in np.unique(self.values)[:-1]:  # the last region has no borders of its own
            # labels jump from one grid point to the next: make the border smooth
            inside = gaussian_filter((self.values == code).astype(float), 0.8, mode="nearest")
            ax.contour(self.x, self.y, inside, [0.5], colors=INK, linewidths=1.4)

    def _line(self, ax: Axes, levels: Sequence[float], **style: Any) -> Any:
        """Draw contours at the levels that the surface reaches; matplotlib warns about others."""
        low, high = self.values.min(), self.values.max()
        reached = [level for level in levels if low < level < high]
        if not reached:
            return None
        return ax.contour(self.x, self.y, self.values, reached, colors=INK, **style)

    def _draw_rows(self, ax: Axes, levels: np.ndarray, style: dict) -> None:
        """Draw the rows in the colours of their targets, and rings around support vectors."""
        from matplotlib.patheffects import withStroke

        look = {"s": self._mark_size(), "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        halo = [withStroke(linewidth=2, foreground=(1, 1, 1, 0.8))]
        if self.classes is not None and self.target is not None:
            count = len(self.classes)
            self.points_ = class_points(ax, self.points, self.target, count, **(look | style))
        else:
            own: dict[str, Any] = {"color": INK}
            if self.target is not None:  # numbers, in the colours of the surface
                own = {"c": self.target, "cmap": "cividis", "vmin": levels[0], "vmax": levels[-1],
                       "edgecolors": INK, "path_effects": halo}  # fmt: skip
            self.points_ = [ax.scatter(*self.points.T, **{**look, **own, **style})]
        if self.support is not None:
            size = 2.9 * style.get("s", look["s"])
            self.rings_ = ax.scatter(
                *self.points[self.support].T, s=size, facecolors="none", edgecolors=INK,
                linewidths=0.9, zorder=4, path_effects=halo,
            )  # fmt: skip

    def _mark_size(self) -> float:
        return float(np.clip(6000 / max(len(self.points), 1), 8, 30))

    def _draw_scale(self, axes: list) -> None:
        """Draw the colour bar, with the lines of the surface on it."""
        if self.boundary is None and self.classes is not None:
            return
        bar = self.figure_.colorbar(self.surface_, ax=axes, label=self.label)
        self.colorbar_ = bar
        if self.boundary is None:
            return
        low, high = bar.mappable.get_clim()
        lines = [m for m in self.margins if low <= m <= high]
        bar.ax.axhline(self.boundary, color=INK, lw=1.8)
        for value in lines:
            bar.ax.axhline(value, color=INK, lw=1.1, ls="--")
        apart = [m for m in lines if abs(m - self.boundary) > 0.1 * (high - low) / 2]
        bar.set_ticks(sorted({low, self.boundary, high, *apart}))
        bar.minorticks_off()

    def _handles(self) -> list:
        """Legend entries of the classes and the support vectors that were drawn."""
        from matplotlib.lines import Line2D

        coloured = self.classes is not None and self.target is not None
        handles = class_handles(self.classes) if coloured else []
        if self.support is not None:
            handles.append(
                Line2D([], [], ls="", marker="o", markersize=9, markerfacecolor="none",
                       markeredgecolor=self.ax_.xaxis.label.get_color(), label="support vector")
            )  # fmt: skip
        return handles


def _listed(estimators: Any) -> list:
    """The estimators of a dict or a list."""
    if isinstance(estimators, Mapping):
        estimators = list(estimators.values())
    if not isinstance(estimators, (list, tuple)):
        raise TypeError(
            f"estimators is {a_type(estimators)}: give a dict of name -> fitted "
            "estimator, or a list; for one estimator use from_estimator."
        )
    if not estimators:
        raise ValueError("estimators is empty: give one fitted estimator or more.")
    return list(estimators)


def _levels(displays: list[DecisionSurfaceDisplay]) -> np.ndarray:
    """Edges of the colour bands that displays of the same kind share."""
    first = displays[0]
    values = np.concatenate([display.values.ravel() for display in displays])
    if first.limits is not None:
        ends = first.limits
    elif first.boundary is not None:
        reach = 1.5 * float(np.median(np.abs(values - first.boundary))) or 1.0
        ends = first.boundary - reach, first.boundary + reach
    elif first.classes is None:
        low, high = float(values.min()), float(values.max())
        ends = (low, high) if low < high else padded(low, high)
    else:
        return np.empty(0)
    return np.array([value for value, _ in Axis(*ends, 0, 1, count=16).ticks()])
