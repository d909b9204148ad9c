"""How the rate of a training by batches rises and falls."""

from __future__ import annotations

import math

RISE = 0.1  # part of the steps in which the rate rises


def one_cycle(done: float) -> float:
    """The share of the highest rate: up in a straight line, and down along a cosine.

    Examples
    --------
    >>> [round(one_cycle(done), 3) for done in (0.05, 0.1, 0.5, 1.0)]
    [0.497, 0.976, 0.5, 0.0]
    """
    return min(1.0, done / RISE) * (1 + math.cos(math.pi * done)) / 2
