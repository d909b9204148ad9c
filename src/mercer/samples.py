"""What a sample is: raw data in, encoded rows out.

Every comparison (a distance or a kernel) names the kind of sample that it compares, and
`as_samples` encodes raw data as that kind, once per fit. All encoded samples share one small
interface: ``X.shape[0]`` rows, ``X[rows]`` for a slice or an integer array, and ``X.dtype``, the
floating type in which comparisons are computed. Vectors are plain C-ordered arrays and sparse
rows are ``scipy.sparse.csr_array``; the other kinds are the classes below. A new kind is one
class and one entry in ``ENCODERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, cast

import numpy as np

__all__ = [
    "Categories",
    "Table",
    "as_samples",
    "column_names",
    "describe",
    "part_key",
    "refuse_objects",
    "select_columns",
]

#: kind -> what raw data of that kind looks like, for error messages
KINDS = {
    "vectors": "a 2-D array of numbers, one row per sample",
    "categories": "a 2-D array or data frame of categories, one row per sample",
    "table": "a data frame (pandas, polars, arrow) or a 2-D array",
    "strings": "a list of strings",
    "sets": "a list of sets",
}


class Categories:
    """Rows of categories, each column encoded as integers.

    Parameters
    ----------
    codes : ndarray of shape (n, c), int32
        ``levels[j][codes[i, j]]`` is the value of row i in column j.
    levels : list of c lists
        The values of each column; a missing value is the level ``None``, so that missing
        equals missing and nothing else.
    dtype : floating dtype, default=float64
        In which comparisons are computed.
    known : list of c ints, optional
        How many of each column's levels, the first ones, the training sample has; all by default.
    """

    def __init__(
        self,
        codes: np.ndarray,
        levels: list[list],
        dtype: Any = np.float64,
        known: list[int] | None = None,
    ):
        self.codes = codes
        self.levels = levels
        self.dtype = np.dtype(dtype)
        self.known = [len(column) for column in levels] if known is None else known

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape

    def __len__(self) -> int:
        return self.codes.shape[0]

    def __getitem__(self, rows) -> Categories:
        return Categories(self.codes[rows], self.levels, self.dtype, self.known)

    def __repr__(self) -> str:
        return f"Categories({self.shape[0]} rows, {self.shape[1]} columns)"


class Table:
    """Rows of several parts, each encoded by the comparison that reads it.

    Parameters
    ----------
    parts : dict
        Key -> encoded samples, all with the same number of rows. A key names the kind of sample
        and the columns (`part_key`).
    groups : list of (kind, columns)
        What the keys stand for, in the order of the parts.
    n_rows : int
    """

    def __init__(self, parts: dict[str, Any], groups: list, n_rows: int):
        self.parts = parts
        self.groups = groups
        self.n_rows = n_rows

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.parts)

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(*[p.dtype for p in self.parts.values()] or [np.float64])

    def __len__(self) -> int:
        return self.n_rows

    def part(self, comparison: Any, columns: Sequence) -> Any:
        """The columns as the samples that a comparison reads."""
        return self.parts[part_key(comparison.kind, columns)]

    def __getitem__(self, rows) -> Table:
        n_rows = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        parts = {key: part[rows] for key, part in self.parts.items()}
        return Table(parts, self.groups, n_rows)

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, parts {list(self.parts)})"


def part_key(kind: str, columns: Sequence) -> str:
    """Name of a group of columns read as one kind of sample."""
    return f"{kind}: {', '.join(map(str, columns))}"


def as_samples(X: Any, kind: str = "vectors", *, like: Any = None, reader: str = "this kernel"):
    """Encode raw data as samples of one kind; already encoded samples pass unchanged.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or sequence of objects
        Raw data, one row or item per sample.
    kind : {"vectors", "categories"}, default="vectors"
        Tables are encoded by the kernels that read them (see `mercer.kernels.TableKernel`).
    like : encoded samples, optional
        The training samples, whose codes are continued: a value that they lack gets a new
        code, equal to itself and to no training value.
    reader : str
        Who asks, for error messages: "rbf", "Match" ...

    Returns
    -------
    samples : ndarray, csr_array or Categories

    Raises
    ------
    TypeError
        X is a single string, a dict or a set, or holds another kind of sample.
    ValueError
        X is empty, not two-dimensional, or holds NaN or infinities.

    Examples
    --------
    >>> as_samples([[1, 2], [3, 4]])
    array([[1., 2.], [3., 4.]])
    >>> as_samples([["red"], ["blue"]], "categories").codes.ravel()
    array([1, 0], dtype=int32)
    """
    if isinstance(X, (Categories, Table)):
        came = "categories" if isinstance(X, Categories) else "table"
        if came != kind:
            raise TypeError(f"X is encoded as {came}, but {reader} compares {kind}.")
        return X
    if isinstance(X, (str, bytes, Mapping, Set)):
        raise TypeError(
            f"X is {describe(X)}; {reader} compares {kind}. Give {KINDS[kind]}"
            + (": wrap a single string in a list." if isinstance(X, (str, bytes)) else ".")
        )
    if kind not in ENCODERS:
        raise TypeError(f"X cannot be encoded as {kind!r}; kinds are {sorted(ENCODERS)}.")
    return ENCODERS[kind](X, like, reader)


def describe(X: Any) -> str:
    """Say in a few words what raw data are, as an error message would.

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
    item = _first_object(X)
    if item is not None:
        count = len(X)
        for types, noun in (((str,), "string"), ((bytes,), "bytes object"), ((Set,), "set"),
                            ((Mapping,), "dict")):  # fmt: skip
            if isinstance(item, types):
                return f"{count} {noun}{'s' if count != 1 else ''}"
    shape = getattr(X, "shape", None)
    if shape is not None and _is_frame(X):
        return f"a data frame of {shape[0]} rows and {shape[1]} columns"
    if shape is not None and len(shape) == 2:
        what = "numbers" if getattr(X, "dtype", np.dtype(object)).kind in "fiub" else "values"
        return f"{shape[0]} rows of {shape[1]} {what}"
    return f"a {type(X).__name__}" + (f" of shape {tuple(shape)}" if shape is not None else "")


