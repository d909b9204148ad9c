"""Ridge regression with a penalty for each part, found by the marginal likelihood.

All rows are in G = ΦᵀWΦ and b = ΦᵀWy, so the cost does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs

from mercer.solvers.result import Reason, Result
from mercer.threads import raise_if_stopped

SMALLEST, LARGEST = 1e-6, 1e8  # penalties; those of parts without use grow without end
SETTLED = 1e6  # beyond, a part has no use and is left out
LEAST_NOISE = 1e-12  # variance of the noise, in parts of that of the targets
CLOSE = 1.0  # a penalty that is wrong by a factor of e changes no prediction noticeably
HASTE = 1.5  # the fixed point is approached from one side, and slowly: its steps are made longer
LEAST_DIGITS = 1e-7  # a pivot of a factor, in parts of its diagonal, that is not rounding


@dataclass(frozen=True)
class PartResult(Result):
    """A solution whose coefficients come in parts, each with its own penalty.

    Attributes
    ----------
    penalties : ndarray of shape (parts,)
        λ of each part.
    freedom : ndarray of shape (parts,)
        Degrees of freedom of each part.
    noise : float
        Variance of the noise.
    evidence : float
        Logarithm of the marginal likelihood, without constants.
    spreads : tuple of ndarray of shape (r, r)
        Posterior covariance of the coefficients of each part.
    """

    penalties: np.ndarray = field(default_factory=lambda: np.empty(0))
    freedom: np.ndarray = field(default_factory=lambda: np.empty(0))
    noise: float = 0.0
    evidence: float = -np.inf
    spreads: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class EvidenceRidge:
    r"""Minimise :math:`\|y - Φβ\|^2 + \sum_j λ_j \|β_j\|^2` for parts j, and find their λ.

    Parameters
    ----------
    penalty : float >= 0 or None
        λ of all parts. None finds one for each part by MacKay's fixed point of the marginal
        likelihood: :math:`e_j = \sum_{k ∈ j} (1 - λ_j (A^{-1})_{kk})`, A = G + λ,
        :math:`σ^2 = \|y - Φβ\|^2 / (n - \sum e - 1)` and :math:`λ_j = σ^2 e_j / \|β_j\|^2`.
    tol : float
        Stop when no logarithm of a penalty below 1e6 changes by more than this, times the degrees
        of freedom of its part if they are below 1.
    max_iter : int

    Notes
    -----
    A step costs a Cholesky factor and an inverse of G, D³ operations. With λ = 0 and a singular G
    the solution is that of minimum norm.

    References
    ----------
    MacKay, "Bayesian interpolation", Neural Computation 4, 1992, equations 4.4 and 4.5.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)
    >>> G, b, y = np.array([[x @ x]]), np.array([x @ (2 * x)]), 2 * x
    >>> EvidenceRidge(penalty=0.0).solve(G, b, [slice(0, 1)], y @ y, 50).coef.round(3)
    array([2.])
    """

    penalty: float | None = None
    tol: float = 0.05
    max_iter: int = 100

    def solve(
        self,
        G: np.ndarray,
        b: np.ndarray,
        parts: Sequence[slice],
        squares: float,
        rows: float,
        start: np.ndarray | None = None,
    ) -> PartResult:
        """The coefficients (D,) for targets of mean 0 with Σ w y² = ``squares``.

        ``rows`` is the weight of all rows, Σ w; ``start`` are the first penalties that are tried.
        """
        sizes = np.array([part.stop - part.start for part in parts])
        least = max(LEAST_NOISE * squares / max(rows, 1.0), np.finfo(float).tiny)
        penalties = np.ones(len(parts)) if start is None else start
        if self.penalty is not None:
            penalties = np.full(len(parts), float(self.penalty))
        fixed = self.penalty is not None
        reason = Reason.CONVERGED if fixed else Reason.LIMIT
        steps, moved = 0, 0.0 if fixed else np.inf
        while True:
            raise_if_stopped()
            steps += 1
            system = PartSystem(G, b, penalties, parts)
            missed = max(squares - 2 * float(system.beta @ b) + system.fitted, 0.0)
            noise = max(missed / max(rows - system.freedom.sum() - 1, 1e-3 * rows), least)
            if reason is Reason.CONVERGED or steps == self.max_iter:
                break
            step = np.log(next_penalties(system.freedom, system.beta, parts, noise) / penalties)
            step[(penalties >= SETTLED) | (sizes == 0)] = 0
            wanted = (penalties * np.exp(HASTE * step)).clip(SMALLEST, LARGEST)
            change = np.abs(np.log(wanted / penalties)) / HASTE
            # what has hardly a degree of freedom moves no prediction, however its penalty grows
            moved = float((change * np.minimum(system.freedom, 1.0)).max(initial=0.0))
            penalties = wanted
            if moved < self.tol:
                reason = Reason.CONVERGED  # one more solution, with these penalties
        evidence = -0.5 * (
            (rows - 1) * np.log(noise)
            + (squares - float(system.beta @ b)) / noise
            + system.log_volume
        )
        return PartResult(
            system.beta,
            objective=missed + system.penalised,
            gap=moved,
            iterations=steps,
            converged=moved <= CLOSE and not system.singular,
            reason=Reason.SINGULAR if system.singular else reason,
            solver="EvidenceRidge",
            certificate="change of the penalties",
            penalties=penalties,
            freedom=system.freedom,
            noise=noise,
            evidence=float(evidence),
            spreads=tuple(noise * spread for spread in system.spreads()),
        )


def next_penalties(
    freedom: np.ndarray,
    beta: np.ndarray,
    parts: Sequence[slice],
    noise: float = 1.0,
    shared: float = 0.0,
) -> np.ndarray:
    r"""λ of each part from its degrees of freedom e_j and its coefficients.

    .. math:: λ_j = σ^2 \frac{e_j + κ}{\|β_j\|^2 + κ σ^2 / λ_0},
        \qquad λ_0 = σ^2 \frac{\sum_j e_j}{\sum_j \|β_j\|^2}

    With κ = ``shared`` = 0 it is MacKay's fixed point. A positive κ is a gamma prior of 1 / λ_j
    about that of all parts together, which counts as much as κ degrees of freedom: parts without
    much evidence have about the common penalty, and are neither left out nor followed too closely.
    """
    norms = np.array([beta[part] @ beta[part] for part in parts])
    with np.errstate(divide="ignore", invalid="ignore"):
        common = norms.sum() / freedom.sum()  # σ² / λ0
        wanted = noise * (freedom + shared) / (norms + shared * common)
    return np.nan_to_num(wanted, nan=LARGEST, posinf=LARGEST)


class PartSystem:
    """(G + λ) β = b and the inverse of G + λ, without the parts whose penalty is beyond all use."""

    def __init__(self, G: np.ndarray, b: np.ndarray, penalties: np.ndarray, parts: Sequence[slice]):
        self.parts = parts
        used = np.zeros(len(b), bool)
        for part, penalty in zip(parts, penalties):
            used[part] = penalty < SETTLED
        self.used = np.flatnonzero(used)
        lam = np.repeat(penalties, [part.stop - part.start for part in parts])
        self.singular = False
        self.beta, left = np.zeros(len(b)), np.ones(len(b))
        A = G if len(self.used) == len(b) else G[np.ix_(self.used, self.used)]
        self.inverse, solution, logdet = self._solve(A, lam[used], b[used])
        self.beta[used] = solution
        left[used] = lam[used] * np.diagonal(self.inverse)
        self.freedom = np.array([(1 - left[part]).sum() for part in parts]).clip(0)
        self.penalised = float(lam @ self.beta**2)
        self.fitted = float(self.beta @ b) - self.penalised  # βᵀGβ
        with np.errstate(divide="ignore"):
            self.log_volume = logdet - float(np.log(lam[used]).sum())

    def _solve(
        self, G: np.ndarray, lam: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The inverse (its lower triangle), the solution, and the logarithm of the determinant."""
        A = G + np.diag(lam)
        if not len(b):
            return A, b, 0.0
        potrf, potri, potrs = get_lapack_funcs(("potrf", "potri", "potrs"), (A,))
        factor, failed = potrf(A, lower=1, clean=0)
        digits = np.diagonal(factor) / np.sqrt(np.diagonal(A)) if failed == 0 else np.zeros(1)
        if (digits > LEAST_DIGITS).all():
            inverse, _ = potri(factor, lower=1)
            solution, _ = potrs(factor, b, lower=1)
            return inverse, solution, 2 * float(np.log(np.diagonal(factor)).sum())
        values, Q = eigh(A)
        kept = values > LEAST_DIGITS**2 * max(float(values[-1]), np.finfo(float).tiny)
        self.singular = not kept.all()
        inverse = (Q[:, kept] / values[kept]) @ Q[:, kept].T
        return inverse, inverse @ b, float(np.log(values[kept]).sum())

    def spreads(self) -> list[np.ndarray]:
        """The diagonal blocks of the inverse, of all parts; 0 for those without use."""
        place = np.full(len(self.beta), -1)
        place[self.used] = np.arange(len(self.used))
        found = []
        for part in self.parts:
            at = place[part]
            block = np.zeros((len(at), len(at)))
            if len(at) and at[0] >= 0:
                lower = np.tril(self.inverse[at[0] : at[-1] + 1, at[0] : at[-1] + 1])
                block = lower + np.tril(lower, -1).T
            found.append(block)
        return found
