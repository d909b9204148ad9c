"""The columns of any table as numpy arrays, and the numbers and dates in their texts.

A column is float64 with NaN for missing numbers, datetime64 with NaT for missing dates, or objects
(mostly texts; sets or lists of items) with None for missing values. Texts can contain numbers
("1,200.50", "12%") or dates; forms reads them.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import repeat
from operator import is_
from typing import Any

import numpy as np

from mercer.samples import (
    LISTED,
    SamplesLike,
    as_cells,
    as_rows,
    check_format,
    describe,
    describe_entry,
    flat_images,
    frame_of,
    graph_of_fields,
    in_one_column,
    is_frame,
    is_missing_value,
    kind_that_holds,
    known_form,
    plain_cells,
    recognised,
)
from mercer.spoken import written
from mercer.tables.forms import (
    ORDERS,
    NumberColumn,
    clock_hours,
    is_one_zone,
    numbers_of,
    order_of,
    spelled_date,
    utc,
    zones_of,
)

#: the least numbers of times since 1970 that are taken for such, in 1973
LEAST_COUNTED = {"s": 1e8, "ms": 1e11, "us": 1e14, "ns": 1e17}
EXCEL = (10_000, 80_000)  # days that Excel counts to in 1927 and 2119
EXCEL_DAY = np.datetime64("1899-12-30", "s")
COUNTED = {*LEAST_COUNTED, "excel", "year"}
MOST_SPARSE = 2**26  # entries of a sparse matrix that is read with its zeros: half a gigabyte
SAMPLED, RETURNS = 1000, 10  # cells of a long series, and how often each of them returns
EXACT = 2**53  # a float holds no more integers one by one
REAL = (int, float, np.number, decimal.Decimal, fractions.Fraction)


class ReadTable:
    """A table whose columns were read; what takes a table takes it, and does not read it again.

    ``columns`` are the values by name, as `read_columns` returns them.

    Examples
    --------
    >>> table = ReadTable.of([["a", 1], ["b", None]])
    >>> table.shape, table[[0]].columns
    ((2, 2), {0: array(['a'], dtype=object), 1: array([1.])})
    """

    def __init__(self, columns: dict[Any, np.ndarray]):
        self.columns = columns

    @classmethod
    def of(cls, X: SamplesLike) -> ReadTable:
        """Any table, read if it was not."""
        return X if isinstance(X, ReadTable) else cls(read_columns(X))

    @property
    def names(self) -> list:
        """The names of the columns."""
        return list(self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, rows: Any) -> ReadTable:
        """Some of the rows."""
        return ReadTable({name: values[rows] for name, values in self.columns.items()})

    def renamed(self, names: Sequence) -> ReadTable:
        """The same table with other names of the columns, in their order."""
        return ReadTable(dict(zip(names, self.columns.values(), strict=True)))

    def replaced(self, name: object, values: np.ndarray) -> ReadTable:
        """The same table with other values in a column."""
        return ReadTable({**self.columns, name: values})

    def without(self, names: Collection) -> ReadTable:
        """The same table without some of its columns."""
        return ReadTable({n: values for n, values in self.columns.items() if n not in names})


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

    if isinstance(X, ReadTable):
        return X.columns
    found = recognised(X)
    X = known_form(X) if found is None else X
    if found is not None:
        name = frame_of(X).columns[0] if is_frame(X) and X.shape[1] == 1 else 0
        columns = {name: _objects(found[1], name)}
        rows = len(found[1])
    elif isinstance(X, nw.DataFrame) or is_into_dataframe(X):
        frame = frame_of(X)
        rows = len(frame)
        own = frame.to_native() if frame.implementation.is_polars() else frame
        columns = {
            name: _series_values(series, name)
            for name, series in zip(frame.columns, own.iter_columns(), strict=True)
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


def _series_values(series: Any, name: object) -> np.ndarray:
    """The cells of a column of a data frame."""
    import narwhals as nw

    if not isinstance(series, nw.Series):  # of polars: of thousands, narwhals takes longer
        if str(series.dtype) == "String":
            return _texts(series)
        if series.dtype.is_float() or (series.dtype.is_integer() and _largest(series) <= EXACT):
            return np.array(series.to_numpy(), dtype=np.float64)
        if str(series.dtype) == "Date":
            return np.array(series.to_numpy(), dtype="datetime64[s]")
        series = nw.from_native(series, series_only=True)
    series = series.alias("")  # in some names polars sees patterns
    dtype = series.dtype
    large = dtype.is_integer() and _largest(series) > EXACT
    if large and _are_long(series.drop_nulls().to_list()):
        return _kept(found := series.to_list(), np.array([v is None for v in found]))
    if dtype.is_numeric():
        return np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if dtype == nw.Datetime and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if dtype == nw.Datetime or dtype == nw.Date:
        return np.array(series.cast(nw.Datetime("us")).to_numpy(), dtype="datetime64[s]")
    if dtype == nw.Duration:
        seconds = series.dt.total_seconds()
        return np.array(seconds.cast(nw.Float64).to_numpy(), np.float64) / 86400
    cells = series.to_list()
    if dtype == nw.Boolean:  # pandas.NA is missing in nullable ones
        return as_cells([None if is_missing_value(cell) else cell for cell in cells])
    if dtype == nw.Time:
        cells = [None if cell is None else cell.isoformat() for cell in cells]
    if dtype == nw.Struct and any(field.name == "edges" for field in dtype.fields):
        said = f"column {name!r}, row"
        return as_cells([c and graph_of_fields(c, f"{said} {i}") for i, c in enumerate(cells)])
    return _objects(cells, name)


def _largest(integers: Any) -> int:
    """The largest size of the integers of a series."""
    ends = integers.min(), integers.max()
    return max(0 if is_missing_value(end) else abs(int(end)) for end in ends)


def _texts(series: Any) -> np.ndarray:
    """The cells of a series of polars. Where few texts return often, each is one object: it is made
    and compared in less time."""
    some = series.gather_every(len(series) // SAMPLED) if len(series) > SAMPLED else series
    if some is series or RETURNS * some.n_unique() > len(some):
        return as_cells(series.to_list())
    from polars import Enum

    levels = series.unique(maintain_order=True).drop_nulls()
    codes = series.cast(Enum(levels)).to_physical().fill_null(len(levels))
    return as_cells([*levels.to_list(), None])[codes.to_numpy()]


def _array_columns(X: Any) -> tuple[dict[Any, np.ndarray], int]:
    """The columns of a matrix, and the number of rows."""
    import scipy.sparse as sp

    if sp.issparse((in_one_column(X) or [None])[0]):
        X = as_rows(X)
    if sp.issparse(X):
        check_format(X)
        if int(X.shape[0]) * int(X.shape[1]) > MOST_SPARSE:
            raise TypeError(
                f"X is a sparse matrix of shape {X.shape}. This estimator reads tables with all "
                "their zeros, and so large sparse input is not supported: use SVC or KernelRidge, "
                "which take sparse rows, or fewer columns (sklearn.decomposition.TruncatedSVD)."
            )
        X = X.toarray()
    if X is None or isinstance(X, (str, bytes, dict, set)):
        raise TypeError(f"X is {describe(X)}: give a data frame or a two-dimensional array.")
    # in a list of rows that has texts, the other values must not become texts
    A = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else np.asarray(X)
    if A.ndim == 1 and A.dtype.kind == "O" and len(A) and isinstance(A[0], LISTED):
        if len({len(row) if isinstance(row, LISTED) else -1 for row in A}) > 1:
            raise ValueError(
                "X is a list of rows of different lengths: give the same number of values in each "
                "row. If each row is a set or a series, give a column: pandas.Series(X)."
            )
        A = np.stack([np.asarray(row, dtype=object) for row in A])
    if A.dtype.kind == "c" or (A.dtype.kind == "O" and any(isinstance(v, complex) for v in A.flat)):
        raise ValueError("Complex data not supported: give real numbers.")
    if A.size == 0 and A.ndim == 1:
        raise ValueError("X is empty: at least 1 sample is needed.")
    if A.ndim > 2:
        A = A.astype(np.float64).reshape(len(A), -1)
    if A.ndim != 2:
        raise ValueError(
            f"X has {A.ndim} dimension(s) where 2 are needed: Reshape your data, with "
            "numpy.reshape(X, (-1, 1)) for a single column or numpy.reshape(X, (1, -1)) for a "
            "single row."
        )
    if A.dtype.kind in "fiub":
        A = A.astype(np.float64)
    elif A.dtype.kind == "M":
        A = A.astype("datetime64[s]")
    elif A.dtype.kind == "m":
        A = np.asarray(A, "m8") / np.timedelta64(1, "D")
    else:
        return {j: _objects(A[:, j].tolist(), j) for j in range(A.shape[1])}, len(A)
    return {j: np.ascontiguousarray(A[:, j]) for j in range(A.shape[1])}, len(A)


def _objects(values: list, name: Any) -> np.ndarray:
    """A column of Python values: numbers or dates if all values are, else objects."""
    values = flat_images(plain_cells(values))
    missing = np.array([is_missing_value(v) for v in values], dtype=bool)
    kinds = {type(v) for v, m in zip(values, missing) if not m}
    for kind in kinds:
        sample = next(v for v in values if isinstance(v, kind))
        if issubclass(kind, dict) and kind_that_holds(sample) is None:
            raise TypeError(
                f"argument must be a string or a number: column {name!r} of X holds "
                f"{describe(sample)} in a cell: give a column for each of its fields."
            )
    if kinds and all(issubclass(k, REAL) and k is not bool for k in kinds):
        if kinds <= {int, np.int64, np.uint64} and _are_long(v for v in values if v is not None):
            return _kept(values, missing)
        try:
            return np.array([np.nan if m else float(v) for v, m in zip(values, missing)])
        except OverflowError:
            raise ValueError(
                f"column {name!r} of X holds a whole number beyond the range of floats: give it as "
                "a text, or a smaller one."
            ) from None
    if kinds and all(issubclass(k, (datetime.date, np.datetime64)) for k in kinds):
        dates = [np.datetime64("NaT") if m else utc(v) for v, m in zip(values, missing)]
        return np.array(dates, dtype="datetime64[s]")
    if kinds and all(issubclass(k, datetime.timedelta) for k in kinds):
        days = [np.nan if m else v.total_seconds() / 86400 for v, m in zip(values, missing)]
        return np.array(days)
    if kinds and kinds <= {bytes, bytearray}:  # what is no UTF-8 is written as in Python, "\\xff"
        values = [
            None if m else v.decode(errors="backslashreplace") for v, m in zip(values, missing)
        ]
    if kinds == {datetime.time}:
        values = [None if m else v.isoformat() for v, m in zip(values, missing)]
    return _kept(values, missing)


def _kept(values: list, missing: np.ndarray) -> np.ndarray:
    column = as_cells(values)
    column[missing] = None
    return column


def _are_long(values: Iterable) -> bool:
    """Whether some integers are too long for floats, and of one length, as identifiers are.

    Other ones, such as the sizes of stars, are quantities.
    """
    lengths = {len(str(abs(int(v)))) for v in values if v}
    long = len(lengths) > 0 and 10 ** max(lengths) > EXACT
    return long and max(lengths) - min(lengths) <= 1


def missing_values(values: np.ndarray) -> np.ndarray:
    """Mask of the missing entries of a column, (n,) bool."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.fromiter(map(is_, values.tolist(), repeat(None)), bool, len(values))


