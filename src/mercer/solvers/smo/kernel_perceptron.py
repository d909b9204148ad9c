"""Perceptrons on a Gram operator: f(x) = Σ α_i k(x_i, x) + b, changed at each mistake.

A sample i with y_i f(x_i) <= 0 is a mistake, after which α_i += η_i y_i (and b += η_i y_i). Several
machines, one for each class, visit the samples together. `PerceptronSolver.solve` keeps f for all
samples: those of a block are visited by a native loop on their part of K, and the rows of K of the
mistakes, which a row source keeps within its memory, then correct f. `PerceptronSolver.stream`
keeps α alone: it compares a few samples at a time with the support vectors, whose number may have
a limit. The primal form is in linear_perceptron.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mercer import _native
from mercer.gram import GramOperator
from mercer.persistence import fields
from mercer.solvers.result import Reason, Result
from mercer.solvers.rows import SMALL, row_source
from mercer.threads import raise_if_stopped

BLOCK = 512  # samples of a visit, after which their mistakes change f everywhere
ROUNDING = 1e-7  # relative error of K's entries: with 2,000 rows and more K may be kept in float32
CHUNK = 256  # samples that a stream compares with the support vectors at a time


@dataclass(frozen=True)
class PerceptronResult(Result):
    """What a perceptron learnt; ``gap`` is the number of mistakes in the last epoch.

    Attributes
    ----------
    machines : PerceptronStates
        The machines after the last sample.
    mistakes : ndarray of shape (epochs, machines)
        Mistakes in each epoch; -1 where a machine had already stopped.
    """

    machines: PerceptronStates = field(kw_only=True)
    mistakes: np.ndarray = field(kw_only=True)


@fields()
class PerceptronStates:
    """The state of several machines on n samples.

    Parameters
    ----------
    alpha : ndarray of shape (machines, n)
        Coefficients with which they start.
    bias : ndarray of shape (machines,)
    learns_bias : bool
        Whether b changes as well, at the same rate as α.
    keeps_history : bool
        Whether the mistakes are kept, in ``history``.

    Attributes
    ----------
    lag : ndarray of shape (machines, n)
        Σ of the changes of α, each times the number of samples visited before it.
    state : ndarray of shape (machines, 4)
        b, the lag of b, the number of samples visited, and the loss Σ max(0, -y f) since the loss
        was last set to 0.
    history : list of lists
        The (rows, values, times) of the mistakes of each machine, in parts; see `mistakes_of`.
    """

    lag: np.ndarray
    state: np.ndarray
    history: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]]

    def __init__(
        self,
        alpha: np.ndarray,
        bias: np.ndarray,
        *,
        learns_bias: bool = True,
        keeps_history: bool = False,
    ):
        self.learns_bias, self.keeps_history = learns_bias, keeps_history
        self.alpha = np.array(alpha, np.float64, order="C")
        self.lag = np.zeros_like(self.alpha)
        self.state = np.zeros((len(self.alpha), 4))
        self.state[:, 0] = bias
        self.history = [[] for _ in bias]

    @property
    def bias(self) -> np.ndarray:
        """b of each machine."""
        return self.state[:, 0]

    def taken(self, rows: np.ndarray) -> PerceptronStates:
        """The same machines on some of the samples, without their history."""
        found = PerceptronStates(
            self.alpha[:, rows], self.bias, learns_bias=self.learns_bias,
            keeps_history=self.keeps_history,
        )  # fmt: skip
        found.lag, found.state = self.lag[:, rows].copy(), self.state.copy()
        return found

    def copied(self) -> PerceptronStates:
        """A copy without the history."""
        return self.taken(np.arange(self.alpha.shape[1]))

    def widened(self, n: int) -> PerceptronStates:
        """The same machines on n samples; the added samples have α = 0."""
        more = n - self.alpha.shape[1]
        found = self.copied()
        found.alpha, found.lag = (np.pad(a, ((0, 0), (0, more))) for a in (self.alpha, self.lag))
        return found

    def average(self) -> tuple[np.ndarray, np.ndarray]:
        """α and b of the average of the machines after each sample."""
        time = np.maximum(self.state[:, 2], 1)
        return self.alpha - self.lag / time[:, None], self.bias - self.state[:, 1] / time

    def mistakes_of(self, machine: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Its mistakes: rows, y f(x) <= 0 before the change, and the samples visited before."""
        parts = self.history[machine]
        if not parts:
            return np.empty(0, np.int64), np.empty(0), np.empty(0)
        rows, values, times = (np.concatenate(part) for part in zip(*parts))
        return rows, values, times


