"""Ridge regression on a low-rank Gram matrix: a whole path of penalties from one m x m problem.

With K ≈ F Fᵀ the problem min Σ w (y - F β)² + λ ‖β‖² has the normal equations
(Fᵀ W F + λ I) β = Fᵀ W y. One eigendecomposition FᵀWF = Q diag(μ) Qᵀ serves every λ, and the
leverages h_i(λ) = w_i Σ_k (F Q)_ik² / (μ_k + λ) give leave-one-out in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from mercer.gram.low_rank import LowRankGram
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge_path import check_penalties

__all__ = ["LowRankRidge"]


class LowRankRidge:
    """The low-rank twin of `RidgePath`: the same methods, coefficients at the centres.

    Parameters
    ----------
    K : LowRankGram of shape (n, n) and rank m
        Its factor is read strip by strip, so that it need not be held.
    weights : array of shape (n,) or None
        Weights mean repetition.

    Notes
    -----
    O(n m²) operations in K's precision, summed over strips in float64; O(m³) for the
    eigendecomposition, in float64; O(m²) memory beside K.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> from mercer.gram.low_rank import pivoted_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), rank=3, random_state=0)
    >>> LowRankRidge(K).leave_one_out(y, penalties=[0.5, 1.0]).round(3)
    array([[0.   , 0.889, 1.333],
           [0.   , 0.8  , 1.   ]])
    """

    def __init__(self, K: LowRankGram, weights: np.ndarray | None = None):
        self.K = K
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        A = np.zeros((K.rank, K.rank))
        for rows, F in K.strips():
            A += F.T @ self._weighted(F, rows)
        self.eigenvalues, self.Q = scipy.linalg.eigh(
            A, overwrite_a=True, check_finite=False, driver="evd"
        )
        self.eigenvalues = np.maximum(self.eigenvalues, 0)
        #: what rounding leaves of an eigenvalue that is 0
        self.noise = len(self.Q) * np.finfo(np.float64).eps * float(self.eigenvalues.max())

    def solve(self, y: np.ndarray, penalty: float) -> Result:
        """Coefficients at ``K.centres``, shape (m,) or (m, outputs).

        ``gap`` is the relative residual ‖FᵀWy - (FᵀWF + λ I) β‖ / ‖FᵀWy‖, computed from F.
        """
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        b = self._right_side(Y)
        beta = self.Q @ ((self.Q.T @ b) * self._inverse(penalty)[:, None])
        residual, objective = -penalty * beta, penalty * float(np.sum(beta**2))
        for rows, F in self.K.strips():
            error = Y[rows] - F @ beta.astype(F.dtype)
            weighted = self._weighted(error, rows)
            residual += F.T @ weighted.astype(F.dtype)
            objective += float(np.sum(error * weighted))
        size = np.linalg.norm(b, axis=0)
        gap = float((np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1)).max())
        converged = gap <= np.sqrt(np.finfo(self.K.dtype).eps)
        return Result(
            self.K.lift(beta).reshape(-1, *np.shape(y)[1:]),
            objective=objective,
            gap=gap,
            converged=converged,
            reason=Reason.CONVERGED if converged else Reason.STALLED,
            solver="LowRankRidge",
            certificate="relative residual",
        )

    def residual_sums(self, y: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Σ_i w_i (y_i - f(x_i)) of each output, for ``coef`` at the centres: (outputs,)."""
        w = np.ones(self.K.shape[0]) if self.weights is None else self.weights
        return w @ y - self._right_side(np.ones((len(w), 1)))[:, 0] @ (self.K.L.T @ coef)

    def leave_one_out(self, y: np.ndarray, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """For each λ and row, the prediction of the fit without that row: (penalties, *y.shape).

        As `RidgePath.leave_one_out`, with the centres kept: the factor stays as it is.
        """
        penalties = check_penalties(penalties)
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        inverses = self._inverse(penalties)  # (m, penalties)
        beta = (self.Q.T @ self._right_side(Y))[:, None, :] * inverses[:, :, None]
        dtype = self.K.dtype
        Q, small = self.Q.astype(dtype), np.finfo(dtype).eps
        inverses, flat = inverses.astype(dtype), beta.reshape(len(beta), -1).astype(dtype)
        out = np.empty((len(penalties), *Y.shape))
        for rows, F in self.K.strips():
            T = F @ Q
            f = (T @ flat).astype(np.float64).reshape(len(T), len(penalties), -1)
            np.square(T, out=T)
            h = self._weighted((T @ inverses).astype(np.float64), rows)[:, :, None]
            left = np.maximum(1 - h, small)  # 0 for a row that no other row supports
            out[:, rows] = ((f - h * Y[rows, None, :]) / left).transpose(1, 0, 2)
        return out.reshape(len(penalties), *np.shape(y))

    def effective_dimension(self, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """Degrees of freedom of the fit, Σ_k μ_k / (μ_k + λ), for each λ."""
        return (self.eigenvalues[:, None] * self._inverse(check_penalties(penalties))).sum(axis=0)

    def _right_side(self, Y: np.ndarray) -> np.ndarray:
        b = np.zeros((self.K.rank, Y.shape[1]))
        for rows, F in self.K.strips():
            b += F.T @ self._weighted(Y[rows], rows).astype(F.dtype)
        return b

    def _inverse(self, penalty: float | np.ndarray) -> np.ndarray:
        """1 / (μ + λ), and 0 where that is rounding: shape (m,) or (m, penalties)."""
        shifted = self.eigenvalues.reshape(-1, *[1] * np.ndim(penalty)) + penalty
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > self.noise)

    def _weighted(self, A: np.ndarray, rows: slice) -> np.ndarray:
        if self.weights is None:
            return A
        return A * self.weights[rows, None].astype(A.dtype)
