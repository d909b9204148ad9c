"""Support vector machines by sequential minimal optimisation in batches.

The problem is a `DualProblem`. The solver keeps g = Kβ, β_row = Σ y_i α_i, in float64, and
f_i = y_i ∂/∂α_i = g[row_i] + y_i p_i. At the optimum f is at most ρ for variables that can only
fall, at least ρ for those that can only rise, and ρ for free ones; by how much a pair misses that
is the violation. Each round takes a working set of the variables that violate optimality most,
solves its subproblem on a block of K that stays in cache, and updates g with the rows of K that
changed (Thunder SVM: Wen et al., JMLR 2018; second-order steps: Fan, Chen & Lin, JMLR 2005); a
small problem is its own working set. Variables at their bounds that have stopped to matter are left
out (shrinking: Joachims 1998) and looked at again before the end. What a round does stands in
smo_state.py, where rows of K come from in smo_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from mercer.gram import GramOperator
from mercer.gram.operator import require
from mercer.gram.row_sources import SMALL, RowSource, rounding_room
from mercer.solvers.dual import DualProblem
from mercer.solvers.result import Reason, Result
from mercer.solvers.smo_state import State
from mercer.threads import stopping

__all__ = ["SmoResult", "SmoSolver"]

LARGEST = 4096  # working set
TRIAL = 5  # rounds after which progress is looked at
SHRINK_ROUNDS = 50  # between looks for variables to leave out


@dataclass(frozen=True)
class SmoSolver:
    """Batch SMO.

    Parameters
    ----------
    tol : float
        Stop when no pair of variables violates optimality by more (LIBSVM's ``-e``).
    max_rounds : int
        Of the outer loop; a limit that ordinary problems stay far below.
    working_set : int
        Variables of a round at first; it grows where rounds bring little.
    whole : int
        Variables up to which a problem is solved at once, without working sets.
    cache_bytes : int
        For rows of K, where K is not held in memory.
    n_jobs : int or None
    shrinking : bool
        Leave variables out that have stopped to matter; the result is the same within ``tol``.
    polish : bool
        At the end, solve for the free variables exactly, where they are few.
    report : callable, optional
        Called in each round with its number, the violation, and the numbers of active rows and
        of variables that are not 0.
    """

    tol: float = 1e-3
    max_rounds: int = 100_000
    working_set: int = 512
    whole: int = SMALL
    cache_bytes: int = 2**30
    n_jobs: int | None = None
    shrinking: bool = True
    polish: bool = True
    report: Callable[[int, float, int, int], None] | None = None

    def largest_set(self) -> int:
        """The working set whose block takes an eighth of the cache, up to `LARGEST`."""
        return min(LARGEST, max(isqrt(self.cache_bytes // 64), 256, self.working_set))

    def rows_of(self, K: GramOperator, C: np.ndarray) -> RowSource:
        """Rows of K for several problems with upper bounds C."""
        return K.row_source(self.cache_bytes, rounding_room(self.tol, C), self.n_jobs)

    def solve(
        self,
        K: GramOperator,
        problem: DualProblem,
        alpha: np.ndarray | None = None,
        source: RowSource | None = None,
    ) -> SmoResult:
        """Minimise; ``coef`` is β of shape (n,), ``intercept`` the bias b of f(x) = Σβk + b.

        Parameters
        ----------
        K : GramOperator of shape (n, n)
            Needs rows.
        alpha : ndarray of shape (v,), optional
            A warm start; it is made feasible.
        source : RowSource, optional
            Rows of K that several problems share, from `rows_of`; nothing is left out then.

        Returns
        -------
        SmoResult
            ``gap`` is the duality gap; ``objective`` is the minimum with its sign changed, the
            dual's value, which bounds the primal's from below.
        """
        require(K, "rows", "SmoSolver")
        state = State(
            K, problem, alpha, lambda: source or self.rows_of(K, problem.C), tol=self.tol,
            whole=self.whole, working_set=(self.working_set, self.largest_set()),
            narrows=source is None, n_jobs=self.n_jobs,
        )  # fmt: skip
        rounds, reason = 0, Reason.LIMIT
        try:
            for rounds in range(1, self.max_rounds + 1):
                if stopping():
                    raise KeyboardInterrupt
                violation = state.violation()
                if self.report is not None:
                    self.report(rounds, violation, len(state.active_rows), state.support())
                if violation <= self.tol and state.is_whole():
                    reason = Reason.CONVERGED
                    break
                if violation <= self.tol or state.stalls(violation):
                    if state.is_whole():
                        reason = Reason.STALLED
                        break
                    state.widen()  # what was left out is looked at again
                    continue
                if state.is_unbounded():
                    reason = Reason.INFEASIBLE
                    break
                if self.shrinking and rounds % SHRINK_ROUNDS == 0:
                    state.shrink()
                if rounds % TRIAL == 0:
                    state.grow(violation)
                state.improve()
            else:
                if state.is_whole() and state.violation() <= self.tol:
                    reason = Reason.CONVERGED
            if reason is Reason.CONVERGED and self.polish:
                state.polish()
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
        state.widen()
        return _result(state, rounds, reason)


@dataclass(frozen=True)
class SmoResult(Result):
    """A `Result` with the dual variables, for warm starts.

    Attributes
    ----------
    alpha : ndarray of shape (v,)
    square : float
        βᵀKβ = ‖w‖².
    levels : tuple of float
        ρ, the common value of f at the free variables; one for each group that exchanges.
    """

    alpha: np.ndarray | None = None
    square: float = 0.0
    levels: tuple[float, ...] = ()

    def scaled(self, factor: float) -> SmoResult:
        """The result for β, and the function, times a factor; α stays that of the problem."""
        return replace(
            self, coef=self.coef * factor, intercept=float(self.intercept) * factor,
            objective=self.objective * factor**2, gap=self.gap * factor**2,
            square=self.square * factor**2,
        )  # fmt: skip


def _result(state: State, rounds: int, reason: Reason) -> SmoResult:
    """β, the bias from the free variables, and the duality gap."""
    at = state.optimum()
    return SmoResult(
        state.beta(), -float(np.mean(at.levels)), -(at.square / 2 + at.linear), max(0.0, at.gap),
        rounds, reason is Reason.CONVERGED, reason, "Batch SMO", "duality gap",
        alpha=state.alpha, square=max(0.0, at.square), levels=at.levels,
    )  # fmt: skip
