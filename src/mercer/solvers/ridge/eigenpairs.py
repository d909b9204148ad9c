"""Ridge regression for all penalties from one eigendecomposition of K.

With S = s K sᵀ = Q diag(μ) Qᵀ (see `mercer.solvers.ridge.ridge_system`), every λ costs one product:
z(λ) = Q (μ + λ)⁻¹ Qᵀ b, and [(S + λ I)⁻¹]_ii = Σ_k Q_ik² / (μ_k + λ), which leave-one-out needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.gram import FeatureGram, GramOperator, require
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.ridge_system import RidgeSystem, check_penalties, solve_by_penalty

STRIP = 512  # rows of the eigenvectors that are squared at a time


@dataclass(frozen=True)
class EigenSolver:
    r"""Regularised least squares by the eigenpairs of K, which serve every λ:

    .. math:: (K + \lambda W^{-1})\, a = y

    a has the shape (n,) or (n, outputs), and W = diag(w) holds the weights of the rows.

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output.
    memory : int, str or None
        Budget in bytes or as "4GB" in addition to K; None means what K leaves of the memory of its
        place.

    Notes
    -----
    The eigendecomposition is computed in K's precision and costs about as much as 20 Cholesky
    factorisations; memory: one n x n matrix in addition to K, and two more while it is computed. If
    these do not fit ``memory``, a slower method does without them. K may be indefinite. Where K + λ
    W⁻¹ is singular, the solution is of minimum norm, and ``reason`` says so. The certificate
    (``Result.gap``) is the normwise backward error, as in `CholeskySolver`. A K that does not fit
    the memory is a TypeError.

    References
    ----------
    Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, section 5.4.2, for the
    leave-one-out predictions of `EigenFactor`.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> K = DenseGram(X @ X.T, symmetric=True)
    >>> EigenSolver(penalty=0.5).solve(K, y).coef.round(3) + 0.0
    array([0.   , 0.182, 0.364])
    >>> factor = EigenSolver().factorise(K)
    >>> factor.leave_one_out(y, penalties=[0.5, 1.0]).round(3) + 0.0
    array([[0.   , 0.889, 1.333],
           [0.   , 0.8  , 1.   ]])
    """

    penalty: float | np.ndarray = 1.0
    memory: int | float | str | None = None

    def factorise(self, K: GramOperator, weights: np.ndarray | None = None) -> EigenFactor:
        """The eigenpairs, which serve any number of right sides and penalties."""
        require(K, "factorise", "EigenSolver")
        return EigenFactor(K, weights, self.memory)

    def solve(self, K: GramOperator, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """a for y of shape (n,) or (n, outputs), as a `Result`; ``coef`` is float64."""
        return self.factorise(K, weights).solve(y, self.penalty)


class EigenFactor:
    r"""The eigenpairs of the weighted K. Made by `EigenSolver.factorise`.

    .. math:: \sqrt W K \sqrt W = Q\, \mathrm{diag}(e)\, Q^\top, \qquad
              a = \sqrt W Q\, \mathrm{diag}(e + \lambda)^{-1} Q^\top \sqrt W y

    e are the eigenvalues.

    Attributes
    ----------
    eigenvalues : ndarray of shape (r,)
        Ascending, of √W K √W without the rows of weight 0; those within rounding of 0 are 0.
    Q : ndarray of shape (r, r)
        Eigenvectors as columns.
    noise : float
        Up to what size an eigenvalue is rounding.

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 8.1.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> factor = EigenSolver().factorise(DenseGram(np.diag([1.0, 3.0]), symmetric=True))
    >>> factor.eigenvalues
    array([1., 3.])
    """

    def __init__(
        self,
        K: GramOperator,
        weights: np.ndarray | None = None,
        memory: int | float | str | None = None,
    ):
        self.system = RidgeSystem(K, weights)
        self.eigenvalues, self.Q = self.system.S.eigenpairs(memory)
        size = np.abs(self.eigenvalues)
        # measured: the eigenvalues of a singular K come out below 4 eps ‖K‖, for n up to 2000
        self.noise = 10 * float(np.finfo(size.dtype).eps) * float(size.max(initial=0))
        self.eigenvalues[size <= self.noise] = 0  # zeros of a singular K, of either sign

    def solve(self, y: np.ndarray, penalty: float | np.ndarray) -> Result:
        """a for y of shape (n,) or (n, outputs), and one λ or one for each output."""
        return solve_by_penalty(self._solve, y, penalty)

    def _solve(self, y: np.ndarray, penalty: float) -> Result:
        """The solution by the eigenpairs, refined where they are float32."""
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
            solver="EigenSolver",
            certificate="backward error",
        )

    def leave_one_out(self, y: np.ndarray, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """For each λ, the predictions of the fits without each row, of the shape of y.

        A row of weight w is left out with all its copies; a row of weight 0 gets the ordinary
        prediction. Needs λ > 0.
        """
        penalties = check_penalties(penalties)
        rotated = self._project(self.system.right_side(y))
        inverses = 1.0 / (self.eigenvalues.astype(np.float64)[:, None] + penalties)
        inner = inverses.astype(self.Q.dtype)
        # by strips, since the squares would be another matrix
        strips = [self.Q[s : s + STRIP] ** 2 @ inner for s in range(0, len(self.Q), STRIP)]
        diagonals = np.concatenate(strips)
        columns = rotated[:, None, :] * inverses[:, :, None]
        z = self._apply(columns.reshape(len(rotated), -1)).reshape(columns.shape)
        return np.stack(
            [
                self.system.leave_one_out(z[:, i], diagonals[:, i].astype(np.float64), y)
                for i in range(len(penalties))
            ]
        )

    def effective_dimension(self, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """tr K (K + λ W⁻¹)⁻¹, the degrees of freedom of the fit, for each λ, (penalties,)."""
        eigenvalues = np.maximum(self.eigenvalues.astype(np.float64), 0)[:, None]
        return (eigenvalues / (eigenvalues + check_penalties(penalties))).sum(axis=0)

    def features(self) -> FeatureGram:
        """K = T Tᵀ with T of orthogonal columns, when it is semidefinite and without weights."""
        held = self.eigenvalues > self.noise
        T = self.Q[:, held]
        T *= np.sqrt(self.eigenvalues[held])
        return FeatureGram(T)

    def _project(self, b: np.ndarray) -> np.ndarray:
        return (self.Q.T @ b.astype(self.Q.dtype)).astype(np.float64)

    def _apply(self, c: np.ndarray) -> np.ndarray:
        return (self.Q @ c.astype(self.Q.dtype)).astype(np.float64)
