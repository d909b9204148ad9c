"""Kernels that are functions of the inner product <x, z>."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels.base import Kernel

__all__ = ["Linear"]


class Linear(Kernel):
    r"""Linear kernel :math:`k(x, z) = \langle x, z \rangle`."""

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return X @ Z.T

    def diag(self, X: Any) -> np.ndarray:
        return np.einsum("ij,ij->i", X, X)

    def features(self, X: Any) -> np.ndarray:
        return X
