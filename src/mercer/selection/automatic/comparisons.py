"""Whether one model is better than another: a paired test on the rows that both have predicted.

Two intervals that overlap say little, because both models err on the same hard rows. So the
difference of the two scores is looked at. Its 95% interval is that of draws of rows with
replacement, which both models share. If neither model were better, each row's two predictions could
as well change places: the test counts how often the difference is as large after random changes.
For accuracy this is McNemar's test. One rule holds for all metrics: a model is called better only
if the test has p < 0.05 and 0 is outside the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from mercer.selection.automatic.scores import Metric

LEVEL = 0.05
MOST_DRAWS, LEAST_DRAWS, DRAWN = 500, 100, 5e5  # draws, and rows in all of them


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
) -> Comparison:
    """Compare two models by what each predicts for the same rows.

    ``first`` and ``second`` are predicted values, or probabilities (n, classes), times decision
    weights where the metric counts classes.

    Examples
    --------
    >>> from mercer.selection.automatic.scores import METRICS
    >>> y = np.arange(40.0)
    >>> compared(METRICS["mae"], y, y + 0.1, y[::-1]).outcome
    'better'
    """
    n, rng = len(y), np.random.default_rng(seed)
    draws = int(np.clip(DRAWN / n, LEAST_DRAWS, MOST_DRAWS))

    def difference(rows: Any, swapped: Any = None) -> float:
        a, b = first[rows], second[rows]
        if swapped is not None:
            change = swapped if a.ndim == 1 else swapped[:, None]
            a, b = np.where(change, b, a), np.where(change, a, b)
        return metric.sign() * (metric(y[rows], a, classes) - metric(y[rows], b, classes))

    found = difference(slice(None))
    if np.array_equal(first, second) or np.isnan(found):
        return Comparison(found, found, found, 1.0)
    sampled = [difference(rng.integers(0, n, n)) for _ in range(draws)]
    low, high = np.nanpercentile(sampled, [2.5, 97.5])
    if metric.name == "accuracy":  # the number of changes is that of a coin's heads
        right, other = (classes[each.argmax(axis=1)] == y for each in (first, second))
        differ = int(np.sum(right != other))
        p = binomtest(int(np.sum(right & ~other)), differ).pvalue if differ else 1.0
    else:
        changed = [difference(slice(None), rng.random(n) < 0.5) for _ in range(draws)]
        extreme = np.abs(changed) >= abs(found) * (1 - 1e-12)
        p = (1 + np.sum(extreme)) / (1 + draws)
    if p >= LEVEL:  # what the test does not tell apart, the interval does not either
        low, high = min(low, 0.0), max(high, 0.0)
    return Comparison(found, float(low), float(high), float(p))


def as_good(versus: dict[str, Comparison]) -> str | None:
    """The simple model that is better than the kept one; else the simplest that is as good."""
    for outcome in ("worse", "as good"):  # of the kept model
        for name, comparison in versus.items():
            if comparison.outcome == outcome:
                return name
    return None


def verdict(
    versus: dict[str, Comparison],
    scores: dict[str, float],
    model: str,
    text: Callable[[float], str] = "{:.4g}".format,
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
    "A simpler model does as well: the baseline 'linear' scores 0.9, and the difference of 0.1
    (95% interval -0 to 0.2) may be chance."
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
    span = f"(95% interval {text(-c.high)} to {text(-c.low)})"
    what = f"the baseline {name!r} scores {text(scores[name])}"
    if c.outcome == "worse":
        return f"A simpler model is better: {what}, better by {text(-c.difference)} {span}."
    if c.difference == c.low == c.high == 0:
        return f"A simpler model does as well: {what}, which is the same."
    return (
        f"A simpler model does as well: {what}, and the difference of {text(-c.difference)} "
        f"{span} may be chance."
    )
