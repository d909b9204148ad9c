r"""Weights of kernels that minimise the optimal value of a machine: SimpleMKL.

The optimal value J(K) of a machine is a maximum over dual variables β (`MarginWeights`). For
:math:`K = \sum_t \mu_t K_t` it is convex in μ, its derivatives are
:math:`-\tfrac12 \beta^\top K_t \beta` at the maximum (Danskin), and its second derivatives follow
from how the free dual variables move with μ (Chapelle & Rakotomamonjy, "Second order optimization
of kernel parameters", NIPS workshop on kernel learning, 2008).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from mercer.gram import CombinedGram, GramOperator, Place, cholesky_factor, solve_factored
from mercer.solvers.result import Reason, Result
from mercer.solvers.smo import DualProblem, SmoSolver, solve_to_gap
from mercer.solvers.weights.nonnegative import nonnegative_minimum
from mercer.threads import blas_limit, raise_if_stopped

FREE = 1500  # most free variables of a machine whose movement is followed
BLOCKS = 48  # bytes that each pair of them takes
NEAR = 1e-9  # part of the bound: a variable this near to its bound is not free
STEADY = 1e-10  # part of the trace, added so that a singular K can be inverted


class Dual(NamedTuple):
    """The dual variables of one machine.

    Attributes
    ----------
    rows : ndarray of shape (s,), int
        The rows of K that it reads: those whose β is not 0.
    beta : ndarray of shape (s, c)
    free : ndarray of int
        Places in ``rows`` whose β is free to move, not all if they are many.
    """

    rows: np.ndarray
    beta: np.ndarray
    free: np.ndarray


class MachineOptimum(NamedTuple):
    """The maxima of all machines for one K.

    Attributes
    ----------
    value, gap : float
        J(K), the sum over the machines, and its duality gap.
    duals : list of Dual
    starts : list of ndarray
        Where the solver of each machine can start for another K.
    """

    value: float
    gap: float
    duals: list[Dual]
    starts: list[np.ndarray]


class Machines(ABC):
    """Abstract: one or several machines that share the weights of their kernels."""

    memory: int | float | str | None

    @abstractmethod
    def solve(self, K: GramOperator, last: MachineOptimum | None) -> MachineOptimum:
        """The maxima for K; ``last`` are those for another K, to start from."""

    @abstractmethod
    def inverse(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """P, with which free variables of these rows move by -P times a change of K β."""

    def derivatives(
        self,
        grams: Sequence[GramOperator],
        weights: np.ndarray,
        at: MachineOptimum,
        *,
        second: bool,
    ) -> tuple[np.ndarray, np.ndarray]:
        r""":math:`S_t = \sum \beta^\top K_t \beta`, (T,), and the second derivatives of J, (T, T).

        The former are -2 times the first derivatives. Without ``second`` the latter are 0.
        """
        T = len(grams)
        S, H = np.zeros(T), np.zeros((T, T))
        for rows, beta, free in at.duals:
            moved = np.zeros((T, len(free), beta.shape[1]))
            block = np.zeros((len(free), len(free)))
            for t, K in enumerate(grams):
                part = K.part(rows)
                product = np.asarray(part @ beta, np.float64)
                S[t] += float(np.einsum("ic,ic->", beta, product))
                if second and len(free):
                    moved[t] = product[free]
                    if weights[t]:
                        block += weights[t] * part.block(free, free)
            if second and len(free):
                P = self.inverse(block, rows[free])
                flat = moved.transpose(1, 0, 2).reshape(len(free), -1)
                solved = (P @ flat).reshape(len(free), T, -1).transpose(1, 0, 2)
                H += moved.reshape(T, -1) @ solved.reshape(T, -1).T
        return S, (H + H.T) / 2

    def most_free(self) -> int:
        """How many free variables of one machine the memory allows to follow, at most `FREE`."""
        return min(FREE, isqrt(Place(self.memory).budget(2 * BLOCKS * FREE**2) // (2 * BLOCKS)))


@dataclass(frozen=True)
class HingeMachines(Machines):
    r"""Support vector machines, each on some of the rows.

    .. math:: J(K) = \sum_m \max_\alpha \, (-p^\top \alpha - \tfrac12 \alpha^\top Q_m \alpha),
              \qquad \frac{\partial J}{\partial \mu_t} = -\tfrac12 \sum_m \beta_m^\top K_t \beta_m

    Machine m has the dual problem of its `DualProblem`; :math:`K = \sum_t \mu_t K_t` ("SimpleMKL",
    Rakotomamonjy et al. 2008).

    Parameters
    ----------
    problems : list of DualProblem
    rows : list of ndarray of int
        The rows of K that each machine reads; the problem counts them from 0.
    tol : float
        The duality gap of each machine, relative to its value.
    memory, n_jobs
        The same as for `mercer.gram.gram`.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> y = np.array([1.0, -1.0])
    >>> machines = HingeMachines([DualProblem.classification(y, np.ones(2))], [np.arange(2)])
    >>> round(machines.solve(DenseGram(np.outer(y, y), symmetric=True), None).value, 4)
    0.5
    """

    problems: list[DualProblem]
    rows: list[np.ndarray]
    tol: float = 1e-5
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def solve(self, K: GramOperator, last: MachineOptimum | None) -> MachineOptimum:
        value = gap = 0.0
        duals, starts = [], []
        cache = Place(self.memory).budget(32 * K.shape[0] ** 2) // 4
        solver = SmoSolver(tol=1e-3, cache_bytes=cache, n_jobs=self.n_jobs, rounded=False)
        most = self.most_free()
        for m, (problem, rows) in enumerate(zip(self.problems, self.rows)):
            part = K if len(rows) == K.shape[0] else K.part(rows)
            start = None if last is None else last.starts[m]
            result = solve_to_gap(solver, part, problem, start, self.tol)
            if result.reason is Reason.INFEASIBLE:
                raise ValueError(
                    "C=inf requires a hard margin, but no hyperplane separates the classes: give a "
                    "finite C."
                )
            starts.append(np.asarray(result.alpha))
            value, gap = value + result.objective, gap + result.gap
            bounds = np.zeros(len(rows))
            np.maximum.at(bounds, problem.rows, problem.C)
            support = np.flatnonzero(result.coef)
            size, bound = np.abs(result.coef[support]), bounds[support]
            free = np.flatnonzero((size > NEAR * bound) & (size < (1 - NEAR) * bound))
            beta = result.coef[support, None]
            duals.append(Dual(rows[support], beta, _some(free, most)))
        return MachineOptimum(value, gap, duals, starts)

    def inverse(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The part (r, r) of [[K, 1], [1ᵀ, 0]]⁻¹ that belongs to β, as Σ β does not change."""
        P = _inverted(K)
        ones = P.sum(axis=1)
        return P - np.outer(ones, ones) / ones.sum()


