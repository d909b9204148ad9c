"""Penalised logistic regression on features of rows that are read again for each Newton step.

Nothing of single rows is kept: a step needs the objective, its gradient and its Hessian, which are
sums over rows, so that memory does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import log_softmax

from mercer.persistence import fields
from mercer.solvers.result import Reason, Result
from mercer.solvers.ridge.newton_logistic import probabilities

SIZES = (1.0, 0.5, 0.25, 0.1, 0.03, 1e-2, 1e-3)  # lengths of a step that one reading tries

#: features (n, r), indicators of the classes (n, outputs), and weights (n,) or None
Block = tuple[np.ndarray, np.ndarray, "np.ndarray | None"]


@fields()
class LogisticProgress:
    """Where the fit is between two readings.

    Attributes
    ----------
    theta, step : ndarray of shape (r + 1, outputs)
        The next reading tries theta + s step: B above b.
    value, gap : float
        The objective at theta, and what a step still promises, relative to it.
    readings : int
    reason : str
        The name of a `Reason` once the fit is done.
    """

    theta: np.ndarray
    step: np.ndarray
    value: Any
    gap: Any
    readings: Any
    reason: Any

    def __init__(self, rank: int, outputs: int):
        self.theta = np.zeros((rank + 1, outputs))
        self.step = np.zeros((rank + 1, outputs))
        self.value = self.gap = np.inf
        self.readings, self.reason = 0, ""


@dataclass(frozen=True)
class LogisticPasses:
    r"""The problem of `NewtonLogistic`, by whole Newton steps of one reading each.

    Parameters
    ----------
    penalty, tol, max_iter, fit_intercept
        As in `NewtonLogistic`; ``max_iter`` are readings.

    Notes
    -----
    About ten readings of O(n r² outputs²) operations, and O(r² outputs²) memory.

    Examples
    --------
    >>> F, Y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> def read():
    ...     yield F[:1], Y[:1], None
    ...     yield F[1:], Y[1:], None
    >>> result = LogisticPasses().solve(read, LogisticProgress(1, 1))
    >>> result.coef.round(3), (result.intercept + 0.0).round(3), result.converged
    (array([[1.007]]), array([0.]), True)
    """

    penalty: float = 1.0
    tol: float = 1e-10
    max_iter: int = 100
    fit_intercept: bool = True

    def solve(
        self,
        read: Callable[[], Iterable[Block]],
        at: LogisticProgress,
        keep: Callable[[], None] = lambda: None,
    ) -> Result:
        """The solution; ``at`` is changed until it is done.

        ``read()`` reads all rows, in the same blocks each time, and ``keep()`` is called after each
        reading: ``at`` then holds all that the next one needs.
        """
        while not at.reason:
            sums = _Sums(self, at)
            for F, Y, w in read():
                sums.add(F, Y, w)
            self._move(at, sums)
            keep()
        theta, reason = at.theta, Reason[at.reason]
        if theta.shape[1] > 1:  # softmax ignores a shift of all outputs: the sum 0 makes it unique
            theta = theta - theta.mean(axis=1, keepdims=True)
        return Result(
            theta[:-1], theta[-1], at.value, at.gap, at.readings, reason is Reason.CONVERGED,
            reason, solver="LogisticPasses", certificate="relative decrement",
        )  # fmt: skip

    def _move(self, at: LogisticProgress, sums: _Sums) -> None:
        """What a reading has found, and what the next one tries."""
        at.readings += 1
        values = sums.losses + self.penalty / 2 * np.array(
            [np.sum(theta[:-1] ** 2) for theta in sums.points]
        )
        best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        if not values[best] < at.value:
            at.reason = (Reason.CONVERGED if at.gap <= self.tol else Reason.STALLED).name
            return
        at.theta, at.step = sums.points[best], np.zeros_like(at.theta)
        if best:  # the next reading is there alone
            at.value = np.inf
        else:
            at.value = float(values[0])
            gradient, H = sums.system()
            at.step = (
                -scipy.linalg.solve(H, gradient.T.ravel(), assume_a="pos")
                .reshape(at.theta.T.shape)
                .T
            )
            at.gap = max(-float(np.sum(gradient * at.step)), 0.0) / 2 / max(at.value, 1e-300)
            if at.gap <= self.tol:
                at.reason = Reason.CONVERGED.name
        if not at.reason and at.readings >= self.max_iter:
            at.reason = Reason.LIMIT.name


class _Sums:
    """What a reading adds up: objectives at all lengths, and derivatives at the first."""

    def __init__(self, solver: LogisticPasses, at: LogisticProgress):
        self.solver, self.at = solver, at
        sizes = SIZES if at.step.any() else (0.0,)
        self.points = [at.theta + size * at.step for size in sizes]
        self.sizes, self.losses = sizes, np.zeros(len(sizes))
        rank, outputs = at.theta.shape
        self.gradient = np.zeros((rank, outputs))
        self.H = np.zeros((outputs, rank, outputs, rank))

    def add(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray | None) -> None:
        w = np.ones((len(F), 1)) if weights is None else weights[:, None]
        T = np.column_stack([F, np.full(len(F), float(self.solver.fit_intercept), F.dtype)])
        f, change = (T.astype(np.float64) @ part for part in (self.at.theta, self.at.step))
        self.losses += [np.sum(w * _losses(f + size * change, Y)) for size in self.sizes]
        p = probabilities(f + self.sizes[0] * change)
        self.gradient += T.T @ (w * (p - Y))
        for a in range(p.shape[1]):
            for b in range(a + 1):
                spread = p[:, a] * ((a == b) - p[:, b])
                part = (T * (w[:, 0] * spread)[:, None].astype(T.dtype)).T @ T
                self.H[a, :, b] += part
                if a != b:
                    self.H[b, :, a] += part.T

    def system(self) -> tuple[np.ndarray, np.ndarray]:
        """The gradient, and the Hessian (all outputs one after the other), with the penalty."""
        theta, penalty = self.points[0], self.solver.penalty
        rank, outputs = theta.shape
        gradient = self.gradient.copy()
        gradient[:-1] += penalty * theta[:-1]
        flat = self.H.reshape(outputs * rank, outputs * rank)
        shift = np.arange(outputs) * rank + rank - 1  # where the intercepts are
        ridge = np.full(len(flat), penalty)
        ridge[shift] = 0.0 if self.solver.fit_intercept else 1.0
        flat[np.diag_indices_from(flat)] += ridge
        if outputs > 1:  # the objective is flat along equal shifts, and so is the gradient
            flat[np.ix_(shift, shift)] += 1.0
        return gradient, flat


def _losses(f: np.ndarray, Y: np.ndarray) -> np.ndarray:
    if f.shape[1] == 1:
        return np.logaddexp(0, f) - Y * f
    return -np.sum(Y * log_softmax(f, axis=1), axis=1, keepdims=True)
