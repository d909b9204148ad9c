"""Newton's method for linear support vector machines whose rows are read again for each step.

It keeps nothing of single rows, so that memory does not depend on their number: a step needs sums
over all rows, the gradient and the Newton matrix, and these are exact. That serves for squared
losses. A loss with a kink needs the dual variable of each row to be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.persistence import fields
from mercer.solvers.linear.linear_dual import LinearDual, LinearResult
from mercer.solvers.linear.linear_rows import LinearRows, solved
from mercer.solvers.result import Reason

SIZES = (1.0, 0.6, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4)  # lengths of a step that one reading tries


@fields()
class PassedMachine:
    """One machine between two readings: where it is, and what it tries next.

    Attributes
    ----------
    w, step : ndarray of shape (d + 1,)
        The next reading tries w + s step.
    value : float
        The objective at w; infinite where the next reading has to find it.
    coef : ndarray of shape (d + 1,)
        The w with the smallest objective up to now.
    objective, bound : float
        That objective, and the largest value of the dual.
    readings : int
    reason : str
        The name of a `Reason` once the machine is done.
    """

    w: Any
    step: Any
    value: Any
    coef: Any
    objective: Any
    bound: Any
    readings: Any
    reason: Any

    def __init__(self, width: int):
        self.w, self.step, self.value = np.zeros(width), np.zeros(width), np.inf
        self.coef, self.objective, self.bound = np.zeros(width), np.inf, -np.inf
        self.readings, self.reason = 0, ""

    @property
    def gap(self) -> float:
        """How much ``objective`` is above the smallest possible value, at most."""
        return max(self.objective - self.bound, 0.0)


class LinearTotal:
    """What a reading adds up for a machine: losses at all lengths, and the rest at the first."""

    def __init__(self, machine: PassedMachine):
        self.machine, d = machine, len(machine.w)
        sizes = SIZES if machine.step.any() else (0.0,)
        self.points = [machine.w + size * machine.step for size in sizes]
        self.sizes, self.losses = sizes, np.zeros(len(sizes))
        self.u, self.H, self.conjugates = np.zeros(d), np.zeros((d, d)), 0.0

    def add(self, rows: LinearRows, dual: LinearDual) -> None:
        f, change = rows.outputs(self.machine.w), rows.outputs(self.machine.step)
        self.losses += [dual.losses(f + size * change).sum() for size in self.sizes]
        beta, slope = dual.rounded(np.zeros(len(f)), 0.0).nearest(f + self.sizes[0] * change)
        self.u += rows.combined(beta)
        self.H += rows.gram(slope)
        self.conjugates += float(dual.conjugates(beta).sum())


@dataclass(frozen=True)
class LinearPasses:
    """Solve machines with squared losses on the same rows, which are read once for each step.

    Parameters
    ----------
    tol : float > 0
        Largest duality gap divided by the objective.
    max_iter : int
        Most readings.

    Notes
    -----
    About ten readings, each of O(n d²) operations for each machine that is not done; O(d²) memory
    for each.

    References
    ----------
    Keerthi & DeCoste, "A Modified Finite Newton Method for Fast Solution of Large Scale Linear
    SVMs", JMLR 2005.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([-1.0, -1, 1, 1])
    >>> solver, machines, results = LinearPasses(), [PassedMachine(2)], None
    >>> while results is None:
    ...     (total,) = solver.empty(machines)
    ...     for part in (slice(0, 1), slice(1, 4)):
    ...         dual = LinearDual.hinge(y[part], np.ones(len(y[part])), squared=True)
    ...         total.add(LinearRows(X[part], 1.0), dual)
    ...     results = solver.finish(machines, [total])
    >>> results[0].coef.round(3).tolist(), results[0].converged
    ([0.8, 0.0], True)
    """

    tol: float = 1e-6
    max_iter: int = 1000

    def empty(self, machines: list[PassedMachine]) -> list[LinearTotal | None]:
        """What a reading adds up for each machine, before its first row; None if it is done."""
        return [None if machine.reason else LinearTotal(machine) for machine in machines]

    def finish(
        self, machines: list[PassedMachine], total: list[LinearTotal | None]
    ) -> list[LinearResult] | None:
        """The results after a reading; None if one more is needed, for which they have moved."""
        for one in total:
            if one is not None:
                self._move(one)
        if any(not machine.reason for machine in machines):
            return None
        return [_result(machine) for machine in machines]

    def _move(self, sums: LinearTotal) -> None:
        """What a machine has learnt from a reading, and what it tries next."""
        at, points = sums.machine, sums.points
        at.readings += 1
        values = sums.losses + np.array([w @ w / 2 for w in points])
        best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        if values[0] < at.objective:
            at.coef, at.objective = points[0], float(values[0])
        at.bound = max(at.bound, -float(sums.u @ sums.u) / 2 - sums.conjugates)
        if at.gap <= self.tol * at.objective:
            at.reason = Reason.CONVERGED.name
        elif at.readings >= self.max_iter:
            at.reason = Reason.LIMIT.name
        elif not values[best] < at.value:  # what is left is rounding, or numbers are not finite
            at.reason = Reason.STALLED.name
        elif best:  # read again, at this length alone
            at.w, at.step, at.value = points[best], np.zeros_like(at.w), np.inf
        else:
            sums.H[np.diag_indices_from(sums.H)] += 1
            at.w, at.value = points[0], float(values[0])
            at.step = -solved(sums.H, at.w - sums.u)


def _result(at: PassedMachine) -> LinearResult:
    reason = Reason[at.reason]
    return LinearResult(
        at.coef, 0.0, at.objective, at.gap, at.readings, reason is Reason.CONVERGED, reason,
        "Newton's method", "duality gap",
    )  # fmt: skip
