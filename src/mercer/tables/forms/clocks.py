"""Times of day and lengths of time in texts: a table of their forms.

"14:30" is a time of day, "1:23:45" and "PT1H30M" are lengths. A column tells: in one of lengths,
hours need no second digit, and may be more than 23.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class ClockForm(NamedTuple):
    """One way to write a time of day (hours) or a length of time (seconds)."""

    pattern: str
    cell: str  # an example
    value: float


#: times of day, in hours
CLOCKS = (
    ClockForm(r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:[.,]\d+)?))?(?: ?h| Uhr)?",
              "14:30", 14.5),
    ClockForm(r"(?P<H>\d{1,2})(?::(?P<M>\d{2})(?::(?P<S>\d{2}))?)? ?(?P<half>[AaPp])\.?[Mm]\.?",
              "2:30 PM", 14.5),
    ClockForm(r"(?P<H>\d{1,2})[hH](?P<M>\d{2})", "14h30", 14.5),
    ClockForm(r"T(?P<H>\d{2}):?(?P<M>\d{2})(?::?(?P<S>\d{2}(?:[.,]\d+)?))?Z?", "T14:30", 14.5),
)  # fmt: skip
#: four digits, which are times where a user says so
ASKED = ClockForm(r"(?P<H>\d{1,2})(?P<M>\d{2})", "1430", 14.5)
#: lengths of time, in seconds
SPANS = (
    ClockForm(r"(?P<sign>-)?(?P<H>\d+):(?P<M>\d{2}):(?P<S>\d{2}(?:[.,]\d+)?)", "1:23:45", 5025.0),
    ClockForm(r"(?P<sign>-)?(?P<M>\d+):(?P<S>\d{2}(?:[.,]\d+)?)", "75:30", 4530.0),
    ClockForm(r"(?P<d>-?\d+) days?,? \+?(?P<H>\d+):(?P<M>\d{2}):(?P<S>\d{2}(?:\.\d+)?)",
              "2 days 03:00:00", 183600.0),
    ClockForm(r"(?P<d>-?\d+)\.(?P<H>\d{2}):(?P<M>\d{2}):(?P<S>\d{2}(?:\.\d+)?)",
              "1.02:00:00", 93600.0),
    ClockForm(r"(?P<sign>-)?P(?=\d|T\d)(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?(?:T(?:(?P<H>\d+(?:\.\d+)?)H)?"
              r"(?:(?P<M>\d+(?:\.\d+)?)M)?(?:(?P<S>\d+(?:\.\d+)?)S)?)?", "PT1H30M5S", 5405.0),
)  # fmt: skip
DAY = 86400.0
SIZES = {"w": 604800.0, "d": 86400.0, "H": 3600.0, "M": 60.0, "S": 1.0}
_CLOCKS = [re.compile(form.pattern) for form in CLOCKS]
_ASKED = re.compile(ASKED.pattern)
_SPANS = [re.compile(form.pattern) for form in SPANS]
_LENGTH = re.compile(r"\d:\d{2}:\d{2}.*")  # as a stopwatch writes it


def clock_hours(text: str, asked: bool = False) -> float | None:
    """The hours since midnight of a time of day; None if the text is none.

    ``asked`` reads 1430 too.

    Examples
    --------
    >>> [clock_hours(text) for text in ("14:30", "12:15 AM", "2 pm", "14h30", "24:10", "2:1")]
    [14.5, 0.25, 14.0, 14.5, None, None]
    """
    text = text.strip()
    if len(text) > 20:
        return None
    for pattern in [*_CLOCKS, *[_ASKED] * asked]:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        seconds = seconds_of(match.groupdict())
        return None if seconds is None else seconds % DAY / 3600  # 24:00 is midnight
    return None


def seconds_of(parts: dict[str, str | None]) -> float | None:
    """The seconds from midnight in the parts H, M, S and half of a match; None if there is no such
    time."""
    hour, minute = int(parts.get("H") or 0), int(parts.get("M") or 0)
    second = float((parts.get("S") or "0").replace(",", "."))
    half = parts.get("half")
    if half:  # 12 AM is midnight, 12 PM is noon
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half in "Pp")
    whole = hour == 24 and not (minute or second)
    leap = minute in (29, 59) and second < 61
    if (hour > 23 and not whole) or minute > 59 or (second >= 60 and not leap):
        return None
    return 3600.0 * hour + 60 * minute + second


def span_seconds(text: str) -> float | None:
    """The seconds of a length of time with colons, or of ISO 8601; None if the text is none.

    Examples
    --------
    >>> span_seconds("1:23:45"), span_seconds("1 day 00:00:10"), span_seconds("PT1M")
    (5025.0, 86410.0, 60.0)
    """
    text = text.strip()
    if len(text) > 40 or (":" not in text and "P" not in text):
        return None
    for pattern in _SPANS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        parts = {name: part for name, part in match.groupdict().items() if part}
        sizes = {n: float(part.replace(",", ".")) for n, part in parts.items() if n != "sign"}
        if sizes.get("S", 0) >= 60 or ("H" in sizes and ":" in text and sizes["M"] >= 60):
            return None
        total = sum(SIZES[name] * size for name, size in sizes.items())
        return -total if "sign" in parts else total
    return None


def are_clocks(texts: Iterable[str]) -> bool:
    """Whether texts that can be times of day are such, and no lengths of time.

    Examples
    --------
    >>> are_clocks(["14:30", "9:05"]), are_clocks(["0:50:49", "1:02:03"]), are_clocks(["25:10"])
    (True, False, False)
    """
    known = [text.strip() for text in texts if span_seconds(text) is not None]
    return not any(_LENGTH.fullmatch(text) or clock_hours(text) is None for text in known)