def as_numbers(values: np.ndarray, form: NumberColumn | None = None) -> np.ndarray:
    """A column as float64: numbers do not change, texts become their numbers, else NaN.

    ``form`` is how the texts are written; None finds it from them.
    """
    if values.dtype.kind == "f":
        return 100 * values if form is not None and form.shares else values
    if values.dtype.kind == "M":
        days = values.astype("datetime64[s]").astype(np.float64) / 86400
        return np.where(np.isnat(values), np.nan, days)
    try:
        different = set(values.tolist())
    except TypeError:
        other = next(v for v in values.tolist() if not isinstance(v, Hashable))
        raise TypeError(
            f"X holds {describe_entry(other)} in a column of numbers: give a number there."
        ) from None
    if form is not None and 2 * len(different) > len(values):
        there = ~missing_values(values)
        texts = values[there].tolist()
        some, numbers = form.simple_cells(texts if set(map(type, texts)) == {str} else [])
        if len(some) == len(texts):
            found = np.full(len(values), np.nan)
            found[there] = numbers
            return found
    form = numbers_of(v for v in different if isinstance(v, str)) if form is None else form
    real = (int, float, np.number)
    try:
        known: dict[Any, float] = {v: float(v) for v in different if isinstance(v, real)}
        known |= form.read(v for v in different if isinstance(v, str))
        return spread(known, values)
    except OverflowError:
        raise ValueError(
            "X holds a whole number beyond the range of floats in a column of numbers: give a "
            "smaller one."
        ) from None


