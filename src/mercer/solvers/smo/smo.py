"""Support vector machines by sequential minimal optimisation in batches.

The problem is a `DualProblem`. The solver keeps g = Kβ, β_row = Σ y_i α_i, in float64, and
f_i = y_i ∂/∂α_i = g[row_i] + y_i p_i. At the optimum f is at most ρ for variables that can only
fall, at least ρ for those that can only rise, and ρ for free ones. The violation is the largest
amount by which a pair of variables misses this. Each round takes a working set of the variables
that violate optimality most, solves its subproblem on a block of K that stays in cache, and updates
g with the rows of K whose variables changed (Thunder SVM: Wen et al., JMLR 2018; second-order
steps: Fan, Chen & Lin, JMLR 2005). In a small problem the working set has all variables. Variables
that stay at their bounds are left out (shrinking: Joachims 1998) and checked again before the end.
A machine of a few rows needs fewer microseconds for its steps than a round in Python does:
`solve_many` takes the steps of many such machines in one native call (190 classes have 17,955
pairs), and `SmoSolver` those of one. The few that need more go on in rounds. The work of a round is
in smo_state.py; the sources of rows of K are in the room rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from mercer import _native
from mercer.gram import GramOperator, require
from mercer.solvers.result import Reason, Result
from mercer.solvers.rows import SMALL, RowSource, row_source
from mercer.solvers.smo.dual import DualProblem, known_levels, rounding_room
from mercer.solvers.smo.smo_state import EXACT, NOISE, OVERFLOW, State
from mercer.threads import stopping

LARGEST = 4096  # most variables in a working set
TINY = 300  # most variables of a machine that is solved in one native call
LEAST = 1024  # variables whose block, of 8 MB, every cache can hold: 512 rows of a regression
TRIAL = 5  # progress is measured after this many rounds
SHARPENED = 6  # most times that a problem is solved again with a smaller tolerance
SHRINK_ROUNDS = 50  # after this many rounds, it looks for variables that can be left out


@dataclass(frozen=True)
class SmoSolver:
    r"""Batch SMO (sequential minimal optimisation).

    .. math:: \mathrm{gap} = \alpha^\top g + \sum_i C_i \max(0, \rho\, y_i - g_i), \qquad
              g = Q \alpha + p

    Q, p, C and y are those of the `DualProblem` with v variables, and ρ is minus the bias. The gap
    bounds how far the value is from the optimum, for problems with yᵀα = 0.

    Parameters
    ----------
    tol : float > 0
        Stop when no pair of variables violates optimality by more than this (LIBSVM's ``-e``).
    max_rounds : int
        Most rounds of the outer loop; ordinary problems need far fewer.
    working_set : int
        Variables of the first working sets; they become larger if rounds make little progress.
    whole : int
        Problems with at most this many variables are solved at once, without working sets.
    cache_bytes : int
        Most bytes for rows of K, if K is not in memory.
    n_jobs : int or None
        Threads; None means all cores.
    shrinking : bool
        Leave out variables that no longer change; the result is the same within ``tol``.
    rounded : bool
        Keep the rows of a large K in float32 where ``tol`` allows it, which is faster. Values for
        several K that are to be compared need all digits.
    polish : bool
        At the end, solve for the free variables exactly if they are few.
    report : callable, optional
        Called in each round with its number, the violation, the number of active rows and the
        number of variables that are not 0.

    References
    ----------
    Platt, "Fast training of support vector machines using sequential minimal optimization", 1998;
    Chang & Lin, "LIBSVM: a library for support vector machines", ACM TIST 2, 2011.

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import Linear
    >>> K = gram(Linear(), np.array([[-1.0], [-2.0], [1.0], [2.0]]))
    >>> problem = DualProblem.classification(np.array([-1.0, -1.0, 1.0, 1.0]), C=np.ones(4))
    >>> result = SmoSolver(tol=1e-6).solve(K, problem)
    >>> result.alpha.round(6).tolist(), result.converged
    ([0.5, 0.0, 0.5, 0.0], True)
    """

    tol: float = 1e-3
    max_rounds: int = 100_000
    working_set: int = 512
    whole: int = SMALL
    cache_bytes: int = 2**30
    n_jobs: int | None = None
    shrinking: bool = True
    rounded: bool = True
    polish: bool = True
    report: Callable[[int, float, int, int], None] | None = None

    def largest_set(self) -> int:
        """Size of the working set whose block needs an eighth of the cache, within limits."""
        return min(LARGEST, max(isqrt(self.cache_bytes // 64), LEAST, self.working_set))

    def rows_of(self, K: GramOperator, C: np.ndarray) -> RowSource:
        """Rows of K for several problems with upper bounds C."""
        room = rounding_room(self.tol, C) if self.rounded else 0.0
        return row_source(K, self.cache_bytes, room, self.n_jobs)

    def solve(
        self,
        K: GramOperator,
        problem: DualProblem,
        alpha: np.ndarray | None = None,
        source: RowSource | None = None,
        nearby: SmoResult | None = None,
    ) -> SmoResult:
        """Minimise the problem.

        Parameters
        ----------
        K : GramOperator of shape (n, n)
            "rows" must be cheap.
        problem : DualProblem
        alpha : ndarray of shape (v,), optional
            A warm start; it is made feasible.
        source : RowSource, optional
            Rows of K that several problems share, from `rows_of`; turns shrinking off.
        nearby : SmoResult, optional
            A result, perhaps not optimal, whose ``products`` are its Kβ. Kβ of the start is then
            made from these, by the rows of K where β differs from a multiple of its β.

        Returns
        -------
        SmoResult
            ``coef`` is β of shape (n,), ``intercept`` is b in f(x) = Σ β_i k(x, x_i) + b and
            ``gap`` is the duality gap. ``objective`` is minus the minimum: the value of the dual,
            which is a lower bound of the primal.
        """
        if "rows" not in K.cheap and source is None:  # perhaps they are so all at once
            K = K.held()
        require(K, "rows", "SmoSolver")
        if self._in_one_call(K, problem):
            found = _solve_tiny(K.dense(), problem, alpha, self.tol)
            if found.converged:
                return found
            alpha = found.alpha
        state = State(
            K, problem, alpha, lambda: source or self.rows_of(K, problem.C), tol=self.tol,
            whole=self.whole, working_set=(self.working_set, self.largest_set()),
            narrows=source is None, n_jobs=self.n_jobs,
            nearby=None if nearby is None else (nearby.coef, nearby.products),
        )  # fmt: skip
        if not stopping():  # else the start is returned, without any row of K where that is 0
            state.open()  # no solution is kept of what is interrupted here, before the first round
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
                    state.widen()  # check again the variables that were left out
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

    def _in_one_call(self, K: GramOperator, problem: DualProblem) -> bool:
        """Whether a problem is so small that `solve_many` takes all its steps."""
        y, n = problem.y, K.shape[0]
        if not n <= len(y) <= TINY or "dense" not in K.cheap or not np.isfinite(problem.C).all():
            return False
        if self.max_rounds < ROUNDS or self.report is not None or stopping():
            return False
        # regression with ν often ends with a tube of width 0, where both variables of a row move
        return problem.sums is None or (len(y) == n and bool((np.diff(y) <= 0).all()))


@dataclass(frozen=True)
class SmoResult(Result):
    r"""A `Result` with the dual variables, for warm starts.

    .. math:: w = \sum_i \alpha_i y_i\, \varphi(x_{r_i}), \qquad \|w\|^2 = \beta^\top K \beta

    β, of shape (n,), sums α y over the variables of each row.

    Attributes
    ----------
    alpha : ndarray of shape (v,)
    square : float
        βᵀKβ = ‖w‖².
    levels : tuple of float
        ρ, the common value of f at the free variables, for each group of variables (see
        `Optimum`).
    violation : float
        The largest amount by which a pair of variables violates optimality.
    products : ndarray of shape (n,)
        Kβ.

    References
    ----------
    Chang & Lin, "LIBSVM: a library for support vector machines", ACM TIST 2, 2011.

    Examples
    --------
    The machine of two samples has w = 1, and ``alpha`` can start the next fit:

    >>> from mercer.gram import gram
    >>> from mercer.kernels import Linear
    >>> K, y = gram(Linear(), np.array([[-1.0], [1.0]])), np.array([-1.0, 1.0])
    >>> result = SmoSolver().solve(K, DualProblem.classification(y, C=np.ones(2)))
    >>> result.square, result.objective
    (1.0, 0.5)
    >>> again = SmoSolver().solve(K, DualProblem.classification(y, C=np.full(2, 9.0)), result.alpha)
    >>> again.alpha.tolist()
    [0.5, 0.5]
    """

    alpha: np.ndarray | None = None
    square: float = 0.0
    levels: tuple[float, ...] = ()
    violation: float = 0.0
    products: np.ndarray | None = None

    def scaled(self, factor: float) -> SmoResult:
        """The result with β and f times a factor; α does not change."""
        return replace(
            self, coef=self.coef * factor, intercept=float(self.intercept) * factor,
            objective=self.objective * factor**2, gap=self.gap * factor**2,
            square=self.square * factor**2, violation=self.violation * factor,
            levels=tuple(level * factor for level in self.levels),
            products=None if self.products is None else self.products * factor,
        )  # fmt: skip


def _result(state: State, rounds: int, reason: Reason) -> SmoResult:
    """β, the bias from the free variables, and the duality gap."""
    at = state.optimum()
    return SmoResult(
        state.beta(), -float(sum(at.levels) / len(at.levels)), -(at.square / 2 + at.linear),
        max(0.0, at.gap) + state.rounding(at),
        rounds, reason is Reason.CONVERGED, reason, "Batch SMO", "duality gap",
        alpha=state.alpha, square=max(0.0, at.square), levels=at.levels,
        violation=at.violation, products=state.g,
    )  # fmt: skip


def solve_to_gap(
    solver: SmoSolver, K: GramOperator, problem: DualProblem, alpha: np.ndarray | None, tol: float
) -> SmoResult:
    """Solve again with smaller tolerances until the gap is at most ``tol`` times the objective.

    After Ctrl-C it raises KeyboardInterrupt: the solution is a part of other work.
    """
    before = np.inf
    for _ in range(SHARPENED):
        result = solver.solve(K, problem, alpha)
        if result.reason is Reason.INTERRUPTED:
            raise KeyboardInterrupt
        if result.gap <= tol * abs(result.objective) or not result.converged:
            break
        if result.gap > before / 2 or not result.violation:  # what is left is rounding
            break
        before, alpha = result.gap, result.alpha
        solver = replace(solver, tol=min(solver.tol, result.violation) / 30)
    return result


FIRST_STEPS = 5  # most SMO steps for each variable, before Newton steps
ROUNDS = 40  # most rounds of SMO and Newton steps: few machines take more than three


def solve_many(
    K: np.ndarray,
    problems: Sequence[DualProblem],
    rows: Sequence[np.ndarray],
    starts: Sequence[np.ndarray | None],
    tol: float,
) -> list[SmoResult]:
    """Solve problems of one kind, each on some rows of K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    problems : list of DualProblem
        Their bounds are finite; where sums are given, the variables of y = +1 come first.
    rows : list of ndarray of int
        The row of K of each variable, for each problem.
    starts : list of ndarray or None
        Warm starts.
    tol : float > 0
        Largest violation, as in `SmoSolver`. Steps go on until what is left is 1e-12 or rounding,
        as after ``polish``.

    Returns
    -------
    list of SmoResult
        ``converged`` is false, and the reason `Reason.LIMIT`, where a machine needs another solver;
        start that one at its ``alpha``. The reason is `Reason.STALLED` where what is left is
        rounding.
    """
    lengths = np.array([len(each) for each in rows])
    ends = np.cumsum(lengths)
    y, p, C = (np.concatenate([getattr(each, name) for each in problems]) for name in "ypC")
    whole = DualProblem(np.concatenate(rows), y, p, C, problems[0].sums)
    alpha = np.concatenate([each.feasible(start) for each, start in zip(problems, starts)])
    groups, out = whole.sums is not None, np.empty((len(problems), 7))
    f, sums = np.empty_like(alpha), np.empty_like(alpha)
    _native.smo_solve_many(
        np.ascontiguousarray(K),
        whole.rows,
        ends,
        whole.y,
        whole.C,
        whole.p,
        alpha,
        f,
        sums,
        groups,
        tol,
        min(EXACT, tol),
        FIRST_STEPS,
        ROUNDS,
        out,
    )
    if not np.isfinite(out[:, [0, 1, 4]]).all():
        raise np.linalg.LinAlgError(OVERFLOW)
    out[:, 4] = np.maximum(out[:, 4], 0.0) + _rounding(whole, alpha, f, out, sums, lengths)
    noise = NOISE * np.maximum.reduceat(sums + np.abs(f), ends - lengths)
    parts, coefs = np.split(alpha, ends[:-1]), np.split(whole.y * alpha, ends[:-1])
    return [
        _row_result(found, part, coef, groups, tol, least)
        for found, part, coef, least in zip(out.tolist(), parts, coefs, noise.tolist())
    ]


def _solve_tiny(
    K: np.ndarray, problem: DualProblem, alpha: np.ndarray | None, tol: float
) -> SmoResult:
    """One machine whose variables read rows of all of K."""
    (found,) = solve_many(K, [problem], [problem.rows], [alpha], tol)
    coef = np.bincount(problem.rows, found.coef, len(K))
    return replace(found, coef=coef, products=K @ coef)


def _rounding(whole: DualProblem, alpha, f, out, sums, lengths) -> np.ndarray:
    """How much larger the gap of each machine can be because of rounding errors."""
    begins = np.cumsum(lengths) - lengths
    above, below = (np.repeat(levels, lengths) for levels in (out[:, 2], out[:, 3]))
    levels = np.where((whole.y > 0) | (whole.sums is None), above, below)
    return np.add.reduceat(whole.rounding(alpha, f, levels, sums), begins)


def _row_result(
    found: list, alpha: np.ndarray, coef: np.ndarray, groups: bool, tol: float, noise: float
) -> SmoResult:
    """What the native loop has found as a result."""
    steps, violation, above, below, gap, square, linear = found
    levels = known_levels((above, below), groups)
    converged = violation <= tol
    reason = Reason.STALLED if violation <= noise else Reason.LIMIT
    return SmoResult(
        coef, -sum(levels) / len(levels), -(square / 2 + linear), gap, int(steps), converged,
        Reason.CONVERGED if converged else reason, "SMO", "duality gap",
        alpha=alpha, square=max(0.0, square), levels=levels, violation=violation,
    )  # fmt: skip
