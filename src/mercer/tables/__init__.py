"""Tables: what each column is, its values as arrays, and how columns become samples of a kernel.

A column is judged by column_rules.py; what follows from its kind is in column_kinds, one file each.
Its cells are read by the grammar in forms, and encoding.py makes samples of it.
review.py says what is wrong with a table before a fit. Files of the command are typed by
cli/text_types.py first.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from mercer.tables.cells import as_items, as_texts, column_bytes, words_of
from mercer.tables.column_kinds import (
    ColumnKind,
    column_kind,
    column_kinds,
    date_parts,
    level_text,
    level_texts,
)
from mercer.tables.column_rules import infer_columns
from mercer.tables.columns import (
    Column,
    column_notices,
    doubt_notices,
    said_of_one_column,
    unreadable,
    used_columns,
)
from mercer.tables.equal_rows import (
    RowHashes,
    find_repeated_rows,
    find_shared_rows,
    shared_rows,
)
from mercer.tables.forms import (
    COMMA_NUMBER,
    GROUPED,
    MISSING_TEXTS,
    POINT_NUMBER,
    UNITS,
    WHOLE,
    ZONE,
    Hints,
    form_of,
    is_missing_mark,
    is_one_zone,
    misfits,
    order_of,
    spelled_number,
)
from mercer.tables.identifiers import spare_telling_texts, spare_worded_texts
from mercer.tables.related import FEW_GROUPS, ORIGINS, Related, hold_trends
from mercer.tables.review import (
    Finding,
    find_leaks,
    listed,
    review_columns,
    review_target,
)
from mercer.tables.surprises import Surprises
from mercer.tables.targets import (
    LARGEST,
    RARE_SHARE,
    default_metric,
    known_order,
    levels_in_order,
    ranks_of,
    task_of,
)
from mercer.tables.values import (
    ReadTable,
    as_dates,
    as_numbers,
    histogram,
    missing_values,
    read_columns,
)

if TYPE_CHECKING:
    from mercer.tables.encoded_rows import EncodedRows, encoder_of, rows_of
    from mercer.tables.encoding import (
        MISSING,
        TREND,
        UNREAD,
        EncodedTable,
        Feature,
        TableEncoder,
        read_as,
    )
    from mercer.tables.level_effects import LevelEffect, learn_effects

__all__ = [
    "COMMA_NUMBER", "FEW_GROUPS", "GROUPED", "LARGEST", "MISSING", "MISSING_TEXTS", "ORIGINS",
    "POINT_NUMBER", "RARE_SHARE", "TREND", "UNITS", "UNREAD", "WHOLE", "ZONE", "Column",
    "ColumnKind", "EncodedRows", "EncodedTable", "Feature", "Finding", "Hints", "LevelEffect",
    "ReadTable", "Related", "RowHashes", "Surprises", "TableEncoder", "as_dates", "as_items",
    "as_numbers", "as_texts", "column_bytes", "column_kind", "column_kinds", "column_notices",
    "date_parts", "default_metric", "doubt_notices", "encoder_of", "find_leaks",
    "find_repeated_rows", "find_shared_rows", "form_of", "histogram", "hold_trends",
    "infer_columns", "is_missing_mark", "is_one_zone", "known_order", "learn_effects", "level_text",
    "level_texts", "levels_in_order", "listed", "misfits", "missing_values",
    "order_of", "ranks_of", "read_as",
    "read_columns", "review_columns", "review_target", "rows_of", "said_of_one_column",
    "shared_rows", "spare_telling_texts", "spare_worded_texts", "spelled_number", "task_of",
    "unreadable", "used_columns", "words_of",
]  # fmt: skip

#: what makes samples of a table needs scikit-learn, and is loaded on first use
_LATER = {
    "encoding": {
        "MISSING", "TREND", "UNREAD", "EncodedTable", "Feature", "TableEncoder", "read_as",
    },
    "encoded_rows": {"EncodedRows", "encoder_of", "rows_of"},
    "level_effects": {"LevelEffect", "learn_effects"},
}  # fmt: skip


def __getattr__(name: str) -> object:
    for home, names in _LATER.items():
        if name in names:
            globals()[name] = getattr(import_module(f"mercer.tables.{home}"), name)
            return globals()[name]
    raise AttributeError(f"module 'mercer.tables' has no attribute {name!r}")
