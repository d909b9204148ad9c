"""Linear support vector machines with any loss: first epochs of descent, then Newton steps.

Descent is cheap and soon comes near the solution, where Newton's method is exact. The duality gap
decides when to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.linear.linear_dual import LinearPoint, LinearResult
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
        X, reason, parts, counts = point.X, Reason.LIMIT, [], [0]
        descent = self.method == "descent" or not (
            self.method == "newton" or (X.cheap and point.dual.squared)
        )
        few = self.max_iter if self.method == "descent" else FEW if X.cheap else MANY

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
# Rows whose variables stay at their bounds are left out until the others have converged. If the
# columns have similar scales and C is small, few epochs are enough; for other problems use
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
    w, done, within = np.zeros(X.shape[1]), 0, descent.unit
    some = int(min(10, max(1, WORK // max(X.stored, 1))))
    while done < epochs:
        done += descent.run(min(some, epochs - done), within, w)
        beta = descent.beta
        point.offer(w, X.outputs(w), beta, w)
        look("epoch", done)
        if point.is_good(tol):
            return Reason.CONVERGED, done
        if descent.active.violation <= within:
            descent.active.take_all()
            # the gap falls about as fast as the violation: do not go further than needed
            within *= min(max(0.5 * tol * point.objective / point.gap, 0.1), 0.5)
    return Reason.LIMIT, done
