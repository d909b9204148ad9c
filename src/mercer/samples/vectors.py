"""Samples that are vectors: dense C-ordered arrays, or sparse rows as ``csr_array``.

`Vectors` and `SparseRows` are such arrays, but know that their numbers were checked, so that they
are not read once more where they are encoded again. Only `encode_vectors` says so, and rows that
are taken from them keep it; what is computed from them is a plain array.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp

from mercer.callers import first_outside
from mercer.persistence import fields
from mercer.samples.columns import column_names, in_days, refuse_missing
from mercer.samples.kind import Kind, kind_that_holds, named
from mercer.samples.numbers import is_number
from mercer.samples.protocol import Samples, SamplesLike
from mercer.samples.raw_data import (
    LISTED,
    SAID_OF_LEVELS,
    check_format,
    describe,
    first_known,
    frame_of,
    in_one_column,
    index_levels,
    is_frame,
    is_missing_value,
    listed,
    named_fields,
    reading_numbers,
)

LEAST = 2  # numbers of a vector in a cell
IMAGES = 4  # axes of images with channels
PLAIN = 2**14  # most numbers of rows that are first looked at as if nothing were wrong with them


@fields()
class Vectors(np.ndarray):
    """Dense rows of floats, (n, d) in C order.

    Attributes
    ----------
    checked : {"", "finite", "gaps"}
        What is known of the numbers: nothing, that all are finite, or that all are finite or NaN.

    Examples
    --------
    >>> Vectors(np.eye(2))[:1].shape
    (1, 2)
    """

    checked = ""

    def __new__(cls, rows: np.ndarray) -> Self:
        return np.asarray(rows).view(cls)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results computed from vectors are plain arrays."""
        return array[()] if return_scalar else array.view(np.ndarray)

    def __reduce__(self) -> Any:
        """Pickles hold a plain array."""
        return plain_rows(self).__reduce__()

    def __setitem__(self, rows: Any, values: Any) -> None:
        self.checked = ""
        super().__setitem__(rows, values)

    def __getitem__(self, rows: Any) -> Any:
        found = np.ndarray.__getitem__(self, rows)
        if self.checked and type(rows) is not tuple and type(found) is Vectors:
            found.checked = self.checked if found.ndim == 2 and found.flags.c_contiguous else ""
        return found

    def __repr__(self) -> str:
        return repr(plain_rows(self))


@fields()
class SparseRows(sp.csr_array):
    """Sparse rows of floats, (n, d); ``checked`` is as that of `Vectors`."""

    checked = ""

    def __getitem__(self, rows: Any) -> Any:
        found = super().__getitem__(rows)
        if type(found) is SparseRows:
            found.checked = self.checked
        return found


def is_checked(X: SamplesLike, missing: bool = False) -> bool:
    """Whether X are vectors that were encoded and need not be checked again; ``missing`` says
    whether NaN may be among them."""
    known = X.checked if isinstance(X, (Vectors, SparseRows)) else ""
    return known == "finite" or (missing and known == "gaps")


def same_rows(X: Any, Z: Any) -> bool:
    """Whether two arrays of vectors are the same rows in memory."""
    arrays = isinstance(X, np.ndarray) and isinstance(Z, np.ndarray)
    return arrays and len(X) == len(Z) and X.__array_interface__ == Z.__array_interface__


def plain_rows(X: Any) -> Any:
    """Vectors as a plain array or sparse array, with the same memory; other samples as they are."""
    if isinstance(X, Vectors):
        return X.view(np.ndarray)
    return sp.csr_array(X) if isinstance(X, SparseRows) else X


class VectorsKind(Kind):
    """Vectors: rows of numbers, dense or sparse."""

    name = "vectors"
    looks = "a 2-D array of numbers, one row per sample"
    encoded = (np.ndarray, sp.csr_array)
    coordinates = True
    counted = True
    distance = "mercer.distances:Minkowski"
    tags: ClassVar = {"sparse": True}

    def __init__(self):
        self.forms = (of_images,)

    def is_encoded(self, X: SamplesLike) -> bool:
        return is_checked(X)

    def rows(self, X: SamplesLike, reader: str) -> Any:
        return encode_vectors(X, None, reader)

    def recognise(self, X: SamplesLike, items: list | None) -> list | None:
        """Lists of one length in the cells of a column, which hold what sets of items do not: a
        fraction, or a number twice."""
        return items if items is not None and are_vectors(items) else None

    def encode(self, X: SamplesLike, like: Samples | None, reader: str) -> Any:
        return encode_vectors(X, like, reader)

    def check_columns(self, X: Any, columns: Sequence, reader: str) -> None:
        X = rows_of_numbers(X, reader)
        if np.shape(X)[1:] == (len(columns),):
            refuse_missing(X, columns, reader)

    def joined(self, X: Samples, more: Samples) -> Any:
        if sp.issparse(X) or sp.issparse(more):
            return sp.csr_array(sp.vstack([X, more])).astype(X.dtype)
        return np.concatenate([plain_rows(X), plain_rows(more).astype(X.dtype, copy=False)])

    def make_kernels(self) -> list:
        return [named("mercer.kernels:RBF")("scale")]


