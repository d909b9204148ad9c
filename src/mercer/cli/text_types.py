"""What the texts of a table stand for: numbers, dates, true and false, or texts.

`TextTypes` sees the cells of a text table block by block, and only then decides the type of each
column: the first that every cell fits. So a file that is read in blocks has the types that it has
when it is read at once. A decimal sign belongs to the file: if one column can only be written with
decimal commas and none only with points, "1.234" is 1234 in all columns. Of dates only the ISO form
is recognised here: other spellings stay texts, which `mercer.tables` reads (tables/forms).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from mercer.tables import (
    BLANKS,
    COMMA_DIGITS,
    COMMA_NUMBER,
    MISSING_TEXTS,
    POINT_NUMBER,
    is_one_zone,
)

PLAIN = r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|NaN)$"
DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
MOMENT = f"^{DAY}" + r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
DOTTED = r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2,4}\b"  # a date as in countries of decimal commas
SAMPLED = 100  # cells that tell what a column is not
#: what all cells of a column may be
PATTERNS = {
    "boolean": r"^(?:true|false|True|False|TRUE|FALSE)$",
    "plain": PLAIN,  # numbers with a decimal point and nothing else
    "whole": r"^[+-]?[0-9]+$",
    "grouped": r"^[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+$",  # points may separate thousands
    "comma number": COMMA_DIGITS,
    "date": f"^{DAY}$", "moment": f"{MOMENT}$", "zoned": f"{MOMENT}{ZONE}$",
}  # fmt: skip
#: what some of the cells of a column of whole numbers may be
OF_WHOLE = {
    "code": r"^0[0-9]",  # 0123 is not a number
    "phone": r"^\+[0-9]{8,}$",
    "long": r"^[+-]?[0-9]{19,}$",  # may not fit 64 bits
    "too long": r"^[+-]?[0-9]{39,}$",  # may not fit 128 bits
}
MISSING = "a missing value"  # the one test that is no pattern
TOGETHER = 100_000  # cells of neighbouring columns that are tested at once
FEW_WRONG = 0.05  # share of wrong cells in a column that tells the decimal sign


class _Tested:
    """Which cells of a column have a pattern; ``masks`` has it for all cells of ``together``."""

    def __init__(self, together: pl.Series, masks: dict[str, np.ndarray], start: int, stop: int):
        self.together, self.masks = together, masks
        self.part, self.rows = slice(start, stop), stop - start
        alone = self.rows == len(together)
        self.some = together.gather_every(max(1, self.rows // SAMPLED)) if alone else None

    def __call__(self, pattern: str) -> np.ndarray:
        if pattern not in self.masks:
            cells = self.together
            if pattern == MISSING:
                found = cells.str.strip_chars().str.to_lowercase().is_in(list(MISSING_TEXTS))
            else:
                found = cells.str.contains(pattern)
            self.masks[pattern] = found.to_numpy()
        return self.masks[pattern][self.part]

    def all(self, pattern: str) -> bool:
        """Whether all cells have it: what some cells are not, the column is not."""
        if self.some is not None and not self.some.str.contains(pattern).all():
            return False
        return bool(self(pattern).all())

    def any(self, pattern: str) -> bool:
        """Whether a cell has it."""
        return bool(self(pattern).any())

    def sampled_none(self, pattern: str) -> bool:
        """Whether no cell has it, of about `SAMPLED` of them that are spread over the column."""
        if self.some is not None:
            return not self.some.str.contains(pattern).any()
        return not self(pattern)[:: max(1, self.rows // SAMPLED)].any()


def _tests_of(columns: list[pl.Series]) -> list[_Tested]:
    """The tests of neighbouring columns, each of which is made once for all of them.

    In a wide table of few rows, a call for each column would cost more than its cells.
    """
    together = columns[0] if len(columns) == 1 else pl.concat(columns)
    masks: dict[str, np.ndarray] = {}
    ends = np.cumsum([0, *map(len, columns)]).tolist()
    return [_Tested(together, masks, *ends[i : i + 2]) for i in range(len(columns))]


@dataclass
class _Column:
    """What the cells of a column have been so far."""

    cells: int = 0
    all: set[str] = field(default_factory=lambda: set(PATTERNS))  # what all cells are
    some: set[str] = field(default_factory=set)  # of `OF_WHOLE`, what some cells are
    dotted: bool = False
    zones: set[str] = field(default_factory=set)
    marks: int = 0  # cells that mean a missing number
    only_comma: int = 0  # cells that are numbers with a decimal comma, and not with a point
    only_point: int = 0
    either: int = 0

    def see(self, cells: pl.Series, tested: _Tested) -> None:
        """Take in the cells of a block, and the tests of them."""
        self.cells += tested.rows
        self.all = {name for name in self.all if tested.all(PATTERNS[name])}
        if "whole" in self.all:
            self.some |= {name for name, pattern in OF_WHOLE.items() if tested.any(pattern)}
        self.dotted = self.dotted or re.match(DOTTED, cells[0]) is not None
        self._see_signs(tested)
        for name in self.all & {"date", "moment", "zoned"}:  # no 30th of February
            if TYPES[name](cells).null_count():
                self.all.remove(name)
        if "zoned" in self.all:
            self.zones |= set(cells.str.extract(f"({ZONE})$").to_list())

    def _see_signs(self, tested: _Tested) -> None:
        """Count the numbers by the decimal signs that they may have."""
        if "whole" in self.all:
            self.either += tested.rows
            return
        if "plain" in self.all:
            pointed = np.count_nonzero(tested(r"\.") & ~tested(COMMA_NUMBER))
            self.only_point, self.either = (
                self.only_point + int(pointed), self.either + tested.rows - int(pointed)
            )  # fmt: skip
            return
        if tested.sampled_none(f"{COMMA_NUMBER}|{POINT_NUMBER}"):
            return
        comma, point = tested(COMMA_NUMBER), tested(POINT_NUMBER)
        either = int(np.count_nonzero(comma & point))
        self.only_comma += int(np.count_nonzero(comma)) - either
        self.only_point += int(np.count_nonzero(point)) - either
        self.either += either
        self.marks += int(np.count_nonzero(tested(MISSING)))

    def tells(self) -> str:
        """The decimal sign that the cells must have; "" where they may have both, or are texts."""
        numbers = self.only_comma + self.only_point + self.either
        if numbers < (1 - FEW_WRONG) * (self.cells - self.marks):
            return ""
        if self.only_comma and self.only_point <= FEW_WRONG * self.only_comma:
            return ","
        return "." if self.only_point > self.only_comma else ""

    def type(self, decimal: str) -> str:
        """The type of the column: a key of TYPES."""
        if not self.cells:
            return "text"
        if "whole" in self.all:
            code = self.some & {"code", "phone", "too long"}
            return "text" if code else "long" if "long" in self.some else "integer"
        if decimal == "," and "comma number" in self.all and self.tells() != ".":
            return "comma number"
        found = next((n for n in ("plain", "boolean", "date", "moment") if n in self.all), "text")
        if found == "text" and "zoned" in self.all:
            return "local" if is_one_zone(self.zones) else "zoned"
        return found


class TextTypes:
    """The types of the columns of a text table, from all its cells.

    ``decimal`` is the decimal sign, where "" lets the cells tell; ``usual`` is it where they do
    not. ``semicolons`` stand between fields where commas are decimal signs.
    """

    def __init__(self, width: int, decimal: str = "", usual: str = "", semicolons: bool = False):
        self.columns = [_Column() for _ in range(width)]
        self.given, self.usual, self.semicolons = decimal, usual, semicolons

    def see(self, cells: pl.DataFrame) -> None:
        """Take in a block of texts."""
        some = max(1, TOGETHER // max(1, cells.height))
        series = [each.alias("") for each in cells.iter_columns()]  # no patterns
        series = [each.drop_nulls() if each.null_count() else each for each in series]
        for first in range(0, len(series), some):
            block = series[first : first + some]
            for column, each, tested in zip(self.columns[first:], block, _tests_of(block)):
                if tested.rows:
                    column.see(each, tested)

    @property
    def decimal(self) -> str:
        """The decimal sign of the file; "" if nothing in it tells.

        Complete when all blocks are seen.
        """
        told = {column.tells() for column in self.columns}
        if self.given:
            return self.given
        if "," in told and "." not in told:
            return ","
        if "." in told or self.usual:
            return "." if "." in told else self.usual
        dotted = self.semicolons and any(column.dotted for column in self.columns)
        return "," if dotted and any("grouped" in c.all and c.cells for c in self.columns) else ""

    def typed(self, cells: pl.DataFrame) -> list[pl.Series]:
        """The columns of a block of texts, each with its type."""
        both = zip(self._types(), cells.iter_columns(), strict=True)
        return [TYPES[each](series.alias("")) for each, series in both]

    def dtypes(self) -> list[pl.DataType]:
        """The types of the columns, as polars calls them."""
        none = pl.Series([], dtype=pl.String)
        types = {name: convert(none).dtype for name, convert in TYPES.items()}
        return [types[each] for each in self._types()]

    def zones(self, names: list[str]) -> dict[str, str]:
        """The columns of times with zones, and the zones in which their hours are."""
        types = self._types()
        local = {n: sorted(c.zones) for n, c, t in zip(names, self.columns, types) if t == "local"}
        found = {name: " and ".join(zones) for name, zones in local.items()}
        return found | {name: "UTC" for name, t in zip(names, types) if t == "zoned"}

    def open_points(self, names: list[str]) -> list[str]:
        """Sentences on the columns whose points may be decimal signs or separate thousands."""
        told = {column.tells() for column in self.columns} - {""}
        if self.given or self.usual or told or not self.semicolons:
            return []
        some = [n for n, c in zip(names, self.columns) if "grouped" in c.all and c.cells]
        comma = self.decimal == ","
        how = "thousands are separated by points" if comma else "points are decimal signs"
        other = "points are decimal signs" if comma else "points separate thousands"
        sign = "." if comma else ","
        return [f"{n}: {how}, as nothing in the file speaks against it; if {other}, give --decimal "
                f"{sign} (a {'point' if comma else 'comma'})." for n in some]  # fmt: skip

    def commas(self, names: list[str]) -> list[str]:
        """The columns of numbers with decimal commas."""
        return [name for name, each in zip(names, self._types()) if each == "comma number"]

    def _types(self) -> list[str]:
        decimal = self.decimal
        return [column.type(decimal) for column in self.columns]


def _points(cells: pl.Series) -> pl.Series:
    return cells.str.strip_prefix("+").cast(pl.Float64)


def _commas(cells: pl.Series) -> pl.Series:
    bare = cells.str.replace_all(f"[.'’{BLANKS}]", "").str.replace(",", ".", literal=True)
    return _points(bare)


def _dates(cells: pl.Series) -> pl.Series:
    return cells.str.to_date("%Y-%m-%d", strict=False)


def _moments(cells: pl.Series, zoned: bool = False) -> pl.Series:
    whole = cells.str.replace(" ", "T", literal=True)
    whole = whole.str.replace(r"(T\d\d:\d\d)(Z|[+-]|$)", "${1}:00${2}")
    if zoned:
        whole = whole.str.replace("Z$", "+00:00")
        return whole.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", time_unit="us", strict=False)
    return whole.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)


TYPES = {
    "integer": lambda cells: cells.str.strip_prefix("+").cast(pl.Int64),
    "long": lambda cells: cells.str.strip_prefix("+").cast(pl.Int128),
    "plain": _points,
    "comma number": _commas,
    "boolean": lambda cells: cells.str.to_lowercase() == "true",
    "date": _dates,
    "moment": _moments,
    "zoned": lambda cells: _moments(cells, zoned=True),
    "local": lambda cells: _moments(cells.str.replace(f"{ZONE}$", "")),
    "text": lambda cells: cells,
}
