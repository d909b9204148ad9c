"""Quantities in texts: numbers with a unit, such as "14.6 kg", "3 GB", "35 °C" or "1h 20m".

A column of quantities has one unit, or units that can be converted. `unit_of` finds the unit, the
most frequent one, and `spelled_quantity` reads a text in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from mercer.tables.spellings import BLANKS, MISSING_TEXTS, spelled_number

MOSTLY = 0.95  # of the texts that are no missing values have a unit of one kind
LEAST = 0.5  # of them have a unit; the others are taken for numbers in it
#: the units that can be converted, each in the smallest of its row
FAMILIES: tuple[dict[str, float], ...] = (
    {"mg": 1e-3, "g": 1, "gram": 1, "grams": 1, "kg": 1e3, "t": 1e6, "oz": 28.349523125,
     "lb": 453.59237, "lbs": 453.59237},
    {"mm": 1e-3, "cm": 1e-2, "m": 1, "km": 1e3, "in": 0.0254, "ft": 0.3048, "yd": 0.9144,
     "mi": 1609.344, "miles": 1609.344},
    {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10,
     "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
    {"ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60,
     "mins": 60, "minute": 60, "minutes": 60, "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600,
     "hours": 3600, "d": 86400, "day": 86400, "days": 86400, "week": 604800, "weeks": 604800},
    {"ml": 1e-3, "mL": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1, "L": 1},
    {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"W": 1, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    {"Wh": 1, "kWh": 1e3, "MWh": 1e6, "GWh": 1e9},
    {"cm²": 1e-4, "m²": 1, "m2": 1, "km²": 1e6, "km2": 1e6, "ha": 1e4},
    {"Pa": 1, "hPa": 100, "kPa": 1e3, "MPa": 1e6, "mbar": 100, "bar": 1e5},
)  # fmt: skip
NO_UNITS = {"am", "pm", "AM", "PM", "EUR", "USD", "GBP", "CHF"}  # halves of a day, and currencies
MOST_PARTS = 4  # of a quantity, as in "1d 2h 3m 4s"
SINGLE = {unit for family in FAMILIES for unit in family if len(unit) == 1} | {"°"}

_UNIT = r"°?[^\W\d_]+[²³23]?(?:/[^\W\d_]+[²³23]?)?|°"
_PART = re.compile(
    rf"([+-]?(?:\d[\d.,'’{BLANKS}]*(?<![{BLANKS}])|[.,]\d+)(?:[eE][+-]?\d+)?)([{BLANKS}]?)({_UNIT})"
)
_TEXT = re.compile(rf"(?:{_PART.pattern}[{BLANKS}]?){{1,{MOST_PARTS}}}")


def spelled_quantity(text: str, unit: str, decimal: str = "") -> float | None:
    """The number in a text, in a unit; None where there is none, or another unit.

    A number without a unit is one in this unit. ``unit`` may be "": then no text has one.

    Examples
    --------
    >>> [spelled_quantity(t, "h") for t in ("1h 30m", "90 min", "2", "3 kg")]
    [1.5, 1.5, 2.0, None]
    """
    number = spelled_number(text, decimal)
    if number is not None or not unit:
        return number
    family = next((f for f in FAMILIES if unit in f and all(u in f for u in units_in(text))), {})
    total, sign = 0.0, -1.0 if text.lstrip().startswith("-") else 1.0
    for digits, own in _parts(text):
        size = spelled_number(digits, decimal)
        if size is None or not (_same(own, unit) or own in family):
            return None
        total += abs(size) * (1.0 if _same(own, unit) else family[own] / family[unit])
    return sign * total if units_in(text) else None


def unit_of(texts: Iterable[str]) -> str:
    """The unit of a column of quantities: the most frequent one; "" if it is none.

    Nearly all texts have a unit, which is the same one, or can be converted to it.

    Examples
    --------
    >>> unit_of(["14.6 kg", "300 g", "7 kg"]), unit_of(["3 kg", "4 m"]), unit_of(["3", "4"])
    ('kg', '', '')
    >>> unit_of(["1h 20m", "35m"]), unit_of(["5 years", "1 year"])
    ('h', 'years')
    """
    texts = [text for text in texts if text.strip().lower() not in MISSING_TEXTS]
    found = [units_in(text) for text in texts]
    counts = Counter(unit for units in found for unit in units)
    if sum(map(bool, found)) < LEAST * len(found) or not counts:
        return ""
    first = counts.most_common(1)[0][0]
    for family in (*(f for f in FAMILIES if first in f), None):
        fits = [u for u in found if all(_same(v, first) or (family and v in family) for v in u)]
        if len(fits) >= MOSTLY * len(texts):
            several = family is not None and any(len(u) > 1 for u in fits)
            # of "1h 20m" and "35m" the larger unit is the one to count in
            return max(counts, key=lambda u: (family or {}).get(u, 0)) if several else first
    return ""


def units_in(text: str) -> list[str]:
    """The units of a quantity, in their order; none if the text is no quantity.

    Examples
    --------
    >>> units_in("5 ft 11 in"), units_in("35 °C"), units_in("12"), units_in("10 pm")
    (['ft', 'in'], ['°C'], [], [])
    """
    return [unit for _, unit in _parts(text)]


def bare(texts: Iterable[str]) -> list[str]:
    """The numbers of quantities without their units; other texts as they are."""
    return [part for text in texts for part in [n for n, _ in _parts(text)] or [text]]


def _parts(text: str) -> list[tuple[str, str]]:
    """The numbers and units of a text that is a quantity."""
    text = text.strip()
    if not _TEXT.fullmatch(text):
        return []
    found = _PART.findall(text)
    parts, units = [(number, unit) for number, _, unit in found], {unit for _, _, unit in found}
    if any(len(unit) == 1 and unit not in SINGLE and not blank for _, blank, unit in found):
        return []  # such as the code 12A
    together = len(parts) == 1 or any(units <= set(family) for family in FAMILIES)
    return parts if together and not units & NO_UNITS else []


def _same(one: str, other: str) -> bool:
    """Whether two words mean one unit: "year" and "years", "KG" and "kg"."""
    one, other = one.casefold(), other.casefold()
    return one == other or one == f"{other}s" or other == f"{one}s"
