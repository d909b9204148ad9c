"""Samples: they encode the raw data of users as rows that kernels and distances can compare.

Every comparison (a distance or a kernel) names the kind of sample that it compares, and
`as_samples` encodes raw data as that kind, once per fit. All raw data enter by `read`, whatever
form they have (reading.py). The type `Samples` says what all encoded samples have in common.
Vectors are plain C-ordered arrays and sparse rows are ``scipy.sparse.csr_array``; the other kinds
are `Categories`, `Strings`, `Sets`, `Counts`, `Series`, `Bags`, `Graphs`, `Molecules`, `Trees`,
`Objects`, `Table` and, if K itself is given, `MatrixRows`. `Prepared` holds encoded samples
together with what a comparison has computed once for each of their rows. What learners, tables and
reports need to know of a kind is one `Kind` object: kind.py says what it answers, strings.py is an
example, and `register_kind` adds one from outside.
"""

from mercer.samples.categories import Categories
from mercer.samples.columns import (
    column_names,
    columns_by_kind,
    number_columns,
    refuse_missing,
    select_columns,
)
from mercer.samples.counts import Counts
from mercer.samples.graphs import Graphs, graphs_of
from mercer.samples.kind import (
    Drawing,
    Kind,
    all_kinds,
    joined,
    kind_in_cells,
    kind_named,
    kind_of,
    kind_that_holds,
    register_kind,
)
from mercer.samples.molecules import Molecules
from mercer.samples.node_graph import NodeGraph
from mercer.samples.numbers import float_array, is_number, is_whole
from mercer.samples.objects import MatrixRows, Objects, encode_matrices
from mercer.samples.protocol import Encoded, Prepared, Samples
from mercer.samples.ragged import Ragged, joined_rows
from mercer.samples.raw_data import describe
from mercer.samples.reading import as_samples, read
from mercer.samples.series import Bags, Series, series_of
from mercer.samples.sets import Sets, split_items
from mercer.samples.strings import Strings
from mercer.samples.table import EncodedColumns, Table
from mercer.samples.trees import Trees
from mercer.samples.vectors import Vectors, largest_column, refuse_objects

__all__ = [
    "Bags", "Categories", "Counts", "EncodedColumns", "Graphs", "Kind", "MatrixRows", "Molecules",
    "NodeGraph", "Objects", "Prepared", "Ragged", "Samples", "Series", "Sets", "Strings", "Table",
    "Trees", "Vectors", "all_kinds", "as_samples", "column_names", "columns_by_kind", "describe",
    "encode_matrices", "float_array", "graphs_of", "is_number", "is_whole", "joined",
    "joined_rows", "kind_in_cells", "kind_named", "kind_of", "kind_that_holds", "largest_column",
    "number_columns", "read", "refuse_missing", "refuse_objects", "register_kind",
    "select_columns", "series_of", "split_items",
]  # fmt: skip

# what other rooms use, and no user needs
from mercer.samples.chemistry import FINGERPRINTS, Fingerprint, descriptor_names
from mercer.samples.columns import as_amounts, in_numbers, plain_targets
from mercer.samples.copies import copies_of, row_marks, row_numbers
from mercer.samples.graph_forms import graph_of_fields
from mercer.samples.molecules import are_molecules, said_of_faults
from mercer.samples.node_graph import LAPLACIANS, scaled_rows
from mercer.samples.numbers import check_count, check_flag, check_not_negative, check_positive
from mercer.samples.objects import check_square
from mercer.samples.protocol import SamplesLike
from mercer.samples.ragged import mixed
from mercer.samples.raw_data import (
    LISTED,
    as_cells,
    as_given,
    check_format,
    describe_entry,
    frame_of,
    in_one_column,
    is_frame,
    is_missing,
    is_missing_value,
    listed,
    named_fields,
    object_columns,
    plain_cells,
    reading_numbers,
)
from mercer.samples.reading import (
    accepted,
    known_form,
    naming_the_kind,
    recognised,
    said_of_form,
)
from mercer.samples.series import are_series, time_first
from mercer.samples.vectors import (
    as_rows,
    encode_vectors,
    flat_images,
    plain_rows,
    rows_of_numbers,
    same_rows,
)
