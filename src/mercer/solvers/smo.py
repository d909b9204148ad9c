"""Support vector machines by sequential minimal optimisation in batches.

The problem, in LIBSVM's form, has v variables that read the rows of K[row, row]:

    min ½ αᵀQα + pᵀα,   yᵀα = 0,   0 <= α_i <= C_i,   Q_ij = y_i y_j K[row_i, row_j]

Classification has a variable for each row and p = -1; ε-regression has two for each row. The
solver keeps g = Kβ, β_row = Σ y_i α_i, in float64, and f_i = y_i ∂/∂α_i = g[row_i] + y_i p_i.
Each round takes a working set of the variables that violate optimality most, solves its
subproblem on a block of K that stays in cache (native), and updates g with the rows of K that
changed (Thunder SVM: Wen et al., JMLR 2018; second-order steps: Fan, Chen & Lin, JMLR 2005).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer import _native
from mercer.gram import DenseGram, GramOperator
from mercer.gram.operator import require
from mercer.gram.schedule import blas_limit, count_jobs, ordered_map
from mercer.solvers.result import Reason, Result

__all__ = ["DualProblem", "SmoSolver"]

INNER_STEPS = 100  # at most, for each variable of the working set
POLISHED = 500  # free variables at most, for an exact solution at the end
STALLED_ROUNDS = 20  # without a smaller violation
ROUNDED_ROWS = 2000  # from which on rows of K are kept in float32, if the tolerance has room


@dataclass(frozen=True)
class DualProblem:
    """The data of the problem beside K.

    Attributes
    ----------
    rows : ndarray of shape (v,), int
        The row of K that each variable reads.
    y : ndarray of shape (v,)
        +1 or -1.
    p : ndarray of shape (v,)
        The linear term.
    C : ndarray of shape (v,)
        Upper bounds.
    """

    rows: np.ndarray
    y: np.ndarray
    p: np.ndarray
    C: np.ndarray

    @classmethod
    def classification(cls, y: np.ndarray, C: np.ndarray) -> DualProblem:
        """max Σα - ½ αᵀQα: the soft-margin machine for labels ±1."""
        n = len(y)
        return cls(np.arange(n), y.astype(float), -np.ones(n), C.astype(float))

    @classmethod
    def regression(cls, target: np.ndarray, C: np.ndarray, epsilon: float) -> DualProblem:
        """ε-insensitive regression: variables α above the tube, then α* below it."""
        n = len(target)
        rows = np.concatenate([np.arange(n)] * 2)
        y = np.repeat([1.0, -1.0], n)
        p = np.concatenate([epsilon - target, epsilon + target])
        return cls(rows, y, p, np.concatenate([C, C]).astype(float))


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
        Variables of a round.
    cache_bytes : int
        For rows of K, where K is not held in memory.
    n_jobs : int or None
    stop : callable, optional
        Returns True when the solution is no longer wanted; asked in each round.
    """

    tol: float = 1e-3
    max_rounds: int = 100_000
    working_set: int = 512
    cache_bytes: int = 2**30
    n_jobs: int | None = None
    stop: Callable[[], bool] | None = None

    def room(self, C: np.ndarray) -> float:
        """The relative error of K's entries that optimality within ``tol`` leaves room for.

        f is a sum of entries with weights up to C.
        """
        return self.tol / (10 * max(1.0, float(C.max(initial=0))))

    def solve(
        self, K: GramOperator, problem: DualProblem, alpha: np.ndarray | None = None
    ) -> SmoResult:
        """Minimise; ``coef`` is β of shape (n,), ``intercept`` the bias b of f(x) = Σβk + b.

        Parameters
        ----------
        K : GramOperator of shape (n, n)
            Needs rows.
        alpha : ndarray of shape (v,), optional
            A warm start: it is clipped to the box, and made feasible if yᵀα is not 0.

        Returns
        -------
        SmoResult
            ``gap`` is the duality gap; ``objective`` is the minimum with its sign changed, the
            dual's value, which bounds the primal's from below.
        """
        require(K, "rows", "SmoSolver")
        state = _State(K, problem, alpha, self)
        previous: np.ndarray = np.empty(0, np.int64)
        best, since_best, reason = np.inf, 0, Reason.LIMIT
        rounds = 0
        try:
            while rounds < self.max_rounds:
                rounds += 1
                if self.stop is not None and self.stop():
                    raise KeyboardInterrupt
                violation = state.violation()
                if violation <= self.tol:
                    reason = Reason.CONVERGED
                    break
                since_best = 0 if violation < best * (1 - 1e-6) else since_best + 1
                best = min(best, violation)
                if since_best > STALLED_ROUNDS and not state.moved:
                    reason = Reason.STALLED
                    break
                chosen = state.choose(self.working_set, previous)
                state.improve(chosen, self.tol)
                previous = chosen
            if reason is Reason.CONVERGED:
                state.polish(self.tol)
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
        return state.result(rounds, reason)


