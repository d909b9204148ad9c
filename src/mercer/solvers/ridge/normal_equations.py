"""The normal equations of ridge regression on features: sums over rows, which may be anywhere.

With features F, weights W and targets y, the coefficients β that minimise
Σ w (y - F β)² + λ ‖β‖² solve (Fᵀ W F + λ I) β = Fᵀ W y.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.linalg

from mercer.gram import refuse_overflow
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.ridge_system import solve_by_penalty


class GramEigenpairs:
    """A = Q diag(μ) Qᵀ of a positive semidefinite A (m, m), which is overwritten.

    Attributes
    ----------
    values : ndarray of shape (m,)
        μ, ascending and at least 0.
    Q : ndarray of shape (m, m)
    noise : float
        What rounding leaves of an eigenvalue that is 0.
    """

    def __init__(self, A: np.ndarray):
        refuse_overflow(A)
        values, self.Q = scipy.linalg.eigh(A, overwrite_a=True, check_finite=False, driver="evd")
        self.values = np.maximum(values, 0)
        self.noise = len(A) * np.finfo(np.float64).eps * float(self.values.max())

    def inverse(self, penalty: float | np.ndarray) -> np.ndarray:
        """1 / (μ + λ), and 0 where that is rounding: shape (m,) or (m, penalties)."""
        shifted = self.values.reshape(-1, *[1] * np.ndim(penalty)) + penalty
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > self.noise)

    def solve(self, b: np.ndarray, penalty: float) -> np.ndarray:
        """(A + λ I)⁻¹ b for b of shape (m, outputs)."""
        return self.Q @ ((self.Q.T @ b) * self.inverse(penalty)[:, None])


@dataclass(frozen=True)
class NormalEquations:
    """Sums over rows of features F and targets y; ``a + b`` are those of the rows of both.

    Attributes
    ----------
    A : ndarray of shape (m, m)
        Fᵀ W F.
    b : ndarray of shape (m, outputs)
        Fᵀ W y.
    totals, squares : ndarray of shape (outputs,)
        Σ w y and Σ w y².

    Notes
    -----
    All are float64. The certificate of `solve` is the relative residual of the equations.

    Examples
    --------
    >>> F, y = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> parts = [NormalEquations.of([(slice(0, len(f)), f)], 1, t)
    ...          for f, t in [(F[:1], y[:1]), (F[1:], y[1:])]]
    >>> (parts[0] + parts[1]).solve(penalty=0.0).coef
    array([[1.]])
    """

    A: np.ndarray
    b: np.ndarray
    totals: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(
        cls,
        strips: Iterable[tuple[slice, np.ndarray]],
        rank: int,
        Y: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> Self:
        """The sums over strips (rows, F[rows]) of ``rank`` features, for targets Y (n, outputs) and
        weights (n,)."""
        Y = np.asarray(Y, np.float64)
        weighted = Y if weights is None else Y * weights[:, None]
        A, b = np.zeros((rank, rank)), np.zeros((rank, Y.shape[1]))
        for rows, F in strips:
            A += F.T @ (F if weights is None else F * weights[rows, None].astype(F.dtype))
            b += F.T @ weighted[rows].astype(F.dtype, copy=False)
        return cls(A, b, weighted.sum(axis=0), np.einsum("ij,ij->j", weighted, Y))

    def __add__(self, other: NormalEquations) -> NormalEquations:
        return NormalEquations(
            self.A + other.A,
            self.b + other.b,
            self.totals + other.totals,
            self.squares + other.squares,
        )

    @cached_property
    def eigenpairs(self) -> GramEigenpairs:
        """Those of A, which serve all penalties."""
        return GramEigenpairs(self.A.copy())

    def solve(self, penalty: float | np.ndarray) -> Result:
        """β of shape (m, outputs), for one λ or one for each output."""
        return solve_by_penalty(self._solve, self.b, penalty)

    def _solve(self, b: np.ndarray, penalty: float) -> Result:
        beta = self.eigenpairs.solve(b, penalty)
        left = b - self.A @ beta - penalty * beta
        size = np.linalg.norm(b, axis=0)
        gap = float((np.linalg.norm(left, axis=0) / np.where(size > 0, size, 1)).max())
        converged = gap <= np.sqrt(np.finfo(np.float64).eps)
        return Result(
            beta,
            gap=gap,
            converged=converged,
            reason=Reason.CONVERGED if converged else Reason.STALLED,
            solver="LowRankSolver",
            certificate="relative residual",
        )
