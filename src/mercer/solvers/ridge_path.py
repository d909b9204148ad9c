"""Ridge regression for a whole path of penalties from one eigendecomposition of K.

With S = s K sᵀ = Q diag(μ) Qᵀ (see `mercer.solvers.ridge_system`), every λ costs one product:
z(λ) = Q (μ + λ)⁻¹ Qᵀ b, and [(S + λ I)⁻¹]_ii = Σ_k Q_ik² / (μ_k + λ), which leave-one-out needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from mercer.gram import GramOperator
from mercer.gram.operator import require
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge_system import RidgeSystem

__all__ = ["RidgePath", "check_penalties"]


class RidgePath:
    """One eigendecomposition of the weighted Gram matrix, for all λ.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
        Symmetric, "dense" cheap.
    weights : array of shape (n,) or None
        Weights mean repetition.

    Notes
    -----
    The eigendecomposition is computed in K's precision and costs about as much as 20 Cholesky
    factorisations; memory: one n x n matrix beside K, two while it is computed.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> path = RidgePath(DenseGram(X @ X.T, symmetric=True))
    >>> path.leave_one_out(y, penalties=[0.5, 1.0]).round(3) + 0.0
    array([[0.   , 0.889, 1.333],
           [0.   , 0.8  , 1.   ]])
    """

    def __init__(self, K: GramOperator, weights: np.ndarray | None = None):
        require(K, "dense", "RidgePath")
        self.system = RidgeSystem(K, weights)
        self.eigenvalues, self.Q = scipy.linalg.eigh(
            self.system.matrix(0.0), overwrite_a=True, check_finite=False, driver="evd"
        )
        size = np.abs(self.eigenvalues)
        # measured: the eigenvalues of a singular K come out below 4 eps ‖K‖, for n up to 2000
        self.noise = 10 * float(np.finfo(size.dtype).eps) * float(size.max(initial=0))
        self.eigenvalues[size <= self.noise] = 0  # zeros of a singular K, of either sign

    def solve(self, y: np.ndarray, penalty: float) -> Result:
        """a = (K + λ W⁻¹)⁻¹ y, of minimum norm where the matrix is singular.

        ``gap`` is the normwise backward error, as in `CholeskySolver`.
        """
        system = self.system
        b = system.right_side(y)
        shifted = self.eigenvalues.astype(np.float64) + penalty
        tol = len(b) * np.finfo(self.Q.dtype).eps
        lost = np.abs(shifted) <= self.noise
        inverse = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=~lost)
        z, r = np.zeros_like(b), b
        for _ in range(1 if self.Q.dtype == np.float64 else 3):  # float32 is refined in float64
            z += self._apply(inverse[:, None] * self._project(r))
            r = system.residual(z, b, penalty)
        scale = system.norm(penalty) * np.linalg.norm(z, axis=0) + np.linalg.norm(b, axis=0)
        gap = float((np.linalg.norm(r, axis=0) / np.where(scale > 0, scale, 1)).max(initial=0))
        reason = Reason.CONVERGED if gap <= 100 * tol else Reason.STALLED
        return Result(
            system.coef(z, y),
            objective=system.objective(z, b, r, penalty),
            gap=gap,
            converged=reason is Reason.CONVERGED and not lost.any(),
            reason=Reason.SINGULAR if lost.any() else reason,
            solver="RidgePath",
            certificate="backward error",
        )

    def leave_one_out(self, y: np.ndarray, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """For each λ and row, the prediction of the fit without that row: (penalties, *y.shape).

        A row of weight w is left out with all its copies; a row of weight 0 gets the ordinary
        prediction. Needs λ > 0.
        """
        penalties = check_penalties(penalties)
        rotated = self._project(self.system.right_side(y))
        squares = self.Q**2
        inverses = 1.0 / (self.eigenvalues.astype(np.float64)[:, None] + penalties)
        diagonals = squares @ inverses.astype(squares.dtype)
        columns = rotated[:, None, :] * inverses[:, :, None]
        z = self._apply(columns.reshape(len(rotated), -1)).reshape(columns.shape)
        return np.stack(
            [
                self.system.leave_one_out(z[:, i], diagonals[:, i].astype(np.float64), y)
                for i in range(len(penalties))
            ]
        )

    def effective_dimension(self, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """tr K (K + λ W⁻¹)⁻¹, the degrees of freedom of the fit, for each λ."""
        eigenvalues = np.maximum(self.eigenvalues.astype(np.float64), 0)[:, None]
        return (eigenvalues / (eigenvalues + check_penalties(penalties))).sum(axis=0)

    def _project(self, b: np.ndarray) -> np.ndarray:
        return (self.Q.T @ b.astype(self.Q.dtype)).astype(np.float64)

    def _apply(self, c: np.ndarray) -> np.ndarray:
        return (self.Q @ c.astype(self.Q.dtype)).astype(np.float64)


def check_penalties(penalties: Sequence[float] | np.ndarray) -> np.ndarray:
    """As a float64 array of positive numbers."""
    penalties = np.asarray(penalties, dtype=np.float64)
    if penalties.ndim != 1 or not (penalties > 0).all():
        raise ValueError(
            f"penalties={penalties}: give a sequence of positive numbers; without a penalty a "
            "leave-one-out prediction need not exist."
        )
    return penalties
