"""Kinds of columns: what a table asks of numbers, dates, categories, texts, sets, vectors ..."""

from mercer.tables.column_kinds.all_kinds import (
    are_vectors,
    as_vector,
    column_kind,
    column_kinds,
    object_column,
)
from mercer.tables.column_kinds.interface import ColumnKind, Distribution, level_text, level_texts
from mercer.tables.column_kinds.objects import are_sequences, of_json
from mercer.tables.column_kinds.single_values import date_parts

__all__ = [
    "ColumnKind", "Distribution", "are_sequences", "are_vectors", "as_vector", "column_kind",
    "column_kinds", "date_parts", "level_text", "level_texts", "object_column", "of_json",
]  # fmt: skip
