"""Raw data of users: arrays, lists, columns, data frames and sparse matrices, and their checks."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Mapping, MappingView, Sequence, Set
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples.protocol import Samples, SamplesLike
from mercer.spoken import a_type, written

#: containers of Python and NumPy whose items have an order
LISTED = (list, tuple, np.ndarray)
#: types of samples -> what one of them is that is given alone, and in a list
SAID = (
    (str, "a single string", "string"), (bytes, "a single bytes object", "bytes object"),
    (Mapping, "a dict", "dict"), (Set, "a single set", "set"), (type(None), "None", ""),
)  # fmt: skip

SAID_OF_LEVELS = (
    "the index of X has several levels, and each row of X was read as a sample: if X is a frame of "
    "series as in sktime, give mercer.samples.series_of(X), else X.reset_index(drop=True)."
)


def describe(X: object) -> str:
    """Say in a few words what raw data are, for error messages.

    Examples
    --------
    >>> describe(["a", "b"]), describe({"a": 1}), describe(np.ones((3, 2)))
    ('2 strings', 'a dict', '3 rows of 2 numbers')
    """
    for types, single, _ in SAID:
        if isinstance(X, types):
            return single
    items = listed(X) or []
    for types, _, noun in SAID:
        if items and isinstance(items[0], types) and noun:
            return f"{len(items)} {noun}{'s' if len(items) != 1 else ''}"
    shape = getattr(X, "shape", None)
    if shape is not None and is_frame(X):
        return f"a data frame of {shape[0]} rows and {shape[1]} columns"
    if shape is not None and len(shape) == 2:
        what = "numbers" if getattr(X, "dtype", np.dtype(object)).kind in "fiub" else "values"
        return f"{shape[0]} rows of {shape[1]} {what}"
    return a_type(X) + (f" of shape {tuple(shape)}" if shape is not None else "")


def describe_entry(row: object) -> str:
    """Say what one entry of a list of samples is, for error messages.

    Examples
    --------
    >>> describe_entry(None), describe_entry({1}), describe_entry(2.5)
    ('missing (None)', 'a set', '2.5')
    """
    if is_missing_value(row):
        return f"missing ({row!r})"
    number = isinstance(row, (int, float, np.number))
    return written(row) if number else a_type(row)


def as_objects(X: SamplesLike, kind: str, reader: str) -> list:
    """The objects of a list, an array, a column (pandas, polars, arrow) or a frame of one column.

    Raises
    ------
    TypeError, ValueError
        If X is something else, has several columns, or is empty.
    """
    rows = in_one_column(X)
    if rows is None and is_frame(X):
        raise ValueError(
            f"X is {describe(X)}, but {reader} compares {kind}: give one column, X[name], or use "
            "kernel.on(name) for the table."
        )
    if rows is None or (isinstance(X, np.ndarray) and X.dtype.kind not in "OUST"):
        raise TypeError(
            f"X is {describe(X)}, but {reader} compares {kind}: give a list of {kind}, or a column "
            "of a data frame."
        )
    if not rows:
        raise ValueError(f"X is empty; {reader} needs at least one sample.")
    return rows


def in_one_column(X: Any) -> list | None:
    """The items of a list or a column, and of a frame or an array of one column; else None."""
    if getattr(X, "shape", ())[1:] != (1,) or sp.issparse(X):
        return None if is_frame(X) else listed(X)
    if is_frame(X):
        return plain_cells(next(frame_of(X).iter_columns()).to_list())
    return listed(X[:, 0] if getattr(X, "ndim", 0) == 2 else X)  # tables that were read have rows


def listed(X: Any) -> list | None:
    """The items of a list, of an array of one dimension or of a column (pandas, polars, arrow);
    None for all else."""
    if isinstance(X, (list, tuple)):
        return plain_cells(list(X))
    one_column = len(getattr(X, "shape", ())) == 1
    if isinstance(X, np.ndarray):
        return plain_cells(X.tolist()) if one_column else None
    if hasattr(X, "to_pylist") and not hasattr(X, "column_names"):  # a column of arrow
        return X.to_pylist()
    return plain_cells(X.to_list()) if one_column and hasattr(X, "to_list") else None


def plain_cells(items: Any) -> Any:
    """Items that are columns, tensors or arrays of objects as arrays of numbers, or as lists.

    What the first known item is decides whether the others are looked at.

    Examples
    --------
    >>> plain_cells([np.array(["tea", "milk"], dtype=object), np.array(2.5)])
    [['tea', 'milk'], 2.5]
    """
    first = first_known(items)
    if isinstance(first, np.ndarray) or _is_column(first) or _is_tensor(first):
        return list(map(_plain_cell, items))
    return items


def _plain_cell(cell: object) -> Any:
    """A cell as Python objects where it is an array of objects, a tensor or a column."""
    if not isinstance(cell, np.ndarray):
        cell = _of_tensor(cell) if _is_tensor(cell) else cell
        cell = np.asarray(cell) if _is_column(cell) else cell
    if not isinstance(cell, np.ndarray) or (cell.ndim and cell.dtype != object):
        return cell
    found = cell.tolist()
    return plain_cells(found) if isinstance(found, list) else _plain_cell(found)


def _is_column(cell: object) -> bool:
    """Whether something is a column of pandas, polars or arrow, or a sequence as one of them."""
    of_arrow = hasattr(cell, "to_pylist") and not hasattr(cell, "column_names")
    of_arrow = of_arrow or isinstance(cell, (array, deque))
    return of_arrow or (hasattr(cell, "to_list") and len(getattr(cell, "shape", ())) == 1)


def as_cells(items: list) -> np.ndarray:
    """Items as an array of objects, also where they are lists of one length."""
    return np.fromiter(items, object, len(items))


def rows_of_cells(X: SamplesLike) -> np.ndarray:
    """Rows of values in a list or an array as an array, whose values stay as they are."""
    cells = listed(X) or [None]
    X = cells if isinstance(cells[0], LISTED) else X
    return np.asarray(X, dtype=None if hasattr(X, "dtype") else object)


def check_format(X: Any, name: str = "X") -> None:
    """Raise ValueError if X is a sparse matrix whose arrays do not fit together.

    SciPy trusts the arrays of a matrix once it is made, and so does native code: an index that is
    out of range would let them read memory that is not theirs. Other data are not looked at.

    Examples
    --------
    >>> A = sp.csr_array([[0.0, 1.0], [2.0, 0.0]])
    >>> check_format(A)
    >>> A.indices[0] = 7
    >>> check_format(A)
    Traceback (most recent call last):
    ValueError: X is a sparse matrix (csr) of shape (2, 2) that is broken: its column numbers reach
    from 0 to 7, but must be from 0 to 1. Build it anew from its entries, such as
    scipy.sparse.csr_array((values, (rows, columns)), shape=X.shape).
    """
    if not sp.issparse(X):
        return
    broken = FAULTS[X.format](X)
    if broken is not None:
        raise ValueError(
            f"{name} is a sparse matrix ({X.format}) of shape {X.shape} that is broken: {broken}. "
            "Build it anew from its entries, such as scipy.sparse.csr_array((values, (rows, "
            f"columns)), shape={name}.shape)."
        )


def _fault_of_compressed(A: Any) -> str | None:
    """The fault of a matrix in compressed rows or columns, also one of blocks, or None."""
    tall, wide = ("column", "row") if A.format == "csc" else ("row", "column")
    lines, width = (1, *A.shape)[-2:] if A.format != "csc" else A.shape[::-1]
    if A.format == "bsr":
        if A.data.ndim != 3 or min(A.data.shape[1:]) < 1:
            return f"its data have the shape {A.data.shape}, and are no list of blocks"
        height, breadth = A.data.shape[1:]
        if lines % height or width % breadth:
            return f"blocks of shape {(height, breadth)} do not divide it"
        lines, width = lines // height, width // breadth
    elif A.data.ndim != 1:
        return f"its data have {A.data.ndim} dimensions, and must have 1"
    for part, noun in ((A.indptr, "indptr"), (A.indices, "indices")):
        if part.ndim != 1 or part.dtype.kind != "i":
            return f"its {noun} are no list of whole numbers"
    if len(A.indptr) != lines + 1:
        return f"its indptr has {len(A.indptr)} numbers, but must have {lines + 1}"
    if len(A.indices) != len(A.data):
        return f"it has {len(A.data)} values and {len(A.indices)} {wide} numbers"
    if A.indptr[0] != 0 or (A.indptr[1:] < A.indptr[:-1]).any():
        return f"its indptr, where each {tall} begins, must start at 0 and never fall"
    if A.indptr[-1] > len(A.data):
        return f"its indptr counts {A.indptr[-1]} values, but it has {len(A.data)}"
    return _fault_of_numbers(A.indices, width, wide)


def _fault_of_entries(A: Any) -> str | None:
    """The fault of a matrix that lists its entries (coo), or None."""
    nouns = ("row", "column") if A.ndim == 2 else ("place",) * A.ndim
    for numbers, size, noun in zip(A.coords, A.shape, nouns):
        if numbers.ndim != 1 or numbers.dtype.kind != "i":
            return f"its {noun} numbers are no list of whole numbers"
        if A.data.shape != numbers.shape:
            return f"it has {A.data.size} values and {len(numbers)} {noun} numbers"
        fault = _fault_of_numbers(numbers, size, noun)
        if fault is not None:
            return fault
    return None if len(A.coords) == A.ndim else f"it has numbers of {len(A.coords)} axes"


def _fault_of_diagonals(A: Any) -> str | None:
    """What is wrong with a matrix in diagonals, or None."""
    if A.data.ndim == 2 and A.offsets.shape == A.data.shape[:1] and A.offsets.dtype.kind == "i":
        if len(np.unique(A.offsets)) < len(A.offsets):
            return "it has one diagonal twice"
        far = A.offsets[(A.offsets < -(2**31)) | (A.offsets >= 2**31)]  # scipy would cut them off
        return f"it has a diagonal {far[0]} beyond all columns" if len(far) else None
    return "it needs one whole offset for each of its diagonals"


def _fault_of_lists(A: Any) -> str | None:
    """What is wrong with a matrix in lists of rows, or None."""
    if not (A.rows.shape == A.data.shape == A.shape[:1]):
        return f"it must have {A.shape[0]} lists of column numbers, and as many of values"
    for numbers, values in zip(A.rows, A.data):
        if not isinstance(numbers, list) or not isinstance(values, list):
            return "a row of it is no list"
        if len(numbers) != len(values):
            return f"a row of it has {len(values)} values and {len(numbers)} column numbers"
        if any(a >= b for a, b in pairwise(numbers)):
            return "the column numbers of a row of it do not ascend"
    return _fault_of_numbers(np.array([j for row in A.rows for j in row]), A.shape[1], "column")


def _fault_of_keys(A: Any) -> str | None:
    places = np.array(list(A.keys())).reshape(-1, A.ndim).T
    nouns = ("row", "column") if A.ndim == 2 else ("place",)
    faults = map(_fault_of_numbers, places, A.shape, nouns)
    return next((fault for fault in faults if fault is not None), None)


def _fault_of_numbers(numbers: np.ndarray, size: int, noun: str) -> str | None:
    """What is wrong with numbers of rows or columns, or None."""
    if not len(numbers):
        return None
    low, high = numbers.min(), numbers.max()
    if low >= 0 and high < size:
        return None
    return f"its {noun} numbers reach from {low} to {high}, but must be from 0 to {size - 1}"


GRAPH = ("edges", "links")  # where a dict has the edges of a graph
FAULTS = {
    "csr": _fault_of_compressed, "csc": _fault_of_compressed, "bsr": _fault_of_compressed,
    "coo": _fault_of_entries, "dia": _fault_of_diagonals, "lil": _fault_of_lists,
    "dok": _fault_of_keys,
}  # fmt: skip


def named_fields(X: object) -> Any:
    """Rows with named fields as a data frame; all else as it is.

    They are dicts in a list or a column, structured arrays, and columns of structs (polars, arrow).
    A dict with the key "edges" or "links" is a graph.

    Examples
    --------
    >>> named_fields([{"age": 3, "sex": "f"}, {"age": 4}]).columns.tolist()
    ['age', 'sex']
    """
    if isinstance(X, np.ndarray) and X.dtype.names:
        if X.shape[1:] not in ((), (1,)):
            raise ValueError(
                f"X has named fields and the shape {X.shape}: give one row of fields for each "
                "sample, such as X.ravel()."
            )
        fields = {name: X.ravel()[name] for name in X.dtype.names}
        return _frame({name: v if v.ndim == 1 else list(v) for name, v in fields.items()})
    rows = X if isinstance(X, (list, tuple)) else []
    if str(getattr(X, "dtype", getattr(X, "type", ""))).lower().startswith(("struct", "object")):
        rows = listed(X) or []
    records = rows and isinstance(rows[0], Mapping) and all(isinstance(r, Mapping) for r in rows)
    if not records or sp.issparse(rows[0]) or not rows[0].keys().isdisjoint(GRAPH):
        return X
    names = dict.fromkeys(name for row in rows for name in row)
    return _frame({name: [row.get(name) for row in rows] for name in names})


def as_given(X: object, name: str = "X") -> Any:
    """What a user gave, but sequences and arrays of other types as lists and plain arrays, tensors
    of torch as arrays or sparse matrices, and batches of arrow as tables.

    A TypeError if it has no rows, but says how to make some: an iterator, a lazy frame of polars,
    or a dataset of xarray.
    """
    if isinstance(X, np.ndarray):
        X = np.asarray(X) if isinstance(X, np.matrix) else X
        return X.astype(object) if X.dtype.kind == "T" else X  # NumPy's own strings
    if isinstance(X, (list, tuple)):
        return plain_cells(X)
    if isinstance(X, (Iterator, MappingView)):
        raise TypeError(f"{name} is {a_type(X)}, and no list: give list({name}).")
    if type(X).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a LazyFrame, without rows yet: give {name}.collect().")
    if isinstance(X, Mapping) and hasattr(X, "to_dataframe"):
        raise TypeError(
            f"{name} is a dataset of several arrays: give {name}.to_dataframe(), or one array, "
            f"{name}[name]."
        )
    if type(X).__name__ == "RecordBatch":
        return import_module("pyarrow").Table.from_batches([X])
    if isinstance(X, Sequence) and not isinstance(X, (str, bytes, bytearray)):
        return np.asarray(X) if isinstance(X, memoryview) else list(X)
    return _of_tensor(X) if _is_tensor(X) else X


def _is_tensor(X: object) -> bool:
    return hasattr(X, "detach") and hasattr(X, "layout")


def _of_tensor(X: Any) -> Any:
    """A tensor on any device, with or without a gradient; numbers of two bytes in float32."""
    X = X.detach().cpu()
    if X.is_floating_point() and X.dtype.itemsize < np.float32().itemsize:
        X = X.float()  # NumPy has no bfloat16
    if str(X.layout) == "torch.strided":
        return X.numpy()
    X = X.to_sparse().coalesce()
    return sp.coo_array((X.values().numpy(), tuple(X.indices().numpy())), shape=tuple(X.shape))


def plain_array(X: SamplesLike) -> Any:
    """Arrays of other libraries, such as those of dask; all else as it is."""
    other = hasattr(X, "__array__") and len(getattr(X, "shape", ())) > 0
    other = other and not isinstance(X, np.ndarray) and not sp.issparse(X) and not is_frame(X)
    return np.asarray(X) if other and not _is_column(X) else X


def _frame(columns: dict[Any, Any]) -> Any:
    """A data frame of a library that is installed."""
    for library in ("pandas", "polars"):
        with suppress(ImportError):
            return import_module(library).DataFrame(columns)
    raise TypeError(
        "X has rows with named fields, which are read by pandas or polars: install one of them, or "
        "give a 2-D array."
    )


def object_columns(X: SamplesLike) -> list[np.ndarray]:
    """The cells of each column of a data frame or a 2-D array."""
    if is_frame(X):
        return [_plain_column(column.to_numpy()) for column in frame_of(X).iter_columns()]
    return list(map(_plain_column, np.asarray(X).T))


def _plain_column(cells: np.ndarray) -> np.ndarray:
    items = cells.tolist() if cells.dtype == object else []
    plain = plain_cells(items)
    return cells if plain is items else as_cells(plain)


def is_missing(column: np.ndarray) -> np.ndarray:
    """True where a value is None, NaN, NaT or pandas.NA; also of an array of typed columns."""
    if column.dtype.kind in "iubSU":
        return np.zeros(column.shape, dtype=bool)
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    values = column.tolist()
    return np.array([is_missing_value(value) for value in values], dtype=bool)


def is_missing_value(value: object) -> bool:
    """Whether a value is None, NaN or NaT (which are not equal to themselves), or pandas.NA."""
    if value is None or type(value) is str or sp.issparse(value):  # one may be broken
        return value is None
    if isinstance(value, np.ndarray):
        return not value.ndim and is_missing_value(value.item())
    if getattr(value, "shape", ()):  # a column in a cell, which may refuse to be compared
        return False
    unequal = value != value
    return bool(unequal) if isinstance(unequal, (bool, np.bool_)) else np.ndim(unequal) == 0


def is_frame(X) -> bool:
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(X, "shape"):
        return False
    import narwhals as nw
    from narwhals.dependencies import is_into_dataframe

    return is_into_dataframe(X) or isinstance(X, nw.DataFrame)


def frame_of(X: Any, name: str = "X") -> Any:
    """A data frame of any library as narwhals reads it, whose columns have different names."""
    import narwhals as nw

    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError:
        names = list(X.columns)
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"{name} has {names.count(twice)} columns with the name {twice!r}: give each column "
            "its own."
        ) from None


def index_levels(X: SamplesLike) -> int:
    """How many levels the index of a pandas data frame has; 0 for what has no index."""
    levels = getattr(getattr(X, "index", None), "nlevels", 0)
    return levels if levels and is_frame(X) else 0


@contextmanager
def reading_numbers(X: Any, reader: str, name: str = "X") -> Iterator[None]:
    """While scikit-learn checks X: what NumPy raises becomes an error that says which cell is no
    number. Rows whose cells are masked are refused, since NumPy would read what is below."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"{name} has {int(np.ma.getmaskarray(X).sum())} masked values, but {reader} reads all: "
            f"give {name}.filled(value), or leave those rows out."
        )
    if is_frame(X):
        frame_of(X)
    try:
        yield
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        cell = _no_number(X, name)
        if not cell:
            raise
        wanted = TypeError if isinstance(error, TypeError) else ValueError
        said = f" ({error})" if wanted is TypeError else ""
        raise wanted(
            f"{cell}, but {reader} reads rows of numbers, all of one length.{said}"
        ) from None


