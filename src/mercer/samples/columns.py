"""The columns of a table as users give it: a data frame, an array, or encoded columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples.kinds import kind_in_cells
from mercer.samples.raw_data import (
    describe,
    frame_of,
    is_frame,
    is_missing,
    known_form,
    object_columns,
)
from mercer.samples.table import EncodedColumns


def as_table(X: Any, reader: str) -> Any:
    """Return X if it is a data frame or a 2-D array; turn a list of rows into an array of objects,
    and rows with named fields into a data frame.

    Raises
    ------
    TypeError
        If X is anything else; the message says how to make a table from it.
    """
    if isinstance(X, EncodedColumns):
        return X
    X = known_form(X)
    if is_frame(X):
        frame_of(X)  # which refuses columns of one name
        return X
    remedy = "a data frame (pandas, polars, arrow), or a 2-D array or list of rows"
    if sp.issparse(X):
        remedy += ". Make a sparse matrix dense with X.toarray(), or use a kernel on vectors"
    elif isinstance(X, Mapping):
        remedy += ". If X is a dict of columns, give pandas.DataFrame(X)"
    elif isinstance(X, (np.ndarray, list, tuple)):
        rows = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)
        if rows.ndim == 2:
            return rows
    raise TypeError(f"X is {describe(X)}, but {reader} reads columns of a table. Give {remedy}.")


def column_names(X: Any) -> list:
    """Names of the columns of a data frame, or 0, 1, ... for an array."""
    if isinstance(X, EncodedColumns):
        return list(range(X.shape[1]))
    if is_frame(X):
        return list(frame_of(X).columns)
    return list(range(np.shape(X)[1]))


def select_columns(
    X: Any,
    columns: Sequence,
    reader: str = "this kernel",
    coordinates: bool = False,
    present: Collection | None = None,
) -> Any:
    """Select columns of a data frame by name, or of an array by number; they are not encoded.

    ``coordinates`` says that they are read as numbers, if they were encoded as categories.
    ``present`` are the names of the columns of X, where they are known already.

    Raises
    ------
    ValueError
        If a column is missing; the message lists the columns that X has.
    """
    present = column_names(X) if present is None else present
    missing = [c for c in columns if c not in present]
    if missing:
        raise ValueError(
            f"X lacks the column{'s' if len(missing) > 1 else ''} {missing} that {reader} reads. "
            f"It has the columns {list(present)}."
        )
    if isinstance(X, EncodedColumns):
        return X.select(columns, coordinates)
    if is_frame(X):  # by place, since names may be numbers
        frame = frame_of(X)
        return frame[:, [frame.columns.index(column) for column in columns]].to_native()
    return np.asarray(X)[:, list(columns)]


def number_columns(X: Any) -> tuple[list, list]:
    """Names of the columns that hold numbers, and of the others."""
    names = column_names(X)
    if is_frame(X):
        schema = frame_of(X).schema
        numbers = [name for name in names if schema[name].is_numeric()]
    elif np.asarray(X).dtype.kind in "fiu":
        numbers = names
    else:
        numbers = [j for j, column in enumerate(np.asarray(X).T) if _holds_numbers(column)]
    return numbers, [name for name in names if name not in numbers]


def columns_by_kind(X: Any) -> list[tuple[str, tuple]]:
    """The columns of a table by the name of their kind: those of numbers together, those of
    categories together, and each column of other samples for itself."""
    numbers, others = number_columns(X)
    found, levels = [("vectors", tuple(numbers))], []
    for column in others:
        (cells,) = object_columns(select_columns(X, [column]), "this kernel")
        kind = kind_in_cells(cells[~is_missing(cells)].tolist())
        if kind is None:
            levels.append(column)
        else:
            found.append((kind.name, (column,)))
    return [group for group in (*found, ("categories", tuple(levels))) if group[1]]


def _holds_numbers(column: np.ndarray) -> bool:
    return all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in column)


def refuse_missing(X: Any, columns: Sequence, reader: str) -> None:
    """Raise an error if numbers are missing, and name the columns."""
    counts = [int(is_missing(values).sum()) for values in object_columns(X, reader)]
    holes = {c: count for c, count in zip(columns, counts) if count}
    if holes:
        named = ", ".join(f"{c!r} ({count} rows)" for c, count in holes.items())
        raise ValueError(
            f"X has missing values (NaN or null) in columns of numbers: {named}. {reader} cannot "
            "compare them: fill them in (sklearn.impute.SimpleImputer), or leave out the rows."
        )
