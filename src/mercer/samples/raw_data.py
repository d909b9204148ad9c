"""Raw data of users: arrays, lists, columns and data frames, and how error messages name them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.spoken import written


def describe(X: Any) -> str:
    """Say in a few words what raw data are, for error messages.

    Examples
    --------
    >>> describe(["a", "b"]), describe({"a": 1}), describe(np.ones((3, 2)))
    ('2 strings', 'a dict', '3 rows of 2 numbers')
    """
    if isinstance(X, str):
        return "a single string"
    if isinstance(X, bytes):
        return "a single bytes object"
    if isinstance(X, Mapping):
        return "a dict"
    if isinstance(X, Set):
        return "a single set"
    if X is None:
        return "None"
    item = first_object(X)
    if item is not None:
        count = len(X)
        for types, noun in (((str,), "string"), ((bytes,), "bytes object"), ((Set,), "set"),
                            ((Mapping,), "dict")):  # fmt: skip
            if isinstance(item, types):
                return f"{count} {noun}{'s' if count != 1 else ''}"
    shape = getattr(X, "shape", None)
    if shape is not None and is_frame(X):
        return f"a data frame of {shape[0]} rows and {shape[1]} columns"
    if shape is not None and len(shape) == 2:
        what = "numbers" if getattr(X, "dtype", np.dtype(object)).kind in "fiub" else "values"
        return f"{shape[0]} rows of {shape[1]} {what}"
    return f"a {type(X).__name__}" + (f" of shape {tuple(shape)}" if shape is not None else "")


def describe_entry(row: Any) -> str:
    """Say what one entry of a list of samples is, for error messages.

    Examples
    --------
    >>> describe_entry(None), describe_entry({1}), describe_entry(2.5)
    ('missing (None)', 'a set', '2.5')
    """
    if is_missing_value(row):
        return f"missing ({row!r})"
    named = type(row).__name__
    return written(row) if isinstance(row, (int, float, np.number)) else f"a {named}"


def as_objects(X: Any, kind: str, reader: str) -> list:
    """The objects of a list, an array, a column (pandas, polars, arrow) or a frame of one column.

    Raises
    ------
    TypeError, ValueError
        If X is something else, has several columns, or is empty.
    """
    if is_frame(X):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        if len(frame.columns) != 1:
            raise ValueError(
                f"X is {describe(X)}, but {reader} compares {kind}: give one column, X[name], or "
                "use kernel.on(name) for the table."
            )
        rows = frame[frame.columns[0]].to_list()
    elif isinstance(X, (list, tuple)):
        rows = list(X)
    elif isinstance(X, np.ndarray):
        one_column = X.dtype.kind in "OUS" and X.shape[1:] in ((), (1,))
        rows = X.ravel().tolist() if one_column else None
    elif hasattr(X, "to_pylist"):  # arrow
        rows = X.to_pylist()
    else:
        one_column = len(getattr(X, "shape", ())) == 1 and hasattr(X, "to_list")
        rows = X.to_list() if one_column else None
    if rows is None:
        raise TypeError(
            f"X is {describe(X)}, but {reader} compares {kind}: give a list of {kind}, or a column "
            "of a data frame."
        )
    if not rows:
        raise ValueError(f"X is empty; {reader} needs at least one sample.")
    return rows


def object_columns(X, reader) -> list[np.ndarray]:
    if is_frame(X):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return [frame[name].to_numpy() for name in frame.columns]

    if sp.issparse(X):
        raise TypeError(
            f"X is a sparse matrix, but {reader} compares categories: give X.toarray()."
        )
    X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {reader} needs 2: rows of categories.")
    return list(X.T)


def is_missing(column: np.ndarray) -> np.ndarray:
    """True where a value is None, NaN, NaT or pandas.NA."""
    if column.dtype.kind in "iubSU":
        return np.zeros(len(column), dtype=bool)
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    values = column.tolist()
    return np.array([is_missing_value(value) for value in values], dtype=bool)


def is_missing_value(value: Any) -> bool:
    """Whether a value is None, NaN or NaT (which are not equal to themselves), or pandas.NA."""
    if value is None or type(value) is str:
        return value is None
    unequal = value != value
    return bool(unequal) if isinstance(unequal, (bool, np.bool_)) else np.ndim(unequal) == 0


def is_frame(X) -> bool:
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(X, "shape"):
        return False
    import narwhals as nw
    from narwhals.dependencies import is_into_dataframe

    return is_into_dataframe(X) or isinstance(X, nw.DataFrame)


def first_object(X) -> Any:
    """The first item of a one-dimensional sequence of objects, or None if X is not one."""
    if isinstance(X, np.ndarray):
        one_dimensional = X.ndim == 1 and X.dtype.kind in "OUS"
        return X[0] if one_dimensional and len(X) else None
    if isinstance(X, (list, tuple)):
        return X[0] if len(X) else None
    if hasattr(X, "to_numpy") and len(getattr(X, "shape", ())) == 1:  # a series
        return first_object(np.asarray(X.to_numpy()))
    return None