def _no_number(X: Samples, name: str) -> str:
    """What keeps X from being an array of numbers, with its place; "" if nothing does."""
    if is_frame(X) and not X.shape[1]:
        return f"{name} has no columns"
    if sp.issparse(X):
        return "" if X.dtype.kind in "biufc" else f"{name} is a sparse matrix of {X.dtype}"
    try:
        values = np.asarray(X)
        if values.dtype.kind != "c":
            values.astype(np.float64, casting="same_kind" if values.dtype.names else "unsafe")
        return ""
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        pass
    try:
        cells = np.asarray(X, dtype=object)
    except (TypeError, ValueError, RecursionError):
        return f"{name} is {describe(X)} of different lengths"
    if cells.ndim == 1 and all(isinstance(cell, LISTED) for cell in cells):
        i = next((i for i, cell in enumerate(cells) if len(cell) != len(cells[0])), 0)
        if i:
            return f"{name}[0] has {len(cells[0])} values and {name}[{i}] has {len(cells[i])}"
    for place, cell in np.ndenumerate(cells):
        at = f"{name}{list(place)}" if place else name
        try:
            float(cell)
        except OverflowError:
            return f"{at} is a whole number beyond the range of floats"
        except (TypeError, ValueError):
            return f"{at} is {describe_entry(cell) if not isinstance(cell, str) else repr(cell)}"
    return f"{name} is {describe(X)}"


def first_known(items: list) -> Any:
    """The first item that is not missing; None if there is none."""
    return next((item for item in items if not is_missing_value(item)), None)
