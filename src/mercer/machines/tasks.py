"""The two kinds of targets: classes (classification) and numbers (regression).

A `Task` defines for the search which targets a machine is fitted to, how its outputs become
predictions, and the loss of predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d

from mercer.learners.base import (
    SoftmaxCalibration,
    check_labels,
    check_squares,
    check_targets,
    fit_softmax,
)
from mercer.persistence import fields, floats
from mercer.samples import Samples
from mercer.spoken import written
from mercer.tables import LARGEST, ranks_of

LEAST = 1e-20  # of its range, likewise
LEAST_PROBABILITY = 1e-300  # whose logarithm is finite


class Task(ABC):
    """Abstract: a kind of target, for the search and the automatic estimators."""

    name: str
    #: the classes, and their ranks if they have an order; None for regression
    classes: Any = None
    ranks: np.ndarray | None = None

    @property
    def pairs(self) -> int:
        """Pairs of classes; 0 in regression."""
        k = 0 if self.classes is None else len(self.classes)
        return k * (k - 1) // 2

    @property
    def order(self) -> list | None:
        """The classes from the lowest to the highest, if they have an order."""
        return None if self.ranks is None else self.classes[np.argsort(self.ranks)].tolist()

    @abstractmethod
    def targets(self, y: np.ndarray) -> np.ndarray:
        """The targets that a machine is fitted to, (n, outputs)."""

    @abstractmethod
    def calibrate(self, outputs: np.ndarray, y: np.ndarray, weights: object = None) -> Any:
        """A function from outputs to predictions or probabilities.

        It is fitted to ``outputs`` for rows that the machine was not trained on.
        """

    @abstractmethod
    def plain(self) -> Any:
        """What makes predictions of outputs that need no calibration."""

    def mean(self, predicted: Sequence[np.ndarray], weights: Any = None) -> np.ndarray:
        """The mean of some predictions; of probabilities, that of their log-odds."""
        votes = [self.votes(each) for each in predicted]
        return self.of_votes(np.average(votes, axis=0, weights=weights))

    def votes(self, predicted: np.ndarray) -> np.ndarray:
        """That of predictions of which a mean of machines has the mean."""
        return predicted

    def of_votes(self, votes: np.ndarray) -> np.ndarray:
        """The predictions of which these are the `votes`."""
        return votes

    @abstractmethod
    def loss(self, y: np.ndarray, predicted: np.ndarray, weights: object = None) -> float:
        """A smooth loss of predictions or probabilities."""

    @abstractmethod
    def answers(self, model: BaseEstimator, M: Samples) -> np.ndarray:
        """Predictions or probabilities of a fitted scikit-learn model."""

    def strata(self, y: np.ndarray) -> np.ndarray:
        """The stratum of each row; each fold gets its share of each stratum."""
        return np.zeros(len(y), int)


class Classification(Task):
    """Classification: targets are +1 for the class of a row and -1 for the other classes.

    The classes are sorted. Where they have an order of their own, ``ranks`` are their places in it,
    and the target of a class falls from 1 to -1 with the distance of its rank from that of the row:
    what is learnt of it is the mean distance, which is least at the median of the row's classes.
    """

    name = "classification"

    def __init__(self, classes: np.ndarray, ranks: np.ndarray | None = None):
        self.classes, self.ranks = classes, ranks

    @classmethod
    def read(
        cls, y: Any, n: int, reader: str, order: Sequence | None = None
    ) -> tuple[Classification, np.ndarray]:
        """The task, and the target after checks against n rows."""
        y = check_targets(np.empty((n, 0)), y, reader, numeric=False, several=False)
        check_labels(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {written(classes[0])}, in all {n} rows: a classifier needs at "
                "least two classes."
            )
        return cls(classes, ranks_of(classes, order)), classes[codes]

    def targets(self, y: np.ndarray) -> np.ndarray:
        if self.ranks is None:
            return 2.0 * np.eye(len(self.classes))[self.strata(y)] - 1
        off = np.abs(self.ranks[:, None] - self.ranks)
        return 1 - 2 * off[self.strata(y)] / off.max()

    def calibrate(
        self, outputs: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
    ) -> SoftmaxCalibration:
        return fit_softmax(outputs, self.strata(y), weights)

    def plain(self) -> SoftmaxCalibration:
        return SoftmaxCalibration(1.0, np.zeros(len(self.classes)))

    def votes(self, predicted: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(predicted, LEAST_PROBABILITY))

    def of_votes(self, votes: np.ndarray) -> np.ndarray:
        return softmax(votes, axis=1)

    def loss(
        self, y: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        likelihoods = predicted[np.arange(len(y)), self.strata(y)]
        return float(-np.average(np.log(np.clip(likelihoods, 1e-12, 1)), weights=weights))

    def answers(self, model: Any, M: Any) -> np.ndarray:
        P = np.zeros((len(M), len(self.classes)))
        P[:, np.searchsorted(self.classes, model.classes_)] = model.predict_proba(M)
        return P

    def strata(self, y: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.classes, y)


@dataclass(frozen=True)
class TargetScale:
    """The scale on which numbers are fitted: their own, or that of a class below this one.

    ``limits`` are those of predictions on this scale: what is not negative stays so.
    """

    limits: tuple[Any, Any] = (-np.inf, np.inf)
    name: ClassVar[str] = ""
    spread: ClassVar[Any] = 1.0  # what errors are divided by before those of targets are added
    sizes: ClassVar[Any] = 1.0  # what numbers on this scale were divided by

    @classmethod
    def of(cls, y: np.ndarray, **settings: Any) -> Self:
        """The scale for some targets, whose range predictions leave by a tenth at most."""
        scale = cls(**settings)
        if cls is TargetScale:
            return replace(scale, limits=(0.0 if y.min() >= 0 else -np.inf, np.inf))
        z = scale.forward(y)
        beyond = 0.1 * float(np.ptp(z))
        return replace(scale, limits=(float(z.min()) - beyond, float(z.max()) + beyond))

    @property
    def each(self) -> Sequence[TargetScale]:
        """The scale of each target."""
        return (self,)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Numbers on this scale."""
        return y

    def back(self, z: np.ndarray) -> np.ndarray:
        """Numbers of this scale on their own."""
        return z

    def corrected(self, share: object) -> tuple[Any, Any]:
        """A factor and a term on this scale by which predictions become ``share`` times as large,
        where there are such: the mean of a curve is not the curve of the mean."""
        return 1.0, 0.0


