"""The columns and the target of a table, as a report shows them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mercer.plots.fitted import is_precomputed, kernel_machine
from mercer.plots.report.contents import ColumnSummary, TargetSummary
from mercer.tables import as_dates, as_items, as_numbers, as_texts, infer_columns, read_columns

__all__ = ["column_summaries", "histogram", "target_summary"]


def column_summaries(model: Any, X: Any) -> list[ColumnSummary]:
    """The columns of a table with their distributions; none for other samples."""
    shape = getattr(X, "shape", ())
    machine = kernel_machine(model)[1]
    if len(shape) != 2 or is_precomputed(machine):
        return []
    table = read_columns(X)
    inferred = getattr(model, "columns_", None)
    automatic = inferred is not None
    if inferred is None:
        inferred = infer_columns(table)
    return [_column(c, table[c.name], automatic) for c in inferred]


def _column(column: Any, values: np.ndarray, automatic: bool) -> ColumnSummary:
    counts: list[int] = []
    low = high = None
    levels: list[str] = []
    numbers = as_numbers(values) if column.kind == "number" else None
    if numbers is not None and np.isfinite(numbers).any():
        numbers = numbers[np.isfinite(numbers)]
        low, high = float(numbers.min()), float(numbers.max())
        counts = histogram(numbers, 12)[0].tolist()
    elif column.kind == "category":
        present = [_level(v) for v in values.tolist() if v is not None and v == v]
        names, sizes = np.unique(np.array(present, dtype=str), return_counts=True)
        order = np.argsort(-sizes, kind="stable")[:12]
        levels, counts = names[order].tolist(), sizes[order].tolist()
    elif column.kind == "text":
        lengths = [len(text) for text in as_texts(values, column.name) if text]
        if lengths:
            low, high = float(min(lengths)), float(max(lengths))
            counts = histogram(np.array(lengths, float), 12)[0].tolist()
    elif column.kind == "set":
        found = Counter(
            _level(item) for items in as_items(values, column.separator, column.name)
            for item in set(items)
        )  # fmt: skip
        levels, counts = map(list, zip(*found.most_common(12))) if found else ([], [])
    elif column.kind == "date":
        dates = as_dates(values)  # texts are read too; some may be no dates
        dates = np.sort(dates[~np.isnat(dates)])
        if len(dates):
            counts = histogram(dates.astype("int64").astype(float), 12)[0].tolist()
            levels = [str(date)[:10] for date in dates[[0, -1]]]
    return ColumnSummary(
        str(column.name), column.kind, column.reason, column.used or not automatic,
        column.missing, column.distinct, counts, low, high, levels,
    )  # fmt: skip


def _level(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def target_summary(y: np.ndarray, classes: Any) -> TargetSummary:
    """Rows of each class, or a histogram of numbers."""
    if classes is not None:
        return TargetSummary(
            np.array([np.sum(y == c) for c in classes]), classes=[str(c) for c in classes]
        )
    counts, edges = histogram(y, 24)
    return TargetSummary(counts, edges=edges)


def histogram(values: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """`numpy.histogram`, which fails for numbers that are huge, or hardly differ."""
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high)) or 1.0  # differences overflow without it
    span = high / size - low / size
    shares = (values / size - low / size) / span if span else np.full(len(values), 0.5)
    counts, grid = np.histogram(shares, bins, (0.0, 1.0))
    edges = size * (low / size + span * grid) if span else low + grid - 0.5
    return counts, edges