class Watch:
    """When to stop: after ``patience`` epochs without progress by ``tol``, as scikit-learn does.

    Parameters
    ----------
    tol : float or None
        None to go on until an epoch has no mistakes.
    patience : int
    """

    def __init__(self, tol: float | None, patience: int):
        self.tol, self.patience = tol, patience
        self.best, self.idle = np.inf, 0

    def enough(self, loss: float) -> bool:
        """Whether to stop after an epoch with this loss, in the unit of ``tol``."""
        if self.tol is None:
            return False
        self.idle = self.idle + 1 if loss > self.best - self.tol else 0
        self.best = min(self.best, loss)
        return self.idle >= self.patience


@dataclass(frozen=True)
class PerceptronSolver:
    """Epochs over all samples, in a new order each or in the given one.

    Parameters
    ----------
    max_iter : int >= 1
        Most epochs.
    tol : float >= 0 or None
        A machine stops if its mean loss max(0, -y f) falls by less than this in ``patience``
        epochs; None means no such rule. A machine that made no mistake in an epoch always stops.
    patience : int >= 1
    shuffle : bool
    seed : int or RandomState
        Seed for the orders of the samples.
    budget : int, optional
        Most support vectors of each machine, for `stream`.
    cache_bytes : int
        Most bytes for rows of K.
    n_jobs : int or None
        Threads; None means all cores.

    Notes
    -----
    A mistake costs n operations, in `stream` as many as a machine has support vectors.

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import Linear
    >>> K = gram(Linear(), np.array([[-1.0], [-2.0], [1.0], [2.0]]))
    >>> y = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> result = PerceptronSolver(shuffle=False).solve(K, y)
    >>> result.coef.ravel().tolist(), result.mistakes.ravel().tolist()
    ([-1.0, 0.0, 1.0, 0.0], [2, 0])
    """

    max_iter: int = 1000
    tol: float | None = 1e-3
    patience: int = 5
    shuffle: bool = True
    seed: int | np.random.RandomState = 0
    budget: int | None = None
    cache_bytes: int = 2**30
    n_jobs: int | None = None

    def solve(
        self,
        K: GramOperator,
        Y: np.ndarray,
        steps: np.ndarray | None = None,
        start: PerceptronStates | None = None,
        held_out: np.ndarray | None = None,
    ) -> PerceptronResult:
        """Visit the samples epoch by epoch.

        Parameters
        ----------
        K : GramOperator of shape (n, n)
        Y : ndarray of shape (n, machines)
            Labels +1 and -1.
        steps : ndarray of shape (n, machines), optional
            η of each sample; None means 1.
        start : PerceptronStates, optional
            Where to begin; it is changed. None means 0, with a bias.
        held_out : ndarray of int, optional
            Samples that are not visited: a machine stops where its accuracy on them did not rise by
            ``tol`` in ``patience`` epochs.
        """
        machines = start or PerceptronStates(np.zeros(Y.T.shape), np.zeros(Y.shape[1]))
        steps = np.ones(Y.shape) if steps is None else steps
        if self.budget is not None:
            run = _Streaming(self, K, Y, steps, machines)
        else:
            run = _Kept(self, K, Y, steps, machines)
        visited = (
            np.arange(len(Y)) if held_out is None else np.setdiff1d(np.arange(len(Y)), held_out)
        )
        random = np.random.RandomState(self.seed) if isinstance(self.seed, int) else self.seed
        watches = [Watch(self.tol, self.patience) for _ in machines.bias]
        active, reason = np.arange(len(watches)), Reason.LIMIT
        reasons: dict[int, Reason] = {}
        epochs: list[np.ndarray] = []
        while len(active) and len(epochs) < self.max_iter:
            order = random.permutation(visited) if self.shuffle else visited
            machines.state[:, 3] = 0
            found = np.full(len(watches), -1)
            found[active] = run.epoch(order, active)
            if not np.isfinite(machines.state).all() or not np.isfinite(machines.alpha).all():
                raise np.linalg.LinAlgError("The values of a perceptron are not finite.")
            epochs.append(found)
            for m in active.tolist():
                loss = machines.state[m, 3] / len(visited)
                if held_out is not None:
                    loss = -float(((run.values(m, held_out) > 0) == (Y[held_out, m] > 0)).mean())
                if found[m] == 0:
                    reasons[m] = Reason.CONVERGED
                elif watches[m].enough(loss):
                    reasons[m] = Reason.UNCHANGED
            active = np.array([m for m in active if m not in reasons], np.intp)
        if not len(active):
            faultless = all(r is Reason.CONVERGED for r in reasons.values())
            reason = Reason.CONVERGED if faultless else Reason.UNCHANGED
        return self._result(machines, np.array(epochs), reason)

    def stream(
        self,
        K: GramOperator,
        Y: np.ndarray,
        steps: np.ndarray,
        machines: PerceptronStates,
        rows: np.ndarray,
    ) -> PerceptronResult:
        """Visit some rows once, in this order. Parameters are those of `solve`."""
        machines.state[:, 3] = 0
        every = np.arange(len(machines.bias))
        found = _Streaming(self, K, Y, steps, machines).epoch(rows, every)
        return self._result(machines, found[None], Reason.CONVERGED)

    def _result(
        self, machines: PerceptronStates, mistakes: np.ndarray, reason: Reason
    ) -> PerceptronResult:
        """The machines and their mistakes as a result."""
        last = mistakes[(mistakes >= 0).sum(axis=0) - 1, np.arange(mistakes.shape[1])]
        return PerceptronResult(
            machines.alpha.T, machines.bias, np.nan, float(last.sum()), len(mistakes),
            reason is not Reason.LIMIT, reason, "The perceptron",
            "number of mistakes in the last epoch", machines=machines, mistakes=mistakes,
        )  # fmt: skip