@dataclass(frozen=True, eq=False)
@fields(
    sizes=floats(1, lambda scale: len(scale.scales)),
    spread=floats(1, lambda scale: len(scale.scales)),
)
class JointScale(TargetScale):
    """The scale of several targets (n, k): each on its own, divided by its spread there.

    So no target counts more because its unit is small.
    """

    scales: tuple[TargetScale, ...] = ()
    sizes: np.ndarray = field(default_factory=lambda: np.ones(0))  # the spreads on the scales
    spread: np.ndarray = field(default_factory=lambda: np.ones(0))  # the spreads themselves

    @classmethod
    def joined(
        cls, scales: Sequence[TargetScale], y: np.ndarray, weights: np.ndarray | None = None
    ) -> JointScale:
        """The scale of targets, each of which has its own."""
        z = np.stack([scale.forward(v) for scale, v in zip(scales, y.T)], axis=1)
        ends = np.array([scale.limits for scale in scales], np.float64).T
        sizes, spread = _spread(z, weights), _spread(y, weights)
        return cls(tuple(ends / sizes), scales=tuple(scales), sizes=sizes, spread=spread)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Empty where all targets keep their own scale."""
        names = [scale.name for scale in self.scales]
        return ", ".join(name or "own" for name in names) if any(names) else ""

    @property
    def each(self) -> Sequence[TargetScale]:
        return self.scales

    def forward(self, y: np.ndarray) -> np.ndarray:
        found = [scale.forward(v) for scale, v in zip(self.scales, y.T)]
        return np.stack(found, axis=1) / self.sizes

    def back(self, z: np.ndarray) -> np.ndarray:
        found = [scale.back(v) for scale, v in zip(self.scales, (z * self.sizes).T)]
        return np.stack(found, axis=1)

    def corrected(self, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [scale.corrected(float(s)) for scale, s in zip(self.scales, share)]
        slopes, terms = np.array(found).T
        return slopes, terms / self.sizes


def _spread(y: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The standard deviation of each column; 1 where a column is constant."""
    mean = np.average(y, axis=0, weights=weights)
    found = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weights))
    return np.where(found > 0, found, 1.0)


class Regression(Task):
    """Regression: targets are numbers, on a scale.

    ``corrected`` says whether predictions are means on the target's own scale; else medians.
    """

    name = "regression"

    def __init__(self, scale: TargetScale | None = None, corrected: bool = True):
        self.scale = TargetScale() if scale is None else scale
        self.corrected = corrected

    @classmethod
    def read(cls, y: Any, n: int, reader: str) -> tuple[Regression, np.ndarray]:
        """The task, and the target as numbers after checks against n rows."""
        y = check_targets(np.empty((n, 0)), y, reader).astype(np.float64)
        y = column_or_1d(y, warn=True) if y.shape[1:] == (1,) else y
        for column in y.reshape(n, -1).T:
            check_squares(column, LEAST, LARGEST)
        if y.ndim == 1:
            return cls(), y
        return cls(JointScale.joined([TargetScale.of(column) for column in y.T], y)), y

    def targets(self, y: np.ndarray) -> np.ndarray:
        return self.scale.forward(y).reshape(len(y), -1)

    def calibrate(
        self, outputs: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
    ) -> BackTransformed:
        plain = self.plain()
        if not (self.corrected and self.scale.name):
            return plain
        mean, true = (np.average(v, axis=0, weights=weights) for v in (plain(outputs), y))
        share = np.divide(true, mean, out=np.ones_like(mean), where=mean > 0)
        return BackTransformed(self.scale, *self.scale.corrected(np.clip(share, 0.5, 2)))

    def plain(self) -> BackTransformed:
        return BackTransformed(self.scale)

    def loss(
        self, y: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None = None
    ) -> float:
        """The mean square of the errors; of several targets, in units of the spread of each."""
        off = (y - predicted) / self.scale.spread
        return float(np.mean(np.average(off**2, axis=0, weights=weights)))

    def answers(self, model: Any, M: Samples) -> np.ndarray:
        return model.predict(M)


@dataclass
class BackTransformed:
    """Predictions of a machine: its output on the target's own scale, of several targets all."""

    scale: TargetScale
    slope: Any = 1.0
    bias: Any = 0.0

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        outputs = outputs if isinstance(self.scale, JointScale) else outputs[:, 0]
        return self.scale.back(np.clip(self.slope * outputs + self.bias, *self.scale.limits))
