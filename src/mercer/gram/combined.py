"""Gram matrices made of others: centred, shifted, weighted sums, with labels, parts of a large one.

`CentredGram` and `ShiftedGram` correct products, rows and blocks of the original matrix, which they
do not change.

`LabelledGram` is Q = (y yᵀ) ∘ (K + c): the smallest αᵀQα over weights α >= 0 with the sum 1 is the
squared distance from the origin to the convex hull of the y_i φ(x_i), and so the square of the
largest margin of a plane through the origin of the feature space of k + c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from mercer.distances import fill
from mercer.gram.operator import AlteredGram, GramOperator, Rows
from mercer.gram.place import Place
from mercer.kernels import GramProducts
from mercer.threads import ordered_map, raise_if_stopped


class Means(NamedTuple):
    r"""Means of a Gram matrix of training samples, for `CentredGram` (Schölkopf et al. 1998).

    .. math:: m_j = \frac{1}{n} \sum_i k(x_i, x_j), \qquad m = \frac{1}{n} \sum_j m_j

    Attributes
    ----------
    columns : ndarray of shape (n,)
        1/n Σ_i k(x_i, x_j).
    all : float
        Mean of all values.

    Examples
    --------
    >>> from mercer.gram import CentredGram, DenseGram
    >>> K = CentredGram(DenseGram(np.array([[2.0, 0.0], [0.0, 4.0]]), symmetric=True))
    >>> K.means
    Means(columns=array([1., 2.]), all=1.5)
    """

    columns: np.ndarray
    all: float


class CentredGram(AlteredGram):
    r"""The Gram matrix of features minus the mean feature of the training samples:

    .. math:: \tilde k(x, z) = k(x, z) - \tfrac1n \sum_i k(x, x_i) - \tfrac1n \sum_i k(x_i, z)
              + \tfrac1{n^2} \sum_{ij} k(x_i, x_j).

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric, or (m, n)
        K between the training samples, or between m new samples and the n training samples.
    means : Means, optional
        The attribute ``means`` of the CentredGram of the training samples; only for new samples.

    Raises
    ------
    ValueError
        K is not symmetric and ``means`` is None, or ``means`` lacks one value for each column.

    Notes
    -----
    O(n) memory; each product costs O(n) more than with K. The means cost one product with a vector,
    or one more column of the first product with a matrix.

    References
    ----------
    Schölkopf, Smola & Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
    Neural Computation 10, 1998, appendix A.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> X = np.array([[1.0], [3.0]])
    >>> CentredGram(DenseGram(X @ X.T, symmetric=True)).dense()
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def __init__(self, K: GramOperator, means: Means | None = None):
        if means is None and not K.symmetric:
            raise ValueError(
                f"K of shape {K.shape} is not symmetric: to centre new samples, give means=, the "
                "means of the CentredGram of the training samples."
            )
        n = K.shape[1]
        if means is not None and len(means.columns) != n:
            raise ValueError(
                f"K has {n} columns, but means= is of {len(means.columns)} training samples: give "
                "K between new samples (rows) and these training samples (columns)."
            )
        super().__init__(K)
        self.symmetric = means is None
        self._row_means: np.ndarray | None = None
        self._means = means

    @property
    def row_means(self) -> np.ndarray:
        """The mean of each row of K, (m,)."""
        if self._row_means is None:
            ones = np.ones(self.shape[1], self.K.dtype)
            self._row_means = np.asarray(self.K @ ones, np.float64) / self.shape[1]
        return self._row_means

    @property
    def means(self) -> Means:
        """The means of the training samples, with which new samples are centred."""
        if self._means is None:
            self._means = Means(self.row_means, float(self.row_means.mean()))
        return self._means

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        block = self.K.block(i, j)  # a new array: no other of its size is needed
        block -= self.row_means[i][:, None]
        block -= self.means.columns[j] - self.means.all
        return block

    def diag(self) -> np.ndarray:
        k = min(self.shape)
        means = self.row_means[:k] + (self.means.columns[:k] - self.means.all)
        return (self.K.diag() - means).astype(self.dtype, copy=False)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        total = V.sum(axis=0, dtype=np.float64)
        if self._row_means is None and V.ndim == 2:  # a first product finds them on its way
            found = self.K @ np.column_stack([V, np.ones(len(V), V.dtype)])
            self._row_means = found[:, -1].astype(np.float64) / self.shape[1]
            product = found[:, :-1]
        else:
            product = self.K @ V
        corrections = np.multiply.outer(self.row_means, total)
        corrections += (self.means.columns - self.means.all) @ V
        return (product - corrections).astype(product.dtype, copy=False)


