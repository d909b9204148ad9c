"""Columns of numbers in texts: how all of them are written, with units, amounts and limits.

A column has one convention: `NumberColumn` holds it, `numbers_of` finds it, and
`NumberColumn.read` reads a text by it. spelled.py reads a number by itself.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mercer.tables.forms.clocks import span_seconds
from mercer.tables.forms.spelled import (
    BLANK,
    BLANKS,
    CODES,
    CURRENCY,
    LONGEST,
    MINUS,
    SIGNS,
    SIMPLE,
    decimal_in,
    decimal_of,
    ends_of,
    fits,
    shapes_of,
    simple_number,
    spelled_number,
    unmarked,
)

MOSTLY = 0.95  # of the texts that are no missing values have a unit of one kind
LONG = 800  # texts that polars reads in less time, where it is loaded
LEAST = 0.5  # of them have a unit that is in no list
_LIMIT = re.compile(r"\s*(<=?|>=?|≤|≥)\s*")
PLAIN = {*"09-.,"}  # in the shapes of numbers without units, signs and limits
_LABELLED = re.compile(r"(-?\d{1,3}) ?[-–=:] ?[^\W\d_][^\d]{2,}")
_DECADE = re.compile(r"(?:1[5-9]|20)?\d0s")
#: the units that can be converted, each in the smallest of its row
FAMILIES: tuple[dict[str, float], ...] = (
    {"µg": 1e-6, "ug": 1e-6, "mg": 1e-3, "g": 1, "gram": 1, "grams": 1, "kg": 1e3, "t": 1e6,
     "oz": 28.349523125, "lb": 453.59237, "lbs": 453.59237},
    {"nm": 1e-9, "µm": 1e-6, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1, "km": 1e3,
     "in": 0.0254, "inch": 0.0254, "inches": 0.0254, "ft": 0.3048, "foot": 0.3048, "feet": 0.3048,
     "yd": 0.9144, "mi": 1609.344, "miles": 1609.344},
    {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10,
     "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
    {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1,
     "seconds": 1, "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60, "h": 3600,
     "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400,
     "days": 86400, "week": 604800, "weeks": 604800},
    {"µl": 1e-6, "µL": 1e-6, "ml": 1e-3, "mL": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1, "L": 1},
    {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"W": 1, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    {"Wh": 1, "kWh": 1e3, "MWh": 1e6, "GWh": 1e9},
    {"J": 1, "kJ": 1e3, "MJ": 1e6},
    {"mV": 1e-3, "V": 1, "kV": 1e3},
    {"mA": 1e-3, "A": 1},
    {"cm²": 1e-4, "m²": 1, "m2": 1, "km²": 1e6, "km2": 1e6, "ha": 1e4},
    {"Pa": 1, "hPa": 100, "kPa": 1e3, "MPa": 1e6, "mbar": 100, "bar": 1e5},
)  # fmt: skip
#: units that stand for themselves, also where only some cells have them
OTHERS = {
    "ct", "cts", "pc", "pcs", "st", "stk", "kcal", "cal", "°c", "°f", "°", "ppm", "ppb", "mol",
    "mmol", "mmol/l", "µmol/l", "mg/l", "mg/dl", "g/l", "g/dl", "µg/l", "ng/ml", "km/h", "kmh",
    "mph", "m/s", "rpm", "bpm", "mmhg", "hp", "ps", "kn", "db", "px", "year", "years", "yr",
    "yrs", "month", "months", "mpg", "l/h", "kg/m²", "kg/m3", "cc", "people", "persons", "rooms",
    "pts", "points",
}  # fmt: skip
UNITS = OTHERS | {unit.casefold() for family in FAMILIES for unit in family}
#: halves of a day, quarters and halves of a year, and currencies
NO_UNITS = {"am", "pm", "AM", "PM", "Q2", "Q3", "q2", "q3", "H2", "h2", *CODES}
MOST_PARTS = 4  # of a quantity, as in "1d 2h 3m 4s"
SINGLE = {*"gtmBshdlLW°"}  # may stand behind a number without a blank; 12A is a code

#: what stands behind a rounded number -> its size; single letters stand without a blank
MULTIPLES = {
    "k": 1e3, "K": 1e3, "thousand": 1e3, "tsd": 1e3, "Tsd.": 1e3, "M": 1e6, "mn": 1e6, "Mn": 1e6,
    "mio": 1e6, "Mio": 1e6, "Mio.": 1e6, "million": 1e6, "millions": 1e6, "B": 1e9, "bn": 1e9,
    "Bn": 1e9, "mrd": 1e9, "Mrd": 1e9, "Mrd.": 1e9, "billion": 1e9, "billions": 1e9,
}  # fmt: skip
_AMOUNT = re.compile(
    rf"(.*\d)(?:(?P<letter>[kKMB])|[{BLANKS}]?(?P<word>"
    rf"{'|'.join(re.escape(m) for m in sorted(MULTIPLES, key=len)[::-1] if len(m) > 1)}))"
    rf"({BLANK}{CURRENCY})?"
)
#: degrees with minutes or a point of the compass
_DEGREES = re.compile(
    r"(?P<head>[NSEW]?) ?(?P<sign>-?)(?P<d>\d{1,3}(?:\.\d+)?) ?° ?"
    r"(?:(?P<m>\d{1,2}(?:\.\d+)?) ?['’′] ?)?"
    r"(?:(?P<s>\d{1,2}(?:\.\d+)?) ?(?:\"|''|″|”) ?)?(?P<tail>[NSEW]?)"
    r"|(?P<decimal>\d{1,3}\.\d{2,}) ?(?P<end>[NSEW])"
)
_UNIT = r"°?[^\W\d_]+[²³23]?(?:/[^\W\d_]+[²³23]?)?|°"
_PART = re.compile(
    rf"([+{MINUS}]?(?:\d(?:[\d.,'’{BLANKS}]*\d)?|[.,]\d+)(?:[eE][+-]?\d+)?)([{BLANKS}]?)({_UNIT})"
)
_UNITED = re.compile(r"[^\W\d_]|[°:'’′]")  # what every quantity has
_TEXT = re.compile(rf"(?:{_PART.pattern}[{BLANKS}]?){{1,{MOST_PARTS}}}")
_FEET = re.compile(r"(\d)\s?['’′]\s?(\d{1,2}(?:\.\d+)?)\s?(?:\"|''|″|”)")


def numbers_of(texts: Iterable[str], usual: str = "") -> NumberColumn:
    """How a column of numbers is written; ``usual`` is the decimal sign where it does not tell.

    Examples
    --------
    >>> numbers_of(["1.234,5 kg", "12,5 kg"])
    NumberColumn(decimal=',', unit='kg', shares=False, scaled=False, limits=False)
    >>> numbers_of(["12%", "0.1"]).shares, numbers_of(["1.2M", "3k", "5bn"]).read(["1.2M", "a"])
    (True, {'1.2M': 1200000.0})
    """
    texts = list(texts)
    plain = numbers_of_shapes(Counter(shapes_of(texts)), usual)
    if plain is not None:
        return plain
    texts = unmarked(texts)
    scaled = _are_amounts(texts)
    unit = "" if scaled else unit_of(texts)
    digits = [_bare_amount(text)[0] for text in texts] if scaled else bare(texts) if unit else texts
    decimal = decimal_of(digits) or usual or _grouped(texts)
    marked: list[float] = []
    others: list[float] = []
    for text in texts if any("%" in text for text in texts) else []:
        number = spelled_number(text, decimal)
        if number is not None:
            (marked if "%" in text else others).append(abs(number))
    shares = bool(marked and others) and max(others) <= 1 < max(marked)
    return NumberColumn(decimal, unit, shares, scaled, any(map(_LIMIT.match, texts)))


def numbers_of_shapes(shapes: Counter, usual: str) -> NumberColumn | None:
    """How numbers of these shapes are written, if none has a unit, a sign or a limit."""
    return NumberColumn(decimal_in(shapes) or usual) if set().union(*shapes) <= PLAIN else None


class Cell(NamedTuple):
    """The number in a text, and what stands beside it."""

    number: float
    limit: bool = False  # "<0.1" or ">100"
    other: bool = False  # it has the other decimal sign than the column
    middle: bool = False  # of a range such as "5-6"
    label: bool = False  # words stand behind it, as in "10 - Extremely likely"


@dataclass(frozen=True)
class NumberColumn:
    """How the numbers of a column are written."""

    decimal: str = ""  # "." or ","; "" where the cells do not tell
    unit: str = ""  # the unit to count in
    shares: bool = False  # some have %, and the others are shares: 0.12 is 12%
    scaled: bool = False  # some are amounts such as 1.2M and 3k
    limits: bool = False  # some are limits such as <0.1

    def cell(self, text: str) -> Cell | None:
        """The number in a text, with its marks; None if it is none."""
        if self.decimal and (number := simple_number(text, self.decimal)) is not None:
            return Cell(100 * number if self.shares else number)
        limit = _LIMIT.match(text)
        if limit:
            text = text[limit.end() :]
        number, alone = spelled_number(text, self.decimal), True
        if number is None and self.unit:
            number, alone = _quantity(text, self.unit, self.decimal), False
        elif number is None and self.scaled:
            digits, size = _bare_amount(text)
            number, alone = spelled_number(digits, self.decimal), False
            number = None if number is None else number * size
        if number is None:
            ends, label = ends_of(text), _LABELLED.fullmatch(text.strip())
            if label is not None:
                return Cell(float(label[1]), label=True)
            return None if ends is None else Cell(sum(ends) / 2, middle=True)
        other = alone and bool(self.decimal) and not fits(text, self.decimal)
        share = 100 if self.shares and "%" not in text else 1
        return Cell(share * number, limit is not None, other)

    def side(self, text: str) -> float:
        """-1 for a number below a limit, as "<0.1", 1 for one above, and else 0."""
        found = self.cell(text) if _LIMIT.match(text) else None
        return 0.0 if found is None else -1.0 if text.strip()[0] in "<≤" else 1.0

    def simple(self, texts: list[str]) -> dict[str, float]:
        """The numbers of the texts that are digits and points alone, as `cell` has them."""
        some, numbers = self.simple_cells(texts)
        return dict(zip(some, numbers.tolist()))

    def simple_cells(self, texts: list[str]) -> tuple[list[str], np.ndarray]:
        """The texts that are digits and points alone, which may be equal, and their numbers."""
        shapes = shapes_of(texts)
        different = set(shapes)
        known = {shape for shape in different if self.fits(shape)}
        if known != different:
            texts = [text for text, shape in zip(texts, shapes) if shape in known]
        return texts, self.numbers_in(texts)

    def fits(self, shape: str) -> bool:
        """Whether texts of a shape are digits and points alone."""
        return len(shape) <= LONGEST and SIMPLE[self.decimal or "."].fullmatch(shape) is not None

    def numbers_in(self, texts: list[str]) -> np.ndarray:
        """The numbers of texts that are digits and points alone."""
        comma, size = "." if self.decimal == "," else ",", 100 if self.shares else 1
        polars = sys.modules.get("polars")
        if polars is not None and len(texts) > LONG:
            cells = polars.Series(texts).str.replace_all(comma, "", literal=True)
            numbers = cells.str.replace(",", ".", literal=True).cast(float).to_numpy()
        else:
            digits = "\n".join(texts).replace(comma, "").replace(",", ".")
            numbers = np.fromiter(map(float, digits.split("\n") if texts else ()), np.float64)
        return size * (numbers + 0.0)

    def read(self, texts: Iterable[str]) -> dict[str, float]:
        """The numbers of texts, as far as they are some."""
        texts = list(texts)
        found = self.simple(texts)
        others = {text: self.cell(text) for text in texts if text not in found}
        return found | {text: cell.number for text, cell in others.items() if cell is not None}


def _grouped(texts: list[str]) -> str:
    """The decimal sign of sums of money that are whole: 950 € beside 1.234 € is no 1.234."""
    money = [text for text in texts if any(sign not in "%‰" for sign in SIGNS.findall(text))]
    digits = [re.sub(r"[^\d.,]", "", text) for text in money]
    points = [each for each in digits if "." in each]
    whole = [each for each in digits if "." not in each and len(each) == 3]
    grouped = all(re.fullmatch(r"[1-9]\d{0,2}(\.\d{3})+", each) for each in points)
    return "," if points and whole and grouped and not any("," in each for each in digits) else ""


def _bare_amount(text: str) -> tuple[str, float]:
    """An amount such as "$1.2M" without its multiple, and this; 1 where it has none."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        return text, 1.0
    return f"{match[1]}{match[4] or ''}", MULTIPLES[match["letter"] or match["word"]]


