"""Kernels that are decreasing functions of a distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import Distance, Minkowski
from mercer.kernels.base import Radial

__all__ = ["RBF"]


class RBF(Radial):
    r"""Gaussian kernel :math:`k(x, z) = \exp(-\gamma \|x - z\|^2)`.

    Parameters
    ----------
    gamma : float > 0, "scale" or "median", default=1.0
        γ. "scale" is 1 / (d · var(X)) of the training sample, as in scikit-learn; "median" is
        1 / the median squared distance.
    metric : Distance, optional
        In place of the Euclidean distance.
    """

    def __init__(self, gamma: float | str = 1.0, metric: Distance | None = None):
        self.gamma = gamma
        self.metric = metric

    @property
    def distance(self) -> Distance:
        return Minkowski() if self.metric is None else self.metric

    def profile(self, D: np.ndarray) -> np.ndarray:
        if self.distance.exponent != 2:
            D **= 2 / self.distance.exponent
        _native.exp_scaled(D, float(self.gamma))
        return D

    def bind(self, X: Any, y: Any = None) -> RBF:
        self.validate()
        if self.gamma == "scale":
            variance = float(X.var())
            return RBF(1.0 / (X.shape[1] * variance) if variance > 0 else 1.0, self.metric)
        return self
