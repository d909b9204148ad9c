"""What the columns of a table are: numbers, categories, dates, texts, identifiers, and why.

`read_columns` turns any table into named numpy columns (float64 with NaN for numbers, datetime64
for dates, objects with None for the rest), and `infer_columns` says what each is, with a reason
that a stranger understands. The rules are in the order of `_infer`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.samples import describe

__all__ = ["KINDS", "Column", "infer_columns", "read_columns", "used_columns"]

#: kinds that a user may give, and whether the column is used
KINDS = {"number": True, "category": True, "date": True, "text": False, "identifier": False}

MISSING_TEXTS = {"", "?", "na", "n/a", "nan", "null", "none", "-", "."}


@dataclass(frozen=True)
class Column:
    """One column of a table, and what was made of it.

    Attributes
    ----------
    name : str or int
    kind : str
        "number", "category" or "date": used; "text", "identifier", "constant", "duplicate",
        "empty" or "dropped": not used.
    reason : str
    missing, distinct : int
        Rows without a value, and different values among the others.
    """

    name: Any
    kind: str
    reason: str
    missing: int
    distinct: int

    @property
    def used(self) -> bool:
        return KINDS.get(self.kind, False)


def used_columns(columns: list[Column]) -> list[Column]:
    """Those that a model reads."""
    return [column for column in columns if column.used]


def read_columns(X: Any) -> dict[Any, np.ndarray]:
    """Name -> column of a data frame (pandas, polars, arrow) or a two-dimensional array.

    Raises
    ------
    TypeError, ValueError
        X is no table, or has no rows or columns.
    """
    import narwhals as nw
    from narwhals.dependencies import is_into_dataframe

    if isinstance(X, nw.DataFrame) or is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        columns = {
            name: _series_values(series)
            for name, series in zip(frame.columns, frame.iter_columns(), strict=True)
        }
    else:
        columns = _array_columns(X)
    rows = len(next(iter(columns.values()))) if columns else np.shape(X)[0]
    for count, what in ((rows, "sample"), (len(columns), "feature")):
        if not count:
            raise ValueError(
                f"X has 0 {what}(s) (shape=({rows}, {len(columns)})) while a minimum of 1 is "
                "required."
            )
    return columns


def _series_values(series: Any) -> np.ndarray:
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric():
        return series.cast(nw.Float64).to_numpy().astype(np.float64)
    if dtype == nw.Date or dtype == nw.Datetime:
        return series.to_numpy().astype("datetime64[s]")
    return _objects(series.to_list())


def _array_columns(X: Any) -> dict[Any, np.ndarray]:
    import scipy.sparse as sp

    if sp.issparse(X):
        raise TypeError(
            "X is a sparse matrix, but this estimator reads tables: sparse input is not supported. "
            "Densify it with X.toarray(), or use SVC or KernelRidge, which take sparse rows."
        )
    if isinstance(X, (str, bytes, dict, set)):
        raise TypeError(f"X is {describe(X)}: give a data frame or a two-dimensional array.")
    A = np.asarray(X)
    if A.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers.")
    if A.ndim != 2:
        raise ValueError(
            f"X has {A.ndim} dimension(s) where 2 are needed: Reshape your data, with "
            "X.reshape(-1, 1) for a single column or X.reshape(1, -1) for a single row."
        )
    if A.dtype.kind in "fiub":
        A = A.astype(np.float64)
        if np.isinf(A).any():
            raise ValueError("Input X contains infinity: replace or remove those values.")
        return {j: A[:, j] for j in range(A.shape[1])}
    if A.dtype.kind in "mM":
        return {j: A[:, j].astype("datetime64[s]") for j in range(A.shape[1])}
    return {j: _objects(A[:, j].tolist()) for j in range(A.shape[1])}


def _objects(values: list) -> np.ndarray:
    """An object column with None where a value is missing; float64 when all are numbers."""
    missing = [v is None or v != v or type(v).__name__ in ("NAType", "NaTType") for v in values]
    if not all(missing) and all(
        m or (isinstance(v, (int, float, np.number)) and not isinstance(v, bool))
        for v, m in zip(values, missing)
    ):
        return np.array([np.nan if m else float(v) for v, m in zip(values, missing)])
    column = np.empty(len(values), dtype=object)
    column[:] = [None if m else v for v, m in zip(values, missing)]
    for v in column:
        if isinstance(v, (dict, list, set)):
            raise TypeError(
                f"argument must be a string or a number: X holds {describe(v)} in a cell."
            )
    return column


def infer_columns(
    columns: dict[Any, np.ndarray], kind: dict | None = None, drop: Any = ()
) -> list[Column]:
    """What each column is, and why.

    Parameters
    ----------
    columns : dict
        As `read_columns` returns them.
    kind : dict, optional
        Name -> kind, in place of what would be inferred.
    drop : sequence
        Names of columns to leave out.

    Raises
    ------
    ValueError
        ``kind`` or ``drop`` names a column that is not there, or an unknown kind.

    Examples
    --------
    >>> columns = read_columns(np.array([["a", 1.5], ["b", 2.5], ["a", 3.5]], dtype=object))
    >>> [(c.name, c.kind) for c in infer_columns(columns)]
    [(0, 'category'), (1, 'number')]
    """
    kind = dict(kind or {})
    for argument, names in (("kind", kind), ("drop", drop)):
        for name in names:
            if name not in columns:
                close = difflib.get_close_matches(str(name), map(str, columns), 1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise ValueError(
                    f"{argument}: there is no column {name!r}; columns are {list(columns)}.{hint}"
                )
    for name, value in kind.items():
        if value not in KINDS:
            raise ValueError(f"kind: {name}={value!r}; kinds are {', '.join(KINDS)}.")
    found: list[Column] = []
    seen: dict[bytes, Any] = {}
    for name, values in columns.items():
        column = _infer(name, values, kind.get(name), name in drop)
        if column.used:
            fingerprint = _fingerprint(values)
            if fingerprint in seen and name not in kind:
                column = Column(
                    name, "duplicate", f"equal to column {seen[fingerprint]!r} in every row",
                    column.missing, column.distinct,
                )  # fmt: skip
            else:
                seen.setdefault(fingerprint, name)
        found.append(column)
    return found


def _infer(name: Any, values: np.ndarray, given: str | None, dropped: bool) -> Column:
    missing = _missing(values)
    present = values[~missing]
    distinct = len(set(present.tolist()))
    n, absent = len(values), int(missing.sum())

    def column(kind: str, reason: str, absent: int = absent) -> Column:
        return Column(name, kind, reason, absent, distinct)

    if dropped:
        return column("dropped", "left out on request")
    if given is not None:
        return column(given, "as you said")
    if not len(present):
        return column("empty", "every value is missing")
    if distinct == 1 and not absent:
        return column("constant", f"every value is {_short(present[0])}")
    if values.dtype.kind == "M":
        return column("date", "dates, read as year, month, day of week and elapsed days")
    if values.dtype.kind == "f":
        whole = bool((present == np.round(present)).all())
        if distinct <= 2:
            return column("category", f"{distinct} different number{'s' * (distinct > 1)}")
        if whole and distinct == n >= 20 and np.ptp(present) == n - 1:
            return column("identifier", f"counts the rows: {n} consecutive integers")
        return column("number", f"{'integers' if whole else 'numbers'}, {distinct} different")
    texts = [v for v in present.tolist() if isinstance(v, str)]
    numbers, lost = _numbers_in_text(texts) if len(texts) == len(present) else (None, 0)
    if numbers is not None and len(np.unique(numbers[~np.isnan(numbers)])) > 2:
        note = f"; {lost} that are not (such as '?') count as missing" if lost else ""
        return column("number", f"numbers stored as text{note}", absent + lost)
    length = float(np.mean([len(str(v)) for v in present.tolist()]))
    if distinct > 0.5 * n and length > 20:
        return column(
            "text", f"free text ({distinct} different values, {length:.0f} characters on average)"
        )
    if distinct == n >= 20:
        return column("identifier", f"all {n} values are different")
    types = {type(v).__name__ for v in present.tolist()}
    mixed = f"values of mixed types ({', '.join(sorted(types))}), " if len(types) > 1 else ""
    return column("category", f"{mixed}{distinct} different values")


def _numbers_in_text(texts: list[str]) -> tuple[np.ndarray | None, int]:
    """The numbers that texts spell, NaN for marks of missing values; None if others are there."""
    numbers = np.empty(len(texts))
    lost = 0
    for i, text in enumerate(texts):
        try:
            numbers[i] = float(text.replace(",", "").removesuffix("%"))
        except ValueError:
            if text.strip().lower() not in MISSING_TEXTS:
                return None, 0
            numbers[i] = np.nan
            lost += 1
    return (numbers, lost) if lost < len(texts) else (None, 0)


def as_numbers(values: np.ndarray) -> np.ndarray:
    """A column as float64: numbers as they are, texts as the numbers that they spell."""
    if values.dtype.kind == "f":
        return values
    out = np.full(len(values), np.nan)
    for i, v in enumerate(values.tolist()):
        if isinstance(v, str):
            numbers, _ = _numbers_in_text([v])
            v = numbers[0] if numbers is not None else np.nan
        if isinstance(v, (int, float)):
            out[i] = v
    return out


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.array([v is None for v in values.tolist()], dtype=bool)


def _fingerprint(values: np.ndarray) -> bytes:
    """Equal for columns that are equal in every row."""
    import hashlib

    content = values.tobytes() if values.dtype.kind in "fM" else repr(values.tolist()).encode()
    return values.dtype.kind.encode() + hashlib.sha256(content).digest()


def _short(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 30 else text[:27] + "..."
