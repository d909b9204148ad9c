"""Columns with one value in each cell: numbers, dates, and categories.

That a column holds dates is decided in column_rules.py; the forms of dates are in forms/dates.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from mercer.tables.column_kinds.interface import (
    ColumnKind,
    Distribution,
    Extent,
    WrittenColumn,
    level_text,
)
from mercer.tables.forms import (
    ORDERED,
    SAID,
    Hints,
    is_one_zone,
    numbers_of,
    order_of,
    signs_of,
    spelled_number,
    zones_of,
)
from mercer.tables.values import as_dates, as_hours, as_numbers, epoch_of, histogram, spread

MOST_SHOWN = 12  # levels of the distribution of a column


class LevelColumns(ColumnKind):
    """Values that are equal or not."""

    name = "category"
    levelled = True
    gap = "A missing category is a level of its own"

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        return None, None, [level_text(v) for v, _ in counts.most_common(10)]

    def said(self, column: WrittenColumn) -> str:
        return ORDERED[column.order].said if column.order in ORDERED else ""

    def series(self, column: WrittenColumn, values: np.ndarray) -> dict[str, np.ndarray]:
        if column.order not in ORDERED:
            return {}
        number = ORDERED[column.order].number
        known = {v: number(v) for v in set(values.tolist()) if isinstance(v, str)}
        known = {v: n for v, n in known.items() if n is not None}
        return {f"{column.name}: order": spread(known, values)}

    def distribution(self, column: WrittenColumn, values: np.ndarray) -> Distribution:
        present = [level_text(v) for v in values.tolist() if v is not None and v == v]
        names, sizes = np.unique(np.array(present, dtype=str), return_counts=True)
        order = np.argsort(-sizes, kind="stable")[:MOST_SHOWN]
        return Distribution(sizes[order].tolist(), levels=names[order].tolist())


class OrderedColumns(ColumnKind):
    """Levels from the lowest to the highest, which a user names: a model reads their ranks."""

    name = "ordered"
    numeric = True
    gap = "A missing level counts as the middle one"

    def formed(self, form: str) -> dict[str, Any]:
        levels = [level.strip() for level in form.split("<")]
        if len(set(levels)) < max(2, len(levels)) or "" in levels:
            raise ValueError(
                f"kind: 'ordered:{form}': give levels from the lowest to the highest, as in "
                "ordered:low<mid<high."
            )
        return {"levels": levels}

    def read(self, values: np.ndarray, column: WrittenColumn | None = None) -> np.ndarray:
        rank = {level.casefold(): i for i, level in enumerate(column.levels if column else [])}
        ranks = [rank.get(level_text(v).strip().casefold(), np.nan) for v in values.tolist()]
        return np.array(ranks, dtype=np.float64)

    def series(self, column: WrittenColumn, values: np.ndarray) -> dict[str, np.ndarray]:
        return {str(column.name): self.read(values, column)}

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        return 0.0, max(0.0, len(column.levels) - 1.0), column.levels


NO_EXTENT: Extent = (None, None, [])
BINS = 12  # of the distribution of a column
FILLED = (
    "Missing numbers are filled with the median, and that they were missing is a column of its own"
)


class Measured(ColumnKind):
    """Abstract: numbers in units, on a scale."""

    numeric = True
    gap = FILLED

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        numbers = self.read(values, column)
        numbers = numbers[~np.isnan(numbers)]
        return (float(numbers.min()), float(numbers.max()), []) if len(numbers) else NO_EXTENT

    def series(self, column: WrittenColumn, values: np.ndarray) -> dict[str, np.ndarray]:
        return {str(column.name): self.read(values, column)}

    def distribution(self, column: WrittenColumn, values: np.ndarray) -> Distribution:
        numbers = self.read(values, column)
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return Distribution([])
        counts = histogram(numbers, BINS)[0].tolist()
        return Distribution(counts, float(numbers.min()), float(numbers.max()))


class NumberColumns(Measured):
    """Numbers, which may be written as texts."""

    name = "number"
    wanted = "a number"
    forms: ClassVar = {"decimal-comma": {"decimal": ","}, "decimal-point": {"decimal": "."}}

    def written(self, texts: Collection[str], hints: Hints) -> dict[str, Any]:
        numbers = (t for t in texts if spelled_number(t) is not None)
        return {"signs": signs_of(numbers), **asdict(numbers_of(texts, hints.decimal))}

    def said(self, column: WrittenColumn) -> str:
        how = ["with a decimal comma"] * (column.decimal == ",")
        how += [f"with {column.signs}, which is left away"] * bool(column.signs)
        how += [f"in {column.unit}"] * bool(column.unit)
        how += ["in full, such as 1.2M as 1200000"] * column.scaled
        return " and ".join(how)

    def series(self, column: WrittenColumn, values: np.ndarray) -> dict[str, np.ndarray]:
        found = super().series(column, values)
        if column.limits:
            sides = {v: column.numbers.side(v) for v in {*values.tolist()} if isinstance(v, str)}
            found[f"{column.name}: beyond a limit"] = np.array(
                [sides.get(v, 0.0) for v in values.tolist()]
            )
        return found

    def read(self, values: np.ndarray, column: WrittenColumn | None = None) -> np.ndarray:
        return as_numbers(values, None if column is None else column.numbers)


class TimeColumns(Measured):
    """Times of day, in hours since midnight. A model reads them on a circle too, where 23:50 is
    near 0:10."""

    name = "time"
    wanted = "a time of day as in 14:30"

    def read(self, values: np.ndarray, column: WrittenColumn | None = None) -> np.ndarray:
        return as_hours(values)

    def series(self, column: WrittenColumn, values: np.ndarray) -> dict[str, np.ndarray]:
        hours = as_hours(values)
        angle = 2 * np.pi * hours / 24
        name = column.name
        return {str(name): hours, f"{name}: sine": np.sin(angle), f"{name}: cosine": np.cos(angle)}

    def range_in_words(self, low: str, high: str) -> str:
        minutes = (round(60 * float(hours)) for hours in (low, high))
        return " to ".join(f"{each // 60}:{each % 60:02d}" for each in minutes)


WRITTEN = {
    "dmy": "the day before the month",
    "mdy": "the month before the day",
    "s": "seconds since 1970",
    "ms": "milliseconds since 1970",
    "us": "microseconds since 1970",
    "ns": "nanoseconds since 1970",
    "excel": "days as Excel counts them",
}


class DateColumns(ColumnKind):
    """Dates with or without times of day, which may be written as texts."""

    name = "date"
    wanted = "a date as in 2024-02-29, nor a number of seconds or milliseconds since 1970"
    in_time = True
    gap = FILLED
    forms: ClassVar = {
        **{said: {"order": order} for order, said in SAID.items()},
        "excel": {"order": "excel"}, "seconds": {"order": "s"}, "milliseconds": {"order": "ms"},
    }  # fmt: skip

    def written(self, texts: Collection[str], hints: Hints) -> dict[str, Any]:
        zone = "" if is_one_zone(zones_of(texts)) else "UTC"
        return {"order": order_of(texts, hints.order)[0], "zone": zone}

    def counted(self, present: np.ndarray) -> dict[str, str]:
        return {} if present.dtype.kind == "M" else {"order": epoch_of(present.astype(np.float64))}

    def extent(self, column: WrittenColumn, values: np.ndarray, counts: Counter) -> Extent:
        dates = self.read(values, column)
        dates = dates[~np.isnat(dates)].astype("datetime64[D]")
        if not len(dates):
            return None, None, []
        return str(dates.min()), str(dates.max()), []

    def said(self, column: WrittenColumn) -> str:
        return WRITTEN.get(column.order, "")

    def read(self, values: np.ndarray, column: WrittenColumn | None = None) -> np.ndarray:
        return as_dates(values) if column is None else as_dates(values, column.order, column.zone)

    def series(self, column: WrittenColumn, values: np.ndarray) -> dict[str, np.ndarray]:
        dates = self.read(values, column)
        missing = np.isnat(dates)
        return {
            f"{column.name}: {part}": np.where(missing, np.nan, number)
            for part, number in date_parts(dates).items()
        }

    def distribution(self, column: WrittenColumn, values: np.ndarray) -> Distribution:
        dates = as_dates(values)  # of texts too, some of which may be none
        dates = np.sort(dates[~np.isnat(dates)])
        if not len(dates):
            return Distribution([])
        counts = histogram(dates.astype("int64").astype(float), BINS)[0].tolist()
        return Distribution(counts, levels=[str(date)[:10] for date in dates[[0, -1]]])

    def levels_in_words(self, levels: list[str], distinct: int) -> str:
        return self.range_in_words(*levels)


def date_parts(dates: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers that are read from dates, by their names; of a missing date any numbers."""
    days, seconds = dates.astype("datetime64[D]"), dates.astype("int64")
    return {
        "elapsed days": seconds / 86400,
        "year": days.astype("datetime64[Y]").astype(int) + 1970,
        "month": days.astype("datetime64[M]").astype(int) % 12 + 1,
        # by which a model knows holidays: of daily rides R² was .85 without it, and .96 with it
        "day of month": (days - days.astype("datetime64[M]")).astype(int) + 1,
        "day of week": (days.astype(int) + 3) % 7,  # day 0, 1970-01-01, was a Thursday
        "hour": seconds % 86400 // 3600,
        "minute": seconds % 3600 // 60,
    }
