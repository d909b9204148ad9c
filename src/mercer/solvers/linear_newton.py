r"""Semismooth Newton for linear support vector machines: exact on the rows that are free.

A squared loss has a piecewise quadratic primal, and Newton's method with an exact step length
ends after a few steps (Keerthi & DeCoste 2005). A loss with a kink is first rounded off within a
distance of its kink, by a pull of the dual variables towards the last ones: the method of
multipliers. Each round solves the rounded problem and moves the pull; the distance shrinks from
round to round, and with it the number of rows in the Newton system. Unscaled columns and large C,
on which coordinate descent does not converge, do no harm here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.solvers.linear_dual import LinearPoint
from mercer.solvers.result import Reason

__all__ = ["newton"]

NARROWEST = 1e-12  # width of the rounding, in units of the residuals
OFTEN = 10  # steps between two looks at the gap
SHRINK = 0.35  # of that width from round to round


def newton(
    point: LinearPoint, tol: float, max_iter: int, width: float, look: Callable[[str, int], None]
) -> tuple[Reason, int]:
    """Up to so many steps from the point at hand, until the gap is below tol times the objective.

    ``width``, in units of the residuals, is how far from its kink a loss is rounded at first.

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
                f = X.outputs(w)  # without the rounding of the updates
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
                    break  # what is left of the gap is due to the rounding of the losses
                gradient = w - u
                square = float(gradient @ gradient)
            try:
                direction = -system.inverse_times(slope, gradient)
            except (np.linalg.LinAlgError, ValueError):  # values beyond the range
                return Reason.STALLED, steps
            if -float(direction @ gradient) <= 1e-15 * point.objective and square > last / 4:
                break  # as far as the arithmetic goes
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
    """Where the rounded primal is nearly least along a direction, whose outputs are `change`.

    Its slope is continuous and increases: that at 0, and what the direction and the dual
    variables add, as differences, so that it is right close to the solution too.
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
        elif k % 2:  # false position can creep, halving cannot
            size = (low + high) / 2
        else:
            size = (low * at_high - high * at_low) / (at_high - at_low)
    return size
