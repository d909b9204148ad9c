"""Train the network of a learnt neighbourhood by Adam; held-out rows choose the epoch that is kept.

A step takes queries and candidates, the queries among them. Each query is predicted by all other
candidates, p = Σ P_j y_j with P = softmax(-|z - z_j|), and the gradient of the mean loss passes
through all rows. After learning, leave-one-out errors of the training rows are no estimate: the
rows that learnt together know each other. So other rows judge the checkpoints and the temperature.

The kernel smoother in z is p(x) = Σ P_j y_j, where P_j is w_j exp(-τ |z - z_j|) over their sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer import _native
from mercer.solvers.neighbourhoods.network import (
    Draws,
    Network,
    TrainingRows,
    padded,
    padded_columns,
)
from mercer.solvers.result import Reason, Result
from mercer.threads import count_jobs, ordered_map, stopping

TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
LEAST_PROBABILITY = 1e-7
PART = 256  # queries that a thread answers at a time


def smooth(
    queries: np.ndarray,
    Z: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    temperatures: tuple[float, ...],
    n_jobs: int | None,
) -> np.ndarray:
    """p of each query for each temperature, (temperatures, n, outputs); arrays are float32."""
    n = len(queries)
    taus = np.array(temperatures, np.float32)
    values = np.empty((len(taus), n, targets.shape[1]), np.float32)

    def answer(rows: slice) -> None:
        out = np.empty((len(taus), len(queries[rows]), targets.shape[1]), np.float32)
        _native.neighbourhood_smooth(queries[rows], Z, targets, weights, taus, out)
        values[:, rows] = out

    for _ in ordered_map(answer, [slice(s, s + PART) for s in range(0, n, PART)], n_jobs):
        pass
    return values


def held_out_loss(
    values: np.ndarray, targets: np.ndarray, weights: np.ndarray, classes: bool
) -> float:
    """Mean of -log p of the right class, or of squared errors; targets are as in `TrainingRows`."""
    if classes:
        right = (values.astype(np.float64) * targets).sum(axis=1)
        losses = -np.log(np.maximum(right, LEAST_PROBABILITY))
    else:
        losses = ((values.astype(np.float64) - targets) ** 2).mean(axis=1)
    return float(np.average(losses, weights=weights))


def vote_shares(
    queries: np.ndarray, Z: np.ndarray, weights: np.ndarray, temperature: float
) -> np.ndarray:
    """P: the share of each row in the prediction of each query, (n, rows)."""
    D = cdist(queries, Z)
    votes = weights * np.exp(temperature * (D.min(axis=1, keepdims=True) - D))
    return votes / votes.sum(axis=1, keepdims=True)


def nearest_shares(
    distances: np.ndarray, nearest: np.ndarray, weights: np.ndarray, temperature: float
) -> np.ndarray:
    """P of the nearest rows alone, (n, k); rows that were not found (-1) have no share.

    Where nothing was found, all shares are 0.
    """
    D = distances.astype(np.float64)
    missing = nearest < 0
    least = np.where(missing, np.inf, D).min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        votes = np.where(missing, 0.0, weights[nearest] * np.exp(temperature * (least - D)))
    return votes / np.maximum(votes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


def smooth_nearest(
    distances: np.ndarray,
    nearest: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    temperature: float,
) -> np.ndarray:
    """p of each query over its nearest rows alone, (n, outputs)."""
    n, k = nearest.shape
    P = nearest_shares(distances, nearest, weights, temperature)
    shape = n, len(weights)
    rows = np.maximum(nearest, 0).ravel()
    return sp.csr_array((P.ravel(), rows, np.arange(0, n * k + 1, k)), shape=shape) @ targets


ROWS_OF_A_THREAD = 256  # candidates below which another thread does not pay
WARM_UP = 20  # steps in which the rate rises; they also tell how long a step takes
SEGMENTS = 12  # parts of a run: each but the first begins with new cells
JUDGED = 6  # checkpoints of a run
FEW = 300  # held-out rows that judge the checkpoints; all of them judge the one that is kept
PAIRS = 3e7  # most pairs of rows that a checkpoint compares
FEWEST_JUDGES = 200  # held-out rows that judge, however many rows they are compared with
UNJUDGED = 0.85  # part of the time that is left for steps


class HeldOutScores(NamedTuple):
    """What the held-out rows said after a number of steps."""

    step: int
    loss: float
    temperature: float


@dataclass(frozen=True)
class NeighbourhoodResult(Result):
    """The network that held-out rows liked best.

    Attributes
    ----------
    network : Network
    temperature : float
        τ in exp(-τ |z - z_j|).
    curve : list of HeldOutScores
    """

    _: KW_ONLY
    network: Network
    temperature: float = 1.0
    curve: list[HeldOutScores] = field(default_factory=list)


@dataclass(frozen=True)
class NeighbourhoodSolver:
    """Steps of Adam, with β = (0.9, 0.999), a warm-up and a rate that falls as a cosine to 0.

    Parameters
    ----------
    steps : int
    batch, candidates : int
        Queries of a step, and all its rows.
    learning_rate : float
    dropout : float
        Share of the hidden units that are left out of a step.
    width, hidden : int
        Widths of z and of the hidden layer; hidden=0 is a network linear in the encoded columns.
    """

    steps: int = 1000
    batch: int = 256
    candidates: int = 1024
    learning_rate: float = 0.03
    dropout: float = 0.0
    width: int = 32
    hidden: int = 256

    def solve(
        self,
        rows: TrainingRows,
        held: TrainingRows,
        rng: np.random.Generator,
        *,
        n_jobs: int | None = None,
        seconds: float = np.inf,
        report: Callable[[HeldOutScores], object] | None = None,
        start: NeighbourhoodResult | None = None,
    ) -> NeighbourhoodResult:
        """Train on rows, and judge by the held-out rows, which may be none.

        With a limit of ``seconds`` there are fewer steps, as many as the first ones promise. After
        Ctrl-C the best network so far is returned, with the reason ``INTERRUPTED``.

        ``start`` is a result for the same rows to go on from: the rate rises and falls once more
        (a warm restart), and its network is kept unless the held-out rows like another one better.
        (Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.)
        """
        run = _Run(self, rows, held, rng, n_jobs, perf_counter() + seconds, report, start)
        reason = Reason.CONVERGED
        try:
            run.train()
        except KeyboardInterrupt:
            reason = Reason.INTERRUPTED
        if stopping():
            reason = Reason.INTERRUPTED
        network, best = run.best(last=reason is Reason.CONVERGED)
        return NeighbourhoodResult(
            network.parameters, objective=best.loss, gap=0.0, iterations=run.total, reason=reason,
            solver="the neighbourhood solver", certificate="held-out loss", network=network,
            temperature=best.temperature, curve=run.curve,
        )  # fmt: skip


class _Run:
    """One run: what changes from step to step."""

    def __init__(
        self,
        solver: NeighbourhoodSolver,
        rows: TrainingRows,
        held: TrainingRows,
        rng: np.random.Generator,
        n_jobs: int | None,
        deadline: float,
        report: Callable[[HeldOutScores], object] | None,
        start: NeighbourhoodResult | None,
    ):
        self.solver, self.rows, self.held, self.rng = solver, rows, held, rng
        self.deadline, self.report, self.n_jobs = deadline, report, n_jobs
        d, q = rows.numbers.shape[1], rows.extra.shape[1]
        if start is None:
            self.network = Network.drawn(d, q, solver.width, solver.hidden, rng)
        else:
            self.network = start.network.copy()
        self.draws = Draws(rows.count, solver.batch, solver.candidates, rng)
        self.jobs = min(count_jobs(n_jobs), max(1, self.draws.candidates // ROWS_OF_A_THREAD))
        self.native = _native.NeighbourhoodTraining(
            d, padded(q, 8), padded(solver.width, 16), padded(solver.hidden, 8),
            rows.targets.shape[1], self.draws.candidates, self.draws.queries, rows.classes,
            self.jobs,
        )  # fmt: skip
        size = self.native.size
        self.moments = np.zeros((2, size), np.float32)
        self.extra, self.labels = padded_columns(rows.extra), rows.labels
        self.weights = (rows.weights / rows.weights.mean()).astype(np.float32)
        self.step, self.seed = 0, int(rng.integers(2**62))
        self.curve: list[HeldOutScores] = [] if start is None else list(start.curve)
        self.before = 0 if start is None else start.iterations
        self._best: tuple[Network, HeldOutScores] | None = None
        self._start: tuple[Network, HeldOutScores] | None = None
        if start is not None:
            first = HeldOutScores(start.iterations, start.objective, start.temperature)
            self._best = self._start = start.network, first
        self._embedded: tuple[int, np.ndarray] | None = None

    @property
    def total(self) -> int:
        """Steps, with those of a run that this one goes on from."""
        return self.before + self.step

    def train(self) -> None:
        """All steps."""
        steps, began = self.solver.steps, perf_counter()
        self.advance(min(WARM_UP, steps), steps)
        stepping = perf_counter() - began
        if np.isfinite(self.deadline):
            steps = self.affordable(steps, UNJUDGED, stepping)
        for segment in range(SEGMENTS):
            end = (segment + 1) * steps // SEGMENTS
            if stopping() or (end <= self.step and (self.is_judged or segment < SEGMENTS - 1)):
                continue
            if self._best is not None and perf_counter() > self.deadline:
                break
            if segment > 0 and self.rows.count > self.solver.batch:
                self.renew_cells()
            advanced = perf_counter()
            self.advance(end, steps)
            stepping += perf_counter() - advanced
            if (segment + 1) % (SEGMENTS // JUDGED) == 0 and not self.is_judged:
                self.judge()
                if np.isfinite(self.deadline):  # the rate is to fall to 0 within the time
                    spent = perf_counter() - began
                    share = stepping / spent if spent > 0 else UNJUDGED  # a coarse clock
                    steps = self.affordable(steps, share, stepping)

    @property
    def is_judged(self) -> bool:
        """Whether the held-out rows have judged the network as it is."""
        return bool(self.curve) and self.curve[-1].step == self.total

    def affordable(self, steps: int, share: float, stepping: float) -> int:
        """So many steps of all as there is time for, if steps take this share of the time, and
        those up to now took ``stepping`` seconds."""
        left = max(self.deadline - perf_counter(), 0)
        each = max(stepping / max(self.step, 1), 1e-9)
        return min(steps, self.step + int(share * left / each))

    def renew_cells(self) -> None:
        chosen = self.draws.rows_of_cells()
        if isinstance(chosen, slice):
            Z = self.embedded()
        else:
            Z = self.network.embed(self.rows.numbers[chosen], self.extra[chosen], self.n_jobs)
        self.draws.renew_cells(Z, chosen)

    def advance(self, end: int, steps: int) -> None:
        """Steps up to the number ``end`` of ``steps``, which all threads share."""
        late = self.step > 0  # one step there is always

        def lead() -> None:
            try:
                while self.step < end and not stopping():
                    if (late or self.step) and perf_counter() > self.deadline:
                        return
                    self.take_step(steps)
            finally:
                self.native.close()

        def work(worker: int) -> None:
            if worker == 0:
                lead()
            else:
                self.native.help(worker)

        self.native.open()
        for _ in ordered_map(work, range(self.jobs), self.jobs):
            pass

    def take_step(self, steps: int) -> None:
        solver, network, rows, i = self.solver, self.network, self.rows, self.step
        rise = min(1.0, (i + 1) / WARM_UP)
        rate = solver.learning_rate * rise * (0.5 + 0.5 * np.cos(np.pi * min(i / steps, 1)))
        chosen, queries = self.draws.rows()
        self.native.run(
            network.parameters, *self.moments, network.running, rows.numbers, self.extra,
            rows.targets, self.labels, self.weights, chosen, queries, rate, i + 1.0,
            solver.dropout, self.seed + i,
        )  # fmt: skip
        self.step += 1

    def embedded(self) -> np.ndarray:
        """z of the training rows, for the network as it is."""
        if self._embedded is None or self._embedded[0] != self.step:
            Z = self.network.embed(self.rows.numbers, self.extra, self.n_jobs)
            self._embedded = self.step, Z
        return self._embedded[1]

    def judge(self) -> None:
        """Let the held-out rows judge the network as it is, and keep it if it is the best."""
        found = self.judged()
        self.curve.append(found)
        best = np.nan if self._best is None else self._best[1].loss
        if self.held.count == 0 or found.loss < best or np.isnan(best):
            self._best = self.network.copy(), found
        if self.report is not None:
            self.report(found)

    def judged(self) -> HeldOutScores:
        """What a few held-out rows say of the network as it is, at the best of all temperatures."""
        if self.held.count == 0:
            return HeldOutScores(self.total, np.nan, 1.0)
        return self.judgement(self.network, self.total, self.embedded(), FEW, TEMPERATURES)

    def judgement(
        self, network: Network, step: int, Z: np.ndarray, most: int, temperatures: tuple[float, ...]
    ) -> HeldOutScores:
        """The least loss of the first held-out rows, and its temperature; Z are training rows."""
        rows, held = self.rows, self.held
        count = min(held.count, most, max(FEWEST_JUDGES, int(PAIRS / rows.count)))
        held = held.take(np.arange(count))
        queries = network.embed(held.numbers, held.extra, self.n_jobs)
        values = smooth(queries, Z, rows.targets, rows.weights, temperatures, self.n_jobs)
        losses = [held_out_loss(v, held.targets, held.weights, held.classes) for v in values]
        best = int(np.argmin(losses))
        return HeldOutScores(step, losses[best], temperatures[best])

    def best(self, last: bool = True) -> tuple[Network, HeldOutScores]:
        """The best network so far; before the first checkpoint the network as it is.

        In the end (``last``) all held-out rows choose among the temperatures around its own, and
        say its loss, which is comparable with that of other runs.
        """
        if self._best is None:
            self.judge()
        assert self._best is not None
        if not last or self.held.count <= FEW or self._best is self._start:
            return self._best
        found = self.judged_by_all(*self._best)
        if self._start is not None:
            before = self.judged_by_all(*self._start)
            if before.loss < found.loss:
                return self._start
        return self._best[0], found

    def judged_by_all(self, network: Network, found: HeldOutScores) -> HeldOutScores:
        """What all held-out rows say of a network, at its temperature and those beside it."""
        if found.step == self.total:
            Z = self.embedded()
        else:
            Z = network.embed(self.rows.numbers, self.extra, self.n_jobs)
        place = TEMPERATURES.index(found.temperature)
        near = TEMPERATURES[max(0, place - 1) : place + 2]
        return self.judgement(network, found.step, Z, self.held.count, near)
