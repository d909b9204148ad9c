"""Rows of raw samples that a learner of streams keeps, to encode them again with new ones.

Encoded strings, sets and tables of two calls cannot be joined, because symbols that the first
samples lack have other codes in each call. Raw samples can.

A checksum of rows, by which a continued fit recognises them, is a CRC of 32 bits for each part of
the rows: the targets, the weights, and X or each of its columns. So it takes one pass over their
bytes, does not depend on the chunks, and says which part has changed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.persistence import read_json
from mercer.samples import (
    LISTED,
    Samples,
    SamplesLike,
    as_cells,
    check_format,
    describe,
    frame_of,
    is_frame,
    kind_of,
    known_form,
    listed,
    time_first,
)


def plain_form(X: Any) -> Any:
    """Raw samples of any library as an array, CSR rows, a data frame or a list of samples.

    All that reads streams, or takes, joins or counts raw rows, reads these four forms. A column
    becomes an array of objects; encoded samples stay as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_form(pd.Series(["tea", "milk"]))
    array(['tea', 'milk'], dtype=object)

    Raises
    ------
    TypeError, ValueError
        X has no rows that can be counted, or is a broken sparse matrix.
    """
    given, X = X, known_form(X)
    if isinstance(X, np.ndarray) and time_first(given) is not None:
        raise ValueError(
            f"X has the axes {given.dims}, but streams read points of time first: give "
            f'X.transpose("{given.dims[0]}", "time", "{given.dims[1]}").'
        )
    if hasattr(X, "__array__") and not hasattr(X, "__len__"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and not X.ndim:
        raise ValueError(f"X is {describe(X)}: give rows, as an array, a list or a data frame.")
    if sp.issparse(X):
        check_format(X)
        return sp.csr_array(X)
    if isinstance(X, (list, np.ndarray)) or is_frame(X) or kind_of(X) is not None:
        return X
    items = listed(X)
    if items is None:
        raise TypeError(f"X is {describe(X)}: give rows, as an array, a list or a data frame.")
    return items if isinstance(X, LISTED) else as_cells(items)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of raw samples.

    Examples
    --------
    >>> take_rows(["a", "b", "c"], np.array([0, 2]))
    ['a', 'c']
    """
    X = plain_form(X)
    if isinstance(X, list):
        return [X[i] for i in rows]
    return frame_of(X)[np.asarray(rows), :].to_native() if is_frame(X) else X[rows]


