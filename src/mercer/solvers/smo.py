"""Support vector machines by sequential minimal optimisation in batches.

The problem is a `DualProblem`. The solver keeps g = Kβ, β_row = Σ y_i α_i, in float64, and
f_i = y_i ∂/∂α_i = g[row_i] + y_i p_i. At the optimum f is at most ρ for variables that can only
fall, at least ρ for those that can only rise, and ρ for free ones; by how much a pair misses that
is the violation. Each round takes a working set of the variables that violate optimality most,
solves its subproblem on a block of K that stays in cache, and updates g with the rows of K that
changed (Thunder SVM: Wen et al., JMLR 2018; second-order steps: Fan, Chen & Lin, JMLR 2005).
Variables at their bounds that have stopped to matter are left out (shrinking: Joachims 1998) and
looked at again before the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from mercer import _native
from mercer.gram import GramOperator
from mercer.gram.operator import require
from mercer.solvers.box_newton import newton_steps
from mercer.solvers.dual import DualProblem
from mercer.solvers.result import Reason, Result
from mercer.solvers.smo_rows import SMALL, RowSource, add_products, row_source

__all__ = ["SmoResult", "SmoSolver"]

LARGEST = 4096  # working set
TRIAL = 5  # rounds after which progress is looked at
INNER_STEPS = 4  # at most for each variable of the working set, before Newton steps
REFINEMENTS = 3  # calls of Newton steps in a round
POLISHED = 1000  # free variables at most, for an exact solution at the end
STALLED_ROUNDS = 20  # without a smaller violation, and without a lower objective
SHRINK_ROUNDS = 50  # between looks for variables to leave out
SHRUNK = 0.75  # the part of the rows that remains at most, or shrinking is not worth its copies
SHRINKABLE = 1000  # rows, from which on
WIDENINGS = 3  # after so many looks at what was left out nothing is any more
OVERFLOW = (
    "The dual coefficients or intercepts are not finite: k(x, z) overflows on these samples. Scale "
    "the columns, for instance by StandardScaler."
)
TOUCHING = 1e-8  # squared distance of convex hulls, relative to K, that counts as none


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
    stop : callable, optional
        Returns True when the solution is no longer wanted; asked in each round.
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
    stop: Callable[[], bool] | None = None
    report: Callable[[int, float, int, int], None] | None = None

    def room(self, C: np.ndarray) -> float:
        """The relative error of K's entries that optimality within ``tol`` leaves room for.

        f is a sum of entries with weights up to C.
        """
        return self.tol / (10 * max(1.0, float(C.max(initial=0))))

    def largest_set(self) -> int:
        """The working set whose block takes an eighth of the cache, up to `LARGEST`."""
        return min(LARGEST, max(isqrt(self.cache_bytes // 64), 256, self.working_set))

    def rows_of(self, K: GramOperator, C: np.ndarray) -> RowSource:
        """Rows of K for several problems with upper bounds C."""
        return row_source(K, self.cache_bytes, self.room(C), self.n_jobs)

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
        state = _State(K, problem, alpha, self, source)
        rounds, reason = 0, Reason.LIMIT
        try:
            for rounds in range(1, self.max_rounds + 1):
                if self.stop is not None and self.stop():
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
        return state.result(rounds, reason)


class _State:
    """The dual variables, g, and the part of the problem that is active.

    ``y``, ``C``, ``alpha``, ``offset`` and ``rows`` are those of the active variables, ``g`` that
    of the active rows. ``whole_alpha`` holds all variables, ``whole_g`` all rows as they were when
    the first were left out.
    """

    def __init__(self, K: GramOperator, problem: DualProblem, alpha, solver: SmoSolver, source):
        self.K, self.problem, self.solver, self.given = K, problem, solver, source
        self.n = K.shape[0]
        self.whole_alpha = problem.feasible(alpha)
        self.whole_g = np.zeros(self.n)
        self.widenings = 0
        self.trial = np.inf, 0  # violation and support at the last look
        self.newton_rounds = 0  # since then
        self.previous: np.ndarray = np.empty(0, np.int64)
        self.best, self.since = np.inf, 0
        self.gain = self.gained = 0.0  # by how much the objective fell in a round, and in all
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = K.diag().astype(float)
            row = K.block(np.array([0]), slice(None))[0]
        if not (np.isfinite(diagonal).all() and np.isfinite(row).all()):
            raise ValueError(OVERFLOW)
        self.peak = float(np.abs(diagonal).max())
        self.spread = float((diagonal + diagonal[0] - 2 * row).max())  # max ‖φ(x) - φ(x_0)‖²
        self._open_all()
        self.size = max(solver.working_set, self.source.least_set)
        beta = self._beta(self.whole_alpha)
        used = np.flatnonzero(beta)
        if len(used):
            self.source.add_once(used, beta[used], self.g)

    # --- the active part ------------------------------------------------------------------------

    def _open_all(self) -> None:
        self.source = self.given or self.solver.rows_of(self.K, self.problem.C)
        self.source.begin()
        self.active_rows = np.arange(self.n)
        self.g = self.whole_g
        self._take(np.arange(len(self.problem.y)), self.problem.rows)

    def _take(self, variables: np.ndarray, rows: np.ndarray) -> None:
        p = self.problem
        self.variables, self.rows = variables, rows
        self.y, self.C = p.y[variables], p.C[variables]
        self.offset = self.y * p.p[variables]
        self.alpha = self.whole_alpha[variables]
        self.one_each = len(rows) == len(self.g) and np.array_equal(rows, np.arange(len(rows)))

    def support(self) -> int:
        """Variables that are not 0, among the active ones."""
        return int(np.count_nonzero(self.alpha))

    def is_whole(self) -> bool:
        return len(self.active_rows) == self.n

    def shrink(self) -> None:
        """Leave out rows whose variables are at a bound, and violate optimality with no other."""
        may = self.given is None and self.source.can_narrow and self.widenings < WIDENINGS
        if not may or len(self.active_rows) < SHRINKABLE:
            return
        f, needed, (up, low) = self.f(), np.zeros(len(self.y), bool), self.masks()
        for group in self._groups():
            least, most = f[group & up].min(initial=np.inf), f[group & low].max(initial=-np.inf)
            needed |= group & ((up & (f <= most)) | (low & (f >= least)))
        kept = np.zeros(len(self.g), bool)
        kept[self.rows[needed]] = True
        if kept.mean() > SHRUNK or not kept.any():
            return
        kept = np.flatnonzero(kept)
        source = self.source.narrow(kept)
        self.whole_alpha[self.variables] = self.alpha
        if self.is_whole():
            self.then = self._beta(self.whole_alpha)  # whole_g is K times it from here on
        self.source, self.g, self.active_rows = source, self.g[kept], self.active_rows[kept]
        place = np.full(self.n, -1)
        place[self.active_rows] = np.arange(len(kept))
        variables = np.flatnonzero(place[self.problem.rows] >= 0)
        self._take(variables, place[self.problem.rows[variables]])
        self.previous = np.empty(0, np.int64)

    def widen(self) -> None:
        """All variables are active again; g of the rows that were left out is made good."""
        if self.is_whole():
            return
        self.whole_alpha[self.variables] = self.alpha
        self.whole_g[self.active_rows] = self.g
        change = self._beta(self.whole_alpha) - self.then
        changed = np.flatnonzero(change)
        absent = np.delete(np.arange(self.n), self.active_rows)
        g = self.whole_g[absent]
        add_products(self.K, changed, absent, change[changed], g, self.solver.n_jobs)
        self.whole_g[absent] = g
        self.widenings += 1
        self.previous = np.empty(0, np.int64)
        self.best, self.since = np.inf, 0
        self._open_all()

    def _beta(self, alpha: np.ndarray) -> np.ndarray:
        return np.bincount(self.problem.rows, self.problem.y * alpha, self.n)

    # --- optimality -----------------------------------------------------------------------------

    def f(self) -> np.ndarray:
        return (self.g if self.one_each else self.g[self.rows]) + self.offset

    def masks(self) -> tuple[np.ndarray, np.ndarray]:
        """Which variables may move up and down."""
        above, below, positive = self.alpha > 0, self.alpha < self.C, self.y > 0
        return np.where(positive, below, above), np.where(positive, above, below)

    def _groups(self) -> list[np.ndarray]:
        """Variables that may exchange: all, or those of each sign."""
        if self.problem.sums is None:
            return [np.ones(len(self.y), bool)]
        return [group for group in (self.y > 0, self.y < 0) if group.any()]

    def violation(self) -> float:
        f, worst, (can_rise, can_fall) = self.f(), 0.0, self.masks()
        for group in self._groups():
            up, low = group & can_rise, group & can_fall
            if up.any() and low.any():
                worst = max(worst, float(f[low].max() - f[up].min()))
        if not np.isfinite(f).all():
            raise ValueError(OVERFLOW)
        return worst

    def stalls(self, violation: float) -> bool:
        """Neither the violation nor the objective falls any more."""
        better = violation < self.best * (1 - 1e-6)
        lower = self.gain > 1e-10 * self.gained
        self.since = 0 if better or lower else self.since + 1
        self.best = min(self.best, violation)
        return self.since > STALLED_ROUNDS

    def is_unbounded(self) -> bool:
        """For a hard margin: the dual grows for ever, since no w satisfies the constraints.

        Those ask for ‖w‖ >= |pᵀα| / √(βᵀKβ) whatever α >= 0 with yᵀα = 0 is: for classes, Σα over
        the distance of two points in their convex hulls. A w that must be longer than what
        rounding can tell from infinity counts as none.
        """
        if np.isfinite(self.C).all():
            return False
        beta = self.y * self.alpha
        scale = float(np.ptp(self.problem.y * self.problem.p)) / 2  # 1 for classes
        slope = float(self.offset @ beta) / (2 * max(scale, 1e-300))
        square = float(beta @ (self.f() - self.offset))
        least = max(TOUCHING * self.spread, 8 * float(np.finfo(self.K.dtype).eps) * self.peak)
        return slope < 0 and square < least * slope**2

    # --- a round --------------------------------------------------------------------------------

    def grow(self, violation: float) -> None:
        """A larger working set, where the support is found but the violation does not fall.

        Then many free variables depend on each other, and a few at a time get nowhere.
        """
        before, known = self.trial
        support = self.support()
        slow = violation > 0.7 * before and support < 1.1 * known
        if slow or self.newton_rounds >= 2:
            self.size = max(self.size, min(4 * self.size, self.solver.largest_set()))
        self.trial, self.newton_rounds = (violation, support), 0

    def improve(self) -> None:
        """Solve the subproblem of a working set and update g."""
        if len(self.y) <= min(self.solver.whole, self.solver.largest_set()):
            self._solve(np.arange(len(self.y)), 0.0)
            return
        # The subproblem is solved to a tenth of its first violation, as in Thunder SVM: more would
        # be undone by the next working set.
        chosen = self._choose(self.size)
        self._solve(chosen, 0.1)
        self.previous = chosen

    def _choose(self, size: int) -> np.ndarray:
        """The newest half of the last working set, and the worst violators beside it."""
        f = self.f()
        kept = self.previous[len(self.previous) // 2 :][-max(size // 2, 1) :]
        kept = kept[: max(size - 2, 0)]  # leave room for a pair
        free = np.ones(len(f), bool)
        free[kept] = False
        wanted = min(size, len(f)) - len(kept)
        groups, (up, low) = self._groups(), self.masks()
        parts = [kept]
        for k, group in enumerate(groups):
            share = wanted // len(groups) + (k < wanted % len(groups))
            rising = _smallest(np.where(up & free & group, f, np.inf), (share + 1) // 2)
            free[rising] = False
            parts += [rising, _smallest(np.where(low & free & group, -f, np.inf), share // 2)]
        return np.concatenate(parts)

    def _solve(self, chosen: np.ndarray, relative_tol: float) -> None:
        """The subproblem by SMO steps, with Newton steps between them where those take long."""
        chosen, rows, place, split = self._in_order(chosen)
        block = self.source.block(rows, place)
        y, C, before = self.y[chosen], self.C[chosen], self.alpha[chosen]
        alpha, f = before.copy(), self.f()[chosen]
        tol = 0.5 * self.solver.tol
        steps = INNER_STEPS * len(chosen)
        for _ in range(REFINEMENTS):
            taken = _native.smo_solve(block, y, C, alpha, f, split, tol, relative_tol, steps)
            if taken < steps and (np.isfinite(C).all() or not taken):
                break
            self.newton_rounds += 1
            if not newton_steps(block, y, C, alpha, f, split, tol):
                break
        moved = y * (alpha - before)
        gain = -float((self.f()[chosen] + f) @ moved) / 2
        change = np.bincount(place, moved, len(rows))
        # a row whose variables went from bound to bound is not likely to change again soon
        free = np.bincount(place, (alpha > 0) & (alpha < C), len(rows)) > 0
        g = self.g.copy()  # α and g change together, or not at all
        for add, part in ((self.source.add, free), (self.source.add_once, ~free)):
            changed = np.flatnonzero(part & (change != 0))
            if len(changed):
                add(rows[changed], change[changed], g)
        self.g[:], self.alpha[chosen] = g, alpha
        self.gain, self.gained = gain, self.gained + gain

    def _in_order(self, variables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Variables in the order of their rows (and of their signs, where those are groups), the
        distinct rows, the place of each there, and where the second group begins."""
        order, split = np.argsort(self.rows[variables], kind="stable"), len(variables)
        if self.problem.sums is not None:
            negative = self.y[variables[order]] < 0
            order = order[np.argsort(negative, kind="stable")]
            split -= int(negative.sum())
        variables = variables[order]
        return variables, *np.unique(self.rows[variables], return_inverse=True), split

    def polish(self) -> None:
        """Solve for the free variables exactly, those at their bounds held there.

        The solution is taken where it violates optimality no more than the one at hand; then it
        is that of the whole problem up to rounding.
        """
        free = np.flatnonzero((self.alpha > 0) & (self.alpha < self.C))
        if not 0 < len(free) <= POLISHED:
            return
        chosen, rows, place, split = self._in_order(free)
        violation, alpha, g = self.violation(), self.alpha.copy(), self.g.copy()
        y, before = self.y[chosen], alpha[chosen]
        a, f = before.copy(), self.f()[chosen]
        block = self.source.block(rows, place)
        newton_steps(block, y, self.C[chosen], a, f, split, 1e-12)
        if np.array_equal(a, before):
            return
        self.alpha[chosen] = a
        self.source.add(rows, np.bincount(place, y * (a - before), len(rows)), self.g)
        if self.violation() > max(violation, 1e-12):
            self.alpha, self.g[:] = alpha, g

    def result(self, rounds: int, reason: Reason) -> SmoResult:
        """β, the bias from the free variables, and the duality gap."""
        p, a, f = self.problem, self.alpha, self.f()
        free = (a > 0) & (a < self.C)
        rho = np.zeros(len(a))
        levels = []
        can_rise, can_fall = self.masks()
        for group in self._groups():
            up, low, inside = group & can_rise, group & can_fall, group & free
            if inside.any():
                level = f[inside].mean()
            else:  # the middle of the interval that optimality allows
                high = f[up].min() if up.any() else f[group].max()
                small = f[low].max() if low.any() else f[group].min()
                level = (high + small) / 2
            rho[group] = level
            levels.append(float(level))
        beta = self._beta(a)
        quadratic, linear = float(beta @ self.g), float(p.p @ a)
        # complementarity: what each α alone could still gain, h = y (f - ρ) being its slope
        h, bounded = self.y * (f - rho), np.isfinite(self.C)
        gap = float(a @ h) - float(self.C[bounded] @ np.minimum(h[bounded], 0))
        return SmoResult(
            beta, -float(np.mean(levels)), -(quadratic / 2 + linear), max(0.0, gap), rounds,
            reason is Reason.CONVERGED, reason, alpha=a, square=max(0.0, quadratic),
            levels=tuple(levels),
        )  # fmt: skip


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


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Indices of the ``count`` smallest finite keys, the smallest first."""
    count = min(count, int(np.isfinite(keys).sum()))
    if count <= 0:
        return np.empty(0, np.int64)
    found = np.argpartition(keys, count - 1)[:count]
    return found[np.argsort(keys[found], kind="stable")]
