"""Kinds of columns: what a table asks of numbers, dates, categories, texts, sets, graphs ..."""

from mercer.tables.column_kinds.dates import date_parts
from mercer.tables.column_kinds.find import column_kind, column_kinds, kind_in_cells
from mercer.tables.column_kinds.interface import ColumnKind, Distribution, level_text

__all__ = [
    "ColumnKind",
    "Distribution",
    "column_kind",
    "column_kinds",
    "date_parts",
    "kind_in_cells",
    "level_text",
]
