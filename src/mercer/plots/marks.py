"""Marks of figures: colours and legends of classes, and what several displays draw of arrays.

Colour-blind readers can distinguish the colours (Okabe & Ito, "Color Universal Design", 2008). The
first two colours also differ in lightness, and marks distinguish classes without any colour.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mercer.samples import Drawing

INK = "#1b1f24"  # colour of lines on a surface, which has pale colours on a dark page too
COLOURS = (
    "#e69f00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8a8f98",
)  # fmt: skip
MARKS = "osD^vPX"  # seven, so that with eight colours pairs repeat after 56 classes


def colour(code: int, strength: float = 1.0) -> tuple[float, float, float]:
    """The colour of a class as (red, green, blue), mixed with white where ``strength`` < 1."""
    text = COLOURS[code % len(COLOURS)]
    parts = (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (1 - strength + strength * part for part in parts)
    return red, green, blue


def mark(code: int) -> str:
    """The marker of a class."""
    return MARKS[code % len(MARKS)]


def diverging() -> Any:
    """A colour map from the first class over white to the second."""
    from matplotlib.colors import LinearSegmentedColormap

    ends = [colour(0, 0.57), colour(0, 0.25), "#ffffff", colour(1, 0.25), colour(1, 0.57)]
    return LinearSegmentedColormap.from_list("classes", ends)


def class_codes(y: Any, classes: np.ndarray, name: str = "y") -> np.ndarray:
    """Position of each label among the ascending classes; ValueError if it is none of them.

    Examples
    --------
    >>> class_codes(["b", "a", "b"], np.array(["a", "b"]))
    array([1, 0, 1])
    """
    y = np.asarray(y)
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    unknown = np.flatnonzero(classes[codes] != y)
    if len(unknown):
        raise ValueError(
            f"{name} has the label {y[unknown[0]].item()!r}, which is not one of the classes "
            f"{classes.tolist()[:10]}: give labels of the classes that the estimator was fitted to."
        )
    return codes


def node_codes(drawing: Drawing) -> tuple[list[str], list[int]]:
    """Which labels the colours of nodes say, the most frequent first, and the colour of each node.

    If there are more labels than colours, the rarest share the last one, "others". Nodes without
    labels have the second colour.

    Examples
    --------
    >>> from mercer.samples import kind_named
    >>> path = kind_named("graphs").drawing((3, [(0, 1), (1, 2)], ["C", "O", "C"]))
    >>> node_codes(path)
    (['C', 'O'], [0, 1, 0])
    """
    names = [name for name, _ in Counter(sorted(drawing.labels)).most_common()]
    if not names:
        return [], [1] * len(drawing.places)
    if len(names) > len(COLOURS):
        names = [*names[: len(COLOURS) - 1], "others"]
    code = {name: i for i, name in enumerate(names)}
    return names, [code.get(label, len(names) - 1) for label in drawing.labels]


def class_handles(classes: Any) -> list:
    """Legend entries of the classes."""
    from matplotlib.lines import Line2D

    look = {"ls": "", "markersize": 7, "markeredgecolor": "white", "markeredgewidth": 0.6}
    return [
        Line2D([], [], marker=mark(c), color=colour(c), label=str(name), **look)
        for c, name in enumerate(classes)
    ]


def legend_below(ax: Any, handles: list) -> Any:
    """Add a legend below the x axis, with at most four entries in a row."""
    import matplotlib.pyplot as plt
    from matplotlib.transforms import offset_copy

    rows = -(-len(handles) // 4)
    below = -3.4 * plt.rcParams["font.size"]  # points: tick labels, then the axis label
    place = offset_copy(ax.transAxes, fig=ax.figure, y=below, units="points")
    return ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place,
        ncols=-(-len(handles) // rows), frameon=False, borderaxespad=0,
    )  # fmt: skip


def class_points(ax: Any, points: np.ndarray, codes: Any, count: int, **style: Any) -> list:
    """Draw points (n, 2) in the colours and marks of their classes, one collection a class."""
    return [
        ax.scatter(*points[codes == c].T, **{"color": [colour(c)], "marker": mark(c), **style})
        for c in range(count)
    ]


def named_bars(ax: Any, names: list, values: Any, whiskers: Any = None, **style: Any) -> Any:
    """Draw a horizontal bar for each name, the first on top, with a line at 0."""
    at = np.arange(len(names))[::-1]
    look = {"color": colour(1), "height": 0.7, "error_kw": {"ecolor": "0.35", "lw": 1}, **style}
    bars = ax.barh(at, values, xerr=whiskers, **look)
    ax.set_yticks(at, [str(name) for name in names])
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.axvline(0, color="grey", lw=0.8)
    return bars


def bars_size(count: int) -> tuple[float, float]:
    """The size of a figure whose `named_bars` do not touch each other's names."""
    return 6.4, 1.2 + 0.3 * count


def picture(ax: Any, values: np.ndarray, label: str, **style: Any) -> Any:
    """Draw a matrix, a colour for each number, and the colour bar."""
    look = {"cmap": "cividis", "interpolation": "nearest", **style}
    image = ax.imshow(values, **look)
    ax.figure.colorbar(image, ax=ax, label=label)
    return image


def ring(ax: Any, x: Any, y: Any, **style: Any) -> Any:
    """Draw a ring around the point of a curve or of a map that was chosen."""
    look = {"marker": "o", "ms": 8, "mfc": "none", "mew": 1.8, "ls": "", **style}
    return ax.plot([x], [y], **look)[0]


def logarithmic(ax: Any) -> None:
    """Make the x axis logarithmic, with plain numbers at 1, 2, 5, 10 and so on."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
