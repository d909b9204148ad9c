"""A Gram matrix with labels, Q = (y yᵀ) ∘ (K + c): what the margin of a separating plane is about.

The smallest αᵀQα over weights α >= 0 with the sum 1 is the squared distance from the origin to the
convex hull of the y_i φ(x_i), and so the square of the largest margin of a plane through the
origin of the feature space of k + c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.operator import AlteredGram, GramOperator, Rows


class LabelledGram(AlteredGram):
    """Q_ij = scale · y_i y_j (K_ij + constant), for a symmetric K.

    Parameters
    ----------
    K : GramOperator of shape (n, n), symmetric
    y : array-like of shape (n,)
        Labels +1 and -1.
    constant : float
    scale : float > 0

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

    def __matmul__(self, V: Any) -> np.ndarray:
        V = np.asarray(V)
        y = self.y.reshape(-1, *[1] * (V.ndim - 1))
        product = self.K @ (y * V) + self.constant * (y * V).sum(axis=0)
        return (self.scale * y * product).astype(np.result_type(self.dtype, V), copy=False)