def encode_vectors(X, like, reader, missing=False):
    """Raw data as dense or sparse rows of floats; ``missing`` says whether NaN may stay."""
    if is_checked(X, missing):
        return X
    check_format(X)
    plain = plain_vectors(X) if like is None and not missing else None
    if plain is not None:
        return plain
    X = rows_of_numbers(X, reader)
    if is_frame(X) and not hasattr(X, "dtypes"):  # arrow frames cannot be read as arrays directly
        X = frame_of(X).to_numpy()
    floats: Any = [np.float64, np.float32]
    finite: Any = "allow-nan" if missing else True
    # it looks for NaN by a sum, which huge numbers overflow
    with np.errstate(all="ignore"), reading_numbers(X, reader):
        try:
            from sklearn.utils import check_array

            X = check_array(
                X,
                accept_sparse=cast(Any, "csr"),
                dtype=floats,
                order="C",
                ensure_all_finite=finite,
                input_name="X",
            )
        except ValueError as error:
            if not any(word in str(error) for word in ("NaN", "infinity")):
                raise
            raise ValueError(f"{error} {_not_finite(X, missing)}".rstrip()) from None
    if like is not None and X.shape[1] != like.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns, but the samples it is compared with have "
            f"{like.shape[1]}: give the same columns in the same order."
        )
    if sp.issparse(X):
        rows: Any = SparseRows(X)
        rows.sum_duplicates()
    else:
        rows = Vectors(X)
        if same_rows(rows, like):
            return like
    rows.checked = "gaps" if missing else "finite"
    return rows


def rows_of_numbers(X: SamplesLike, reader: str) -> Any:
    """Vectors in all forms as rows that scikit-learn reads; dates count days. Objects and texts are
    refused."""
    if index_levels(X) == 2:
        warnings.warn(SAID_OF_LEVELS, stacklevel=first_outside())
    X = in_days(as_rows(X))
    refuse_objects(X, reader)
    one = first_known(listed(X) or [])
    column = len(getattr(X, "shape", ())) == 1 and hasattr(X, "to_frame")
    if column or isinstance(one, (int, float, np.number, np.bool_)):
        give = "X.to_frame()" if column else "numpy.reshape(X, (-1, 1))"
        raise ValueError(
            f"X is {describe(X)}, a single column, but {reader} compares vectors, rows of numbers. "
            f"Reshape your data: give {give}, or X in a list if it is one row."
        )
    return X


def as_rows(X: SamplesLike) -> Any:
    """Vectors in forms that scikit-learn does not read, as rows of numbers; all else as it is.

    Images (n, height, width), also with channels, become one row each, and so do the vectors in the
    cells of one column. Python's own numbers in the columns of a frame become floats.
    """
    X = named_fields(X)
    if is_frame(X):
        return _numbers_of_frame(X)
    cells = in_one_column(X) or [None]
    if sp.issparse(cells[0]) and cells[0].shape[:-1] in ((), (1,)):
        return sp.vstack([each.reshape(1, -1) for each in cells], format="csr")
    if isinstance(cells[0], LISTED) or len(getattr(cells[0], "shape", ())):
        with suppress(TypeError, ValueError):  # rows of different lengths, which are refused later
            rows = np.asarray(cells)
            X = rows if rows.dtype.kind in "fiub" else X
    return X.reshape(len(X), -1) if isinstance(X, np.ndarray) and X.ndim > 2 and X.size else X


def of_images(X: SamplesLike) -> np.ndarray | None:
    """The pixels of images of Pillow, one row for each; None for all else."""
    images = in_one_column(X) or [None]
    if not hasattr(images[0], "getbands"):
        return None
    sizes = dict.fromkeys((image.size, image.mode) for image in images)
    if len(sizes) > 1:
        (first, mode), (other, second) = [*sizes][:2]
        raise ValueError(
            f"X has an image of {first} pixels in mode {mode!r} and one of {other} in {second!r}: "
            "give all one size and mode, by image.resize(size).convert(mode)."
        )
    return np.stack([np.asarray(image) for image in images]).reshape(len(images), -1)


def flat_images(cells: list) -> list:
    """Images with channels in the cells of a column as their pixels in a row; all else as it is."""
    first = first_known(cells)
    if not isinstance(first, LISTED) or not len(first) or np.ndim(first[0]) != IMAGES - 2:
        return cells
    return [cell if is_missing_value(cell) else np.ravel(cell) for cell in cells]


