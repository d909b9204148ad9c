"""Rows of different lengths in one array: the common part of strings, sets, series and bags; and
labels of any type as numbers.

The numbers have 64 bits and are the same in every process and on every machine, so that new graphs
can be compared with those of a saved model.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from mercer.persistence import fields, offsets, whole
from mercer.samples.numbers import is_number
from mercer.samples.protocol import Encoded
from mercer.samples.raw_data import describe_entry
from mercer.spoken import a_type


@fields(values=whole(least=-(2**63)), starts=offsets(lambda rows: len(rows.values)))
class Ragged(Encoded):
    """Rows ``values[starts[i] : starts[i + 1]]`` of different lengths.

    Parameters
    ----------
    values : ndarray of shape (total,), integers
    starts : ndarray of shape (n + 1,), int64
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> X = Ragged(np.array([7, 8, 9]), np.array([0, 1, 3]))
    >>> X.lengths, X[1:].values
    (array([1, 2]), array([8, 9]))
    """

    def __init__(self, values: np.ndarray, starts: np.ndarray, dtype: DTypeLike = np.float64):
        super().__init__(dtype)
        self.values = values
        self.starts = starts

    @property
    def shape(self) -> tuple[int]:
        return (len(self.starts) - 1,)

    @property
    def lengths(self) -> np.ndarray:
        """The length of each row, (n,)."""
        return np.diff(self.starts)

    def __getitem__(self, rows: Any) -> Self:
        """The rows of a slice (without a copy if possible) or of an array of row numbers."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                starts = self.starts[start : max(start, stop) + 1]
                values = self.values[starts[0] : starts[-1]]
                return self.replace(values=values, starts=starts - starts[0])
        places, starts = items_of_rows(self.starts, np.arange(len(self))[rows])
        return self.replace(values=self.values[places], starts=starts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} rows, {len(self.values)} in all)"


def joined_rows(X: Ragged, more: Any) -> Any:
    """The rows of X, then those of ``more``, which was encoded like X: equal symbols have equal
    codes."""
    values = np.concatenate([X.values, more.values])
    starts = np.concatenate([X.starts, X.starts[-1] + more.starts[1:]])
    return more.replace(values=values, starts=starts, precision=X.precision)


def items_of_rows(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of all items of some rows, and where each row starts among them."""
    lengths = np.diff(starts)[rows]
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return np.arange(ends[-1]) + np.repeat(starts[rows] - ends[:-1], lengths), ends


def cell_numbers(row: list | np.ndarray, name: str, reader: str, kind: Any) -> np.ndarray:
    """The numbers of one sample of a kind, such as a series: float32 if they came so."""
    listed = isinstance(row, (list, tuple)) or (hasattr(row, "__array__") and not is_number(row))
    if listed:
        try:
            points = np.asarray(row)
            if points.dtype.kind != "c":
                return points if points.dtype == np.float32 else points.astype(np.float64)
        except (TypeError, ValueError, ArithmeticError, RecursionError):
            pass
    what = "no array of numbers" if listed else describe_entry(row)
    raise TypeError(f"{name} is {what}, but {reader} compares {kind.name}: give {kind.looks}.")


def points_of_all(rows: list, like: Any, said: str, others: str) -> tuple:
    """The points of all samples in one array, where each begins, and their precision.

    ``said`` is the error for a sample whose points have another width than those of the ``others``.
    """
    width = rows[0].shape[1] if like is None else like.values.shape[1]
    for i, row in enumerate(rows):
        if row.shape[1] != width:
            raise ValueError(said.format(i, row.shape[1], others, width))
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    single = all(row.dtype == np.float32 for row in rows)
    own = np.float32 if single else np.float64
    # + 0 makes 0 of -0, so that equal samples have equal bytes
    values = np.concatenate(rows).astype(np.float64) + 0.0
    return values, starts, own if like is None else like.dtype


def code_objects(rows: list, known: list, noun: str, reader: str) -> tuple[np.ndarray, list]:
    """Codes of all items of all rows in one array, and the item of each code.

    Known items keep their codes. New items get the next codes, in ascending order if they have an
    order, so that codes do not depend on the order in which a set is read.
    """
    total = sum(map(len, rows))
    # lists, since each reading of an array makes new objects, and a new NaN is another item
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    try:
        new = set(chain.from_iterable(rows)).difference(known)
    except TypeError as error:
        i = next(i for i, row in enumerate(rows) if not _hashable(row))
        raise TypeError(
            f"X[{i}] holds {noun} that cannot be hashed ({error}). {reader} tests whether {noun} "
            "are equal: give strings, numbers or tuples. Images are one array, numpy.stack(X)."
        ) from None
    items = known + _in_order(new)
    code_of = {item: code for code, item in enumerate(items)}
    codes = np.fromiter(map(code_of.__getitem__, chain.from_iterable(rows)), np.int32, total)
    return codes, items


def _in_order(items: set) -> list:
    try:
        return sorted(items)
    except TypeError:  # items of different types have no order: sort by type and text
        return sorted(items, key=lambda item: (type(item).__name__, repr(item)))


def _hashable(row: Any) -> bool:
    try:
        set(row)
    except TypeError:
        return False
    return True


SCALARS = (int, str, bytes, np.integer, np.str_, np.bytes_)
INTEGER = np.uint64(0x9E3779B97F4A7C15)  # sets integers apart from other numbers


def mixed(numbers: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64 of numbers of 64 bits: a permutation that looks random.

    Examples
    --------
    >>> mixed(np.array([0, 1], np.uint64)).tolist()
    [0, 6238072747940578789]
    """
    x = np.array(numbers, np.uint64)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def hash_labels(labels: Sequence | np.ndarray) -> np.ndarray:
    """A number of 64 bits for each label; labels of different types are different.

    Parameters
    ----------
    labels : sequence of int, str, bytes, or tuples of them

    Raises
    ------
    TypeError
        A label has another type; ``args[1]`` is its place.

    Examples
    --------
    >>> a, b, c = hash_labels(["1", 1, "1"])
    >>> bool(a == b), bool(a == c)
    (False, True)
    """
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iub":
        return mixed(labels.astype(np.int64).view(np.uint64) ^ INTEGER)
    labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    if set(map(type, labels)) <= {int}:
        try:
            return hash_labels(np.array(labels, np.int64))
        except OverflowError:
            pass
    known: dict[Any, int] = {}
    found = np.empty(len(labels), np.uint64)
    for i, label in enumerate(labels):
        key = (type(label), label) if not isinstance(label, tuple) else ("", repr(label))
        try:
            if key not in known:
                known[key] = _hash(label)
        except TypeError as error:
            raise TypeError(str(error), i) from None
        found[i] = known[key]
    return found


def _hash(label: Any) -> int:
    """The 64 bits that stand for a label."""
    if isinstance(label, (int, np.integer)):
        number = int(label)
        if -(2**63) <= number < 2**63:
            return int(hash_labels(np.array([number]))[0])
        return _digest(b"i" + str(number).encode())
    if isinstance(label, str):
        return _digest(b"s" + label.encode("utf-8", "surrogatepass"))
    if isinstance(label, bytes):
        return _digest(b"b" + bytes(label))
    if isinstance(label, tuple):
        return _digest(b"t" + b"".join(_hash(part).to_bytes(8, "little") for part in label))
    raise TypeError(f"{label!r} is {a_type(label)}")


def _digest(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")
