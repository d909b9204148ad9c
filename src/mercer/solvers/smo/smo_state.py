"""The variables of `SmoSolver`: their distance from the optimum, and the work of a round."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer import _native
from mercer.gram import GramOperator
from mercer.solvers.rows import RowSource, add_products
from mercer.solvers.smo.dual import LAST_DIGITS, DualProblem, known_levels
from mercer.solvers.smo.interior_point import NEWTON_STEPS, interior_point, newton_steps

INNER_STEPS = 12  # most SMO steps for each variable of the working set, before Newton steps
REFINEMENTS = 3  # most calls of Newton steps in a round
POLISHED = 1000  # most free variables for an exact solution at the end
EXACT = 1e-12  # differences of f that an exact solution may leave
STALLED_ROUNDS = 20  # stop after this many rounds without a smaller violation or a lower objective
PATIENCE = 2  # rounds of all variables at once, before the interior-point method
LAST_ROUNDS = 3  # and after it, which corrects its rounding errors: more make no progress
NOISE = 4 * LAST_DIGITS  # a violation below it, in units of the sums in f, is rounding
SUMMED = 1000  # most variables for which the rounding of the gap is estimated from |K| itself
SHRUNK = 0.75  # shrinking must leave at most this part of the rows, or it is not worth its copies
SHRINKABLE = 1000  # least rows for shrinking
WIDENINGS = 3  # after this many checks of the variables left out, there is no more shrinking
OVERFLOW = (
    "The dual coefficients or intercepts are not finite: k(x, z) overflows on these samples. Scale "
    "the columns, for example with StandardScaler."
)
TOUCHING = 1e-8  # a smaller squared distance of convex hulls, relative to K, counts as 0


class Optimum(NamedTuple):
    """How far the variables are from the optimum.

    Attributes
    ----------
    violation : float
    levels : tuple of float
        ρ, the value of f at free variables, for each group: a group is a set of variables that
        one equality constraint connects. If none is free, the middle of the interval that
        optimality allows.
    gap : float
        Duality gap, as the sum of the complementarity terms of all α.
    square, linear : float
        βᵀKβ and pᵀα.
    """

    violation: float
    levels: tuple[float, ...]
    gap: float
    square: float
    linear: float


class State:
    """The dual variables, g, and the active part of the problem.

    ``y``, ``C``, ``alpha``, ``offset`` and ``rows`` belong to the active variables, ``g`` to the
    active rows. ``whole_alpha`` has all variables. ``whole_g`` has all rows, with their values
    from the time when the first rows were left out.
    """

    def __init__(
        self,
        K: GramOperator,
        problem: DualProblem,
        alpha: np.ndarray | None,
        open_source: Callable[[], RowSource],
        *,
        tol: float,
        whole: int,
        working_set: tuple[int, int],
        narrows: bool,
        n_jobs: int | None,
        nearby: tuple[np.ndarray, np.ndarray | None] | None = None,
    ):
        """``working_set`` is (first size, largest size), and ``nearby`` is some β with its Kβ; see
        `SmoSolver` for the others."""
        self.K, self.problem, self.open_source = K, problem, open_source
        self.tol, self.narrows, self.n_jobs = tol, narrows, n_jobs
        first, self.largest = working_set
        self.whole = min(whole, self.largest)
        self.n = K.shape[0]
        self.hard = not np.isfinite(problem.C).all()
        self.whole_alpha = problem.feasible(alpha)
        self.whole_g = np.zeros(self.n)
        self.widenings = 0
        self.trial = np.inf, 0  # violation and support when progress was last measured
        self.newton_rounds = 0  # rounds with Newton steps since then
        self.at_once = 0  # rounds with all variables
        self.previous: np.ndarray = np.empty(0, np.int64)
        self.best, self.since = np.inf, 0
        self.gain = self.gained = 0.0  # decrease of the objective in the last round, and in total
        self._check_finite()
        self._open_all()
        self.size = first
        if alpha is not None or problem.sums is not None:
            self._start(self.beta(), nearby)

    def _start(self, beta: np.ndarray, nearby: tuple[np.ndarray, np.ndarray | None] | None) -> None:
        """Set g = Kβ, from a multiple of that of a nearby β if this reads fewer rows of K.

        Where most variables are at their bounds these multiply, and β with them; where most are
        free, they stay.
        """
        change = beta
        if nearby is not None and nearby[1] is not None and self.source.adds:
            known, products = nearby[0], nearby[1]
            largest = int(np.abs(known).argmax())
            for factor in (1.0, beta[largest] / known[largest] if known[largest] else 0.0):
                rest = beta - factor * known
                rest[np.abs(rest) <= LAST_DIGITS * np.abs(beta)] = 0.0
                if np.count_nonzero(rest) < np.count_nonzero(change):
                    change = rest
                    self.g[:] = factor * products
        used = np.flatnonzero(change)
        self.source.add(used, change[used], self.g, np.zeros(len(used), bool))

    def _check_finite(self) -> None:
        """Refuse a K whose numbers overflow; keep the size of its entries where C is infinite."""
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = self.K.diag().astype(float)
            row = self.K.block(np.array([0]), slice(None))[0] if self.hard else diagonal
        if not (np.isfinite(diagonal).all() and np.isfinite(row).all()):
            raise np.linalg.LinAlgError(OVERFLOW)
        if self.hard:
            self.peak = float(np.abs(diagonal).max())
            self.spread = float((diagonal + diagonal[0] - 2 * row).max())  # max ‖φ(x) - φ(x_0)‖²

    # --- the active part ------------------------------------------------------------------------

    def _open_all(self) -> None:
        self._source: RowSource | None = None
        self.active_rows = np.arange(self.n)
        self.g = self.whole_g
        self._take(slice(None), self.problem.rows)  # alpha is a view of whole_alpha

    def open(self) -> RowSource:
        """The rows of K, opened when they are first read: opening may compute all of K."""
        if self._source is None:
            self._source = self.open_source()
            self._source.begin()
        return self._source

    source = property(open)

    def _take(self, variables: np.ndarray | slice, rows: np.ndarray) -> None:
        """Make some variables the active ones."""
        p = self.problem
        self.variables, self.rows = variables, rows
        self.y, self.C = p.y[variables], p.C[variables]
        self.offset = self.y * p.p[variables]
        self.alpha = self.whole_alpha[variables]
        self.one_each = len(rows) == len(self.g) and np.array_equal(rows, np.arange(len(rows)))

    def support(self) -> int:
        """Number of active variables that are not 0."""
        return int(np.count_nonzero(self.alpha))

    def is_whole(self) -> bool:
        return len(self.active_rows) == self.n

    def shrink(self) -> None:
        """Leave out rows whose variables are at a bound and do not violate optimality."""
        may = self.narrows and self.source.can_narrow and self.widenings < WIDENINGS
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
            self.then = self.beta()  # from now on whole_g is K times this
        self._source, self.g, self.active_rows = source, self.g[kept], self.active_rows[kept]
        place = np.full(self.n, -1)
        place[self.active_rows] = np.arange(len(kept))
        variables = np.flatnonzero(place[self.problem.rows] >= 0)
        self._take(variables, place[self.problem.rows[variables]])
        self.previous = np.empty(0, np.int64)

    def widen(self) -> None:
        """Make all variables active again, and update g of the rows that were left out."""
        if self.is_whole():
            return
        self.whole_alpha[self.variables] = self.alpha
        self.whole_g[self.active_rows] = self.g
        change = self.beta() - self.then
        changed = np.flatnonzero(change)
        absent = np.delete(np.arange(self.n), self.active_rows)
        g = self.whole_g[absent]
        add_products(self.K, changed, absent, change[changed], g, self.n_jobs)
        self.whole_g[absent] = g
        self.widenings += 1
        self.previous = np.empty(0, np.int64)
        self.best, self.since = np.inf, 0
        self._open_all()

    def beta(self) -> np.ndarray:
        """β of all rows, (n,)."""
        return np.bincount(self.problem.rows, self.problem.y * self.whole_alpha, self.n)

    # --- optimality -----------------------------------------------------------------------------

    def f(self) -> np.ndarray:
        return (self.g if self.one_each else self.g[self.rows]) + self.offset

    def masks(self) -> tuple[np.ndarray, np.ndarray]:
        """Masks of the variables whose y α can rise, and of those whose y α can fall."""
        above, below, positive = self.alpha > 0, self.alpha < self.C, self.y > 0
        return np.where(positive, below, above), np.where(positive, above, below)

    def _groups(self) -> list[np.ndarray]:
        """Masks of the groups of variables: all variables, or those of each sign."""
        if self.problem.sums is None:
            return [np.ones(len(self.y), bool)]
        return [group for group in (self.y > 0, self.y < 0) if group.any()]

    def optimum(self) -> Optimum:
        f, groups = self.f(), self.problem.sums is not None
        violation, *levels, gap, square, linear = _native.smo_optimum(
            f, self.offset, self.y, self.C, self.alpha, groups
        )
        if not np.isfinite(violation):
            raise np.linalg.LinAlgError(OVERFLOW)
        return Optimum(violation, known_levels(levels, groups), gap, square, linear)

    def violation(self) -> float:
        return self.optimum().violation

    def rounding(self, at: Optimum) -> float:
        """How much larger the gap can be because of rounding errors, with all variables active."""
        levels = np.where(self.y > 0, at.levels[0], at.levels[-1])
        terms = self.problem.rounding(self.alpha, self.f(), levels, self._sums())
        return float(terms.sum())

    def _sums(self) -> np.ndarray:
        """Σ_j |K_ij β_j| of each variable's row, or a bound of it, with all variables active."""
        beta, sums = np.abs(self.beta()), None
        used = np.flatnonzero(beta)
        if len(used) and len(self.y) <= SUMMED:
            sums = self.source.magnitudes(used, beta[used])
        if sums is None:
            size = np.sqrt(np.abs(self.K.diag().astype(float)))
            sums = size * float(size @ beta)
        return sums if self.one_each else sums[self.rows]

    def stalls(self, violation: float) -> bool:
        """Whether neither the violation nor the objective has become smaller for many rounds."""
        if self.at_once > PATIENCE + LAST_ROUNDS:
            return True
        if self.at_once >= PATIENCE and self.is_whole():
            noise = NOISE * float(np.max(self._sums() + np.abs(self.f())))
            if violation <= noise:  # what is left is rounding
                return True
        better = violation < self.best * (1 - 1e-6)
        lower = self.gain > 1e-10 * self.gained
        self.since = 0 if better or lower else self.since + 1
        self.best = min(self.best, violation)
        return self.since > STALLED_ROUNDS

    def is_unbounded(self) -> bool:
        """Whether the dual of a hard margin grows for ever, because no w meets the constraints.

        The constraints require ‖w‖ >= |pᵀα| / √(βᵀKβ) for all α >= 0 with yᵀα = 0: for classes,
        Σα divided by the distance of two points in their convex hulls. If rounding errors hide
        whether the required ‖w‖ is finite, there is no w.
        """
        if not self.hard:
            return False
        beta = self.y * self.alpha
        scale = float(np.ptp(self.problem.y * self.problem.p)) / 2  # 1 for classes
        slope = float(self.offset @ beta) / (2 * max(scale, 1e-300))
        square = float(beta @ (self.f() - self.offset))
        least = max(TOUCHING * self.spread, 8 * float(np.finfo(self.K.dtype).eps) * self.peak)
        return slope < 0 and square < least * slope**2

    # --- a round --------------------------------------------------------------------------------

    def grow(self, violation: float) -> None:
        """Use a larger working set if the support is found but the violation does not fall.

        Then many free variables depend on each other, and small sets make little progress.
        """
        before, known = self.trial
        support = self.support()
        slow = violation > 0.7 * before and support < 1.1 * known
        if slow or self.newton_rounds >= 2:
            self.size = max(self.size, min(4 * self._set_size(), self.largest))
        self.trial, self.newton_rounds = (violation, support), 0

    def improve(self) -> None:
        """Solve the subproblem of a working set and update g."""
        if self.source.whole or len(self.y) <= self.whole:
            self.at_once += 1
            self._solve(np.arange(len(self.y)), 0.0)
            return
        # The subproblem is solved to a tenth of its first violation, as in Thunder SVM: the next
        # working set would undo a more exact solution.
        chosen = self._choose(self._set_size())
        self._solve(chosen, 0.1)
        self.previous = chosen

    def _set_size(self) -> int:
        return max(self.size, self.source.least_set)

    def _choose(self, size: int) -> np.ndarray:
        """The newest half of the last working set, and the variables with the worst violations."""
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
        """Solve the subproblem by SMO steps, with Newton steps between them if they take long."""
        variables, rows, place, split = self._in_order(chosen)
        square = self.source.square(rows, place)
        y, C, before = self.y[variables], self.C[variables], self.alpha[variables]
        f_before = self.f()[variables]
        alpha, f, tol = before.copy(), f_before.copy(), 0.5 * self.tol
        if self.at_once == PATIENCE + 1:
            interior_point(square.array(), y, C, alpha, f, split)
        steps = INNER_STEPS * len(chosen)
        for _ in range(1 if self.at_once > PATIENCE else REFINEMENTS):
            taken = square.smo(y, C, alpha, f, split, tol, relative_tol, steps)
            if taken < steps and not (self.hard and taken):
                break
            self.newton_rounds += 1
            if not newton_steps(square.array(), y, C, alpha, f, split, tol):
                break
        moved = y * (alpha - before)
        gain = -float((f_before + f) @ moved) / 2
        change = np.bincount(place, moved, len(rows))
        changed = np.flatnonzero(change)
        g = self.g.copy()  # after an interrupt, α and g must both be old or both be new
        if len(changed):
            # a row whose variables moved from bound to bound will probably not change again soon
            free = np.bincount(place, (alpha > 0) & (alpha < C), len(rows)) > 0
            self.source.add(rows[changed], change[changed], g, free[changed])
        self.g[:], self.alpha[variables] = g, alpha
        self.gain, self.gained = gain, self.gained + gain

    def _in_order(self, variables: np.ndarray) -> tuple:
        """Sort variables by row (first by sign, if the signs are groups).

        Returns the sorted variables, their distinct rows, the position of each variable's row in
        these, and the position where the second group begins.
        """
        groups, split = self.problem.sums is not None, len(variables)
        if self.one_each and not groups and split == len(self.y):
            return slice(None), self.rows, self.rows, split
        if self.one_each and not groups:
            variables = np.sort(variables)
            return variables, variables, np.arange(split), split
        order = np.argsort(self.rows[variables], kind="stable")
        if groups:
            negative = self.y[variables[order]] < 0
            order = order[np.argsort(negative, kind="stable")]
            split -= int(negative.sum())
        variables = variables[order]
        return variables, *np.unique(self.rows[variables], return_inverse=True), split

    def polish(self) -> None:
        """Solve for the free variables exactly, and leave the others at their bounds.

        The new solution is kept if its violation is not larger than before; it then solves the
        whole problem up to rounding errors.
        """
        free = np.flatnonzero((self.alpha > 0) & (self.alpha < self.C))
        if not 0 < len(free) <= POLISHED:
            return
        chosen, rows, place, split = self._in_order(free)
        y, before = self.y[chosen], self.alpha[chosen].copy()
        a, f = before.copy(), self.f()[chosen]
        if max(np.ptp(part) for part in (f[:split], f[split:]) if len(part)) <= EXACT:
            return  # as an earlier solution has left it
        violation, alpha, g = self.violation(), self.alpha.copy(), self.g.copy()
        block = self.source.block(rows, place)
        steps = NEWTON_STEPS if block.dtype == np.float64 else 1  # more is useless if K is rounded
        newton_steps(block, y, self.C[chosen], a, f, split, EXACT, steps)
        if np.array_equal(a, before):
            return
        self.alpha[chosen] = a
        self.source.add(rows, np.bincount(place, y * (a - before), len(rows)), self.g)
        if self.violation() > max(violation, EXACT):
            self.alpha[:], self.g[:] = alpha, g


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Indices of the ``count`` smallest finite keys, the smallest first."""
    count = min(count, int(np.isfinite(keys).sum()))
    if count <= 0:
        return np.empty(0, np.int64)
    found = np.argpartition(keys, count - 1)[:count]
    return found[np.argsort(keys[found], kind="stable")]
