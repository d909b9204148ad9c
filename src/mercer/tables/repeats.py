"""Rows that stand in a table more than once, or in the training table and the test table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from mercer.tables.cell_bytes import cell_bytes
from mercer.tables.column_kinds import level_text
from mercer.tables.review import Finding
from mercer.tables.row_hashes import hash_cells, mixed_hashes


def find_repeated_rows(
    values: dict[Any, np.ndarray],
    y: np.ndarray | None = None,
    identifiers: dict[Any, np.ndarray] | None = None,
) -> list[Finding]:
    """Rows that are in the table more than once, and equal rows with different targets.

    Identifiers are not compared; those that differ in rows that are equal otherwise are named.
    """
    keys = _row_keys(values)
    n, different, found = len(keys), len(set(keys)), []
    repeated = n - different
    if not repeated:
        return []
    apart = [
        str(name)
        for name, cells in (identifiers or {}).items()
        if len(set(zip(keys, _row_keys({name: cells})))) > different
    ]
    where = f" in all columns but {', '.join(apart)}" if apart else ""
    if y is None:
        return [Finding("duplicates", None, f"{_repeat(repeated, n)}{where}.")]
    both = set(zip(keys, y.tolist()))
    same = n - len(both)
    if same:
        found.append(
            f"{_repeat(same, n)}{where}, with the same target. If one event was "
            "recorded twice, keep one: a copy that is held out makes the score too good."
        )
    targets = Counter(key for key, _ in both)
    unclear = sum(1 for key in keys if targets[key] > 1)
    if unclear and unclear < n:
        found.append(
            f"{_rows(unclear)} of {n} are equal to rows with another target: no model can predict "
            "all of them."
        )
    return [Finding("duplicates", None, text) for text in found]


def find_shared_rows(train: dict[Any, np.ndarray], test: dict[Any, np.ndarray]) -> list[Finding]:
    """Rows of a test table that are in the training table too."""
    names = [name for name in train if name in test]
    known = set(_row_keys({name: train[name] for name in names}))
    keys = _row_keys({name: test[name] for name in names})
    shared = sum(key in known for key in keys)
    if not shared:
        return []
    return [
        Finding(
            "shared",
            None,
            f"{_rows(shared)} of the {len(keys)} to score on are in the training table, too: their "
            "score says nothing about new rows. Leave them out of one.",
        )
    ]


def _row_keys(values: dict[Any, np.ndarray]) -> list[int]:
    """A number for each row, the same for equal rows."""
    return mixed_hashes([_cell_keys(cells) for cells in values.values()]).tolist()


def _cell_keys(values: np.ndarray) -> np.ndarray:
    """A number for each cell, the same for equal cells in this process; 1 and "1" are equal."""
    if values.dtype != object:
        return hash_cells(values)
    return np.array([hash(cell if type(cell) is str else _as_text(cell)) for cell in values],
                    np.int64).view(np.uint64)  # fmt: skip


def _as_text(cell: Any) -> str:
    return cell_bytes(cell, level_text).decode("utf-8", "surrogateescape")


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _repeat(rows: int, n: int) -> str:
    return f"{_rows(rows)} of {n} repeat{'s' * (rows == 1)} an earlier one"
