"""The score on held-out rows, which are set aside before any fit, and whether a model is better.

Two intervals that overlap say little, because both models err on the same hard rows. So the
difference of the two scores is looked at. Its 95% interval is that of draws of rows with
replacement, which both models share. If neither model were better, each row's two predictions could
as well change places: the test counts how often the difference is as large after random changes.
For accuracy this is McNemar's test. Rows of one group err alike, so that whole groups are drawn,
and change places together. One rule holds for all metrics: a model is called better only
if the test has p < 0.05 and 0 is outside the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest

from mercer.machines.candidates import Candidate, Recipe, simple_candidates
from mercer.machines.scores import (
    Metric,
    decision_weights,
    drawn_rows,
    interval,
    metric_named,
    wilson,
)
from mercer.machines.tasks import Classification, Regression, Task
from mercer.samples import EncodedColumns, Samples
from mercer.spoken import spoken
from mercer.tables import Related, ranks_of
from mercer.threads import Clock

LEVEL = 0.05
MOST_DRAWS, LEAST_DRAWS = 500, 100
DRAWN, SLOWLY_DRAWN = 1e6, 2e4  # rows in all draws, where each costs a product or a score
BASELINE_SHARE = 0.5  # of the time that is left, for a baseline that is fitted to all rows


@dataclass(frozen=True)
class ModelComparison:
    """How much better one model is than another on the same rows."""

    #: score of the first model less that of the second; positive where the first is better
    difference: float
    low: float  # 95% interval
    high: float
    p: float  # of the paired test

    @property
    def outcome(self) -> str:
        """What is said of the first model: "better", "worse" or "as good"."""
        if self.p >= LEVEL or self.low <= 0 <= self.high or np.isnan(self.difference):
            return "as good"
        return "better" if self.difference > 0 else "worse"


def compared(
    metric: Metric,
    y: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    classes: ArrayLike | None = None,
    seed: int = 0,
    groups: np.ndarray | None = None,
) -> ModelComparison:
    """Compare two models by what each predicts for the same rows.

    ``first`` and ``second`` are predicted values, or probabilities (n, classes), times decision
    weights where the metric counts classes. ``groups`` are the numbers of the rows' groups, from 0.

    Examples
    --------
    >>> from mercer.machines.scores import METRICS
    >>> y = np.arange(40.0)
    >>> compared(METRICS["mae"], y, y + 0.1, y[::-1]).outcome
    'better'
    """
    n, rng = len(y), np.random.default_rng(seed)
    units = np.arange(n) if groups is None else groups  # what is drawn, and changes places
    count = int(units.max()) + 1
    found = metric.sign() * (metric(y, first, classes) - metric(y, second, classes))
    if np.array_equal(first, second) or np.isnan(found):
        return ModelComparison(found, found, found, 1.0)
    if metric.name in ROW_LOSSES:
        losses = [ROW_LOSSES[metric.name](y, each, classes) for each in (first, second)]
        draws = int(np.clip(DRAWN / n, LEAST_DRAWS, MOST_DRAWS))
        counts = rng.multinomial(count, np.full(count, 1 / count), size=draws)[:, units]
        sampled = _differences(metric, y, losses, counts)
        gap = (losses[1] - losses[0]) * rng.choice([-1.0, 1.0], size=(draws, count))[:, units]
        changed = np.abs(gap.mean(axis=1)), abs(float(np.mean(losses[1] - losses[0])))
    else:
        draws = int(np.clip(SLOWLY_DRAWN / n, LEAST_DRAWS, MOST_DRAWS))

        def difference(y: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
            return metric.sign() * (metric(y, a, classes) - metric(y, b, classes))

        rows = [drawn_rows(n, groups, rng) for _ in range(draws)]
        sampled = np.array([difference(y[r], first[r], second[r]) for r in rows])
        heads = rng.random((draws, count, *[1] * (first.ndim - 1)))[:, units] < 0.5
        swaps = [(np.where(h, second, first), np.where(h, first, second)) for h in heads]
        changed = np.abs([difference(y, *swap) for swap in swaps]), abs(found)
    low, high = np.nanpercentile(sampled, [2.5, 97.5])
    p = (1 + np.sum(changed[0] >= changed[1] * (1 - 1e-12))) / (1 + draws)
    # the number of changes is that of a coin's heads
    if metric.name == "accuracy" and groups is None:
        ours, theirs = (int(np.sum(losses[i] < losses[1 - i])) for i in (0, 1))
        p = binomtest(ours, ours + theirs).pvalue if ours + theirs else 1.0
    if p >= LEVEL:  # what the test does not tell apart, the interval does not either
        low, high = min(low, 0.0), max(high, 0.0)
    return ModelComparison(found, float(low), float(high), float(p))


def _differences(metric: Metric, y: np.ndarray, losses: list, counts: np.ndarray) -> np.ndarray:
    """The differences of scores in draws of the rows, each so many times as ``counts`` says."""
    total = counts.sum(axis=1)
    first, second = (counts @ loss / total for loss in losses)
    if metric.name == "rmse":
        return np.sqrt(second) - np.sqrt(first)
    if metric.name == "r2":
        centred = y - y.mean()
        spread = counts @ centred**2 / total - (counts @ centred / total) ** 2
        return np.divide(second - first, spread, out=np.full(len(first), np.nan), where=spread > 0)
    return second - first


def _surprise(y: np.ndarray, P: np.ndarray, classes: Any) -> np.ndarray:
    likelihoods = P[np.arange(len(y)), np.searchsorted(classes, y)] / P.sum(axis=1)
    return -np.log(np.clip(likelihoods, np.finfo(P.dtype).eps, 1))


#: metrics whose score is a function of the mean loss of the rows
ROW_LOSSES: dict[str, Callable] = {
    "accuracy": lambda y, P, classes: (classes[P.argmax(axis=1)] != y).astype(float),
    "log_loss": _surprise,
    "mae": lambda y, predicted, _: np.abs(y - predicted),
    "rmse": lambda y, predicted, _: (y - predicted) ** 2,
    "r2": lambda y, predicted, _: (y - predicted) ** 2,
}


def as_good(versus: dict[str, ModelComparison]) -> str | None:
    """The simple model that is better than the kept one; else the simplest that is as good."""
    for outcome in ("worse", "as good"):  # of the kept model
        for name, comparison in versus.items():
            if comparison.outcome == outcome:
                return name
    return None


def spoken_score(score: float) -> str:
    """A score with four digits."""
    return spoken(score, 4)


def verdict(
    versus: dict[str, ModelComparison],
    scores: dict[str, float],
    model: str,
    text: Callable[[float], str] = spoken_score,
) -> str:
    """One sentence that compares the kept model with simple ones.

    Parameters
    ----------
    versus : dict
        Name of a simple model -> how much better the kept one is, the simplest one first.
    scores : dict
        Name of a simple model -> its score on the same rows.
    model : str
        What the kept model is called, such as "the kernel machine".
    text : callable
        Writes a score.

    Examples
    --------
    >>> verdict({"linear": ModelComparison(-0.1, -0.2, 0.0, 0.08)}, {"linear": 0.9}, "the model")
    "A simpler model may do as well: the baseline 'linear' scores 0.9, and the difference of 0.1
    (95% interval 0 to 0.2) may be chance."
    """
    if not versus and model == "the model 'trivial'":
        return "No model that was tried predicts better than a constant, so a constant is kept."
    if not versus:
        return "There was no time to compare the model with simple ones."
    name = as_good(versus)
    if name is None:
        nearest = min(versus, key=lambda each: versus[each].difference)
        which = f"the baseline {nearest!r}" if len(versus) == 1 else "both baselines"
        c = versus[nearest]
        better = f"{text(c.difference)} better than {nearest!r}"
        return (
            f"{model[:1].upper()}{model[1:]} beats {which} by more than chance explains: {better} "
            f"(95% interval {text(c.low)} to {text(c.high)})."
        )
    c = versus[name]
    span = f"(95% interval {text(0 - c.high)} to {text(0 - c.low)})"
    what = f"the baseline {name!r} scores {text(scores[name])}"
    if c.outcome == "worse":
        return f"A simpler model is better: {what}, better by {text(-c.difference)} {span}."
    if c.difference == c.low == c.high == 0:
        return f"A simpler model does as well: {what}, which is the same."
    return (
        f"A simpler model may do as well: {what}, and the difference of {text(-c.difference)} "
        f"{span} may be chance."
    )


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
    model: Any, X: Samples, y: np.ndarray, groups: np.ndarray | None = None
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
    versus: dict[str, ModelComparison]
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


def hold_out(
    n: int,
    y: np.ndarray,
    task: str,
    share: float = 0.2,
    seed: int = 0,
    related: Related | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Split n rows into training rows and held-out rows, each in order.

    Each class gives its share of held-out rows, rounded to whole rows, and keeps at least one row
    for training. Rows that are related are on one side.

    Examples
    --------
    >>> train, held_out = hold_out(6, np.array(["a", "a", "a", "a", "a", "b"]), "classification")
    >>> len(train), len(held_out), 5 in train
    (5, 1, True)
    """
    if not 0 < share < 1:
        raise ValueError(f"share={share!r}: give a number between 0 and 1.")
    if related is not None and related.copies:
        assert related.groups is not None
        first, copies = np.unique(related.groups, return_index=True, return_inverse=True)[1:]
        chosen = hold_out(len(first), y[first], task, share, seed)[1]
        if len(chosen):  # else each class is of one molecule
            held = np.isin(copies, chosen)
            return np.flatnonzero(~held), np.flatnonzero(held)
    if related is not None:
        return related.hold_out(share, seed)
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
    model: Any,
    train: tuple,
    held_out: tuple,
    seed: int = 0,
    groups: Any = None,
    clock: Clock | None = None,
) -> HeldOut:
    """Score a fitted automatic estimator and the baselines on held-out rows, and compare them.

    ``train`` and ``held_out`` are pairs (X, y) that the model was fitted on, and to score on. X is
    a table, or its encoded rows, which ``fit_and_encode`` and ``encode`` of the model return.
    ``groups`` are those of the held-out rows, if they have some: intervals and comparisons are of
    draws of whole groups. A baseline whose fit would take more than half of what a ``clock`` has
    left is not compared.
    """
    clock = clock or Clock()
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
    for candidate in simple_candidates(features, trend=model.trend_):
        name = candidate.name
        if model.searched_ is not None and name not in tried:
            continue  # it took too long in the search
        if name == model.winner_name_:
            scores[name], answers[name] = score, predicted
            continue

        def answered(_: Clock, candidate: Candidate = candidate) -> tuple[np.ndarray, Any]:
            recipe, kernel = Recipe(candidate.machine), candidate.kernel(features)
            fitted = recipe.fit(task, kernel, M_train, y_train)
            if not metric.counts_hits:
                return fitted(M), None
            return fitted(M), decision_weights(metric, y_train, fitted(M_train), task.classes)

        found = clock.share(BASELINE_SHARE).within(answered)
        if found is None:
            continue
        answers[name], factors = found
        other = answers[name] if factors is None else metric.decided(answers[name], factors)
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
    simple = any(candidate.simple for _, candidate, _ in model.parts_)
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


def _encoded(model: Any, X: Samples) -> EncodedColumns:
    return X if isinstance(X, EncodedColumns) else model.encode(X)