def column_names(X: Any) -> list:
    """Names of the columns of a data frame, or 0, 1, ... for an array."""
    if _is_frame(X):
        import narwhals as nw

        return list(nw.from_native(X, eager_only=True).columns)
    return list(range(np.shape(X)[1]))


def select_columns(X: Any, columns: Sequence, reader: str = "this kernel") -> Any:
    """The named columns of a data frame, or the numbered ones of an array, still raw.

    Raises
    ------
    ValueError
        A column is missing; the message lists those that X has.
    """
    missing = [c for c in columns if c not in (present := column_names(X))]
    if missing:
        raise ValueError(
            f"X lacks the column{'s' if len(missing) > 1 else ''} {missing} that {reader} reads; "
            f"it has {present}."
        )
    if _is_frame(X):
        import narwhals as nw

        return nw.from_native(X, eager_only=True).select(*columns).to_native()
    return np.asarray(X)[:, list(columns)]


def refuse_missing(X: Any, columns: Sequence, reader: str) -> None:
    """Missing numbers are an error that names the columns that hold them."""
    counts = [int(_missing(values).sum()) for values in _object_columns(X, reader)]
    holes = {c: count for c, count in zip(columns, counts) if count}
    if holes:
        named = ", ".join(f"{c!r} ({count} rows)" for c, count in holes.items())
        raise ValueError(
            f"X has missing values (NaN or null) in columns of numbers: {named}. {reader} compares "
            "complete numbers: fill them in (sklearn.impute.SimpleImputer), or drop the rows."
        )


def number_columns(X: Any) -> tuple[list, list]:
    """Names of the columns that hold numbers, and of the others."""
    names = column_names(X)
    if _is_frame(X):
        import narwhals as nw

        schema = nw.from_native(X, eager_only=True).schema
        numbers = [name for name in names if schema[name].is_numeric()]
    elif np.asarray(X).dtype.kind in "fiu":
        numbers = names
    else:
        numbers = [j for j, column in enumerate(np.asarray(X).T) if _holds_numbers(column)]
    return numbers, [name for name in names if name not in numbers]


def _holds_numbers(column: np.ndarray) -> bool:
    return all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in column)


# --- vectors ----------------------------------------------------------------------------------


def _encode_vectors(X, like, reader):
    import scipy.sparse as sp
    from sklearn.utils import check_array

    refuse_objects(X, reader)
    if _is_frame(X) and not hasattr(X, "dtypes"):  # arrow: no array interface of its own
        import narwhals as nw

        X = nw.from_native(X, eager_only=True).to_numpy()
    floats: Any = [np.float64, np.float32]
    X = check_array(X, accept_sparse=cast(Any, "csr"), dtype=floats, order="C", input_name="X")
    if like is not None and X.shape[1] != like.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns, but the samples it is compared with have "
            f"{like.shape[1]}: give the same columns in the same order."
        )
    if sp.issparse(X):
        X = sp.csr_array(X)
        X.sum_duplicates()
    return X


#: what to do with samples that no kernel of this version compares
REMEDIES = {
    "strings": (
        "String kernels (Spectrum, GapWeighted, EditRBF) will compare strings, but this version "
        "has none yet. Until then make vectors of them, for instance by sklearn.feature_extraction."
        'text.TfidfVectorizer(analyzer="char", ngram_range=(1, 3)) with kernel="cosine"; labels '
        "rather than texts are categories: Match() compares [[label] for label in X]."
    ),
    "sets": (
        "Set kernels (Jaccard, DerivedSubsets) will compare sets, but this version has none yet. "
        "Until then give a 0/1 matrix with one column for each element, for instance by "
        "sklearn.preprocessing.MultiLabelBinarizer, and Intersection() or Cosine()."
    ),
}