def join_rows(*parts: Any) -> Any:
    """The rows of the first part, then those of the next, and so on.

    Examples
    --------
    >>> join_rows(["a"], ("b", "c"))
    ['a', 'b', 'c']
    >>> join_rows(np.eye(2), np.ones((1, 2)))
    array([[1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    last = plain_form(parts[-1])
    parts = *(X if isinstance(X, dict) else plain_form(X) for X in parts[:-1]), last
    if len(parts) == 1:
        return last
    if any(map(sp.issparse, parts)):
        return sp.csr_array(sp.vstack(parts))
    if is_frame(last):
        import narwhals as nw

        like = frame_of(last)
        frames = [_like(part, like) if isinstance(part, dict) else frame_of(part) for part in parts]
        return nw.concat(frames).to_native()
    if all(isinstance(rows, np.ndarray) for rows in parts):
        return np.concatenate(parts)
    return [row for part in parts for row in part]


def plain_columns(X: Samples) -> Any:
    """A data frame as a dict of its columns, which a file can hold; anything else as it is.

    `join_rows` makes a data frame of it again, which is like the one that comes last.
    """
    if not is_frame(X):
        return X
    import narwhals as nw

    columns = {}
    for column in frame_of(X).iter_columns():
        cells, zone = column.to_numpy(), getattr(column.dtype, "time_zone", None)
        levels = isinstance(column.dtype, (nw.Categorical, nw.Enum))
        absent = column.null_count() > 0 and not column.dtype.is_float()
        if cells.dtype.kind == "O" or levels or absent or zone:
            items = [None if gone else cell for gone, cell in zip(column.is_null(), column)]
            cells = _packed(items)
        columns[column.name] = (cells, type(column.dtype).__name__)
    return columns


def _packed(items: list) -> str | np.ndarray:
    """Cells as one text of JSON, which is read a thousand times as fast as objects in a file."""
    plain = {*map(type, items)} <= {str, int, bool, type(None)}
    return json.dumps(items) if plain else as_cells(items)


def _like(columns: dict, other: Any) -> Any:
    """A data frame of the library of another one, and of its types where they were the same."""
    import narwhals as nw

    pandas_like, found = other.implementation.is_pandas_like(), {}
    known = dict(zip(other.columns, other.iter_columns()))  # other[name] fails for a number
    for name, (cells, kind) in columns.items():
        plain = not isinstance(cells, str) and cells.dtype != object
        if not plain:
            items = read_json(cells) if isinstance(cells, str) else cells.tolist()
            cells = as_cells(items) if pandas_like else items
        like, column = known[name], nw.new_series(name, cells, backend=other.implementation)
        column = column.to_native()
        if not plain and kind == type(like.dtype).__name__:
            column = _cast(column, like)
        found[name] = column
    return nw.from_dict(found, backend=other.implementation)


def _cast(column: Any, like: Any) -> Any:
    """A native column of the type of another one, as far as this holds all of its values."""
    native = like.to_native()
    if not like.implementation.is_pandas_like():
        return column.cast(getattr(native, "dtype", None) or native.type)
    dtype = native.dtype
    levels = getattr(dtype, "categories", None)
    if levels is not None and not column.dropna().isin(levels).all():
        return column.astype("category")  # of more levels
    try:
        return column.astype(dtype)
    except (TypeError, ValueError):  # a type of whole numbers without one for what is missing
        return column


def row_range(X: Any, start: int, stop: int) -> Any:
    """The rows from ``start`` up to ``stop``; of an array they are no copies.

    Examples
    --------
    >>> row_range(["a", "b", "c"], 1, 3)
    ['b', 'c']
    """
    if start == 0 and stop >= count_rows(X):
        return X
    if is_frame(X):
        return frame_of(X)[start:stop].to_native()
    return X[start:stop]


def count_rows(X: Any) -> int:
    """How many rows an array, a list, a column or a data frame has.

    Examples
    --------
    >>> count_rows(["a", "b"]), count_rows(np.ones((3, 2)))
    (2, 3)
    """
    return X.shape[0] if hasattr(X, "shape") else len(X)


Digest = Mapping[str, int]  # name of a part -> CRC of its rows up to now
PLAIN = {bool, int, float, complex, str, bytes, type(None)}  # what is written as it is


def with_rows(
    digest: Digest, X: SamplesLike, y: np.ndarray | None, weights: np.ndarray | None
) -> Digest:
    """The digest of some rows, and then of some more."""
    parts = _parts(X) | ({} if weights is None else {"weights": weights})
    return with_targets(digest, y) | {
        name: _crc(values, digest.get(name, 0)) for name, values in parts.items()
    }


def with_targets(digest: Digest, y: np.ndarray | None) -> dict[str, int]:
    """The digest of the targets of some rows, and then of some more."""
    return dict(digest) | ({} if y is None else {"targets": _crc(y, digest.get("targets", 0))})


def difference(first: Digest, second: Digest) -> str:
    """The part in which digests of as many rows differ: "targets", "weights", "rows of X" ..."""
    differ = [n for n in {**first, **second} if first.get(n) != second.get(n)]
    return min(differ, key=lambda name: (name not in ("targets", "weights"), differ.index(name)))


def same_value(first: object, second: object) -> bool:
    """Whether two parameters are equal, to the last bit of the arrays in them."""
    return b"".join(_said(first, ())) == b"".join(_said(second, ()))


def _parts(X: SamplesLike) -> dict[str, Any]:
    """The arrays in samples, with names for messages."""
    if is_frame(X):
        table = frame_of(X)
        return {f"values in column {name!r}": table.get_column(name) for name in table.columns}
    if sp.issparse(X):
        rows = sp.csr_array(X)
        return {
            "values of X": rows.data,
            "places of values in X": rows.indices.astype(np.int64, copy=False),
            "counts of values in X": np.diff(rows.indptr).astype(np.int64, copy=False),
        }
    return {"rows of X": X}


def _crc(values: Any, begin: int) -> int:
    """The CRC of values of a row each, after some others."""
    if hasattr(values, "to_numpy"):  # a column of a data frame
        values = values.to_numpy()
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUST":
        if values.dtype.kind in "biuf" and values.dtype != np.float32:
            values = values.astype(np.float64, copy=False)  # another chunk may have whole numbers
        return zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data, begin)
    values = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else values
    if isinstance(values, list) and set(map(type, values)) <= PLAIN:
        return zlib.crc32(_plain("".join([f"{value!r}," for value in values])), begin)
    for value in values:
        for part in _said(value, ()):
            begin = zlib.crc32(part, begin)
    return begin


def _plain(said: str) -> bytes:
    return said.encode("utf-8", "surrogatepass")


def _said(value: Any, within: tuple) -> Iterable[bytes]:
    """Bytes that equal values share in every process; ``within`` are the objects around it."""
    kind = type(value)
    if kind in PLAIN:
        yield _plain(f"{value!r},")
    elif isinstance(value, np.generic):
        yield from _said(value.item(), within)
    elif kind is np.ndarray and value.dtype.kind not in "OUST":
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif any(value is each for each in within):
        yield b"again"
    elif isinstance(value, (type, FunctionType, BuiltinFunctionType)):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    else:
        yield kind.__name__.encode() + b"("
        for part in _content(value):
            yield from _said(part, (*within, value))
        yield b")"


def _content(value: object) -> Iterable[Any]:
    """What an object is made of, in an order that does not depend on the process."""
    if isinstance(value, np.ndarray):
        return [value.shape, *value.ravel().tolist()]
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(b"".join(_said(each, ())) for each in value)
    if isinstance(value, Mapping):
        return [part for pair in value.items() for part in pair]
    if sp.issparse(value):
        rows = sp.csr_array(value)
        return [rows.shape, rows.indptr, rows.indices, rows.data]
    try:
        _, made_of, *state = value.__reduce_ex__(2)
    except TypeError:  # it knows no way into another process
        return []
    return [made_of, *(_lasting(part, type(value)) for part in state if part is not None)]


def _lasting(state: object, kind: type) -> Any:
    """The state of an object without what it has computed and would compute again."""
    if not isinstance(state, dict):
        return state if isinstance(state, tuple) else list(state) if np.iterable(state) else state
    names = sorted(state, key=str)
    return {
        n: state[n] for n in names if not isinstance(getattr(kind, str(n), None), cached_property)
    }
