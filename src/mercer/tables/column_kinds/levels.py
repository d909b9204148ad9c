"""Columns of categories."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mercer.tables.column_kinds.interface import ColumnKind, Distribution, Extent, level_text

MOST_SHOWN = 12  # levels of the distribution of a column


class LevelColumns(ColumnKind):
    """Values that are equal or not."""

    name = "category"
    levelled = True
    gap = "A missing category is a level of its own"

    def extent(self, column: Any, values: np.ndarray, counts: Counter) -> Extent:
        return None, None, [level_text(v) for v, _ in counts.most_common(10)]

    def distribution(self, column: Any, values: np.ndarray) -> Distribution:
        present = [shown_level(v) for v in values.tolist() if v is not None and v == v]
        names, sizes = np.unique(np.array(present, dtype=str), return_counts=True)
        order = np.argsort(-sizes, kind="stable")[:MOST_SHOWN]
        return Distribution(sizes[order].tolist(), levels=names[order].tolist())


def shown_level(value: Any) -> str:
    """A level or an item as a report shows it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
