"""Axes of the report's figures: the position of a value, and the values with tick marks."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from mercer.spoken import spoken

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