def _are_amounts(texts: list[str]) -> bool:
    """Whether texts are numbers, some of them with a multiple behind them.

    A single letter may be a size or a part of a code: where there is but one, a fraction or a
    currency stands beside it.

    Examples
    --------
    >>> _are_amounts(["1.2M", "950"]), _are_amounts(["9M", "10M"]), _are_amounts(["3k", "12A"])
    (True, False, False)
    """
    marked = [text for text in texts if text[-1:] not in "0123456789" and _AMOUNT.fullmatch(text)]
    if not marked:
        return False
    several = len({_bare_amount(text)[1] for text in marked}) > 1
    clear = any(re.search(rf"\d[.,]\d|[^\W\d]{{2}}|{CURRENCY}", text) for text in marked)
    bare = [_bare_amount(text)[0] for text in texts]
    numbers = sum(spelled_number(each) is not None for each in bare)
    return (several or clear) and numbers >= MOSTLY * len(texts)


# --- units ----------------------------------------------------------------------------------------


def _quantity(text: str, unit: str, decimal: str) -> float | None:
    """The number in a text with units, in another one; None where there is none, or another."""
    parts = _parts(text)
    if not parts:
        return None
    units = [own for _, own in parts]
    family = next((f for f in FAMILIES if unit in f and all(u in f for u in units)), {})
    negative = parts[0][0].startswith(tuple(MINUS))
    total = 0.0
    for digits, own in parts:
        size = spelled_number(digits, decimal)
        if size is None or not (_same(own, unit) or own in family):
            return None
        total += abs(size) * (1.0 if _same(own, unit) else family[own] / family[unit])
    return -total if negative else total


