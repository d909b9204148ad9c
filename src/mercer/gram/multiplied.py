"""A Gram matrix of which products are known, and no entries: a part of a symmetric matrix that is
multiplied as a whole, such as a function of the Laplacian of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.operator import GramOperator, Rows
from mercer.gram.place import Place
from mercer.kernels import Products
from mercer.threads import ordered_map, raise_if_stopped

NUMBERS = 2**21  # of the vectors that a thread multiplies at a time
MOST = 64  # vectors at a time
FEW = 1e11  # operations up to which all entries are computed: about a minute on one core


class MultipliedGram(GramOperator):
    """K = M[rows][:, columns]: vectors are spread to all columns of M, multiplied, and gathered.

    Parameters
    ----------
    products : Products
        M, and where the samples are in it.
    dtype : dtype
    place : Place
        Memory and threads.

    Notes
    -----
    An entry costs as much as a product, and so does a whole column of M. Rows are not cheap
    therefore, and K is computed and kept only if that is not too much work.

    Examples
    --------
    >>> M = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 4.0]])
    >>> some = np.array([2, 0])
    >>> K = MultipliedGram(Products(lambda V: M @ V, 3, some, some, 18.0), np.dtype(float))
    >>> K.dense(), K @ np.array([1.0, 10.0])
    (array([[4., 0.],
           [0., 2.]]), array([ 4., 20.]))
    """

    cheap = frozenset()

    def __init__(self, products: Products, dtype: Any, place: Place = Place()):
        self.products, self.place = products, place
        self.i, self.j = products.rows, products.columns
        self.shape, self.dtype = (len(self.i), len(self.j)), np.dtype(dtype)
        self.symmetric = self.i is self.j
        if min(self.shape) * products.cost <= FEW:
            self._keep_if_it_fits()

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        rows, columns = self.i[i], self.j[j]
        if len(rows) < len(columns):
            return np.ascontiguousarray(self._entries(columns, rows).T)
        return self._entries(rows, columns)

    def _entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """M[rows][:, columns], by one product for each different column."""
        distinct, back = np.unique(columns, return_inverse=True)
        out = np.empty((len(rows), len(distinct)), self.dtype)
        step = self._step()

        def strip(s: int) -> None:
            raise_if_stopped()
            some = distinct[s : s + step]
            V = np.zeros((self.products.size, len(some)), self.dtype)
            V[some, np.arange(len(some))] = 1
            out[:, s : s + step] = self.products.multiply(V)[rows]

        for _ in ordered_map(strip, range(0, len(distinct), step), self.n_jobs):
            pass
        return out if len(distinct) == len(back) and (back == np.arange(len(back))).all() else (
            out[:, back]
        )  # fmt: skip

    def _step(self) -> int:
        return int(np.clip(NUMBERS // max(self.products.size, 1), 1, MOST))

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> MultipliedGram:
        whole = self.products
        rows = self.i[i]
        same = self.symmetric and (j is None or j is i)
        columns = rows if same else self.j[i if j is None else j]
        part = Products(whole.multiply, whole.size, rows, columns, whole.cost)
        return MultipliedGram(part, self.dtype, self.place)

    def diag(self) -> np.ndarray:
        n, step = min(self.shape), self._step()
        out = np.empty(n, self.dtype)

        def strip(s: int) -> None:
            raise_if_stopped()
            rows, columns = self.i[s : min(s + step, n)], self.j[s : min(s + step, n)]
            V = np.zeros((self.products.size, len(columns)), self.dtype)
            V[columns, np.arange(len(columns))] = 1
            out[s : s + step] = self.products.multiply(V)[rows, np.arange(len(rows))]

        for _ in ordered_map(strip, range(0, n, step), self.n_jobs):
            pass
        return out

    @property
    def T(self) -> GramOperator:
        if self.symmetric:
            return self
        whole = self.products
        turned = Products(whole.multiply, whole.size, self.j, self.i, whole.cost)
        return MultipliedGram(turned, self.dtype, self.place)

    def __matmul__(self, V: Any) -> np.ndarray:
        V = np.asarray(V)
        columns = V.reshape(len(V), -1)
        dtype = np.result_type(self.dtype, V)
        out = np.empty((self.shape[0], columns.shape[1]), dtype)
        step = self._step()

        def strip(s: int) -> None:
            some = columns[:, s : s + step]
            W = np.zeros((self.products.size, some.shape[1]), dtype)
            np.add.at(W, self.j, some)
            out[:, s : s + step] = self.products.multiply(W)[self.i]

        for _ in ordered_map(strip, range(0, columns.shape[1], step), self.n_jobs):
            pass
        return out.reshape(self.shape[0], *V.shape[1:])
