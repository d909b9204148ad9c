"""Samples that are counts of things, each thing under a number of 64 bits."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.persistence import fields, whole
from mercer.samples.kind import Kind
from mercer.samples.numbers import is_number, is_whole
from mercer.samples.protocol import Samples, SamplesLike
from mercer.samples.ragged import Ragged, hash_labels
from mercer.samples.raw_data import LISTED, describe_entry, in_one_column
from mercer.samples.vectors import encode_vectors

MOST = 2**53  # times that floats tell apart


@fields(values=whole(axes=2))
class Counts(Ragged):
    """What was counted in each sample: rows (number, how often, ...), ascending, as uint64.

    Parameters
    ----------
    values : ndarray of shape (total, 2), uint64
    starts : ndarray of shape (n + 1,), int64
    width : int, optional
        The number of columns, if the numbers are columns of a matrix.
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> X = Counts(np.array([[3, 1], [5, 2], [3, 4]], np.uint64), np.array([0, 2, 3]))
    >>> X[1:].values  # the number 3, four times
    array([[3, 4]], dtype=uint64)
    """

    width: int | None = None

    def __init__(
        self, values: np.ndarray, starts: np.ndarray, width: int | None = None,
        dtype: DTypeLike = np.float64,
    ):  # fmt: skip
        super().__init__(values, starts, dtype)
        self.width = width


class CountsKind(Kind):
    """Counts of things: a matrix, or collections of items, which may repeat."""

    name = "counts"
    looks = (
        "a matrix of whole numbers >= 0, or a list of dicts {item: how often}, of sets, or of "
        "lists of items"
    )
    encoded = (Counts,)
    coded = discrete = True
    distance = "mercer.distances:Tanimoto"

    def rows(self, X: Samples, reader: str) -> Any:
        """A dict, or a collection of items, for each sample; or a matrix."""
        return self._rows(X, None, reader)

    def _rows(self, X: SamplesLike, like: Counts | None, reader: str) -> Any:
        rows = _collections(X, like is not None and like.width is None)
        return encode_vectors(X, None, reader) if rows is None else rows

    def encode(self, X: SamplesLike, like: Counts | None, reader: str) -> Counts:
        rows = self._rows(X, like, reader)
        found = _of_items(rows, reader) if isinstance(rows, list) else _of_matrix(rows, reader)
        if like is None:
            return found
        if found.width != like.width:
            raise ValueError(
                f"X has {_said(found)}, but the samples it is compared with have {_said(like)}: "
                "give both in one form."
            )
        return found.astype(like.dtype)

    def remedy(self) -> str:
        return "Give a kernel or a distance on counts, such as kernel=Tanimoto()."


def _said(X: Counts) -> str:
    return "items" if X.width is None else f"{X.width} columns"


def _collections(X: Any, of_items: bool) -> list | None:
    """One collection of items for each sample; None where X is a matrix of numbers. Lists of
    numbers are such a matrix, unless they are known to be lists ``of_items``."""
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2):
        return None
    items = in_one_column(X)
    if items is None or (items and all(map(is_number, items))):
        return None
    rows = [_of_fingerprint(row) for row in items]
    of_items = of_items or not any(map(len, filter(_is_list, rows)))
    if not of_items and all(_is_list(row) and all(map(is_number, row)) for row in rows):
        return None
    return rows


def _is_list(row: Any) -> bool:
    return isinstance(row, LISTED) and getattr(row, "ndim", 1) > 0  # an array may be one number


def _of_fingerprint(row: Any) -> Any:
    """A fingerprint of RDKit as a dict of counts, or a list of bits; all else as it is."""
    if hasattr(row, "GetNonzeroElements"):
        return row.GetNonzeroElements()
    return list(row.GetOnBits()) if hasattr(row, "GetOnBits") else row


def _of_items(rows: list, reader: str) -> Counts:
    """Counts of the items of dicts, sets and lists, by the hash of each item."""
    if not rows:
        raise ValueError(f"X is empty; {reader} needs at least one sample.")
    items: list = []
    times: list[int] = []
    ends = [0]
    for i, row in enumerate(rows):
        if isinstance(row, Mapping):
            wrong = next((n for n in row.values() if not (is_whole(n) and 0 <= n < MOST)), None)
            if wrong is not None:
                raise ValueError(
                    f"X[{i}] counts an item {wrong!r} times, but {reader} compares counts: give "
                    "whole numbers >= 0."
                )
            items.extend(row.keys())
            times.extend(row.values())
        elif isinstance(row, Set) or _is_list(row):
            items.extend(row)
            times += [1] * len(row)
        else:
            raise TypeError(
                f"X[{i}] is {describe_entry(row)}, but {reader} compares counts: give a dict "
                "{item: how often}, a set, or a list of items."
            )
        ends.append(len(items))
    try:
        keys = hash_labels(items)
    except TypeError as error:
        said, place = (*error.args, 0)[:2]
        i = int(np.searchsorted(ends, place, "right")) - 1
        raise TypeError(
            f"X[{i}] holds an item that is {said}, but {reader} reads items that are "
            "numbers, texts or tuples of them: give these."
        ) from None
    owners = np.repeat(np.arange(len(rows)), np.diff(ends))
    return counts_of(owners, keys, np.array(times, np.uint64), len(rows))


def _of_matrix(X: Any, reader: str) -> Counts:
    """Counts of the columns of a matrix of whole numbers."""
    matrix = sp.csr_array(X, copy=sp.issparse(X))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    wrong = matrix.data[(matrix.data < 0) | (matrix.data != np.floor(matrix.data))
                        | (matrix.data >= MOST)]  # fmt: skip
    if len(wrong):
        raise ValueError(
            f"X holds {wrong[0]:g}, but {reader} compares counts: give whole numbers >= 0, or use "
            "a kernel on vectors, such as HistogramIntersection."
        )
    pairs = np.stack([matrix.indices, matrix.data], axis=1).astype(np.uint64)
    return Counts(pairs, matrix.indptr.astype(np.int64), X.shape[1], X.dtype)


def counts_of(owners: np.ndarray, keys: np.ndarray, times: np.ndarray, n: int) -> Counts:
    """Counts of n samples, from how often each has a number; what comes twice is added.

    Examples
    --------
    >>> owners, keys = np.array([1, 0, 1]), np.array([7, 9, 7], np.uint64)
    >>> found = counts_of(owners, keys, np.array([1, 2, 3], np.uint64), 2)
    >>> found.starts, found.values
    (array([0, 1, 2]), array([[9, 2],
           [7, 4]], dtype=uint64))
    """
    order = np.lexsort((keys, owners))
    owners, keys, times = owners[order], keys[order], times[order]
    if len(order):
        first = np.r_[True, (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])]
        times = np.add.reduceat(times, np.flatnonzero(first))
        owners, keys = owners[first], keys[first]
    held = times > 0
    pairs = np.stack([keys[held], times[held]], axis=1)
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners[held], minlength=n))))
    return Counts(pairs, starts.astype(np.int64))
