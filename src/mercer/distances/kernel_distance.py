"""The distance in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.comparison import Comparison

__all__ = ["KernelDistance"]


class KernelDistance(Distance):
    r"""Distance of two images in feature space,
    :math:`\rho(x, z)^2 = k(x, x) + k(z, z) - 2 k(x, z)`, clipped at 0.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric positive semidefinite kernel.

    Notes
    -----
    A metric where k separates points, else a pseudometric. Cost: that of the kernel.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> KernelDistance(Linear())([[0.0, 0.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    exponent = 2.0

    def __init__(self, kernel: Any):
        self.kernel = kernel

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.kernel.kind

    def validate(self) -> None:
        if not isinstance(self.kernel, Comparison) or not hasattr(self.kernel, "diag"):
            raise TypeError(f"kernel={self.kernel!r}: KernelDistance needs a Mercer kernel object.")
        self.kernel.validate()

    def encode(self, X: Any, like: Any = None) -> Any:
        return self.kernel.encode(X, like)

    def bind(self, X: Any, y: Any = None) -> KernelDistance:
        self.validate()
        bound = self.kernel.bind(X, y)
        return self if bound is self.kernel else KernelDistance(bound)

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        D = self.kernel.block(X, Z) * -2
        D += self.kernel.diag(X)[:, None]
        D += self.kernel.diag(Z)
        return np.maximum(D, 0, out=D)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        D = self.raw(X, Z)
        return np.sqrt(D, out=D)
