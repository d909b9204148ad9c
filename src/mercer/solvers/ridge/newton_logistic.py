"""Penalised logistic regression by Newton's method.

The features are the factor of a Gram matrix, or rows that are read again for each step. Nothing of
single rows is then kept: a step needs the objective, its gradient and its Hessian, which are sums
over rows, so that memory does not depend on their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import expit, log_softmax, softmax

from mercer.gram import FactoredGram
from mercer.persistence import fields
from mercer.solvers.result import Reason, Result


@dataclass(frozen=True)
class NewtonLogistic:
    r"""Logistic regression on the rows of a factor, by Newton steps:

    .. math:: \min_{B, b} \, -\sum_i w_i \log p_{y_i}(x_i) + \frac{\lambda}{2} \|B\|^2, \qquad
              f = T B + b

    T, of shape (n, r), is the factor of K = T Tᵀ; B has the shape (r, outputs), b (outputs,).

    One output is a logistic model of p = 1 / (1 + exp(-f)); k > 1 outputs are a multinomial one,
    p = softmax(f). The intercept b is not penalised.

    Parameters
    ----------
    penalty : float > 0, default=1.0
        λ.
    tol : float, default=1e-10
        Stop when ½ gᵀ H⁻¹ g, what a Newton step still promises, is below tol times the objective.
    max_iter : int, default=100
        Newton steps.
    fit_intercept : bool, default=True

    Notes
    -----
    Each step solves H d = -g by conjugate gradients, more exactly as the gradient shrinks, and
    halves the step until the objective falls (Boyd & Vandenberghe, "Convex Optimization",
    algorithm 9.5). With features of orthogonal columns, as an eigendecomposition of K gives
    them, the diagonal preconditioner is H itself except for the spread of p (1 - p), so that few
    products suffice. Products are in T's precision; B, g and the objective in float64. A step
    costs O(n r outputs) for each product, memory O((n + r) outputs). The certificate
    (``Result.gap``) is ½ gᵀ H⁻¹ g, relative to the objective.

    References
    ----------
    Boyd & Vandenberghe, "Convex Optimization", 2004, section 9.5.

    Examples
    --------
    >>> from mercer.gram import FeatureGram
    >>> K = FeatureGram(np.array([[-2.0], [-1.0], [1.0], [2.0]]))
    >>> result = NewtonLogistic(penalty=1.0).solve(K, np.array([[0.0], [0.0], [1.0], [1.0]]))
    >>> result.coef.round(3), (result.intercept + 0.0).round(3), result.converged
    (array([[1.007]]), array([0.]), True)
    """

    penalty: float = 1.0
    tol: float = 1e-10
    max_iter: int = 100
    fit_intercept: bool = True

    def solve(self, K: FactoredGram, y: np.ndarray, weights: np.ndarray | None = None) -> Result:
        """``coef`` B of shape (r, outputs) and ``intercept`` b of shape (outputs,).

        K = T Tᵀ has a dense factor T (n, r), as `FeatureGram` and `LowRankGram` have one; y holds
        the indicators of the classes, (n, 1) for two classes and else (n, k). An interrupt
        (Ctrl-C) keeps the best solution so far.
        """
        T, Y = K.factor(slice(None)), y
        w = np.ones((len(T), 1)) if weights is None else weights[:, None]
        problem = _Problem(T, Y, w, self.penalty, self.fit_intercept)
        theta = np.zeros((T.shape[1] + 1, Y.shape[1]))  # B above b
        f = problem.outputs(theta)
        value, gap, steps, reason = problem.objective(theta, f), np.inf, 0, Reason.LIMIT
        first = None
        try:
            while steps < self.max_iter:
                p = probabilities(f)
                g = problem.gradient(theta, p)
                size = float(np.linalg.norm(g))
                first = size if first is None else first
                d = problem.newton_step(g, p, 0.1 * min(0.1, size / first) if first else 0.1)
                decrement = -float(np.sum(g * d))
                gap = max(decrement, 0.0) / 2 / max(value, np.finfo(float).tiny)
                steps += 1
                moved = problem.descend(theta, f, d, value, decrement)
                if moved is not None:
                    theta, f, value = moved
                if gap <= self.tol:
                    reason = Reason.CONVERGED
                    break
                if moved is None:
                    reason = Reason.STALLED
                    break
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
        if Y.shape[1] > 1:  # softmax ignores a shift of all outputs: the sum 0 makes it unique
            theta = theta - theta.mean(axis=1, keepdims=True)
        return Result(
            theta[:-1], theta[-1], value, gap, steps, reason is Reason.CONVERGED, reason,
            solver="NewtonLogistic", certificate="relative decrement",
        )  # fmt: skip


class _Problem:
    """The objective, its derivatives, and the Newton system."""

    def __init__(self, T, Y, w, penalty, fit_intercept):
        self.T, self.Y, self.w, self.penalty = T, Y, w, penalty
        self.fit_intercept = fit_intercept
        self.sizes = np.einsum("ij,ij,i->j", T, T, w[:, 0].astype(T.dtype)).astype(np.float64)

    def outputs(self, theta):
        return (self.T @ theta[:-1].astype(self.T.dtype)).astype(np.float64) + theta[-1]

    def transposed(self, R):
        """Tᵀ R above the column sums of R (0 without an intercept)."""
        below = R.sum(axis=0) * self.fit_intercept
        return np.vstack([(self.T.T @ R.astype(self.T.dtype)).astype(np.float64), below])

    def penalised(self, theta):
        """λ B above 0."""
        out = self.penalty * theta
        out[-1] = 0
        return out

    def objective(self, theta, f):
        if f.shape[1] == 1:
            loss = np.logaddexp(0, f) - self.Y * f
        else:
            loss = -np.sum(self.Y * log_softmax(f, axis=1), axis=1, keepdims=True)
        return float(np.sum(self.w * loss) + self.penalty / 2 * np.sum(theta[:-1] ** 2))

    def gradient(self, theta, p):
        return self.transposed(self.w * (p - self.Y)) + self.penalised(theta)

    def hessian_product(self, V, p):
        U = self.outputs(V)
        # the derivative of p along U, for one output and for softmax
        R = p * (1 - p) * U if p.shape[1] == 1 else p * (U - np.sum(p * U, axis=1, keepdims=True))
        return self.transposed(self.w * R) + self.penalised(V)

    def newton_step(self, g, p, tol):
        """d with H d = -g to the relative tolerance, by preconditioned conjugate gradients."""
        spread = np.sum(self.w * p * (1 - p), axis=0)
        # Tᵀ diag(w p (1 - p)) T ~ its mean times TᵀWT, which is nearly diagonal
        M = np.vstack([self.sizes[:, None] * spread / self.w.sum() + self.penalty, spread])
        M[-1] = np.where(M[-1] > 0, M[-1], 1)
        d, r = np.zeros_like(g), -g
        z = r / M
        q, rho = z.copy(), float(np.sum(r * z))
        for _ in range(200):
            if np.linalg.norm(r) <= tol * np.linalg.norm(g):
                break
            Hq = self.hessian_product(q, p)
            curvature = float(np.sum(q * Hq))
            if not curvature > 0:  # softmax is flat along equal shifts of all outputs
                break
            d += rho / curvature * q
            r -= rho / curvature * Hq
            z = r / M
            rho, last = float(np.sum(r * z)), rho
            q = z + rho / last * q
        return d

    def descend(self, theta, f, d, value, decrement):
        """The first of the steps 1, ½, ¼ ... that lowers the objective enough, or None."""
        change = self.outputs(d)
        for step in 0.5 ** np.arange(30):
            candidate, f_new = theta + step * d, f + step * change
            new = self.objective(candidate, f_new)
            if new <= value - 1e-4 * step * decrement:
                return candidate, f_new, new
        return None


def probabilities(f: np.ndarray) -> np.ndarray:
    """p of the outputs, in their shape: logistic for one output, softmax for several."""
    return expit(f) if f.shape[1] == 1 else softmax(f, axis=1)


SIZES = (1.0, 0.5, 0.25, 0.1, 0.03, 1e-2, 1e-3)  # lengths of a step that one reading tries


@fields()
class LogisticProgress:
    """Where the fit is between two readings.

    Attributes
    ----------
    theta, step : ndarray of shape (r + 1, outputs)
        The next reading tries theta + s step: B above b.
    value, gap : float
        The objective at theta, and what a step still promises, relative to it.
    readings : int
    reason : str
        The name of a `Reason` once the fit is done.
    """

    theta: np.ndarray
    step: np.ndarray
    value: Any
    gap: Any
    readings: Any
    reason: Any

    def __init__(self, rank: int, outputs: int):
        self.theta = np.zeros((rank + 1, outputs))
        self.step = np.zeros((rank + 1, outputs))
        self.value = self.gap = np.inf
        self.readings, self.reason = 0, ""


@dataclass(frozen=True)
class LogisticPasses:
    r"""The problem of `NewtonLogistic`, by whole Newton steps of one reading each.

    Parameters
    ----------
    penalty, tol, max_iter, fit_intercept
        The same as in `NewtonLogistic`, but ``max_iter`` counts readings.

    Notes
    -----
    About ten readings of O(n r² outputs²) operations, and O(r² outputs²) memory.

    Examples
    --------
    >>> F, Y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> solver, at, result = LogisticPasses(), LogisticProgress(1, 1), None
    >>> while result is None:
    ...     total = solver.empty(at)
    ...     total.add(F[:1], Y[:1], None)
    ...     total.add(F[1:], Y[1:], None)
    ...     result = solver.finish(at, total)
    >>> result.coef.round(3), (result.intercept + 0.0).round(3), result.converged
    (array([[1.007]]), array([0.]), True)
    """

    penalty: float = 1.0
    tol: float = 1e-10
    max_iter: int = 100
    fit_intercept: bool = True

    def empty(self, at: LogisticProgress) -> LogisticTotal:
        """What a reading adds up, before its first row: call its ``add`` for all rows."""
        return LogisticTotal(self, at)

    def finish(self, at: LogisticProgress, total: LogisticTotal) -> Result | None:
        """The solution after a reading; None if one more is needed, for which ``at`` has moved."""
        self._move(at, total)
        if not at.reason:
            return None
        theta, reason = at.theta, Reason[at.reason]
        if theta.shape[1] > 1:  # softmax ignores a shift of all outputs: the sum 0 makes it unique
            theta = theta - theta.mean(axis=1, keepdims=True)
        return Result(
            theta[:-1], theta[-1], at.value, at.gap, at.readings, reason is Reason.CONVERGED,
            reason, solver="LogisticPasses", certificate="relative decrement",
        )  # fmt: skip

    def _move(self, at: LogisticProgress, sums: LogisticTotal) -> None:
        """What a reading has found, and what the next one tries."""
        at.readings += 1
        values = sums.losses + self.penalty / 2 * np.array(
            [np.sum(theta[:-1] ** 2) for theta in sums.points]
        )
        best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        if not values[best] < at.value:
            at.reason = (Reason.CONVERGED if at.gap <= self.tol else Reason.STALLED).name
            return
        at.theta, at.step = sums.points[best], np.zeros_like(at.theta)
        if best:  # the next reading is there alone
            at.value = np.inf
        else:
            at.value = float(values[0])
            gradient, H = sums.system()
            at.step = (
                -scipy.linalg.solve(H, gradient.T.ravel(), assume_a="pos")
                .reshape(at.theta.T.shape)
                .T
            )
            at.gap = max(-float(np.sum(gradient * at.step)), 0.0) / 2 / max(at.value, 1e-300)
            if at.gap <= self.tol:
                at.reason = Reason.CONVERGED.name
        if not at.reason and at.readings >= self.max_iter:
            at.reason = Reason.LIMIT.name


class LogisticTotal:
    """What a reading adds up: objectives at all lengths, and derivatives at the first."""

    def __init__(self, solver: LogisticPasses, at: LogisticProgress):
        self.solver, self.at = solver, at
        sizes = SIZES if at.step.any() else (0.0,)
        self.points = [at.theta + size * at.step for size in sizes]
        self.sizes, self.losses = sizes, np.zeros(len(sizes))
        rank, outputs = at.theta.shape
        self.gradient = np.zeros((rank, outputs))
        self.H = np.zeros((outputs, rank, outputs, rank))

    def add(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows: features (n, r), indicators of the classes (n, outputs), and weights (n,)."""
        w = np.ones((len(F), 1)) if weights is None else weights[:, None]
        T = np.column_stack([F, np.full(len(F), float(self.solver.fit_intercept), F.dtype)])
        f, change = (T.astype(np.float64) @ part for part in (self.at.theta, self.at.step))
        self.losses += [np.sum(w * _losses(f + size * change, Y)) for size in self.sizes]
        p = probabilities(f + self.sizes[0] * change)
        self.gradient += T.T @ (w * (p - Y))
        for a in range(p.shape[1]):
            for b in range(a + 1):
                spread = p[:, a] * ((a == b) - p[:, b])
                part = (T * (w[:, 0] * spread)[:, None].astype(T.dtype)).T @ T
                self.H[a, :, b] += part
                if a != b:
                    self.H[b, :, a] += part.T

    def system(self) -> tuple[np.ndarray, np.ndarray]:
        """The gradient, and the Hessian (all outputs one after the other), with the penalty."""
        theta, penalty = self.points[0], self.solver.penalty
        rank, outputs = theta.shape
        gradient = self.gradient.copy()
        gradient[:-1] += penalty * theta[:-1]
        flat = self.H.reshape(outputs * rank, outputs * rank)
        shift = np.arange(outputs) * rank + rank - 1  # where the intercepts are
        ridge = np.full(len(flat), penalty)
        ridge[shift] = 0.0 if self.solver.fit_intercept else 1.0
        flat[np.diag_indices_from(flat)] += ridge
        if outputs > 1:  # the objective is flat along equal shifts, and so is the gradient
            flat[np.ix_(shift, shift)] += 1.0
        return gradient, flat


def _losses(f: np.ndarray, Y: np.ndarray) -> np.ndarray:
    if f.shape[1] == 1:
        return np.logaddexp(0, f) - Y * f
    return -np.sum(Y * log_softmax(f, axis=1), axis=1, keepdims=True)
