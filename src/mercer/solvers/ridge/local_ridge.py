"""Ridge regression on a Gram matrix that is exact inside leaves and of low rank between them.

With K̂ = F Fᵀ + B, and rows weighted as in `mercer.solvers.ridge.ridge_system`, the system is
(Λ + F Fᵀ) z = b for Λ = B + λ I, whose blocks belong to the leaves. By the formula of Woodbury

    z = Λ⁻¹ b - Λ⁻¹ F β,   (I + Fᵀ Λ⁻¹ F) β = Fᵀ Λ⁻¹ b,

so that each leaf is factorised once and forgotten, and its rows meet those of other leaves in sums
of m x m numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer.gram import (
    LocalGram,
    cholesky_factor,
    inverse_diagonal,
    refuse_overflow,
    solve_factored,
)
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.ridge_system import solve_by_penalty
from mercer.threads import ordered_map, raise_if_stopped

#: bound of a solution's relative residual, by the precision of K: far below the noise of targets,
#: and one of float32 moves as much when K's entries are rounded
TOLERANCES = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-4}
ROUNDING = 8.0  # units of the largest entry of K, times the root of the rows of a leaf


class Leaf(NamedTuple):
    """What is kept of a leaf: Λ⁻¹ b and Λ⁻¹ F of its rows, the sums, and the residuals."""

    rows: np.ndarray
    solved: np.ndarray
    features: np.ndarray
    inner: np.ndarray  # Fᵀ Λ⁻¹ F
    right: np.ndarray  # Fᵀ Λ⁻¹ b
    squares: tuple[float, float]  # ‖b - Λ (Λ⁻¹ b)‖², and an estimate of ‖F - Λ (Λ⁻¹ F)‖²
    penalty: float  # λ, or more if Λ was indefinite
    diagonal: np.ndarray | None  # of Λ⁻¹


@dataclass(frozen=True)
class LocalSolver:
    r"""Regularised least squares for the :math:`\hat K` of a `LocalGram`:

    .. math:: (\hat K + \lambda W^{-1})\, a = y, \qquad
              \hat K + \lambda I = \Lambda + F F^\top

    Λ is λ I and, for each leaf, its block of K - F Fᵀ; a has the shape (n,) or (n, outputs), and
    W = diag(w) holds the weights of the rows. The equation is that of `CholeskySolver` (Hoerl &
    Kennard 1970).

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output: each different λ is a factorisation.
    n_jobs : int or None
        Threads; each of them works on one leaf.

    Notes
    -----
    For n rows, leaves of p and m centres O(n p² / 3 + 2 n p m + n m²) operations, and memory for
    F, another matrix of its size, and for each thread three of the size of a leaf. A smaller λ than
    what the rounding of K's entries adds to the eigenvalues of a leaf is raised to that. A float32
    K whose residual is too large is solved again in float64.

    The certificate (``Result.gap``) bounds the relative residual ‖b - (Λ + F Fᵀ) z‖ / ‖b‖ by those
    of the leaves and of the sum: that of Λ⁻¹ b as computed, that of Λ⁻¹ F as one random sum of its
    columns tells, and what was added to λ.

    Examples
    --------
    >>> from mercer.gram import DenseGram, grow_leaves, pivoted_cholesky
    >>> X = np.arange(8.0)[:, None]
    >>> low = pivoted_cholesky(DenseGram(np.exp(-np.abs(X - X.T)), symmetric=True), 3)
    >>> K = LocalGram(low, grow_leaves(low, 4))
    >>> a, y = LocalSolver(0.1).solve(K, np.sin(X[:, 0])).coef, np.sin(X[:, 0])
    >>> bool(np.allclose(K.dense() @ a + 0.1 * a, y))
    True
    """

    penalty: float | np.ndarray = 1.0
    n_jobs: int | None = None

    def solve(self, K: LocalGram, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """a for y of shape (n,) or (n, outputs), as a `Result`; ``coef`` is float64."""

        def solve(y: np.ndarray, penalty: float) -> Result:
            return self._solve(K, y, weights, penalty, False)[0]

        return solve_by_penalty(solve, y, self.penalty)

    def solve_and_leave_out(
        self, K: LocalGram, y: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[Result, np.ndarray]:
        """The same, and for each row the prediction of the fit without it, in the shape of y.

        The penalty is one number > 0. It takes half as long again.
        """
        return self._solve(K, y, weights, float(self.penalty), True)

    def _solve(self, K, y, weights, penalty, leave_out) -> tuple[Result, np.ndarray]:
        """The solution, in float32 where that is enough."""
        if not isinstance(K, LocalGram):
            raise TypeError(
                f"LocalSolver needs a LocalGram, and {K.describe()} is not one: make one by "
                "mercer.gram.LocalGram(low, mercer.gram.grow_leaves(low, rows))."
            )
        if K.dtype == np.float32:
            try:
                found = self._solve_in(np.dtype(K.dtype), K, y, weights, penalty, leave_out)
                if found[0].converged:
                    return found
            except np.linalg.LinAlgError:
                pass  # rounding has made A indefinite
        return self._solve_in(np.dtype(np.float64), K, y, weights, penalty, leave_out)

    def _solve_in(self, dtype, K, y, weights, penalty, leave_out) -> tuple[Result, np.ndarray]:
        """The solution in one precision."""
        n, m = K.shape[0], K.low.rank
        s = np.ones(n) if weights is None else np.sqrt(np.asarray(weights, np.float64))
        b = s[:, None] * np.asarray(y, np.float64).reshape(n, -1)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], m)

        def leaf(number: int) -> Leaf:
            raise_if_stopped()
            return _leaf(K, number, dtype, least, s, b, signs, leave_out)

        z, features = np.empty_like(b), np.empty((n, m), dtype)
        raised, inverse = np.empty((n, 1)), np.empty(n)
        least = max(penalty, rounding_of(K, weights))
        A, right, squares = np.eye(m), np.zeros((m, b.shape[1])), np.zeros(2)
        for found in ordered_map(leaf, range(K.leaves.count), self.n_jobs):
            z[found.rows], features[found.rows] = found.solved, found.features
            raised[found.rows] = found.penalty - penalty
            if found.diagonal is not None:
                inverse[found.rows] = found.diagonal
            A, right, squares = A + found.inner, right + found.right, squares + found.squares
        refuse_overflow(A)
        L = scipy.linalg.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
        beta = scipy.linalg.cho_solve((L, True), right, check_finite=False)
        sums = np.zeros_like(beta)  # Fᵀ z, which is β
        for rows, F in K.low.strips():
            z[rows] -= features[rows] @ beta.astype(dtype)
            sums += F.T @ (s[rows, None] * z[rows]).astype(dtype)
        gap = _gap(K, s, b, squares, beta, beta - sums, raised * z)
        converged = gap <= TOLERANCES[np.dtype(K.dtype)]
        failed = Reason.ILL_CONDITIONED if raised.any() else Reason.STALLED
        result = Result(
            (s[:, None] * z).reshape(np.shape(y)),
            objective=penalty * float(np.sum(z * b)),  # Σ w (y - f)² + λ aᵀ K̂ a at the optimum
            gap=gap,
            converged=converged,
            reason=Reason.CONVERGED if converged else failed,
            solver="LocalSolver",
            certificate="relative residual",
        )
        left_out = np.empty(0)
        if leave_out:  # y_i - z_i / (s_i [(Λ + F Fᵀ)⁻¹]_ii), as in `RidgeSystem`
            for rows in K.leaves.parts():
                T = scipy.linalg.solve_triangular(L, features[rows].T, lower=True)
                inverse[rows] -= np.einsum("ki,ki->i", T, T, dtype=np.float64)
            errors = z / (s * inverse)[:, None]
            left_out = (b / s[:, None] - errors).reshape(np.shape(y))
        return result, left_out


def rounding_of(K: LocalGram, weights: np.ndarray | None = None) -> float:
    """What rounding of K's entries may add to the eigenvalues of a leaf, as λ does."""
    diagonal = K.diag() if weights is None else np.asarray(weights) * K.diag()
    refuse_overflow(diagonal)
    largest = float(diagonal.max(initial=0)) or 1.0
    return ROUNDING * float(np.finfo(K.dtype).eps * np.sqrt(K.leaves.largest)) * largest