def are_vectors(cells: list) -> bool:
    """Whether the cells of a column are vectors beyond doubt, and no sets of numbers.

    They have one length, and hold what sets of items do not: fractions, or a number twice. So are
    images with channels, of one size.
    """
    try:
        rows = np.stack([np.asarray(cell) for cell in cells])
    except ValueError:  # of different lengths
        return False
    if rows.dtype.kind not in "iuf" or rows.ndim not in (2, IMAGES) or rows.shape[1] < LEAST:
        return False
    if rows.ndim == IMAGES:
        return True
    fractions = bool((rows != np.round(rows)).any())
    return fractions or bool((np.diff(np.sort(rows, axis=1), axis=1) == 0).any())


def are_numbers(X: SamplesLike) -> bool:
    """Whether raw data can only be rows of numbers."""
    rows = as_rows(X)
    if is_frame(rows):
        return all(t.is_numeric() or t.is_boolean() for t in frame_of(rows).schema.values())
    return sp.issparse(rows) or (isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub")


def _numbers_of_frame(X: SamplesLike) -> Any:
    """The numbers of a data frame; the frame itself where it holds anything else."""
    import narwhals as nw

    frame = frame_of(X)
    others = [
        c for c in frame.iter_columns() if not (c.dtype.is_numeric() or c.dtype == nw.Boolean)
    ]
    if len(frame.columns) == len(others) == 1:
        first = first_known(others[0].to_list())  # columns in cells are series
        if isinstance(first, LISTED) or sp.issparse(first):
            return as_rows(in_one_column(X) or [])
    untyped = all(column.dtype in (nw.Object, nw.Unknown) for column in others)
    numbers = untyped and all(_are_real(column.to_numpy()) for column in others)
    return frame.to_numpy() if others and numbers else X


def _are_real(cells: np.ndarray) -> bool:
    """Whether all cells of a column are numbers, in whatever type, or missing."""
    if cells.dtype.kind in "fiub":
        return True
    real = (bool, Decimal, Fraction)
    found = cells.tolist()
    return all(is_number(v) or isinstance(v, real) or is_missing_value(v) for v in found)


def _not_finite(X: Samples, missing: bool) -> str:
    """The first number that is not finite, where it is and what to do."""
    try:
        values = sp.coo_array(X if sp.issparse(X) else np.asarray(X, np.float64))
    except (TypeError, ValueError):  # such as cells of pandas.NA
        return ""
    wrong = np.isinf(values.data) if missing else ~np.isfinite(values.data)
    if values.ndim != 2 or not wrong.any():  # it overflows in the precision of other columns
        return ""
    at = int(np.flatnonzero(wrong)[0])
    column = column_names(X)[values.col[at]]
    return (
        f"Row {values.row[at]} has {values.data[at]} in column {column!r}: give a number, leave "
        "the row out, or fill it (sklearn.impute.SimpleImputer)."
    )


def is_plain(X: SamplesLike) -> bool:
    """Whether X is what encoding returns: finite rows of floats, and few of them.

    To check one row as all other data takes longer than to predict for it.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and 0 < X.size <= PLAIN
        and X.dtype in (np.float64, np.float32)
        and X.flags.c_contiguous
        and bool(np.isfinite(X).all())
    )


def plain_vectors(X: Any) -> Vectors | None:
    """X as encoded vectors if it is plain; else None."""
    if not is_plain(X):
        return None
    rows = Vectors(X)
    rows.checked = "finite"
    return rows


def largest_column(X: Any) -> tuple[int, float]:
    """The column of encoded vectors that has the number of the largest size, and this size."""
    sizes = abs(X).max(axis=0)
    sizes = sizes.toarray().ravel() if sp.issparse(sizes) else np.asarray(sizes)
    return int(sizes.argmax()), float(sizes.max())


def refuse_objects(X, reader):
    """Raise an error if X holds strings, sets, other samples that are objects, or columns of text,
    and say how to compare them."""
    kind = kind_that_holds(first_known(listed(X) or []))
    if kind is not None:
        raise TypeError(f"X is {describe(X)}, but {reader} compares vectors. {kind.remedy()}")
    text = _first_text(X)
    if text is not None:
        raise TypeError(
            f"X holds the text {text!r}, but {reader} compares vectors of numbers. Use Match() "
            "on columns of categories or TableKernel() on mixed columns, or encode the text as "
            "numbers."
        )
    if is_frame(X):
        import narwhals as nw

        schema = frame_of(X).schema
        other = [n for n, t in schema.items() if not (t.is_numeric() or t == nw.Boolean)]
        if other:
            raise TypeError(
                f"X has columns that are not numbers: {other[:5]}, but {reader} compares vectors. "
                "Use TableKernel, or encode those columns as numbers."
            )


def _first_text(X) -> str | None:
    """A text in the first row of a 2-D array or list that is not a number, or None."""
    texts = not isinstance(X, np.ndarray) or (X.ndim == 2 and X.dtype.kind in "OU")
    row = X[0] if texts and isinstance(X, LISTED) and len(X) else ()
    for value in row if isinstance(row, LISTED) else ():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return str(value)
    return None
