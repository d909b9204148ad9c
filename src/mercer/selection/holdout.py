"""The honest score: rows set aside before anything is fitted, scored once, with an interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.selection.automatic import KernelClassifier
from mercer.selection.baselines import BASELINES, fit_baseline
from mercer.selection.metrics import interval, metric_named
from mercer.selection.tasks import Classification, Regression
from mercer.selection.values import read_columns

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
        The simplest baseline whose score lies within the interval, or beats it.
    rows, trained_on : int
        How many rows were scored, and how many the scored model was fitted on.
    y, predicted : ndarray
        Targets, and values or probabilities (n, classes).
    baseline_predictions : dict
        Name -> the same of each baseline.
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
        """One sentence on what a simpler model does."""
        if self.as_good is None:
            return "The kernel machine beats both baselines by more than chance explains."
        value = self.baselines[self.as_good]
        return (
            f"A simpler model does as well: the baseline {self.as_good!r} scores "
            f"{value:.4g}, "
            f"{'within' if self.low <= value <= self.high else 'beyond'} the interval."
        )


def hold_out(n: int, y: np.ndarray, task: str, share: float = 0.2, seed: int = 0):
    """(training rows, held-out rows) of n, each in order.

    Of classes every one gives its share, as nearly as whole rows allow, and keeps a row at least
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
    """Score a fitted automatic estimator, and the baselines, on rows that it has not seen.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor
    train, held_out : (X, y)
        What it was fitted on, and the rows to score on; raw tables.
    """
    metric = metric_named(model.metric, model.task)
    classification = isinstance(model, KernelClassifier)
    classes: Any = model.classes_ if classification else None
    task = Classification(classes) if classification else Regression()
    X, y = held_out
    y = np.asarray(y)
    if classification:
        unknown = sorted(set(y.tolist()) - set(classes.tolist()), key=str)
        if unknown:
            raise ValueError(
                f"The rows to score on hold the target value {unknown[0]!r}, which the training "
                f"rows lack: they have {classes.tolist()[:20]}."
            )
    predicted = model.predict_proba(X) if classification else model.predict(X)
    score = metric(y, predicted, classes)
    low, high = interval(metric, y, predicted, classes, seed)
    M_train = model.encoder_.transform(read_columns(train[0]))
    M = model.encoder_.transform(read_columns(X))
    baselines, answers = {}, {}
    for name in BASELINES:
        fitted = fit_baseline(
            name, model.encoder_.features_, M_train, np.asarray(train[1]), model.task
        )
        answers[name] = task.answers(fitted, M)
        baselines[name] = metric(y, answers[name], classes)
    best_edge = low if metric.higher_is_better else high
    as_good = next((b for b in BASELINES if metric.sign() * (baselines[b] - best_edge) >= 0), None)
    return HeldOut(
        metric.name, score, low, high, baselines, as_good, len(y), len(train[1]), y, predicted,
        answers,
    )  # fmt: skip