class ShiftedGram(AlteredGram):
    r"""K + diag(shift), for ridge regression (Hoerl & Kennard 1970) and to repair kernels.

    .. math:: \tilde K = K + \mathrm{diag}(s), \qquad \tilde K v = K v + s \circ v

    It has the shape (n, n); s is ``shift``.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
    shift : float or array of shape (n,)
        Number that is added to each diagonal entry.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> ShiftedGram(DenseGram(np.ones((2, 2)), symmetric=True), 0.5).dense()
    array([[1.5, 1. ],
           [1. , 1.5]])
    """

    def __init__(self, K: GramOperator, shift: float | np.ndarray):
        n, m = K.shape
        if n != m or np.shape(shift) not in ((), (n,)):
            raise ValueError(
                f"K has shape {K.shape} and shift has shape {np.shape(shift)}: give a square K, "
                "and as shift= one number or one number for each row."
            )
        super().__init__(K)
        self.shift = np.broadcast_to(np.asarray(shift, np.float64), (n,))
        self.symmetric = K.symmetric

    @property
    def T(self) -> GramOperator:
        return self if self.symmetric else ShiftedGram(self.K.T, self.shift)

    def edge(self) -> int:
        return self.K.edge()

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        every = np.arange(self.shape[0])
        diagonal = np.where(every[i][:, None] == every[j], self.shift[i][:, None], 0)
        return (self.K.block(i, j) + diagonal).astype(self.dtype, copy=False)

    def diag(self) -> np.ndarray:
        return (self.K.diag() + self.shift).astype(self.dtype, copy=False)

    def dense(self) -> np.ndarray:
        K = np.empty(self.shape, self.dtype)  # by tiles, so that no other matrix is needed
        fill(lambda i, j: [self.block(i, j)], [K], self.edge(), self.symmetric, self.n_jobs)
        return K

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        product = self.K @ V
        shifted = self.shift.reshape(-1, *[1] * (V.ndim - 1)) * V
        return (product + shifted).astype(product.dtype, copy=False)


class LabelledGram(AlteredGram):
    r"""The matrix of the dual problem of a support vector machine, for a symmetric K:

    .. math:: Q_{ij} = s\, y_i y_j\, (K_{ij} + c)

    Q has the shape (n, n); s is ``scale``, and c is ``constant``.

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric
    y : array-like of shape (n,)
        Labels +1 and -1.
    constant : float
    scale : float > 0

    References
    ----------
    Keerthi, Shevade, Bhattacharyya & Murthy, "A fast iterative nearest point algorithm for support
    vector machine classifier design", IEEE Transactions on Neural Networks 11, 2000.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.array([[1.0, 0.5], [0.5, 1.0]]), symmetric=True)
    >>> LabelledGram(K, [1, -1], constant=1.0).dense()
    array([[ 2. , -1.5],
           [-1.5,  2. ]])
    """

    symmetric = True

    def __init__(self, K: GramOperator, y: Any, constant: float = 0.0, scale: float = 1.0):
        y = np.asarray(y, np.float64)
        if not K.symmetric or y.shape != (K.shape[0],):
            raise ValueError(
                f"K has shape {K.shape} and y has shape {y.shape}: give a symmetric K, and one "
                "label for each row."
            )
        super().__init__(K)
        self.y, self.constant, self.scale = y, float(constant), float(scale)

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        values = self.K.block(i, j)
        values += values.dtype.type(self.constant)
        values *= (self.scale * self.y[i]).astype(values.dtype)[:, None]
        values *= self.y[j].astype(values.dtype)
        return values

    def diag(self) -> np.ndarray:
        return (self.scale * (self.K.diag() + self.constant)).astype(self.dtype, copy=False)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V)
        y = self.y.reshape(-1, *[1] * (V.ndim - 1))
        product = self.K @ (y * V) + self.constant * (y * V).sum(axis=0)
        return (self.scale * y * product).astype(np.result_type(self.dtype, V), copy=False)


NUMBERS = 2**21  # of the vectors that a thread multiplies at a time
MOST = 64  # vectors at a time
FEW = 1e11  # operations up to which all entries are computed: about a minute on one core


