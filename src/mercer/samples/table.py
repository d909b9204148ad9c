"""Samples that are rows of a table: groups of columns, each encoded by what reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Table", "part_key"]


class Table:
    """Rows of several parts, each encoded by the comparison that reads it.

    Parameters
    ----------
    parts : dict
        Key -> encoded samples, all with the same number of rows. A key names the kind of sample
        and the columns (`part_key`).
    groups : list of (kind, columns)
        What the keys stand for, in the order of the parts.
    n_rows : int
    """

    def __init__(self, parts: dict[str, Any], groups: list, n_rows: int):
        self.parts = parts
        self.groups = groups
        self.n_rows = n_rows

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.parts)

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(*[p.dtype for p in self.parts.values()] or [np.float64])

    def __len__(self) -> int:
        return self.n_rows

    def part(self, comparison: Any, columns: Sequence) -> Any:
        """The columns as the samples that a comparison reads."""
        return self.parts[part_key(comparison.kind, columns)]

    def __getitem__(self, rows) -> Table:
        n_rows = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        parts = {key: part[rows] for key, part in self.parts.items()}
        return Table(parts, self.groups, n_rows)

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, parts {list(self.parts)})"


def part_key(kind: str, columns: Sequence) -> str:
    """Name of a group of columns read as one kind of sample."""
    return f"{kind}: {', '.join(map(str, columns))}"
