"""What a column of a table is, and how that is said: its kind, its values, notices for the user.

column_rules.py infers all this from the values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.tables.cells import items_of
from mercer.tables.values import as_dates, as_numbers

__all__ = [
    "KINDS",
    "MANY_LEVELS",
    "ORDERS",
    "RARE",
    "Column",
    "column_notices",
    "level_text",
    "range_or_levels",
    "used_columns",
]

#: kinds that a user may give, and whether the column is used
KINDS = {"number": True, "category": True, "date": True, "text": True, "set": True,
         "identifier": False, "drop": False}  # fmt: skip

ORDERS = {"ymd": "year first", "dmy": "the day before the month", "mdy": "the month before the day"}

RARE = 3  # levels that fewer rows have are pooled, in categories of more than
MANY_LEVELS = 20


@dataclass(frozen=True, repr=False)
class Column:
    """One column of a table, and what was made of it.

    Attributes
    ----------
    name : str or int
    kind : str
        "number", "category", "date", "text" or "set": used; "identifier", "constant",
        "duplicate", "empty" or "dropped": not used.
    reason : str
    missing, distinct : int
        Rows without a value, and different values among the others.
    low, high : float or str or None
        Smallest and largest number or date; characters of the shortest and the longest text.
    levels : list of str
        The most frequent levels of a category or items of sets, at most ten.
    separator : str or None
        The separator of the items of a set that is written as text; None means blanks.
    rows : int
    decimal : str
        The decimal sign of numbers that are written as texts, "," or "."; "" if there is none.
    signs : str
        The percent and currency signs in such texts, with blanks between them.
    order : str
        Order of day, month and year in dates written as texts: "ymd", "dmy" or "mdy"; "" for
        other columns.
    """

    name: Any
    kind: str
    reason: str
    missing: int
    distinct: int
    low: Any = None
    high: Any = None
    levels: list[str] = field(default_factory=list)
    separator: str | None = None

    rows: int = 0
    decimal: str = ""
    signs: str = ""
    order: str = ""

    def __repr__(self) -> str:
        """Short, since models show those of all columns."""
        return f"Column({self.name!r}, {self.kind!r}, {self.reason!r})"

    @property
    def known(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing

    @property
    def used(self) -> bool:
        return KINDS.get(self.kind, False)


def used_columns(columns: list[Column]) -> list[Column]:
    """Those that a model reads."""
    return [column for column in columns if column.used]


def range_or_levels(
    column: Column, values: np.ndarray, counts: Counter
) -> tuple[Any, Any, list[str]]:
    """(smallest, largest, []) of numbers and dates, (None, None, levels) of categories and sets."""
    kind = column.kind
    if kind == "set":
        items: Counter = Counter()
        for value, c in counts.items():
            for item in set(items_of(value, column.separator)):
                items[level_text(item)] += c
        return None, None, [item for item, _ in items.most_common(10)]
    if kind == "number":
        numbers = as_numbers(values, column.decimal)
        numbers = numbers[~np.isnan(numbers)]
        return (
            (float(numbers.min()), float(numbers.max()), []) if len(numbers) else (None, None, [])
        )
    if kind == "date":
        dates = as_dates(values, column.order)
        dates = dates[~np.isnat(dates)].astype("datetime64[D]")
        return str(dates.min()), str(dates.max()), []
    if kind == "text":
        lengths = [len(level_text(v)) for v in counts]
        return (float(min(lengths)), float(max(lengths)), []) if lengths else (None, None, [])
    if kind == "category":
        return None, None, [level_text(v) for v, _ in counts.most_common(10)]
    return None, None, []


def level_text(value: Any) -> str:
    """A level as text, so that 1.0 and 1 are the same one."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return f"{value:.12g}"
    return str(value)


def column_notices(columns: list[Column]) -> list[str]:
    """What a user should know about columns that are set aside or filled, a sentence each."""
    notices = []
    dropped = [
        f"{c.name} ({c.reason})"
        for c in columns
        if c.kind in ("identifier", "constant", "duplicate", "empty")
    ]
    if dropped:
        notices.append(f"Not used: {_listed(dropped, '; ')}.")
    written = [f"{c.name} ({how})" for c in columns if (how := _written(c))]
    if written:
        notices.append(f"Numbers and dates that are written as texts: {_listed(written, '; ')}.")
    numeric = [c for c in columns if c.kind in ("number", "date")]
    filled = [str(c.name) for c in numeric if c.missing]
    if filled:
        notices.append(
            "Missing numbers are filled with the median, and that they were missing is a column "
            f"of its own: {_listed(filled)}."
        )
    gaps = [str(c.name) for c in columns if c.kind == "category" and c.missing]
    if gaps:
        notices.append(f"A missing category is a level of its own: {_listed(gaps)}.")
    for kind in ("text", "set"):
        empty = [str(c.name) for c in columns if c.kind == kind and c.missing]
        if empty:
            notices.append(f"A missing {kind} counts as the empty one: {_listed(empty)}.")
    return notices


def _written(column: Column) -> str:
    """How the numbers or dates of a column are written, where there is more than one way."""
    how = []
    if column.kind == "number":
        how += ["with a decimal comma"] * (column.decimal == ",")
        how += [f"with {column.signs}, which is left away"] * bool(column.signs)
    if column.kind == "date" and column.order != "ymd":
        how += [ORDERS[column.order]] if column.order else []
    return " and ".join(how)


def _listed(words: list[str], separator: str = ", ", most: int = 20) -> str:
    more = f"{separator}and {len(words) - most} more" if len(words) > most else ""
    return separator.join(words[:most]) + more
