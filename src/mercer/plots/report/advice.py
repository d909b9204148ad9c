"""What to do next about a model: whether more rows would help, and which labels to check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.machines import Metric
from mercer.plots.displays import InfluenceDisplay
from mercer.plots.fitted import task_of
from mercer.plots.marks import BOTTOM, LEFT, RIGHT, TOP, Axis, padded
from mercer.plots.report.section import Section
from mercer.plots.report.subject import Subject, said_of
from mercer.samples import Samples
from mercer.threads import Clock

SHARES = (0.125, 0.25, 0.5)  # shares of the training rows on the learning curve
FEWEST = 30  # training rows of its smallest fit
HELPS = 0.08  # share of the error that twice the rows must have saved if more are to help
GROWTH = 2.5  # the time of a fit may grow with this power of the rows
PILOT = 300  # rows of the fit that says whether there is time for others
MANY = 0.02  # share of the rows that were looked at
LISTED = 12  # suspected rows that are listed


class _OfTheSearch(Section):
    """Abstract: what needs the rows of the fit, and fits the machine of a search again."""

    place = "next"

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        return subject.known and subject.automatic


@dataclass(frozen=True)
class LearningCurve(_OfTheSearch):
    """The score on held-out rows of fits to parts of the training rows."""

    name = "learning"

    #: rows of each fit, ascending, and its score; the last fit is the model itself
    rows: np.ndarray
    score: np.ndarray
    #: the share of the error, or of the distance to a perfect score, that the last doubling of the
    #: rows has saved; negative where it has grown
    saved: float

    @property
    def advice(self) -> str:
        """Whether more rows would help, in a sentence."""
        percent = f"{100 * self.saved:.0f}%"
        if self.saved == 1:
            return (
                "The model makes no error on the held-out rows, so that they cannot tell whether "
                "more rows would help."
            )
        if self.saved >= HELPS:
            return (
                f"More rows would probably help: the last doubling of the rows has saved {percent} "
                "of the error."
            )
        if self.saved < 0:
            return (
                "The last doubling of the rows has not made the error smaller: more rows of the "
                "same kind would help little, or the held-out rows are too few to tell."
            )
        return (
            f"More rows of the same kind would probably help little: the last doubling of the rows "
            f"has saved {percent} of the error. Other columns could."
        )

    @classmethod
    def measured(cls, subject: Subject) -> LearningCurve | None:
        held_out = subject.X_test, subject.y_test
        return subject.clock.share(0.42).within(
            lambda clock: learning_curve(
                subject.model, subject.X, subject.y, held_out, subject.scorer, subject.score.value,
                clock, subject.seed,
            )
        )  # fmt: skip

    def drawn(self, report: Any) -> dict[str, Any]:
        """The score against the number of training rows, with the interval of the last score."""
        score = report.score
        low, high = padded(
            float(min(self.score.min(), score.low)), float(max(self.score.max(), score.high))
        )
        x = Axis(0, 1.05 * float(self.rows[-1]), LEFT, RIGHT, count=4, whole=True)
        y = Axis(low, high, BOTTOM, TOP)
        points = [(x.at(n), y.at(v)) for n, v in zip(self.rows.tolist(), self.score.tolist())]
        return {"x": x, "y": y, "points": points, "low": y.at(score.low), "high": y.at(score.high)}


@dataclass(frozen=True)
class Suspect:
    """A training row whose target is probably wrong: what is given, and what a fit without it says.

    ``surprise`` is the probability of the other classes, or the residual in standard deviations.
    """

    row: int
    given: str
    expected: str
    surprise: float


@dataclass(frozen=True)
class Suspicion(_OfTheSearch):
    """The first suspected rows, how many there are, and how many rows were looked at.

    If ``many`` of them are suspected, errors are often large, which need not be a fault of targets.
    """

    name = "suspicion"

    rows: list[Suspect]
    count: int
    looked_at: int

    @property
    def many(self) -> bool:
        return self.count > MANY * self.looked_at

    @classmethod
    def measured(cls, subject: Subject) -> Suspicion | None:
        return subject.clock.share(0.52).within(
            lambda clock: suspects(
                subject.model, subject.X, subject.y, subject.numbers(False), clock, subject.seed
            )
        )

    def doubts(self, report: Any) -> list[str]:
        if not self.count:
            return []
        are = "row has a target that is" if self.count == 1 else "rows have targets that are"
        said = f"{self.count:,} training {are} hard to believe"
        if report.task == "regression" and self.many:
            said = (
                f"{self.count:,} of {self.looked_at:,} training rows are far from what a fit "
                "without them expects: some errors are much larger than most, or targets are wrong"
            )
        return [f"{said}: see “Targets to check”."]

    def without_values(self, report: object) -> Suspicion:
        return replace(self, rows=[replace(row, given="", expected="") for row in self.rows])


def learning_curve(
    model: Any,
    X: Samples,
    y: np.ndarray,
    holdout: tuple[Any, np.ndarray],
    metric: Metric,
    own: float,
    clock: Clock,
    seed: int = 0,
) -> LearningCurve | None:
    """Fit the winning machine to parts of the rows; None where none of two sizes is in time."""
    task = task_of(model)
    machine, classes = model.machine_.parts[0], task.classes
    M, Z = model.encode(X), model.encode(holdout[0])
    order = np.random.default_rng(seed).permutation(len(y))

    def score(size: int) -> float:
        some = np.sort(order[:size])
        again = machine.again(size / len(y))
        recipe = replace(again, memory=model.memory, n_jobs=model.n_jobs, seed=seed)
        return metric(holdout[1], recipe.fit(task, machine.source, M[some], y[some])(Z), classes)

    sizes = [int(share * len(y)) for share in SHARES if share * len(y) >= FEWEST]
    rows, scores, before, took = [], [], min(PILOT, len(y)), 0.0
    if clock.limited and sizes and sizes[0] > PILOT:
        begun = clock.spent()
        score(PILOT)
        took = clock.spent() - begun
    for size in sizes:
        if took * (size / before) ** GROWTH > clock.left() or not clock.left():
            break
        begun = clock.spent()
        scores.append(score(size))
        rows.append(size)
        before, took = size, clock.spent() - begun
    if not rows or np.isnan([*scores, own]).any():
        return None
    rows.append(len(y))
    scores.append(own)
    error = np.abs(np.array(scores[-2:]) - metric.best)
    doublings = np.log2(rows[-1] / rows[-2])
    if not error.all():  # a growing error, or none, of which all is saved
        saved = -1.0 if error[1] else 1.0
    else:
        saved = 1 - (error[1] / error[0]) ** (1 / doublings)
    return LearningCurve(np.array(rows), np.array(scores), float(saved))


def suspects(
    model: Any, X: Samples, y: np.ndarray, numbers: np.ndarray, clock: Clock, seed: int = 0
) -> Suspicion:
    """The suspected training rows, the most surprising first.

    ``numbers`` are the row numbers that are shown, from 0.
    """
    display = InfluenceDisplay.measured(model, X, y, time=clock.limit, random_state=seed)
    found = [
        Suspect(int(numbers[row]), said_of(given), said_of(expected), float(surprise))
        for row, given, expected, surprise, suspected in zip(
            display.rows, display.given, display.expected, display.surprise, display.suspected
        )
        if suspected
    ]
    return Suspicion(found[:LISTED], len(found), len(display.rows))
