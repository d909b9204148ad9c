"""Newton steps on the free variables of a working set.

SMO moves two variables at a time, and needs very many steps where the kernel matrix of the free
variables is ill-conditioned (large C, wide kernels). Those that are off their bounds solve a linear
system, though: f = ρ for all of them, their sums as they are. One Cholesky factor gives the step;
it is cut, or bent along the bounds, to where it stays feasible and lowers the objective.
"""

from __future__ import annotations

import numpy as np

from mercer.gram.schedule import blas_limit
from mercer.solvers.lapack import cholesky_factor, solve_factored

__all__ = ["newton_steps"]

STEPS = 8  # at most, for each call
LENGTHS = (1.0, 0.3, 0.1)  # of a step that is bent along the bounds
RIDGES = (64.0, 1e5, 1e8)  # on the diagonal, in roundings of K: from Newton's step to a careful one


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
    """Lower the objective over the free variables, until f is the same for all within ``tol``.

    The arguments are those of `_native.smo_solve`: α and f are updated in place, and α stays
    feasible. False if no step lowered the objective. O(m³) for m free variables.
    """
    moves = False
    for _ in range(steps):
        free = np.flatnonzero((alpha > 0) & (alpha < C))
        groups = [part for part in (free[free < split], free[free >= split]) if len(part) > 1]
        free = np.concatenate(groups) if groups else free[:0]
        spread = max((np.ptp(f[part]) for part in groups), default=0.0)
        if spread <= tol:
            return True
        sizes = [len(part) for part in groups]
        H = K[np.ix_(free, free)]
        # in terms of β = y α, whose bounds are 0 and y C
        beta, edge = y[free] * alpha[free], y[free] * C[free]
        bounds = np.minimum(edge, 0), np.maximum(edge, 0)
        moved = None
        for ridge in RIDGES:
            step = _direction(H, f[free], sizes, ridge)
            moved = None if step is None else _feasible_step(H, f[free], beta, step, bounds, sizes)
            if moved is not None:
                break
        if moved is None:
            return moves
        moves = True
        change = np.zeros(len(K), K.dtype)
        change[free] = moved - beta
        f += K @ change
        alpha[free] = y[free] * moved
    return moves


def _direction(H: np.ndarray, f: np.ndarray, sizes: list[int], ridge: float) -> np.ndarray | None:
    """Δ with (H + ridge) Δ + f = ρ within each group, and Σ Δ = 0 there."""
    m = len(f)
    right = np.zeros((m, 1 + len(sizes)))
    right[:, 0] = -f
    right[np.arange(m), 1 + np.repeat(np.arange(len(sizes)), sizes)] = 1
    A = H.copy().T  # symmetric, and now in the order that LAPACK wants
    A[np.diag_indices(m)] += ridge * np.finfo(H.dtype).eps * float(H.diagonal().max())
    with blas_limit(m):
        if not cholesky_factor(A):
            return None
        Z = solve_factored(A, right).astype(np.float64)
        ones = right[:, 1:]
        rho = np.linalg.lstsq(ones.T @ Z[:, 1:], ones.T @ Z[:, 0], rcond=None)[0]
    step = Z[:, 0] - Z[:, 1:] @ rho
    step -= ones @ ((ones.T @ step) / sizes)  # what rounding left of the sums, or a singular H
    return step if np.isfinite(step).all() else None


def _feasible_step(H, f, beta, step, bounds, sizes) -> np.ndarray | None:
    """β after the first of some steps along the bent path that lowers the objective enough, else
    after the straight one as far as it is feasible; None where neither lowers it."""
    low, high = bounds
    for length in LENGTHS:
        moved = _project(beta + length * step, low, high, beta, sizes)
        slope, decrease = _decrease(H, f, moved - beta)
        if decrease > 0.1 * abs(slope):
            return moved
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, (high - beta) / step, (low - beta) / step)
    length = min(1.0, float(np.min(room[step != 0], initial=1.0)))
    moved = np.clip(beta + length * step, low, high)
    return moved if _decrease(H, f, moved - beta)[1] > 0 else None


def _decrease(H: np.ndarray, f: np.ndarray, change: np.ndarray) -> tuple[float, float]:
    """fᵀΔ, and by how much the objective falls."""
    slope = float(f @ change)
    return slope, -(slope + float(change @ (H @ change.astype(H.dtype))) / 2)


def _project(wanted, low, high, beta, sizes) -> np.ndarray:
    """The nearest point within the bounds with the sums of β in each group, by bisection."""
    if (wanted >= low).all() and (wanted <= high).all():
        return wanted
    out = np.empty_like(wanted)
    start = 0
    for size in sizes:
        s = slice(start, start + size)
        start += size
        target = beta[s].sum()

        def total_at(shift, s=s):
            return np.clip(wanted[s] - shift, low[s], high[s]).sum()

        # bounds may be infinite: the bracket grows until the sum lies within
        least, most = np.min(wanted[s] - high[s]), np.max(wanted[s] - low[s])
        smallest, largest = max(least, 0.0), min(most, 0.0)
        reach = max(abs(total_at(0.0) - target), np.finfo(float).tiny)
        while total_at(smallest) < target and smallest > least and reach < 1e300:
            smallest, reach = max(least, -reach), 4 * reach
        while total_at(largest) > target and largest < most and reach < 1e300:
            largest, reach = min(most, reach), 4 * reach
        for _ in range(60):
            shift = (smallest + largest) / 2
            above = total_at(shift) > target
            smallest, largest = (shift, largest) if above else (smallest, shift)
        more, less = (np.clip(wanted[s] - end, low[s], high[s]) for end in (smallest, largest))
        span = more.sum() - less.sum()
        out[s] = less + (more - less) * ((target - less.sum()) / span if span > 0 else 0.0)
        rest = target - out[s].sum()  # rounding, given to the one with most room for it
        room = (high[s] - out[s]) if rest > 0 else (out[s] - low[s])
        out[start - size + int(room.argmax())] += np.sign(rest) * min(abs(rest), room.max())
    return out
