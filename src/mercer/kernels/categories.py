"""Kernels on rows of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances import Meaning, column_weights, match_counts
from mercer.kernels.base import Kernel
from mercer.samples import Categories, float_array


class Match(Kernel):
    r"""Share of columns that are equal, :math:`k(x, z) = \sum_j w_j [x_j = z_j]`.

    Two missing values are equal to each other, and to nothing else. A category that is not in the
    training sample is equal only to itself.

    Parameters
    ----------
    weights : array-like of shape (c,), optional
        The weights :math:`w_j \ge 0` of the c columns. None means 1/c each, so that k(x, x) = 1.

    See Also
    --------
    mercer.distances.SmoothedMatch, mercer.distances.LogFrequency : Distances that depend on how
        frequent a value is; `FromDistance` makes kernels from them.

    Notes
    -----
    It is positive semidefinite: k(x, z) = <φ(x), φ(z)>, where φ are the weighted indicators of the
    levels (``features``). O(n m c) operations.

    Examples
    --------
    >>> Match()([["red", "s"]], [["red", "m"]])
    array([[0.5]])
    """

    meaning = Meaning(
        "share of j with xⱼ = zⱼ",
        "the share of columns in which two rows agree",
        "1 if x = z, else 0",
    )

    kind = "categories"

    def __init__(self, weights: Any = None):
        self.weights = weights

    def validate(self) -> None:
        if self.weights is not None and not (float_array("weights", self.weights) >= 0).all():
            raise ValueError("weights must be >= 0: with a negative weight this is not a kernel.")

    def _weights(self, X: Categories) -> np.ndarray:
        return column_weights(self.weights, X, 1 / X.shape[1])

    def block(self, X: Categories, Z: Categories) -> np.ndarray:
        return match_counts(X, Z, self._weights(X))

    def diag(self, X: Categories) -> np.ndarray:
        return np.full(X.shape[0], self._weights(X).sum(), X.dtype)

    def features(self, X: Categories) -> np.ndarray:
        """Weighted indicators of the levels in the training sample, (n, number of levels).

        A level that is not in the training sample has no indicator.
        """
        return np.hstack(
            [
                np.sqrt(w) * (codes[:, None] == np.arange(known))
                for w, known, codes in zip(self._weights(X), X.known, X.codes.T)
            ]
        ).astype(X.dtype, copy=False)
