"""Which encoded samples are copies of each other, whatever their kind."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import singledispatch
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples.categories import Categories
from mercer.samples.graphs import Graphs
from mercer.samples.matrix_rows import MatrixRows
from mercer.samples.objects import Objects
from mercer.samples.ragged import Ragged
from mercer.samples.table import EncodedColumns, Table

LONG = 64  # bytes of a key that is kept as it is
FEW = 0.9  # of the samples are different at least, where copies are not worth a mention
SAMPLE = 2000  # samples that are looked at first: where all differ, none has many copies


def copies_of(X: Any) -> np.ndarray | None:
    """Which of the different encoded samples each one is, (n,), in the order of their first ones.

    None if few are copies, or if equal keys do not mean that every comparison takes samples for the
    same: objects that are equal, such as 1 and True, need not be.
    """
    if not _told(X):
        return None
    n = X.shape[0]
    some = np.random.default_rng(0).choice(n, min(n, SAMPLE), replace=False)
    if len(set(row_keys(X[some]))) == len(some):
        return None
    number_of: dict[Hashable, int] = {}
    copies = np.array([number_of.setdefault(key, len(number_of)) for key in row_keys(X)])
    return copies if len(number_of) <= FEW * n else None


def _told(X: Any) -> bool:
    if isinstance(X, Table):
        return all(map(_told, X.parts))
    return isinstance(X, (np.ndarray, sp.csr_array, Ragged, Categories, Graphs))


@singledispatch
def row_keys(X: Any) -> Iterable[Hashable]:
    """A key for each encoded sample; copies have equal keys.

    Samples of a kind that is not known here count as different ones.
    """
    return range(X.shape[0])


@row_keys.register
def _(X: np.ndarray) -> Iterable[Hashable]:
    return map(_numbers_key, X)


@row_keys.register
def _(X: sp.csr_array) -> Iterable[Hashable]:
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in pairwise(X.indptr))


@row_keys.register
def _(X: Ragged) -> Iterable[Hashable]:
    return (X.values[a:b].tobytes() for a, b in pairwise(X.starts))


@row_keys.register
def _(X: Graphs) -> Iterable[Hashable]:
    parts, degrees = [X.node_labels, X.node_attributes], X.degrees
    for a, b in pairwise(X.node_starts):
        e, f = X.row_starts[a], X.row_starts[b]
        found = [np.array(b - a), degrees[a:b], X.neighbours[e:f]]
        found += [part[a:b] for part in parts if part is not None]
        found += [] if X.edge_labels is None else [X.edge_labels[e:f]]
        yield blake2b(b"".join(p.tobytes() for p in found), digest_size=16).digest()


@row_keys.register
def _(X: Categories) -> Iterable[Hashable]:
    return (row.tobytes() for row in X.codes)


@row_keys.register
def _(X: Table) -> Iterable[Hashable]:
    return zip(*map(row_keys, X.parts))


@row_keys.register
def _(X: EncodedColumns) -> Iterable[Hashable]:
    return zip(row_keys(X.numbers), *map(row_keys, X.objects.values()))


@row_keys.register
def _(X: MatrixRows) -> Iterable[Hashable]:
    """The values of k, which are all that is known of the samples."""
    if X.matrix is None:
        return range(X.shape[0])
    return (_numbers_key(X.matrix[row]) for row in X.rows)


@row_keys.register
def _(X: Objects) -> Iterable[Hashable]:
    return (_object_key(value, i) for i, value in enumerate(X.values))


def _numbers_key(row: np.ndarray) -> bytes:
    """The bytes of a row, in which -0 is 0; or a digest of them, so that keys stay small."""
    key = (row + 0.0).tobytes()
    return key if len(key) <= LONG else blake2b(key, digest_size=16).digest()


def _object_key(value: Any, i: int) -> Hashable:
    """The object itself, where equal ones can be found; else its number."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    try:
        hash(value)
    except TypeError:
        return i, "not hashable"
    return value