def spread(known: dict[Any, float], values: np.ndarray) -> np.ndarray:
    """The number of each cell, from those of the different cells; NaN where there is none."""
    cells = values.tolist()
    return np.fromiter((known.get(v, np.nan) for v in cells), np.float64, len(cells))


def as_hours(values: np.ndarray) -> np.ndarray:
    """A column of times of day as hours since midnight; 1430 is 14.5, NaN where there is none."""
    if values.dtype.kind == "M":
        hours = values.astype("datetime64[s]").astype(np.int64) % 86400 / 3600
        return np.where(np.isnat(values), np.nan, hours)
    known = {}
    for v in set(values.tolist()):
        text = f"{v:04.0f}" if isinstance(v, float) and v == v else v
        hours = clock_hours(text, asked=True) if isinstance(text, str) else None
        known |= {} if hours is None else {v: hours}
    return spread(known, values)


def as_dates(values: np.ndarray, order: str = "", zone: str | None = None) -> np.ndarray:
    """A column as datetime64[s]: texts and numbers become their dates, where they are some.

    ``order`` is the order of day, month and year in the texts; "" finds it from them. Their times
    are in UTC if the ``zone`` is "UTC" and as they stand if it is ""; None finds out whether all
    are of one zone. Numbers are read as `epoch_of` says.
    """
    if values.dtype.kind == "f":
        return _counted_dates(values, order)
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]")
    different = set(values.tolist())
    if different and all(isinstance(v, int) or v is None for v in different):  # beyond floats
        return _counted_dates(values.astype(np.float64), order)
    texts = [v for v in different if isinstance(v, str)]
    order = order if order in ORDERS else order_of(texts)[0]
    local = is_one_zone(zones_of(texts)) if zone is None else zone != "UTC"
    known = {}
    for v in different:
        date = spelled_date(v, order, local, asked=True) if isinstance(v, str) else None
        if isinstance(v, datetime.date):
            date = np.datetime64(utc(v), "s")
        known[v] = np.datetime64("NaT", "s") if date is None else date
    return np.array([known[v] for v in values.tolist()], dtype="datetime64[s]")


