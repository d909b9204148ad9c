"""Samples that are finite sets of items, stored as sorted codes of the items."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.persistence import fields, number, whole
from mercer.samples.kind import Kind, named
from mercer.samples.protocol import SamplesLike
from mercer.samples.ragged import Ragged, code_objects
from mercer.samples.raw_data import (
    LISTED,
    as_objects,
    check_format,
    describe_entry,
    first_known,
    frame_of,
    in_one_column,
    is_frame,
    is_missing_value,
)
from mercer.samples.vectors import as_rows


def _codes(sets: Sets, values: Any) -> None:
    """Codes of items, which ascend within each set."""
    whole(lambda _: len(sets.universe))(sets, values)
    falls = np.flatnonzero(values[1:] <= values[:-1]) + 1
    if not np.isin(falls, sets.starts).all():
        raise ValueError("does not ascend within a set")


@fields(
    values=_codes,
    known=number(lambda sets: len(sets.universe)),
)
class Sets(Ragged):
    """Sets as ascending codes of their items, all in one array.

    Parameters
    ----------
    values : ndarray of shape (total,), int32
        Set i is ``values[starts[i] : starts[i + 1]]``, ascending and without repetition.
    starts : ndarray of shape (n + 1,), int64
    universe : list
        The item of each code. If the sets were given as a 0/1 matrix, the numbers of its columns.
    known : int
        How many of these items are in the training sample; they come first.
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> from mercer.kernels import Jaccard
    >>> X = Jaccard().encode([{"milk", "bread"}, {"milk"}])
    >>> X.universe, X.values, X.starts
    (['bread', 'milk'], array([0, 1, 1], dtype=int32), array([0, 2, 3]))
    """

    def __init__(
        self, values: np.ndarray, starts: np.ndarray, universe: list, known: int,
        dtype: DTypeLike = np.float64,
    ):  # fmt: skip
        super().__init__(values, starts, dtype)
        self.universe = universe
        self.known = known

    def indicators(self, width: int | None = None) -> sp.csr_array:
        """The sets as rows of 0 and 1, one column for each of the first ``width`` items."""
        whole = max(len(self.universe), width or 0)
        ones = np.ones(len(self.values), self.dtype)
        matrix = sp.csr_array((ones, self.values, self.starts), (len(self), whole))
        return matrix if width in (None, whole) else matrix[:, :width]


class SetsKind(Kind):
    """Finite sets of items."""

    name = "sets"
    looks = "a list or column of sets, or a 0/1 matrix"
    encoded = (Sets,)
    coded = discrete = True
    column = "set"
    judged = True
    empty = ()
    distance = "mercer.distances:Jaccard"
    kernels = ("mercer.kernels:Jaccard",)

    def rows(self, X: SamplesLike, reader: str) -> Any:
        """One collection of items for each set, or a 0/1 matrix."""
        return self._rows(_as_indicators(X), reader)

    def _rows(self, X: SamplesLike, reader: str) -> Any:
        """A matrix of indicators as it is; other samples as a list of collections of items."""
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"):
            return X
        rows = as_objects(X, self.name, reader)
        for i, row in enumerate(rows):
            if isinstance(row, (list, tuple, Set)):  # Set comes last: to ask for it is slow
                continue
            if not (isinstance(row, np.ndarray) and row.ndim == 1):
                if is_missing_value(row):
                    remedy = ". Fill in missing entries, for example with an empty set."
                elif isinstance(row, (str, bytes)):
                    remedy = ". Split a text into its items, or give the kernel a separator."
                else:
                    remedy = " (of hashable items), or lists of items."
                raise TypeError(
                    f"X[{i}] is {describe_entry(row)}, but {reader} compares sets{remedy}"
                )
        return rows

    def recognise(self, X: SamplesLike, items: list | None) -> list | None:
        """Sets, or lists in the cells of a column that are neither series nor vectors."""
        first = first_known(items or [])
        return items if self.holds(first) or isinstance(first, LISTED) else None

    def encode(self, X: SamplesLike, like: Sets | None, reader: str) -> Sets:
        of_items = like is not None and like.universe[: like.known] != list(range(like.known))
        rows = self._rows(X, reader) if of_items else self.rows(X, reader)
        if not isinstance(rows, list):
            return _from_matrix(rows, like, reader)
        codes, universe = code_objects(rows, [] if like is None else like.universe, "items", reader)
        lengths = np.array([len(row) for row in rows], np.int64)
        owners = np.repeat(np.arange(len(rows)), lengths)
        return _distinct(owners, codes, len(rows), universe, like)

    def remedy(self) -> str:
        return (
            "Give a kernel on sets, such as kernel=Jaccard() or DerivedSubsets(), or "
            "where there is metric= a distance on sets, metric=Jaccard(); or make a 0/1 "
            "matrix with one column for each item by sklearn.preprocessing.MultiLabelBinarizer. If "
            "the order of the items matters, give a kernel on strings, such as kernel=Spectrum(2)."
        )

    def counter(self, samples: Sets) -> Any:
        """Indicators of items."""
        return named("mercer.kernels:Intersection")()

    def holds(self, item: object) -> bool:
        return isinstance(item, Set)


def _as_indicators(X: Any) -> Any:
    """A frame of numbers as a matrix, and rows of at least three 0s and 1s, all of one length;
    such a row is no set, since it holds an item twice. All else as it is."""
    if not (is_frame(X) and X.shape[1] > 1):
        square = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == object and len(X) > 0
        row = X[0] if square else first_known(in_one_column(X) or [])
        if not isinstance(row, LISTED) or len(row) < 3 or not all(map(_is_mark, row)):
            return X
    rows = as_rows(X)
    if is_frame(rows):
        numbers = all(t.is_numeric() or t.is_boolean() for t in frame_of(rows).schema.values())
        return np.asarray(frame_of(rows).to_numpy(), np.float64) if numbers else X
    marks = isinstance(rows, np.ndarray) and np.isin(rows, (0, 1)).all()
    return rows.astype(np.float64) if marks else X


def _is_mark(value: object) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_)) and value in (0, 1)


def split_items(text: str, separator: str | None) -> list[str]:
    """Split a text into the items of a set; None as separator means any white space.

    Spaces around an item and empty items are left out.

    Examples
    --------
    >>> split_items("milk, bread,", ",")
    ['milk', 'bread']
    """
    return [item for item in map(str.strip, text.split(separator)) if item]


def _from_matrix(X: Any, like: Sets | None, reader: str) -> Sets:
    """Sets of the columns that are 1 in each row of a matrix of indicators."""
    check_format(X)
    X = sp.csr_array(X)
    X.eliminate_zeros()
    X.sum_duplicates()
    if X.shape[0] == 0:
        raise ValueError(f"X has no rows; {reader} needs at least one.")
    if not (X.data == 1).all():
        other = X.data[X.data != 1][0]
        raise ValueError(
            f"X holds {other:g}, but {reader} reads a matrix as indicators of items, 0 or 1. Give "
            "(X > 0) or lists of items, or use a kernel on vectors (HistogramIntersection for "
            "counts)."
        )
    if like is not None and X.shape[1] != like.known:
        raise ValueError(
            f"X has {X.shape[1]} columns, but the samples it is compared with have {like.known} "
            "items: give the same columns in the same order."
        )
    universe = list(range(X.shape[1])) if like is None else like.universe
    owners = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return _distinct(owners, X.indices, X.shape[0], universe, like)


def _distinct(
    owners: np.ndarray, codes: np.ndarray, n: int, universe: list, like: Sets | None
) -> Sets:
    """Sets from pairs (set, item), which may be in any order and may be repeated."""
    width = max(len(universe), 1)
    pairs = np.sort(owners * np.int64(width) + codes)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # faster than np.unique
    starts = np.searchsorted(pairs, np.arange(n + 1) * np.int64(width))
    values = (pairs % width).astype(np.int32)
    known, dtype = (len(universe), np.float64) if like is None else (like.known, like.dtype)
    return Sets(values, starts.astype(np.int64), universe, known, dtype)
