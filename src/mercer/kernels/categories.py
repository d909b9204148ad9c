"""Kernels on rows of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.categories import match_counts
from mercer.kernels.base import Kernel
from mercer.samples import Categories

__all__ = ["Match"]


class Match(Kernel):
    r"""Share of columns that agree, :math:`k(x, z) = \sum_j w_j [x_j = z_j]`.

    A missing value equals a missing value and nothing else; a category that the training sample
    lacks equals itself and no training value.

    Parameters
    ----------
    weights : array-like of shape (c,), optional
        :math:`w_j \ge 0`; 1/c each by default, so that k(x, x) = 1.

    See Also
    --------
    mercer.distances.SmoothedMatch, mercer.distances.LogFrequency : Distances that know how
        frequent a value is; `FromDistance` makes kernels of them.

    Examples
    --------
    >>> Match()([["red", "s"]], [["red", "m"]])
    array([[0.5]])
    """

    kind = "categories"

    def __init__(self, weights: Any = None):
        self.weights = weights

    def validate(self) -> None:
        if self.weights is not None and not (np.asarray(self.weights) >= 0).all():
            raise ValueError("weights must be >= 0; a negative weight gives no kernel.")

    def _weights(self, X: Categories) -> np.ndarray:
        c = X.shape[1]
        w = np.full(c, 1 / c) if self.weights is None else np.asarray(self.weights, float)
        if w.shape != (c,):
            raise ValueError(f"weights has shape {w.shape}, but X has {c} columns: one each.")
        return w

    def block(self, X: Categories, Z: Categories) -> np.ndarray:
        return match_counts(X, Z, self._weights(X))

    def diag(self, X: Categories) -> np.ndarray:
        return np.full(X.shape[0], self._weights(X).sum(), X.dtype)

    def features(self, X: Categories) -> np.ndarray:
        """Weighted indicators of every level, (n, total number of levels)."""
        return np.hstack(
            [
                np.sqrt(w) * np.eye(len(levels))[codes]
                for w, levels, codes in zip(self._weights(X), X.levels, X.codes.T)
            ]
        )
