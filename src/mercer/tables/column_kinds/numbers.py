"""Columns of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from mercer.tables.column_kinds.interface import ColumnKind, Distribution, Extent
from mercer.tables.forms import Hints, numbers_of, signs_of, spelled_number
from mercer.tables.values import as_hours, as_numbers, histogram

NO_EXTENT: Extent = (None, None, [])
BINS = 12  # of the distribution of a column
FILLED = (
    "Missing numbers are filled with the median, and that they were missing is a column of its own"
)


class Measured(ColumnKind):
    """Abstract: numbers in units, on a scale."""

    numeric = True
    gap = FILLED

    def extent(self, column: Any, values: np.ndarray, counts: Counter) -> Extent:
        numbers = self.read(values, column)
        numbers = numbers[~np.isnan(numbers)]
        return (float(numbers.min()), float(numbers.max()), []) if len(numbers) else NO_EXTENT

    def series(self, column: Any, values: np.ndarray) -> dict[str, np.ndarray]:
        return {str(column.name): self.read(values, column)}

    def distribution(self, column: Any, values: np.ndarray) -> Distribution:
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

    def said(self, column: Any) -> str:
        how = ["with a decimal comma"] * (column.decimal == ",")
        how += [f"with {column.signs}, which is left away"] * bool(column.signs)
        how += [f"in {column.unit}"] * bool(column.unit)
        how += ["in full, such as 1.2M as 1200000"] * column.scaled
        return " and ".join(how)

    def series(self, column: Any, values: np.ndarray) -> dict[str, np.ndarray]:
        found = super().series(column, values)
        if column.limits:
            sides = {v: column.numbers.side(v) for v in {*values.tolist()} if isinstance(v, str)}
            found[f"{column.name}: beyond a limit"] = np.array(
                [sides.get(v, 0.0) for v in values.tolist()]
            )
        return found

    def read(self, values: np.ndarray, column: Any = None) -> np.ndarray:
        return as_numbers(values, None if column is None else column.numbers)


class TimeColumns(Measured):
    """Times of day, in hours since midnight. A model reads them on a circle too, where 23:50 is
    near 0:10."""

    name = "time"
    wanted = "a time of day as in 14:30"

    def read(self, values: np.ndarray, column: Any = None) -> np.ndarray:
        return as_hours(values)

    def series(self, column: Any, values: np.ndarray) -> dict[str, np.ndarray]:
        hours = as_hours(values)
        angle = 2 * np.pi * hours / 24
        name = column.name
        return {str(name): hours, f"{name}: sine": np.sin(angle), f"{name}: cosine": np.cos(angle)}

    def range_in_words(self, low: str, high: str) -> str:
        minutes = (round(60 * float(hours)) for hours in (low, high))
        return " to ".join(f"{each // 60}:{each % 60:02d}" for each in minutes)
