"""Columns that models do not read."""

from __future__ import annotations

from mercer.tables.column_kinds.interface import ColumnKind


class UnusedColumns(ColumnKind):
    """Identifiers, columns that are constant, empty or a duplicate, and those to leave out."""

    used = False

    def __init__(self, name: str, given: bool = False, identifies: bool = False):
        self.name, self.given, self.identifies = name, given, identifies
