"""Columns of dates, and the numbers read from a date. That a column holds dates is decided in
column_rules.py; the forms of dates are in forms/dates.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np

from mercer.tables.column_kinds.interface import ColumnKind, Distribution, Extent
from mercer.tables.column_kinds.numbers import BINS, FILLED
from mercer.tables.forms import SAID, Hints, is_one_zone, order_of, zones_of
from mercer.tables.values import as_dates, epoch_of, histogram

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

    def extent(self, column: Any, values: np.ndarray, counts: Counter) -> Extent:
        dates = self.read(values, column)
        dates = dates[~np.isnat(dates)].astype("datetime64[D]")
        if not len(dates):
            return None, None, []
        return str(dates.min()), str(dates.max()), []

    def said(self, column: Any) -> str:
        return WRITTEN.get(column.order, "")

    def read(self, values: np.ndarray, column: Any = None) -> np.ndarray:
        return as_dates(values) if column is None else as_dates(values, column.order, column.zone)

    def series(self, column: Any, values: np.ndarray) -> dict[str, np.ndarray]:
        dates = self.read(values, column)
        missing = np.isnat(dates)
        return {
            f"{column.name}: {part}": np.where(missing, np.nan, number)
            for part, number in date_parts(dates).items()
        }

    def distribution(self, column: Any, values: np.ndarray) -> Distribution:
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
