"""The source of rows that suits an operator, chosen by its class.

Every operator has one: what is not registered here computes rows when they are needed.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from mercer.distances import by_strips
from mercer.gram import DenseGram, FactoredGram, FeatureGram, GramOperator, MatrixPart
from mercer.solvers.rows.cached import CachedRows
from mercer.solvers.rows.factor import FactorRows
from mercer.solvers.rows.rounding import is_small, rounds_to_float32
from mercer.solvers.rows.row_sources import HeldRows, RowSource


@singledispatch
def row_source(K: GramOperator, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    """The source of rows of K for a solver that reads some of the rows many times.

    ``row_source.register(MyGram)`` makes another function the one for a class of operators.

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric
    cache_bytes : int
        Most bytes for rows that are kept.
    room : float
        The largest relative error of K's entries that the solver's tolerance allows.
    n_jobs : int or None
        Threads; None means all cores.

    Returns
    -------
    RowSource

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> K = gram(RBF(), np.arange(3.0)[:, None])
    >>> rows, Kb = np.array([0, 2]), np.zeros(3)
    >>> row_source(K, 2**20, 0.0, 1).add(rows, np.array([1.0, 1.0]), Kb)
    >>> np.allclose(Kb, K.dense() @ [1.0, 0.0, 1.0])
    True
    """
    if is_small(K, cache_bytes):
        return HeldRows(K.dense() if "dense" in K.cheap else K.rows(slice(None)), n_jobs)
    return CachedRows(K, cache_bytes, room, n_jobs)


@row_source.register(DenseGram)
def _of_array(K: DenseGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    values = K.dense()
    # in float32 if the tolerance and the memory allow it: half the bytes to read
    if rounds_to_float32(K.diag(), room) and values.nbytes // 2 <= cache_bytes:
        values = by_strips(values, lambda strip: strip, np.float32, n_jobs)
    return HeldRows(values, n_jobs)


@row_source.register(MatrixPart)
def _of_part(K: MatrixPart, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    dtype = np.dtype(np.float32 if rounds_to_float32(K.diag(), room) else K.dtype)
    if K.shape[0] * K.shape[1] * dtype.itemsize > cache_bytes:
        return CachedRows(K, cache_bytes, room, n_jobs)
    return HeldRows(K.rows(slice(None), np.empty(K.shape, dtype)), n_jobs)


@row_source.register(FactoredGram)
def _of_factor(K: FactoredGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    return FactorRows(K, cache_bytes)


@row_source.register(FeatureGram)
def _of_features(K: FeatureGram, cache_bytes: int, room: float, n_jobs: int | None) -> RowSource:
    if is_small(K, cache_bytes):
        return HeldRows(K.dense(), n_jobs)
    return FactorRows(K, cache_bytes)
