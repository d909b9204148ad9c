r"""Semismooth Newton for linear support vector machines: exact on the free rows.

A squared loss has a piecewise quadratic primal, and Newton's method with an exact step length
ends after a few steps (Keerthi & DeCoste 2005). A loss with a kink is first made smooth near its
kink, by a pull of the dual variables towards their last values: the method of multipliers. Each
round solves the smooth problem and updates the pull. The width of the smooth part becomes smaller
in each round, and so does the number of rows in the Newton system. Columns of different scales and
a large C, with which coordinate descent does not converge, are not a problem here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.solvers.linear.linear_dual import LinearPoint
from mercer.solvers.result import Reason

NARROWEST = 1e-12  # width of the rounding, in units of the residuals
OFTEN = 10  # the gap is computed after this many steps
SHRINK = 0.35  # factor of that width in each round


def newton(
    point: LinearPoint, tol: float, max_iter: int, width: float, look: Callable[[str, int], None]
) -> tuple[Reason, int]:
    """Take at most ``max_iter`` steps from ``point``, until gap <= tol times the objective.

    ``width``, in units of the residuals, is the first width in which a loss is made smooth.

    Keerthi & DeCoste, "A Modified Finite Newton Method for Fast Solution of Large Scale Linear
    SVMs", JMLR 2005; Rockafellar, "Augmented Lagrangians and Applications of the Proximal Point
    Algorithm in Convex Programming", 1976.
    """
    X, dual = point.X, point.dual
    w, f, beta = point.u.copy(), X.outputs(point.u), point.beta
    system, steps = X.system(), 0
    while width > NARROWEST:
        rounded = dual.rounded(beta, width)
        near, slope = rounded.nearest(f)
        u = X.combined(near)
        measured, last = steps, np.inf
        while True:
            gradient = w - u
            square = float(gradient @ gradient)
            solved = square / 2 <= 0.3 * max(SHRINK * point.gap, tol * point.objective)
            if solved or steps >= min(max_iter, measured + OFTEN):
                f = X.outputs(w)  # without the rounding errors of the updates
                near, slope = rounded.nearest(f)
                u = X.combined(near)
                point.offer(w, f, near, u)
                look("Newton step", steps)
                if point.is_good(tol):
                    return Reason.CONVERGED, steps
                if steps >= max_iter:
                    return Reason.LIMIT, steps
                measured = steps
                if solved and not dual.squared:
                    break  # the rest of the gap comes from the smooth losses
                gradient = w - u
                square = float(gradient @ gradient)
            try:
                direction = -system.inverse_times(slope, gradient)
            except (np.linalg.LinAlgError, ValueError):  # numbers overflow
                return Reason.STALLED, steps
            if -float(direction @ gradient) <= 1e-15 * point.objective and square > last / 4:
                break  # the limit of the arithmetic
            change = X.outputs(direction)
            size = step_length(rounded, f, near, gradient, direction, change)
            w, f, last = w + size * direction, f + size * change, square
            near, slope, before = *rounded.nearest(f), near
            u += X.combined(near - before)
            steps += 1
        if dual.squared:
            break
        beta, width = near, SHRINK * width
    return Reason.STALLED, steps


def step_length(rounded, f, near, gradient, direction, change) -> float:
    """The step length that nearly minimises the smooth primal along a direction.

    ``change`` is X times the direction. The slope is continuous and increasing. It is computed as
    the slope at 0 plus differences, so that it is accurate close to the solution too.
    """
    at_0, bend = float(gradient @ direction), float(direction @ direction)
    low, at_low, high, at_high = 0.0, at_0, np.inf, np.inf
    size = 1.0
    for k in range(40):
        here = at_0 + size * bend - rounded.along(f, change, size, near)
        if abs(here) <= 0.1 * abs(at_0):
            break
        if here < 0:
            low, at_low = size, here
        else:
            high, at_high = size, here
        if not np.isfinite(high):
            size = 2 * size
        elif k % 2:  # false position can be very slow, bisection cannot
            size = (low + high) / 2
        else:
            size = (low * at_high - high * at_low) / (at_high - at_low)
    return size
