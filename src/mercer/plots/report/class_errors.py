"""Errors of classes: the confusion matrix, rates of a rare class, and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from mercer.machines import wilson
from mercer.plots.marks import BOTTOM, LEFT, RIGHT, TOP, Axis
from mercer.plots.report.contents import ReportData
from mercer.plots.report.section import Section
from mercer.plots.report.subject import Subject

BINS = 10  # bins of the calibration curve
LOW, NEARLY_ALL = 0.5, 0.99  # probabilities are low if nearly all of them are below this
SHORT = 3  # characters of a name that stands in place of a number
DRAWN = 150  # most points of a curve
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FEW_THRESHOLDS = 5
SMALL = 8  # classes; a larger confusion matrix is drawn as a map without numbers
RARE = 0.1  # a class with a smaller share of the rows is rare


@dataclass(frozen=True)
class Confusion(Section):
    """``matrix[i, j]`` held-out rows of class i were predicted as class j."""

    name, place = "confusion", "errors"

    classes: list[str]
    matrix: np.ndarray

    @property
    def labels(self) -> list[str]:
        """What stands beside rows and columns: the names, or their numbers if one is long."""
        longest = max(map(len, self.classes))
        if longest <= SHORT or (len(self.classes) <= 4 and longest <= 3 * SHORT):
            return self.classes
        return [str(number) for number in range(1, len(self.classes) + 1)]

    @property
    def recall(self) -> np.ndarray:
        """For each class, the share of its rows that are predicted as this class, or NaN."""
        return _ratio(self.matrix.diagonal(), self.matrix.sum(axis=1))

    @property
    def precision(self) -> np.ndarray:
        """For each class, the share of rows predicted as this class that are of it, or NaN."""
        return _ratio(self.matrix.diagonal(), self.matrix.sum(axis=0))

    def mistakes(self, count: int = 8) -> list[tuple[str, str, int]]:
        """The most frequent mistakes: (true class, predicted class, rows)."""
        wrong = self.matrix - np.diag(self.matrix.diagonal())
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        pairs = [np.unravel_index(k, wrong.shape) for k in order]
        return [
            (self.classes[i], self.classes[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]
        ]

    @classmethod
    def measured(cls, subject: Subject) -> Confusion:
        return confusion(subject.y_test, subject.chosen, subject.classes, subject.ranks)

    def drawn(self, report: ReportData) -> dict[str, Any] | None:
        """Cells of a matrix that is too large for numbers, without the empty cells."""
        k = len(self.classes)
        if k <= SMALL:
            return None
        size, totals = 300 / k, np.maximum(self.matrix.sum(axis=1), 1)
        cells = [
            {"x": round(36 + j * size, 2), "y": round(30 + i * size, 2),
             "share": round(float(self.matrix[i, j] / totals[i]), 3),
             "rows": int(self.matrix[i, j]), "true": i, "predicted": j}
            for i, j in np.argwhere(self.matrix).tolist()
        ]  # fmt: skip
        every = -(-k // 20)
        ticks = [(self.labels[i], round((i + 0.5) * size, 2)) for i in range(0, k, every)]
        return {"cells": cells, "size": round(size, 2), "ticks": ticks}


def confusion(
    y: np.ndarray, predicted: np.ndarray, classes: np.ndarray, ranks: np.ndarray | None = None
) -> Confusion:
    """Counts of true and predicted classes, of probabilities (n, classes).

    Classes that have ranks stand in their order. Classes that are true in some rows, but never
    predicted, are among them.
    """
    answers = classes[predicted.argmax(axis=1)]
    both = np.union1d(classes, y)
    if ranks is not None:
        both = np.concatenate([classes[np.argsort(ranks)], np.setdiff1d(both, classes)])
    return Confusion([str(c) for c in both], confusion_matrix(y, answers, labels=both))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


class _OfProbabilities(Section):
    """Abstract: a section of a model that has probabilities."""

    place = "errors"

    @classmethod
    def applies(cls, subject: Subject) -> bool:
        return subject.chances is not None


@dataclass(frozen=True)
class Calibration(_OfProbabilities):
    """How often an event happened, for each of some bins of its predicted probability.

    ``low`` and ``high`` are Wilson's 95% interval of ``observed``. The event is that a row is of
    the class ``event``; or, if this is empty, of the class that the model predicts.
    """

    name = "calibration"

    event: str
    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    brier: float

    @classmethod
    def measured(cls, subject: Subject) -> Calibration:
        return calibration(subject.y_test, subject.predicted, subject.classes)

    def drawn(self, report: ReportData) -> dict[str, Any]:
        """Observed share against predicted probability, with intervals and numbers of rows.

        Both axes go from 0 to 1; if all values are low, to the next round number.
        """
        most = float(max(self.predicted.max(), self.high.max()))
        unit = 10.0 ** np.floor(np.log10(max(most, 1e-6)))
        end = 1.0 if most > 0.5 else float(unit * np.ceil(most / unit))
        x, y = Axis(0, end, LEFT, RIGHT), Axis(0, end, BOTTOM, TOP)
        most = self.counts.max()
        points = [
            {
                "x": x.at(p), "y": y.at(o), "low": y.at(low), "high": y.at(high),
                "r": round(2.5 + 4 * float(np.sqrt(n / most)), 2),
                "predicted": p, "observed": o, "rows": n,
            }
            for p, o, low, high, n in zip(
                self.predicted.tolist(), self.observed.tolist(),
                np.clip(self.low, 0, end).tolist(), np.clip(self.high, 0, end).tolist(),
                self.counts.tolist(),
            )
        ]  # fmt: skip
        return {"x": x, "y": y, "points": points}


def calibration(y: np.ndarray, P: np.ndarray, classes: np.ndarray) -> Calibration:
    """The calibration of probabilities P (n, classes).

    For two classes of the probability of the second class, else of the probability of each row's
    predicted class. Bins are equally wide; if nearly all probabilities are low, as those of a rare
    class are, bins have equal numbers of rows instead.
    """
    if len(classes) == 2:
        event, p, happened = str(classes[1]), P[:, 1], y == classes[1]
    else:
        event, p, happened = "", P.max(axis=1), classes[P.argmax(axis=1)] == y
    p = np.clip(p, 0, 1)
    low = np.quantile(p, NEARLY_ALL) < LOW
    edges = np.quantile(p, np.linspace(0, 1, BINS + 1)) if low else np.linspace(0, 1, BINS + 1)
    observed, stated = calibration_curve(
        happened, p, n_bins=BINS, strategy="quantile" if low else "uniform"
    )
    counts = np.bincount(np.searchsorted(edges[1:-1], p), minlength=BINS)
    counts = counts[counts > 0]
    low, high = wilson(observed, counts)
    brier = float(np.mean((p - happened) ** 2))
    return Calibration(event, stated, observed, low, high, counts, brier)


@dataclass(frozen=True)
class Threshold:
    """What comes of predicting the event from this probability on, on held-out rows."""

    threshold: float
    flagged: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Rates(_OfProbabilities):
    """Receiver operating and precision-recall curves of the rarer of two classes."""

    name = "rates"

    event: str
    share: float  # its share of the held-out rows
    auc: float
    average_precision: float
    #: shares of the other class, and of the event, that are flagged: the ROC curve
    false_alarms: np.ndarray
    hits: np.ndarray
    recall: np.ndarray
    precision: np.ndarray
    thresholds: list[Threshold]

    @property
    def best(self) -> Threshold:
        """The threshold with the largest F₁ score."""
        return max(self.thresholds, key=lambda each: each.f1)

    @classmethod
    def measured(cls, subject: Subject) -> Rates | None:
        return class_rates(subject.y_test, subject.predicted, subject.classes)

    def drawn(self, report: object) -> dict[str, Any]:
        """The receiver operating curve and the precision-recall curve."""
        x, y = Axis(0, 1, LEFT, RIGHT), Axis(0, 1, BOTTOM, TOP)

        def line(a: np.ndarray, b: np.ndarray) -> list[tuple[float, float]]:
            return [(x.at(u), y.at(v)) for u, v in zip(a.tolist(), b.tolist())]

        return {
            "x": x, "y": y, "roc": line(self.false_alarms, self.hits),
            "precision": line(self.recall, self.precision), "chance": y.at(self.share),
        }  # fmt: skip

    def doubts(self, report: object) -> list[str]:
        if self.share >= RARE:
            return []
        return [
            f"Only {100 * self.share:.1f}% of the rows are {self.event}: a share of right classes "
            f"says little. Average precision is {self.average_precision:.3f} (by chance "
            f"{self.share:.3f}), the area under the ROC curve {self.auc:.3f} (by chance 0.5)."
        ]


def class_rates(y: np.ndarray, P: np.ndarray, classes: np.ndarray) -> Rates | None:
    """The curves of two classes; None for more classes, or if the rows are of one class."""
    if len(classes) != 2 or len(np.unique(y)) < 2:
        return None
    rarer = int(np.sum(y == classes[1]) <= np.sum(y == classes[0]))
    p, happened = P[:, rarer], y == classes[rarer]
    false_alarms, hits, _ = roc_curve(happened, p)
    precision, recall, _ = precision_recall_curve(happened, p)
    thresholds = []
    for threshold in _thresholds(p, float(happened.mean())):
        flagged = p >= threshold
        right = int(np.sum(flagged & happened))
        thresholds.append(
            Threshold(
                threshold, int(flagged.sum()), right / flagged.sum() if flagged.any() else np.nan,
                right / happened.sum(), 2 * right / (flagged.sum() + happened.sum()),
            )
        )  # fmt: skip
    return Rates(
        str(classes[rarer]), float(happened.mean()), float(roc_auc_score(happened, p)),
        float(average_precision_score(happened, p)), _thin(false_alarms), _thin(hits),
        _thin(recall[::-1]), _thin(precision[::-1]), thresholds,
    )  # fmt: skip


def _thresholds(p: np.ndarray, share: float) -> list[float]:
    """Round probabilities; if few of them tell rows apart, those that flag few to many rows.

    These flag about 1/8, 1/4 ... 16 times as many rows as the event has.
    """
    if sum(p.min() < t <= p.max() for t in THRESHOLDS) >= FEW_THRESHOLDS:
        return list(THRESHOLDS)
    flagged = np.minimum(share * 2.0 ** np.arange(-3, 5), 1)
    found = [float(f"{t:.2g}") for t in np.quantile(p, 1 - flagged)]
    return sorted({t for t in found if 0 < t <= p.max()}) or list(THRESHOLDS)


def _thin(curve: np.ndarray) -> np.ndarray:
    """At most 150 points of a curve, with both ends."""
    if len(curve) <= DRAWN:
        return curve
    return curve[np.linspace(0, len(curve) - 1, DRAWN).astype(int)]
