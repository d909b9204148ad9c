"""What fits of support vector machines with other C or ν share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.gram import GramOperator
from mercer.learners.base import FitPath, KernelLearner
from mercer.solvers import RowSource
from mercer.solvers.smo import SmoResult, SmoSolver

CONTINUED = "A fit with warm_start=True can be continued"


class _Last(NamedTuple):
    """The last solution of a machine on a path."""

    result: SmoResult
    bounds: np.ndarray
    source: RowSource | None


class WarmStarts(FitPath):
    """Path for machines that differ in C or ν: they share K, and each starts from the last one.

    Parameters
    ----------
    learner : KernelLearner
        A support vector machine.
    values : list
        The values of C or ν, in the order of the fits.
    """

    def __init__(self, learner: KernelLearner, values: list):
        super().__init__()
        #: whether the parameter is C, the upper bound; variables at the bound change with it
        self.bounded = learner.path_parameter == "C"
        numbers = [v for v in values if isinstance(v, (int, float, np.number)) and v > 0]
        #: the largest C divided by the C of the first fit
        self.growth = max(numbers) / numbers[0] if self.bounded and numbers else 1.0
        self.last: dict[int, _Last] = {}
        self._source: RowSource | None = None

    def source(self, K: GramOperator, solver: SmoSolver, C: np.ndarray) -> RowSource | None:
        """Kept rows of K, shared by all machines that use all rows; None for other machines."""
        if self._source is None and "dense" in K.cheap and K.shape[0] == self.rows():
            self._source = solver.rows_of(K, C * self.growth)
        return self._source if K.shape[0] == self.rows() else None

    def rows(self) -> int:
        """Number of training samples, 0 before the first fit."""
        return 0 if self.training is None else self.training.X.shape[0]

    def start(self, machine: int, C: np.ndarray) -> np.ndarray | None:
        """The last dual variables of a machine; those at the old bounds move to the new bounds."""
        if machine not in self.last:
            return None
        last = self.last[machine]
        alpha: Any = last.result.alpha
        if not self.bounded:
            return alpha
        return np.where((alpha >= last.bounds) & np.isfinite(C), C, np.minimum(alpha, C))

    def nearby(self, machine: int, source: RowSource | None) -> SmoResult | None:
        """The last solution of a machine, if it was found with these rows of K."""
        last = self.last.get(machine)
        return None if last is None or source is None or last.source is not source else last.result

    def keep_dual(
        self, machine: int, C: np.ndarray, result: SmoResult, source: RowSource | None = None
    ) -> None:
        """Remember the solution of a machine, and the rows of K that it was found with."""
        if result.alpha is not None:
            self.last[machine] = _Last(result, C, source)
