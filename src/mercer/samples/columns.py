"""The columns of a table as users give it: a data frame, an array, or encoded columns."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples.kind import named
from mercer.samples.numbers import is_number
from mercer.samples.protocol import SamplesLike
from mercer.samples.raw_data import (
    LISTED,
    as_given,
    first_known,
    frame_of,
    is_frame,
    is_missing,
    named_fields,
    object_columns,
)
from mercer.samples.table import EncodedColumns

#: moments and spans of time, which count days where numbers are read
TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)


def column_names(X: Any) -> list:
    """Names of the columns of a data frame, or 0, 1, ... for an array."""
    if isinstance(X, EncodedColumns):
        return list(range(X.shape[1]))
    if is_frame(X):
        return list(frame_of(X).columns)
    return list(range(np.shape(X)[1]))


def select_columns(
    X: SamplesLike,
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


def number_columns(X: SamplesLike) -> tuple[list, list]:
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
    categories together, and each column of dates or other samples for itself.

    What a column holds is judged by the rules of the automatic estimators.

    Raises
    ------
    ValueError
        A column of texts has numbers or dates that are spelled in more than one way.
    """
    table = named("mercer.tables:read_columns")(X)
    schema = frame_of(X).schema if is_frame(X) else {}
    numbers, found, levels = [], [], []
    for column in named("mercer.tables:infer_columns")(table):
        name, values, samples = column.name, table[column.name], column.of.samples
        first = first_known(values.tolist())
        if str(schema.get(name)).startswith(("Categorical", "Enum")):
            levels.append(name)  # of numbers, too: whoever made them said so
        elif values.dtype.kind == "f":
            numbers.append(name)
        elif values.dtype.kind == "M" or column.of.ordered:
            if as_amounts(values) is None:
                raise ValueError(_said_of_texts(column, first))
            numbers.append(name) if column.kind == "number" else found.append(("vectors", (name,)))
        elif samples is not None and (samples.holds(first) or not isinstance(first, str)):
            found.append((samples.name, (name,)))
        elif samples is None:
            levels.append(name)
        else:
            raise ValueError(_said_of_texts(column, first))
    groups = [("vectors", tuple(numbers)), *found, ("categories", tuple(levels))]
    return [group for group in groups if group[1]]


def _said_of_texts(column: Any, first: object) -> str:
    """The error for a column of texts that stand for another kind."""
    makers = {"number": "pandas.to_numeric", "date": "pandas.to_datetime", "set": "str.split"}
    kernel = f"Jaccard(separator={column.separator!r})" if column.of.items else "Match()"
    return (
        f"column {column.name!r} holds {column.kind}s as texts, such as {first!r:.40}: make "
        f"{column.kind}s of them ({makers.get(column.kind, 'json.loads')}), or name the kernel of "
        f"each column, such as {kernel} for {column.name!r}."
    )


def in_numbers(X: SamplesLike) -> Any:
    """Columns that are read as numbers, if some are amounts in another type: dates and durations
    become days, and decimals and texts of numbers floats. All else is returned as it is."""
    typed = X.dtype.kind in "OMm" and X.ndim == 2 if type(X) is np.ndarray else is_frame(X)
    columns = object_columns(X) if typed else []
    if all(values.dtype.kind in "fiub" for values in columns):
        return X
    amounts = [as_amounts(values) for values in columns]
    known = [values for values in amounts if values is not None]
    return np.column_stack(known) if len(known) == len(columns) else X


def in_days(X: SamplesLike) -> Any:
    """Rows of dates, durations and numbers as floats, as `in_numbers` makes them, for what reads
    vectors. All else, also rows that have texts, is returned as it is."""
    dated, first = False, ()
    if is_frame(X):
        frame = frame_of(X)
        dated = any(dtype.is_temporal() for dtype in frame.schema.values())
        first = frame.row(0) if len(frame) else ()
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        dated = X.dtype.kind in "mM"
        first = X[0] if X.dtype.kind == "O" and len(X) else ()
    elif isinstance(X, (list, tuple)) and X and isinstance(X[0], LISTED):
        first = np.atleast_1d(X[0]) if isinstance(X[0], np.ndarray) else X[0]
    dated = dated or any(isinstance(cell, TIMES) for cell in first)
    if not dated or any(isinstance(cell, str) for cell in first):
        return X
    return in_numbers(np.array(X, dtype=object) if isinstance(X, (list, tuple)) else X)


