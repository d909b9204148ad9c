"""The mean of two machines with different kernels, which often errs less than either.

What one kernel cannot see, another may. Which two, and whether the mean is better at all, is
decided by predictions for rows that neither was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.selection.candidates import Candidate
from mercer.selection.machines import Machine
from mercer.selection.tasks import Task

__all__ = ["HeldPredictions", "MeanMachine", "mean_name"]

GAIN = 0.01  # part of the loss by which a mean must be better than the best machine alone


@dataclass
class MeanMachine(Machine):
    """The mean of the outputs of two machines after their calibration.

    For numbers it is the mean of the predictions. For classes it is the mean of the log-odds, so
    that a probability is the geometric mean of two, divided by the sum over the classes.

    Attributes
    ----------
    better, other : Machine
    numbers : tuple of two ndarray of int
        Of the rows that each part has stored, the numbers among all rows.
    finish : callable
    """

    better: Machine
    other: Machine
    numbers: tuple[np.ndarray, ...]
    finish: Any

    @property
    def parts(self) -> tuple[Machine, ...]:
        return self.better, self.other

    @property
    def learner(self) -> Any:
        """That of the better machine."""
        return self.better.learner

    @property
    def kernel(self) -> Any:
        """That of the better machine."""
        return self.better.kernel

    def again(self, share: float = 1.0) -> dict[str, Any]:
        """That of the better machine."""
        return self.better.again(share)

    @property
    def penalty(self) -> float:
        """That of the better machine."""
        return self.better.penalty

    def outputs(self, M: Any) -> np.ndarray:
        """Of the rows of an encoded table, (n, outputs)."""
        one, other = (part.finish.slope * part.outputs(M) + part.finish.bias for part in self.parts)
        return (one + other) / 2

    @property
    def stored(self) -> np.ndarray:
        return np.union1d(*self.numbers)

    @property
    def kind(self) -> str:
        kinds = {part.kind for part in self.parts}
        return kinds.pop() if len(kinds) == 1 else "training rows"

    def contributions(self, M: Any, outputs: np.ndarray) -> np.ndarray:
        stored = self.stored
        found = np.zeros((len(M), len(stored)))
        for part, own in zip(self.parts, self.numbers):
            added = part.finish.slope / 2 * part.contributions(M, outputs)
            found[:, np.searchsorted(stored, own)] += added
        return found

    @property
    def description(self) -> str:
        return "the mean of " + "; and ".join(part.description for part in self.parts)


class HeldPredictions:
    """Of each family of kernels, the predictions of its best candidate for rows that were held out.

    Parameters
    ----------
    task : Task
    most : int
        Bytes of the predictions of one candidate; larger ones are not kept.
    """

    def __init__(self, task: Task, most: int):
        self.task, self.most = task, most
        self._best: dict[tuple, tuple[dict, Candidate, np.ndarray]] = {}

    def keep(self, row: dict, candidate: Candidate, predicted: np.ndarray) -> None:
        """Keep the predictions of a candidate, if it is the best of its family on these rows."""
        key = row["rows"], candidate.family, candidate.machine
        if predicted.nbytes <= self.most and (
            key not in self._best or row["loss"] < self._best[key][0]["loss"]
        ):
            self._best[key] = row, candidate, predicted

    def best(self) -> list[tuple[dict, Candidate, np.ndarray]]:
        """The row of the leaderboard, the candidate and the predictions of each family's best."""
        return list(self._best.values())

    def of(self, name: str, rows: int) -> np.ndarray | None:
        """The predictions of a candidate on a rung of so many rows, if they were kept."""
        found = [
            p for row, _, p in self._best.values() if (row["name"], row["rows"]) == (name, rows)
        ]
        return found[0] if found else None

    def partner(
        self, winner: dict, y: np.ndarray, judged: np.ndarray, weights: np.ndarray | None
    ) -> tuple[dict, Candidate, np.ndarray] | None:
        """The candidate whose mean with the winner has the least loss, and the mean predictions.

        None where no mean has a loss that is 1% smaller than that of the winner alone.
        """
        own = self.of(winner["name"], winner["rows"])
        if own is None:
            return None
        found, least = None, (1 - GAIN) * winner["loss"]
        w = None if weights is None else weights[judged]
        for row, candidate, predicted in self._best.values():
            if row["rows"] != winner["rows"] or row["name"] == winner["name"]:
                continue
            mean = self.task.mean(own, predicted)
            loss = self.task.loss(y[judged], mean[judged], w)
            if loss < least:
                found, least = (row, candidate, mean), loss
        return found


def mean_name(one: str, other: str) -> str:
    """What the leaderboard calls the mean of two candidates."""
    return f"mean of {one} and {other}"
