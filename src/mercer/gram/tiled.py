"""Gram matrices in tiles: not stored, so that each tile is computed, used and freed; and the upper
triangle of a symmetric one in memory, in float32, for many products.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer import _native
from mercer.distances import WORK, mirrored, tile_edge
from mercer.gram.operator import GramOperator, Rows
from mercer.gram.place import Place
from mercer.kernels import Kernel, Radial
from mercer.threads import blas_share, ordered_map

if TYPE_CHECKING:
    from mercer.samples import Samples

PANEL = 384  # rows of a strip: a square with this many columns stays in a core's L2 cache
LANES, WIDEST = 16, 64  # columns of a product come in multiples of the first, at most the second


class TriangleGram(GramOperator):
    r"""Half of a symmetric K in float32: a quarter of the bytes of K in float64.

    .. math:: (K v)_I = \sum_{J \ge I} K_{IJ} v_J + \sum_{J < I} K_{JI}^\top v_J

    I and J are blocks of rows; blocks below the diagonal are not stored.

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
            i = slice(s, min(s + PANEL, n))
            A = np.empty((i.stop - s, n - s), np.float32)
            for t in range(s, n, PANEL):
                j = slice(t, min(t + PANEL, n))
                A[:, t - s : j.stop - s] = K.block(i, j)
            mirrored(A[:, : len(A)])
            return A

        starts = range(0, n, PANEL)
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

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        columns = V if V.ndim > 1 else V[:, None]
        out = np.empty(columns.shape, np.result_type(self.dtype, V))
        for s in range(0, columns.shape[1], WIDEST):
            out[:, s : s + WIDEST] = self._product(columns[:, s : s + WIDEST])
        return out.reshape(V.shape)

    def _product(self, columns: np.ndarray) -> np.ndarray:
        """K times some columns, by strips of the triangle."""
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


STRIP = 1024  # least columns of a block of rows that one thread computes at a time
WIDE = 2**20  # most numbers in such a block if it has more columns
SUMS = 2**20  # most numbers in the sums of products that each thread adds up


class TiledGram(GramOperator):
    r"""K computed in tiles that fit the cache; only the upper triangle if K is symmetric.

    .. math:: (K V)_I = \sum_J k(X_I, Z_J)\, V_J

    I and J are the rows and columns of a tile; K has the shape (n, m).

    Parameters
    ----------
    kernel : Kernel
        The kernel, bound to the training samples.
    X, Z : encoded samples
        Z defaults to X.
    place : Place
        Memory and threads; if K needs at most half of the memory, K may be kept in it.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> TiledGram(Linear(), X) @ np.ones(2)
    array([2., 3.])
    """

    def __init__(self, kernel: Kernel, X: Any, Z: Samples | None = None, place: Place = Place()):
        self.kernel, self.X, self.place = kernel, X, place
        self.Z = X if Z is None else Z
        self.symmetric = self.Z is X and kernel.symmetric
        self.shape = (X.shape[0], self.Z.shape[0])
        self.cost = kernel.pair_cost(X)  # of one pair of samples
        self.dtype = np.result_type(X.dtype, self.Z.dtype)
        self._keep_if_it_fits()

    @cached_property
    def sides(self) -> tuple[Any, Any]:
        """X and Z in the form that the kernel's blocks read."""
        if self.columns is not None:
            return self.kernel.prepare(self.X, self.columns.prepared), self.columns.prepared
        return self.kernel.sides(self.X, self.Z)

    def edge(self) -> int:
        return tile_edge(self.shape, self.cost, super().edge())

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        A, B = self.sides
        rows = A[i]
        if self.symmetric and isinstance(i, slice) and isinstance(j, slice) and i == j:
            return self.kernel.block(rows, rows)  # one array twice: distances of 0 are exact
        return self.kernel.block(rows, B[j])

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> TiledGram:
        rows = self.X[i]
        same = j is None and self.Z is self.X
        columns = rows if same else self.Z[i if j is None else j]
        return TiledGram(self.kernel, rows, columns, self.place)

    def diag(self) -> np.ndarray:
        if self.Z is self.X:
            known = isinstance(self.kernel, Radial) and self.kernel.distance.reflexive
            return self.kernel.diag(self.X if known else self.sides[0])
        parts = [slice(s, s + 64) for s in range(0, min(self.shape), 64)]
        return np.concatenate([self.block(part, part).diagonal() for part in parts])

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        """K[i]; the threads share the columns."""
        A, B = self.sides
        X, m = A[i], self.shape[1]
        values = np.empty((X.shape[0], m), self.dtype) if out is None else out
        # wide strips, because threads that often return to Python wait for each other; the width
        # does not depend on the number of threads, so the result does not either
        step = max(STRIP, min(WIDE // max(X.shape[0], 1), -(-m // 4)))
        costly = self.cost * X.shape[0]
        if costly * step > WORK:
            step = max(1, int(WORK / costly))

        def strip(s: int) -> None:
            values[:, s : s + step] = self.kernel.block(X, B[s : s + step])

        for _ in ordered_map(strip, range(0, m, step), self.n_jobs):
            pass
        return values

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        n = self.shape[0]
        V = np.asarray(V)
        columns = V if V.ndim > 1 else V[:, None]
        out = np.zeros((n, columns.shape[1]), dtype=np.float64)
        # threads add up sums for all rows if K is symmetric: then a wide V is taken in parts
        width = max(1, SUMS // max(n, 1)) if self.symmetric else max(columns.shape[1], 1)
        for s in range(0, columns.shape[1], width):
            self._add_product(columns[:, s : s + width], out[:, s : s + width])
        return out.reshape(n, *V.shape[1:]).astype(np.result_type(self.dtype, V), copy=False)

    def _add_product(self, columns: np.ndarray, out: np.ndarray) -> None:
        """out += K @ columns."""
        n, m = self.shape
        precise = np.result_type(self.dtype, columns)  # numpy would widen a tile for each product
        step = wide = self.edge()
        if not self.symmetric and self.dtype == np.float64:  # float32 is summed in short pieces
            wide = max(step, step**2 // max(n, 1))  # of few rows: as many numbers in a tile

        def strip(s: int) -> np.ndarray:
            """Rows from s on of the product, from the tiles of one block row (if K is symmetric,
            also from their transposes)."""
            i = slice(s, min(s + step, n))
            part = np.zeros((n - s if self.symmetric else i.stop - s, columns.shape[1]))
            for t in range(s if self.symmetric else 0, m, wide):
                j = slice(t, min(t + wide, m))
                tile = self.block(i, j).astype(precise, copy=False)
                part[: i.stop - s] += tile @ columns[j]
                if self.symmetric and t > s:
                    part[t - s : j.stop - s] += tile.T @ columns[i]
            return part

        if n <= step:  # a map of one strip would take longer than the strip of a few rows
            with blas_share(self.n_jobs):
                out += strip(0)
            return
        starts = range(0, n, step)
        for s, part in zip(starts, ordered_map(strip, starts, self.n_jobs), strict=True):
            out[s : s + len(part)] += part

    def dense(self) -> np.ndarray:
        return self.kernel.whole(self.X, self.Z, self.n_jobs)
