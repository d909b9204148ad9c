"""Ridge regression on a low-rank Gram matrix, for all penalties from one m x m problem.

With K ≈ F Fᵀ the problem min Σ w (y - F β)² + λ ‖β‖² has the normal equations
(Fᵀ W F + λ I) β = Fᵀ W y. One eigendecomposition FᵀWF = Q diag(μ) Qᵀ serves every λ, and the
leverages h_i(λ) = w_i Σ_k (F Q)_ik² / (μ_k + λ) give leave-one-out in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mercer.gram import FeatureGram, LowRankGram
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.normal_equations import GramEigenpairs
from mercer.solvers.ridge.ridge_system import check_penalties, solve_by_penalty
from mercer.threads import ordered_map, raise_if_stopped

STRIP = 2048  # rows of F whose products are added up in float64: 512 take half as long again
STRIPS = 4  # that a thread takes at a time


@dataclass(frozen=True)
class LowRankSolver:
    r"""Minimise :math:`\sum_i w_i (y_i - f(x_i))^2 + λ \|f\|^2` over f of the centres of K.

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output.

    Notes
    -----
    K is a `LowRankGram` of rank m, whose factor is read strip by strip, so that it need not be
    held; another K is a TypeError. ``Result.coef`` belongs to ``K.centres``. O(n m²) operations in
    K's precision, summed over strips in float64; O(m³) for the eigendecomposition, in float64;
    O(m²) memory in addition to K. The certificate (``Result.gap``) is the relative residual of the
    normal equations, ‖FᵀWy - (FᵀWF + λ I) β‖ / ‖FᵀWy‖, computed from F.

    Examples
    --------
    >>> from mercer.gram import DenseGram, pivoted_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), rank=3, random_state=0)
    >>> coef = LowRankSolver(penalty=0.5).solve(K, y).coef
    >>> (X @ X[K.centres].T @ coef).round(3)
    array([0.   , 0.909, 1.818])
    >>> LowRankSolver().factorise(K).leave_one_out(y, penalties=[0.5, 1.0]).round(3)
    array([[0.   , 0.889, 1.333],
           [0.   , 0.8  , 1.   ]])
    """

    penalty: float | np.ndarray = 1.0

    def factorise(self, K: LowRankGram, weights: np.ndarray | None = None) -> LowRankFactor:
        """The factorised normal equations, for any number of right sides and penalties."""
        if K.centres is None:
            raise TypeError(
                f"LowRankSolver needs a factor of K on centres, and {K.describe()} has none: make "
                "one by mercer.gram.pivoted_cholesky(K, rank)."
            )
        return LowRankFactor(K, weights)

    def solve(self, K: LowRankGram, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """Coefficients at the centres, (m,) or (m, outputs), for y of (n,) or (n, outputs)."""
        return self.factorise(K, weights).solve(y, self.penalty)


class LowRankFactor:
    """The factorised normal equations, FᵀWF = Q diag(μ) Qᵀ. Made by `LowRankSolver.factorise`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (m,)
        μ, ascending and at least 0.
    Q : ndarray of shape (m, m)
    noise : float
        What rounding leaves of an eigenvalue that is 0.
    pairs : GramEigenpairs
        All three.
    """

    def __init__(self, K: LowRankGram, weights: np.ndarray | None = None):
        self.K = K
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        A = self._summed(self._normal_part, np.zeros((K.rank, K.rank)))
        self.pairs = pairs = GramEigenpairs(A)
        self.eigenvalues, self.Q, self.noise = pairs.values, pairs.Q, pairs.noise

    def solve(self, y: np.ndarray, penalty: float | np.ndarray) -> Result:
        """Coefficients at the centres, for one λ or one for each output."""
        return solve_by_penalty(self._solve, y, penalty)

    def _solve(self, y: np.ndarray, penalty: float) -> Result:
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        b = self._right_side(Y)
        beta = self.Q @ ((self.Q.T @ b) * self.pairs.inverse(penalty)[:, None])
        coef = self.K.lift(beta)
        error = np.empty_like(Y)
        residual = self._against(coef, beta, Y, error) - penalty * beta
        weighted = self._weighted(error, slice(None))
        objective = float(np.sum(error * weighted)) + penalty * float(np.sum(beta**2))
        size = np.linalg.norm(b, axis=0)
        gap = float((np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1)).max())
        converged = gap <= np.sqrt(np.finfo(self.K.dtype).eps)
        return Result(
            coef.reshape(-1, *np.shape(y)[1:]),
            objective=objective,
            gap=gap,
            converged=converged,
            reason=Reason.CONVERGED if converged else Reason.STALLED,
            solver="LowRankSolver",
            certificate="relative residual",
        )

    def residual_sums(self, y: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Σ_i w_i (y_i - f(x_i)) of each output, for ``coef`` at the centres: (outputs,)."""
        w = np.ones(self.K.shape[0]) if self.weights is None else self.weights
        return w @ y - self._right_side(np.ones((len(w), 1)))[:, 0] @ (self.K.L.T @ coef)

    def leave_one_out(self, y: np.ndarray, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """For each λ, the predictions of the fits without each row, of the shape of y.

        As `EigenFactor.leave_one_out`, with the centres kept: the factor stays as it is.
        """
        penalties = check_penalties(penalties)
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        inverses = self.pairs.inverse(penalties)  # (m, penalties)
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
        inverses = self.pairs.inverse(check_penalties(penalties))
        return (self.eigenvalues[:, None] * inverses).sum(axis=0)

    def features(self) -> FeatureGram:
        """F Q, of orthogonal columns, when there are no weights: K ≈ (F Q)(F Q)ᵀ."""
        Q = self.Q.astype(self.K.dtype)
        T = np.empty((self.K.shape[0], self.K.rank), self.K.dtype)
        for rows, F in self.K.strips():
            T[rows] = F @ Q
        return FeatureGram(T)

    def lift(self, coef: np.ndarray) -> np.ndarray:
        """From coefficients on `features` to those at the centres, both of shape (m, ...)."""
        return self.K.lift(self.Q.astype(self.K.dtype).astype(np.float64) @ coef)

    def _right_side(self, Y: np.ndarray) -> np.ndarray:
        """FᵀW Y."""
        none = np.zeros((self.K.rank, 0))
        return self._against(none, none, Y, np.empty_like(Y))

    def _against(
        self, coef: np.ndarray, beta: np.ndarray, Y: np.ndarray, error: np.ndarray
    ) -> np.ndarray:
        """FᵀW E for E = Y - F β, which is stored in ``error``; without a β, of Y itself.

        Where F is not held, a strip of it would cost O(m²) a row. So K[:, S] takes its place:
        F β = K[:, S] α for the coefficients α at the centres, and Fᵀ E = L⁻¹ K[S, :] E.
        """
        K, held = self.K, self.K.F is not None

        def part(rows: slice) -> np.ndarray:
            F = (K.factor if held else K.columns_of)(rows).astype(np.float64, copy=False)
            error[rows] = Y[rows]
            if beta.shape[1]:
                error[rows] -= F @ (beta if held else coef)
            return F.T @ self._weighted(error[rows], rows)

        total = self._summed(part, np.zeros((K.rank, Y.shape[1])))
        if held:
            return total
        L = K.L.astype(np.float64, copy=False)
        return scipy.linalg.solve_triangular(L, total, lower=True, check_finite=False)

    def _normal_part(self, rows: slice) -> np.ndarray:
        """FᵀWF of some rows."""
        F = self.K.factor(rows)
        if self.weights is not None:  # the product with itself takes half the time of any other
            F = F * np.sqrt(self.weights[rows, None]).astype(F.dtype)
        return F.T @ F

    def _summed(self, part: Callable[[slice], np.ndarray], total: np.ndarray) -> np.ndarray:
        """What the parts of all rows add up to, in float64; the threads share the rows."""
        n = self.K.shape[0]

        def some(s: int) -> np.ndarray:
            raise_if_stopped()
            own = np.zeros_like(total)
            for t in range(s, min(s + STRIPS * STRIP, n), STRIP):
                own += part(slice(t, min(t + STRIP, n)))
            return own

        for own in ordered_map(some, range(0, n, STRIPS * STRIP), self.K.n_jobs):
            total += own
        return total

    def _weighted(self, A: np.ndarray, rows: slice) -> np.ndarray:
        if self.weights is None:
            return A
        return A * self.weights[rows, None].astype(A.dtype)
