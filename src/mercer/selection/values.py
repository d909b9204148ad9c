"""The columns of any table as numpy arrays, and the numbers and dates in their texts.

A column is float64 with NaN for missing numbers, datetime64 with NaT for missing dates, or objects
(mostly texts; sets or lists of items) with None for missing values. Texts can contain numbers
("1,200.50", "12%") or ISO dates; `spelled_number` and `spelled_date` read them.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Set
from typing import Any

import numpy as np

from mercer.samples import as_objects, describe

__all__ = [
    "MISSING_TEXTS",
    "as_dates",
    "as_numbers",
    "is_missing_mark",
    "is_object_list",
    "missing_values",
    "read_columns",
    "spelled_date",
    "spelled_number",
]

#: texts that mean a missing number or date, in lower case
MISSING_TEXTS = {"", "?", "-", "--", ".", "na", "n/a", "nan", "nat", "null", "none", "missing"}

_NUMBER = re.compile(r"[+-]?[$€£]?\s?(\d[\d,.' ]*|\.\d+)(e[+-]?\d+)?\s?%?", re.IGNORECASE)
_DATE = re.compile(
    r"(\d{4})[-/](\d{2})[-/](\d{2})([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?"
)


def read_columns(X: Any) -> dict[Any, np.ndarray]:
    """Name -> column of a data frame (pandas, polars, arrow) or a two-dimensional array or list.

    The columns of an array have the names 0, 1, 2, ... In an array of objects, a column becomes
    float64 if all its values are numbers. A list or column of strings or sets is the single
    column 0.

    Raises
    ------
    TypeError, ValueError
        X is not a table, has no rows or columns, has infinite values, or has values that are not
        numbers, texts or dates.

    Examples
    --------
    >>> {name: column.dtype.kind for name, column in read_columns([["a", 1], ["b", None]]).items()}
    {0: 'O', 1: 'f'}
    """
    import narwhals as nw
    from narwhals.dependencies import is_into_dataframe

    if is_object_list(X):
        columns = {0: _objects(as_objects(X, "texts or sets", "this estimator"), 0)}
        rows = len(columns[0])
    elif isinstance(X, nw.DataFrame) or is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        rows = len(frame)
        columns = {
            name: _series_values(series.alias(""), name)  # in some names polars sees patterns
            for name, series in zip(frame.columns, frame.iter_columns(), strict=True)
        }
    else:
        columns, rows = _array_columns(X)
    for count, what in ((rows, "sample"), (len(columns), "feature")):
        if not count:
            raise ValueError(
                f"X has 0 {what}(s) (shape=({rows}, {len(columns)})) while a minimum of 1 is "
                "required."
            )
    for name, values in columns.items():
        if values.dtype.kind == "f" and np.isinf(values).any():
            where = f"column {name!r}, row {int(np.argmax(np.isinf(values)))}"
            raise ValueError(
                f"Input X contains infinity in {where}: give a finite number, or a missing value."
            )
    return columns


def is_object_list(X: Any) -> bool:
    """Whether each row of X is one string or one set, instead of a row of values."""
    kinds: tuple = (str, bytes, Set)
    column: Any = X
    if hasattr(X, "to_pylist") and not hasattr(X, "column_names"):  # a column of arrow
        column, kinds = column.to_pylist(), (*kinds, list)
    elif len(getattr(X, "shape", ())) == 1 and hasattr(X, "to_list"):
        column, kinds = column.to_list(), (*kinds, list)
    elif not isinstance(X, (list, tuple)) and not (isinstance(X, np.ndarray) and X.ndim == 1):
        return False
    first = next((item for item in column if not _is_null(item)), None)
    return isinstance(first, kinds)


def _series_values(series: Any, name: Any) -> np.ndarray:
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric():
        return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if dtype == nw.Datetime and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if dtype == nw.Datetime or dtype == nw.Date:
        return np.array(series.cast(nw.Datetime("us")).to_numpy(), dtype="datetime64[s]")
    if dtype == nw.Duration:
        seconds = series.dt.total_seconds()
        return np.array(seconds.cast(nw.Float64).to_numpy(), np.float64) / 86400
    return _objects(series.to_list(), name)


def _array_columns(X: Any) -> tuple[dict[Any, np.ndarray], int]:
    import scipy.sparse as sp

    if sp.issparse(X):
        raise TypeError(
            "X is a sparse matrix, but this estimator reads tables: sparse input is not supported. "
            "Give X.toarray(), or use SVC or KernelRidge, which take sparse rows."
        )
    if X is None or isinstance(X, (str, bytes, dict, set)):
        raise TypeError(f"X is {describe(X)}: give a data frame or a two-dimensional array.")
    # in a list of rows that has texts, the other values must not become texts
    A = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    if A.ndim == 1 and A.dtype.kind == "O" and any(isinstance(row, (list, tuple)) for row in A):
        raise ValueError(
            "X is a list of rows of different lengths: give the same number of values in each row."
        )
    if A.dtype.kind == "c" or (A.dtype.kind == "O" and any(isinstance(v, complex) for v in A.flat)):
        raise ValueError("Complex data not supported: give real numbers.")
    if A.size == 0 and A.ndim == 1:
        raise ValueError("X is empty: at least 1 sample is needed.")
    if A.ndim != 2:
        raise ValueError(
            f"X has {A.ndim} dimension(s) where 2 are needed: Reshape your data, with "
            "X.reshape(-1, 1) for a single column or X.reshape(1, -1) for a single row."
        )
    if A.dtype.kind in "fiub":
        A = A.astype(np.float64)
    elif A.dtype.kind == "M":
        A = A.astype("datetime64[s]")
    elif A.dtype.kind == "m":
        A = A / np.timedelta64(1, "D")
    else:
        return {j: _objects(A[:, j].tolist(), j) for j in range(A.shape[1])}, len(A)
    return {j: np.ascontiguousarray(A[:, j]) for j in range(A.shape[1])}, len(A)


def _objects(values: list, name: Any) -> np.ndarray:
    """A column of Python values: numbers or dates if all values are, else objects."""
    missing = np.array([_is_null(v) for v in values], dtype=bool)
    kinds = {type(v) for v, m in zip(values, missing) if not m}
    for kind in kinds:
        if issubclass(kind, dict):
            raise TypeError(
                f"argument must be a string or a number: column {name!r} of X holds "
                f"{describe(next(v for v in values if isinstance(v, kind)))} in a cell."
            )
    if kinds and all(
        issubclass(k, (int, float, np.number, decimal.Decimal)) and k is not bool for k in kinds
    ):
        return np.array([np.nan if m else float(v) for v, m in zip(values, missing)])
    if kinds and all(issubclass(k, (datetime.date, np.datetime64)) for k in kinds):
        dates = [np.datetime64("NaT") if m else _naive(v) for v, m in zip(values, missing)]
        return np.array(dates, dtype="datetime64[s]")
    if kinds and all(issubclass(k, datetime.timedelta) for k in kinds):
        days = [np.nan if m else v.total_seconds() / 86400 for v, m in zip(values, missing)]
        return np.array(days)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    column[missing] = None
    return column


def _is_null(value: Any) -> bool:
    if isinstance(value, (Set, list, tuple, np.ndarray)):
        return False
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _naive(value: Any) -> Any:
    """A date converted to UTC, without its time zone."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def missing_values(values: np.ndarray) -> np.ndarray:
    """Mask of the missing entries of a column, (n,) bool."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.array([v is None for v in values.tolist()], dtype=bool)


def is_missing_mark(value: Any) -> bool:
    """Whether a value is a text that means a missing number or date, such as "n/a"."""
    return isinstance(value, str) and value.strip().lower() in MISSING_TEXTS


def spelled_number(text: str) -> float | None:
    """The number in a text, or None if the text is not a number, or one that no float holds.

    Thousands can be separated by commas, points, spaces or apostrophes, and "%" and currency signs
    are allowed. The last comma or point is the decimal sign. Exception: commas that separate groups
    of three digits, without a point and without a 0 at the start, separate thousands.

    Examples
    --------
    >>> [spelled_number(t) for t in ("12.5", "1,200", "1.200,5", "0,5", "-3e2", "7%", "7a", "inf")]
    [12.5, 1200.0, 1200.5, 0.5, -300.0, 7.0, None, None]
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    text = re.sub(r"[$€£%' ]", "", text)
    if text.rfind(",") > text.rfind("."):
        thousands = re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+", text)
        text = text.replace(".", "")
        text = text.replace(",", "") if thousands else text.replace(",", ".")
    else:
        text = text.replace(",", "")
    try:
        number = float(text)
    except ValueError:  # for example two decimal points
        return None
    return number if math.isfinite(number) else None


