"""A Gram matrix centred in feature space, and a Gram matrix with a shifted diagonal.

They do not change the original matrix: they correct its products, rows and blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.distances import fill
from mercer.gram.operator import AlteredGram, GramOperator, Rows


class Means(NamedTuple):
    """Means of a Gram matrix of training samples.

    Attributes
    ----------
    columns : ndarray of shape (n,)
        1/n Σ_i k(x_i, x_j).
    all : float
        Mean of all values.
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
    """K + diag(shift), used for ridge regression and to repair kernels.

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
