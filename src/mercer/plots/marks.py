"""Marks of figures: colours and legends of classes, and what several displays draw of arrays.

Colour-blind readers can distinguish the colours (Okabe & Ito, "Color Universal Design", 2008). The
first two colours also differ in lightness, and marks distinguish classes without any colour.
`Axis` has the positions and the tick marks of the report's figures.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.samples import Drawing
from mercer.spoken import spoken

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

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


def class_codes(y: ArrayLike, classes: np.ndarray, name: str = "y") -> np.ndarray:
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


def class_points(ax: Axes, points: np.ndarray, codes: np.ndarray, count: int, **style: Any) -> list:
    """Draw points (n, 2) in the colours and marks of their classes, one collection a class."""
    return [
        ax.scatter(*points[codes == c].T, **{"color": [colour(c)], "marker": mark(c), **style})
        for c in range(count)
    ]


def named_bars(
    ax: Axes, names: list, values: ArrayLike, whiskers: ArrayLike | None = None, **style: Any
) -> Any:
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


def picture(ax: Axes, values: np.ndarray, label: str, **style: Any) -> Any:
    """Draw a matrix, a colour for each number, and the colour bar."""
    look = {"cmap": "cividis", "interpolation": "nearest", **style}
    image = ax.imshow(values, **look)
    ax.figure.colorbar(image, ax=ax, label=label)
    return image


def ring(ax: Axes, x: float, y: float, **style: Any) -> Any:
    """Draw a ring around the point of a curve or of a map that was chosen."""
    look = {"marker": "o", "ms": 8, "mfc": "none", "mew": 1.8, "ls": "", **style}
    return ax.plot([x], [y], **look)[0]


def logarithmic(ax: Axes) -> None:
    """Make the x axis logarithmic, with plain numbers at 1, 2, 5, 10 and so on."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


#: ends of the axes of a drawing, which is 360 units wide, the text width on a phone, so that its
#: letters are never made smaller; and the bottom of a low one
LEFT, RIGHT, TOP, BOTTOM, LOWER = 50, 348, 30, 206, 146


@dataclass(frozen=True)
class Axis:
    """An axis that maps values from ``low`` to ``high`` to positions from ``start`` to ``end``.

    About ``count`` values get a tick mark; with ``whole`` only integers.

    Examples
    --------
    >>> axis = Axis(0, 10, 100, 200)
    >>> axis.at(5), [value for value, _ in axis.ticks()]
    (150.0, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    count: int = 5
    whole: bool = False

    def at(self, value: float) -> float:
        """The position of a value."""
        low, high, value = float(self.low), float(self.high), float(value)  # numpy's warn
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        if not math.isfinite(high - low):  # huge numbers, whose quarters are exact
            low, high, value = low / 4, high / 4, value / 4
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield round values within the axis, with their labels."""
        if self.log:
            yield from self._decades()
            return
        rough = self.high / self.count - self.low / self.count
        power = 10.0 ** math.floor(math.log10(rough or 1.0))
        step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
        if self.whole:
            step = max(step, 1.0)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        for i in range(first, last + 1):
            value = i * step
            yield value, brief(value, step)

    def _decades(self) -> Iterator[tuple[float, str]]:
        first = math.ceil(math.log10(self.low) - 1e-9)
        last = math.floor(math.log10(self.high) + 1e-9)
        step = max(1, -(-(last - first + 1) // (self.count + 1)))
        for power in range(first, last + 1, step):
            yield 10.0**power, _power_of_ten(power)


def padded(low: float, high: float, share: float = 0.05) -> tuple[float, float]:
    """The range made larger by ``share`` at both ends; a single value gets a range around it."""
    room = share * high - share * low or abs(high) * 0.5 or 1.0
    return max(low - room, -sys.float_info.max), min(high + room, sys.float_info.max)


def brief(value: float, step: float | None = None) -> str:
    """A number as people write it; as a tick label as short as the step between ticks allows.

    Examples
    --------
    >>> brief(0.25), brief(2.0, 1.0), brief(250000.0, 50000.0), brief(-1680.4), brief(3e-7)
    ('0.25', '2', '250k', '−1680', '3 × 10⁻⁷')
    """
    size = abs(value)
    if step is None or value == 0 or size >= 1e9 or size < 1e-4:
        return spoken(value, minus="−")
    scale, unit = (1e6, "M") if size >= 1e6 else (1e3, "k") if size >= 1e4 else (1.0, "")
    places = max(0, -math.floor(math.log10(step / scale) + 1e-9))
    return f"{value / scale:.{places}f}{unit}".replace("-", "−")


def _power_of_ten(power: int) -> str:
    if 0 <= power <= 4:
        return f"{10**power:,}"
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
