"""Ridge regression by preconditioned conjugate gradients: exact to a tolerance, K never stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mercer.gram import GramOperator
from mercer.gram.low_rank import LowRankGram, pivoted_cholesky
from mercer.solvers.result import Reason, Result

__all__ = ["ConjugateGradientSolver"]


@dataclass(frozen=True)
class ConjugateGradientSolver:
    r"""Solve :math:`(K + λ W^{-1}) a = y` with products of K alone.

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output: all outputs share the products.
    tol : float > 0, default=1e-6
        Stop at the relative residual ‖b - A z‖ <= tol ‖b‖ of every output, measured in float64.
    max_iter : int, default=1000
    rank : int, optional
        Centres of the preconditioner; by default 10 √n.
    random_state : int, RandomState or None
        Of the centres.
    n_jobs : int or None

    Notes
    -----
    The preconditioner is (F Fᵀ + λ I)⁻¹ with F from randomly pivoted Cholesky (Díaz, Epperly,
    Frangella, Tropp & Webber, "Robust, randomized preconditioning for kernel ridge regression",
    2023); with F of a rank near the effective dimension a few dozen products suffice.
    Memory: n · rank numbers of K's precision and 6 n · outputs float64.
    Differences from the textbook: (1) outputs that have converged leave the products; (2) the
    Polak-Ribière β, since a preconditioner in float32 is not quite a fixed linear map; (3) the
    recursive residual is checked against the true one before it is believed.
    """

    penalty: float | np.ndarray = 1.0
    tol: float = 1e-6
    max_iter: int = 1000
    rank: int | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def solve(self, K: GramOperator, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """a for y of shape (n,) or (n, outputs), as a `Result`; ``coef`` is float64.

        An interrupt (Ctrl-C) keeps the best solution so far.
        """
        n = K.shape[0]
        Y = np.asarray(y, dtype=np.float64).reshape(n, -1)
        penalty = np.broadcast_to(np.asarray(self.penalty, dtype=np.float64), Y.shape[1])
        s = np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]
        b = s * Y
        rank = self.rank or int(10 * n**0.5)
        low = pivoted_cholesky(K, min(rank, n), random_state=self.random_state, n_jobs=self.n_jobs)
        # with λ = 0 what F leaves of K, spread evenly, stands in for it
        shift = np.maximum(penalty, max(low.error, 1e-12) * float(K.diag().mean()))
        precondition = _Preconditioner(low, s, shift)

        def product(V: np.ndarray, outputs: np.ndarray) -> np.ndarray:
            return s * np.asarray(K @ (s * V), dtype=np.float64) + penalty[outputs] * V

        z, gap, iterations, reason = self._iterate(product, precondition, b)
        error = b - product(z, np.arange(len(penalty))) + penalty * z  # s (y - K a)
        return Result(
            (s * z).reshape(np.shape(y)),
            objective=float(np.sum(error**2) + np.sum(penalty * z * (b - error))),
            gap=gap,
            iterations=iterations,
            converged=reason is Reason.CONVERGED,
            reason=reason,
            solver="ConjugateGradientSolver",
            certificate="relative residual",
        )

    def _iterate(self, product, precondition, b):
        """z with (S + λ I) z = b, the largest relative residual, the iterations, the reason."""
        size = np.linalg.norm(b, axis=0)
        target = self.tol * size
        z, r = np.zeros_like(b), b.copy()
        best, stalls, iterations, reason = np.inf, 0, 0, Reason.LIMIT
        try:
            while iterations < self.max_iter:
                active = np.flatnonzero(np.linalg.norm(r, axis=0) > target)
                if len(active):
                    budget = self.max_iter - iterations
                    z[:, active], steps = self._descend(
                        product, precondition, z[:, active], r[:, active], target[active],
                        active, budget,
                    )  # fmt: skip
                    iterations += steps
                r = b - product(z, np.arange(b.shape[1]))
                gap = self._gap(r, size)
                if gap <= self.tol:
                    reason = Reason.CONVERGED
                    break
                stalls = stalls + 1 if gap > best / 2 else 0
                best = min(best, gap)
                if stalls == 2:
                    reason = Reason.STALLED
                    break
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
            r = b - product(z, np.arange(b.shape[1]))
        return z, self._gap(r, size), iterations, reason

    def _descend(self, product, precondition, z, r, target, outputs, budget):
        """Conjugate gradients from z until the recursive residuals are small; the best z met."""
        best, smallest = z, np.linalg.norm(r, axis=0)
        z = z.copy()
        d = precondition(r, outputs)
        p, rho = d.copy(), np.sum(r * d, axis=0)
        live = np.arange(len(outputs))
        for step in range(1, budget + 1):
            q = product(p, outputs[live])
            curvature = np.sum(p * q, axis=0)
            length = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
            z[:, live] += length * p
            change = length * q
            r = r - change
            size = np.linalg.norm(r, axis=0)
            better = live[size < smallest[live]]
            smallest[live] = np.minimum(smallest[live], size)
            best[:, better] = z[:, better]
            going = (size > target[live]) & (curvature > 0)
            if not going.any():
                return best, step
            live, r, p = live[going], r[:, going], p[:, going]
            d = precondition(r, outputs[live])
            # Polak-Ribière: zero in exact arithmetic where Fletcher-Reeves is used
            beta = -np.sum(d * change[:, going], axis=0) / rho[going]
            rho = np.sum(r * d, axis=0)
            p = d + beta * p
        return best, budget

    @staticmethod
    def _gap(r: np.ndarray, size: np.ndarray) -> float:
        return float((np.linalg.norm(r, axis=0) / np.where(size > 0, size, 1)).max(initial=0))


class _Preconditioner:
    """(s F Fᵀ sᵀ + λ I)⁻¹ by the eigendecomposition of Fᵀ W F = V diag(σ) Vᵀ.

    With U = s F V σ^{-1/2} it is U (σ + λ)⁻¹ Uᵀ + (I - U Uᵀ) / λ (Woodbury).
    """

    def __init__(self, low: LowRankGram, s: np.ndarray, shift: np.ndarray):
        gram = np.zeros((low.rank, low.rank))
        for rows, F in low.strips():
            F = F * s[rows].astype(F.dtype)
            gram += F.T @ F
        sigma, V = scipy.linalg.eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
        held = sigma > low.rank * np.finfo(low.dtype).eps * max(sigma.max(), 0)
        self.sigma = sigma[held]
        self.shift = shift
        self.U = np.empty((low.shape[0], int(held.sum())), low.dtype)
        V = (V[:, held] / np.sqrt(self.sigma)).astype(low.dtype)
        for rows, F in low.strips():
            self.U[rows] = (F * s[rows].astype(F.dtype)) @ V

    def __call__(self, r: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        shift = self.shift[outputs]
        inner = (self.U.T @ r.astype(self.U.dtype)).astype(np.float64)
        inner *= 1 / (self.sigma[:, None] + shift) - 1 / shift
        return (self.U @ inner.astype(self.U.dtype)) + r / shift