def epoch_of(numbers: np.ndarray) -> str:
    """What numbers of a date count since 1970: "s", "ms", "us" or "ns".

    It is "excel" for the days of Excel, "ymd" for 20240229, and "" where they are too small or too
    large for dates.

    Examples
    --------
    >>> epoch_of(np.array([1.7e9])), epoch_of(np.array([1.7e12])), epoch_of(np.array([17.0]))
    ('s', 'ms', '')
    """
    known = numbers[~np.isnan(numbers)]
    if not len(known) or known.max() < 1500:  # most numbers
        return ""
    if known.min() >= 19000101 and known.max() <= 21001231:
        return "ymd"
    if known.min() >= EXCEL[0] and known.max() <= EXCEL[1]:
        return "excel"
    if known.min() >= 1500 and known.max() <= 2200 and (known == np.round(known)).all():
        return "year"
    size = float(np.median(known)) if known.max() >= LEAST_COUNTED["s"] else 0.0  # is slow
    return next((unit for unit, least in LEAST_COUNTED.items() if least <= size < 1e3 * least), "")


def _counted_dates(numbers: np.ndarray, counted: str) -> np.ndarray:
    """Dates of numbers that count years, days or seconds."""
    dates = np.full(len(numbers), np.datetime64("NaT"), dtype="datetime64[s]")
    known = ~np.isnan(numbers)
    unit = counted if counted in COUNTED else epoch_of(numbers)
    if unit == "ymd":
        texts = [f"{v:.0f}" for v in numbers[known].tolist()]
        read = [spelled_date(f"{t[:4]}-{t[4:6]}-{t[6:]}") for t in texts]
        dates[known] = [np.datetime64("NaT", "s") if date is None else date for date in read]
    elif unit == "year":
        dates[known] = (numbers[known].astype(int) - 1970).astype("datetime64[Y]")
    elif unit == "excel":
        dates[known] = EXCEL_DAY + np.round(numbers[known] * 86400).astype("timedelta64[s]")
    elif unit:
        seconds = numbers[known] / (LEAST_COUNTED[unit] / LEAST_COUNTED["s"])
        dates[known] = seconds.clip(-1e11, 1e11).astype("int64").astype("datetime64[s]")
    return dates


def short(value: object) -> str:
    """A value for messages, in 30 characters at most."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = written(value)
    return text if len(text) <= 30 else text[:27] + "..."


def histogram(values: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """`numpy.histogram`, which fails for numbers that are huge, or hardly differ."""
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high)) or 1.0  # differences overflow without it
    span = high / size - low / size
    shares = (values / size - low / size) / span if span else np.full(len(values), 0.5)
    counts, grid = np.histogram(shares, bins, (0.0, 1.0))
    edges = size * (low / size + span * grid) if span else low + grid - 0.5
    return counts, edges
