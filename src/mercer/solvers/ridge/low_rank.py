"""Ridge regression on a low-rank Gram matrix, for all penalties from one m x m problem.

With K ≈ F Fᵀ the problem min Σ w (y - F β)² + λ ‖β‖² has the normal equations
(Fᵀ W F + λ I) β = Fᵀ W y. One eigendecomposition FᵀWF = Q diag(μ) Qᵀ serves every λ, and the
leverages h_i(λ) = w_i Σ_k (F Q)_ik² / (μ_k + λ) give leave-one-out in closed form.

The rows F may also come in blocks from anywhere: all that a fit needs of them, with targets Y and
weights w, is FᵀWF, FᵀWY and the sums of w, wY and wY² (`RidgeSums`). They have one size,
however many rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer.gram import FeatureGram, LowRankGram, refuse_overflow
from mercer.persistence import fields
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.ridge_system import check_penalties, solve_by_penalty
from mercer.threads import ordered_map, raise_if_stopped


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


def products_serve(L: np.ndarray, weight: float, penalty: float) -> bool:
    """Whether sums of KᵀWK and KᵀWY, from which those of F = K L⁻ᵀ are made when all rows are in,
    are exact enough for a penalty λ > 0, where rows have the weight W in all.

    They take half the time. But they have rounding errors of about ε W k² in each number, which
    are of either sign, so that their norm is at most about 2 √m of it; and the inverse of L Lᵀ, K
    between the centres, multiplies them. They may come to 1e-4 λ.
    """
    size = (np.abs(L) @ np.abs(L).sum(axis=0)).max()  # no column of |L Lᵀ| has a larger sum
    (pocon,) = scipy.linalg.get_lapack_funcs(("pocon",), (L,))
    reciprocal_condition, _ = pocon(L, size, uplo="L")
    largest = np.square(L).sum(axis=1).max()  # of K between a centre and itself
    error = 2 * np.sqrt(len(L)) * np.finfo(L.dtype).eps * weight * largest**2
    return bool(error <= 1e-4 * penalty * size * reciprocal_condition)


@fields()
class RidgeSums:
    r"""Sums over rows, from which all ridge regressions of these rows follow.

    Parameters
    ----------
    rank : int
        Columns of F.
    outputs : int
        Targets of a row.

    Attributes
    ----------
    A : ndarray of shape (rank, rank)
        FᵀWF.
    B : ndarray of shape (rank, outputs)
        FᵀWY.
    ones : ndarray of shape (rank,)
        FᵀW1.
    totals, squares : ndarray of shape (outputs,)
        Σ w y and Σ w y².
    weight : float
        Σ w.

    Examples
    --------
    >>> sums = RidgeSums(1, 1)
    >>> for rows in ([0.0, 1.0], [2.0]):
    ...     F = np.array(rows)[:, None]
    ...     sums.add(F, 3 * F)
    >>> sums.factorise().solve(0.0).coef
    array([[3.]])
    """

    A: Any
    B: Any
    ones: Any
    weight: Any
    totals: Any
    squares: Any

    def __init__(self, rank: int, outputs: int):
        self.A, self.B = np.zeros((rank, rank)), np.zeros((rank, outputs))
        self.ones, self.weight = np.zeros(rank), 0.0
        self.totals, self.squares = np.zeros(outputs), np.zeros(outputs)

    def add(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add rows (n, rank) with targets (n, outputs) and weights (n,), or None for 1."""
        w = np.ones(len(Y)) if weights is None else weights
        weighted = Y * w[:, None]
        self.A += F.T @ (F if weights is None else F * w[:, None].astype(F.dtype))
        self.B += F.T @ weighted.astype(F.dtype)
        self.ones += F.T @ w.astype(F.dtype)
        self.weight += float(w.sum())
        self.totals += weighted.sum(axis=0)
        self.squares += np.einsum("ij,ij->j", weighted, Y)

    def __add__(self, other: RidgeSums) -> RidgeSums:
        """The sums over the rows of both."""
        both = RidgeSums(len(self.A), len(self.totals))
        for name, mine in vars(self).items():
            setattr(both, name, mine + getattr(other, name))
        return both

    def whitened(self, L: np.ndarray) -> RidgeSums:
        """The sums of F L⁻ᵀ in place of F."""

        def through(B: np.ndarray) -> np.ndarray:
            return scipy.linalg.solve_triangular(L, B, lower=True, check_finite=False)

        made = copy(self)
        made.A = through(through(self.A).T)
        made.B, made.ones = through(self.B), through(self.ones)
        return made

    def centred(self, means: np.ndarray) -> RidgeSums:
        """The sums for the targets less these numbers, (outputs,)."""
        made = RidgeSums(len(self.A), len(means))
        made.A, made.ones, made.weight = self.A, self.ones, self.weight
        made.B = self.B - np.outer(self.ones, means)
        made.totals = self.totals - self.weight * means
        made.squares = self.squares - 2 * means * self.totals + self.weight * means**2
        return made

    def with_ones(self) -> RidgeSums:
        """The sums with one target more, which is 1 in all rows."""
        made = RidgeSums(len(self.A), len(self.totals) + 1)
        made.A, made.ones, made.weight = self.A, self.ones, self.weight
        made.B = np.column_stack([self.B, self.ones])
        made.totals = np.append(self.totals, self.weight)
        made.squares = np.append(self.squares, self.weight)
        return made

    def factorise(self, lift: LowRankGram | None = None) -> SummedFactor:
        """The factorised normal equations. ``lift`` turns coefficients of F into others."""
        return SummedFactor(self, lift)