def unit_of(texts: Iterable[str]) -> str:
    """The unit of a column of quantities: the most frequent one; "" if it is none.

    All texts with a unit have the same one, or one that can be converted to it. Several units, or
    one that is in no list, must be those of half of the texts; the others are numbers in it.

    Examples
    --------
    >>> unit_of(["14.6 kg", "300 g", "7 kg"]), unit_of(["3 kg", "4 m"]), unit_of(["3", "4"])
    ('kg', '', '')
    >>> unit_of(["1h 20m", "35m"]), unit_of(["5 years", "1 year"]), unit_of(["3 mm", "4", "5"])
    ('h', 'years', 'mm')
    """
    texts = list(texts)
    if not _UNITED.search("\n".join(texts)):
        return ""
    texts = unmarked(texts)
    found = [units_in(text) for text in texts]
    counts = Counter(unit for units in found for unit in units)
    if not counts:
        return ""
    known = all(len(unit) > 1 and unit.casefold() in UNITS for unit in counts)
    alike = all(_same(unit, next(iter(counts))) for unit in counts)
    if not (known and alike) and sum(map(bool, found)) < LEAST * len(found):
        return ""
    first = counts.most_common(1)[0][0]
    for family in (*(f for f in FAMILIES if first in f), None):
        units = [u for u in found if all(_same(v, first) or (family and v in family) for v in u)]
        if len(units) >= MOSTLY * len(texts):
            several = family is not None and any(len(u) > 1 for u in units)
            # of "1h 20m" and "35m" the larger unit is the one to count in
            return max(counts, key=lambda u: (family or {}).get(u, 0)) if several else first
    return ""


