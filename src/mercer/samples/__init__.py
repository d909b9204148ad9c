"""What a sample is: raw data in, encoded rows out.

Every comparison (a distance or a kernel) names the kind of sample that it compares, and
`as_samples` encodes raw data as that kind, once per fit. All encoded samples share one small
interface: ``X.shape[0]`` rows, ``X[rows]`` for a slice or an integer array, and ``X.dtype``, the
floating type in which comparisons are computed. Vectors are plain C-ordered arrays and sparse
rows are ``scipy.sparse.csr_array``; the other kinds are `Categories`, `Strings`, `Sets` and
`Table`. A new kind is one class and one entry each in ``ENCODERS`` and ``ENCODED`` (encode.py).
"""

from mercer.samples.categories import Categories
from mercer.samples.encode import KINDS, as_samples, refuse_one
from mercer.samples.frames import (
    as_objects,
    as_table,
    column_names,
    describe,
    number_columns,
    refuse_missing,
    select_columns,
)
from mercer.samples.ragged import Ragged
from mercer.samples.sets import Sets, split_items
from mercer.samples.strings import Strings
from mercer.samples.table import EncodedColumns, Table, part_key
from mercer.samples.vectors import refuse_objects

__all__ = [
    "KINDS",
    "Categories",
    "EncodedColumns",
    "Ragged",
    "Sets",
    "Strings",
    "Table",
    "as_objects",
    "as_samples",
    "as_table",
    "column_names",
    "describe",
    "number_columns",
    "part_key",
    "refuse_missing",
    "refuse_objects",
    "refuse_one",
    "select_columns",
    "split_items",
]
