"""Perceptrons in the primal, f(x) = <w, x> + b: O(d) operations for each sample.

A sample with y f(x) <= 0 is a mistake, after which w += η y x and b += η y. With a penalty each
sample also makes w smaller, as in scikit-learn's stochastic gradient descent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mercer import _native
from mercer.solvers.linear.linear_rows import LinearRows
from mercer.solvers.result import Reason
from mercer.solvers.smo import Watch
from mercer.threads import raise_if_stopped


@dataclass
class LinearPerceptron:
    """The state of one machine.

    Attributes
    ----------
    v : ndarray of shape (d + 1,)
        The weights w are ``scale`` times v; the last entry is b, which is not scaled.
    lag : ndarray of shape (d + 1,) or None
        None if no average is wanted.
    q : ndarray of shape (d + 1,)
        How far the l1 penalty has moved each weight.
    state : ndarray of shape (5,)
        scale, the sum of the scales, the number of samples visited, the loss, and how far the l1
        penalty may have moved a weight.
    mistakes : list of int
        Number of mistakes in each epoch.
    history : list
        The (rows, times) of the mistakes of each epoch.
    """

    v: np.ndarray
    lag: np.ndarray | None = None
    q: np.ndarray = field(default_factory=lambda: np.empty(0))
    state: np.ndarray = field(default_factory=lambda: np.array([1.0, 0, 0, 0, 0]))
    mistakes: list[int] = field(default_factory=list)
    history: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def __post_init__(self):
        if not len(self.q):
            self.q = np.zeros_like(self.v)

    @property
    def weights(self) -> np.ndarray:
        """(w, b)."""
        return np.append(self.state[0] * self.v[:-1], self.v[-1])

    @property
    def average(self) -> np.ndarray:
        """The mean (w, b) of the machines after each sample."""
        assert self.lag is not None
        _, scales, time, *_ = self.state
        if time == 0:
            return self.weights
        mean = (scales * self.v[:-1] - self.lag[:-1]) / time
        return np.append(mean, self.v[-1] - self.lag[-1] / time)


@dataclass(frozen=True)
class LinearPerceptronSolver:
    """Epochs over the rows, in a new order each or in the given one.

    Parameters
    ----------
    max_iter, tol, patience, shuffle, seed
        The same as in `PerceptronSolver`.
    fit_intercept : bool
    decay : float in [0, 1]
        Factor of w at each sample, 1 - η α for the penalty α/2 |w|².
    shrink : float >= 0
        How far each sample moves its weights towards 0, η α for the penalty α |w|₁.
    keeps_history : bool

    Examples
    --------
    >>> rows = LinearRows(np.array([[-1.0], [-2.0], [1.0], [2.0]]), 0.0)
    >>> machine = LinearPerceptron(np.zeros(2))
    >>> solver = LinearPerceptronSolver(shuffle=False)
    >>> solver.run(rows, np.array([-1.0, -1, 1, 1]), np.ones(4), np.arange(4), machine).name
    'CONVERGED'
    >>> machine.weights.tolist(), machine.mistakes
    ([2.0, 0.0], [2, 0])
    """

    max_iter: int = 1000
    tol: float | None = 1e-3
    patience: int = 5
    shuffle: bool = True
    seed: int | np.random.RandomState = 0
    fit_intercept: bool = True
    decay: float = 1.0
    shrink: float = 0.0
    keeps_history: bool = False

    def run(
        self,
        X: LinearRows,
        y: np.ndarray,
        steps: np.ndarray,
        visited: np.ndarray,
        machine: LinearPerceptron,
        error: Callable[[np.ndarray], float] | None = None,
    ) -> Reason:
        """Change the machine, epoch by epoch; why it stopped.

        Parameters
        ----------
        X : LinearRows of shape (n, d + 1)
        y, steps : ndarray of shape (n,)
            Labels +1 and -1, and η of each row.
        visited : ndarray of int
            The rows, in their order.
        machine : LinearPerceptron
        error : callable, optional
            (w, b) -> the share of mistakes on rows held out: the machine stops where it no longer
            falls, instead of the loss.
        """
        penalised = self.decay != 1 or self.shrink > 0
        random = np.random.RandomState(self.seed) if isinstance(self.seed, int) else self.seed
        watch, n = Watch(self.tol, self.patience), len(visited)
        rows, values, times = np.empty(n, np.int64), np.empty(n), np.empty(n)
        for _ in range(self.max_iter):
            raise_if_stopped()
            machine.state[3] = 0
            made = _native.perceptron_epoch(
                *X.arrays[:3], random.permutation(visited) if self.shuffle else visited, y, steps,
                machine.v, machine.lag, machine.q, self.decay, self.shrink, self.fit_intercept,
                machine.state, rows, values, times,
            )  # fmt: skip
            if not np.isfinite(machine.state).all():
                raise np.linalg.LinAlgError("The values of a perceptron are not finite.")
            machine.mistakes.append(made)
            if self.keeps_history:
                machine.history.append((rows[:made].copy(), times[:made].copy()))
            if made == 0 and not penalised:  # nothing can change any more
                return Reason.CONVERGED
            loss = machine.state[3] / n if error is None else error(machine.weights)
            if watch.enough(loss):
                return Reason.UNCHANGED if made else Reason.CONVERGED
        return Reason.LIMIT
