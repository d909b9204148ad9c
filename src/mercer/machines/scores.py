"""Metrics by name, and their 95% intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
import sklearn.metrics as skm
from numpy.typing import ArrayLike

Z95 = 1.959963984540054  # the normal distribution's 97.5% point

DRAWS, FEWEST_DRAWS = 500, 50  # of rows, with replacement, for an interval


@dataclass(frozen=True)
class Metric:
    """A score of predictions, for "classification" or "regression"."""

    name: str
    task: str
    #: (y, prediction, weights) -> float; with ``probabilities`` (y, P, classes, weights) -> float,
    #: with P of shape (n, classes)
    function: Callable
    higher_is_better: bool = True
    probabilities: bool = False  # whether it scores probabilities instead of classes
    #: of a score of ranks, the power of the differences that it counts; (y, prediction, weights) of
    #: its function are ranks, then
    power: int = 0
    ranks: np.ndarray | None = None  # those of the classes, which `on` sets

    def __call__(
        self,
        y: np.ndarray,
        predicted: np.ndarray,
        classes: Any = None,
        weights: ArrayLike | None = None,
    ) -> float:
        """The score of predicted values, or of probabilities (n, classes) for classification.

        Of several targets (n, k) it is the mean of `each`. Rows of other classes than these are
        predicted wrong: their class has the probability 0.
        """
        w = np.ones(len(y)) if weights is None else weights
        if y.ndim > 1:
            return float(np.mean(self.each(y, predicted, weights)))
        if self.task == "regression":
            return float(self.function(y, predicted, w))
        if self.probabilities:
            predicted, classes = with_classes_of(y, predicted, classes)
            return float(self.function(y, predicted, classes, w))
        found = self.choice(predicted)
        if self.ranks is None:
            return float(self.function(y, classes[found], w))
        places = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        chosen, most = self.ranks[found], len(classes) - 1
        farthest = np.where(2 * chosen > most, 0, most)  # as far off as a row of no class can be
        true = np.where(classes[places] == y, self.ranks[places], farthest)
        return float(self.function(true, chosen, w))

    def each(self, y: np.ndarray, predicted: np.ndarray, weights: Any = None) -> list[float]:
        """The scores of several targets (n, k), errors in standard deviations of each target."""
        found = []
        for true, told in zip(y.T, predicted.T):
            mean = np.average(true, weights=weights)
            spread = np.sqrt(np.average((true - mean) ** 2, weights=weights))
            unit = spread if spread > 0 and self.name != "r2" else 1.0
            found.append(self(true / unit, told / unit, weights=weights))
        return found

    def on(self, ranks: np.ndarray | None) -> Metric:
        """The same for classes of such ranks; ValueError for a score of ranks if there are none."""
        if not self.power:
            return self
        if ranks is None:
            raise ValueError(
                f"metric={self.name!r} counts steps of ordered classes, but these have no order: "
                "give it with order= (--task ordered), or choose another metric."
            )
        return replace(self, ranks=ranks)

    def choice(self, P: np.ndarray) -> np.ndarray:
        """The number of the class that is predicted, by probabilities times decision weights.

        It is the most probable one; for a score of ranks the one with the least expected loss.
        """
        if self.ranks is None:
            return P.argmax(axis=1)
        off = np.abs(self.ranks[:, None] - self.ranks) ** self.power
        return (P @ off).argmin(axis=1)

    @property
    def best(self) -> float:
        """The score of perfect predictions."""
        return 1.0 if self.higher_is_better else 0.0

    @property
    def counts_hits(self) -> bool:
        """Whether the score depends only on the most probable class of each row."""
        return self.task == "classification" and not self.probabilities and not self.power

    def sign(self) -> int:
        """1 if higher is better, else -1."""
        return 1 if self.higher_is_better else -1

    def decided(self, predicted: np.ndarray, factors: Any) -> np.ndarray:
        """What is scored: probabilities times `decision_weights`, if classes are counted.

        Probabilities that are scored themselves, and numbers, stay as they are.
        """
        return predicted * factors if self.counts_hits else predicted


def with_classes_of(
    y: np.ndarray, P: np.ndarray, classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (n, classes) and the classes, with those that only y has, of probability 0.

    Examples
    --------
    >>> with_classes_of(np.array(["b", "c"]), np.array([[0.2, 0.8], [1, 0]]), np.array(["a", "b"]))
    (array([[0.2, 0.8, 0. ],
           [1. , 0. , 0. ]]), array(['a', 'b', 'c'], dtype='<U1'))
    """
    both = np.union1d(classes, y)
    if len(both) == len(classes):
        return P, classes
    wide = np.zeros((len(P), len(both)))
    wide[:, np.searchsorted(both, classes)] = P
    return wide, both


