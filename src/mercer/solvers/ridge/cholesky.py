"""Regularised least squares by Cholesky factorisation: exact, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.gram import GramFactor, GramOperator, require
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.eigenpairs import EigenFactor
from mercer.solvers.ridge.ridge_system import RidgeSystem, solve_by_penalty


@dataclass(frozen=True)
class CholeskySolver:
    r"""Solve :math:`(K + λ W^{-1}) a = y` exactly.

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output: each different λ is a factorisation.
    memory : int, str or None
        Budget in bytes or as "4GB" in addition to K, as in `EigenSolver`.

    Notes
    -----
    O(n³ / 3) operations, and one n x n matrix in addition to K (of float64 if a float32 K is nearly
    singular). A float32 matrix is factorised in
    float32, and the solution is refined with residuals in float64. When K + λ W⁻¹ is singular
    to working precision, or not positive definite, its eigendecomposition takes over: the
    solution is then of minimum norm, and ``reason`` says so when directions were left out.

    The certificate (``Result.gap``) is the normwise backward error
    ‖r‖ / (‖A‖ ‖z‖ + ‖b‖): the relative change of the data for which the solution is exact
    (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 7.1).

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.array([[1.0, 0.5], [0.5, 1.0]]), symmetric=True)
    >>> CholeskySolver(penalty=1.0).solve(K, np.array([2.5, 4.5])).coef
    array([0.73333333, 2.06666667])
    """

    penalty: float | np.ndarray = 1.0
    memory: int | float | str | None = None

    def factorise(self, K: GramOperator, weights: np.ndarray | None = None) -> CholeskyFactor:
        """The factor, which serves any number of right sides; ``penalty`` is a number."""
        require(K, "factorise", "CholeskySolver")
        if np.size(self.penalty) != 1:
            raise ValueError(
                f"penalty={self.penalty!r}: one factor belongs to one number. Use solve, or "
                "EigenSolver().factorise for several."
            )
        return CholeskyFactor(K, float(np.ravel(self.penalty)[0]), weights, self.memory)

    def solve(self, K: GramOperator, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """a for y of shape (n,) or (n, outputs), as a `Result`; ``coef`` is float64."""

        def solve(y: np.ndarray, penalty: float) -> Result:
            return CholeskySolver(penalty, self.memory).factorise(K, weights).solve(y)

        return solve_by_penalty(solve, y, self.penalty)


class CholeskyFactor:
    """K + λ W⁻¹, factorised. Made by `CholeskySolver.factorise`.

    Attributes
    ----------
    penalty : float
    """

    def __init__(
        self,
        K: GramOperator,
        penalty: float,
        weights: np.ndarray | None = None,
        memory: int | float | str | None = None,
    ):
        self.penalty = penalty
        self.system = RidgeSystem(K, weights)
        self._factor = self._factorise(self.system.dtype)
        if self._factor is None and self.system.dtype != np.float64:
            self._factor = self._factorise(np.dtype(np.float64))
        self._eigen = EigenFactor(K, weights, memory) if self._factor is None else None

    def _factorise(self, dtype: np.dtype) -> GramFactor | None:
        """The factor of S + λ I, or None when it is singular in this precision."""
        try:
            return self.system.S.factorise(self.penalty, dtype)
        except np.linalg.LinAlgError:
            return None

    def solve(self, y: np.ndarray) -> Result:
        """a for y of shape (n,) or (n, outputs)."""
        if self._eigen is not None:
            return self._eigen.solve(y, self.penalty)
        system, penalty = self.system, self.penalty
        b = system.right_side(y)
        z, r = np.zeros_like(b), b
        norm = system.norm(penalty)
        tol, gap, iterations = len(b) * np.finfo(np.float64).eps, np.inf, 0
        while iterations < 10:  # refinement: each step gains what the factor's precision holds
            assert self._factor is not None
            candidate = z + self._factor.solve(r)
            residual = system.residual(candidate, b, penalty)
            scale = norm * np.linalg.norm(candidate, axis=0) + np.linalg.norm(b, axis=0)
            error = np.linalg.norm(residual, axis=0) / np.where(scale > 0, scale, 1)
            iterations += 1
            if not error.max(initial=0) < gap:
                break
            z, r, stalled, gap = candidate, residual, gap / 2, float(error.max(initial=0))
            if gap <= tol or gap > stalled:
                break
        converged = gap <= 100 * tol
        return Result(
            system.coef(z, y),
            objective=system.objective(z, b, r, penalty),
            gap=gap,
            iterations=iterations,
            converged=converged,
            reason=Reason.CONVERGED if converged else Reason.STALLED,
            solver="CholeskySolver",
            certificate="backward error",
        )

    def leave_one_out(self, y: np.ndarray) -> np.ndarray:
        """For each row, the prediction of the fit without it; shape of y. Needs λ > 0.

        Costs one triangular inverse, O(n³ / 3), in addition to the factorisation, and no other
        matrix.
        """
        if self._eigen is not None:
            return self._eigen.leave_one_out(y, [self.penalty])[0]
        system = self.system
        assert self._factor is not None
        return system.leave_one_out(self._refined(y), self._factor.inverse_diagonal(), y)

    def _refined(self, y: np.ndarray) -> np.ndarray:
        a = self.solve(y).coef.reshape(self.system.n, -1)
        a = a if self.system.kept is None else a[self.system.kept]
        return a if self.system.scale is None else a / self.system.scale[:, None]
