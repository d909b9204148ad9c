"""Distances between vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance

__all__ = ["Minkowski"]


class Minkowski(Distance):
    r"""Minkowski distance :math:`\rho(x, z) = (\sum_j w_j |x_j - z_j|^p)^{1/p}`."""

    def __init__(self, p: float = 2.0, weights: Any = None):
        self.p = p
        self.weights = weights

    @property
    def exponent(self) -> float:  # type: ignore[override]
        return float(self.p)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return np.sqrt(self.raw(X, Z))

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        return squared_euclidean(X, Z)


def squared_euclidean(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """‖x - z‖² for rows of dense X and Z, by one matrix product on centred rows.

    Centring on Z's mean leaves distances as they are and keeps the norms small, which is what
    ‖x‖² + ‖z‖² - 2<x, z> cancels against.
    """
    centre = Z.mean(axis=0, dtype=np.float64).astype(Z.dtype)
    X_c, Z_c = X - centre, Z - centre
    D = X_c @ Z_c.T
    D *= -2
    D += np.einsum("ij,ij->i", X_c, X_c)[:, None]
    D += np.einsum("ij,ij->i", Z_c, Z_c)
    np.maximum(D, 0, out=D)
    if X is Z:
        np.fill_diagonal(D, 0)
    return D
