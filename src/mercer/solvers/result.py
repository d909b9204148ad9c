"""The result that every solver returns, why it stopped, and how several are solved in threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.callers import first_outside
from mercer.threads import Stop, ordered_map, stopping

R = TypeVar("R", bound="Result")


class Reason(Enum):
    """Why a solver stopped; the text says what to try next.

    Examples
    --------
    >>> Reason.CONVERGED.value
    'converged: the certificate is below the tolerance'
    """

    CONVERGED = "converged: the certificate is below the tolerance"
    LIMIT = "stopped at the iteration limit: raise max_iter, or loosen tol"
    STALLED = (
        "stopped without further progress: the tolerance is below what the precision allows; "
        "loosen tol; where X is float32, float64 allows a smaller one"
    )
    ILL_CONDITIONED = (
        "stopped without further progress, because the matrix is singular, or so nearly that "
        "rounding hides the penalty: raise the penalty, or remove duplicate samples"
    )
    UNCHANGED = (
        "stopped because its loss, or that of the rows held out, no longer falls by tol while "
        "mistakes remain: with tol=None it goes on until there are none, or to max_iter"
    )
    INFEASIBLE = "found no solution: the constraints contradict each other"
    SINGULAR = (
        "met a singular matrix and gives the least-squares solution of minimum norm: raise the "
        "penalty, or remove duplicate samples"
    )
    RAISED = (
        "raised the penalty above the rounding of a float32 K, which is not positive definite with "
        "the given one: raise it yourself, or use float64"
    )
    INTERRUPTED = "interrupted: the best solution so far is kept"


@dataclass(frozen=True)
class Result:
    """The solution of a numerical problem, and its certificate.

    Attributes
    ----------
    coef : ndarray of shape (n,) or (n, outputs)
    intercept : float or ndarray of shape (outputs,)
    objective : float
        Value of the minimised function at the solution.
    gap : float
        Certificate: a duality gap or a relative residual; ``certificate`` says which.
    iterations : int
    converged : bool
    reason : Reason
    solver, certificate : str
        Name of the solver, and name of the number in ``gap``.

    Examples
    --------
    >>> found = Result(np.array([2.0, 0.0]), gap=1e-9)
    >>> found.converged, found.reason.name
    (True, 'CONVERGED')
    """

    coef: np.ndarray
    intercept: float | np.ndarray = 0.0
    objective: float = np.nan
    gap: float = 0.0
    iterations: int = 1
    converged: bool = True
    reason: Reason = Reason.CONVERGED
    solver: str = "The solver"
    certificate: str = "gap"

    def conclude(self, hint: str = "") -> None:
        """End a fit: warn if it did not converge. Call this when the solution is stored.

        If it did not converge, give a ConvergenceWarning with the measured gap and the remedy.
        After an interruption (Ctrl-C), raise KeyboardInterrupt; the learner has the best solution
        so far. Where the gap is not finite, neither is the solution: raise LinAlgError.
        """
        if self.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt
        name = self.solver[:1].upper() + self.solver[1:]
        if not np.isfinite(self.gap):
            raise np.linalg.LinAlgError(
                f"{name} met NaN or infinity, so that its {self.certificate} is {self.gap}: scale "
                "the samples, the targets or the weights."
            )
        if not self.converged:
            steps = f"{self.iterations} iteration{'s' if self.iterations != 1 else ''}"
            warnings.warn(
                f"{name} {self.reason.value}. Measured {self.certificate}: {self.gap:.3g} after "
                f"{steps}." + (f" {hint}." if hint else ""),
                ConvergenceWarning,
                stacklevel=first_outside(),
            )


def worst(results: Sequence[R]) -> R:
    """The result that stands for all: an interrupted one, else the one with the worst gap."""
    return max(results, key=lambda r: (r.reason is Reason.INTERRUPTED, not r.converged, r.gap))


def solve_all(tasks: Sequence[Callable[[], R]], jobs: int) -> list[R]:
    """The results of all tasks, ``jobs`` at a time.

    After Ctrl-C each task, started or not, returns its best result so far, and at least one result
    has the reason ``INTERRUPTED``: also where the signal came between the tasks.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, if no solver had begun, or a task has no result without long work.
    """
    results: dict[int, R] = {}

    def solve(m: int) -> None:
        results[m] = tasks[m]()
        if results[m].reason is Reason.INTERRUPTED and not stopping():
            raise KeyboardInterrupt

    try:
        # several tasks at a time, because each transfer to a thread waits for Python's lock
        step = max(1, len(tasks) // (8 * jobs))
        parts = [range(s, min(s + step, len(tasks))) for s in range(0, len(tasks), step)]
        for _ in ordered_map(lambda part: [*map(solve, part)], parts, jobs):
            pass
    except KeyboardInterrupt:
        if not results:
            raise
        with Stop() as stop:
            stop.set()
            results |= {m: tasks[m]() for m in range(len(tasks)) if m not in results}
        results[0] = replace(results[0], reason=Reason.INTERRUPTED)
    return [results[m] for m in range(len(tasks))]
