"""Newton steps on the free variables of a working set, and an interior-point method.

SMO changes two variables at a time, and needs very many steps if the kernel matrix of the free
variables is ill-conditioned (large C, wide kernels). But the variables that are not at a bound
solve a linear system: f = ρ for all of them, and their sums stay the same. One Cholesky factor
gives the step (`newton_steps`). It is projected on the bounds or made shorter, so that it is
feasible and lowers the objective.

Where many variables are free and K is ill-conditioned, steps along few variables are short, and in
each of them other variables become free. The interior-point method (Mehrotra, SIAM J. Optimization
2, 1992) takes 10 to 40 steps whatever the condition of K and the bounds are, and each step costs a
Cholesky factor of the whole block. The problem is, with Q = y yᵀ ∘ K,

    min ½ αᵀQα + qᵀα,   0 <= α <= C,   Σ y α given in each group.

With s = C - α and multipliers z, u of the bounds and ν of the sums, the optimum has
Qα + q - Aν - z + u = 0, where a column of A is y in one group and 0 elsewhere, and α z = s u = 0.
A step solves these equations, which are linear except for the products, with products μ that
go to 0.
"""

from __future__ import annotations

import numpy as np

from mercer.gram import cholesky_factor, solve_factored
from mercer.threads import blas_limit, stopping

NEWTON_STEPS = 8  # most steps in a call
LENGTHS = (1.0, 0.3, 0.1)  # lengths of a step that is projected on the bounds
MOST_HELD = 64  # if more variables (or a 16th of all, if more) reach a bound, H is factored again
ROUNDING = 1e-14  # error of a sum, in units of the sum of the absolute values
NEWTON_RIDGES = (64.0, 1e5, 1e8)  # added to the diagonal, in units of K's rounding


