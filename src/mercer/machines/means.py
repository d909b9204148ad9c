"""The weighted mean of machines with different kernels, which often errs less than each of them.

What one kernel cannot see, another may. Which machines, what each weighs, and whether their mean is
better at all, is decided by predictions for rows that none of them was fitted to: the machine that
lowers the loss of the mean most is added to it, again and again, and what was added more often
weighs more (Caruana et al., "Ensemble selection from libraries of models", ICML 2004). The score of
the mean is not that of the rows that chose the weights: those of each fold are predicted with the
weights that the other folds choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.machines.candidates import Recipe, Tried
from mercer.machines.machines import Machine, Summand, times
from mercer.machines.settings import SearchSettings
from mercer.machines.tasks import Task
from mercer.persistence import each, fields, floats, whole
from mercer.samples import Samples

HELD_SHARE = 1 / 64  # of the memory, for the predictions of one candidate
MOST, LEAST_SHARE = 4, 0.03  # machines of a mean, whose predictions take as long as those of all
ROUNDS, POOL = 40, 8  # additions to a mean, and machines of which each is the best


def _of_best(name: str) -> Any:
    """What the best machine of a mean has, as an attribute of the mean."""
    return property(lambda mean: getattr(mean.machines[0], name))


@dataclass
@fields(numbers=each(whole()), shares=floats(1, lambda mean: len(mean.machines)))
class MeanMachine(Machine):
    """The weighted mean of the outputs of some machines after their calibration.

    For numbers it is the mean of the predictions. For classes it is the mean of the log-odds, so
    that a probability is the geometric mean of theirs, divided by the sum over the classes.
    """

    machines: tuple[Machine, ...]  # the best one first
    #: of the rows that each machine has stored, the numbers among all rows
    numbers: tuple[np.ndarray, ...]
    shares: np.ndarray  # the weights of the machines, of sum 1
    finish: Any

    @property
    def parts(self) -> tuple[Machine, ...]:
        return self.machines

    learner, penalty = _of_best("learner"), _of_best("penalty")
    kernel, smooth_kernel, source = map(_of_best, ("kernel", "smooth_kernel", "source"))

    def again(self, share: float = 1.0) -> Recipe:
        """That of the best machine."""
        return self.machines[0].again(share)

    def outputs(self, M: Samples) -> np.ndarray:
        """The outputs for the rows of an encoded table, (n, outputs)."""
        calibrated = [part.finish.slope * part.outputs(M) + part.finish.bias for part in self.parts]
        return np.tensordot(self.shares, calibrated, 1)

    def summands(self) -> list[Summand]:
        return [
            times(each, share * np.asarray(part.finish.slope))
            for share, part in zip(self.shares, self.parts)
            for each in part.summands()
        ]

    @property
    def stored(self) -> np.ndarray:
        return np.unique(np.concatenate(self.numbers))

    @property
    def kind(self) -> str:
        kinds = {part.kind for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else "training rows"

    def contributions(self, M: Any, outputs: np.ndarray) -> np.ndarray:
        stored = self.stored
        found = np.zeros((len(M), len(stored)))
        for part, own, share in zip(self.parts, self.numbers, self.shares):
            slope = np.asarray(part.finish.slope)  # one, or one for each of several targets
            slope = slope[outputs][:, None] if slope.ndim else slope
            added = slope * share * part.contributions(M, outputs)
            found[:, np.searchsorted(stored, own)] += added
        return found

    @property
    def description(self) -> str:
        parts = zip(self.shares, self.parts)
        return "the mean of " + "; and ".join(f"{p.description} ({s:.0%})" for s, p in parts)


class HeldPredictions:
    """What the best candidate of each family of machines predicts for the held-out rows.

    Predictions of one candidate that are a large part of the memory are not kept.
    """

    def __init__(self, settings: SearchSettings):
        self.task = settings.task
        self.kernels = settings.only == "kernels"
        self.most = HELD_SHARE * settings.memory
        self._best: dict[tuple, tuple[Tried, np.ndarray]] = {}

    def keep(self, row: Tried, predicted: np.ndarray) -> None:
        """Keep the predictions of a candidate, if it is the best of its family on these rows."""
        if row.candidate is None or (self.kernels and row.candidate.simple):
            return
        key = row.rows, *row.candidate.kin
        if predicted.nbytes <= self.most and (
            key not in self._best or row.loss < self._best[key][0].loss
        ):
            self._best[key] = row, predicted

    def of(self, name: str, rows: int) -> np.ndarray | None:
        """The predictions of a candidate on a rung of so many rows, if they were kept."""
        found = [p for row, p in self._best.values() if (row.name, row.rows) == (name, rows)]
        return found[0] if found else None

    def weigh(
        self,
        winner: Tried,
        y: np.ndarray,
        parts: np.ndarray,
        weights: np.ndarray | None,
    ) -> Weighed | None:
        """The mean of the winner and others with the least loss; None if it is the winner alone.

        ``parts`` are those of the rows, -1 of those that are not judged. The predictions of each
        part are those of weights that the other parts have chosen.
        """
        here = [kept for kept in self._best.values() if kept[0].rows == winner.rows]
        own = [kept for kept in here if kept[0].name == winner.name]
        others = sorted((k for k in here if k not in own), key=lambda kept: kept[0].loss)
        if not own or not others:
            return None
        pool = [*own, *others[: POOL - 1]]
        judged = parts >= 0
        if len(np.unique(parts[judged])) < 2:
            return None  # nothing would judge the weights
        votes = np.array([self.task.votes(predicted[judged]) for _, predicted in pool])
        y, own_part, w = y[judged], parts[judged], None if weights is None else weights[judged]

        def chosen(rows: np.ndarray) -> np.ndarray:
            return greedy_weights(
                self.task, votes[:, rows], y[rows], None if w is None else w[rows]
            )

        shares = chosen(np.ones(len(y), bool))
        # the winner comes first, the others by their weights
        order = [0, *(i for i in np.argsort(-shares, kind="stable") if i and shares[i] > 0)]
        if len(order) == 1:
            return None
        mean = np.empty_like(votes[0])
        for part in np.unique(own_part):
            rows = own_part == part
            mean[rows] = np.tensordot(chosen(~rows), votes[:, rows], 1)
        predicted = np.full_like(pool[0][1], np.nan, dtype=np.float64)
        predicted[judged] = self.task.of_votes(mean)
        rows = [pool[i][0] for i in order]
        return Weighed(rows, shares[order].tolist(), predicted)


class Weighed(NamedTuple):
    """A mean that a search has chosen: the winner first, then by their weights."""

    rows: list[Tried]
    weights: list[float]
    predicted: np.ndarray  # of each row by weights that other rows have chosen; NaN in no fold

    @property
    def name(self) -> str:
        return mean_name([row.name for row in self.rows])


def greedy_weights(
    task: Task, votes: np.ndarray, y: np.ndarray, w: np.ndarray | None = None
) -> np.ndarray:
    """The weights of some machines, of sum 1, for the least loss of their mean; the first joins.

    ``votes`` are (machines, n ...). Weights below 0.03 are dropped, and all but the four largest.

    Examples
    --------
    >>> from mercer.machines.tasks import Regression
    >>> y = np.zeros(3)
    >>> greedy_weights(Regression(), np.array([y + 1, y - 3, y + 9]), y).tolist()
    [0.75, 0.25, 0.0]
    """
    counts, total = np.zeros(len(votes)), votes[0].astype(np.float64)
    counts[0] = 1
    for taken in range(2, ROUNDS + 1):
        losses = [task.loss(y, task.of_votes((total + each) / taken), w) for each in votes]
        best = int(np.argmin(losses))
        counts[best] += 1
        total += votes[best]
    shares = counts / ROUNDS
    shares[1:][shares[1:] < LEAST_SHARE] = 0
    shares[1 + np.argsort(-shares[1:], kind="stable")[MOST - 1 :]] = 0
    return np.round(shares / shares.sum(), 4)


def mean_name(names: list[str]) -> str:
    """What the leaderboard calls the mean of some candidates, and one candidate alone."""
    return f"mean of {' + '.join(names)}" if len(names) > 1 else names[0]