@dataclass(frozen=True)
class RidgeMachine(Machines):
    r"""Ridge regression as a machine whose kernels have weights:

    .. math:: J(K) = \max_\beta \, \sum_c y_c^\top \beta_c
              - \tfrac12 \beta_c^\top (K + \lambda W^{-1}) \beta_c

    β has the shape (n, c), a column for each output. J is half the least penalised sum of squares
    over λ ("SimpleMKL", Rakotomamonjy et al. 2008).

    Parameters
    ----------
    Y : ndarray of shape (n, c)
    penalty : float > 0
        λ.
    weights : ndarray of shape (n,), optional
    memory : int, str or None
        The same as for `mercer.gram.gram`; K and its factor are held in any case.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> K = DenseGram(np.eye(2), symmetric=True)
    >>> round(RidgeMachine(np.array([[2.0], [0.0]]), 1.0).solve(K, None).value, 6)
    1.0
    """

    Y: np.ndarray
    penalty: float
    weights: np.ndarray | None = None
    memory: int | float | str | None = None

    def solve(self, K: GramOperator, last: MachineOptimum | None) -> MachineOptimum:
        w = np.ones(len(self.Y)) if self.weights is None else self.weights
        A = np.array(K.dense(), np.float64, order="F")
        A.flat[:: len(A) + 1] += self.penalty / w
        if not cholesky_factor(A):
            raise ValueError(
                "The sum of the kernels is not positive semidefinite: give positive semidefinite "
                "kernels, or a larger alpha."
            )
        beta = solve_factored(A, self.Y)
        rows = np.arange(len(w))
        value = float(np.einsum("ic,ic->", self.Y, beta)) / 2
        return MachineOptimum(value, 0.0, [Dual(rows, beta, _some(rows, self.most_free()))], [])

    def inverse(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(K + λ W⁻¹)⁻¹ of these r rows, (r, r)."""
        w = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        return _inverted(K + np.diag(self.penalty / w))


def _some(free: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` of the variables, spread over all of them."""
    return free if len(free) <= most else free[np.linspace(0, len(free) - 1, most).astype(int)]


def _inverted(K: np.ndarray) -> np.ndarray:
    L = np.array(K, order="F")
    L.flat[:: len(L) + 1] += STEADY * (float(np.trace(K)) or 1.0)
    if not cholesky_factor(L):
        return np.linalg.pinv(K, hermitian=True)
    return solve_factored(L, np.eye(len(K)))


HALVINGS = 12  # most halvings of a step that does not lower the value
LOWER = 1e-4  # part of the promised decrease that a step must reach (Armijo)
LEAST = 1e-10  # a weight below is 0
STILL = 1e-14  # relative decrease below which a step is no progress
ROUNDED = 1e-6  # relative, what rounding of a float32 K may add to the value
DAMPED = 1e-8  # part of the mean second derivative that is added to all


class WeightState(NamedTuple):
    """The value at some weights.

    Attributes
    ----------
    mu : ndarray of shape (T,)
    optimum : MachineOptimum
    S : ndarray of shape (T,)
        :math:`\\beta^\\top K_t \\beta`.
    H : ndarray of shape (T, T)
        The second derivatives.
    """

    mu: np.ndarray
    optimum: MachineOptimum
    S: np.ndarray
    H: np.ndarray

    @property
    def gap(self) -> float:
        """The duality gap of the weights: J(μ) <= value + gap of the machines, and for each β
        the least value over all weights is at least l(β) - ½ max_t S_t."""
        return self.optimum.gap + max(0.0, float(self.S.max() - self.mu @ self.S) / 2)


@dataclass(frozen=True)
class MarginWeights:
    r"""Weights of kernels for which the optimal value J of a machine is least (SimpleMKL):

    .. math:: \min_{\mu \ge 0, \; \sum_t \mu_t = 1} J\Bigl(\sum_t \mu_t K_t\Bigr), \qquad
        J(K) = \max_\beta \, l(\beta) - \tfrac12 \beta^\top K \beta,

    where the machine says what l and the conditions on β are: `HingeMachines` are support vector
    machines, `RidgeMachine` is ridge regression.

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
    A step fits one machine to :math:`\sum_t \mu_t K_t`, for which only kernels of positive weight
    are computed, and multiplies each :math:`K_t` between the s support vectors by β: O(T s²) for T
    kernels.

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
        """Steps of the weights until the gap is small."""
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

    def _solved(
        self, grams: Any, machines: Machines, mu: np.ndarray, last: MachineOptimum | None
    ) -> MachineOptimum:
        """The machines at some weights."""
        raise_if_stopped()
        used = np.flatnonzero(mu)
        place = Place(self.memory, self.n_jobs)
        K = CombinedGram([grams[t] for t in used], mu[used], place)
        return machines.solve(K.held(), last)

    def _state(
        self, grams: Any, machines: Machines, mu: np.ndarray, optimum: MachineOptimum | None = None
    ) -> WeightState:
        """The value at some weights, and its derivatives."""
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
        return WeightState(mu, optimum, np.maximum(S, 0.0), H)

    def _updated(self, grams: Any, machines: Machines, state: WeightState) -> WeightState | None:
        """The state after the closed-form step of the weights; None if they do not change, or all
        norms are 0."""
        norms = state.mu * np.sqrt(state.S)  # ‖w_t‖ of the parts
        if not norms.any():
            return None
        mu = norms / norms.sum()
        mu[mu < LEAST] = 0.0
        mu /= mu.sum()
        if np.array_equal(mu, state.mu):
            return None
        return self._state(grams, machines, mu, self._solved(grams, machines, mu, state.optimum))

    def _stepped(self, grams: Any, machines: Machines, state: WeightState) -> WeightState | None:
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
