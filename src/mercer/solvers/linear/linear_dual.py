r"""Linear support vector machines as one problem: its primal, its dual, and the gap between them.

A machine minimises :math:`\tfrac12 |w|^2 + \sum_i \ell_i(x_i w)` over w; the last entry of w is the
intercept. Its dual has one variable per row, w = Σ β_i x_i. The hinge loss, the ε-insensitive loss
and the squares of both have the same dual with different bounds (`LinearDual`). `RowDescent` is
its coordinate descent; `mercer.solvers.linear.linear_svm` decides when it stops.

Crammer and Singer's machine for several classes has one loss over all classes: minimise
:math:`\tfrac12 \sum_m |w_m|^2 + \sum_i C_i \max_m (w_m x_i - w_{y_i} x_i + [m \ne y_i])`.
Its dual has a block of one variable per class for each row. The same solver uses `ClassRows` and
`ClassDual` as it uses `LinearRows` and `LinearDual`; the vectors of all classes come one after the
other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import _native
from mercer.solvers.linear.linear_rows import FACTORED, LinearRows, conjugate_gradients, solved
from mercer.solvers.result import Reason, Result

JOINT = 0.1, 10  # part of the residual that is left, and most conjugate gradients, in a joint step


class ActiveSet:
    """The active variables of a coordinate descent, and the state of its shuffle."""

    def __init__(self, variables: int, seed: int):
        self.active = np.arange(variables, dtype=np.int64)
        self._state = np.array([variables, seed + 1], dtype=np.uint64)  # never 0
        self._violation = np.array([np.inf])

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.active, self._state, self._violation

    @property
    def violation(self) -> float:
        """The largest violation in the last epoch."""
        return float(self._violation[0])

    def take(self, variables: np.ndarray) -> None:
        """Make only these variables active."""
        self.active[: len(variables)] = variables
        self._state[0], self._violation[0] = len(variables), np.inf

    def take_all(self) -> None:
        """Make all variables active; the next epoch drops those that are far from a change."""
        self._state[0] = len(self.active)


@dataclass(frozen=True)
class LinearResult(Result):
    """A `Result` where ``coef`` is w and ``gap`` is the absolute duality gap.

    The primal is strongly convex, so ½ |w - w*|² <= gap for the solution w*.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        The dual variables that give this gap.
    """

    beta: np.ndarray | None = None

    def scaled(self, factor: float) -> LinearResult:
        """The result with objective and gap times a factor."""
        return replace(self, objective=factor * self.objective, gap=factor * self.gap)


class LinearDual:
    r"""Minimise :math:`\tfrac12 |X^T β|^2 + \sum_i (λ_i β_i^2/2 - y_i β_i + ε |β_i|)` in a box.

    This is the dual of the loss :math:`C_i \max(0, |y_i - f| - ε)`, with λ = 0 and the box
    |β| <= C; or of C times the square of the maximum, with λ = 1 / 2C and an infinite box.
    One-sided losses count only errors in the direction of y, and β has the sign of y: for labels
    ±1 and ε = 0 this is the hinge loss.

    Parameters
    ----------
    target, C : ndarrays of shape (n,)
        y, and C > 0.
    squared, one_sided : bool
    epsilon : float >= 0
    unit : float
        A typical size of y - f.

    Attributes
    ----------
    low, high, curvature : ndarrays of shape (n,)
        The box and λ.
    """

    def __init__(self, target, C, *, squared: bool, one_sided: bool, epsilon=0.0, unit=1.0):
        self.target, self.C, self.squared, self.one_sided = target, C, squared, one_sided
        self.epsilon, self.unit = float(epsilon), unit
        bound = np.full(len(C), np.inf) if squared else C
        self.curvature = 1 / (2 * C) if squared else np.zeros(len(C))
        self.low = np.where(target > 0, 0.0, -bound) if one_sided else -bound
        self.high = np.where(target > 0, bound, 0.0) if one_sided else bound

    @classmethod
    def hinge(cls, y: np.ndarray, C: np.ndarray, squared: bool) -> LinearDual:
        """Loss C max(0, 1 - y f), or C times its square, for labels y of ±1."""
        return cls(y, C, squared=squared, one_sided=True)

    @classmethod
    def insensitive(cls, y: np.ndarray, C: np.ndarray, epsilon: float, squared: bool) -> LinearDual:
        """Loss C max(0, |y - f| - ε), or C times its square."""
        unit = float(np.abs(y - np.median(y)).mean()) or 1.0
        return cls(y, C, squared=squared, one_sided=False, epsilon=epsilon, unit=unit)

    def losses(self, f: np.ndarray) -> np.ndarray:
        """ℓ_i(f_i), the maximum of (y - f) β - λ β² / 2 - ε |β| over β in the box."""
        r = self.target - f
        above, below = np.maximum(r - self.epsilon, 0), np.maximum(-r - self.epsilon, 0)
        if not self.squared:
            return self.high * above - self.low * below
        above[self.high == 0] = below[self.low == 0] = 0
        return (above**2 + below**2) / (2 * self.curvature)

    def conjugates(self, beta: np.ndarray) -> np.ndarray:
        """λ β² / 2 - y β + ε |β|."""
        return (self.curvature * beta / 2 - self.target) * beta + self.epsilon * np.abs(beta)

    def rounded(self, beta: np.ndarray, width: float) -> RoundedLosses:
        """The losses, made smooth within ``width`` (in units of y - f) of their kinks.

        Squared losses have no kink and do not change.
        """
        pull: float | np.ndarray = 0.0
        if not self.squared:
            pull = width * self.unit / np.maximum(self.high, -self.low)
        return RoundedLosses(self, beta, pull)

    def descent(self, X: LinearRows, seed: int) -> RowDescent:
        return RowDescent(X, self, seed)


class RowDescent:
    """Epochs over the rows of a `LinearDual`, and steps of all variables that have no bound."""

    def __init__(self, X: LinearRows, dual: LinearDual, seed: int):
        self.X, self.dual, self.unit = X, dual, dual.unit
        self.loss = dual.epsilon, dual.squared, dual.one_sided
        self.active = ActiveSet(X.shape[0], seed)
        # in the layout that the native loop reads
        self._variables = np.column_stack([np.zeros(X.shape[0]), dual.target, dual.C, X.squares()])

    def run(self, epochs: int, within: float, w: np.ndarray, f: np.ndarray | None) -> int:
        """Run at most ``epochs`` epochs, or until all violations are <= within; update w = Xᵀ β.

        With f = X w, a joint step comes first.
        """
        if f is not None:
            self._settle(w, f)
        return _native.linear_dual_epochs(
            *self.X.arrays, self._variables, *self.loss, w, *self.active.arrays, epochs, within
        )

    def _settle(self, w: np.ndarray, f: np.ndarray) -> None:
        """Move the variables between their bounds together.

        For these the dual is a quadratic function. Epochs soon find which variables are at a bound,
        but are slow to find the values of the others; a few steps of conjugate gradients bring
        those near its minimum. A variable that would cross a bound, or 0 with ε > 0, stays there.
        (Moré & Toraldo, "On the Solution of Large Quadratic Programming Problems with Bound
        Constraints", SIAM J. Optimization 1991.)
        """
        dual, beta = self.dual, self.beta
        free = np.flatnonzero((beta != 0) & (beta > dual.low) & (beta < dual.high))
        if not len(free):
            return
        A = self.X  # without a copy where all are free
        if len(free) < len(beta):
            A = LinearRows(A.X[free], A.bias, A.n_jobs)
        b, curvature, epsilon = beta[free], dual.curvature[free], dual.epsilon * np.sign(beta[free])
        pull = dual.target[free] - epsilon - f[free] - curvature * b
        step = conjugate_gradients(
            lambda p: A.outputs(A.combined(p)) + curvature * p, pull,
            self._variables[free, 3] + self.X.bias**2 + curvature, *JOINT,
        )  # fmt: skip
        low = np.where(b > 0, 0.0, dual.low[free])
        change = np.clip(b + step, low, np.where(b > 0, dual.high[free], 0.0)) - b
        move = A.combined(change)
        fall, bend = float(change @ pull), float(move @ move + change @ (curvature * change))
        if fall > 0:  # else the bounds have turned the step upwards
            size = min(1.0, fall / bend) if bend else 1.0  # to the least dual on the way
            w += size * move
            self._variables[free, 0] += size * change

    @property
    def beta(self) -> np.ndarray:
        return np.ascontiguousarray(self._variables[:, 0])


class RoundedLosses:
    """The dual variables β' as functions of the outputs f, with a pull towards given β.

    β' minimises λ β'²/2 - (y - f) β' + ε |β'| + pull (β' - β)²/2 in the box.
    """

    def __init__(self, dual: LinearDual, beta: np.ndarray, pull: np.ndarray | float):
        t, step = dual.target + pull * beta, 1 / (dual.curvature + pull)
        self._box = t, step, dual.low, dual.high, dual.epsilon

    def nearest(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """β' and -dβ'/df, which is 0 at a bound and at the kink."""
        near, slope = np.empty_like(f), np.empty_like(f)
        _native.linear_nearest(*self._box, f, near, slope)
        return near, slope

    def along(self, f: np.ndarray, change: np.ndarray, size: float, near: np.ndarray) -> float:
        """change · (β'(f + size · change) - near)."""
        return _native.linear_along(*self._box, f, change, size, near)


class LinearPoint:
    """The w and the β with the smallest gap so far.

    For a `LinearDual` on `LinearRows`, or for other objects with the same methods.

    Attributes
    ----------
    w, beta : ndarrays of shapes (d + 1,) and (n,)
    u : ndarray of shape (d + 1,)
        Xᵀ β.
    objective, gap : float
    """

    def __init__(self, X: Any, dual: Any):
        n, width = X.shape
        self.X, self.dual = X, dual
        nothing = np.zeros(n)
        self._primal = np.zeros(width), nothing, dual.losses(nothing)
        self._dual = nothing, np.zeros(width), nothing
        self.gap = _gap(self._primal, self._dual)

    @property
    def w(self) -> np.ndarray:
        return self._primal[0]

    @property
    def beta(self) -> np.ndarray:
        return self._dual[0]

    @property
    def u(self) -> np.ndarray:
        return self._dual[1]

    @property
    def objective(self) -> float:
        w, _, losses = self._primal
        return float(w @ w / 2 + losses.sum())

    def offer(self, w: np.ndarray, f: np.ndarray, beta: np.ndarray, u: np.ndarray) -> None:
        """Take over w, β or both if the gap becomes smaller; f = X w and u = Xᵀ β."""
        primal = w.copy(), f.copy(), self.dual.losses(f)
        dual = beta.copy(), u.copy(), self.dual.conjugates(beta)
        for pair in ((primal, self._dual), (self._primal, dual), (primal, dual)):
            gap = _gap(*pair)
            if gap < self.gap:
                self.gap, (self._primal, self._dual) = gap, pair

    def is_good(self, tol: float) -> bool:
        return self.gap <= tol * self.objective

    def result(self, iterations: int, reason: Reason, solver: str) -> LinearResult:
        return LinearResult(
            self.w, 0.0, self.objective, self.gap, iterations, reason is Reason.CONVERGED, reason,
            solver, "duality gap", beta=self.beta,
        )  # fmt: skip


def _gap(primal: tuple, dual: tuple) -> float:
    """The primal at w minus the dual at β, as a sum of terms that are never negative."""
    (w, f, losses), (beta, u, conjugates) = primal, dual
    rows = float(losses.sum() + conjugates.sum() + f @ beta)
    return max(rows, 0.0) + float((w - u) @ (w - u)) / 2


CHEAP = 200  # up to this order it is cheap to set up a Newton system, one product per class pair


class ClassRows:
    """The rows of X for each of k classes: w is (k (d + 1),) and f is (k n,)."""

    def __init__(self, X: LinearRows, classes: int):
        self.X, self.classes = X, classes
        self.shape = classes * X.shape[0], classes * X.shape[1]
        self.stored = classes * X.stored
        self.cheap = self.shape[1] <= CHEAP
        self.small = self.cheap and X.small
        self.wide = False  # the problems of many classes have a system that X alone does not tell

    def outputs(self, w: np.ndarray) -> np.ndarray:
        return np.concatenate([self.X.outputs(v) for v in w.reshape(self.classes, -1)])

    def combined(self, beta: np.ndarray) -> np.ndarray:
        return np.concatenate([self.X.combined(c) for c in beta.reshape(self.classes, -1)])

    def system(self) -> ClassRows:
        """The object with the method ``inverse_times``."""
        return self

    def inverse_times(self, slope: tuple[np.ndarray, np.ndarray], g: np.ndarray) -> np.ndarray:
        """(I + Xᵀ J X)⁻¹ g, where J is step (I - 11ᵀ / count) between the free classes of a row."""
        free, step = slope
        share = step / np.maximum(free.sum(axis=0), 1)
        if self.shape[1] <= FACTORED:
            return solved(self._system(free, step, share), g)

        def product(p: np.ndarray) -> np.ndarray:
            F = free * self.outputs(p).reshape(free.shape)
            return p + self.combined(np.ravel(step * F - free * (share * F.sum(axis=0))))

        return conjugate_gradients(product, g, np.ones_like(g))

    def _system(self, free: np.ndarray, step: np.ndarray, share: np.ndarray) -> np.ndarray:
        """I + Xᵀ J X; only the blocks on and below the diagonal."""
        width = self.X.shape[1]
        H = np.eye(self.shape[1])
        for m in range(self.classes):
            rows = slice(m * width, (m + 1) * width)
            H[rows, rows] += self.X.gram(free[m] * (step - share))
            for l in range(m):
                part = self.X.gram(free[m] * free[l] * share)
                H[rows, l * width : (l + 1) * width] -= np.tril(part) + np.tril(part, -1).T
        return H


class ClassDual:
    """Minimise ½ |Xᵀ α|² + Σ [m ≠ y_i] α_im over Σ_m α_im = 0, α_im <= C_i [m = y_i].

    Parameters
    ----------
    codes : ndarray of shape (n,)
        y as numbers of classes, from 0.
    C : ndarray of shape (n,), > 0
    classes : int
        The number of classes, k.
    """

    squared = False
    unit = 1.0

    def __init__(self, codes: np.ndarray, C: np.ndarray, classes: int):
        self.codes, self.C = np.ascontiguousarray(codes, dtype=np.int64), C
        self.own = np.arange(classes)[:, None] == codes
        self.wrong = np.where(self.own, 0.0, 1.0)
        self.bound = np.where(self.own, C, 0.0)

    def losses(self, f: np.ndarray) -> np.ndarray:
        F = f.reshape(self.own.shape)
        return self.C * (np.max(F + self.wrong, axis=0) - F[self.codes, np.arange(len(self.C))])

    def conjugates(self, beta: np.ndarray) -> np.ndarray:
        return self.wrong.ravel() * beta

    def rounded(self, beta: np.ndarray, width: float) -> RoundedClasses:
        return RoundedClasses(self, beta.reshape(self.own.shape), width / self.C)

    def descent(self, X: ClassRows, seed: int) -> ClassDescent:
        return ClassDescent(X, self, seed)


class RoundedClasses:
    """For each row, the α' that minimise (f + [m ≠ y]) α' + pull |α' - α|² / 2 in their bounds."""

    def __init__(self, dual: ClassDual, alpha: np.ndarray, pull: np.ndarray):
        self.shift, self.pull = dual.wrong - pull * alpha, pull
        self.bound = dual.bound

    def nearest(self, f: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """α' and its slope, in the form that `ClassRows.inverse_times` needs.

        α'_m = min(bound_m, (b - B_m) / pull), with the b that makes the sum 0. Newton's method
        finds b from below; each step has fewer free classes.
        """
        B = f.reshape(self.bound.shape) + self.shift
        room = self.pull * self.bound
        free = np.ones(B.shape, bool)
        for _ in range(len(B)):
            count = np.maximum(free.sum(axis=0), 1)
            b = np.sum(np.where(free, B, -room), axis=0) / count
            still = free & (b - B < room)
            if (still == free).all():
                break
            free = still
        near = np.where(free, (b - B) / self.pull, self.bound)
        return near.ravel(), (free, 1 / self.pull)

    def along(self, f: np.ndarray, change: np.ndarray, size: float, near: np.ndarray) -> float:
        return float(change @ (self.nearest(f + size * change)[0] - near))


class ClassDescent:
    """Epochs of coordinate descent over the rows; a step changes all classes of a row.

    Keerthi et al., "A Sequential Dual Method for Large Scale Multi-class Linear SVMs", KDD 2008.
    """

    unit = 1.0

    def __init__(self, X: ClassRows, dual: ClassDual, seed: int):
        self.X, self.dual, self.squares = X.X, dual, X.X.squares()
        self.active = ActiveSet(len(dual.C), seed)
        self._alpha = np.zeros((len(dual.C), X.classes))

    def run(self, epochs: int, within: float, w: np.ndarray, f: np.ndarray | None) -> int:
        """The same as in `RowDescent`, but without joint steps."""
        classes = self._alpha.shape[1]
        W = np.ascontiguousarray(w.reshape(classes, -1).T)
        done = _native.linear_class_epochs(
            *self.X.arrays, self.dual.codes, self.dual.C, self.squares, W, self._alpha,
            *self.active.arrays, epochs, within,
        )  # fmt: skip
        w[:] = W.T.ravel()
        return done

    @property
    def beta(self) -> np.ndarray:
        return self._alpha.T.ravel()
