"""Which kinds of columns there are."""

from __future__ import annotations

from mercer.samples import all_kinds, kind_in_cells, kind_named
from mercer.tables.column_kinds.interface import ColumnKind
from mercer.tables.column_kinds.objects import (
    MoleculeColumns,
    ObjectColumns,
    SequenceColumns,
    SeriesColumns,
    SetColumns,
    TextColumns,
    of_json,
)
from mercer.tables.column_kinds.single_values import (
    DateColumns,
    LevelColumns,
    NumberColumns,
    OrderedColumns,
    TimeColumns,
)
from mercer.tables.column_kinds.vectors import VectorColumns


class UnusedColumns(ColumnKind):
    """Identifiers, columns that are constant, empty or a duplicate, and those to leave out."""

    used = False

    def __init__(self, name: str, given: bool = False, identifies: bool = False):
        self.name, self.given, self.identifies = name, given, identifies


_KINDS = {
    kind.name: kind
    for kind in (
        NumberColumns(),
        LevelColumns(),
        DateColumns(),
        TextColumns(),
        SequenceColumns(),
        SetColumns(),
        SeriesColumns(),
        MoleculeColumns(),
        ObjectColumns(kind_named("bags")),
        VectorColumns(),
        TimeColumns(),
        OrderedColumns(),
        UnusedColumns("identifier", given=True, identifies=True),
        UnusedColumns("drop", given=True),
        *map(UnusedColumns, ("dropped", "constant", "duplicate", "empty")),
    )
}


def column_kinds() -> list[ColumnKind]:
    """All kinds of columns, those of registered kinds of samples last."""
    return [*_KINDS.values(), *_registered()]


def column_kind(name: str) -> ColumnKind:
    """The kind of column with this name; ValueError if there is none."""
    found = _KINDS.get(name) or next((k for k in _registered() if k.name == name), None)
    if found is None:
        raise ValueError(
            f"there is no kind of column {name!r}: import the module that registers it "
            "(mercer.samples.register_kind)."
        )
    return found


def object_column(cells: list) -> ColumnKind | None:
    """The kind of column whose known values all are samples of a registered kind, or objects of
    JSON that are such; or None."""
    own = next((kind for kind in _KINDS.values() if cells and kind.holds(cells)), None)
    if own is not None:
        return own
    kind = kind_in_cells(cells)
    if kind is None and cells and isinstance(cells[0], str) and cells[0].lstrip()[:1] == "{":
        kind = kind_in_cells(list(map(of_json, cells)))
    return None if kind is None else ObjectColumns(kind)


def _registered() -> list[ColumnKind]:
    return [ObjectColumns(kind) for kind in all_kinds() if kind.column and not kind.judged]
