r"""Linear support vector machines with few weights: the l1 penalty and the squared hinge loss.

Minimise :math:`|w|_1 + \sum_i C_i \max(0, 1 - y_i x_i w)^2` by proximal Newton steps. Each step
replaces the loss by its second-order model on the rows inside the margin, minimises the model plus
the penalty by coordinate descent, and searches along the line to this minimum. With few columns
the model is stored as the factor of its Hessian, so that an epoch costs d² instead of n d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky

from mercer import _native
from mercer.solvers.linear.linear_dual import ActiveSet, LinearResult
from mercer.solvers.linear.linear_rows import LinearRows, solved
from mercer.solvers.linear.linear_svm import EXACT, POLISH, LinearSolver
from mercer.solvers.result import Reason
from mercer.threads import blas_limit

ROUNDS = 50  # most rounds of ten epochs of descent on one model, if they are cheap
CROSSINGS = 20  # most weights that may reach 0 after ten epochs
WAITING = 0.1  # a weight may leave 0 if its gradient is so close to the limit 1


def solve_lasso(X: LinearRows, y: np.ndarray, C: np.ndarray, solver: LinearSolver) -> LinearResult:
    """Solve for w, with labels y = ±1; ``solver.method`` is not used.

    Yuan, Ho & Lin, "An Improved GLMNET for L1-regularized Logistic Regression", JMLR 2012, with
    the squared hinge loss.
    """
    quiet = np.errstate(over="ignore", invalid="ignore")
    with quiet, blas_limit(X.shape[1] if X.cheap else 0):
        point = _Point(X, y, C)
        try:
            reason = _newton(point, solver, solver.tol, solver.max_iter)
            if reason is Reason.CONVERGED and X.small:
                _newton(point, solver, EXACT, point.steps + POLISH)  # often reaches the solution
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
    return LinearResult(
        point.w, 0.0, point.objective, point.gap, point.steps, reason is Reason.CONVERGED, reason,
        "proximal Newton", "duality gap",
    )  # fmt: skip


class _Point:
    """w after some steps, with its objective, the gradient g of the loss, and the curvature h of
    each row."""

    def __init__(self, X: LinearRows, y: np.ndarray, C: np.ndarray):
        self.X, self.y, self.C = X, y, C
        self.w, self.steps, self.bound = np.zeros(X.shape[1]), 0, 0.0
        self.measure()

    def measure(self) -> None:
        self.f = self.X.outputs(self.w)
        slack = np.maximum(1 - self.y * self.f, 0)
        self.h = np.where(slack > 0, 2 * self.C, 0.0)
        alpha = 2 * self.C * slack
        self.g = -self.X.combined(self.y * alpha)
        self.objective = float(np.abs(self.w).sum() + self.C @ slack**2)
        self.bound = max(self.bound, self._dual(alpha))

    @property
    def gap(self) -> float:
        return max(self.objective - self.bound, 0.0)

    def _dual(self, alpha: np.ndarray) -> float:
        """The largest dual value Σ α - Σ α² / 4C over multiples of α with |Xᵀ (y α)| <= 1."""
        total, square = float(alpha.sum()), float(np.sum(alpha**2 / self.C)) / 4
        largest = float(np.abs(self.g).max())
        if not square > 0:
            return 0.0
        scale = total / (2 * square)
        if scale * largest > 1:
            scale = 1 / largest
        return scale * total - scale**2 * square

    def move(self, v: np.ndarray) -> None:
        """Move w to the smallest objective on the line to v."""
        step, w = v - self.w, self.w
        change = self.X.outputs(step)

        def slope(size: float) -> float:
            slack = np.maximum(1 - self.y * (self.f + size * change), 0)
            at = w + size * step
            penalty = np.where(at != 0, np.sign(at) * step, np.abs(step)).sum()
            return float(penalty - 2 * (self.C * self.y * slack) @ change)

        low, high = 0.0, 1.0
        if slope(1.0) > 0:
            for _ in range(30):
                middle = (low + high) / 2
                low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        size = high
        self.w = v if size == 1 else w + size * step
        self.steps += 1
        self.measure()


def _newton(point: _Point, solver: LinearSolver, tol: float, max_iter: int) -> Reason:
    X, columns = point.X, None if point.X.cheap else _transposed(point.X)
    active, idle = ActiveSet(X.shape[1], solver.seed), 0
    while idle <= 3:
        solver.look("Newton step", point.steps, point.objective, point.gap)
        if point.gap <= tol * point.objective:
            return Reason.CONVERGED
        if point.steps >= max_iter:
            return Reason.LIMIT
        try:
            v = _model_minimum(X, columns, point.h, point.g, point.w, active)
        except (np.linalg.LinAlgError, ValueError):  # numbers overflow
            break
        w, g, gap = point.w, point.g, point.gap
        same = np.sign(v) == np.sign(w)  # for these, do not subtract numbers that are close
        change = np.where(same, (g + np.sign(w)) * (v - w), g * (v - w) + np.abs(v) - np.abs(w))
        promised = float(change.sum())
        if not promised < 0:
            break
        point.move(v)
        noise = promised > -1e-14 * point.objective and point.gap > gap / 2
        idle = idle + 1 if noise else 0
    return Reason.STALLED


def _model_minimum(X, columns, h, g, w, active: ActiveSet) -> np.ndarray:
    """A v that nearly minimises |v|₁ + g·v + ½ (v - w)ᵀ Xᵀ diag(h) X (v - w)."""
    if columns is None:
        H = X.gram(h)
        H = np.tril(H) + np.tril(H, -1).T
        H[np.diag_indices_from(H)] += 1e-13 * H.diagonal() + 1e-300  # columns may be dependent
        factor = cholesky(H, lower=True)
        A = LinearRows(factor, 0.0)
    else:
        A = _scaled(columns, np.sqrt(h))
    squares, v, q = A.squares(), w.copy(), np.zeros(A.shape[1] - 1)
    # Weights that stay 0 unless the gradient changes much wait for the next model.
    short = np.where(w != 0, 0.0, np.maximum(1 - np.abs(g), 0))
    violation = np.where(w != 0, np.abs(g + np.sign(w)), np.maximum(np.abs(g) - 1, 0))
    enough = (1e-3 if columns is None else 0.03) * float(violation.max())
    active.take(np.flatnonzero(short <= WAITING))
    for _ in range(ROUNDS if columns is None else 5):
        _native.linear_lasso_epochs(*A.arrays[:3], g, squares, v, q, *active.arrays, 10, enough)
        if columns is None:
            v = _settled(H, g, w, v)
            q = factor.T @ (v - w)
        if active.violation <= enough:
            break
    return v


def _settled(H: np.ndarray, g: np.ndarray, w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The minimum over the weights that are not 0; weights that reach 0 on the way stay 0."""
    v = v.copy()
    for _ in range(CROSSINGS):
        used = np.flatnonzero(v)
        if not len(used):
            break
        slope = (g + H @ (v - w))[used] + np.sign(v[used])
        step = -solved(H[np.ix_(used, used)], slope)
        crossing = np.sign(v[used] + step) != np.sign(v[used])
        reach = np.where(crossing, np.abs(v[used] / np.where(crossing, step, 1)), np.inf)
        first = int(np.argmin(reach))
        v[used] += min(1.0, reach[first]) * step
        if reach[first] > 1:
            break
        v[used[first]] = 0
    return v


def _transposed(X: LinearRows) -> Any:
    """The columns of (x, bias) as rows."""
    bias = np.full((1, X.shape[0]), X.bias, X.X.dtype)
    if X.sparse:
        return sp.csr_array(sp.vstack([X.X.T, sp.csr_array(bias)], format="csr"))
    return np.vstack([X.X.T, bias])


def _scaled(columns: Any, factors: np.ndarray) -> LinearRows:
    """``columns`` (each one is a row) with entry i times factor i."""
    factors = factors.astype(columns.dtype)
    if not sp.issparse(columns):
        return LinearRows(columns * factors, 0.0)
    data = columns.data * factors[columns.indices]
    return LinearRows(sp.csr_array((data, columns.indices, columns.indptr), columns.shape), 0.0)
