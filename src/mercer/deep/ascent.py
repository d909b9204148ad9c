r"""The ascent of a deep kernel machine: Riccati steps, then L-BFGS on Cholesky factors.

With D the derivative of L with respect to :math:`G_l` without the layer's own divergence, a
stationary G has

.. math:: 0 = ν_l G - ν_l G K_l^{-1} G + 2 G D G.

D = D⁺ - D⁻ has two positive semidefinite parts. With G D⁺ G frozen at the present G this is a
Riccati equation with A = ½ ν_l I, U = ν_l K⁻¹ + 2 D⁻ and Q = 2 G D⁺ G. Below a linear layer
another form is exact, where its kernel matrix is G itself: A = ½ (ν_l - c) I, U = ν_l K⁻¹ and
Q = 2 G D G + c G for c = ν_{l+1}, which makes Q = ν_{l+1} G_{l+1} without noise. All layers step at
once, and a step is shortened until the objective rises.

Layers that depend on each other then creep. L-BFGS finishes, on factors A_l of
:math:`G_l = H_l A_l A_l^\top H_l^\top`, where H_l is the Cholesky factor at its start: in these
coordinates each layer's own divergence is round. It starts again from new H_l now and then. Where
the objective is flat to rounding, Riccati steps that lower the gradient go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from mercer.deep.objective import DeepObjective, Evaluation
from mercer.deep.targets import LEAST_NOISE, MOST_NOISE, inverse_of
from mercer.solvers import Reason
from mercer.solvers.eigen import riccati
from mercer.threads import raise_if_stopped

RICCATI_STEPS = 5  # the first ones gain most
HALVINGS = 30
POLISHING = 100  # steps by the gradient alone at the end
ROUNDING = 1e-12  # relative rounding error of the objective
SEGMENT = 100  # steps of L-BFGS between two changes of its coordinates


class DeepState(NamedTuple):
    """Gram matrices, noise, the objective there, and what a fit reports of the way.

    Attributes
    ----------
    gradient : float
        The relative gradient: the largest 2 |Hᵀ dL/dG_l H| / (ν_l √m) with G_l = H Hᵀ, Frobenius
        norm. It is 0 at a stationary point.
    path : list of float
        The objective after each step.
    """

    grams: list[np.ndarray]
    noise: float
    value: float
    gradient: float
    path: list[float]
    reason: Reason


@dataclass(frozen=True)
class DeepAscent:
    """Maximise a `DeepObjective`, with steps that never lower it.

    Parameters
    ----------
    tol : float > 0
        Stop when the relative gradient is not larger.
    max_iter : int
        Steps of both kinds.
    riccati_steps : int
        The most of these that are Riccati steps.
    """

    tol: float = 1e-4
    max_iter: int = 1000
    riccati_steps: int = RICCATI_STEPS

    def solve(self, objective: DeepObjective, noise: float) -> DeepState:
        """The start: the Gram matrices of the infinitely wide network."""
        grams = objective.start()
        noise = objective.best_noise(grams, noise)
        at = objective.evaluate(grams, noise)
        state = _state(objective, grams, noise, at, [at.value])
        for _ in range(min(self.riccati_steps, self.max_iter)):
            raise_if_stopped()
            if state.gradient <= self.tol:
                break
            moved = _riccati_step(objective, state, at)
            if moved is None:
                break
            grams, noise, at = moved
            state = _state(objective, grams, noise, at, [*state.path, at.value])
        while state.gradient > self.tol and len(state.path) <= self.max_iter:
            steps = min(SEGMENT, self.max_iter + 1 - len(state.path))
            finished = _Coordinates(objective, state).ascend(steps, self.tol)
            if not finished.value > state.value:
                state = _polished(objective, state, self.tol)
                if state.gradient > self.tol:
                    return state._replace(reason=Reason.STALLED)
                break
            state = finished
        return state._replace(
            reason=Reason.CONVERGED if state.gradient <= self.tol else Reason.LIMIT
        )


class _Coordinates:
    """L as a function of one vector: all A_l = I + X_l / √(2 ν_l), X_l lower triangular, and the
    logarithm of the noise, each scaled so that its second derivative is near 1."""

    def __init__(self, objective: DeepObjective, state: DeepState):
        self.objective, self.state = objective, state
        m = len(objective.G0)
        self.factors = [np.linalg.cholesky(G) for G in state.grams]
        self.lower, self.eye = np.tril_indices(m), np.eye(m)
        self.scales = np.sqrt(2 * objective.dof)
        self.noise_scale = np.sqrt(objective.targets.Y.size / 2)
        self.best, self.path = state, list(state.path)
        self.count = len(self.lower[0])

    def ascend(self, steps: int, tol: float) -> DeepState:
        """The best point of some steps of L-BFGS."""
        x = np.zeros(self.count * len(self.factors) + self.objective.targets.learnt)
        bounds = None
        if self.objective.targets.learnt:
            lowest, highest = (
                (np.log(s) - np.log(self.state.noise)) * self.noise_scale
                for s in (LEAST_NOISE, MOST_NOISE)
            )
            bounds = [(None, None)] * (len(x) - 1) + [(min(lowest, 0.0), max(highest, 0.0))]

        def follow(intermediate_result) -> None:
            raise_if_stopped()
            self.path.append(self.best.value)
            if self.best.gradient <= tol:
                raise StopIteration

        options = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 0.0, "gtol": 0.0, "maxcor": 20}
        minimize(
            self.cost, x, jac=True, method="L-BFGS-B", bounds=bounds, callback=follow,
            options=options,
        )  # fmt: skip
        return self.best._replace(path=self.path)

    def cost(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """-L and its gradient."""
        grams, parts, noise = [], [], self.state.noise
        for i, (H, scale) in enumerate(zip(self.factors, self.scales)):
            A = self.eye.copy()
            A[self.lower] += x[i * self.count : (i + 1) * self.count] / scale
            L = H @ A
            grams.append(L @ L.T)
            parts.append(L)
        if self.objective.targets.learnt:
            noise *= float(np.exp(x[-1] / self.noise_scale))
        at = _evaluated(self.objective, grams, noise)
        if at is None:
            return np.inf, np.zeros_like(x)
        slopes = [
            (2 * H.T @ (g @ L))[self.lower] / scale
            for H, L, g, scale in zip(self.factors, parts, at.gradients, self.scales)
        ]
        if self.objective.targets.learnt:
            slopes.append(np.array([at.by_noise * noise / self.noise_scale]))
        if at.value > self.best.value:
            self.best = _state(self.objective, grams, noise, at, [])
        return -at.value, -np.concatenate(slopes)


def _state(
    objective: DeepObjective, grams: list[np.ndarray], noise: float, at: Evaluation,
    path: list[float],
) -> DeepState:  # fmt: skip
    """The Gram matrices that were reached, and how far they are from a maximum."""
    worst = 0.0
    for G, g, nu in zip(grams, at.gradients, objective.dof):
        H = np.linalg.cholesky(G)
        worst = max(worst, 2 * float(np.linalg.norm(H.T @ g @ H)) / (nu * np.sqrt(len(G))))
    return DeepState(grams, noise, at.value, worst, path, Reason.LIMIT)


def _polished(objective: DeepObjective, state: DeepState, tol: float) -> DeepState:
    """Riccati steps by the gradient, where the objective is flat to rounding.

    Near a maximum it is flat within the root of rounding, but gradients still show the way.
    """
    least = state.value - ROUNDING * abs(state.value)
    for _ in range(POLISHING):
        raise_if_stopped()
        if state.gradient <= tol:
            break
        at = objective.evaluate(state.grams, state.noise)
        solutions = [_solution(objective, state.grams, at, i) for i in range(len(state.grams))]
        for t in (1.0, 0.5):
            grams = [(1 - t) * G + t * new for G, new in zip(state.grams, solutions)]
            moved = _evaluated(objective, grams, state.noise)
            if moved is not None and moved.value >= least:
                # the objective is the same to rounding, and so it stands in the path
                new = _state(objective, grams, state.noise, moved, [*state.path, state.path[-1]])
                if new.gradient < state.gradient:
                    state = new._replace(value=max(state.value, new.value))
                    break
        else:
            break
    return state


def _evaluated(
    objective: DeepObjective, grams: list[np.ndarray], noise: float
) -> Evaluation | None:
    """L and its gradient, or None where they are not finite or a matrix is not positive."""
    try:
        at = objective.evaluate(grams, noise)
    except np.linalg.LinAlgError:
        return None
    return at if np.isfinite(at.value) else None


def _riccati_step(
    objective: DeepObjective, state: DeepState, at: Evaluation
) -> tuple[list[np.ndarray], float, Evaluation] | None:
    """The first of the steps 1, ½, ¼ ... to the solutions of all layers that gains, or None."""
    solutions = [_solution(objective, state.grams, at, i) for i in range(len(state.grams))]
    for t in 0.5 ** np.arange(HALVINGS):
        grams = [(1 - t) * G + t * new for G, new in zip(state.grams, solutions)]
        moved = _evaluated(objective, grams, state.noise)
        if moved is not None and moved.value > at.value:
            noise = objective.best_noise(grams, state.noise)
            if noise != state.noise:
                better = _evaluated(objective, grams, noise)
                if better is not None and better.value > moved.value:
                    return grams, noise, better
            return grams, state.noise, moved
    return None


def _solution(
    objective: DeepObjective, grams: list[np.ndarray], at: Evaluation, i: int
) -> np.ndarray:
    """The solution of layer i's Riccati equation, at the present Gram matrices of the others."""
    G, nu, inverse = grams[i], float(objective.dof[i]), at.inverses[i]
    D = at.gradients[i] - nu / 2 * (inverse_of(np.linalg.cholesky(G)) - inverse)
    D = (D + D.T) / 2
    U = nu * (inverse + inverse.T) / 2
    if objective.layers[i + 1].linear:
        above = [*objective.dof[1:], objective.targets.Y.shape[1]][i]
        H = np.linalg.cholesky(G)
        c = max(float(above), -2 * float(np.linalg.eigvalsh(H.T @ D @ H)[0]))
        return riccati((nu - c) / 2, U, _positive_part(2 * G @ D @ G + c * G))
    # Dn moves to U, as G Dn G with both factors free: fewer steps than c where f is not linear
    values, V = np.linalg.eigh(D)
    up, down = G @ V * np.sqrt(np.maximum(values, 0)), V * np.sqrt(np.maximum(-values, 0))
    return riccati(nu / 2, U + 2 * down @ down.T, 2 * up @ up.T)


def _positive_part(Q: np.ndarray) -> np.ndarray:
    """Q without the negative eigenvalues that rounding has made."""
    values, V = np.linalg.eigh((Q + Q.T) / 2)
    return (V * np.maximum(values, 0)) @ V.T
