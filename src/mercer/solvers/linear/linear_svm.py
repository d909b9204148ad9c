"""Linear support vector machines with any loss: first epochs of descent, then Newton steps.

Descent is cheap and soon comes near the solution, where Newton's method is exact. The duality gap
decides when to stop.

`solve_lasso` finds few weights, with the l1 penalty and the squared hinge loss: it minimises
|w|₁ + Σ C_i max(0, 1 - y_i x_i w)² by proximal Newton steps. Each step replaces the loss by its
second-order model on the rows inside the margin, minimises the model plus the penalty by coordinate
descent, and searches along the line to this minimum. With few columns the model is stored as the
factor of its Hessian, so that an epoch costs d² instead of n d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky

from mercer import _native
from mercer.solvers.linear.linear_dual import ActiveSet, LinearPoint, LinearResult
from mercer.solvers.linear.linear_rows import LinearRows, solved
from mercer.solvers.result import Reason
from mercer.threads import blas_limit, stopping

EXACT = 1e-20  # with this gap, relative to the objective, ten digits of the weights are right
POLISH = 20  # most steps to reach this gap
NARROW = 1e-3  # width of the smooth part of the losses in these steps
FEW, MANY = 5, 100  # epochs before Newton steps: if these are cheap, and if they are not


@dataclass(frozen=True)
class LinearSolver:
    """Solve a `LinearDual` to a duality gap of ``tol`` times the primal objective.

    Parameters
    ----------
    method : {"auto", "descent", "newton"}
        Coordinate descent on the dual ("descent"), Newton's method ("newton"), or first descent
        and then Newton's method ("auto").
    tol : float > 0
        Largest duality gap divided by the objective.
    max_iter : int
        Most epochs of the descent, and also most Newton steps.
    seed : int >= 0
        Seed of the order of the rows in the descent.
    report : callable, optional
        Called with a line of text each time the gap is computed.

    Notes
    -----
    An epoch costs O(stored values of the active rows). A Newton step costs O(stored values), plus
    the factorisation of a matrix whose order is the smaller of d and the number of free rows.
    """

    method: str = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    seed: int = 0
    report: Callable[[str], None] | None = None

    def solve(self, X: Any, dual: Any) -> LinearResult:
        """Solve a `LinearDual` on `LinearRows`, or a `ClassDual` on `ClassRows`."""
        quiet = np.errstate(over="ignore", invalid="ignore")
        with quiet, blas_limit(X.shape[1] if X.cheap else 0):
            return self._solve(LinearPoint(X, dual))

    def _solve(self, point: LinearPoint) -> LinearResult:
        """Descent, then Newton steps, as the method and the rows call for."""
        X, reason, parts, counts = point.X, Reason.LIMIT, [], [0]
        descent = self.method == "descent" or not (
            self.method == "newton" or (X.cheap and point.dual.squared and not X.wide)
        )
        few = self.max_iter if self.method == "descent" else FEW if X.cheap and not X.wide else MANY

        def look(name: str, count: int) -> None:
            counts[-1] = count
            self.look(name, count, point.objective, point.gap)

        try:
            if descent:
                parts.append("dual coordinate descent")
                limit = min(few, self.max_iter)
                reason, counts[-1] = descend(point, self.tol, limit, self.seed, look)
            if self.method != "descent" and reason is not Reason.CONVERGED:
                counts.append(0)
                parts.append("semismooth Newton")
                width = 0.1 if descent else 1.0
                reason, counts[-1] = newton(point, self.tol, self.max_iter, width, look)
            if self.method != "descent" and reason is Reason.CONVERGED and X.small:
                counts.append(0)
                # this often reaches the solution
                _, counts[-1] = newton(point, EXACT, POLISH, NARROW, look)
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
        return point.result(sum(counts), reason, ", then ".join(parts))

    def look(self, name: str, count: int, objective: float, gap: float) -> None:
        """Report the progress, and stop the solver if its work should stop."""
        if self.report is not None:
            self.report(f"{name} {count}: objective {objective:.9g}, gap {gap:.3g}")
        if stopping():
            raise KeyboardInterrupt


# Semismooth Newton for linear support vector machines: exact on the free rows.
#
# A squared loss has a piecewise quadratic primal, and Newton's method with an exact step length
# ends after a few steps (Keerthi & DeCoste 2005). A loss with a kink is first made smooth near its
# kink, by a pull of the dual variables towards their last values: the method of multipliers. Each
# round solves the smooth problem and updates the pull. The width of the smooth part becomes
# smaller in each round, and so does the number of rows in the Newton system. Columns of different
# scales and a large C, with which coordinate descent does not converge, are not a problem here.


NARROWEST = 1e-12  # width of the rounding, in units of the residuals
OFTEN = 10  # the gap is computed after this many steps
SHRINK = 0.35  # factor of that width in each round


def newton(
    point: LinearPoint, tol: float, max_iter: int, width: float, look: Callable[[str, int], None]
) -> tuple[Reason, int]:
    """Take at most ``max_iter`` steps from ``point``, until gap <= tol times the objective.

    ``width``, in units of the residuals, is the first width in which a loss is made smooth.

    Keerthi & DeCoste, "A Modified Finite Newton Method for Fast Solution of Large Scale Linear
    SVMs", JMLR 2005; Rockafellar, "Augmented Lagrangians and Applications of the Proximal Point
    Algorithm in Convex Programming", 1976.
    """
    X, dual = point.X, point.dual
    w, f, beta = point.u.copy(), X.outputs(point.u), point.beta
    system, steps = X.system(), 0
    while width > NARROWEST:
        rounded = dual.rounded(beta, width)
        near, slope = rounded.nearest(f)
        u = X.combined(near)
        measured, last = steps, np.inf
        while True:
            gradient = w - u
            square = float(gradient @ gradient)
            solved = square / 2 <= 0.3 * max(SHRINK * point.gap, tol * point.objective)
            if solved or steps >= min(max_iter, measured + OFTEN):
                f = X.outputs(w)  # without the rounding errors of the updates
                near, slope = rounded.nearest(f)
                u = X.combined(near)
                point.offer(w, f, near, u)
                look("Newton step", steps)
                if point.is_good(tol):
                    return Reason.CONVERGED, steps
                if steps >= max_iter:
                    return Reason.LIMIT, steps
                measured = steps
                if solved and not dual.squared:
                    break  # the rest of the gap comes from the smooth losses
                gradient = w - u
                square = float(gradient @ gradient)
            try:
                direction = -system.inverse_times(slope, gradient)
            except (np.linalg.LinAlgError, ValueError):  # numbers overflow
                return Reason.STALLED, steps
            if -float(direction @ gradient) <= 1e-15 * point.objective and square > last / 4:
                break  # the limit of the arithmetic
            change = X.outputs(direction)
            size = step_length(rounded, f, near, gradient, direction, change)
            w, f, last = w + size * direction, f + size * change, square
            near, slope, before = *rounded.nearest(f), near
            u += X.combined(near - before)
            steps += 1
        if dual.squared:
            break
        beta, width = near, SHRINK * width
    return Reason.STALLED, steps


def step_length(rounded, f, near, gradient, direction, change) -> float:
    """The step length that nearly minimises the smooth primal along a direction.

    ``change`` is X times the direction. The slope is continuous and increasing. It is computed as
    the slope at 0 plus differences, so that it is accurate close to the solution too.
    """
    at_0, bend = float(gradient @ direction), float(direction @ direction)
    low, at_low, high, at_high = 0.0, at_0, np.inf, np.inf
    size = 1.0
    for k in range(40):
        here = at_0 + size * bend - rounded.along(f, change, size, near)
        if abs(here) <= 0.1 * abs(at_0):
            break
        if here < 0:
            low, at_low = size, here
        else:
            high, at_high = size, here
        if not np.isfinite(high):
            size = 2 * size
        elif k % 2:  # false position can be very slow, bisection cannot
            size = (low + high) / 2
        else:
            size = (low * at_high - high * at_low) / (at_high - at_low)
    return size


# Coordinate descent on the dual of a linear support vector machine: cheap epochs, row by row.
#
# Rows whose variables stay at their bounds are left out until the others have converged. After the
# first epochs, conjugate gradients move the variables between their bounds together. If the columns
# have similar scales and C is small, few epochs are enough; for other problems use
# `mercer.solvers.linear.linear_svm`.


WORK = 5e7  # most stored values that are visited before the gap is computed again


def descend(
    point: LinearPoint, tol: float, epochs: int, seed: int, look: Callable[[str, int], None]
) -> tuple[Reason, int]:
    """Run at most ``epochs`` epochs from β = 0, until the gap is below tol times the objective.

    Hsieh et al., "A Dual Coordinate Descent Method for Large-scale Linear SVM", ICML 2008; Ho &
    Lin, "Large-scale Linear Support Vector Regression", JMLR 2012.
    """
    X, descent = point.X, point.dual.descent(point.X, seed)
    w, done, within, f = np.zeros(X.shape[1]), 0, descent.unit, None
    some = int(min(10, max(1, WORK // max(X.stored, 1))))
    while done < epochs:
        done += descent.run(min(some, epochs - done), within, w, f if done >= FEW else None)
        f, beta = X.outputs(w), descent.beta
        point.offer(w, f, beta, w)
        look("epoch", done)
        if point.is_good(tol):
            return Reason.CONVERGED, done
        if descent.active.violation <= within:
            descent.active.take_all()
            # the gap falls about as fast as the violation: do not go further than needed
            within *= min(max(0.5 * tol * point.objective / point.gap, 0.1), 0.5)
    return Reason.LIMIT, done


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
    """Newton steps on the primal objective, until the gap is small."""
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