class _State:
    """α, g = Kβ and the rows of K at hand."""

    def __init__(self, K: GramOperator, problem: DualProblem, alpha, solver: SmoSolver):
        self.problem = problem
        self.n = K.shape[0]
        self.cache = _Rows(K, solver, problem)
        self.jobs = count_jobs(solver.n_jobs)
        self.n_jobs = solver.n_jobs
        self.alpha = np.zeros(len(problem.y)) if alpha is None else _feasible(alpha, problem)
        self.g = np.zeros(self.n)
        self.offset = problem.y * problem.p
        self.moved = True
        beta = self.beta()
        used = np.flatnonzero(beta)
        for s in range(0, len(used), solver.working_set):
            part = used[s : s + solver.working_set]
            self._add(part, beta[part])

    def beta(self) -> np.ndarray:
        p = self.problem
        return np.bincount(p.rows, p.y * self.alpha, self.n)

    def f(self) -> np.ndarray:
        return self.g[self.problem.rows] + self.offset

    def masks(self) -> tuple[np.ndarray, np.ndarray]:
        """Which variables may move up and down."""
        y, C, a = self.problem.y, self.problem.C, self.alpha
        above, below = a > 0, a < C
        return np.where(y > 0, below, above), np.where(y > 0, above, below)

    def violation(self) -> float:
        f = self.f()
        up, low = self.masks()
        if not up.any() or not low.any():
            return 0.0
        return float(f[low].max() - f[up].min())

    def choose(self, size: int, previous: np.ndarray) -> np.ndarray:
        """The newest half of the last working set, and the worst violators beside it."""
        f = self.f()
        up, low = self.masks()
        kept = previous[len(previous) // 2 :][: max(size - 2, 0)]  # leave room for a pair
        free = np.ones(len(f), bool)
        free[kept] = False
        wanted = min(size, len(f)) - len(kept)
        rising = _smallest(np.where(up & free, f, np.inf), (wanted + 1) // 2)
        free[rising] = False
        falling = _smallest(np.where(low & free, -f, np.inf), wanted - len(rising))
        return np.concatenate([kept, rising, falling])

    def improve(self, chosen: np.ndarray, tol: float) -> None:
        """Solve the subproblem of the chosen variables and update g."""
        p = self.problem
        chosen, rows, place = self._by_row(chosen)
        block = self.cache.block(rows, place)
        before = self.alpha[chosen]
        alpha, f = before.copy(), self.f()[chosen]
        # The subproblem is solved to a tenth of its first violation: more would be undone by the
        # next working set (as in the implementations that spec 1.6 reads).
        _native.smo_solve(
            block, p.y[chosen], p.C[chosen], alpha, f, 0.5 * tol, 0.1, INNER_STEPS * len(chosen)
        )
        self.alpha[chosen] = alpha
        change = np.bincount(place, p.y[chosen] * (alpha - before), len(rows))
        changed = np.flatnonzero(change)
        self.moved = len(changed) > 0
        self._add(rows[changed], change[changed])

    def _by_row(self, variables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Variables in the order of their rows, the distinct rows, and the place of each there."""
        variables = variables[np.argsort(self.problem.rows[variables], kind="stable")]
        return variables, *np.unique(self.problem.rows[variables], return_inverse=True)

    def polish(self, tol: float) -> None:
        """Solve for the free variables exactly, those at their bounds held there.

        Optimality of the free variables is linear: f = ρ for all of them, Σ y α as it is. The
        solution is taken where it stays within the box and violates optimality less than the
        one at hand; then it is that of the whole problem up to rounding.
        """
        p, a = self.problem, self.alpha
        free = np.flatnonzero((a > 1e-8 * p.C) & (a < (1 - 1e-8) * p.C))
        if not 0 < len(free) <= POLISHED:
            return
        free, rows, place = self._by_row(free)
        k = len(free)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = self.cache.block(rows, place)
        system[:k, k] = system[k, :k] = 1  # in terms of y α: f + K y Δ - ρ = 0, Σ y Δ = 0
        right = np.append(-self.f()[free], 0.0)
        change = np.linalg.lstsq(system, right, rcond=1e-12)[0][:k]
        alpha = a[free] + p.y[free] * change
        if (alpha < 0).any() or (alpha > p.C[free]).any():
            return
        violation, before, g = self.violation(), a.copy(), self.g.copy()
        self.alpha[free] = alpha
        self._add(rows, np.bincount(place, change, len(rows)))
        if self.violation() > max(violation, 1e-12):
            self.alpha, self.g = before, g

    def _add(self, rows: np.ndarray, change: np.ndarray) -> None:
        """g += K[:, rows] change, in strips of columns over the threads."""
        slots = self.cache.fetch(rows)
        edges = np.linspace(0, self.n, self.jobs + 1).astype(int)
        if self.n * len(rows) < 1_000_000:
            edges = np.array([0, self.n])

        def strip(k: int) -> None:
            _native.smo_add_rows(
                self.cache.values, slots, change, self.g, int(edges[k]), int(edges[k + 1])
            )

        for _ in ordered_map(strip, range(len(edges) - 1), len(edges) - 1):
            pass

    def result(self, rounds: int, reason: Reason) -> SmoResult:
        """β, the bias from the free variables, and the duality gap."""
        p, a = self.problem, self.alpha
        f = self.f()
        up, low = self.masks()
        free = (a > 0) & (a < p.C)
        if free.any():
            rho = f[free].mean()
        else:  # the middle of the interval that optimality allows
            high = f[up].min() if up.any() else f.max()
            small = f[low].max() if low.any() else f.min()
            rho = (high + small) / 2
        beta = self.beta()
        quadratic, linear = float(beta @ self.g), float(p.p @ a)
        slack = np.maximum(0, -p.y * (f - rho))
        bounded = np.isfinite(p.C)
        loss = float(np.sum(p.C[bounded] * slack[bounded]))
        dual = -(quadratic / 2 + linear)
        gap = max(0.0, quadratic / 2 + loss - dual)
        return SmoResult(
            beta, -float(rho), dual, gap, rounds, reason is Reason.CONVERGED, reason, alpha=a
        )


@dataclass(frozen=True)
class SmoResult(Result):
    """A `Result` with the dual variables, for warm starts."""

    alpha: np.ndarray | None = None


class _Rows:
    """Rows of K: all of them where K is held, else those used last within a budget of bytes.

    The rows of a large K are kept in float32 where the tolerance leaves room for that: as in
    LIBSVM, K is rounded and sums are not.
    """

    def __init__(self, K: GramOperator, solver: SmoSolver, problem: DualProblem):
        self.K = K
        if isinstance(K, DenseGram):
            self.values = np.require(K.K, None, ["C", "ALIGNED"])
            self.slot_of = None
            return
        n = K.shape[1]
        dtype = K.dtype
        if K.shape[0] >= ROUNDED_ROWS:
            peak = float(np.abs(K.diag()).max())
            if np.finfo(np.float32).eps * peak <= solver.room(problem.C):
                dtype = np.dtype(np.float32)
        capacity = int(min(K.shape[0], max(solver.cache_bytes // (n * dtype.itemsize), 1)))
        self.values = np.empty((capacity, n), dtype)
        self.slot_of = np.full(K.shape[0], -1)
        self.row_in = np.full(capacity, -1)
        self.used = np.zeros(capacity, np.int64)
        self.clock = 0

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Slots of ``values`` that hold the rows, computed when they are not there."""
        if self.slot_of is None:
            return np.ascontiguousarray(rows, np.int64)
        self.clock += 1
        slots = self.slot_of[rows]
        self.used[slots[slots >= 0]] = self.clock
        missing = rows[slots < 0]
        if len(missing):
            if len(rows) > len(self.values):  # the budget is below one working set: grow to it
                self._grow(len(rows))
            free = np.argsort(self.used, kind="stable")[: len(missing)]
            self.slot_of[self.row_in[free][self.row_in[free] >= 0]] = -1
            if (np.diff(free) == 1).all():
                self.K.rows(missing, self.values[free[0] : free[-1] + 1])
            else:
                self.values[free] = self.K.rows(missing)
            self.row_in[free], self.slot_of[missing] = missing, free
            self.used[free] = self.clock
            slots = self.slot_of[rows]
        return np.ascontiguousarray(slots, np.int64)

    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        """K between rows[place], both ascending; whole rows are not computed for it.

        Many variables of a working set end where they began: only of the others is all of the
        row needed, for the update of g.
        """
        slots = rows if self.slot_of is None else self.slot_of[rows]
        missing = np.flatnonzero(slots < 0)
        out = np.empty((len(place), len(place)), self.values.dtype)
        _native.smo_block(self.values, slots[place], rows[place], out)
        if len(missing):
            with blas_limit(0):  # it is small
                part = self.K.block(rows[missing], rows)
            if len(place) > len(rows):  # variables that share rows
                lines = np.flatnonzero(slots[place] < 0)
                part = part[np.searchsorted(missing, place[lines])][:, place]
                missing = lines
            out[missing] = part
        return out

    def _grow(self, capacity: int) -> None:
        more = capacity - len(self.values)
        self.values = np.vstack(
            [self.values, np.empty((more, self.values.shape[1]), self.values.dtype)]
        )
        self.row_in = np.append(self.row_in, np.full(more, -1))
        self.used = np.append(self.used, np.zeros(more, np.int64))


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Indices of the ``count`` smallest finite keys, the smallest first."""
    count = min(count, int(np.isfinite(keys).sum()))
    if count <= 0:
        return np.empty(0, np.int64)
    found = np.argpartition(keys, count - 1)[:count]
    return found[np.argsort(keys[found], kind="stable")]


def _feasible(alpha: np.ndarray, problem: DualProblem) -> np.ndarray:
    """α within the box, with yᵀα = 0: the heavier side is scaled down."""
    alpha = np.clip(alpha, 0, problem.C)
    positive = problem.y > 0
    up, down = alpha[positive].sum(), alpha[~positive].sum()
    alpha[positive] *= min(1.0, down / up) if up > 0 else 1.0
    alpha[~positive] *= min(1.0, up / down) if down > 0 else 1.0
    return alpha