def _leaf(K: LocalGram, number: int, dtype, penalty: float, s, b, signs, leave_out: bool) -> Leaf:
    """One leaf, solved."""
    rows = K.leaves.rows(number)
    system, F = K.residual(number, dtype)
    scale = s[rows, None].astype(dtype)
    system *= scale
    system *= scale.T
    F = F * scale
    L, system, penalty = _factorised(system, penalty)
    solved = solve_factored(L, np.concatenate([b[rows], F], axis=1))
    outputs = b.shape[1]
    z, features, probe = solved[:, :outputs], solved[:, outputs:], signs.astype(L.dtype)
    rest = b[rows] - system @ z, F @ probe - system @ (features @ probe)
    products = (F.T @ solved.astype(dtype, copy=False)).astype(np.float64)
    return Leaf(
        rows, z, features, products[:, outputs:], products[:, :outputs],
        (float(np.sum(np.square(rest[0]))), float(np.sum(np.square(rest[1])))), penalty,
        inverse_diagonal(L) if leave_out else None,
    )  # fmt: skip


def _factorised(S: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray, float]:
    """The lower factor of S + λ I, this matrix, and λ; S is overwritten.

    Where it is indefinite, since F has rounding of its own, λ is doubled until it is not.
    """
    refuse_overflow(S)
    S.flat[:: len(S) + 1] += penalty
    while True:
        L = np.array(S, order="F")
        if cholesky_factor(L):
            return L, S, penalty
        S = S.astype(np.float64, copy=False)
        S.flat[:: len(S) + 1] += penalty
        penalty *= 2


def _gap(K: LocalGram, s, b, squares, beta, rest, raised) -> float:
    """‖b - (Λ + F Fᵀ) z‖ / ‖b‖ at most: the residuals of the leaves, F (β - Fᵀ z), and what was
    added to λ times z.
    """
    size = float(np.linalg.norm(b))
    if size == 0:
        return 0.0
    of_leaves = np.sqrt(squares[0]) + np.sqrt(squares[1]) * np.linalg.norm(beta)
    of_sum = sum(float(np.sum((s[i, None] * (F @ rest)) ** 2)) for i, F in K.low.strips())
    return float(of_leaves + np.sqrt(of_sum) + np.linalg.norm(raised)) / size
