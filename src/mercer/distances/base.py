"""The one interface of all distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.comparison import Comparison

__all__ = ["Distance"]


class Distance(Comparison):
    """A symmetric, non-negative dissimilarity ρ(x, z). Abstract: define ``block``."""

    #: ρ satisfies the triangle inequality and ρ(x, z) = 0 only for x = z (tree search needs it)
    metric: bool = True
    #: `raw` returns ρ ** exponent
    exponent: float = 1.0
    #: ρ(x, x) = 0 for every x
    reflexive: bool = True

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        """ρ ** exponent, the form that is cheapest to compute (squared, for Euclid): (n, m).

        A fresh array, which the caller may overwrite.
        """
        return self.block(X, Z)
