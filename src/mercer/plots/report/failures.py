"""Where a model fails on held-out rows: thresholds, curves, intervals, parts of the table, rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
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

from mercer.machines import wilson, with_classes_of
from mercer.plots.axes import brief
from mercer.plots.fitted import ModelRows, sample_rows
from mercer.samples import kind_that_holds
from mercer.tables import ColumnKind, as_numbers, missing_values

BINS = 10  # bins of the calibration curve
LOW, NEARLY_ALL = 0.5, 0.99  # probabilities are low if nearly all of them are below this
SHORT = 3  # characters of a name that stands in place of a number
POINTS = 1500  # most residuals that are drawn
DRAWN = 150  # most points of a curve
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FEW_THRESHOLDS = 5
LEVELS = (0.5, 0.8, 0.9, 0.95)
PARTS, LEAST_ROWS = 4, 10  # groups of a column of numbers, and rows of a group that counts
CLEARLY = 2.0  # standard errors by which a group is worse than the others
WORST, SHOWN = 8, 6  # rows, and groups


@dataclass(frozen=True)
class Confusion:
    """``matrix[i, j]`` held-out rows of class i were predicted as class j."""

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


@dataclass(frozen=True)
class Residuals:
    """True minus predicted value, and the prediction, for held-out rows or a sample of them.

    ``half`` and ``most`` are the 50% and 95% quantiles of the absolute residual over all ``rows``.
    """

    predicted: np.ndarray
    residual: np.ndarray
    rows: int
    half: float
    most: float


@dataclass(frozen=True)
class Calibration:
    """How often an event happened, for each of some bins of its predicted probability.

    ``low`` and ``high`` are Wilson's 95% interval of ``observed``. The event is that a row is of
    the class ``event``; or, if this is empty, of the class that the model predicts.
    """

    event: str
    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    counts: np.ndarray
    brier: float


@dataclass(frozen=True)
class Threshold:
    """What comes of predicting the event from this probability on, on held-out rows."""

    threshold: float
    flagged: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Rates:
    """Receiver operating and precision-recall curves of the rarer of two classes."""

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


@dataclass(frozen=True)
class Intervals:
    """Prediction intervals: prediction ± ``half`` holds the truth with probability ``level``.

    ``coverage`` is the share of held-out rows in intervals made of the other half of these rows.
    """

    level: np.ndarray
    half: np.ndarray
    coverage: np.ndarray


@dataclass(frozen=True)
class Segment:
    """A part of the held-out rows: the share of wrong classes, or the mean absolute residual."""

    column: str
    part: str
    rows: int
    error: float
    others: float


@dataclass(frozen=True)
class WorstRow:
    """A held-out row that is predicted badly; ``cells`` are its values in the main columns."""

    row: int
    truth: str
    predicted: str
    error: float
    cells: list[str]


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


def residuals(y: np.ndarray, predicted: np.ndarray, seed: int | None) -> Residuals:
    """Residuals, of which at most 1,500 are drawn."""
    left = y - predicted
    rows = sample_rows(len(y), POINTS, seed)
    half, most = np.quantile(np.abs(left), [0.5, 0.95])
    return Residuals(predicted[rows], left[rows], len(y), float(half), float(most))


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


def prediction_intervals(y: np.ndarray, predicted: np.ndarray, seed: int = 0) -> Intervals | None:
    """Split conformal intervals from held-out rows; None for fewer than 20 rows.

    With n rows, the interval of level q reaches to the ⌈(n + 1) q⌉-th smallest absolute residual.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani & Wasserman, "Distribution-free predictive inference for
    regression", JASA 2018, algorithm 2.
    """
    n = len(y)
    if n < 20:
        return None
    residual = np.abs(y - predicted)
    order = np.random.default_rng(seed).permutation(n)
    halves = order[: n // 2], order[n // 2 :]
    covered = np.zeros((len(LEVELS), n), bool)
    for mine, other in (halves, halves[::-1]):
        for i, level in enumerate(LEVELS):
            covered[i, other] = residual[other] <= _reach(residual[mine], level)
    half = np.array([_reach(residual, level) for level in LEVELS])
    return Intervals(np.array(LEVELS), half, covered.mean(axis=1))


def _reach(residual: np.ndarray, level: float) -> float:
    place = int(np.ceil((len(residual) + 1) * level)) - 1
    return float(np.sort(residual)[min(place, len(residual) - 1)])


def weak_segments(rows: ModelRows, columns: list, kinds: dict, errors: np.ndarray) -> list[Segment]:
    """The parts of held-out rows, by the values of one column, in which errors are clearly larger.

    Numbers have four parts of equal size; other values are parts. An error is 1 for a row whose
    class is wrong, else 0; or an absolute residual.
    """
    if not columns:  # samples that are no table have none either
        return []
    found = []
    for name in columns:
        for part, members in _parts(rows.cells(name), kinds.get(name)):
            inside, outside = errors[members], errors[~members]
            if min(len(inside), len(outside)) < LEAST_ROWS:
                continue
            gap = inside.mean() - outside.mean()
            error = np.sqrt(errors.var() * (1 / len(inside) + 1 / len(outside)))
            if gap > CLEARLY * error > 0:
                segment = Segment(
                    str(name), part, len(inside), float(inside.mean()), float(outside.mean())
                )
                found.append((gap / error, segment))
    return [segment for _, segment in sorted(found, key=lambda each: -each[0])[:SHOWN]]


def _parts(cells: np.ndarray, kind: ColumnKind | None) -> list[tuple[str, np.ndarray]]:
    """Names and members of the parts of a column."""
    found = []
    if cells.dtype.kind in "iuf" if kind is None else kind.numeric:
        numbers = as_numbers(cells)
        missing = np.isnan(numbers)
        if not missing.all():
            edges = np.unique(np.quantile(numbers[~missing], np.linspace(0, 1, PARTS + 1)))
            for low, high in pairwise(edges):
                first = low == edges[0]
                members = ((numbers >= low) if first else (numbers > low)) & (numbers <= high)
                found.append((f"{brief(float(low))} to {brief(float(high))}", members))
    else:
        missing = missing_values(cells)
        texts = np.array([str(value) for value in cells.tolist()], dtype=object)
        frequent = Counter(texts[~missing].tolist()).most_common(8)
        found = [(text, (texts == text) & ~missing) for text, _ in frequent]
    return [*found, ("missing", missing)] if missing.any() else found


def worst_rows(
    rows: ModelRows,
    y: np.ndarray,
    predicted: np.ndarray,
    classes: Any,
    columns: list,
    numbers: np.ndarray,
) -> list[WorstRow]:
    """The rows with the largest errors: the smallest probability of the true class, or residual.

    ``numbers`` are the row numbers that are shown, from 0; ``columns`` those whose cells are.
    """
    if classes is None:
        error, said = np.abs(y - predicted), [brief(float(v)) for v in predicted]
        truth = [brief(float(v)) for v in y]
        wrong = error > 0
    else:
        wide, both = with_classes_of(y, predicted, classes)
        chance = wide[np.arange(len(y)), np.searchsorted(both, y)]
        error, answers = 1 - chance, classes[predicted.argmax(axis=1)]
        truth, said = [str(v) for v in y], [str(v) for v in answers]
        wrong = answers != y
    order = np.argsort(-error, kind="stable")[:WORST]
    shown = [rows.cells(name) for name in columns]
    return [
        WorstRow(int(numbers[i]), truth[i], said[i], float(error[i]), [_cell(c[i]) for c in shown])
        for i in order
        if wrong[i]
    ]


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return "–" if value != value else brief(float(value))
    if isinstance(value, np.datetime64):  # without the seconds, and the time of day of a mere date
        text = str(value.astype("datetime64[s]")).replace("T", " ").removesuffix(":00")
        return text.removesuffix(" 00:00")
    kind = kind_that_holds(value)
    text = "–" if value is None else str(value) if kind is None else kind.text(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