def newton_steps(
    K: np.ndarray,
    y: np.ndarray,
    C: np.ndarray,
    alpha: np.ndarray,
    f: np.ndarray,
    split: int,
    tol: float,
    steps: int = NEWTON_STEPS,
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
            for ridge in NEWTON_RIDGES:
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
        self.H = K[free[:, None], free]
        raised, peak = self.H.copy(), float(self.H.diagonal().max())
        raised.flat[:: m + 1] += ridge * np.finfo(K.dtype).eps * peak
        self.factor = raised.T  # H is symmetric: this is the order that LAPACK needs
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
        sums = self.sums.T @ columns
        return np.concatenate([sums, columns[self.held]]) if len(self.held) else sums


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


STEPS = 60  # most steps; ordinary problems take 10 to 40
DONE = 1e-16  # mean product α z, in units where α, Q and the gradient are near 1
BACK = 0.995  # part of the way to the first bound
RIDGES = (8.0, 1e4, 1e8)  # added to the diagonal of Q, in these units and those of K's rounding


def interior_point(
    K: np.ndarray, y: np.ndarray, C: np.ndarray, alpha: np.ndarray, f: np.ndarray, split: int
) -> bool:
    """Lower the objective as far as the precision allows; False if it did not become lower.

    The arguments are those of `_native.smo_solve`: α and f are updated in place, and α stays
    feasible. O(v³) for each step and v variables.
    """
    rounding = float(np.finfo(K.dtype).eps)
    K = K.astype(np.float64)
    Q = K * np.outer(y, y)
    part = K @ (y * alpha)
    # The linear term may be 0 up to rounding errors: those of the sums, whose terms may cancel.
    force, noise = float(np.ptp(f - part)), 1e-12 * float((np.abs(K) @ alpha).max())
    force = force if force > noise else 0.0
    peak, largest = float(K.diagonal().max()), C[np.isfinite(C)].max(initial=0.0)
    unit = min((x for x in (largest, peak and force / peak) if x > 0), default=0.0)
    if not 0 < unit < np.inf:
        return False
    scale = max(force, peak * unit)
    sizes = [size for size in (split, len(y) - split) if size]
    A = np.repeat(np.eye(len(sizes)), sizes, axis=0) * y[:, None]
    with blas_limit(len(y)):
        found = _minimise(
            Q * (unit / scale),
            (y * f - Q @ alpha) / scale,
            A,
            A.T @ alpha / unit,
            C / unit,
            rounding,
        )
    if found is None:
        return False
    # The projection corrects the sums, which rounding and the snap to the bounds have changed. It
    # leaves out what is at a bound: a rounding error next to the bound would be a violation.
    found = np.clip(found * unit, 0, C)
    low, high = (np.where((found > 0) & (found < C), end, found) for end in (0.0, C))
    low, high = np.minimum(y * low, y * high), np.maximum(y * low, y * high)
    beta = project(y * found, low, high, y * alpha, sizes)
    change = beta - y * alpha
    product = K @ change
    if not float(f @ change) + float(change @ product) / 2 < 0:
        return False
    alpha[:], f[:] = y * beta, f + product
    return True


def _minimise(
    Q: np.ndarray, q: np.ndarray, A: np.ndarray, sums: np.ndarray, C: np.ndarray, rounding: float
) -> np.ndarray | None:
    """α of the last step, at the bounds where its multipliers say so; None without any step."""
    above = np.isfinite(C)
    middle = np.sqrt(np.maximum(C, 1.0), out=np.ones_like(C), where=above)  # of 1 and C, by ratio
    alpha = np.minimum(C / 2, middle)
    s = C - alpha  # followed in its own steps: the difference has no digits near the bound
    z, u, nu = np.ones_like(q), 1 / np.sqrt(np.maximum(s, 1.0)), np.zeros(A.shape[1])
    products = len(q) + int(above.sum())
    steps = 0
    while steps < STEPS:
        mu = float(alpha @ z + s[above] @ u[above]) / products
        if mu < DONE or stopping():
            break
        dual = Q @ alpha + q - A @ nu - z + u
        primal = sums - A.T @ alpha
        solve = _factored(Q, z / alpha + u / s, A, rounding)
        if solve is None:
            break
        # first the step to μ = 0, which shows how small μ can become, then the step that is taken
        toward = np.zeros_like(q), np.zeros_like(q)
        for predicting in (True, False):
            lower, upper = toward[0] / alpha - z, toward[1] / s - u
            step, dnu = solve(lower - upper - dual, primal)
            dz, du = lower - z / alpha * step, upper + u / s * step
            length = BACK * min(
                _room(alpha, step), _room(s[above], -step[above]), _room(z, dz),
                _room(u[above], du[above]), 1 / BACK,
            )  # fmt: skip
            if predicting:
                new_s = (s - length * step)[above]
                least = (alpha + length * step) @ (z + length * dz)
                least += new_s @ (u + length * du)[above]
                target = mu * (float(least) / (products * mu)) ** 3
                toward = target - step * dz, np.where(above, target + step * du, 0.0)
        if not (np.isfinite(step).all() and np.isfinite(dz).all() and length > 1e-10):
            break
        alpha, s = alpha + length * step, s - length * step
        z, u, nu = z + length * dz, u + length * du, nu + length * dnu
        steps += 1
    if not steps:
        return None
    alpha = np.where(alpha < z, 0.0, alpha)
    return np.where(s < u, C, alpha)


def _factored(Q: np.ndarray, diagonal: np.ndarray, A: np.ndarray, rounding: float):
    """A function that solves (Q + diagonal) a - A ν = r, Aᵀ a = t.

    None if Q is indefinite, or if a sum has no row left that is not at a bound, up to rounding.
    """
    for ridge in RIDGES:
        L = Q.copy().T
        L[np.diag_indices(len(L))] += diagonal + ridge * rounding
        if cholesky_factor(L):
            break
    else:
        return None
    solved = solve_factored(L, A)
    inner = np.asfortranarray(A.T @ solved)
    if not cholesky_factor(inner):
        return None

    def solve(r: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        free = solve_factored(L, r[:, None])[:, 0]
        nu = solve_factored(inner, (t - A.T @ free)[:, None])[:, 0]
        return free + solved @ nu, nu

    return solve


def _room(value: np.ndarray, step: np.ndarray) -> float:
    """The longest step that keeps all values positive."""
    falling = step < 0
    return float(np.min(-value[falling] / step[falling], initial=np.inf))