def _founds(hits: np.ndarray, scores: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the hits, and of all rows, whose scores are at least each of the distinct scores.

    scikit-learn has what follows from it, too, but takes milliseconds to check its arguments, and
    an interval scores hundreds of draws.
    """
    order = np.argsort(-scores, kind="stable")
    last = np.flatnonzero(np.r_[np.diff(scores[order]) != 0, True])
    return np.cumsum((w * hits)[order])[last], np.cumsum(w[order])[last]


def _area(hits, scores, w):
    """The area under the curve of true over false positive rates; NaN without one or the other."""
    found, rows = _founds(hits, scores, w)
    wrong, all_pairs = rows - found, found[-1] * (rows[-1] - found[-1])
    heights = (found + np.r_[0, found[:-1]]) / 2
    return heights @ np.diff(wrong, prepend=0) / all_pairs if all_pairs > 0 else np.nan


def _mean_precision(hits, scores, w):
    found, rows = _founds(hits, scores, w)
    precision = np.divide(found, rows, out=np.zeros(len(rows)), where=rows > 0)
    return np.diff(found, prepend=0) @ precision / found[-1] if found[-1] > 0 else 0.0


def _roc_auc(y, P, classes, w):
    if len(np.unique(y)) < len(classes):
        return np.nan  # a class is absent from this split
    each = range(1, 2) if len(classes) == 2 else range(len(classes))
    return np.mean([_area(y == classes[c], P[:, c], w) for c in each])


def _average_precision(y, P, classes, w):
    """The average precision of the rarer of two classes, or the mean over all classes."""
    present = [c for c in range(len(classes)) if np.any(y == classes[c])]
    if len(classes) == 2:
        if len(present) < 2:
            return np.nan  # a class is absent from these rows, such as a draw of few
        present = [_rarer(y == classes[1], w)]
    return np.mean([_mean_precision(y == classes[c], P[:, c], w) for c in present])


def _rarer(second, w) -> int:
    """The number of the rarer of two classes; the second of equal ones."""
    share = np.average(second, weights=w)
    return int(0 < share <= 0.5)


def _f1(y, predicted, w):
    """The F1 of the rarer of two classes, which users want to find, or the mean of all F1."""
    labels = np.unique(y)
    if len(labels) == 2:
        scored = labels[[_rarer(y == labels[1], w)]]
    else:
        scored = np.union1d(labels, predicted)
    scores = []
    for c in scored:
        true, found = y == c, predicted == c
        both, total = w @ (true & found), w @ true + w @ found
        scores.append(2 * both / total if total > 0 else 0.0)
    return np.mean(scores)


def _r2(y, predicted, w):
    """R²; for constant targets 1 if the prediction is exact, else 0; NaN for a single row."""
    if len(y) < 2:
        return np.nan
    mean = np.average(y, weights=w)
    error, spread = w @ (y - predicted) ** 2, w @ (y - mean) ** 2
    return 1 - error / spread if spread > 0 else float(error == 0)


def _balanced(y, predicted, w):
    hits = y == predicted
    return np.mean([np.average(hits[y == c], weights=w[y == c]) for c in np.unique(y)])


def _rank_error(y, predicted, w):
    return np.average(np.abs(y - predicted), weights=w)


def _quadratic_kappa(y, predicted, w):
    """1 less the mean square of the differences, by that of random pairs of both."""
    error = np.average((y - predicted) ** 2, weights=w)
    means = [np.average(ranks, weights=w) for ranks in (y, predicted)]
    spreads = [np.average((r - m) ** 2, weights=w) for r, m in zip((y, predicted), means)]
    chance = sum(spreads) + (means[0] - means[1]) ** 2
    return 1 - error / chance if chance > 0 else 1.0


METRICS = {
    m.name: m
    for m in (
        Metric("accuracy", "classification", lambda y, p, w: np.average(y == p, weights=w)),
        Metric("balanced_accuracy", "classification", _balanced),
        Metric("roc_auc", "classification", _roc_auc, probabilities=True),
        Metric("average_precision", "classification", _average_precision, probabilities=True),
        Metric(
            "log_loss", "classification",
            lambda y, P, classes, w: skm.log_loss(y, P, labels=classes, sample_weight=w),
            higher_is_better=False, probabilities=True,
        ),
        Metric("f1", "classification", _f1),
        Metric("rank_error", "classification", _rank_error, higher_is_better=False, power=1),
        Metric("quadratic_kappa", "classification", _quadratic_kappa, power=2),
        Metric("r2", "regression", _r2),
        Metric(
            "rmse", "regression", lambda y, p, w: np.sqrt(np.average((y - p) ** 2, weights=w)),
            higher_is_better=False,
        ),
        Metric(
            "mae", "regression", lambda y, p, w: np.average(np.abs(y - p), weights=w),
            higher_is_better=False,
        ),
    )
}  # fmt: skip


def metric_named(name: str | None, task: str) -> Metric:
    """The metric with this name; None means the default of the task, "accuracy" or "r2"."""
    if name is None:
        name = "accuracy" if task == "classification" else "r2"
    if name not in METRICS or METRICS[name].task != task:
        fitting = [m.name for m in METRICS.values() if m.task == task]
        raise ValueError(f"metric={name!r}: for {task} give one of {', '.join(fitting)}.")
    return METRICS[name]


def decision_weights(
    metric: Metric,
    y: np.ndarray,
    P: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Factors of the probabilities, so that the class of the largest product scores best, (k,).

    They are 1, but for "balanced_accuracy" (the class frequencies, inverted) and for "f1" and
    "average_precision" of two classes (the threshold of the best F1 score of the rarer one). P are
    probabilities of rows that the model was not fitted to.
    """
    w = np.ones(len(y)) if weights is None else weights
    factors = np.ones(len(classes))
    if metric.name == "balanced_accuracy":
        shares = np.array([w[y == c].sum() for c in classes])
        return np.divide(shares.max(), shares, out=factors, where=shares > 0)
    if metric.name in ("f1", "average_precision") and len(classes) == 2:
        rare = _rarer(y == classes[1], w)
        hits = y == classes[rare]
        if 0 < hits.sum() < len(y):
            precision, recall, steps = skm.precision_recall_curve(hits, P[:, rare], sample_weight=w)
            f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
            step = float(np.clip(steps[np.argmax(f1[:-1])], 1e-6, 1 - 1e-6))
            factors[rare] = (1 - step) / step * (1 + 1e-9)  # rows at the threshold are found
    return factors


def interval(
    metric: Metric,
    y: np.ndarray,
    predicted: np.ndarray,
    classes: ArrayLike | None = None,
    seed: int = 0,
    time: float | None = None,
    groups: np.ndarray | None = None,
) -> tuple[float, float]:
    """95% interval of a score: Wilson's interval for accuracy, else percentiles of 500 draws.

    After ``time`` seconds there are no further draws than the first 50. Rows of one of the
    ``groups`` err alike, so that whole groups are drawn, for accuracy too.
    """
    n = len(y)
    if metric.name == "accuracy" and groups is None:
        low, high = wilson(metric(y, predicted, classes), n)
        return float(low), float(high)
    rng = np.random.default_rng(seed)
    scores = []
    begun = monotonic()
    for draw in range(DRAWS):
        if time is not None and draw >= FEWEST_DRAWS and monotonic() - begun > time:
            break
        rows = drawn_rows(n, groups, rng)
        scores.append(metric(y[rows], predicted[rows], classes))
    low, high = (
        np.nanpercentile(scores, [2.5, 97.5]) if not np.isnan(scores).all() else (np.nan,) * 2
    )
    return float(low), float(high)


def drawn_rows(n: int, groups: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """n of n rows, drawn with replacement; or all rows of groups that are drawn so.

    ``groups`` has the number of each row's group, 0 to their count less 1.
    """
    if groups is None:
        return rng.integers(0, n, n)
    count = int(groups.max()) + 1
    times = np.bincount(rng.integers(0, count, count), minlength=count)
    return np.repeat(np.arange(n), times[groups])


def wilson(p: float | np.ndarray, n: int | np.ndarray) -> tuple[Any, Any]:
    """Wilson's 95% interval of shares p of n rows; both may be arrays.

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.
    """
    z = Z95
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
