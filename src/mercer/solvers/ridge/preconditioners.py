r"""Preconditioners: values that turn K into a cheap map near :math:`(S + λ I)^{-1}`.

`ConjugateGradientSolver` solves (S + λ I) z = b with S = √W K √W (ridge_system.py says why). The
nearer the map is to the inverse, the fewer products with K it takes; the solution is the same.
`Preconditioner` is the interface, for preconditioners of your own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg

from mercer.gram import GramOperator, LowRankGram, Place, pivoted_cholesky

BESIDE = 40  # bytes for each pair of columns of a factor: an eigendecomposition in float64


class PreparedPreconditioner(Protocol):
    """A symmetric positive definite map on residuals."""

    def __call__(self, R: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """(S + λ_j I)⁻¹ R[:, j], nearly: float64 of R's shape (n, k); ``penalties`` is (k,).

        The result is a fresh array, or R itself. The columns are those of the outputs that have
        not converged yet, so that their number changes between calls.
        """
        ...


class Preconditioner(Protocol):
    """What `ConjugateGradientSolver` takes: an object with ``prepare``.

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
    r"""The inverse of :math:`\sqrt W F F^\top \sqrt W + λ I`, with a factor F of few columns.

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
