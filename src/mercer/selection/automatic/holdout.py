"""The score on held-out rows, which are set aside before any fit, with its interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.samples import EncodedColumns
from mercer.selection.automatic.candidates import Candidate, simple_candidates
from mercer.selection.automatic.comparisons import Comparison, as_good, compared, verdict
from mercer.selection.automatic.machines import Recipe
from mercer.selection.automatic.scores import decision_weights, interval, metric_named, wilson
from mercer.selection.automatic.tasks import Classification, Regression, Task, ranks_of

COVERAGES = (0.5, 0.8, 0.9, 0.95)
SAID = 0.9  # the one that the sentence is about


@dataclass(frozen=True)
class Coverage:
    """The intervals for some rows: which share of the rows they should hold, and what they held."""

    wanted: np.ndarray
    held: np.ndarray
    low: np.ndarray  # Wilson's 95% interval of ``held``, of so many rows as groups are worth
    high: np.ndarray
    width: np.ndarray  # the median width
    rows: int

    @property
    def too_narrow(self) -> bool:
        """Whether the intervals of 90% hold clearly fewer rows than they should."""
        return bool(self.high[self._said] < SAID)

    @property
    def _said(self) -> int:
        return self.wanted.tolist().index(SAID)

    def sentence(self) -> str:
        """What the intervals of 90% are worth."""
        i = self._said
        held, low, high = (100 * float(each[i]) for each in (self.held, self.low, self.high))
        said = (
            f"Half of the 90% intervals are at most {self.width[i]:.4g} wide; they hold "
            f"{held:.1f}% of the {self.rows:,} held-out rows (95% interval {low:.1f} to "
            f"{high:.1f}%)"
        )
        if low <= 100 * SAID <= high:
            return f"{said}."
        return f"{said}: {'more' if held > 100 * SAID else 'fewer'} than they should."


def measure_coverage(
    model: Any, X: Any, y: np.ndarray, groups: np.ndarray | None = None
) -> Coverage | None:
    """What the intervals of a model hold of rows that it has not seen; None if it has none.

    Rows of one of the ``groups``, numbers from 0, may all lie outside together.
    """
    if model.spread_ is None or not len(y):
        return None
    wanted = np.array(COVERAGES)
    levels = np.concatenate([(1 - wanted) / 2, (1 + wanted) / 2])
    found = model.predict_quantiles(X, levels)
    below, above = np.split(found, 2, axis=1)
    inside = (below <= y[:, None]) & (y[:, None] <= above)
    held = inside.mean(axis=0)
    worth = np.full(len(held), float(len(y)))
    if groups is not None:  # the variance of a share of clusters, Cochran 1977, eq. 3.34
        sums = np.stack([np.bincount(groups, gap) for gap in (inside - held).T], axis=1)
        count = len(sums)
        variance = (sums**2).sum(axis=0) * count / max(count - 1, 1) / len(y) ** 2
        np.divide(held * (1 - held), variance, out=worth, where=variance > 0)
        worth = np.minimum(np.where(variance > 0, worth, count), len(y))
    low, high = wilson(held, worth)
    return Coverage(wanted, held, low, high, np.median(above - below, axis=0), len(y))


@dataclass(frozen=True)
class HeldOut:
    """The score on rows that no fit has seen."""

    metric: str
    score: float
    #: 95% interval
    low: float
    high: float
    kept: str  # what the scored model is called: "the kernel machine", or "the model ..."
    baselines: dict[str, float]  # name -> score on the same rows, the simplest one first
    #: name -> how much better the model is than this baseline, where that is the simpler one
    versus: dict[str, Comparison]
    #: number of rows that were scored, and number of rows that the model was fitted on
    rows: int
    trained_on: int
    #: targets, and predicted values or probabilities (n, classes)
    y: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    #: name -> predictions of the baseline
    baseline_predictions: dict[str, np.ndarray] = field(repr=False)
    coverage: Coverage | None = None  # that of the model's intervals, if it has some
    groups: int | None = None  # of the rows that were scored, which were drawn whole

    @property
    def as_good(self) -> str | None:
        """A baseline that is better than the model, or as good as far as the rows tell."""
        return as_good(self.versus)

    def verdict(self) -> str:
        """One sentence that says whether a simpler model is as good."""
        return verdict(self.versus, self.baselines, self.kept)


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


def score_held_out(
    model: Any, train: tuple, held_out: tuple, seed: int = 0, groups: Any = None
) -> HeldOut:
    """Score a fitted automatic estimator and the baselines on held-out rows, and compare them.

    ``train`` and ``held_out`` are pairs (X, y) that the model was fitted on, and to score on. X is
    a table, or its encoded rows, which ``fit_and_encode`` and ``encode`` of the model return.
    ``groups`` are those of the held-out rows, if they have some: intervals and comparisons are of
    draws of whole groups.
    """
    units = None if groups is None else np.unique(groups, return_inverse=True)[1]
    task = _task(model)
    metric = metric_named(model.metric_, model.task).on(task.ranks)
    y_train, y = np.asarray(train[1]), np.asarray(held_out[1])
    M_train, M = _encoded(model, train[0]), _encoded(model, held_out[0])
    predicted, decided = _answers(model, M, y)
    score = metric(y, decided, task.classes)
    low, high = interval(metric, y, decided, task.classes, seed, groups=units)
    scores, versus, answers = {}, {}, {}
    features = model.encoder_.features_
    tried = [row["name"] for row in model.leaderboard_]
    for candidate in simple_candidates(features):
        name = candidate.name
        if model.searched_ is not None and name not in tried:
            continue  # it took too long in the search
        if name == model.winner_name_:
            scores[name], answers[name] = score, predicted
            continue
        fitted = Recipe(candidate.machine).fit(task, candidate.kernel(features), M_train, y_train)
        answers[name] = other = fitted(M)
        if metric.counts_hits:
            factors = decision_weights(metric, y_train, fitted(M_train), task.classes)
            other = metric.decided(other, factors)
        scores[name] = metric(y, other, task.classes)
        if model.winner_name_ not in scores:  # what is left is not simpler than the model
            versus[name] = compared(metric, y, decided, other, task.classes, seed, units)
    return HeldOut(
        metric.name, score, low, high, kept_words(model), scores, versus, len(y), len(y_train), y,
        predicted, answers, measure_coverage(model, held_out[0], y, units),
        None if units is None else int(units.max()) + 1,
    )  # fmt: skip


def kept_words(model: Any) -> str:
    """What the model of a search is called beside simple ones.

    It is "the kernel machine", or the name of what is kept where this is not one alone.
    """
    entries = [model.winner_, *model.schedule_[-1].get("mean", [])]
    simple = any(Candidate.of(entry).simple for entry in entries)
    return f"the model {model.winner_name_!r}" if simple else "the kernel machine"


def score_alone(model: Any, held_out: tuple) -> float:
    """The score of the model in `score_held_out`, without the baselines and the interval."""
    task, y = _task(model), np.asarray(held_out[1])
    metric = metric_named(model.metric_, model.task).on(task.ranks)
    return metric(y, _answers(model, _encoded(model, held_out[0]), y)[1], task.classes)


def _answers(model: Any, M: EncodedColumns, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a model predicts for the rows that it is scored on, and what is scored of it."""
    metric, predicted = metric_named(model.metric_, model.task), model.machine_(M)
    if model.task == "regression":
        return predicted, predicted
    return predicted, metric.decided(predicted, model.decision_weights_)


def _task(model: Any) -> Task:
    """The task of a search; numbers are on its scale, for simple models too."""
    if model.task == "classification":
        return Classification(model.classes_, ranks_of(model.classes_, model.order_))
    return Regression(model.target_scale_, corrected=model.metric_ != "mae")


def _encoded(model: Any, X: Any) -> EncodedColumns:
    return X if isinstance(X, EncodedColumns) else model.encode(X)
