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
    COMMA_NUMBER,
    GROUPED,
    MISSING_TEXTS,
    POINT_NUMBER,
    WHOLE,
    ZONE,
    is_one_zone,
)

DOTTED = r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2,4}\b"  # a date as in countries of decimal commas
SAMPLED, FEW = 100, 4  # cells of a column that tell what it is not
#: what all cells of a column may be
PATTERNS = {name: form.pattern for name, form in WHOLE.items() if form.pattern} | {
    "grouped": GROUPED}  # fmt: skip
#: what some of the cells of a column of whole numbers may be
OF_WHOLE = {
    "code": r"^0[0-9]",  # 0123 is not a number
    "phone": r"^\+[0-9]{8,}$",
    "long": r"^[+-]?[0-9]{19,}$",  # may not fit 64 bits
    "too long": r"^[+-]?[0-9]{39,}$",  # may not fit 128 bits
}
OF_INTEGERS = {"plain", "comma number"}  # what each whole number is
MISSING = "a missing value"  # the one test that is no pattern
TOGETHER = 100_000  # cells of neighbouring columns that are tested at once
FEW_WRONG = 0.05  # share of wrong cells in a column that tells the decimal sign


class _Cells:
    """Neighbouring columns of a block, each test of which is made once for all of them.

    In a wide table of few rows, a call for each column would cost more than its cells.
    """

    def __init__(self, columns: list[pl.Series]):
        self.whole = pl.DataFrame([each.alias(str(j)) for j, each in enumerate(columns)])
        rows = np.arange(self.whole.height)
        self.some = self.whole[rows[:: max(1, len(rows) // SAMPLED)]]
        self.few = self.whole[rows[:: len(rows) // min(FEW, len(rows)) + 1]]

    def __getitem__(self, column: int) -> pl.Series:
        """The cells of a column that are not missing."""
        return self.whole.to_series(column).drop_nulls()

    def have(self, test: str, which: list[int], rows: pl.DataFrame, missing: bool) -> np.ndarray:
        """Whether the cells of some columns have a pattern or a type, (columns, rows)."""
        if not which:
            return np.zeros((0, rows.height), dtype=bool)
        cells = pl.concat([rows.to_series(j) for j in which], rechunk=True)
        if test == MISSING:
            found = cells.str.strip_chars().str.to_lowercase().is_in(list(MISSING_TEXTS))
        elif test in WHOLE:
            found = WHOLE[test].read(cells).is_not_null()
        else:
            found = cells.str.contains(test)
        if cells.null_count():
            found = (found & cells.is_not_null()).fill_null(False) | (cells.is_null() & missing)
        return found.to_numpy().reshape(len(which), -1)

    def all(self, test: str, which: list[int]) -> list[int]:
        """The columns all of whose cells have it: what a few cells are not, a column is not."""
        some = [self.some] * (self.some.height < self.whole.height)
        for rows in (self.few, *some, self.whole):
            fit = self.have(test, which, rows, missing=True)
            which = [j for j, fits in zip(which, fit) if fits.all()]
        return which

    def any(self, test: str, which: list[int], rows: pl.DataFrame) -> list[int]:
        """The columns with a cell that has it, of all rows or of `some`."""
        found = self.have(test, which, rows, missing=False)
        return [j for j, has in zip(which, found) if has.any()]


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

    def tells(self) -> str:
        """The decimal sign that the cells must have; "" where they may have both, or are texts."""
        numbers = self.only_comma + self.only_point + self.either
        if numbers < (1 - FEW_WRONG) * (self.cells - self.marks):
            return ""
        if self.only_comma and self.only_point <= FEW_WRONG * self.only_comma:
            return ","
        return "." if self.only_point > self.only_comma else ""

    def type(self, decimal: str) -> str:
        """The type of the column: a key of WHOLE, or "text"."""
        if not self.cells:
            return "text"
        if "integer" in self.all:
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
        series = list(cells.iter_columns())
        for first in range(0, len(series) if cells.height else 0, some):
            self._see(self.columns[first:], _Cells(series[first : first + some]))

    def _see(self, columns: list[_Column], cells: _Cells) -> None:
        """Take in neighbouring columns of a block."""
        rows = [cells.whole.height - gone for gone in cells.whole.null_count().row(0)]
        there = [j for j, known in enumerate(rows) if known]
        strict = [(name, name) for name, form in WHOLE.items() if form.pattern and not form.all]
        whole = list[int]()
        for name, test in (*PATTERNS.items(), *strict):
            before = [j for j in there if name in columns[j].all]
            if name in OF_INTEGERS:
                before = sorted({*before}.difference(whole))
            for j in {*before}.difference(cells.all(test, before)):  # no 30th of February
                columns[j].all.remove(name)
            if name == "integer":
                whole = [j for j in there if name in columns[j].all]
        for name, pattern in OF_WHOLE.items():
            for j in cells.any(pattern, whole, cells.whole):
                columns[j].some.add(name)
        for j in there:
            columns[j].cells += rows[j]
            if self.semicolons:
                columns[j].dotted |= re.match(DOTTED, cells[j][0]) is not None
            if "zoned" in columns[j].all:
                columns[j].zones |= set(cells[j].str.extract(f"({ZONE})$").to_list())
        # the numbers by the decimal signs that they may have
        plain = [j for j in there if columns[j].all & {"integer", "plain"} == {"plain"}]
        pointed = cells.have(r"\.", plain, cells.whole, False)
        pointed &= ~cells.have(PATTERNS["grouped"], plain, cells.whole, False)
        for j, points in zip(plain, pointed.sum(axis=1).tolist()):
            columns[j].only_point += points
            columns[j].either += rows[j] - points
        for j in whole:
            columns[j].either += rows[j]
        others = sorted({*there}.difference(whole, plain))
        others = cells.any(f"{COMMA_NUMBER}|{POINT_NUMBER}", others, cells.some)
        comma, point = (cells.have(test, others, cells.whole, False)
                        for test in (COMMA_NUMBER, POINT_NUMBER))  # fmt: skip
        rest = [j for j, numbers in zip(others, comma | point) if not numbers.all()]
        for j, marks in zip(rest, cells.have(MISSING, rest, cells.whole, False).sum(axis=1)):
            columns[j].marks += int(marks)
        masks = comma & ~point, point & ~comma, comma & point
        counts = (mask.sum(axis=1).tolist() for mask in masks)
        for j, only_comma, only_point, either in zip(others, *counts):
            columns[j].only_comma += only_comma
            columns[j].only_point += only_point
            columns[j].either += either

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
        series = list(cells.iter_columns())
        types = {j: each for j, each in enumerate(self._types()) if each != "text"}
        numbered = pl.DataFrame([series[j].alias(str(j)) for j in types])
        found = numbered.select(*(WHOLE[each].read(pl.col(str(j))) for j, each in types.items()))
        typed = dict(zip(types, found.iter_columns()))
        return [typed.get(j, each) for j, each in enumerate(series)]

    def dtypes(self) -> list[pl.DataType]:
        """The types of the columns, as polars calls them."""
        none = pl.Series([], dtype=pl.String)
        types = {name: form.read(none).dtype for name, form in WHOLE.items()}
        return [types.get(each, none.dtype) for each in self._types()]

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
