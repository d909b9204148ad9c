"""Kinds of columns: what a table asks of numbers, dates, categories, texts, sets, graphs ..."""

from mercer.tables.column_kinds.dates import date_parts
from mercer.tables.column_kinds.find import column_kind, column_kinds, object_column
from mercer.tables.column_kinds.interface import ColumnKind, Distribution, level_text

__all__ = [
    "ColumnKind", "Distribution", "column_kind", "column_kinds", "date_parts", "level_text",
    "object_column",
]  # fmt: skip