class SummedFactor:
    """The normal equations with FᵀWF = Q diag(μ) Qᵀ, for any penalty. Made by
    `RidgeSums.factorise`.

    Attributes
    ----------
    pairs : GramEigenpairs
    """

    def __init__(self, sums: RidgeSums, lift: LowRankGram | None = None):
        self.sums, self.K = sums, lift
        self.pairs = GramEigenpairs(sums.A.copy())

    def solve(self, penalty: float | np.ndarray) -> Result:
        """Coefficients (m, outputs) for one λ, or one for each output.

        The certificate is the relative residual of the normal equations.
        """
        sums, B = self.sums, self.sums.B
        penalties = np.broadcast_to(penalty, B.shape[1:]).astype(np.float64)
        Q = self.pairs.Q
        beta = Q @ ((Q.T @ B) * self.pairs.inverse(penalties))
        fitted = sums.A @ beta
        residual = B - fitted - penalties * beta
        size = np.linalg.norm(B, axis=0)
        gap = float((np.linalg.norm(residual, axis=0) / np.where(size > 0, size, 1)).max())
        missed = sums.squares - np.sum(beta * (2 * B - fitted), axis=0)
        converged = gap <= np.sqrt(np.finfo(np.float32).eps)
        return Result(
            beta if self.K is None else self.K.lift(beta),
            objective=float(np.sum(missed.clip(0) + penalties * np.sum(beta**2, axis=0))),
            gap=gap,
            converged=converged,
            reason=Reason.CONVERGED if converged else Reason.STALLED,
            solver="RidgeSums",
            certificate="relative residual",
        )

    def residual_sums(self, result: Result) -> np.ndarray:
        """Σ w (y - f) of each output, for coefficients that `solve` has found."""
        beta = result.coef if self.K is None else self.K.L.T @ result.coef
        return self.sums.totals - self.sums.ones @ beta

    def cross_validation(self, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        r"""Generalised cross-validation, (penalties,): :math:`W \|y - f\|^2 / (W - e)^2` with the
        degrees of freedom e and the weight W of all rows, summed over the outputs.

        It stands for the leave-one-out error, whose rows are gone (Golub, Heath & Wahba,
        "Generalized cross-validation as a method for choosing a good ridge parameter",
        Technometrics 21, 1979, equation 1.4).
        """
        penalties = check_penalties(penalties)
        z = np.sum((self.pairs.Q.T @ self.sums.B) ** 2, axis=1)
        inverse = self.pairs.inverse(penalties)
        mu = self.pairs.values[:, None]
        explained = (z[:, None] * inverse * (2 - mu * inverse)).sum(axis=0)
        missed = np.maximum(self.sums.squares.sum() - explained, 0)
        left = self.sums.weight - (mu * inverse).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = self.sums.weight * missed / np.where(left > 0, left, np.nan) ** 2
        return np.where(np.isnan(errors), np.inf, errors)


STRIP = 2048  # rows of F whose products are added up in float64: 512 take half as long again
STRIPS = 4  # that a thread takes at a time


@dataclass(frozen=True)
class LowRankSolver:
    r"""Regularised least squares over the functions of the centres of K:

    .. math:: \min_f \, \sum_i w_i (y_i - f(x_i))^2 + \lambda \|f\|^2, \qquad
              f(x) = \sum_{s \in S} k(x, x_s)\, a_s

    S are the centres of K, and a has the shape (m,) or (m, outputs).

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

    References
    ----------
    Smola & Schölkopf, "Sparse greedy matrix approximation for machine learning", ICML 2000.

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
    r"""The factorised normal equations. Made by `LowRankSolver.factorise`.

    .. math:: F^\top W F = Q\, \mathrm{diag}(\mu)\, Q^\top, \qquad
              \beta = Q\, \mathrm{diag}(\mu + \lambda)^{-1} Q^\top F^\top W y

    β, of shape (m,), are coefficients on the columns of F.

    Attributes
    ----------
    eigenvalues : ndarray of shape (m,)
    Q : ndarray of shape (m, m)
    noise : float
        μ and Q, and what rounding leaves of an eigenvalue that is 0: those of ``pairs``.
    pairs : GramEigenpairs

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 8.1.

    Examples
    --------
    >>> from mercer.gram import DenseGram, pivoted_cholesky
    >>> X = np.array([[1.0], [2.0]])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), rank=1, random_state=0)
    >>> LowRankSolver().factorise(K).eigenvalues.round(6)
    array([5.])
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
        """The solution by the factor, with its residual."""
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
        """Degrees of freedom of the fit, Σ_k μ_k / (μ_k + λ), for each λ, (penalties,)."""
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
        """The coefficients at the centres for those on `features`; both have shape (m, ...)."""
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