def as_amounts(values: np.ndarray) -> np.ndarray | None:
    """A column of numbers, dates, durations, or texts of numbers or of ISO dates, as floats.

    Dates and durations count days; what is missing is NaN. None if a value is no amount.

    Examples
    --------
    >>> as_amounts(np.array([datetime.date(1970, 1, 3), None]))
    array([ 2., nan])
    >>> as_amounts(np.array(["1.5", "two"], dtype=object)) is None
    True
    """
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    missing = is_missing(values)
    if values.dtype.kind not in "mM":
        cells = [None if gone else cell for cell, gone in zip(values.tolist(), missing)]
        known = [cell for cell in cells if cell is not None]
        if all(isinstance(cell, (datetime.date, np.datetime64)) for cell in known):
            values = np.array([_in_utc(cell) for cell in cells], "M8[us]")
        elif all(isinstance(cell, (datetime.timedelta, np.timedelta64)) for cell in known):
            values = np.array(cells, "m8[us]")
        elif all(is_number(cell) or isinstance(cell, (Decimal, Fraction, str)) for cell in known):
            return _of_texts(known, missing)
        else:
            return None
    days = np.full(len(values), np.nan)
    since = values if values.dtype.kind == "m" else values - np.datetime64(0, "D")
    days[~missing] = since[~missing] / np.timedelta64(1, "D")
    return days


def plain_targets(y: Any) -> np.ndarray:
    """Targets as an array whose type says what they are: whole numbers, truth values, decimals and
    dates of objects and nullable columns as such, bytes as texts, and lists of one length as rows.

    Raises
    ------
    TypeError, ValueError
        y is a sparse matrix of several columns, or has masked values.

    Examples
    --------
    >>> plain_targets(np.array([True, False], dtype=object)).dtype.kind, plain_targets([b"a"])
    ('b', array(['a'], dtype='<U1'))
    """
    if sp.issparse(y):
        if y.shape[1:] != (1,):
            raise TypeError(f"y is a sparse matrix of shape {y.shape}: give a dense array.")
        y = y.toarray()
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        masked = int(np.ma.getmaskarray(y).sum())
        raise ValueError(f"y has {masked} masked values: leave those rows out.")
    y = as_given(y, "y")
    if isinstance(y, np.ndarray) and len(y.dtype.names or ()) == 1:
        (name,) = y.dtype.names  # a data frame would make times of its dates
        y = y[name]
    y = np.asarray(named_fields(y))
    types = {type(v) for v in y.flat} if y.dtype == object else set()
    if types in ({bool}, {int}):
        with suppress(OverflowError):
            return y.astype(type(y.flat[0]))
    if types in ({np.ndarray}, {list}):
        with suppress(ValueError):  # of different lengths
            return plain_targets(np.stack(y.tolist()))
    if y.dtype.kind == "S" or types == {bytes}:  # as in columns of tables
        return np.array([v.decode(errors="backslashreplace") for v in y.flat]).reshape(y.shape)
    if types and all(issubclass(t, (Decimal, Fraction, datetime.date)) for t in types):
        amounts = as_amounts(y.ravel())
        if amounts is not None:
            days, dated = amounts.reshape(y.shape), types.isdisjoint((Decimal, Fraction))
            return _dates(days, types == {datetime.date}) if dated else days
    if y.dtype == "M8[ns]" and np.array_equal(found := y.astype("M8[us]"), y):
        return found  # as a list they are dates, where nanoseconds are integers
    return y


def _dates(days: np.ndarray, whole: bool) -> np.ndarray:
    """Days since 1970 as dates, or as times to the microsecond."""
    times = np.round(days * 86_400e6).astype(np.int64).astype("M8[us]")
    return times.astype("M8[D]") if whole else times


def _of_texts(known: list, missing: np.ndarray) -> np.ndarray | None:
    """Numbers and texts of them as floats, or texts of ISO dates as days; else None."""
    days = np.full(len(missing), np.nan)
    try:
        days[~missing] = [float(v) for v in known]
        return days
    except (ValueError, OverflowError):
        pass
    try:
        dates = [datetime.datetime.fromisoformat(v) for v in known]
    except (TypeError, ValueError):
        return None
    days[~missing] = as_amounts(np.array(dates, dtype=object))
    return days


def _in_utc(date: Any) -> Any:
    """A date without its time zone."""
    zoned = isinstance(date, datetime.datetime) and date.tzinfo is not None
    return date.astimezone(datetime.UTC).replace(tzinfo=None) if zoned else date


def _holds_numbers(column: np.ndarray) -> bool:
    return all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in column)


def refuse_missing(X: SamplesLike, columns: Sequence, reader: str) -> None:
    """Raise an error if numbers are missing, and name the columns."""
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":  # all columns at once
        counts = is_missing(X).sum(axis=0).tolist()
    else:
        counts = [int(is_missing(values).sum()) for values in object_columns(X)]
    holes = {c: count for c, count in zip(columns, counts) if count}
    if holes:
        named = ", ".join(f"{c!r} ({count} rows)" for c, count in holes.items())
        raise ValueError(
            f"X has missing values (NaN or null) in columns of numbers: {named}. {reader} cannot "
            "compare them: fill them in (sklearn.impute.SimpleImputer), or leave out the rows."
        )
