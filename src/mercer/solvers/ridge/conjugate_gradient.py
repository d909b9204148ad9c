"""Ridge regression by preconditioned conjugate gradients: exact to a tolerance, K never stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import scipy.linalg

from mercer.gram import GramOperator, LowRankGram, Place, pivoted_cholesky
from mercer.solvers.result import Reason, Result

# Preconditioners: values that turn K into a cheap map near :math:`(S + λ I)^{-1}`.
#
# `ConjugateGradientSolver` solves (S + λ I) z = b with S = √W K √W (ridge_system.py says why). The
# nearer the map is to the inverse, the fewer products with K it takes; the solution is the same.
# `Preconditioner` is the interface, for preconditioners of your own.


BESIDE = 40  # bytes for each pair of columns of a factor: an eigendecomposition in float64


class PreparedPreconditioner(Protocol):
    r"""A symmetric positive definite map on residuals.

    .. math:: R \mapsto P R, \qquad P = P^\top, \qquad r^\top P r > 0 \text{ for } r \ne 0

    R has the shape (n, outputs), and a λ for each output.

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 11.5.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> apply = NystroemPreconditioner(1, 0).prepare(DenseGram(np.ones((2, 2)), symmetric=True))
    >>> apply(np.array([[3.0], [3.0]]), np.array([1.0])).round(6)
    array([[1.],
           [1.]])
    """

    def __call__(self, R: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """(S + λ_j I)⁻¹ R[:, j], nearly: float64 of R's shape (n, k); ``penalties`` is (k,).

        The result is a fresh array, or R itself. The columns are those of the outputs that have
        not converged yet, so that their number changes between calls.
        """
        ...


class Preconditioner(Protocol):
    r"""What `ConjugateGradientSolver` takes: an object with ``prepare``.

    .. math:: P \approx (S + \lambda I)^{-1}, \qquad S = \sqrt W K \sqrt W

    ``prepare(K, weights)`` returns the map :math:`R \mapsto P R`, for R of shape (n, outputs).

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 11.5.

    Examples
    --------
    The diagonal of S + λ I, Jacobi's preconditioner:

    >>> class Diagonal:
    ...     def prepare(self, K, weights=None):
    ...         diagonal = K.diag() if weights is None else weights * K.diag()
    ...         return lambda R, penalties: R / (diagonal[:, None] + penalties)
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import ConjugateGradientSolver
    >>> K = DenseGram(np.array([[100.0, 0.5], [0.5, 1.0]]), symmetric=True)
    >>> solver = ConjugateGradientSolver(penalty=1.0, preconditioner=Diagonal())
    >>> solver.solve(K, np.array([101.0, 2.5])).coef.round(6)
    array([0.995043, 1.001239])
    """

    def prepare(self, K: GramOperator, weights: np.ndarray | None = None) -> PreparedPreconditioner:
        """What is computed once for a symmetric K (n, n) and weights (n,), some of them 0."""
        ...


@dataclass(frozen=True)
class NystroemPreconditioner:
    r"""The inverse of an approximation with a factor F of few columns:

    .. math:: R \mapsto (\sqrt W F F^\top \sqrt W + \lambda I)^{-1} R

    F has the shape (n, rank), and R the shape (n, outputs).

    Parameters
    ----------
    rank : int, optional
        Columns of F; by default 10 √n.
    random_state : int, RandomState or None
        Seed for choosing the centres that F is made of.
    n_jobs : int or None
    memory : int, str or None
        Budget in bytes or as "4GB", which a default rank keeps; None means half of the free memory.

    Notes
    -----
    F comes from randomly pivoted Cholesky (`mercer.gram.pivoted_cholesky`); with a rank near the
    effective dimension of K a few dozen products suffice. K has to be positive semidefinite.
    n · rank values of K, O(n rank²) operations and n · rank numbers of K's precision to prepare,
    O(n rank) operations for each residual. A ``rank`` below 1 is a ValueError, and one that does
    not fit ``memory`` a MemoryError.

    With the eigendecomposition :math:`F^\top W F = V \mathrm{diag}(σ) V^\top` and
    :math:`U = \sqrt W F V σ^{-1/2}` the map is
    :math:`U (σ + λ)^{-1} U^\top + (I - U U^\top) / λ` (Woodbury). For λ = 0 what F leaves of K,
    spread evenly, stands in for λ.

    References
    ----------
    Díaz, Epperly, Frangella, Tropp & Webber, "Robust, randomized preconditioning for kernel ridge
    regression", 2023.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.array([[1.0, 0.5], [0.5, 1.0]]), symmetric=True)
    >>> apply = NystroemPreconditioner(rank=2, random_state=0).prepare(K)
    >>> apply(np.array([[2.5], [4.5]]), np.array([1.0]))
    array([[0.73333333],
           [2.06666667]])
    """

    rank: int | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    memory: int | float | str | None = None

    def prepare(self, K: GramOperator, weights: np.ndarray | None = None) -> PreparedPreconditioner:
        """The map for K (n, n) and weights (n,); it takes residuals and penalties."""
        n = K.shape[0]
        if "rows" not in K.cheap:
            return lambda R, penalties: R
        rank = self._rank(n, np.dtype(K.dtype).itemsize, K.beside(self.memory))
        low = pivoted_cholesky(K, min(rank, n), random_state=self.random_state)
        # with λ = 0 what F leaves of K, spread evenly, stands in for it
        least = max(low.error, 1e-12) * float(K.diag().mean())
        return NystroemInverse(low, np.ones(n) if weights is None else np.sqrt(weights), least)

    def _rank(self, n: int, itemsize: int, place: Place) -> int:
        """The given number of columns of F, or as many as fit the memory."""
        if self.rank is not None:
            needed = min(self.rank, n) * (n * itemsize + BESIDE * min(self.rank, n))
            if not place.holds(needed):
                what = f"a preconditioner of rank={self.rank}"
                place.refuse(needed, what, ", or a smaller rank")
            return self.rank
        rank = int(10 * n**0.5)
        budget = place.budget(rank * (n * itemsize + BESIDE * rank))
        while rank > 1 and rank * (n * itemsize + BESIDE * rank) > budget:
            rank = rank * 9 // 10
        return rank


class NystroemInverse:
    """The map that `NystroemPreconditioner.prepare` makes; it takes over the factor of ``low``."""

    def __init__(self, low: LowRankGram, s: np.ndarray, least: float):
        s = s[:, None]
        gram = np.zeros((low.rank, low.rank))
        for rows, F in low.strips():
            F = F * s[rows].astype(F.dtype)
            gram += F.T @ F
        sigma, V = scipy.linalg.eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
        held = sigma > low.rank * np.finfo(low.dtype).eps * max(sigma.max(), 0)
        self.sigma = sigma[held]
        self.least = least
        V = (V[:, held] / np.sqrt(self.sigma)).astype(low.dtype)
        assert low.F is not None
        self.U = low.F[:, : len(self.sigma)]
        for rows, F in low.strips():  # U takes the place of F: there is room for one of them
            self.U[rows] = (F * s[rows].astype(F.dtype)) @ V

    def __call__(self, R: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        shift = np.maximum(penalties, self.least)
        inner = (self.U.T @ R.astype(self.U.dtype)).astype(np.float64)
        inner *= 1 / (self.sigma[:, None] + shift) - 1 / shift
        return (self.U @ inner.astype(self.U.dtype)) + R / shift


@dataclass(frozen=True)
class ConjugateGradientSolver:
    r"""Regularised least squares with products of K alone:

    .. math:: (K + \lambda W^{-1})\, a = y, \qquad \mathrm{gap} = \frac{\|b - A z\|}{\|b\|}

    a has the shape (n,) or (n, outputs), and W = diag(w) holds the weights of the rows. The
    certificate is the relative residual of the system A z = b that is solved.

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output: all outputs share the products.
    tol : float > 0, default=1e-6
        Stop at the relative residual ‖b - A z‖ <= tol ‖b‖ of every output, measured in float64.
    max_iter : int, default=1000
    preconditioner : object with ``prepare``, or None, default=NystroemPreconditioner()
        `NystroemPreconditioner` or one of your own (`Preconditioner`), or None.

    Notes
    -----
    K has to be positive semidefinite, and only its products are needed (apart from what the
    preconditioner asks for); memory: 6 n · outputs float64 and the preconditioner's. The
    certificate (``Result.gap``) is the largest relative residual. Differences from the textbook:
    (1) outputs that have converged leave the products; (2) the Polak-Ribière β, since a
    preconditioner in float32 is not quite a fixed linear map; (3) the recursive residual is checked
    against the true one before it is believed.

    References
    ----------
    Golub & Van Loan, "Matrix Computations", 4th edition, 2013, section 11.5.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.array([[1.0, 0.5], [0.5, 1.0]]), symmetric=True)
    >>> ConjugateGradientSolver(penalty=1.0).solve(K, np.array([2.5, 4.5])).coef.round(6)
    array([0.733333, 2.066667])
    """

    penalty: float | np.ndarray = 1.0
    tol: float = 1e-6
    max_iter: int = 1000
    preconditioner: Preconditioner | None = field(default_factory=NystroemPreconditioner)

    def solve(self, K: GramOperator, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """a for y of shape (n,) or (n, outputs), as a `Result`; ``coef`` is float64.

        An interrupt (Ctrl-C) keeps the best solution so far.
        """
        n = K.shape[0]
        Y = np.asarray(y, dtype=np.float64).reshape(n, -1)
        penalty = np.broadcast_to(np.asarray(self.penalty, dtype=np.float64), Y.shape[1])
        s = np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]
        b = s * Y
        given = self.preconditioner
        apply = None if given is None else given.prepare(K, weights)

        def precondition(R: np.ndarray, outputs: np.ndarray) -> np.ndarray:
            return R if apply is None else apply(R, penalty[outputs])

        def product(V: np.ndarray, outputs: np.ndarray) -> np.ndarray:
            return s * np.asarray(K @ (s * V), dtype=np.float64) + penalty[outputs] * V

        z, gap, iterations, reason = self._iterate(product, precondition, b)
        if reason is Reason.STALLED and penalty.min() <= _rounding(K, s):
            reason = Reason.ILL_CONDITIONED
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

    def _iterate(self, product, precondition, b, exactly=None):
        """z with (S + λ I) z = b, the largest relative residual, the iterations, the reason.

        ``exactly`` is a product in float64 by which residuals are measured, if the other is not.
        """
        exactly = exactly or product
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
                r = b - exactly(z, np.arange(b.shape[1]))
                gap = self._gap(r, size)
                if gap <= self.tol:
                    reason = Reason.CONVERGED
                    break
                stalls = 0 if gap <= best / 2 else stalls + 1  # NaN is no progress either
                best = min(best, gap)
                if stalls == 2:
                    reason = Reason.STALLED
                    break
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
            r = b - exactly(z, np.arange(b.shape[1]))
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


def _rounding(K: GramOperator, s: np.ndarray) -> float:
    """What rounding of the entries of s K s may add to its eigenvalues, as λ does."""
    peak = float((s[:, 0] ** 2 * K.diag()).max(initial=0))
    return float(np.finfo(K.dtype).eps) * K.shape[0] * peak
