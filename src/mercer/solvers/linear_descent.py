"""Coordinate descent on the dual of a linear support vector machine: cheap epochs, row by row.

Rows that sit at their bounds are set aside until the others have converged. Where the columns
are of like scale and C is small, few epochs suffice; `mercer.solvers.linear_newton` is for the
rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mercer import _native
from mercer.solvers.linear_rows import LinearRows
from mercer.solvers.result import Reason

if TYPE_CHECKING:
    from mercer.solvers.linear_dual import LinearDual, LinearPoint

__all__ = ["ActiveSet", "RowDescent", "descend"]

WORK = 5e7  # stored values visited between two looks at the gap, at the most


class ActiveSet:
    """Which variables of a coordinate descent are in play, and the state of its shuffle."""

    def __init__(self, variables: int, seed: int):
        self.active = np.arange(variables, dtype=np.int64)
        self._state = np.array([variables, seed + 1], dtype=np.uint64)  # never 0
        self._violation = np.array([np.inf])

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.active, self._state, self._violation

    @property
    def violation(self) -> float:
        """The largest of the last epoch."""
        return float(self._violation[0])

    def take(self, variables: np.ndarray) -> None:
        """Only these are in play."""
        self.active[: len(variables)] = variables
        self._state[0], self._violation[0] = len(variables), np.inf

    def take_all(self) -> None:
        """All are looked at again; what is further from moving than the last violation goes."""
        self._state[0] = len(self.active)


class RowDescent:
    """Epochs over the rows of a `LinearDual`."""

    def __init__(self, X: LinearRows, dual: LinearDual, seed: int):
        self.X, self.unit = X, dual.unit
        self.loss = dual.epsilon, dual.squared, dual.one_sided
        self.active = ActiveSet(X.shape[0], seed)
        # as the native loop lays them out
        self._variables = np.column_stack([np.zeros(X.shape[0]), dual.target, dual.C, X.squares()])

    def run(self, epochs: int, within: float, w: np.ndarray) -> int:
        """So many epochs, or until no violation is larger; w = Xᵀ β is kept."""
        return _native.linear_dual_epochs(
            *self.X.arrays, self._variables, *self.loss, w, *self.active.arrays, epochs, within
        )

    @property
    def beta(self) -> np.ndarray:
        return np.ascontiguousarray(self._variables[:, 0])


def descend(
    point: LinearPoint, tol: float, epochs: int, seed: int, look: Callable[[str, int], None]
) -> tuple[Reason, int]:
    """Up to so many epochs from β = 0, until the gap is below tol times the objective.

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
            # the gap falls about as the violation does: no further than is needed
            within *= min(max(0.5 * tol * point.objective / point.gap, 0.1), 0.5)
    return Reason.LIMIT, done
