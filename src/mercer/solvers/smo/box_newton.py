"""Newton steps on the free variables of a working set.

SMO changes two variables at a time, and needs very many steps if the kernel matrix of the free
variables is ill-conditioned (large C, wide kernels). But the variables that are not at a bound
solve a linear system: f = ρ for all of them, and their sums stay the same. One Cholesky factor
gives the step. The step is projected on the bounds or made shorter, so that it is feasible and
lowers the objective.
"""

from __future__ import annotations

import numpy as np

from mercer.gram import cholesky_factor, solve_factored
from mercer.threads import blas_limit

STEPS = 8  # most steps in a call
LENGTHS = (1.0, 0.3, 0.1)  # lengths of a step that is projected on the bounds
MOST_HELD = 64  # if more variables (or a 16th of all, if more) reach a bound, H is factored again
ROUNDING = 1e-14  # error of a sum, in units of the sum of the absolute values
RIDGES = (64.0, 1e5, 1e8)  # added to the diagonal, in units of K's rounding; larger is more careful


def newton_steps(
    K: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    alpha: np.ndarray,
    f: np.ndarray,
    split: int,
    tol: float,
    steps: int = STEPS,
) -> bool:
    """Lower the objective over the free variables, until f is equal for all within ``tol``.

    The arguments are those of `_native.smo_solve`: α and f are updated in place, and α stays
    feasible. Returns False if no step lowered the objective. O(m³) for m free variables.
    """
    system = None
    moves = False
    for _ in range(steps):
        free = (alpha > 0) & (alpha < C)
        groups = [part for part in _parts(np.flatnonzero(free), split) if len(part) > 1]
        if max((np.ptp(f[part]) for part in groups), default=0.0) <= tol:
            return True
        step = None if system is None else system.step(free, y, C, alpha, f)
        if step is None:
            chosen = np.concatenate(groups)
            for ridge in RIDGES:
                system = _System(K, chosen, [len(part) for part in groups], ridge)
                step = system.step(free, y, C, alpha, f)
                if step is not None:
                    break
        if step is None or system is None:
            return moves
        moves = True
        moved, beta = step
        change = np.zeros(len(K), K.dtype)
        change[system.free] = moved - beta
        f += K @ change
        alpha[system.free] = y[system.free] * moved
    return moves


