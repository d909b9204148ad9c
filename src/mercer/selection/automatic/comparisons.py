"""Whether one model is better than another: a paired test on the rows that both have predicted.

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
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from mercer.selection.automatic.scores import Metric, drawn_rows
from mercer.spoken import spoken

LEVEL = 0.05
MOST_DRAWS, LEAST_DRAWS = 500, 100
DRAWN, SLOWLY_DRAWN = 1e6, 2e4  # rows in all draws, where each costs a product or a score


@dataclass(frozen=True)
class Comparison:
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
    classes: Any = None,
    seed: int = 0,
    groups: np.ndarray | None = None,
) -> Comparison:
    """Compare two models by what each predicts for the same rows.

    ``first`` and ``second`` are predicted values, or probabilities (n, classes), times decision
    weights where the metric counts classes. ``groups`` are the numbers of the rows' groups, from 0.

    Examples
    --------
    >>> from mercer.selection.automatic.scores import METRICS
    >>> y = np.arange(40.0)
    >>> compared(METRICS["mae"], y, y + 0.1, y[::-1]).outcome
    'better'
    """
    n, rng = len(y), np.random.default_rng(seed)
    units = np.arange(n) if groups is None else groups  # what is drawn, and changes places
    count = int(units.max()) + 1
    found = metric.sign() * (metric(y, first, classes) - metric(y, second, classes))
    if np.array_equal(first, second) or np.isnan(found):
        return Comparison(found, found, found, 1.0)
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
    if (
        metric.name == "accuracy" and groups is None
    ):  # the number of changes is that of a coin's heads
        ours, theirs = (int(np.sum(losses[i] < losses[1 - i])) for i in (0, 1))
        p = binomtest(ours, ours + theirs).pvalue if ours + theirs else 1.0
    if p >= LEVEL:  # what the test does not tell apart, the interval does not either
        low, high = min(low, 0.0), max(high, 0.0)
    return Comparison(found, float(low), float(high), float(p))


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


def as_good(versus: dict[str, Comparison]) -> str | None:
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
    versus: dict[str, Comparison],
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
    >>> verdict({"linear": Comparison(-0.1, -0.2, 0.0, 0.08)}, {"linear": 0.9}, "the model")
    "A simpler model may do as well: the baseline 'linear' scores 0.9, and the difference of 0.1
    (95% interval 0 to 0.2) may be chance."
    """
    if not versus:
        return "No model that was tried predicts better than a constant, so a constant is kept."
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
