"""The distance in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from mercer.distances.base import Rooted
from mercer.distances.comparison import Comparison
from mercer.distances.meaning import Meaning
from mercer.samples import Prepared


class KernelDistance(Rooted):
    r"""Distance between the features φ(x) and φ(z) of a kernel,
    :math:`\rho(x, z)^2 = k(x, x) + k(z, z) - 2 k(x, z)`; if rounding makes it negative, it is 0.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric positive semidefinite kernel.

    Notes
    -----
    It is a metric if different samples have different features, otherwise a pseudometric. It costs
    as much as the kernel.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> KernelDistance(Linear())([[0.0, 0.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    meaning = Meaning(
        "√(k(x, x) − 2 k(x, z) + k(z, z)), k = {kernel}",
        "the distance of two samples in the features of a kernel",
    )

    exponent = 2.0

    def __init__(self, kernel: Any):
        self.kernel = kernel

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        return 2.0 if self.kernel.positive_definite is True else 0.0

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.kernel.kind

    def validate(self) -> None:
        if not isinstance(self.kernel, Comparison) or not hasattr(self.kernel, "diag"):
            raise TypeError(f"kernel={self.kernel!r}: KernelDistance needs a Mercer kernel object.")
        self.kernel.validate()
        if not self.kernel.symmetric:
            raise TypeError(
                f"kernel={self.kernel!r} is not symmetric, but a distance needs k(x, z) = k(z, x): "
                "give a kernel that is."
            )

    def encoding(self) -> Hashable:
        return self.kernel.encoding()

    def encode(self, X: Any, like: Any = None) -> Any:
        return self.kernel.encode(X, like)

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        X = self.kernel.prepare(X, None if like is None else like.parts[0])
        return Prepared((X, self.kernel.diag(X)))

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (x, x_squares), (z, z_squares) = X.parts, Z.parts
        D = self.kernel.block(x, z)
        D *= -2
        D += x_squares[:, None]
        D += z_squares
        return np.maximum(D, 0, out=D)
