"""Regularised least squares by Cholesky factorisation: exact, with its certificate.

A factor in float32 takes half the time and the memory of one in float64. Conjugate gradients with
it give the same solution in a few steps, unless K + λ W⁻¹ is too near to a singular matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer.gram import (
    DenseGram,
    GramFactor,
    GramOperator,
    cholesky_factor,
    inverse_diagonal,
    least_pivot,
    pivoted_cholesky,
    require,
    solve_factored,
)
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.eigenpairs import EigenFactor
from mercer.solvers.ridge.ridge_system import RidgeSystem, solve_by_penalty
from mercer.threads import blas_limit

# Solutions made exact: an approximate inverse of S + λ I, residuals in float64, and a certificate.
#
# `refined` corrects a solution by an inverse that is nearly exact, as a factor in float64 is.
# `conjugate` takes the inverse as a preconditioner, which a factor in float32 is also where its
# corrections alone would not converge. The certificate of both is the normwise backward error.


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
    system: RidgeSystem, inverse: Inverse, b: np.ndarray, penalty: float, norm: float,
    tol: float | None = None, most: int = STEPS,
) -> Solution:  # fmt: skip
    """Preconditioned conjugate gradients, each column by itself, until the backward error of all is
    at most ``tol`` (by default, that of exact solutions), or for ``most`` steps.

    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 11.5. Differences: the
    Polak-Ribière β, since a preconditioner in float32 is not quite a fixed linear map; and the
    residual is computed from z at the end, and from then on where it differs from the updated one.
    """
    least = tolerance(len(b)) / np.sqrt(max(len(b), 1)) if tol is None else tol
    steps, before = 0, np.inf
    z, r = np.zeros_like(b), b.copy()
    while steps < most:  # again from the true residual, if that is larger than the updated one
        d = inverse(r)
        p, ρ = d.copy(), np.sum(r * d, axis=0)
        while steps < most:
            q = p * penalty - system.residual(p, np.zeros_like(p), 0.0)
            curvature = np.sum(p * q, axis=0)
            length = np.divide(ρ, curvature, out=np.zeros_like(ρ), where=curvature > 0)
            z += length * p
            change = length * q
            r -= change
            steps += 1
            if not least < backward_error(z, r, b, norm) < np.inf or not (curvature > 0).any():
                break
            d = inverse(r)
            β = np.divide(-np.sum(d * change, axis=0), ρ, out=np.zeros_like(ρ), where=ρ > 0)
            ρ = np.sum(r * d, axis=0)
            p = d + β * p
        r = system.residual(z, b, penalty)
        gap = backward_error(z, r, b, norm)
        if gap <= least or not gap < before / 2:
            break
        before = gap
    return Solution(z, r, gap, steps)


SMALL = 1000  # rows, below which a factor in float64 takes no longer than iterations
OUTPUTS = 64  # as many rows for each of them pay a factor in float64
ROWS = 300  # some rows of K, whose least eigenvalue is no less than that of all
PRECISION = 1e-8  # λ / ‖K‖ from which a factor in float32 serves, measured: 1.5e-8 takes 15 steps
RAISES = (0.25, 4.0)  # roundings of ‖K‖ that are added to λ if a float32 K is not definite
ROUNDING = float(np.finfo(np.float32).eps)
SINGLE_MAX = float(np.finfo(np.float32).max) / 4
TAIL = 1000  # the eigenvalues that a few columns leave out may add up to so many λ
SHARE = 4  # at most one column for so many rows: a third of the operations of a whole factor
ROUNDED = float(np.finfo(np.float64).eps) / 10  # backward error of a direct solution, about
TRIAL = 5  # one row of so many is tried first: their rank says whether all are worth it


def of_few_columns(S: GramOperator, penalty: float) -> Inverse | None:
    r"""Nearly (S + λ I)⁻¹ where S nearly has few columns, S ≈ F Fᵀ; None where it has many.

    .. math:: (F F^\top + \lambda I)^{-1} R = (R - F (F^\top F + \lambda I)^{-1} F^\top R) / \lambda

    (Woodbury), with F (n, m) of a pivoted Cholesky factor, in 2 n m² operations. Eigenvalues that
    are left out are below λ, but for some, and cost a few steps of `conjugate`.
    """
    n, tol = S.shape[0], TAIL * penalty / float(S.diag().sum())
    some = np.linspace(0, n - 1, n // TRIAL).astype(int)
    block = S.block(some, some)
    (pstrf,) = scipy.linalg.get_lapack_funcs(("pstrf",), (block,))
    with blas_limit(0):  # pivots of some rows, of which not nearly all should be above the tail
        _, _, rank, _ = pstrf(block, tol=TAIL * penalty / n, overwrite_a=True)
    if rank > 0.95 * len(some):
        return None
    low = pivoted_cholesky(S, n // SHARE, random_state=0, tol=tol)
    A = low.gathered().T
    A[np.diag_indices(len(A))] += penalty
    if not (low.error <= tol and cholesky_factor(A, S.n_jobs)):
        return None
    F = low.factor(slice(None))
    return lambda R: (R - F @ solve_factored(A, F.T @ R)) / penalty


@dataclass(frozen=True)
class CholeskySolver:
    r"""Regularised least squares by a factorisation, exactly:

    .. math:: (K + \lambda W^{-1})\, a = y, \qquad \mathrm{gap} = \frac{\|r\|}{\|A\| \|z\| + \|b\|}

    a has the shape (n,) or (n, outputs), and W = diag(w) holds the weights of the rows. The
    certificate is the backward error of the system A z = b that is solved, with r = b - A z.

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output: each different λ is a factorisation.
    memory : int, str or None
        Budget in bytes or as "4GB" in addition to K, as in `EigenSolver`.

    Notes
    -----
    O(n³ / 3) operations, and one n x n matrix in addition to K. It is factorised in float32, and
    the solution is made exact by conjugate gradients with products in float64. Where 15 steps do
    not suffice, or for few rows or many outputs, the factor is one in float64. Where a few rows
    show that they would not suffice, but that K has nearly the rank of a quarter of its rows or
    less, a factor of so many columns takes its place, in less than half of the operations. The
    factorisation runs on ``K.n_jobs`` threads.

    When K + λ W⁻¹ is singular to float64, or not positive definite, its eigendecomposition takes
    over: the solution is then of minimum norm, and ``reason`` says so when directions were left
    out. Where rounding makes a float32 K indefinite by more than λ > 0, λ + eps ‖K‖ / 4 takes
    the place of λ, or λ + 4 eps ‖K‖ if that is not enough, and ``reason`` says that.

    The certificate (``Result.gap``) is the normwise backward error
    ‖r‖ / (‖A‖ ‖z‖ + ‖b‖): the relative change of the data for which the solution is exact
    (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 7.1).

    References
    ----------
    Hoerl & Kennard, "Ridge regression: biased estimation for nonorthogonal problems",
    Technometrics 12, 1970.

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
    r"""K + λ W⁻¹, factorised when it is first needed, in the precision that serves.

    .. math:: K + \lambda W^{-1} = L L^\top

    L is lower triangular, of shape (n, n).

    Made by `CholeskySolver.factorise`. Where leave-one-out errors are wanted as well, ask for them
    first: of a float64 K they need the factor in float64, which then solves too.

    Attributes
    ----------
    penalty : float

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 4.2.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.array([[1.0, 0.5], [0.5, 1.0]]), symmetric=True)
    >>> factor = CholeskySolver(penalty=1.0).factorise(K)
    >>> factor.solve(np.array([2.5, 4.5])).coef
    array([0.73333333, 2.06666667])
    """

    def __init__(
        self,
        K: GramOperator,
        penalty: float,
        weights: np.ndarray | None = None,
        memory: int | float | str | None = None,
    ):
        self.penalty = penalty
        self._given = K, weights, memory
        self.system = RidgeSystem(K, weights)
        self._raised = penalty  # a larger one, where rounding of K asks for it
        self._norm = self.system.S.norm()
        self._single: GramFactor | None = None
        self._few: Inverse | None = None
        self._double: GramFactor | None = None
        self._eigen: EigenFactor | None = None

    def _single_serves(self) -> bool:
        """Whether there is a factor in float32; it is made when it is first asked for."""
        if self._single is None and self._may_iterate() and self._single_may_serve():
            self._single = self._factorise(np.float32)
        return self._single is not None

    def _may_iterate(self) -> bool:
        """Whether nothing in float64 has taken the place of iterations."""
        return self._double is None and self._eigen is None

    def _single_may_serve(self) -> bool:
        """Whether conjugate gradients with a factor in float32 are worth a try."""
        system = self.system
        if not self._norm + self.penalty < SINGLE_MAX:
            return False
        if system.dtype == np.float32:
            return True
        n, needed = system.S.shape[0], PRECISION * self._norm
        if n < SMALL:
            return False
        if self.penalty >= needed:
            return True
        some = np.linspace(0, n - 1, min(n, ROWS)).astype(int)
        with blas_limit(0):
            least = np.linalg.eigvalsh(system.S.block(some, some))[0]
        return bool(least + self.penalty >= needed)

    def _nearly(self) -> Inverse | None:
        """What `conjugate` makes exact: a factor in float32, or one of few columns."""
        if self._single_serves():
            assert self._single is not None
            return self._single.solve
        S, n, dense = self.system.S, self.system.S.shape[0], isinstance(self.system.K, DenseGram)
        if self._few is None and self._may_iterate() and n >= SMALL and dense:
            diagonal = S.diag()
            possible = np.isfinite(self._norm) and (diagonal >= 0).all()
            if possible and self.penalty > n * least_pivot(diagonal, self.system.dtype):
                self._few = of_few_columns(S, self.penalty)
        return self._few

    def _factorise(self, dtype: type, penalty: float | None = None) -> GramFactor | None:
        """The factor of S + λ I, or None when it is singular in this precision."""
        try:
            λ = self.penalty if penalty is None else penalty
            return self.system.S.factorise(λ, np.dtype(dtype))
        except np.linalg.LinAlgError:
            return None

    def _factorise_exactly(self) -> None:
        """The factor in float64 in place of that in float32, or what serves in its place."""
        if not self._may_iterate():
            return
        self._single = self._few = None  # their memory is for the other
        self._double = self._factorise(np.float64)
        if self.system.dtype == np.float32 and self.penalty > 0:
            for units in RAISES:
                if self._double is None:
                    self._raised = self.penalty + units * ROUNDING * self._norm
                    self._double = self._factorise(np.float64, self._raised)
        if self._double is None:
            self._raised = self.penalty
            self._eigen = EigenFactor(*self._given)

    def solve(self, y: np.ndarray) -> Result:
        """a for y of shape (n,) or (n, outputs)."""
        system = self.system
        b = system.right_side(y)
        solution = self._solve(b)
        if solution is None:
            assert self._eigen is not None
            return self._eigen.solve(y, self.penalty)
        z, r, gap, steps = solution
        raised, reason = self._raised > self.penalty, Reason.CONVERGED
        if raised:
            reason = Reason.RAISED
            r = system.residual(z, b, self.penalty)
            gap = backward_error(z, r, b, self._norm + self.penalty)
        elif not solution.exact(len(b)):
            reason = Reason.STALLED
        return Result(
            system.coef(z, y),
            objective=system.objective(z, b, r, self.penalty),
            gap=gap,
            iterations=steps,
            converged=reason is Reason.CONVERGED,
            reason=reason,
            solver="CholeskySolver",
            certificate="backward error",
        )

    def _solve(self, b: np.ndarray) -> Solution | None:
        """z by the factor in float32 if that serves, else by the other; None if there is none."""
        n, outputs = b.shape
        few = self.system.dtype == np.float32 or outputs * OUTPUTS <= n
        # a product or two with each matrix are no work for threads of BLAS
        inverse, norm = self._nearly() if few else None, self._norm + self.penalty
        if inverse is not None:
            # a residual moves the solution by up to ‖K‖ / λ times as much, so that it must be as
            # small as that of a direct solution
            tol, most = (ROUNDED, 2 * STEPS) if self._single is None else (None, STEPS)
            with blas_limit(0):
                found = conjugate(self.system, inverse, b, self.penalty, norm, tol, most)
            if found.exact(n):
                return found
        self._factorise_exactly()
        if self._double is None:
            return None
        inverse, norm = self._double.solve, self._norm + self._raised
        with blas_limit(0):
            return refined(self.system, inverse, b, self._raised, norm)

    def leave_one_out(self, y: np.ndarray) -> np.ndarray:
        """For each row, the prediction of the fit without it; shape of y. Needs λ > 0.

        Costs one triangular inverse, O(n³ / 3), in addition to the factorisation, and no other
        matrix. Where K is float64, the factor is one in float64.
        """
        if self.system.dtype != np.float32:
            self._factorise_exactly()
        a = self.solve(y).coef.reshape(self.system.n, -1)
        factor = self._single or self._double
        if factor is None:
            assert self._eigen is not None
            return self._eigen.leave_one_out(y, [self.penalty])[0]
        a = a if self.system.kept is None else a[self.system.kept]
        z = a if self.system.scale is None else a / self.system.scale[:, None]
        return self.system.leave_one_out(z, factor.inverse_diagonal(), y)


