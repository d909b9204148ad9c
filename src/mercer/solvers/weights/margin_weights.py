"""Weights of kernels that minimise the optimal value of a machine: SimpleMKL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.gram import CombinedGram, GramOperator, Place
from mercer.solvers.result import Reason, Result
from mercer.solvers.weights.margin_machines import Machines, Optimum
from mercer.solvers.weights.nonnegative import nonnegative_minimum
from mercer.threads import blas_limit, raise_if_stopped

HALVINGS = 12  # most halvings of a step that does not lower the value
LOWER = 1e-4  # part of the promised decrease that a step must reach (Armijo)
LEAST = 1e-10  # a weight below is 0
STILL = 1e-14  # relative decrease below which a step is no progress
ROUNDED = 1e-6  # relative, what rounding of a float32 K may add to the value
DAMPED = 1e-8  # part of the mean second derivative that is added to all


class State(NamedTuple):
    """The value at some weights.

    Attributes
    ----------
    mu : ndarray of shape (T,)
    optimum : Optimum
    S : ndarray of shape (T,)
        :math:`\\beta^\\top K_t \\beta`.
    H : ndarray of shape (T, T)
        The second derivatives.
    """

    mu: np.ndarray
    optimum: Optimum
    S: np.ndarray
    H: np.ndarray

    @property
    def gap(self) -> float:
        """The duality gap of the weights: J(μ) <= value + gap of the machines, and for each β
        the least value over all weights is at least l(β) - ½ max_t S_t."""
        return self.optimum.gap + max(0.0, float(self.S.max() - self.mu @ self.S) / 2)


@dataclass(frozen=True)
class MarginWeights:
    r"""Weights on the simplex with the least :math:`J(\sum_t \mu_t K_t)`, the optimal value of a
    machine (SimpleMKL).

    Parameters
    ----------
    closed_form : bool, default=False
        False: reduced steps of second order with a line search, about ten machines. True: the
        update :math:`\mu_t \propto \mu_t (\beta^\top K_t \beta)^{1/2}`, the least value over μ for
        given norms of the parts, which takes many more machines and never makes J larger.
    tol : float, default=1e-4
        The duality gap, relative to J, at which it stops.
    max_iter : int, default=200
    memory, n_jobs
        The same as for `mercer.gram.gram`.

    Notes
    -----
    A step costs a machine on :math:`\sum_t \mu_t K_t`, where only kernels of positive weight are
    computed, and a product of each :math:`K_t` between support vectors.

    References
    ----------
    Rakotomamonjy, Bach, Canu & Grandvalet, "SimpleMKL", JMLR 9, 2008: the problem, the gap of
    section 2.4. Chapelle & Rakotomamonjy, "Second order optimization of kernel parameters", NIPS
    workshop on kernel learning, 2008: the steps. Kloft, Brefeld, Sonnenburg & Zien, "lp-norm
    multiple kernel learning", JMLR 12, 2011, equation 18: the update.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import RidgeMachine
    >>> y = np.array([[1.0], [-1.0]])
    >>> K = [DenseGram(y @ y.T, symmetric=True), DenseGram(np.eye(2), symmetric=True)]
    >>> MarginWeights().solve(K, RidgeMachine(y, 1.0)).coef.round(6)
    array([1., 0.])
    """

    closed_form: bool = False
    tol: float = 1e-4
    max_iter: int = 200
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def solve(self, grams: Sequence[GramOperator], machines: Machines) -> Result:
        """The weights for operators (n, n) and machines.

        Returns
        -------
        Result
            ``coef`` are the weights, ``objective`` is J and ``gap`` its duality gap.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C.
        """
        with blas_limit(grams[0].shape[0]):
            return self._solve(grams, machines)

    def _solve(self, grams: Sequence[GramOperator], machines: Machines) -> Result:
        T = len(grams)
        state = self._state(grams, machines, np.full(T, 1 / T))
        reason, steps = Reason.LIMIT, 0
        while True:
            if state.gap <= self.tol * abs(state.optimum.value):
                reason = Reason.CONVERGED
                break
            if steps == self.max_iter:
                break
            steps += 1
            after = (self._updated if self.closed_form else self._stepped)(grams, machines, state)
            if after is None:
                reason = Reason.STALLED
                break
            state = after
        return Result(
            state.mu, objective=state.optimum.value, gap=state.gap, iterations=steps,
            converged=reason is Reason.CONVERGED, reason=reason,
            solver="SimpleMKL" if not self.closed_form else "The one-norm update",
            certificate="duality gap",
        )  # fmt: skip

    def _solved(self, grams: Any, machines: Machines, mu: np.ndarray, last: Any) -> Optimum:
        raise_if_stopped()
        used = np.flatnonzero(mu)
        place = Place(self.memory, self.n_jobs)
        K = CombinedGram([grams[t] for t in used], mu[used], place)
        return machines.solve(K.held(), last)

    def _state(
        self, grams: Any, machines: Machines, mu: np.ndarray, optimum: Optimum | None = None
    ) -> State:
        if optimum is None:
            optimum = self._solved(grams, machines, mu, None)
        second = not self.closed_form
        S, H = machines.derivatives(grams, mu, optimum, second=second)
        worst = int(S.argmin())
        if S[worst] < -1e-6 * max(abs(optimum.value), float(np.abs(S).max())):
            raise ValueError(
                f"Kernel number {worst} is not positive semidefinite: βᵀKβ = {S[worst]:.3g}. Leave "
                "it out, or repair it."
            )
        return State(mu, optimum, np.maximum(S, 0.0), H)

    def _updated(self, grams: Any, machines: Machines, state: State) -> State | None:
        norms = state.mu * np.sqrt(state.S)  # ‖w_t‖ of the parts
        if not norms.any():
            return None
        mu = norms / norms.sum()
        mu[mu < LEAST] = 0.0
        mu /= mu.sum()
        if np.array_equal(mu, state.mu):
            return None
        return self._state(grams, machines, mu, self._solved(grams, machines, mu, state.optimum))

    def _stepped(self, grams: Any, machines: Machines, state: State) -> State | None:
        """The state after a step that lowers J; None if there is none."""
        g = -state.S / 2
        damped = state.H + DAMPED * (float(np.trace(state.H)) / len(g) or 1.0) * np.eye(len(g))
        target = nonnegative_minimum(damped, damped @ state.mu - g, simplex=True).coef
        target[target < LEAST] = 0.0
        direction = target / target.sum() - state.mu
        slope = float(g @ direction)
        value, length = state.optimum.value, 1.0
        for _ in range(HALVINGS):
            mu = np.maximum(state.mu + length * direction, 0.0)
            mu[mu < LEAST] = 0.0
            mu /= mu.sum()
            found = self._solved(grams, machines, mu, state.optimum)
            if found.value <= value + LOWER * length * slope:
                if value - found.value <= STILL * abs(value):
                    return None
                return self._state(grams, machines, mu, found)
            noise = found.gap + state.optimum.gap + ROUNDED * abs(value)
            if length == 1.0 and found.value <= value + noise:  # near the least value, which is
                after = self._state(grams, machines, mu, found)  # flat, the gap still tells
                if after.gap <= state.gap / 2:
                    return after
            # the least value of a parabola through both values and the slope
            rise = found.value - value - length * slope
            length *= float(np.clip(-slope * length / (2 * rise), 0.1, 0.5))
        return None
