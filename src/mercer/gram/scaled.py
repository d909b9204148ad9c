"""A Gram matrix whose rows and columns are scaled."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.operator import GramOperator, Rows

__all__ = ["ScaledGram"]


class ScaledGram(GramOperator):
    """diag(s) K diag(s), for normalised similarities.

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric
    factors : ndarray of shape (n,)
        s.

    Raises
    ------
    ValueError
        K is not symmetric, or ``factors`` does not have one number for each row.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> ScaledGram(DenseGram(np.ones((2, 2)), symmetric=True), np.array([1.0, 3.0])).dense()
    array([[1., 3.],
           [3., 9.]])
    """

    symmetric = True

    def __init__(self, K: GramOperator, factors: np.ndarray):
        if not K.symmetric or np.shape(factors) != K.shape[:1]:
            raise ValueError(
                f"K has shape {K.shape} and factors has shape {np.shape(factors)}: give a "
                "symmetric K, and as factors= one number for each row."
            )
        self.K, self.factors = K, np.asarray(factors, np.float64)
        self.shape, self.dtype, self.cheap = K.shape, K.dtype, K.cheap - {"factor"}

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        block = self.K.block(i, j) * self.factors[i][:, None] * self.factors[j]
        return block.astype(self.dtype, copy=False)

    def diag(self) -> np.ndarray:
        return (self.K.diag() * self.factors**2).astype(self.dtype, copy=False)

    def __matmul__(self, V: Any) -> np.ndarray:
        V = np.asarray(V)
        s = self.factors.reshape(-1, *[1] * (V.ndim - 1))
        product = self.K @ (s * V).astype(V.dtype, copy=False)
        return (s * product).astype(product.dtype, copy=False)
