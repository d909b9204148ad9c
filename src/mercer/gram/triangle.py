"""The upper triangle of a symmetric Gram matrix in memory, in float32, for many products."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import mirrored
from mercer.gram.operator import GramOperator, Rows
from mercer.threads import ordered_map

STRIP = 384  # rows of a strip: a square with this many columns stays in a core's L2 cache
LANES, WIDEST = 16, 64  # columns of a product come in multiples of the first, at most the second


class TriangleGram(GramOperator):
    """Half of a symmetric K in float32: a quarter of the bytes of K in float64.

    A product reads each number once, and uses it on both sides of the diagonal while it is in the
    cache. It is as exact as float32 allows: sums of 384 products are added up in float64.

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric
        The matrix, which is computed here and not kept.

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> X = np.arange(3.0, dtype=np.float32)[:, None]
    >>> K = TriangleGram(gram(RBF(0.5), X))
    >>> (K @ np.eye(3, dtype=np.float32)).round(3).tolist()[0][:2], K.held_bytes
    ([1.0, 0.6069999933242798], 36)
    """

    cheap = frozenset({"rows", "dense", "factorise"})
    symmetric = True
    dtype = np.dtype(np.float32)

    def __init__(self, K: GramOperator):
        self.shape, self.place = K.shape, K.place
        n = K.shape[0]

        def strip(s: int) -> np.ndarray:
            i = slice(s, min(s + STRIP, n))
            A = np.empty((i.stop - s, n - s), np.float32)
            for t in range(s, n, STRIP):
                j = slice(t, min(t + STRIP, n))
                A[:, t - s : j.stop - s] = K.block(i, j)
            mirrored(A[:, : len(A)])
            return A

        starts = range(0, n, STRIP)
        self._strips = list(zip(starts, ordered_map(strip, starts, self.n_jobs), strict=True))

    @property
    def held_bytes(self) -> int:
        return sum(A.nbytes for _, A in self._strips)

    @property
    def kept_bytes(self) -> int:
        return self.held_bytes

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        return self.rows(i)[:, j]

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        i = np.arange(self.shape[0])[i]
        values = np.empty((len(i), self.shape[1]), self.dtype) if out is None else out
        for s, A in self._strips:
            end = s + len(A)
            inner, below = np.flatnonzero((i >= s) & (i < end)), np.flatnonzero(i >= end)
            values[inner, s:] = A[i[inner] - s]
            values[below, s:end] = A[:, i[below] - s].T
        return values

    def diag(self) -> np.ndarray:
        return np.concatenate([A.diagonal() for _, A in self._strips])

    def __matmul__(self, V: Any) -> np.ndarray:
        V = np.asarray(V)
        columns = V if V.ndim > 1 else V[:, None]
        out = np.empty(columns.shape, np.result_type(self.dtype, V))
        for s in range(0, columns.shape[1], WIDEST):
            out[:, s : s + WIDEST] = self._product(columns[:, s : s + WIDEST])
        return out.reshape(V.shape)

    def _product(self, columns: np.ndarray) -> np.ndarray:
        n, count = columns.shape
        V = np.zeros((n, -(-count // LANES) * LANES), np.float32)
        V[:, :count] = columns

        def product(strip: tuple[int, np.ndarray]) -> np.ndarray:
            s, A = strip
            part = np.zeros((n - s, V.shape[1]))
            _native.triangle_add_strip(A, V[s:], part)
            return part

        out = np.zeros(V.shape)
        parts = ordered_map(product, self._strips, self.n_jobs)
        for (s, _), part in zip(self._strips, parts, strict=True):
            out[s:] += part
        return out[:, :count]


def held_for_products(K: GramOperator) -> GramOperator:
    """K in memory if it fits, in the form whose products are fastest; else K itself.

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> held_for_products(gram(RBF(), X.astype(np.float32))).describe()
    'TriangleGram 3 x 3 float32'
    """
    if K.symmetric and K.dtype == np.float32 and "dense" in K.cheap and K.held_bytes:
        return TriangleGram(K)
    return K.held()
