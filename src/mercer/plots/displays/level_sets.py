"""Draw what is equally far from a point of the plane, under a distance between two columns."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.distances import Distance, Mahalanobis, MappedMinkowski, Minkowski
from mercer.learners.base import as_distance
from mercer.plots.displays.display import (
    MATRIX,
    VECTOR,
    MeasuredDisplay,
    display,
    one_for_each,
    square,
)
from mercer.plots.marks import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def half_axes(distance: Distance) -> np.ndarray | None:
    r"""The half-axes of an ellipsoid, one in each row: (d, d).

    .. math:: \rho(x, 0)^2 = x^\top M x = 1, \qquad M v_j = \lambda_j v_j, \qquad
              a_j = v_j / \sqrt{\lambda_j}

    Of the Euclidean distance with weights w they are :math:`1 / \sqrt{w_j}` along the axes, of
    Mahalanobis' distance the roots of the eigenvalues of S along its eigenvectors. The longest is
    first. None: the level sets are no ellipsoids, or unbounded, or the weights are not given.

    Examples
    --------
    >>> half_axes(Minkowski(2, weights=[4.0, 1.0]))
    array([[0. , 1. ],
           [0.5, 0. ]])
    >>> bool(np.allclose(abs(half_axes(Mahalanobis([[5.0, 4.0], [4.0, 5.0]]))[0]), 1.5 * 2**0.5))
    True
    """
    if isinstance(distance, Minkowski) and distance.p == 2 and distance.weights is not None:
        M = np.diag(np.asarray(distance.weights, np.float64))
    elif isinstance(distance, MappedMinkowski) and distance.p == 2:
        A = np.asarray(distance.linear_map, np.float64)
        M = np.diag(A**2) if A.ndim == 1 else A.T @ A
    elif isinstance(distance, Mahalanobis) and distance.precision is not None:
        M = np.asarray(distance.precision, np.float64)
    elif isinstance(distance, Mahalanobis) and distance.covariance is not None:
        M = np.linalg.inv(np.asarray(distance.covariance, np.float64))
    else:
        return None
    values, vectors = np.linalg.eigh(
        square("distance", M)
    )  # ascending: the longest half-axis is first
    if values[0] <= 1e-12 * values[-1]:
        return None
    return (vectors / np.sqrt(values)).T


@display
class LevelSetDisplay(MeasuredDisplay):
    """Curves of equal distance from a point, with the half-axes where they are ellipses.

    Parameters
    ----------
    x, y : array-like of shape (r,)
        The coordinates of the grid, ascending.
    values : array-like of shape (r, r)
        ``values[i, j]`` is the distance of (x[j], y[i]) from the centre.
    centre : (float, float)
    axes : array-like of shape (2, 2), optional
        The half-axes of the curve at distance 1, one in each row.
    levels : array-like of shape (levels,), optional
        Distances to draw; None: three that fit the grid.
    title : str

    Examples
    --------
    >>> from mercer.distances import Minkowski
    >>> display = LevelSetDisplay.measured(Minkowski(2, weights=[4.0, 1.0]), extent=2.0)
    >>> display.axes.tolist()
    [[0.0, 1.0], [0.5, 0.0]]
    """

    x: Any = field(metadata=VECTOR)
    y: Any = field(metadata=VECTOR)
    values: Any = field(metadata=MATRIX | one_for_each("y"))
    centre: tuple[float, float]
    _: KW_ONLY
    axes: Any = None
    levels: Any = None
    title: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values.shape[1] != len(self.x):
            raise ValueError(
                f"values has the shape {self.values.shape}: give one column for each of the "
                f"{len(self.x)} places of x."
            )
        if self.levels is None:
            # the farthest curve that does not leave the grid
            border = np.concatenate([self.values[[0, -1]].ravel(), self.values[:, [0, -1]].ravel()])
            self.levels = float(border.min()) * np.array([0.3, 0.6, 0.9])
        self.levels = np.unique(np.asarray(self.levels, np.float64))

    @classmethod
    def measured(
        cls,
        metric: Any,
        X: Any = None,
        *,
        centre: Any = None,
        extent: float | None = None,
        levels: Any = None,
        resolution: int = 200,
    ) -> LevelSetDisplay:
        """Compute the distances from a point.

        Parameters
        ----------
        metric : distance object, name or fitted learner on neighbours
            A distance that learns something from a sample is bound to X.
        X : array-like of shape (n, 2), optional
        centre : (float, float), optional
            None: the mean of X, or the origin.
        extent : float > 0, optional
            Half of the width of the grid; None: that of X, or 1.
        levels : array-like of shape (levels,), optional
        resolution : int, default=200

        Raises
        ------
        ValueError
            The distance does not compare two columns of numbers.
        """
        distance = getattr(metric, "distance_", None)
        if distance is None:
            distance = as_distance(metric, X=np.zeros((1, 2)))
        points = None if X is None else distance.encode(X)
        width = getattr(metric, "n_features_in_", 2) if points is None else points.shape[1]
        if not distance.reads.coordinates or width != 2:
            raise ValueError(
                f"{distance!r} reads {distance.kind}, but level sets are drawn over two columns of "
                "numbers: give such a distance, and X with two columns."
            )
        if points is not None:
            distance = distance.bind(points)
        if centre is None:
            centre = (0.0, 0.0) if points is None else points.mean(axis=0).tolist()
        if extent is None:
            extent = 1.0 if points is None else float(np.ptp(points, axis=0).max()) / 2 or 1.0
        sides = [np.linspace(c - extent, c + extent, resolution) for c in centre]
        grid = np.column_stack([side.ravel() for side in np.meshgrid(*sides)])
        D = distance.whole(grid, np.array([centre], np.float64)).reshape(resolution, resolution)
        title = " ".join(repr(distance).split()) if getattr(metric, "distance_", None) else ""
        across, up = sides
        return cls(
            across, up, D, tuple(centre), axes=half_axes(distance), levels=levels, title=title
        )

    def plot(self, ax: Axes | None = None, *, color: str = INK) -> LevelSetDisplay:
        """Draw ``curves_``, and half-axes as ``arrows_``; limits of axes that are given stay."""
        new = ax is None
        ax = self._draw_on(ax, figsize=(4.2, 4.2))
        limits = ax.get_xlim(), ax.get_ylim()
        # black on white, so that it is seen on any colour
        from matplotlib.patheffects import withStroke

        halo: list[Any] = [withStroke(linewidth=3.4, foreground="white", alpha=0.85)]
        self.curves_ = ax.contour(
            self.x, self.y, self.values, self.levels, colors=color, linewidths=1.4
        )
        self.curves_.set_path_effects(halo)
        ax.plot(*self.centre, marker="+", color=color, ms=9, mew=1.6, path_effects=halo)
        self.arrows_ = []
        for axis in () if self.axes is None else np.asarray(self.axes):
            end = np.asarray(self.centre) + self.levels[-1] * axis
            self.arrows_.append(
                ax.annotate(
                    "", end, self.centre,
                    arrowprops={"arrowstyle": "->", "color": color, "lw": 1.6,
                                "shrinkA": 0, "shrinkB": 0, "path_effects": halo},
                )
            )  # fmt: skip
        if new:
            ax.set(aspect="equal", title=self.title)
        else:
            ax.set(xlim=limits[0], ylim=limits[1])
        return self
