r"""Small convex quadratic programs over non-negative numbers, and over the simplex.

.. math:: \min_v \tfrac12 v^\top Q v - c^\top v, \qquad v \ge 0, \quad (\sum_t v_t = 1)

by an active set: on the numbers that are not 0 the optimum solves a linear system (Lawson & Hanson,
"Solving Least Squares Problems", 1974, chapter 23; from Q itself as in Bro & de Jong, "A fast
non-negativity-constrained least squares algorithm", J. Chemometrics 11, 1997). It starts with all
numbers free, so that equal columns of Q get equal numbers.
"""

from __future__ import annotations

import numpy as np

from mercer.gram import cholesky_factor, solve_factored
from mercer.samples import float_array
from mercer.solvers.result import Reason, Result
from mercer.threads import blas_limit

RIDGE = 1e-10  # part of the mean of Q's diagonal, added to find the solution of least norm
ROUNDING = 1e-13  # relative rounding error of the gradient's terms
LARGEST = 1e100  # of the numbers, where the mean of Q's diagonal is 1
STEPS = 30  # for each number: far more than problems need


def nonnegative_minimum(Q: np.ndarray, c: np.ndarray, *, simplex: bool = False) -> Result:
    r"""Minimise a convex quadratic function over nonnegative numbers, or over the simplex:

    .. math:: \min_{v \ge 0} \, \tfrac12 v^\top Q v - c^\top v

    With ``simplex`` the sum of v is 1.

    Parameters
    ----------
    Q : ndarray of shape (T, T)
        Positive semidefinite.
    c : ndarray of shape (T,)
    simplex : bool
        Whether the numbers have the sum 1.

    Returns
    -------
    Result
        ``coef`` is v. ``gap`` is how far v is from optimal: with ``simplex`` the duality gap
        :math:`g^\top v - \min g` for the gradient g = Qv - c; else the largest :math:`|g_t|` where
        :math:`v_t > 0` or :math:`g_t < 0`, relative to the largest :math:`|c_t|`.

    Notes
    -----
    O(T³) for each number that becomes 0 or ceases to be 0, which is T times at most in practice. If
    there are many solutions, v is nearly the one of least norm.

    References
    ----------
    Lawson & Hanson, "Solving Least Squares Problems", 1974, chapter 23.

    Examples
    --------
    >>> nonnegative_minimum(np.eye(2), np.array([1.0, -1.0])).coef
    array([1., 0.])
    >>> nonnegative_minimum(np.ones((2, 2)), np.array([1.0, 1.0])).coef.round(9)
    array([0.5, 0.5])
    """
    Q, c = float_array("Q", Q), float_array("c", c)
    T = c.size
    if c.shape != (T,) or Q.shape != (T, T) or not T:
        raise ValueError(f"Q and c have the shapes {Q.shape} and {c.shape}: give (T, T) and (T,).")
    with np.errstate(all="ignore"):
        unit = float(np.mean(np.diagonal(Q))) or 1.0
        Q, c = Q / unit, c / unit
        size = max(float(np.abs(Q).max()), float(np.abs(c).max()))
    if not size <= LARGEST:
        raise ValueError(f"Q and c reach {size:.3g} times the mean of Q's diagonal: scale them.")
    ridged = Q + RIDGE * np.eye(T)
    v = np.full(T, 1 / T) if simplex else np.zeros(T)
    free = np.ones(T, dtype=bool)
    steps, reason = 0, Reason.LIMIT
    while steps < STEPS * T:
        steps += 1
        rows = np.flatnonzero(free)
        target, level = _on_the_free(ridged[np.ix_(rows, rows)], c[rows], simplex)
        if (target < 0).any():  # go as far as no number is negative
            lengths = np.full(len(rows), np.inf)
            np.divide(v[rows], v[rows] - target, out=lengths, where=target < 0)
            v[rows] += lengths.min() * (target - v[rows])
            out = rows[lengths == lengths.min()]
            v[out], free[out] = 0.0, False
            continue
        v[rows] = target
        slope = ridged @ v - c - level
        slope[rows] = 0.0
        worst = int(slope.argmin())
        if slope[worst] >= -ROUNDING * (1 + np.abs(c).max() + abs(level)):
            reason = Reason.CONVERGED
            break
        free[worst] = True
    g = Q @ v - c
    if simplex:
        gap = unit * float(g @ v - g.min())
    else:
        away = np.where(v > 0, np.abs(g), np.maximum(-g, 0.0))
        gap = float(away.max()) / (float(np.abs(c).max()) or 1.0)
    return Result(
        v, objective=unit * float(v @ (Q @ v) / 2 - c @ v), gap=max(gap, 0.0), iterations=steps,
        converged=reason is Reason.CONVERGED, reason=reason,
        solver="the active set", certificate="gap" if simplex else "KKT violation",
    )  # fmt: skip


def _on_the_free(Q: np.ndarray, c: np.ndarray, simplex: bool) -> tuple[np.ndarray, float]:
    """The optimum of the free numbers if their signs do not matter, and the multiplier."""
    if not simplex:
        return _solved(Q, c), 0.0
    # v = 1/n + Z w, where the columns of Z span the vectors of sum 0: the sum stays 1 however near
    # to singular Q is. There c counts up to a constant, and without it Zᵀc has no cancellation.
    n = len(c)
    centre, Z = np.full(n, 1 / n), _sum_zero(n)
    v = centre + Z @ _solved(Z.T @ Q @ Z, Z.T @ (c - c.mean() - Q @ centre))
    return v, float(np.mean(Q @ v - c))


def _sum_zero(n: int) -> np.ndarray:
    """An orthonormal basis of the vectors with sum 0: a Householder reflection of e₁ to 1/√n."""
    u = np.full(n, 1 / np.sqrt(n))
    u[0] += 1
    return np.eye(n)[:, 1:] - np.outer(u, u[1:] / u[0])


def _solved(Q: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The solution of Q v = c."""
    if not len(c):
        return c
    L = np.array(Q, order="F")
    with blas_limit(len(c)):
        if not cholesky_factor(L):
            raise ValueError("Q is not positive semidefinite: check the matrix behind it.")
        return solve_factored(L, c[:, None])[:, 0]


def equal_if_none(weights: np.ndarray) -> tuple[np.ndarray, bool]:
    """The weights that a solver found, and whether any of them is not 0.

    If all weights are 0, no kernel is related to the targets: then all are equal, with the sum 1.

    Examples
    --------
    >>> equal_if_none(np.array([0.0, 1.0])), equal_if_none(np.zeros(2))
    ((array([0., 1.]), True), (array([0.5, 0.5]), False))
    """
    if weights.any():
        return weights, True
    return np.full(len(weights), 1 / len(weights)), False
