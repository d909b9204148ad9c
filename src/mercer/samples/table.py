"""Samples that are rows of a table: groups of columns, each encoded by what reads it.

`EncodedColumns` is a table before it is grouped: columns that are encoded once for several kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["EncodedColumns", "Table", "part_key"]


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


class EncodedColumns:
    """Columns 0, 1, ... of a table, encoded before any kernel reads them.

    Parameters
    ----------
    numbers : ndarray of shape (n, p)
        A column for each; those that hold objects are 0.
    objects : dict
        Column -> its encoded samples, n strings or sets.
    """

    def __init__(self, numbers: np.ndarray, objects: dict[int, Any]):
        self.numbers = numbers
        self.objects = objects

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.shape

    @property
    def dtype(self) -> np.dtype:
        return self.numbers.dtype

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows) -> EncodedColumns:
        objects = {j: samples[rows] for j, samples in self.objects.items()}
        return EncodedColumns(self.numbers[rows], objects)

    def select(self, columns: Sequence) -> Any:
        """The objects of a single column of them, or numbers, (n, columns)."""
        if len(columns) == 1 and columns[0] in self.objects:
            return self.objects[columns[0]]
        return self.numbers[:, list(columns)]

    def __repr__(self) -> str:
        return f"EncodedColumns({self.shape[0]} rows, {self.shape[1]} columns)"
