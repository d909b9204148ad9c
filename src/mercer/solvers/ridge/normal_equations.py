"""Ridge regression on features of rows in blocks, which may be anywhere: their normal equations are
sums.

All that a fit needs of the rows F (n, m) with targets Y and weights w is FᵀWF, FᵀWY, the sums of
w, wY and wY²: they have one size, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import scipy.linalg

from mercer.gram import refuse_overflow
from mercer.persistence import fields
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.ridge_system import check_penalties


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

    def factorise(self, lift: Any = None) -> SummedFactor:
        """The factorised normal equations. ``lift`` turns coefficients of F into others."""
        return SummedFactor(self, lift)


class SummedFactor:
    """The normal equations with FᵀWF = Q diag(μ) Qᵀ, for any penalty. Made by
    `RidgeSums.factorise`.

    Attributes
    ----------
    pairs : GramEigenpairs
    """

    def __init__(self, sums: RidgeSums, lift: Any = None):
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
