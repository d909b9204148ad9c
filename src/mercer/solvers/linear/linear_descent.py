"""Coordinate descent on the dual of a linear support vector machine: cheap epochs, row by row.

Rows whose variables stay at their bounds are left out until the others have converged. If the
columns have similar scales and C is small, few epochs are enough; for other problems use
`mercer.solvers.linear.linear_newton`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.solvers.linear.linear_dual import LinearPoint
from mercer.solvers.result import Reason

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
