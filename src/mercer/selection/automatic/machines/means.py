"""The mean of machines with different kernels, which often errs less than each of them.

What one kernel cannot see, another may. Which machines, and whether their mean is better at all, is
decided by predictions for rows that none of them was fitted to: the best machine comes first, then
the one whose mean with it has the least loss, and so on, as in the selection of ensembles from
libraries of models (Caruana et al. 2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.persistence import each, fields, whole
from mercer.selection.automatic.candidates import Candidate
from mercer.selection.automatic.machines.machines import Machine
from mercer.selection.automatic.settings import SearchSettings

HELD_SHARE = 1 / 64  # of the memory, for the predictions of one candidate
MOST = 4  # machines of a mean: predictions take as long as those of all


@dataclass
@fields(numbers=each(whole()))
class MeanMachine(Machine):
    """The mean of the outputs of some machines after their calibration.

    For numbers it is the mean of the predictions. For classes it is the mean of the log-odds, so
    that a probability is the geometric mean of theirs, divided by the sum over the classes.
    """

    machines: tuple[Machine, ...]  # the best one first
    #: of the rows that each machine has stored, the numbers among all rows
    numbers: tuple[np.ndarray, ...]
    finish: Any

    @property
    def parts(self) -> tuple[Machine, ...]:
        return self.machines

    @property
    def learner(self) -> Any:
        """That of the best machine."""
        return self.machines[0].learner

    @property
    def kernel(self) -> Any:
        """That of the best machine."""
        return self.machines[0].kernel

    @property
    def smooth_kernel(self) -> Any:
        """That of the best machine."""
        return self.machines[0].smooth_kernel

    @property
    def source(self) -> Any:
        """That of the best machine."""
        return self.machines[0].source

    def again(self, share: float = 1.0) -> dict[str, Any]:
        """That of the best machine."""
        return self.machines[0].again(share)

    @property
    def penalty(self) -> float:
        """That of the best machine."""
        return self.machines[0].penalty

    def outputs(self, M: Any) -> np.ndarray:
        """Of the rows of an encoded table, (n, outputs)."""
        calibrated = [part.finish.slope * part.outputs(M) + part.finish.bias for part in self.parts]
        return np.mean(calibrated, axis=0)

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
        for part, own in zip(self.parts, self.numbers):
            added = part.finish.slope / len(self.parts) * part.contributions(M, outputs)
            found[:, np.searchsorted(stored, own)] += added
        return found

    @property
    def description(self) -> str:
        return "the mean of " + "; and ".join(part.description for part in self.parts)


class HeldPredictions:
    """Of each family of machines, what its best candidate predicts for rows that were held out.

    Predictions of one candidate that are a large part of the memory are not kept.
    """

    def __init__(self, settings: SearchSettings):
        self.task, self.gain = settings.task, settings.sizes.gain
        self.kernels = settings.only == "kernels"
        self.most = HELD_SHARE * settings.memory
        self._best: dict[tuple, tuple[dict, Candidate, np.ndarray]] = {}

    def keep(self, row: dict, candidate: Candidate, predicted: np.ndarray) -> None:
        """Keep the predictions of a candidate, if it is the best of its family on these rows."""
        key = row["rows"], *candidate.kin
        if self.kernels and candidate.simple:
            return
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

    def partners(
        self, winner: dict, y: np.ndarray, judged: np.ndarray, weights: np.ndarray | None
    ) -> list[tuple[dict, Candidate, np.ndarray]]:
        """The machines that join the winner, each with the mean predictions of all until then.

        Each is the one whose mean with those before has the least loss, as long as this is 1%
        smaller than the loss before.
        """
        own = self.of(winner["name"], winner["rows"])
        if own is None:
            return []
        w = None if weights is None else weights[judged]
        others = [
            (row, candidate, predicted)
            for row, candidate, predicted in self._best.values()
            if row["rows"] == winner["rows"] and row["name"] != winner["name"]
        ]
        found, members, least = [], [own], winner["loss"]
        while others and len(members) < MOST:
            means = [self.task.mean([*members, predicted]) for _, _, predicted in others]
            losses = [self.task.loss(y[judged], mean[judged], w) for mean in means]
            best = int(np.argmin(losses))
            if not losses[best] < (1 - self.gain) * least:
                break
            row, candidate, predicted = others.pop(best)
            found.append((row, candidate, means[best]))
            members.append(predicted)
            least = losses[best]
        return found


def mean_name(names: list[str]) -> str:
    """What the leaderboard calls the mean of some candidates, and one candidate alone."""
    return f"mean of {' + '.join(names)}" if len(names) > 1 else names[0]
