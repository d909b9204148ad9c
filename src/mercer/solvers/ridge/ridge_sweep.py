"""Ridge regression for many penalties at once, and for all folds of a cross-validation.

`RidgeSweep` projects on a rational Krylov space. (S + λ I) z = b is factorised for a few shifts σ
only (ridge_system.py says what S and b are). The space V is spanned by solutions (S + σ I)⁻¹ r for
residuals r, and for every λ at once z(λ) = V (Vᵀ S V + λ I)⁻¹ Vᵀ b: some 40 columns serve 20
penalties over six decades, whatever the spectrum of S is. Each solution has its own certificate;
those that miss it are left to Cholesky's method.

`RidgeFolds` cross-validates on a low-rank K ≈ F Fᵀ: the normal matrix of a fold's training rows is
FᵀF less that of the fold's own rows, so that one pass over F serves all folds, and one
eigendecomposition of m x m a fold serves every penalty and every target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer.gram import (
    GramOperator,
    LowRankGram,
    Place,
    cholesky_factor,
    require,
    solve_factored,
    symmetric_product,
)
from mercer.solvers.result import Result
from mercer.solvers.ridge.cholesky import CholeskySolver
from mercer.solvers.ridge.ridge_system import RidgeSystem, check_penalties
from mercer.threads import blas_limit

FEW = 4  # penalties, for which a factorisation each is cheaper
SMALL = 300  # rows, for which the same holds
DECADES = 2.0  # powers of ten of λ that one shift serves
EARLY = 5  # passes with one shift alone
PASSES = 80  # at most; ordinary problems take 5 to 50
SINGLE_MAX = float(np.finfo(np.float32).max) / 2
FLOAT32 = 1e-4  # σ / ‖S‖ from which a factor in float32 spans nearly the same space


@dataclass(frozen=True)
class RidgeSweep:
    r"""Regularised least squares for many λ:

    .. math:: (K + \lambda_j W^{-1})\, a_j = y, \qquad
              z(\lambda) = V (V^\top S V + \lambda I)^{-1} V^\top b

    V is a basis of solutions that all λ share; each :math:`a_j` has the shape (n,) or (n,
    outputs).

    Parameters
    ----------
    penalties : sequence of float >= 0
        The λ, in any order.
    tol : float, default=5e-7
        Largest error of a prediction, in units of the root mean square of y.
    memory : int, str or None
        Budget in bytes or as "4GB" for the factors; None means half of the free memory.

    Notes
    -----
    K must be positive semidefinite: the error of f at x is then at most
    :math:`\sqrt{k(x, x)}\,\|r\| / \sqrt λ` for the residual r (Schur complement of
    :math:`k(x, x)`), which the solver brings below ``tol`` in float64; where rounding forbids it,
    the normwise backward error is a few units of rounding, as that of Cholesky's method.
    O(n³ / 3) operations for every two decades of λ, and a pass over the factors and K for each
    few columns of the space; memory: one n x n matrix for each shift, of which there are as many
    as fit ``memory``.

    References
    ----------
    Güttel, "Rational Krylov approximation of matrix functions: numerical methods and optimal pole
    selection", GAMM-Mitteilungen 36, 2013. Difference: each new column comes from the residual
    of the worst λ, so that factors of low precision cost columns and not accuracy.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.array([[1.0, 0.5], [0.5, 1.0]]), symmetric=True)
    >>> first, second = RidgeSweep([1.0, 2.0]).solve(K, np.array([2.5, 4.5]))
    >>> first.coef
    array([0.73333333, 2.06666667])
    """

    penalties: Sequence[float] | np.ndarray
    tol: float = 5e-7
    memory: int | float | str | None = None

    def solve(
        self, K: GramOperator, y: np.ndarray, weights: np.ndarray | None = None
    ) -> list[Result]:
        """A `Result` for each λ, for y of shape (n,) or (n, outputs); ``coef`` is float64."""
        require(K, "factorise", "RidgeSweep")
        penalties = np.asarray(self.penalties, dtype=np.float64)
        distinct = np.unique(penalties[penalties > 0])
        found: dict[float, Result] = {}
        if len(distinct) >= FEW and K.shape[0] >= SMALL and "dense" in K.cheap:
            found = self._sweep(RidgeSystem(K, weights), y, distinct, K.beside(self.memory))
        results = []
        for λ in penalties:
            if λ not in found:
                found[λ] = CholeskySolver(float(λ), self.memory).solve(K, y, weights)
            results.append(found[λ])
        return results

    def _sweep(
        self, system: RidgeSystem, y: np.ndarray, penalties: np.ndarray, place: Place
    ) -> dict[float, Result]:
        """λ -> Result, of those λ whose solution is certified."""
        b = system.right_side(y)
        one = 8 * len(b) ** 2
        most = place.budget(one * len(penalties)) // one
        if most < 2:  # there is no room for a copy of K and a factor
            return {}
        if system.scale is None and system.dtype == np.float64:
            S = np.ascontiguousarray(system.K.dense())
        else:
            S = system.S.fresh(np.dtype(np.float64))
            most -= 1
        norm = float(np.linalg.norm(S))
        # ‖r‖ that keeps predictions within tol: see the notes
        squares = len(b) if system.scale is None else np.sum(system.scale**2)
        peak = float(np.sqrt(max(system.K.diag().max(), 0)))
        size = np.linalg.norm(b, axis=0)
        wanted = self.tol * np.sqrt(penalties)[:, None] * size / (np.sqrt(squares) * (peak or 1))
        space = _Space(S, b, _shifts(penalties, most), norm, place.n_jobs)
        coef, residuals, met = self._expand(space, penalties, wanted, norm)
        results = {}
        for i in np.flatnonzero(met):
            λ, r = float(penalties[i]), residuals[i]
            z = space.V @ coef[i]
            scale = (norm + λ) * np.linalg.norm(z, axis=0) + size
            gap = np.linalg.norm(r, axis=0) / np.where(scale > 0, scale, 1)
            results[penalties[i]] = Result(
                system.coef(z, y),
                objective=system.objective(z, b, r, λ),
                gap=float(gap.max()),
                iterations=space.passes,
                solver="RidgeSweep",
                certificate="backward error",
            )
        return results

    @staticmethod
    def _expand(space: _Space, penalties: np.ndarray, wanted: np.ndarray, norm: float):
        """Coefficients on the space, residuals, and for which λ they are small enough."""
        size = np.linalg.norm(space.b, axis=0)
        coef, residuals, error = space.project(penalties)
        live = np.full(len(penalties), bool(space.b.any()))
        while live.any() and space.passes < PASSES:
            if not space.extend(residuals, error, live, penalties):
                break
            coef, residuals, lengths = space.project(penalties)
            rounding = 4 * np.finfo(float).eps * (norm * np.linalg.norm(coef, axis=1) + size)
            error = (lengths / np.where(size > 0, np.maximum(wanted, rounding), 1)).max(axis=1)
            live = error > 1
        return coef, residuals, ~live


class _Space:
    """An orthonormal basis V, the products S V, and factors of S + σ I for shifts σ."""

    def __init__(
        self, S: np.ndarray, b: np.ndarray, shifts: np.ndarray, norm: float, n_jobs: int | None
    ):
        self.S, self.b, self.norm, self.n_jobs = S, b, norm, n_jobs
        self.shifts = shifts
        self.factors: dict[float, np.ndarray] = {}
        self.V = np.empty((len(b), 0), order="F")
        self.SV = np.empty((len(b), 0), order="F")
        self.passes = 0

    def extend(self, residuals, error, live, penalties) -> bool:
        """Add (S + σ I)⁻¹ r for each shift, r of the worst λ near it; False if nothing is new.

        The first passes have one shift, with which kernels of slight overlap come to the end.
        """
        early = self.passes < EARLY
        shifts = self.shifts[[len(self.shifts) // 2]] if early else self.shifts
        nearest = np.abs(np.log(penalties)[:, None] - np.log(shifts)).argmin(axis=1)
        columns = []
        for j, σ in enumerate(shifts):
            mine = np.flatnonzero(live & (nearest == j))
            if len(mine):
                # before the first pass all are alike: take the one in the middle
                worst = mine[error[mine].argmax()] if self.passes else mine[len(mine) // 2]
                r = residuals[worst][:, residuals[worst].any(axis=0)]
                L = self._factor(float(σ))
                if L is None:  # S is singular to this precision: go on without the shift
                    self.shifts = self.shifts[self.shifts != σ]
                    return len(self.shifts) > 0 and self.extend(residuals, error, live, penalties)
                with blas_limit(0):  # a column or two are no work for threads
                    columns.append(solve_factored(L, r / np.linalg.norm(r, axis=0)).astype(float))
        with blas_limit(0):
            return self._append(np.hstack(columns))

    def _append(self, W: np.ndarray) -> bool:
        """Add what of the columns of W is new; False if nothing is."""
        lengths = np.linalg.norm(W, axis=0)
        usable = (lengths > 0) & np.isfinite(lengths)
        W = W[:, usable] / lengths[usable]
        for _ in range(2):  # twice is enough (Kahan): orthogonal to V, and among themselves
            W -= self.V @ (self.V.T @ W)
            parts: Any = scipy.linalg.qr(W, mode="economic", pivoting=True, check_finite=False)
            W, R, _ = parts
            W = W[:, np.abs(R.diagonal()) > 1e-10]
        self.V = np.hstack([self.V, W])
        self.SV = np.hstack([self.SV, _product(self.S, W)])
        self.passes += 1
        return W.shape[1] > 0

    def _factor(self, σ: float) -> np.ndarray | None:
        """The lower factor of S + σ I; None where it is not positive definite."""
        if σ not in self.factors:
            single = FLOAT32 * self.norm < σ < SINGLE_MAX - self.norm
            A = self.S.astype(np.float32 if single else np.float64)
            A.flat[:: len(A) + 1] += σ
            with blas_limit(len(A)):
                # symmetric: the transpose is A in Fortran order
                definite = cholesky_factor(A.T, self.n_jobs)
            if not definite:
                return None
            self.factors[σ] = A.T
        return self.factors[σ]

    def project(self, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each λ: coefficients on V, residual, and the residual's length by column."""
        with blas_limit(0):
            return self._project(penalties)

    def _project(self, penalties: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The solutions in the subspace for all penalties, with their residuals."""
        T = self.V.T @ self.SV
        values, Q = np.linalg.eigh((T + T.T) / 2)
        c = Q.T @ (self.V.T @ self.b)
        # rounding, in a K of float32 above all, leaves eigenvalues below zero: as Cholesky's
        # method, take them as they are, while S + λ I stays positive definite
        values = np.maximum(values, -0.9 * penalties.min())
        inverse = 1 / (values + penalties[:, None])
        shape = len(values), len(penalties), self.b.shape[1]
        C = Q @ (inverse.T[:, :, None] * c[:, None]).reshape(shape[0], shape[1] * shape[2])
        R = -(self.SV @ C) - (self.V @ C) * np.repeat(penalties, shape[2])
        residuals = (R.reshape(len(R), *shape[1:]) + self.b[:, None]).swapaxes(0, 1)
        return C.reshape(shape).swapaxes(0, 1), residuals, np.linalg.norm(residuals, axis=1)


def _product(S: np.ndarray, W: np.ndarray) -> np.ndarray:
    """S W for a symmetric S; a few columns one by one, from one triangle."""
    if W.shape[1] > 8:
        return S @ W
    return np.stack([symmetric_product(S, w) for w in W.T], axis=1)


def _shifts(penalties: np.ndarray, most: int) -> np.ndarray:
    """The middles of equal parts of the range of λ, on its logarithmic scale."""
    low, high = np.log10(penalties[0]), np.log10(penalties[-1])
    count = min(max(1, round((high - low) / DECADES)), most)
    return 10 ** (low + (high - low) * (np.arange(count) + 0.5) / count)


class RidgeFolds:
    r"""Held-out predictions of every fold from one pass over the factor of K.

    .. math:: f_v(x) = k(x, S)\, a_v + b_v, \qquad
              F_{-v}^\top W F_{-v} = F^\top W F - F_v^\top W F_v

    Fold v, with the rows :math:`F_v` of the factor, is left out; S are the centres, and
    :math:`b_v` is the mean of the training targets.

    Parameters
    ----------
    K : LowRankGram of shape (n, n) and rank m
        Its centres stay as they are, whichever fold they are from: they are chosen without targets.
    folds : int array of shape (n,)
        Row i is left out by the fit of fold ``folds[i]`` and by no other; -1 by none.
    weights : ndarray of shape (n,), optional
        Weights of the rows, in fits and in errors.
    in_turn : bool
        Whether the fit of a fold leaves out the folds after it too, as of rows in time.

    Notes
    -----
    O(n m²) operations for all folds and O(m³) for each; O(m²) memory for each. `leave_one_out`
    takes O(n m²) for each fold.

    References
    ----------
    Pahikkala, Boberg & Salakoski, "Fast n-fold cross-validation for regularized least-squares",
    SCAI 2006.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> from mercer.gram.low_rank import pivoted_cholesky
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> K = pivoted_cholesky(DenseGram(X @ X.T, symmetric=True), rank=3, random_state=0)
    >>> RidgeFolds(K, np.arange(3)).predict(y, [0.5] * 3).round(3)
    array([1.5  , 1.444, 1.167])
    """

    def __init__(
        self,
        K: LowRankGram,
        folds: np.ndarray,
        weights: np.ndarray | None = None,
        in_turn: bool = False,
    ):
        self.K, self.in_turn = K, in_turn
        self.folds = np.asarray(folds)
        self.weights = np.ones(len(self.folds)) if weights is None else weights
        self.count = int(self.folds.max(initial=-1)) + 1
        total = np.zeros((K.rank, K.rank))
        out = np.zeros((self.count, K.rank, K.rank))  # what each fit leaves out
        for rows, F in K.strips():
            within, roots = self.folds[rows], np.sqrt(self.weights[rows]).astype(F.dtype)
            for f in (-1, *range(self.count)):
                part = F[within == f] * roots[within == f, None]
                A = part.T @ part
                total += A
                if f >= 0:
                    out[0 if in_turn else f : f + 1] += A
        self.spectra = []
        for A in out:
            eigenvalues, Q = scipy.linalg.eigh(total - A, check_finite=False, driver="evd")
            self.spectra.append((np.maximum(eigenvalues, 0), Q))

    def learns(self, f: int) -> np.ndarray:
        """Mask (n,) of the rows that the fit of a fold learns from."""
        return self.folds < f if self.in_turn else self.folds != f

    def leave_one_out(self, y: np.ndarray, penalties: np.ndarray) -> Iterator[np.ndarray]:
        """For each fold, the prediction of each of its training rows by its fit without that row.

        A penalty that they choose has not seen the fold's own targets, which the errors of other
        folds would show to it. ``penalties`` has the shape (folds, penalties) and what is yielded
        (penalties, \\*y.shape), NaN for the fold's own rows. As in
        `LowRankFactor.leave_one_out`, centres and b stay as they are. O(n m²) for each fold.
        """
        penalties = np.stack([check_penalties(some) for some in penalties])
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        dtype = self.K.dtype
        for f, ((mu, Q), (c, b)) in enumerate(zip(self.spectra, self._rotated(Y))):
            inverses = self._inverse(mu, penalties[f])  # (m, penalties)
            beta = (c[:, None] * inverses[:, :, None]).reshape(len(c), -1).astype(dtype)
            turn, inverses = Q.astype(dtype), inverses.astype(dtype)
            out = np.full((penalties.shape[1], *Y.shape), np.nan)
            for rows, F in self.K.strips():
                mine = np.flatnonzero(self.learns(f)[rows])
                T = F[mine] @ turn
                outputs = (T @ beta).astype(np.float64).reshape(len(mine), *out.shape[::2])
                np.square(T, out=T)
                h = self.weights[rows][mine, None] * (T @ inverses).astype(np.float64)
                left = np.maximum(1 - h, np.finfo(dtype).eps)[:, :, None]
                gaps = (Y[rows][mine] - b)[:, None]
                out[:, rows.start + mine] = b + ((outputs - h[:, :, None] * gaps) / left).transpose(
                    1, 0, 2
                )
            yield out.reshape(-1, *np.shape(y))

    def predict(self, y: np.ndarray, penalties: Sequence[float] | np.ndarray) -> np.ndarray:
        """The prediction of each row by the fit that left it out, NaN for rows that none did.

        ``penalties`` holds a λ for each fold; the shape is that of y.
        """
        penalties = check_penalties(penalties)
        Y = np.asarray(y, dtype=np.float64).reshape(self.K.shape[0], -1)
        fits = []
        for (mu, Q), (c, b), penalty in zip(self.spectra, self._rotated(Y), penalties):
            fits.append((Q @ (c * self._inverse(mu, penalty)[:, None]), b))
        out = np.full(Y.shape, np.nan)
        for rows, F in self.K.strips():
            within = self.folds[rows]
            for f, (beta, b) in enumerate(fits):
                mine = np.flatnonzero(within == f)
                out[rows.start + mine] = F[mine] @ beta + b
        return out.reshape(np.shape(y))

    def _rotated(self, Y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each fold Qᵀ Fᵀ (Y - b) over its training rows, and b."""
        n, m, outputs = len(Y), self.K.rank, Y.shape[1]
        with_one = np.column_stack([Y, np.ones(n)]) * self.weights[:, None]
        parts = np.zeros((self.count + 1, m, outputs + 1))  # the last is that of -1
        for rows, F in self.K.strips():
            within = self.folds[rows]
            for f in range(-1, self.count):
                mine = within == f
                parts[f] += F[mine].T @ with_one[rows][mine].astype(F.dtype)
        out = []
        for f, (_, Q) in enumerate(self.spectra):
            others = self.learns(f)
            b = np.average(Y[others], axis=0, weights=self.weights[others])
            # summed anew: the total less the fold's part would hold a rounding of its targets
            last = self.count if self.in_turn else f + 1
            B = np.delete(parts, np.arange(f, last), axis=0).sum(axis=0)
            out.append((Q.T @ (B[:, :-1] - B[:, -1:] * b), b))
        return out

    def _inverse(self, mu: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
        """1 / (μ + λ), and 0 where that is rounding: shape (m,) or (m, penalties)."""
        shifted = mu.reshape(-1, *[1] * np.ndim(penalty)) + penalty
        floor = len(mu) * np.finfo(np.float64).eps * mu.max(initial=0)
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=shifted > floor)
