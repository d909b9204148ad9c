"""Columns of categories."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mercer.tables.column_kinds.interface import ColumnKind, Distribution, Extent, level_text
from mercer.tables.forms import ORDERED
from mercer.tables.values import spread

MOST_SHOWN = 12  # levels of the distribution of a column


class LevelColumns(ColumnKind):
    """Values that are equal or not."""

    name = "category"
    levelled = True
    gap = "A missing category is a level of its own"

    def extent(self, column: Any, values: np.ndarray, counts: Counter) -> Extent:
        return None, None, [level_text(v) for v, _ in counts.most_common(10)]

    def said(self, column: Any) -> str:
        return ORDERED[column.order].said if column.order in ORDERED else ""

    def series(self, column: Any, values: np.ndarray) -> dict[str, np.ndarray]:
        if column.order not in ORDERED:
            return {}
        number = ORDERED[column.order].number
        known = {v: number(v) for v in set(values.tolist()) if isinstance(v, str)}
        known = {v: n for v, n in known.items() if n is not None}
        return {f"{column.name}: order": spread(known, values)}

    def distribution(self, column: Any, values: np.ndarray) -> Distribution:
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

    def read(self, values: np.ndarray, column: Any = None) -> np.ndarray:
        rank = {level.casefold(): i for i, level in enumerate(column.levels if column else [])}
        ranks = [rank.get(level_text(v).strip().casefold(), np.nan) for v in values.tolist()]
        return np.array(ranks, dtype=np.float64)

    def series(self, column: Any, values: np.ndarray) -> dict[str, np.ndarray]:
        return {str(column.name): self.read(values, column)}

    def extent(self, column: Any, values: np.ndarray, counts: Counter) -> Extent:
        return 0.0, max(0.0, len(column.levels) - 1.0), column.levels
