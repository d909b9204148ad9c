"""The score on held-out rows, which are set aside before any fit, with its interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.samples import EncodedColumns
from mercer.selection.automatic import KernelClassifier
from mercer.selection.baselines import baselines, fit_baseline
from mercer.selection.metrics import decision_weights, interval, metric_named
from mercer.selection.tasks import Classification, Regression

__all__ = ["HeldOut", "hold_out", "score_held_out"]


@dataclass(frozen=True)
class HeldOut:
    """The score on rows that no fit has seen.

    Attributes
    ----------
    metric : str
    score : float
    low, high : float
        95% interval.
    baselines : dict
        Name -> score on the same rows.
    as_good : str or None
        The simplest baseline whose score is within the interval or better; None if there is none.
    rows, trained_on : int
        Number of rows that were scored, and number of rows that the model was fitted on.
    y, predicted : ndarray
        Targets, and predicted values or probabilities (n, classes).
    baseline_predictions : dict
        Name -> predictions of the baseline.
    """

    metric: str
    score: float
    low: float
    high: float
    baselines: dict[str, float]
    as_good: str | None
    rows: int
    trained_on: int
    y: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    baseline_predictions: dict[str, np.ndarray] = field(repr=False)

    def verdict(self) -> str:
        """One sentence that says whether a simpler model is as good."""
        if self.as_good is None:
            return "The kernel machine beats both baselines by more than chance explains."
        value = self.baselines[self.as_good]
        return (
            f"A simpler model does as well: the baseline {self.as_good!r} scores "
            f"{value:.4g}, "
            f"{'within' if self.low <= value <= self.high else 'beyond'} the interval."
        )


def hold_out(n: int, y: np.ndarray, task: str, share: float = 0.2, seed: int = 0):
    """Split n rows into training rows and held-out rows, each in order.

    Each class gives its share of held-out rows, rounded to whole rows, and keeps at least one row
    for training.

    Examples
    --------
    >>> train, held_out = hold_out(6, np.array(["a", "a", "a", "a", "a", "b"]), "classification")
    >>> len(train), len(held_out), 5 in train
    (5, 1, True)
    """
    if not 0 < share < 1:
        raise ValueError(f"share={share!r}: give a number between 0 and 1.")
    order = np.random.default_rng(seed).permutation(n)
    if task == "classification":
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        order = order[np.argsort(codes[order], kind="stable")]
        order = order[counts[codes[order]] > 1]  # the only row of a class is for training
    # every (1 / share)-th row, through the classes in turn
    steps = np.floor(np.arange(len(order) + 1) * share + 0.5)
    chosen = order[np.diff(steps) > 0] if len(order) else order
    if not len(chosen) and len(order):
        chosen = order[:1]
    held_out = np.sort(chosen)
    return np.setdiff1d(np.arange(n), held_out), held_out


def score_held_out(model: Any, train: tuple, held_out: tuple, seed: int = 0) -> HeldOut:
    """Score a fitted automatic estimator and the baselines on held-out rows.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor
    train, held_out : (X, y)
        Rows and targets that the model was fitted on, and to score on. X is a table, or its
        encoded rows, which ``fit_and_encode`` and ``encode`` of the model return.
    """
    metric = metric_named(model.metric_, model.task)
    classification = isinstance(model, KernelClassifier)
    classes: Any = model.classes_ if classification else None
    task = Classification(classes) if classification else Regression()
    X, y = held_out
    y = np.asarray(y)
    if classification:
        unknown = sorted(set(y.tolist()) - set(classes.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"The rows to score on have the target value {unknown[0]!r}, but the training rows "
                f"do not have it: use only their classes, {classes.tolist()[:20]}."
            )
    M_train, M = _encoded(model, train[0]), _encoded(model, X)
    predicted = model.machine_(M)
    decided = predicted
    if classification and metric.counts_hits:
        decided = predicted * model.decision_weights_
    score = metric(y, decided, classes)
    low, high = interval(metric, y, decided, classes, seed)
    names = baselines(model.encoder_.features_)
    scores, answers = {}, {}
    for name in names:
        fitted = fit_baseline(
            name, model.encoder_.features_, M_train, np.asarray(train[1]), model.task
        )
        answers[name] = task.answers(fitted, M)
        decided = answers[name]
        if classification and metric.counts_hits:
            known = task.answers(fitted, M_train)
            decided = decided * decision_weights(metric, np.asarray(train[1]), known, classes)
        scores[name] = metric(y, decided, classes)
    best_edge = low if metric.higher_is_better else high
    as_good = next((b for b in names if metric.sign() * (scores[b] - best_edge) >= 0), None)
    return HeldOut(
        metric.name, score, low, high, scores, as_good, len(y), len(train[1]), y, predicted,
        answers,
    )  # fmt: skip


def _encoded(model: Any, X: Any) -> EncodedColumns:
    return X if isinstance(X, EncodedColumns) else model.encode(X)
