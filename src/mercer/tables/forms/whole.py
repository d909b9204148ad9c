"""Forms that all cells of a column of texts may have, by which polars reads it at once: a table.

The command types the columns of text files by it (cli/text_types.py). Other columns stay texts,
whose different cells grammar.py reads one by one; it reads the cells of these forms alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mercer.tables.forms.spelled import BLANKS, COMMA_DIGITS

DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
MOMENT = f"^{DAY}" + r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
GROUPED = r"^[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+$"  # points may separate thousands


class Whole(NamedTuple):
    """A form of all cells of a column."""

    pattern: str  # as polars and Python read it; "" for cells of the form above, read otherwise
    read: Callable[[Any], Any]  # what becomes of texts, a series or an expression of polars
    cell: str  # an example
    value: str  # what it is read as
    all: bool = True  # whether all cells with this pattern can be read; no 30th of February can


def _points(cells: Any) -> Any:
    return cells.str.strip_prefix("+").cast(float)


def _commas(cells: Any) -> Any:
    bare = cells.str.replace_all(f"[.'’{BLANKS}]", "").str.replace(",", ".", literal=True)
    return _points(bare)


def _long(cells: Any) -> Any:
    from polars import Int128

    return cells.str.strip_prefix("+").cast(Int128)


def _moments(cells: Any, zone: str = "") -> Any:
    whole = cells.str.replace(" ", "T", literal=True)
    whole = whole.str.replace(r"(T\d\d:\d\d)(Z|[+-]|$)", "${1}:00${2}")
    whole = whole.str.replace("Z$", "+00:00") if zone else whole
    return whole.str.to_datetime(f"%Y-%m-%dT%H:%M:%S%.f{zone}", time_unit="us", strict=False)


WHOLE = {
    "boolean": Whole("^(?:true|false|True|False|TRUE|FALSE)$",
                     lambda cells: cells.str.to_lowercase() == "true", "TRUE", "True"),
    "integer": Whole("^[+-]?[0-9]+$", lambda cells: cells.str.strip_prefix("+").cast(int), "+12",
                     "12"),
    # numbers with a decimal point and nothing else
    "plain": Whole(r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|NaN)$", _points,
                   "+1.5e3", "1500.0"),
    "long": Whole("", _long, "12345678901234567890", "12345678901234567890"),
    "comma number": Whole(COMMA_DIGITS, _commas, "1.234,5", "1234.5"),
    "date": Whole(f"^{DAY}$", lambda cells: cells.str.to_date("%Y-%m-%d", strict=False),
                  "2024-02-29", "2024-02-29", all=False),
    "moment": Whole(f"{MOMENT}$", _moments, "2024-02-29 12:30", "2024-02-29 12:30:00", all=False),
    "zoned": Whole(f"{MOMENT}{ZONE}$", lambda cells: _moments(cells, "%#z"),
                   "2024-02-29T12:30:05+02:00", "2024-02-29 10:30:05+00:00", all=False),
    "local": Whole("", lambda cells: _moments(cells.str.replace(f"{ZONE}$", "")),
                   "2024-02-29T12:30:05+02:00", "2024-02-29 12:30:05"),
}  # fmt: skip
