"""The one door to Gram matrices: `gram` asks a list of makers, newest first, for an operator.

A maker says whether it can serve a kernel, samples and a place, and makes the operator. Those of
this file serve everything on this machine's processor; `register` adds others. Most matrices are
made as `TiledGram`: not stored, so that each tile is computed, used and freed; `TriangleGram` has
the upper triangle of a symmetric one in memory, in float32, for many products.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from contextlib import ExitStack
from functools import cached_property
from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import WORK, mirrored, tile_edge
from mercer.estimator import Seed
from mercer.gram.combined import MultipliedGram
from mercer.gram.low_rank import CrossFeatureGram, FeatureGram, low_rank_gram
from mercer.gram.operator import DenseGram, GramOperator, MatrixPart, Rows
from mercer.gram.place import Place, PreparedSide
from mercer.kernels import Kernel, Radial
from mercer.needs_torch import need_torch
from mercer.samples import Samples, describe
from mercer.threads import blas_share, ordered_map

#: devices of torch, which a number may follow, as in "cuda:1"; "cpu:torch" is its code here
TORCH = ("cuda", "mps", "xpu", "cpu")

PANEL = 384  # rows of a strip: a square with this many columns stays in a core's L2 cache
LANES, WIDEST = 16, 64  # columns of a product come in multiples of the first, at most the second
STRIP = 1024  # least columns of a block of rows that one thread computes at a time
WIDE = 2**20  # most numbers in such a block if it has more columns
SUMS = 2**20  # most numbers in the sums of products that each thread adds up

#: the operator of a bound kernel between encoded samples, for a place; None if it is for others
Maker = Callable[[Any, Any, Any, Place], GramOperator | None]


def gram(
    kernel: Kernel,
    X: Samples,
    Z: Any = None,
    *,
    place: Place | None = None,
    rank: int | None = None,
    random_state: Seed = None,
) -> GramOperator:
    """The Gram matrix of a bound kernel between encoded samples, as an operator.

    .. math:: K_{ij} = k(x_i, z_j)

    K has the shape (n, m).

    Nothing is computed yet, unless ``rank`` is given. `GramOperator.held` computes K and keeps it
    if it needs at most half of the budget (solvers need memory too).

    Parameters
    ----------
    kernel : Kernel
        The kernel, bound to the training samples.
    X, Z : encoded samples
        Samples encoded by ``kernel.encode``; Z defaults to X, and may be a `PreparedSide`, which
        several matrices have.
    place : Place, optional
        Memory, threads and device; None means half of the free memory and all cores.
    rank : int, optional
        Approximate K by a factor with this number of columns, or fewer if K has a lower rank.
    random_state : int, RandomState or None
        Seed of the centres of the factor; used only with ``rank``.

    Returns
    -------
    GramOperator

    Raises
    ------
    ValueError
        No maker serves the device of the place, or not for this kernel and these samples.
    ImportError
        The device is one of torch, and torch is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> K = gram(RBF(0.5), np.arange(6.0).reshape(3, 2))
    >>> K.shape, (K @ np.ones(3)).round(3)
    ((3, 3), array([1.018, 1.037, 1.018]))
    """
    place = Place() if place is None else place
    for name, raw in (("X", X), ("Z", Z)):
        if isinstance(raw, (np.ndarray, PreparedSide)):
            continue
        if isinstance(raw, (str, bytes, list, tuple, Mapping, Set)) or (name == "X" and X is None):
            raise TypeError(
                f"{name} is {describe(raw)}: give encoded samples, kernel.encode({name})."
            )
    columns = Z if isinstance(Z, PreparedSide) else None
    Z = X if Z is None else Z.samples if columns else Z
    for maker in _makers:
        K = maker(kernel, X, Z, place)
        if K is not None:
            break
    else:
        raise ValueError(
            f"device={place.device!r}: no maker of Gram matrices serves it for {kernel!r}. Give "
            'None, or "cuda" or "cpu:torch" for torch, or add a maker that does by '
            "mercer.gram.register."
        )
    if "cheap" not in vars(K) and type(K).cheap is GramOperator.cheap:
        K.cheap = GramOperator.cheap | _cheap_if_kept(K, place)  # its author left it to us
    K.columns = columns
    return K if rank is None else low_rank_gram(K, rank, random_state=random_state)


def _cheap_if_kept(K: GramOperator, place: Place) -> frozenset[str]:
    """What can be done with an operator of a user, because all of it fits in memory."""
    return frozenset({"dense", "factorise"} if place.holds(2 * K.nbytes) else ())


def register(maker: Maker) -> ExitStack:
    """Let a maker of operators be asked before all that are there.

    Parameters
    ----------
    maker : callable
        ``maker(kernel, X, Z, place)`` returns a `GramOperator`, or None to leave this matrix to the
        other makers. Z is X if the matrix is that of one set of samples. The operator should
        compute nothing until it is used: searches make one only to know who serves the matrix.

    Returns
    -------
    contextlib.ExitStack
        Its ``close()`` takes the maker away again, and so does the end of a ``with`` block.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> def ones(kernel, X, Z, place):
    ...     return DenseGram(np.ones((len(X), len(Z))), Z is X) if kernel.linear else None
    >>> with register(ones):
    ...     gram(Linear(), np.zeros((2, 1))).dense().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    >>> gram(Linear(), np.zeros((2, 1))).dense().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    _makers.insert(0, maker)
    registered = ExitStack()
    registered.callback(_makers.remove, maker)
    return registered


def made_here(kernel: Kernel, X: Samples, place: Place) -> bool:
    """Whether no maker from outside serves a matrix, so that it may be kept as an array here."""
    others = _makers[:-1]  # one of them raises an error where it cannot serve
    return all(maker(kernel, X, X, place) is None for maker in others)


def _by_torch(kernel: Kernel, X: Samples, Z: Samples, place: Place) -> GramOperator | None:
    """Kernels with a formula on a device of torch, which is imported if one is asked for."""
    device = place.device
    if not isinstance(device, str) or device.partition(":")[0] not in TORCH or device == "cpu":
        return None
    need_torch(f"device={device!r}")
    from mercer.gram.on_torch import torch_gram

    return torch_gram(kernel, X, Z, place)


def _on_this_processor(kernel: Kernel, X: Samples, Z: Samples, place: Place) -> GramOperator | None:
    """Any kernel by Mercer's own code: a matrix that is known, products, features, or tiles."""
    if place.device not in (None, "cpu"):
        return None
    symmetric = kernel.symmetric and Z is X
    known = kernel.matrix(X, Z)
    if known is not None:  # the samples are its rows and columns
        K, i, j = known
        if all(np.array_equal(part, np.arange(size)) for part, size in zip((i, j), K.shape)):
            return DenseGram(K, symmetric, place=place)
        return MatrixPart(K, i, j, symmetric=symmetric, place=place)
    products = kernel.products(X, Z)
    if products is not None:  # it is multiplied as a whole, without its entries
        return MultipliedGram(products, np.result_type(X.dtype, Z.dtype), place)
    if kernel.linear:
        return FeatureGram(X, place) if Z is X else CrossFeatureGram(X, Z, place)
    tiles = TiledGram(kernel, X, Z, place)
    return tiles.held() if kernel.at_once else tiles


_makers: list[Maker] = [_by_torch, _on_this_processor]


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
        """K[i], of shape (len(i), m); the threads share the columns."""
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
