"""Samples that are rows of categories. Each column is encoded as integers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.persistence import each, fields, length_of, number, whole
from mercer.samples.kind import Kind
from mercer.samples.protocol import Encoded, SamplesLike
from mercer.samples.raw_data import (
    describe_entry,
    is_frame,
    is_missing,
    named_fields,
    object_columns,
    rows_of_cells,
)


def _codes(rows: Categories, codes: Any) -> None:
    """Each column has the numbers of its own levels."""
    whole(lambda _: max(map(len, rows.levels), default=0), axes=2)(rows, codes)
    for j, levels in enumerate(rows.levels):
        whole(lambda _, levels=levels: len(levels))(rows, codes[:, j])


@fields(
    codes=_codes,
    levels=length_of(lambda rows: rows.codes.shape[1]),
    known=each(number(lambda rows: max(map(len, rows.levels), default=0))),
)
class Categories(Encoded):
    """Rows of categories. Each column is encoded as integers.

    Parameters
    ----------
    codes : ndarray of shape (n, c), int32
        ``levels[j][codes[i, j]]`` is the value of row i in column j.
    levels : list of c lists
        The values of each column. A missing value is the level ``None``, so that it is equal to
        other missing values and to nothing else.
    dtype : floating dtype, default=float64
    known : list of c ints, optional
        How many levels of each column are in the training sample; they come first. None means all.

    Examples
    --------
    >>> from mercer.distances import Match
    >>> X = Match().encode([["red", "S"], ["blue", "S"]])
    >>> X.codes.tolist(), X.levels
    ([[1, 0], [0, 0]], [['blue', 'red'], ['S']])
    """

    by_row = ("codes",)

    def __init__(
        self, codes: np.ndarray, levels: list[list], dtype: DTypeLike = np.float64,
        known: list[int] | None = None,
    ):  # fmt: skip
        super().__init__(dtype)
        self.codes = codes
        self.levels = levels
        self.known = [len(column) for column in levels] if known is None else known

    @classmethod
    def side_by_side(cls, columns: list[Categories]) -> Categories:
        """Join columns that were encoded one by one."""
        return cls(
            np.hstack([part.codes for part in columns]),
            [levels for part in columns for levels in part.levels],
            np.result_type(*[part.dtype for part in columns]),
            [known for part in columns for known in part.known],
        )

    def __repr__(self) -> str:
        return f"Categories({self.shape[0]} rows, {self.shape[1]} columns)"


class CategoriesKind(Kind):
    """Rows of categories."""

    name = "categories"
    looks = "a 2-D array or data frame of categories, one row per sample"
    encoded = (Categories,)
    coded = discrete = True
    distance = "mercer.distances:Match"
    kernels = ("mercer.kernels:Match",)
    tags: ClassVar = {"sparse": False, "categorical": True}

    def rows(self, X: SamplesLike, reader: str) -> Any:
        """A data frame, or a 2-D array."""
        X = named_fields(X)
        if is_frame(X):
            return X
        if sp.issparse(X):
            raise TypeError(
                f"X is a sparse matrix, but {reader} compares categories: give X.toarray()."
            )
        X = rows_of_cells(X)
        X = X[:, None] if X.ndim == 1 else X
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; {reader} needs 2: rows of categories.")
        return X

    def encode(self, X: SamplesLike, like: Categories | None, reader: str) -> Categories:
        columns = object_columns(self.rows(X, reader))
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
        return (
            Categories(codes, levels) if like is None else like.replace(codes=codes, levels=levels)
        )

    def joined(self, X: Categories, more: Categories) -> Categories:
        return X.replace(codes=np.concatenate([X.codes, more.codes]), levels=more.levels)


def _encode_column(column: np.ndarray, known: list) -> tuple[np.ndarray, list]:
    """Codes of one column, and its levels: first the known levels, then new ones in order."""
    missing = is_missing(column)
    present = column[~missing]
    try:
        values, inverse = np.unique(present, return_inverse=True)
    except TypeError:  # values of different types have no order: sort by type and text
        # as objects: numpy's own strings lose the characters "\0" at their ends
        keys = np.array([f"{type(v).__name__}\0{v}" for v in present.tolist()], dtype=object)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        values = present[first]
    code_of = {value: code for code, value in enumerate(known)}
    found = values.tolist() + ([None] if missing.any() else [])
    for value in found:
        try:
            code_of.setdefault(value, len(code_of))
        except TypeError:
            raise TypeError(
                f"X holds {describe_entry(value)} in a column of categories, whose values are "
                "tested for equality: give texts or numbers, or a kernel on such samples."
            ) from None
    codes = np.empty(len(column), dtype=np.int32)
    if missing.any():
        codes[missing] = code_of[None]
    codes[~missing] = np.array([code_of[v] for v in values.tolist()], dtype=np.int32)[inverse]
    return codes, list(code_of)
