"""The honest score: rows set aside before anything is fitted, scored once, with an interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from mercer.selection.automatic import KernelClassifier
from mercer.selection.baselines import BASELINES, fit_baseline
from mercer.selection.columns import read_columns
from mercer.selection.metrics import interval, metric_named

__all__ = ["HeldOut", "hold_out", "score_held_out", "task_of"]

MOST_CLASSES = 20  # an integer target with more different values is a number
NUMBERS_PER_CLASS = 10  # and so is one with fewer rows than this for each value


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

    def verdict(self) -> str:
        """One sentence on what a simpler model does."""
        if self.as_good is None:
            return "The kernel machine beats both baselines by more than chance explains."
        return (
            f"A simpler model does as well: the baseline {self.as_good!r} scores "
            f"{self.baselines[self.as_good]:.4g}, within the interval."
        )


def task_of(target: np.ndarray, given: str | None = None) -> tuple[str, str]:
    """("classification" or "regression", why), from the target's values.

    Examples
    --------
    >>> task_of(np.array(["a", "b"]))[0], task_of(np.linspace(0, 1, 50))[0]
    ('classification', 'regression')
    """
    target = np.asarray(target)
    values = len(set(target.tolist()))
    if given is not None:
        return given, "as you said"
    if target.dtype.kind not in "fiu":
        return "classification", f"the target has {values} different values that are not numbers"
    whole = bool(np.all(target == np.round(target)))
    if values <= 2:
        return "classification", f"the target has {values} different values"
    if whole and values <= MOST_CLASSES and len(target) >= NUMBERS_PER_CLASS * values:
        return "classification", (
            f"the target holds integers with only {values} different values; "
            "--task regression reads them as numbers"
        )
    reverse = "; --task classification reads them as classes" if whole and values <= 100 else ""
    kind = "integers" if whole else "numbers"
    return "regression", f"the target holds {kind}, {values} different{reverse}"


def hold_out(n: int, y: np.ndarray, task: str, share: float = 0.2, seed: int = 0):
    """(training rows, held-out rows): stratified by class where every class has two rows."""
    stratify = None
    if task == "classification":
        _, counts = np.unique(y, return_counts=True)
        if counts.min() >= 2 and max(1, round(share * n)) >= len(counts):
            stratify = y
    train, test = train_test_split(
        np.arange(n), test_size=share, random_state=seed, stratify=stratify
    )
    return np.sort(train), np.sort(test)


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
    baselines = {}
    for name in BASELINES:
        fitted = fit_baseline(
            name, model.encoder_.features_, M_train, np.asarray(train[1]), model.task
        )
        baselines[name] = metric(y, model._baseline_prediction(fitted, M), classes)
    best_edge = low if metric.higher_is_better else high
    as_good = next((b for b in BASELINES if metric.sign() * (baselines[b] - best_edge) >= 0), None)
    return HeldOut(
        metric.name, score, low, high, baselines, as_good, len(y), len(train[1]), y, predicted
    )