class MultipliedGram(GramOperator):
    r"""K = M[rows][:, columns]: vectors are spread to all columns of M, multiplied, and gathered.

    .. math:: K = S M T^\top, \qquad K v = S\, (M (T^\top v))

    S and T, of shape (n, N) and (m, N), have a 1 in each row, at ``rows`` and ``columns`` of the
    products; K has the shape (n, m).

    Parameters
    ----------
    products : GramProducts
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
    >>> K = MultipliedGram(GramProducts(lambda V: M @ V, 3, some, some, 18.0), np.dtype(float))
    >>> K.dense(), K @ np.array([1.0, 10.0])
    (array([[4., 0.],
           [0., 2.]]), array([ 4., 20.]))
    """

    cheap = frozenset()

    def __init__(self, products: GramProducts, dtype: DTypeLike, place: Place = Place()):
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
        part = GramProducts(whole.multiply, whole.size, rows, columns, whole.cost)
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
        turned = GramProducts(whole.multiply, whole.size, self.j, self.i, whole.cost)
        return MultipliedGram(turned, self.dtype, self.place)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
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


class CombinedGram(GramOperator):
    r"""A weighted sum of matrices of shape (n, n), none of which has to be in memory:

    .. math:: K = \sum_t \mu_t K_t

    It is that of the kernel `Convex` (Lanckriet et al. 2004).

    Parameters
    ----------
    grams : sequence of GramOperator of shape (n, n), symmetric
    weights : ndarray of shape (len(grams),)
        :math:`\mu_t`; an operator of weight 0 is never read.
    place : Place, default=Place(memory=1)
        Memory and threads; if K needs at most half of the memory, K may be kept in it.

    Raises
    ------
    ValueError
        The operators differ in shape or are not symmetric, or there is not one weight for each.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> one = DenseGram(np.ones((2, 2)), symmetric=True)
    >>> CombinedGram([one, DenseGram(np.eye(2), symmetric=True)], np.array([2.0, 3.0])).dense()
    array([[5., 2.],
           [2., 5.]])
    """

    symmetric = True

    def __init__(
        self, grams: Sequence[GramOperator], weights: np.ndarray, place: Place = Place(memory=1)
    ):
        shapes = [K.shape for K in grams]
        if len(set(shapes)) != 1 or not all(K.symmetric for K in grams):
            raise ValueError(
                f"grams have the shapes {shapes[:10]}: give one or more symmetric operators of one "
                "shape."
            )
        self.weights = np.asarray(weights, np.float64)
        if self.weights.shape != (len(grams),):
            raise ValueError(
                f"weights has shape {self.weights.shape}: give one number for each of the "
                f"{len(grams)} operators."
            )
        self.shape, self.place = shapes[0], place
        self.dtype = np.result_type(*[K.dtype for K in grams])
        self.used = [(mu, K) for mu, K in zip(self.weights, grams) if mu]
        self._edge = min(K.edge() for K in grams)
        self._keep_if_it_fits()

    def edge(self) -> int:
        return self._edge

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        rows, columns = (len(np.arange(self.shape[0])[part]) for part in (i, j))
        total = np.zeros((rows, columns), self.dtype)
        for mu, K in self.used:
            tile = K.block(i, j)
            tile *= mu
            total += tile
        return total

    def diag(self) -> np.ndarray:
        total = np.zeros(self.shape[0])
        for mu, K in self.used:
            total += mu * K.diag()
        return total.astype(self.dtype, copy=False)

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        """K[i], of shape (len(i), m); the threads share the columns."""
        n = self.shape[1]
        rows = np.arange(self.shape[0])[i]
        values = np.empty((len(rows), n), self.dtype) if out is None else out
        step = max(self._edge, -(-n // 16))

        def strip(s: int) -> None:
            values[:, s : s + step] = self.block(rows, slice(s, min(s + step, n)))

        for _ in ordered_map(strip, range(0, n, step), self.n_jobs):
            pass
        return values

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        if j is not None and j is not i:
            return super().part(i, j)
        parts = [K.part(i) for _, K in self.used]
        if not parts:
            return super().part(i)
        return CombinedGram(parts, np.array([mu for mu, _ in self.used]), self.place)

    def dense(self) -> np.ndarray:
        K = np.empty(self.shape, self.dtype)
        fill(lambda i, j: [self.block(i, j)], [K], self._edge, True, self.n_jobs)
        return K
