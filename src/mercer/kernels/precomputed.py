"""The kernel that is given as a matrix of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances import Meaning
from mercer.kernels.base import Kernel
from mercer.samples import MatrixRows


class Precomputed(Kernel):
    """A kernel whose values are given; the same as ``kernel="precomputed"`` of the learners.

    For ``fit``, X is the matrix K between all training samples, of shape (n, n). For predictions,
    X is the matrix K between m new samples and all training samples, of shape (m, n).

    Parameters
    ----------
    positive_definite : bool, optional
        Whether K is positive semidefinite. None means that it is not known.

    Examples
    --------
    >>> from mercer import SVC
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    >>> SVC(kernel=Precomputed()).fit(K, [0, 0, 1]).predict([[0.0, 0.0, 2.0]])
    array([1])
    """

    meaning = Meaning("K given as a matrix", "a number that was computed elsewhere")

    kind = "precomputed"

    def __init__(self, positive_definite: bool | None = None):
        self.positive_definite = positive_definite

    def support(self, X: MatrixRows) -> MatrixRows:
        return X.without_values()

    def matrix(self, X: MatrixRows, Z: MatrixRows) -> tuple[np.ndarray, Any, Any]:
        if Z.columns is not None and X.matrix is not None:
            return X.matrix, X.rows, Z.columns
        if X.columns is not None and Z.matrix is not None:
            return Z.matrix.T, X.columns, Z.rows
        raise ValueError(
            "The values of K between these samples are not known: a precomputed matrix holds K "
            "between the training samples, or between new samples and the training samples."
        )

    def block(self, X: MatrixRows, Z: MatrixRows) -> np.ndarray:
        K, rows, columns = self.matrix(X, Z)
        return K[np.ix_(rows, columns)]

    def diag(self, X: MatrixRows) -> np.ndarray:
        K, rows, columns = self.matrix(X, X)
        return K[rows, columns]