def _parts(free: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """The free variables of the first group and of the second group."""
    return free[free < split], free[free >= split]


class _System:
    """(H + ridge) Δ + f = ρ and Σ Δ = 0 in each group, where H = K on some free variables.

    H is factored once. A variable that reaches a bound later is fixed there by one more
    constraint, Δ = 0, which costs two triangular solves instead of a new factor.
    """

    def __init__(self, K: np.ndarray, free: np.ndarray, sizes: list[int], ridge: float):
        m = len(free)
        self.free, self.sizes = free, sizes
        self.H = K[np.ix_(free, free)]
        self.factor = self.H.copy().T  # H is symmetric: this is the order that LAPACK needs
        peak = float(self.H.diagonal().max())
        self.factor[np.diag_indices(m)] += ridge * np.finfo(K.dtype).eps * peak
        with blas_limit(m):
            self.is_definite = cholesky_factor(self.factor)
        self.sums = np.repeat(np.eye(len(sizes)), sizes, axis=0)
        self.held = np.empty(0, np.int64)  # positions in ``free`` of variables fixed at a bound
        self.solved = np.empty((m, 0))  # H⁻¹ times the columns of the constraints

    def step(self, free, y, C, alpha, f) -> tuple[np.ndarray, np.ndarray] | None:
        """β of the variables after and before a step that lowers the objective; None if none."""
        if not (self.is_definite and self._hold(np.flatnonzero(~free[self.free]))):
            return None
        # use β = y α, whose bounds are 0 and y C
        rows = self.free
        beta, edge = y[rows] * alpha[rows], y[rows] * C[rows]
        # without its mean in each group, f is small near the solution, and so are rounding errors
        means = (self.sums.T @ f[rows]) / np.array(self.sizes)
        f = f[rows] - self.sums @ means
        direction = self._direction(f)
        if direction is None:
            return None
        bounds = np.minimum(edge, 0), np.maximum(edge, 0)
        for end in bounds:
            end[self.held] = beta[self.held]
        moved = _feasible_step(self.H, f, beta, direction, bounds, self.sizes)
        return None if moved is None else (moved, beta)

    def _hold(self, places: np.ndarray) -> bool:
        """Add constraints for these variables; False if they are too many for this factor."""
        new = np.setdiff1d(places, self.held) if len(self.held) else places
        if len(places) > max(MOST_HELD, len(self.free) // 16):
            return False
        columns = np.zeros((len(self.free), len(new)))
        columns[new, np.arange(len(new))] = 1
        if not self.solved.shape[1]:
            columns = np.hstack([self.sums, columns])
        self.held = np.concatenate([self.held, new])
        with blas_limit(len(self.free)):
            self.solved = np.hstack([self.solved, solve_factored(self.factor, columns)])
        return True

    def _direction(self, f: np.ndarray) -> np.ndarray | None:
        """Δ with (H + ridge) Δ + f = Σ ν a over the constraints aᵀΔ = 0."""

        with blas_limit(len(f)):
            downhill = solve_factored(self.factor, -f[:, None]).astype(np.float64)[:, 0]
            nu = np.linalg.lstsq(self._values(self.solved), self._values(downhill), rcond=None)[0]
        step = downhill - self.solved @ nu
        if not np.isfinite(step).all():
            return None
        # correct the sums, which rounding or a singular H can change
        inside = self.sums.copy()
        inside[self.held] = step[self.held] = 0
        return step - inside @ ((self.sums.T @ step) / np.maximum(inside.sum(axis=0), 1))

    def _values(self, columns: np.ndarray) -> np.ndarray:
        """Values of the constraints: sums over groups, and entries of the fixed variables."""
        return np.concatenate([self.sums.T @ columns, columns[self.held]])


def _feasible_step(H, f, beta, step, bounds, sizes) -> np.ndarray | None:
    """β after a feasible step that lowers the objective; None if there is none.

    First try some lengths of the step, projected on the bounds; then the straight step up to the
    first bound.
    """
    low, high = bounds
    for length in LENGTHS:
        moved = project(beta + length * step, low, high, beta, sizes)
        slope, decrease = _decrease(H, f, moved - beta)
        if decrease > 0.1 * abs(slope):
            return moved
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, (high - beta) / step, (low - beta) / step)
    length = min(1.0, float(np.min(room[step != 0], initial=1.0)))
    moved = np.clip(beta + length * step, low, high)
    return moved if _decrease(H, f, moved - beta)[1] > 0 else None


def _decrease(H: np.ndarray, f: np.ndarray, change: np.ndarray) -> tuple[float, float]:
    """fᵀΔ, and the decrease of the objective."""
    slope = float(f @ change)
    return slope, -(slope + float(change @ (H @ change.astype(H.dtype))) / 2)


def project(wanted, low, high, beta, sizes) -> np.ndarray:
    """The nearest point in the bounds that has the sum of β in each group, by bisection."""
    inside = (wanted >= low).all() and (wanted <= high).all()
    out = wanted.copy()
    start = 0
    for size in sizes:
        s = slice(start, start + size)
        start += size
        target = beta[s].sum()
        if inside and abs(wanted[s].sum() - target) <= ROUNDING * np.abs(wanted[s]).sum():
            continue

        def total_at(shift, s=s):
            return np.clip(wanted[s] - shift, low[s], high[s]).sum()

        # between two knots the sum falls linearly with the shift; beyond them too, if bounds are
        # infinite, and then by at least the shift
        knots = np.concatenate([wanted[s] - high[s], wanted[s] - low[s], [0.0]])
        knots = np.sort(knots[np.isfinite(knots)])
        ends = [abs(total_at(knot) - target) for knot in (knots[0], knots[-1])]
        knots = np.concatenate([[knots[0] - ends[0]], knots, [knots[-1] + ends[1]]])
        first, last = 0, len(knots) - 1
        while last - first > 1:
            middle = (first + last) // 2
            above = total_at(knots[middle]) > target
            first, last = (middle, last) if above else (first, middle)
        more, less = (np.clip(wanted[s] - knots[k], low[s], high[s]) for k in (first, last))
        span = more.sum() - less.sum()
        share = np.clip((target - less.sum()) / span, 0.0, 1.0) if span > 0 else 0.0
        out[s] = less + (more - less) * share
        rest = target - out[s].sum()  # a rounding error, added where there is most room
        room = (high[s] - out[s]) if rest > 0 else (out[s] - low[s])
        out[start - size + int(room.argmax())] += np.sign(rest) * min(abs(rest), room.max())
    return out
