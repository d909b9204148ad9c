"""Quantiles of what a new score may be, from scores that were measured before.

If the new score is as likely to take any place among n others, it is below the i-th smallest of
them with probability i / (n + 1): that is all that conformal prediction assumes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import t as student

from mercer.persistence import fields, floats


@dataclass(frozen=True, eq=False)
@fields(levels=floats(1), scores=floats(1, lambda own: len(own.levels)))
class ScoreQuantiles:
    """The quantiles of a new score: interpolated between the ``scores`` of ascending ``levels``.

    Beyond the last one they are those of Student's t distribution with the scores' mean square, as
    far as these are farther out.

    Examples
    --------
    >>> nine = ScoreQuantiles.of(np.arange(1.0, 10.0))
    >>> nine([0.1, 0.5, 0.9]).tolist()
    [1.0, 5.0, 9.0]
    """

    levels: np.ndarray
    scores: np.ndarray
    size: float  # root of the mean square of the scores
    count: float  # their number, or the sum of their weights

    @classmethod
    def of(cls, scores: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """From scores with weights, which mean repetition."""
        scores = np.asarray(scores, np.float64)
        order = np.argsort(scores, kind="stable")
        w = np.ones(len(scores)) if weights is None else np.asarray(weights, np.float64)[order]
        last = np.cumsum(w)
        first = np.minimum(last - w + 1, last)  # where a row is repeated, it has several places
        places = np.stack([first, last], axis=1).ravel() / (last[-1] + 1)
        found = np.repeat(scores[order], 2)
        if weights is None:
            places, found = places[::2], found[::2]
        size = float(np.sqrt(np.average(np.square(scores[order]), weights=w)))
        return cls(places, found, size, float(last[-1]))

    def __call__(self, levels: Any) -> np.ndarray:
        """The quantiles of these levels, which lie between 0 and 1."""
        wanted = np.asarray(levels, np.float64)
        found = np.interp(wanted, self.levels, self.scores)
        spread = self.size * np.sqrt(1 + 1 / self.count)
        far = spread * student.ppf(wanted, max(self.count - 1, 1))
        low, high = wanted < self.levels[0], wanted > self.levels[-1]
        found = np.where(low, np.minimum(far, found), found)
        return np.where(high, np.maximum(far, found), found)


def check_levels(name: str, levels: Any) -> np.ndarray:
    """The levels of quantiles in the order in which they are given; ValueError for others."""
    given = levels if isinstance(levels, Iterable) and not isinstance(levels, str) else [levels]
    try:
        found = np.array([float(level) for level in given])
    except (TypeError, ValueError):
        found = np.empty(0)
    if not len(found) or not ((found > 0) & (found < 1)).all():
        raise ValueError(f"{name}={levels!r}: give numbers between 0 and 1, such as (0.1, 0.9).")
    return found


def check_coverage(coverage: Any) -> tuple[float, float]:
    """The levels of the ends of an interval that holds such a share; ValueError for others."""
    try:
        share = float(coverage)
    except (TypeError, ValueError):
        share = np.nan
    if not 0 < share < 1:
        raise ValueError(f"coverage={coverage!r}: give a number between 0 and 1, such as 0.9.")
    return (1 - share) / 2, (1 + share) / 2
