"""Linear support vector machines with any loss: first epochs of descent, then Newton steps.

Descent is cheap and soon comes near the solution, where Newton's method is exact. The duality gap
decides when to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.linear.linear_descent import descend
from mercer.solvers.linear.linear_dual import LinearPoint, LinearResult
from mercer.solvers.linear.linear_newton import newton
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
