"""Tables: what each column is, its values as arrays, and how columns become samples of a kernel.

A column is judged by column_rules.py, its numbers and dates are read by values.py and spellings.py,
and encoding.py makes samples of it. review.py says what is wrong with a table before a fit.
"""

from mercer.tables.cells import as_items, as_texts, items_of, words
from mercer.tables.column_rules import infer_columns
from mercer.tables.columns import KINDS, Column, column_notices, level_text, used_columns
from mercer.tables.encoding import (
    OBJECTS,
    EncodedTable,
    Feature,
    TableEncoder,
    date_parts,
    unreadable,
)
from mercer.tables.records import KeepsRecords
from mercer.tables.related import Related
from mercer.tables.repeats import find_repeated_rows, find_shared_rows
from mercer.tables.review import (
    Finding,
    find_codes,
    find_leaks,
    find_order_in_time,
    find_strange_values,
    find_variants,
    listed,
    review_target,
)
from mercer.tables.spellings import (
    BLANKS,
    COMMA_NUMBER,
    MISSING_TEXTS,
    POINT_NUMBER,
    is_missing_mark,
    spelled_number,
)
from mercer.tables.surprises import Surprises
from mercer.tables.values import (
    ReadTable,
    as_dates,
    as_numbers,
    is_object_list,
    missing_values,
    read_columns,
)

__all__ = [
    "BLANKS",
    "COMMA_NUMBER",
    "KINDS",
    "MISSING_TEXTS",
    "OBJECTS",
    "POINT_NUMBER",
    "Column",
    "EncodedTable",
    "Feature",
    "Finding",
    "KeepsRecords",
    "ReadTable",
    "Related",
    "Surprises",
    "TableEncoder",
    "as_dates",
    "as_items",
    "as_numbers",
    "as_texts",
    "column_notices",
    "date_parts",
    "find_codes",
    "find_leaks",
    "find_order_in_time",
    "find_repeated_rows",
    "find_shared_rows",
    "find_strange_values",
    "find_variants",
    "infer_columns",
    "is_missing_mark",
    "is_object_list",
    "items_of",
    "level_text",
    "listed",
    "missing_values",
    "read_columns",
    "review_target",
    "spelled_number",
    "unreadable",
    "used_columns",
    "words",
]
