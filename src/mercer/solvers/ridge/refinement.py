"""Solutions made exact: an approximate inverse of S + λ I, residuals in float64, and a certificate.

`refined` corrects a solution by an inverse that is nearly exact, as a factor in float64 is.
`conjugate` takes the inverse as a preconditioner, which a factor in float32 is also where
its corrections alone would not converge. The certificate of both is the normwise backward error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer.solvers.ridge.ridge_system import RidgeSystem

Inverse = Callable[[np.ndarray], np.ndarray]

CORRECTIONS = 10  # at most; a factor in float64 takes 1 or 2
STEPS = 15  # of conjugate gradients, as many as cost about what the other factor costs


class Solution(NamedTuple):
    """z with (S + λ I) z ≈ b, its residual, its backward error, and the steps it took."""

    z: np.ndarray
    residual: np.ndarray
    gap: float
    steps: int

    def exact(self, n: int) -> bool:
        """Whether the error is what rounding of n terms explains."""
        return bool(self.gap <= 100 * tolerance(n))


def tolerance(n: int) -> float:
    """The backward error at which iterations stop: n units of float64's rounding."""
    return n * float(np.finfo(np.float64).eps)


def backward_error(z: np.ndarray, r: np.ndarray, b: np.ndarray, norm: float) -> float:
    """‖r‖ / (‖A‖ ‖z‖ + ‖b‖) of the worst column, NaN if there is one.

    The relative change of the data for which z is exact (Higham, "Accuracy and Stability of
    Numerical Algorithms", 2002, section 7.1).
    """
    scale = norm * np.linalg.norm(z, axis=0) + np.linalg.norm(b, axis=0)
    return float((np.linalg.norm(r, axis=0) / np.where(scale > 0, scale, 1)).max(initial=0))


def refined(
    system: RidgeSystem, inverse: Inverse, b: np.ndarray, penalty: float, norm: float
) -> Solution:
    """Iterative refinement (Higham 2002, section 12.1): each step gains the inverse's precision."""
    best, tol, steps = Solution(np.zeros_like(b), b, np.inf, 0), tolerance(len(b)), 0
    while steps < CORRECTIONS:
        z = best.z + inverse(best.residual)
        r = system.residual(z, b, penalty)
        gap = backward_error(z, r, b, norm)
        steps += 1
        if not gap < best.gap:
            break
        stalled, best = best.gap / 2, Solution(z, r, gap, steps)
        if gap <= tol or gap > stalled:
            break
    return best._replace(steps=steps)


def conjugate(
    system: RidgeSystem, inverse: Inverse, b: np.ndarray, penalty: float, norm: float
) -> Solution:
    """Preconditioned conjugate gradients, each column by itself, until all are exact.

    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 11.5. Differences: the
    Polak-Ribière β, since a preconditioner in float32 is not quite a fixed linear map; and the
    residual is computed from z at the end, and from then on where it differs from the updated one.
    """
    tol, steps, before = tolerance(len(b)) / np.sqrt(max(len(b), 1)), 0, np.inf
    z, r = np.zeros_like(b), b.copy()
    while steps < STEPS:  # again from the true residual, if that is larger than the updated one
        d = inverse(r)
        p, ρ = d.copy(), np.sum(r * d, axis=0)
        while steps < STEPS:
            q = p * penalty - system.residual(p, np.zeros_like(p), 0.0)
            curvature = np.sum(p * q, axis=0)
            length = np.divide(ρ, curvature, out=np.zeros_like(ρ), where=curvature > 0)
            z += length * p
            change = length * q
            r -= change
            steps += 1
            if not tol < backward_error(z, r, b, norm) < np.inf or not (curvature > 0).any():
                break
            d = inverse(r)
            β = np.divide(-np.sum(d * change, axis=0), ρ, out=np.zeros_like(ρ), where=ρ > 0)
            ρ = np.sum(r * d, axis=0)
            p = d + β * p
        r = system.residual(z, b, penalty)
        gap = backward_error(z, r, b, norm)
        if gap <= tol or not gap < before / 2:
            break
        before = gap
    return Solution(z, r, gap, steps)
