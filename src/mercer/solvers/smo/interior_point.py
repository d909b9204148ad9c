"""An interior-point method, for problems on which SMO and Newton steps make little progress.

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
from mercer.solvers.smo.box_newton import project
from mercer.threads import blas_limit, stopping

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
