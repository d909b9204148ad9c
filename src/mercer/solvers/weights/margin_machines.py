r"""The machines whose optimal value is minimised by the weights of their kernels.

A machine is a maximum over dual variables, :math:`J(K) = \max_\beta \, l(\beta) - \tfrac12
\beta^\top K \beta`: support vector machines (`HingeMachines`) and ridge regression
(`RidgeMachine`). For :math:`K = \sum_t \mu_t K_t` it is convex in μ, its derivatives are
:math:`-\tfrac12 \beta^\top K_t \beta` at the maximum (Danskin), and its second derivatives follow
from how the free dual variables move with μ (Chapelle & Rakotomamonjy, "Second order optimization
of kernel parameters", NIPS workshop on kernel learning, 2008).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import NamedTuple

import numpy as np

from mercer.gram import GramOperator, Place, cholesky_factor, solve_factored
from mercer.solvers.result import Reason
from mercer.solvers.smo import DualProblem, SmoSolver, solve_to_gap

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


class Optimum(NamedTuple):
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
    def solve(self, K: GramOperator, last: Optimum | None) -> Optimum:
        """The maxima for K; ``last`` are those for another K, to start from."""

    @abstractmethod
    def inverse(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """P, with which free variables of these rows move by -P times a change of K β."""

    def derivatives(
        self, grams: Sequence[GramOperator], weights: np.ndarray, at: Optimum, *, second: bool
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
    """Support vector machines, each on some of the rows.

    Parameters
    ----------
    problems : list of DualProblem
    rows : list of ndarray of int
        The rows of K that each machine reads; the problem counts them from 0.
    tol : float
        The duality gap of each machine, relative to its value.
    memory, n_jobs
        The same as for `mercer.gram.gram`.
    """

    problems: list[DualProblem]
    rows: list[np.ndarray]
    tol: float = 1e-5
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def solve(self, K: GramOperator, last: Optimum | None) -> Optimum:
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
        return Optimum(value, gap, duals, starts)

    def inverse(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The part of [[K, 1], [1ᵀ, 0]]⁻¹ that belongs to β, because Σ β does not change."""
        P = _inverted(K)
        ones = P.sum(axis=1)
        return P - np.outer(ones, ones) / ones.sum()


@dataclass(frozen=True)
class RidgeMachine(Machines):
    r"""Ridge regression: :math:`J(K) = \max_\beta \, \sum y^\top \beta - \tfrac12 \beta^\top
    (K + \lambda W^{-1}) \beta`, which is half the least penalised sum of squares over λ.

    Parameters
    ----------
    Y : ndarray of shape (n, c)
    penalty : float > 0
        λ.
    weights : ndarray of shape (n,), optional
    memory : int, str or None
        The same as for `mercer.gram.gram`; K and its factor are held in any case.
    """

    Y: np.ndarray
    penalty: float
    weights: np.ndarray | None = None
    memory: int | float | str | None = None

    def solve(self, K: GramOperator, last: Optimum | None) -> Optimum:
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
        return Optimum(value, 0.0, [Dual(rows, beta, _some(rows, self.most_free()))], [])

    def inverse(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(K + λ W⁻¹)⁻¹ of these rows."""
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
