"""Which kinds of columns there are."""

from __future__ import annotations

import numpy as np

from mercer.samples import BUILT_IN, all_kinds
from mercer.tables.column_kinds.dates import DateColumns
from mercer.tables.column_kinds.interface import ColumnKind
from mercer.tables.column_kinds.levels import LevelColumns
from mercer.tables.column_kinds.numbers import NumberColumns
from mercer.tables.column_kinds.objects import ObjectColumns, SetColumns, TextColumns
from mercer.tables.column_kinds.unused import UnusedColumns

__all__ = ["column_kind", "column_kinds", "kind_in_cells"]

_KINDS = {
    kind.name: kind
    for kind in (
        NumberColumns(),
        LevelColumns(),
        DateColumns(),
        TextColumns(),
        SetColumns(),
        UnusedColumns("identifier", given=True, identifies=True),
        UnusedColumns("drop", given=True),
        *map(UnusedColumns, ("dropped", "constant", "duplicate", "empty")),
    )
}


def column_kinds() -> list[ColumnKind]:
    """All kinds of columns, those of registered kinds of samples last."""
    return [*_KINDS.values(), *_registered()]


def column_kind(name: str) -> ColumnKind:
    """The kind of column with this name.

    Raises
    ------
    ValueError
        There is none.
    """
    found = _KINDS.get(name) or next((k for k in _registered() if k.name == name), None)
    if found is None:
        raise ValueError(
            f"there is no kind of column {name!r}: import the module that registers it "
            "(mercer.samples.register_kind)."
        )
    return found


def kind_in_cells(present: np.ndarray) -> ColumnKind | None:
    """The registered kind of sample that all known values of a column are; None if there is none.

    Texts and sets are not among them: what they are is judged by more than their type.
    """
    if present.dtype != object or not len(present):
        return None
    values = present.tolist()
    return next(
        (kind for kind in _registered() if kind.samples and all(map(kind.samples.holds, values))),
        None,
    )


def _registered() -> list[ColumnKind]:
    return [ObjectColumns(k) for k in all_kinds() if k.column and k not in BUILT_IN]