def refuse_objects(X, reader):
    """Strings, sets and text columns are no vectors: say so, and what would read them."""
    item = _first_object(X)
    if isinstance(item, (str, bytes, Set, Mapping)):
        remedy = REMEDIES["sets" if isinstance(item, (Set, Mapping)) else "strings"]
        raise TypeError(f"X is {describe(X)}, but {reader} compares vectors. {remedy}")
    text = _first_text(X)
    if text is not None:
        raise TypeError(
            f"X holds the text {text!r}, but {reader} compares vectors of numbers. Use Match() "
            "on columns of categories, TableKernel() on mixed ones, or encode the text as numbers."
        )
    if _is_frame(X):
        import narwhals as nw

        schema = nw.from_native(X, eager_only=True).schema
        other = [n for n, t in schema.items() if not (t.is_numeric() or t == nw.Boolean)]
        if other:
            raise TypeError(
                f"X has columns that are not numbers: {other[:5]}, but {reader} compares vectors. "
                "Use TableKernel, or encode those columns as numbers."
            )


# --- categories -------------------------------------------------------------------------------


def _encode_categories(X, like, reader):
    columns = _object_columns(X, reader)
    if like is not None and len(columns) != like.shape[1]:
        raise ValueError(
            f"X has {len(columns)} columns, but the samples it is compared with have "
            f"{like.shape[1]}: give the same columns in the same order."
        )
    if not columns or not len(columns[0]):
        raise ValueError(f"X has no rows or no columns; {reader} needs at least one of each.")
    codes = np.empty((len(columns[0]), len(columns)), dtype=np.int32)
    levels = []
    for j, column in enumerate(columns):
        codes[:, j], found = _encode_column(column, like.levels[j] if like is not None else [])
        levels.append(found)
    if like is None:
        return Categories(codes, levels)
    return Categories(codes, levels, like.dtype, like.known)


def _encode_column(column: np.ndarray, known: list) -> tuple[np.ndarray, list]:
    """Codes of one column, and its levels: the known ones first, then new ones in order."""
    missing = _missing(column)
    present = column[~missing]
    try:
        values, inverse = np.unique(present, return_inverse=True)
    except TypeError:  # values of several types have no order: sort by type and text
        keys = np.array([f"{type(v).__name__}\0{v}" for v in present.tolist()])
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        values = present[first]
    code_of = {value: code for code, value in enumerate(known)}
    found = values.tolist() + ([None] if missing.any() else [])
    for value in found:
        code_of.setdefault(value, len(code_of))
    codes = np.empty(len(column), dtype=np.int32)
    if missing.any():
        codes[missing] = code_of[None]
    codes[~missing] = np.array([code_of[v] for v in values.tolist()], dtype=np.int32)[inverse]
    return codes, list(code_of)


def _object_columns(X, reader) -> list[np.ndarray]:
    if _is_frame(X):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return [frame[name].to_numpy() for name in frame.columns]
    import scipy.sparse as sp

    if sp.issparse(X):
        raise TypeError(f"X is a sparse matrix, but {reader} compares categories: densify it.")
    X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {reader} needs rows of categories (2).")
    return list(X.T)


def _missing(column: np.ndarray) -> np.ndarray:
    """True where a value is None, NaN, NaT or pandas.NA."""
    if column.dtype.kind in "iubSU":
        return np.zeros(len(column), dtype=bool)
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "mM":
        return np.isnat(column)
    values = column.tolist()
    return np.array([v is None or (type(v) is not str and _is_nan(v)) for v in values], dtype=bool)


def _is_nan(value: Any) -> bool:
    """NaN and NaT differ from themselves; pandas.NA answers neither yes nor no."""
    unequal = value != value
    return bool(unequal) if isinstance(unequal, (bool, np.bool_)) else True


# --- what came --------------------------------------------------------------------------------


def _is_frame(X) -> bool:
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(X, "shape"):
        return False
    import narwhals as nw
    from narwhals.dependencies import is_into_dataframe

    return is_into_dataframe(X) or isinstance(X, nw.DataFrame)


def _first_text(X) -> str | None:
    """A text that is no number in the first row of a two-dimensional array or list, else None."""
    if isinstance(X, np.ndarray):
        row = X[0] if X.ndim == 2 and X.dtype.kind in "OU" and len(X) else ()
    else:
        row = X[0] if isinstance(X, (list, tuple)) and len(X) else ()
    if not isinstance(row, (list, tuple, np.ndarray)):
        return None
    for value in row:
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return str(value)
    return None


def _first_object(X) -> Any:
    """The first item of a one-dimensional sequence of objects, else None."""
    if isinstance(X, np.ndarray):
        one_dimensional = X.ndim == 1 and X.dtype.kind in "OUS"
        return X[0] if one_dimensional and len(X) else None
    if isinstance(X, (list, tuple)):
        return X[0] if len(X) else None
    if hasattr(X, "to_numpy") and len(getattr(X, "shape", ())) == 1:  # a series
        return _first_object(np.asarray(X.to_numpy()))
    return None


ENCODERS: dict[str, Callable] = {"vectors": _encode_vectors, "categories": _encode_categories}