def spelled_date(text: str) -> np.datetime64 | None:
    """The ISO 8601 date or time in a text, or None; its time zone is ignored.

    Examples
    --------
    >>> spelled_date("2024-02-29 12:30"), spelled_date("29.2.2024"), spelled_date("2023-02-29")
    (np.datetime64('2024-02-29T12:30:00'), None, None)
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, time = match.group(1, 2, 3, 4)
    clock = "T" + time[1:] if time else ""
    try:
        return np.datetime64(f"{year}-{month}-{day}{clock}", "s")
    except ValueError:
        return None


def as_numbers(values: np.ndarray) -> np.ndarray:
    """A column as float64: numbers do not change, texts become their numbers, else NaN."""
    if values.dtype.kind == "f":
        return values
    if values.dtype.kind == "M":
        days = values.astype("datetime64[s]").astype(np.float64) / 86400
        return np.where(np.isnat(values), np.nan, days)
    known: dict[Any, float] = {}
    for v in set(values.tolist()):
        number = spelled_number(v) if isinstance(v, str) else v
        known[v] = float(number) if isinstance(number, (int, float, np.number)) else np.nan
    return np.array([known[v] for v in values.tolist()], dtype=np.float64)


def as_dates(values: np.ndarray) -> np.ndarray:
    """A column as datetime64[s]: texts become their dates; other texts, and numbers, NaT."""
    if values.dtype.kind == "f":
        return np.full(len(values), np.datetime64("NaT"), dtype="datetime64[s]")
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    known = {}
    for v in set(values.tolist()):
        date = spelled_date(v) if isinstance(v, str) else None
        if isinstance(v, datetime.date):
            date = np.datetime64(_naive(v), "s")
        known[v] = np.datetime64("NaT", "s") if date is None else date
    return np.array([known[v] for v in values.tolist()], dtype="datetime64[s]")