def units_in(text: str) -> list[str]:
    """The units of a quantity, in their order; none if the text is no quantity.

    Examples
    --------
    >>> units_in("5 ft 11 in"), units_in("35 °C"), units_in("12"), units_in("10 pm")
    (['ft', 'in'], ['°C'], [], [])
    >>> units_in("1:23:45"), units_in("<5 mg"), units_in("5' 11\\"")
    (['s'], ['mg'], ['ft', 'in'])
    """
    return [unit for _, unit in _parts(text)] if _UNITED.search(text) else []


def bare(texts: Iterable[str]) -> list[str]:
    """The numbers of quantities without their units; other texts as they are."""
    return [part for text in texts for part in [n for n, _ in _parts(text)] or [text]]


@lru_cache(maxsize=4096)
def _parts(text: str) -> list[tuple[str, str]]:
    """The numbers and units of a text that is a quantity."""
    text = text.strip()
    limit = _LIMIT.match(text)
    text = text[limit.end() :] if limit else text
    if len(text) > LONGEST:
        return []
    seconds = span_seconds(text)
    if seconds is not None:
        return [(f"{seconds:.12g}", "s")]
    degrees = degrees_in(text)
    if degrees is not None:
        return [(f"{degrees:.12g}", "°")]
    feet = _FEET.fullmatch(text)
    if feet is not None and float(feet.group(2)) < 12:
        return [(feet.group(1), "ft"), (feet.group(2), "in")]
    if not _TEXT.fullmatch(text) or _DECADE.fullmatch(text):
        return []
    found = _PART.findall(text)
    parts, units = [(number, unit) for number, _, unit in found], {unit for _, _, unit in found}
    if any(len(unit) == 1 and unit not in SINGLE and not blank for _, blank, unit in found):
        return []  # such as the code 12A
    together = len(parts) == 1 or any(units <= set(family) for family in FAMILIES)
    return parts if together and not units & NO_UNITS else []


