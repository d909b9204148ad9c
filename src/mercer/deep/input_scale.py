"""The unit in which a deep kernel machine measures its samples: the length scale of its first
layer, chosen before any Gram matrix is learnt."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.deep.objective import DeepObjective
from mercer.threads import raise_if_stopped

STARTS = (-6.0, -4.0, -2.0, 0.0, 2.0, 4.0)  # logarithms: the likelihood may have several maxima
WITHIN = 0.05  # error of the logarithm
GAIN = 2.0  # gain of log-likelihood: one more parameter brings less by chance (χ², 95 %)


def likeliest_scale(objective: DeepObjective, noise: float) -> float:
    """A factor of G_0 with the largest likelihood of the infinitely wide network.

    Its Gram matrices follow from G_0, so that only the scale, the noise and the amplitude are left:
    it is the marginal likelihood of a Gaussian process (Rasmussen & Williams, "Gaussian processes
    for machine learning", 2006, chapter 5). Some 15 of its values are computed. Where little is
    gained the factor is 1, as for layers whose outputs are as many times larger as the inputs.
    """

    def cost(log_scale: float) -> float:
        raise_if_stopped()
        at = objective.scaled(float(np.exp(log_scale)))
        try:
            value = at.best_likelihood(at.start(), noise)
        except np.linalg.LinAlgError:
            return np.inf
        return -value if np.isfinite(value) else np.inf

    costs = {start: cost(start) for start in STARTS}
    best = min(STARTS, key=lambda start: costs[start])
    found = minimize_scalar(
        cost, bounds=(best - 2, best + 2), method="bounded", options={"xatol": WITHIN}
    )
    least, log_scale = min((costs[best], best), (found.fun, found.x))
    return 1.0 if costs[0.0] - least <= GAIN else float(np.exp(log_scale))
