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
    #: `gradient` gives the slopes of `raw`
    differentiable: bool = False

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        """ρ ** exponent, the form that is cheapest to compute (squared, for Euclid): (n, m).

        A fresh array, which the caller may overwrite.
        """
        return self.block(X, Z)

    def within(self, X: Any, Z: Any, limit: float) -> np.ndarray:
        """`raw` where it is at most ``limit``, and anything above ``limit`` elsewhere: (n, m).

        Override it where pairs that are too far apart can be given up early.
        """
        return self.raw(X, Z)

    def key(self, X: Any) -> np.ndarray | None:
        """A number for each sample, no two of which differ by more than ρ of the two: (n,).

        Searches pass over samples whose keys are too far apart. None: there is no such number.
        """
        return None

    def gradient(self, X: Any, Z: Any, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights[i, j] ∂raw(x_i, z_j) / ∂x_i for each row of X, encoded vectors: (n, d).

        The gradient of a function Σ_j profile(raw(x, z_j)) a_j, for weights a_j · profile'. Where
        it does not exist (p = 1 and equal coordinates, say) the missing term counts as 0.

        Raises
        ------
        TypeError
            The distance is not ``differentiable``.
        """
        raise TypeError(f"{self!r} has no gradient with respect to {self.kind}.")
