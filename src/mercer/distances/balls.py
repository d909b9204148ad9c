"""Unit balls of the p-norms: their volume, and random points of their surface."""

from __future__ import annotations

import numpy as np


def log_unit_ball(d: int, p: float) -> float:
    r"""Logarithm of the volume of the ball :math:`\|x\|_p \le 1` in d dimensions, p > 0.

    :math:`V = (2 Γ(1 + 1/p))^d / Γ(1 + d/p)` (Dirichlet 1839); :math:`2^d` for p = inf.

    Examples
    --------
    >>> float(np.exp(log_unit_ball(2, 2)).round(4)), float(np.exp(log_unit_ball(3, 1)).round(4))
    (3.1416, 1.3333)
    """
    from scipy.special import gammaln

    if np.isinf(p):
        return d * float(np.log(2))
    return float(d * (np.log(2) + gammaln(1 + 1 / p)) - gammaln(1 + d / p))


def unit_sphere(n: int, d: int, p: float, rng: np.random.RandomState) -> np.ndarray:
    """n points with ‖v‖_p = 1, in proportion to the volume of the cone below them: (n, d).

    A point of a uniform ball has such a direction, which does not depend on its length. (Schechtman
    & Zinn, "On the volume of the intersection of two L_p^n balls", Proc. AMS 110, 1990.)
    """
    if np.isinf(p):
        v = rng.uniform(-1, 1, (n, d))
        return v / np.abs(v).max(axis=1, keepdims=True)
    v = rng.choice([-1.0, 1.0], (n, d)) * rng.gamma(1 / p, size=(n, d)) ** (1 / p)
    return v / (np.abs(v) ** p).sum(axis=1, keepdims=True) ** (1 / p)