def left_out_fit(
    K: np.ndarray, y: np.ndarray, penalty: float, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Coefficients of :math:`(K + λ W^{-1}) a = y`, and each row's error when it is left out.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric positive semidefinite. It is not changed.
    y : ndarray of shape (n, outputs)
    penalty : float > 0
        λ.
    weights : ndarray of shape (n,), optional
        Weights of the rows, > 0, which mean repetition.

    Returns
    -------
    coef, errors : ndarray of shape (n, outputs)
        a, and :math:`y_i - f_{-i}(x_i) = a_i / [(K + λ W^{-1})^{-1}]_{ii}`, where a row
        is left out with all its copies (Rasmussen & Williams 2006, eq. 5.12).

    Raises
    ------
    LinAlgError
        K + λ W⁻¹ is not positive definite in K's precision: λ is too small for it.

    Examples
    --------
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> a, errors = left_out_fit(K, np.array([[2.5], [4.5]]), penalty=1.0)
    >>> a.ravel().round(4), errors.ravel()
    (array([0.7333, 2.0667]), array([1.375, 3.875]))
    """
    # with s = √w and z = a / s the system is (s K sᵀ + λ I) z = s y, well conditioned for any w
    A = np.array(K, order="C")
    s = None if weights is None else np.sqrt(weights).astype(K.dtype)[:, None]
    if s is not None:
        A *= s
        A *= s.T
    A.flat[:: len(A) + 1] += K.dtype.type(penalty)
    A = A.T  # the same matrix in the other order, as LAPACK reads it
    if not cholesky_factor(A):
        raise np.linalg.LinAlgError("K + λ W⁻¹ is not positive definite in this precision")
    z = solve_factored(A, y if s is None else s * y)
    errors = z / inverse_diagonal(A).astype(K.dtype)[:, None]
    return (z, errors) if s is None else (s * z, errors / s)
