r"""Ridge regression on many centres: a sketch of the rows is a preconditioner for all of them.

For f(x) = k(x, S) β and K[S, S] = L Lᵀ the normal equations are (Bᵀ W B + λ I) γ = Bᵀ W y, with
B = K[:, S] L⁻ᵀ and γ = Lᵀ β. To form them takes n m² operations. A sketch of B, random sums of its
rows, has 2 m rows, and a nearly equal BᵀWB: with it as a preconditioner some 20 products of n m
operations do, wherever the centres are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular

from mercer.gram import LowRankGram, cholesky_factor, refuse_overflow, solve_factored, whitened
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.conjugate_gradient import ConjugateGradientSolver
from mercer.solvers.ridge.ridge_system import solve_by_penalty
from mercer.threads import blas_limit, ordered_map

STRIP_NUMBERS = 2**17  # numbers of K[:, S] in a strip, which both products read while it is cached
STRIPS = 32  # strips that a thread takes at a time
PANEL = 256  # rows of the sketch, or columns of its inner products, at a time
SIGNS = 2  # entries of the sketch in each column


@dataclass(frozen=True)
class SketchedSolver:
    r"""Regularised least squares over the functions of many centres, by conjugate gradients with a
    sketched preconditioner:

    .. math:: \min_f \, \sum_i w_i (y_i - f(x_i))^2 + \lambda \|f\|^2, \qquad
              f(x) = \sum_{s \in S} k(x, x_s)\, a_s

    S are the centres of K, and a has the shape (m,) or (m, outputs).

    Parameters
    ----------
    penalty : float >= 0 or array of shape (outputs,), default=1.0
        λ, or one for each output; each different λ is a factorisation of m x m.
    tol : float > 0, default=1e-4
        Stop at this relative residual of the normal equations, measured in float64; for targets far
        from 0, relative to that of the centred targets. The test error is then that of the exact
        solution to four digits; another two digits take half as many steps again.
    max_iter : int, default=200
    oversampling : float > 1, default=2.0
        Rows of the sketch for each centre.
    random_state : int, RandomState or None, default=0
        Seed of the sketch.

    Notes
    -----
    K is a `LowRankGram` of rank m, of which the centres are read, wherever they come from; another
    K is a TypeError. K[:, S] is held, n m numbers in K's precision, and four matrices of m x m.
    O(n m) operations for each step, O(m³) for the sketch, its factor and that of K[S, S]; the
    normal equations, of `LowRankSolver`, take O(n m²). They are cheaper below 1,000 centres, for
    more than about 8 outputs, and for many penalties.

    The sketch has two random signs in each column (Cohen, "Nearly tight oblivious subspace
    embeddings by trace inequalities", SODA 2016; Rokhlin & Tygert, "A fast randomized algorithm for
    overdetermined linear least-squares regression", PNAS 2008). A ridge of 1e-6 (float32) or 1e-10
    times the largest k(x, x) makes K[S, S] positive definite. The certificate (``Result.gap``) is
    the relative residual, for γ.

    Examples
    --------
    >>> from mercer.gram import DenseGram, pivoted_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), rank=3, random_state=0)
    >>> coef = SketchedSolver(penalty=0.5).solve(K, y).coef
    >>> (X @ X[K.centres].T @ coef).round(3)
    array([0.   , 0.909, 1.818])
    """

    penalty: float | np.ndarray = 1.0
    tol: float = 1e-4
    max_iter: int = 200
    oversampling: float = 2.0
    random_state: int | np.random.RandomState | None = 0

    def factorise(self, K: LowRankGram, weights: np.ndarray | None = None) -> SketchedFactor:
        """The sketch, which serves any number of right sides and penalties."""
        if K.centres is None:
            raise TypeError(
                f"SketchedSolver needs centres, and {K.describe()} has none: make a matrix with "
                "some by mercer.gram.pivoted_cholesky(K, rank)."
            )
        if not (np.asarray(self.penalty) >= 0).all():
            raise ValueError(f"penalty={self.penalty!r}: give numbers >= 0.")
        if not self.oversampling > 1:
            raise ValueError(
                f"oversampling={self.oversampling!r}: give a number > 1, since a sketch of fewer "
                "rows than centres is singular."
            )
        return SketchedFactor(K, weights, self)

    def solve(self, K: LowRankGram, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """Coefficients at the centres, (m,) or (m, outputs), for y of (n,) or (n, outputs).

        An interrupt (Ctrl-C) keeps the best solution so far.
        """
        return self.factorise(K, weights).solve(y, self.penalty)


class SketchedFactor:
    r"""K[:, S], L, and the sketched normal matrix. Made by `SketchedSolver.factorise`.

    .. math:: B = K_{:S} L^{-\top}, \qquad K_{SS} = L L^\top, \qquad
              B^\top W B \approx (\Omega \sqrt W B)^\top (\Omega \sqrt W B)

    Ω is the sketch, and B has the shape (n, m).

    References
    ----------
    Rokhlin & Tygert, "A fast randomized algorithm for overdetermined linear least-squares
    regression", PNAS 105, 2008.

    Examples
    --------
    >>> from mercer.gram import DenseGram, pivoted_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), rank=1, random_state=0)
    >>> coef = SketchedSolver(penalty=0.5).factorise(K).solve(y, penalty=0.5).coef
    >>> (X @ X[K.centres].T @ coef).round(3)
    array([0.   , 0.909, 1.818])
    """

    def __init__(self, K: LowRankGram, weights: np.ndarray | None, solver: SketchedSolver):
        self.solver, self.n_jobs = solver, K.n_jobs
        self.C = K.cross()
        self.weights = None if weights is None else np.asarray(weights, np.float64)[:, None]
        self.L = _factor_of_centres(self.C[K.centres], self.n_jobs)
        self.normal = self._sketched()

    def solve(self, y: np.ndarray, penalty: float | np.ndarray) -> Result:
        """Coefficients at the centres, for one λ or one for each output."""
        return solve_by_penalty(self._solve, y, penalty)

    def residual_sums(self, y: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Σ_i w_i (y_i - f(x_i)) of each output, for ``coef`` at the centres: (outputs,)."""
        return self._over_rows(y, coef)[1].sum(axis=0).reshape(np.shape(y)[1:])

    def _solve(self, y: np.ndarray, penalty: float) -> Result:
        """Conjugate gradients with the sketched system as preconditioner."""
        with blas_limit(0):  # of BLAS: the threads are ours
            P = self._preconditioner(penalty)
            Y = np.asarray(y, np.float64).reshape(len(self.C), -1)
            b = self._right_side(Y)
            spread = self._right_side(Y - np.average(Y, axis=0, weights=self._flat_weights()))
            size = np.linalg.norm(b, axis=0)
            part = np.divide(np.linalg.norm(spread, axis=0), size, out=size * 0 + 1, where=size > 0)
            tol = self.solver.tol * float(np.clip(part.min(initial=1), 1e-3, 1))

            def product(wide: bool) -> Callable:
                return lambda V, outputs: self._product(V, wide) + penalty * V

            solver = ConjugateGradientSolver(penalty, tol, self.solver.max_iter)
            gamma, gap, iterations, reason = solver._iterate(
                product(self.C.dtype == np.float64),
                lambda R, outputs: solve_factored(P, R).astype(np.float64),
                b,
                product(True),
            )
            coef = solve_triangular(self.L, gamma, lower=True, trans=1, check_finite=False)
            error, weighted = self._over_rows(Y, coef)
        return Result(
            coef.reshape(-1, *np.shape(y)[1:]),
            objective=float(np.sum(error * weighted) + penalty * np.sum(gamma**2)),
            gap=gap,
            iterations=iterations,
            converged=reason is Reason.CONVERGED,
            reason=reason,
            solver="SketchedSolver",
            certificate="relative residual",
        )

    def _sketched(self) -> np.ndarray:
        """Bᵀ√W Sᵀ S √W B for a sketch S, in K's precision; its lower triangle alone."""
        from sklearn.utils import check_random_state

        n, m = self.C.shape
        count, random = int(np.ceil(self.solver.oversampling * m)), None
        random = check_random_state(self.solver.random_state)
        rows = random.randint(count, size=(n, SIGNS))
        signs = random.choice([-1.0, 1.0], size=(n, SIGNS)) / np.sqrt(SIGNS)
        signs *= 1.0 if self.weights is None else np.sqrt(self.weights)
        columns = np.repeat(np.arange(n), SIGNS)
        S = sp.csr_array(
            (signs.ravel().astype(self.C.dtype), (rows.ravel(), columns)), shape=(count, n)
        )
        L = self.L.astype(self.C.dtype, copy=False)

        def sketched(s: int) -> np.ndarray:
            return whitened(L, S[s : s + PANEL] @ self.C)

        parts = list(ordered_map(sketched, range(0, count, PANEL), self.n_jobs))
        G = np.concatenate(parts)  # (rows of the sketch, m)
        normal = np.zeros((m, m), self.C.dtype, order="F")

        def inner(s: int) -> None:
            normal[s:, s : s + PANEL] = G[:, s:].T @ G[:, s : s + PANEL]

        for _ in ordered_map(inner, range(0, m, PANEL), self.n_jobs):
            pass
        refuse_overflow(normal)
        return normal

    def _preconditioner(self, penalty: float) -> np.ndarray:
        """The factor of the sketched normal matrix and λ, in float64."""
        rounding = float(np.finfo(self.C.dtype).eps) * float(self.normal.diagonal().max())
        for least in (0.0, *rounding * np.logspace(0, 8, 9)):
            P = self.normal.astype(np.float64, order="F")
            P.flat[:: len(P) + 1] += max(penalty, least)
            if cholesky_factor(P, self.n_jobs):
                return P
        raise np.linalg.LinAlgError("the sketch of K has NaN, or K is 0: scale the samples.")

    def _product(self, V: np.ndarray, wide: bool) -> np.ndarray:
        """BᵀWB V, in float64 or with products in K's precision."""
        T = solve_triangular(self.L, V, lower=True, trans=1, check_finite=False)
        T = T if wide else T.astype(self.C.dtype)
        C_T = self._passed(lambda rows, C: C.T @ self._weighted(C @ T, rows).astype(T.dtype), wide)
        return self._against(C_T)

    def _right_side(self, Y: np.ndarray) -> np.ndarray:
        """BᵀW Y."""
        return self._against(self._passed(lambda rows, C: C.T @ self._weighted(Y[rows], rows)))

    def _flat_weights(self) -> np.ndarray | None:
        return None if self.weights is None else self.weights[:, 0]

    def _against(self, U: np.ndarray) -> np.ndarray:
        return solve_triangular(self.L, U, lower=True, check_finite=False)

    def _passed(self, of_strip: Callable, wide: bool = True) -> np.ndarray:
        """The sum in float64 of what the strips of K[:, S] give."""
        n, m = self.C.shape
        step = max(1, STRIP_NUMBERS // m)

        def some(s: int) -> np.ndarray:
            total: np.ndarray | float = 0.0
            for t in range(s, min(s + STRIPS * step, n), step):
                rows = slice(t, min(t + step, n))
                C = self.C[rows]
                total = total + of_strip(rows, C.astype(np.float64, copy=False) if wide else C)
            return np.asarray(total, np.float64)

        return sum(ordered_map(some, range(0, n, STRIPS * step), self.n_jobs))  # type: ignore

    def _over_rows(self, Y: np.ndarray, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The errors y - f, and these times the weights, both (n, outputs)."""
        error = np.array(Y, np.float64).reshape(len(self.C), -1)
        beta = coef.reshape(len(coef), -1)
        step = max(1, STRIP_NUMBERS // len(coef))

        def some(s: int) -> None:
            for t in range(s, min(s + STRIPS * step, len(error)), step):
                error[t : t + step] -= self.C[t : t + step].astype(np.float64) @ beta

        for _ in ordered_map(some, range(0, len(error), STRIPS * step), self.n_jobs):
            pass
        return error, self._weighted(error, slice(None))

    def _weighted(self, A: np.ndarray, rows: slice) -> np.ndarray:
        return A if self.weights is None else A * self.weights[rows]


def _factor_of_centres(block: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """L in float64, K[S, S] + δ I = L Lᵀ, for a δ of a few units of rounding."""
    largest = float(block.diagonal().max(initial=0)) or 1.0
    least = 1e-6 if block.dtype == np.float32 else 1e-10
    for δ in least * largest * np.logspace(0, 4, 3):
        L = block.astype(np.float64, order="F")
        L.flat[:: len(L) + 1] += δ
        if cholesky_factor(L, n_jobs):
            return np.asfortranarray(np.tril(L))
    refuse_overflow(block)
    raise np.linalg.LinAlgError(
        "K between the centres is not positive semidefinite: choose another kernel or solver."
    )
