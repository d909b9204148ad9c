"""Which encoded samples are copies of each other, whatever their kind."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from mercer.samples.categories import Categories
from mercer.samples.graphs import Graphs
from mercer.samples.molecules import Molecules
from mercer.samples.objects import MatrixRows, Objects
from mercer.samples.ragged import Ragged, hash_labels, mixed
from mercer.samples.table import EncodedColumns, Table
from mercer.threads import raise_if_stopped

if TYPE_CHECKING:
    from mercer.samples.protocol import Samples

FEW = 0.9  # of the samples are different at least, where copies are not worth a mention
SAMPLE = 2000  # samples that are looked at first: where all differ, none has many copies
KEYS = 10_000  # of objects that are looked up until it is asked whether to stop
CELLS = 2**20  # numbers of rows that are mixed at a time
U64 = np.uint64


def copies_of(X: Samples) -> np.ndarray | None:
    """Which of the different encoded samples each one is, (n,), in the order of their first ones.

    None if few are copies, or if equal keys do not mean that every comparison takes samples for the
    same: objects that are equal, such as 1 and True, need not be.
    """
    if not _told(X):
        return None
    n = X.shape[0]
    some = np.random.default_rng(0).choice(n, min(n, SAMPLE), replace=False)
    if row_numbers(X[some]).max(initial=-1) + 1 == len(some):
        return None
    copies = row_numbers(X)
    return copies if copies.max() + 1 <= FEW * n else None


def _told(X: Samples) -> bool:
    if isinstance(X, Table):
        return all(map(_told, X.parts))
    return isinstance(X, (np.ndarray, sp.csr_array, Ragged, Categories, Graphs))


def row_numbers(*parts: Samples) -> np.ndarray:
    """Which of the different rows each one is, (n,), in the order of their first ones.

    A row is an encoded sample of each of the parts. Two that differ count as copies with a
    probability of 2⁻⁶⁴. Samples of a kind that is not known here are all different.

    Examples
    --------
    >>> row_numbers(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0]]))
    array([0, 1, 0])
    """
    _, first, copies = np.unique(row_marks(*parts), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[copies]


def row_marks(*parts: Samples) -> np.ndarray:
    """64 bits for each row of some parts, (n,), the same for equal rows."""
    return _marks(np.stack([_marks(part) for part in parts], axis=1))


@singledispatch
def _marks(X: Samples) -> np.ndarray:
    """64 bits for each encoded sample, which copies share."""
    return np.arange(X.shape[0], dtype=U64)


@_marks.register
def _(X: np.ndarray) -> np.ndarray:
    """One number for each row of an array, from all of its bytes, some columns at a time."""
    total = np.zeros(len(X), U64)
    X = np.asarray(X).reshape(len(X), math.prod(X.shape[1:]))
    step = max(1, CELLS // max(1, len(X)))
    for start in range(0, X.shape[1], step):
        bits = _bits(X[:, start : start + step])
        places = np.arange(start, start + bits.shape[1], dtype=U64)
        total += _mixed(bits, places).sum(axis=1, dtype=U64)
    return total


@_marks.register
def _(X: sp.csr_array) -> np.ndarray:
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return _sums(_mixed(_bits(X.data), X.indices.astype(U64)), X.indptr)


@_marks.register
def _(X: Ragged) -> np.ndarray:
    return _of_parts(_marks(X.values) if X.values.ndim > 1 else _bits(X.values), X.starts)


@_marks.register
def _(X: Categories | Table | EncodedColumns) -> np.ndarray:
    """Marks of the arrays of which the samples consist."""
    if isinstance(X, Categories):
        return _marks(X.codes)
    return row_marks(*(X.parts if isinstance(X, Table) else [X.numbers, *X.objects.values()]))


def _bits(values: np.ndarray) -> np.ndarray:
    """64 bits of each number, the same for 0 and -0."""
    if values.dtype.kind != "f":
        return values.astype(U64)
    return (values + 0.0).astype(np.float64).view(U64)


def _mixed(bits: np.ndarray, places: np.ndarray) -> np.ndarray:
    """64 bits that look random for each number and place."""
    return mixed(bits ^ mixed((places + U64(1)) * U64(0x9E3779B97F4A7C15)))


def _of_parts(cells: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """64 bits for each part of an array, by its length, its cells and their places."""
    lengths = np.diff(starts)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    return _sums(_mixed(cells, places.astype(U64)), starts) + lengths.astype(U64)


def _sums(cells: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of parts of an array, modulo 2⁶⁴."""
    sums = np.concatenate([np.zeros(1, U64), np.cumsum(cells, dtype=U64)])
    return sums[starts[1:]] - sums[starts[:-1]]


def _numbered(keys: Iterable[Hashable]) -> np.ndarray:
    """A number for each key: equal keys have one, in the order in which keys first occur."""
    numbers: dict[Hashable, int] = {}
    found: list[int] = []
    for key in keys:
        found.append(numbers.setdefault(key, len(numbers)))
        if len(found) % KEYS == 0:  # a million take many seconds
            raise_if_stopped()
    return np.array(found, U64)


@_marks.register
def _(X: Graphs) -> np.ndarray:
    nodes = [X.degrees, X.node_labels, X.node_attributes], X.node_starts
    edges = [X.neighbours, X.edge_labels], X.row_starts[X.node_starts]
    known = (([each for each in parts if each is not None], at) for parts, at in (nodes, edges))
    return row_marks(*(_of_parts(row_marks(*parts), at) for parts, at in known))


@_marks.register
def _(X: MatrixRows) -> np.ndarray:
    """Marks of the values of k, which are all that is known of the samples."""
    return np.arange(X.shape[0], dtype=U64) if X.matrix is None else _marks(X.matrix)[X.rows]


@_marks.register
def _(X: Molecules) -> np.ndarray:
    """Marks of the largest parts with their stereochemistry, which some kernels compare."""
    return hash_labels([molecule.isomer for molecule in X.found])


@_marks.register
def _(X: Objects) -> np.ndarray:
    return _numbered(_object_key(value, i) for i, value in enumerate(X.values))


def _object_key(value: object, i: int) -> Hashable:
    """The object itself, where equal ones can be found; else its number."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return i, "not hashable"
    return value
