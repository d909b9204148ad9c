"""Linear support vector machines of every loss: epochs of descent first, then Newton steps.

Descent is cheap and soon near the solution, Newton's method is exact there. The duality gap tells
when to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.solvers.linear_descent import descend
from mercer.solvers.linear_dual import LinearPoint, LinearResult
from mercer.solvers.linear_newton import newton
from mercer.solvers.result import Reason
from mercer.threads import blas_limit, stopping

__all__ = ["LinearSolver"]

EXACT = 1e-20  # a gap, relative to the objective, that leaves ten digits of the weights
POLISH = 20  # steps towards it
NARROW = 1e-3  # width of the rounding there
FEW, MANY = 5, 100  # epochs before Newton steps that are cheap, and that are not


@dataclass(frozen=True)
class LinearSolver:
    """Solve a `LinearDual` to a duality gap of ``tol`` times the primal objective.

    Parameters
    ----------
    method : {"auto", "descent", "newton"}
        Coordinate descent on the dual, Newton's method, or the first and then the second.
    tol : float
    max_iter : int
        Epochs of the descent and, beside them, Newton steps.
    seed : int >= 0
        Of the order of the rows in the descent.
    report : callable, optional
        Called with a line of text at each look at the gap.

    Notes
    -----
    An epoch costs O(stored values of the rows in play); a Newton step O(stored values) and the
    factorisation of a matrix whose order is the smaller of d and the number of free rows.
    """

    method: str = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    seed: int = 0
    report: Callable[[str], None] | None = None

    def solve(self, X: Any, dual: Any) -> LinearResult:
        """``coef`` w for a `LinearDual` on `LinearRows`, or a `ClassDual` on `ClassRows`."""
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
                _, counts[-1] = newton(point, EXACT, POLISH, NARROW, look)  # often ends it
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
        return point.result(sum(counts), reason, ", then ".join(parts))

    def look(self, name: str, count: int, objective: float, gap: float) -> None:
        """Report, and end the solver where it is told to stop."""
        if self.report is not None:
            self.report(f"{name} {count}: objective {objective:.9g}, gap {gap:.3g}")
        if stopping():
            raise KeyboardInterrupt