class _Kept:
    """Epochs with f kept for all samples."""

    def __init__(self, solver: PerceptronSolver, K, Y, steps, machines: PerceptronStates):
        self.solver, self.machines = solver, machines
        self.Y, self.steps = np.ascontiguousarray(Y.T, float), np.ascontiguousarray(steps.T, float)
        room = ROUNDING if K.held_bytes else 0.0  # a matrix that was given is not copied
        self.source = row_source(K, solver.cache_bytes, room, solver.n_jobs)
        n = K.shape[0]
        self.f = np.zeros((len(self.Y), n))  # without the bias
        # as many at once as a block of K may take, a quarter of the memory for rows
        most = int(np.sqrt(solver.cache_bytes / 4 / np.dtype(K.dtype).itemsize))
        several = SMALL if n <= SMALL else max(BLOCK, self.source.least_set)
        self.block = max(1, min(n, several, most))
        every = np.arange(n)
        whole = self.block == n
        self.whole = np.ascontiguousarray(self.source.block(every, every)) if whole else None
        for alpha, f in zip(machines.alpha, self.f):
            rows = np.flatnonzero(alpha)
            if len(rows):
                self.source.add(rows, alpha[rows], f)

    def values(self, machine: int, rows: np.ndarray) -> np.ndarray:
        """f at some samples."""
        return self.f[machine, rows] + self.machines.bias[machine]

    def epoch(self, order: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Visit the samples in this order; the mistakes of the active machines."""
        found = np.zeros(len(active), int)
        for s in range(0, len(order), self.block):
            raise_if_stopped()
            part = order[s : s + self.block]
            visit = self._visit_part if self.whole is None else self._visit_whole
            found += [visit(m, part) for m in active]
        return found

    def _visit_whole(self, m: int, order: np.ndarray) -> int:
        """Visit the samples in order, with all of K in memory; the number of mistakes."""
        assert self.whole is not None
        machines, n = self.machines, len(self.whole)
        return _visit(
            machines, m, self.whole, 0, order, self.Y[m], self.steps[m], self.f[m],
            machines.alpha[m], machines.lag[m], np.arange(n), 0, np.zeros(n),
        )  # fmt: skip

    def _visit_part(self, m: int, rows: np.ndarray) -> int:
        """Visit some rows: mistakes change f at the rows that follow, and then everywhere."""
        machines, y, steps, f = self.machines, self.Y[m, rows], self.steps[m, rows], self.f[m, rows]
        alpha, lag = machines.alpha[m, rows], machines.lag[m, rows]
        before, notes, reached = alpha.copy(), _Notes(len(rows)), 0
        while reached < len(rows):
            wanted = y * (f + machines.state[m, 0]) <= 0  # most of these will be mistakes
            wanted[:reached] = False
            table, slots, columns = self.source.lines(rows, wanted)
            made, reached = _native.perceptron_visit_rows(
                table, slots, columns, reached, y, steps, f, alpha, lag, machines.learns_bias,
                machines.state[m], *notes.arrays,
            )  # fmt: skip
            notes.keep(machines, m, rows, made)
        machines.alpha[m, rows], machines.lag[m, rows] = alpha, lag
        changed = np.flatnonzero(alpha != before)
        if len(changed):
            self.source.add(rows[changed], alpha[changed] - before[changed], self.f[m])
        return notes.count


class _Streaming:
    """Epochs that compare a few samples at a time with the support vectors."""

    def __init__(self, solver: PerceptronSolver, K, Y, steps, machines: PerceptronStates):
        self.K, self.machines, self.budget = K, machines, solver.budget or 0
        self.Y, self.steps = np.ascontiguousarray(Y.T, float), np.ascontiguousarray(steps.T, float)
        self.squares = np.asarray(K.diag(), float)
        self.cache_bytes = solver.cache_bytes

    def values(self, machine: int, rows: np.ndarray) -> np.ndarray:
        alpha = self.machines.alpha[machine]
        support = np.flatnonzero(alpha)
        parts = [rows[part] for part in self._chunks(len(rows), len(support))]
        values = [self.K.block(part, support) @ alpha[support] for part in parts]
        return np.concatenate(values) + self.machines.bias[machine]

    def epoch(self, order: np.ndarray, active: np.ndarray) -> np.ndarray:
        found = np.zeros(len(active), int)
        for part in self._chunks(len(order), self._support()):
            raise_if_stopped()
            chunk = order[part]
            kept = np.asarray(self.machines.alpha.any(axis=0))
            kept[chunk] = False
            rows = np.concatenate([np.flatnonzero(kept), chunk])
            K = np.ascontiguousarray(self.K.block(rows, chunk))
            for k, m in enumerate(active):
                alpha, lag = self.machines.alpha[m, rows], self.machines.lag[m, rows]
                found[k] += _visit(
                    self.machines, m, K, len(rows) - len(chunk), np.arange(len(chunk)),
                    self.Y[m, chunk], self.steps[m, chunk], alpha @ K.astype(float, copy=False),
                    alpha, lag, rows, self.budget, self.squares[rows],
                )  # fmt: skip
                self.machines.alpha[m, rows], self.machines.lag[m, rows] = alpha, lag
        return found

    def _support(self) -> int:
        """Support vectors that the machines may have at the end of an epoch."""
        machines, n = self.machines.alpha.shape
        return min(n, machines * self.budget if self.budget else n)

    def _chunks(self, n: int, support: int) -> Iterator[slice]:
        size = np.dtype(self.K.dtype).itemsize + 8
        step = int(np.clip(self.cache_bytes / size / max(support + CHUNK, 1), 1, CHUNK))
        return (slice(s, s + step) for s in range(0, n, step))


class _Notes:
    """Arrays in which the native loops write down mistakes."""

    def __init__(self, most: int):
        self.arrays = np.empty(most, np.int64), np.empty(most), np.empty(most)
        self.count = 0

    def keep(self, machines: PerceptronStates, m: int, rows: np.ndarray, made: int) -> None:
        """Append the first notes to the history, if it is kept."""
        self.count += made
        if made and machines.keeps_history:
            places, values, times = self.arrays
            kept = rows[places[:made]], values[:made].copy(), times[:made].copy()
            machines.history[m].append(kept)


def _visit(machines, m, K, offset, visits, y, step, f, alpha, lag, rows, budget, squares) -> int:
    """Let machine m visit columns of K, and note its mistakes."""
    notes = _Notes(len(visits))
    made = _native.perceptron_visit(
        K, offset, visits, y, step, f, alpha, lag, machines.learns_bias, machines.state[m], budget,
        squares, *notes.arrays,
    )  # fmt: skip
    notes.keep(machines, m, rows, made)
    return made