def degrees_in(text: str) -> float | None:
    """The degrees of a latitude or longitude, below 0 in the south and west; None if it is none.

    Examples
    --------
    >>> degrees_in("48°51'N"), degrees_in("2.35 W"), degrees_in("35 °C"), degrees_in("12N")
    (48.85, -2.35, None, None)
    """
    if not ("°" in text or text[-1:] in ("N", "S", "E", "W")):
        return None
    match = _DEGREES.fullmatch(text.strip())
    if match is None:
        return None
    parts = match.groupdict()
    point = parts["head"] or parts["tail"] or parts["end"] or ""
    if not (point or parts["m"]):
        return None
    size, minutes, seconds = (
        float(each or 0) for each in (parts["d"] or parts["decimal"], parts["m"], parts["s"])
    )
    if size > 180 or minutes >= 60 or seconds >= 60:
        return None
    size += minutes / 60 + seconds / 3600
    return -size if point in ("S", "W") or parts["sign"] else size


def _same(one: str, other: str) -> bool:
    """Whether two words mean one unit: "year" and "years", "KG" and "kg"."""
    if one == other:
        return True
    if any(one in family and other in family for family in FAMILIES):
        return False  # mW and MW, Mb and mb
    one, other = one.casefold(), other.casefold()
    return one == other or one == f"{other}s" or other == f"{one}s"
