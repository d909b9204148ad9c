"""How many hash functions are needed: an AND of r within a table, and an OR of b tables.

With the collision probability p of one function, two rows share a key in some table with the
probability 1 - (1 - pʳ)ᵇ, an S-curve over their distance. `cheapest` takes the r and b that reach a
wanted recall at least cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

MOST_HASHES = 32  # most functions of one table; with more, any family tells far rows apart


class Amplification(NamedTuple):
    """A choice of r and b."""

    n_hashes: int  # r
    n_tables: int  # b
    cost: float  # nanoseconds for a query, about


class Costs(NamedTuple):
    """About how many nanoseconds a step of a query takes."""

    #: one hash function, one table, one row that is met in a table, one distance
    hash: float
    table: float
    visit: float
    pair: float
    rows: int  # number of rows in the index


def s_curve(p: np.ndarray, n_hashes: int, n_tables: int) -> np.ndarray:
    """1 - (1 - pʳ)ᵇ, without loss of digits where it is small."""
    with np.errstate(divide="ignore"):
        return -np.expm1(n_tables * np.log1p(-(np.asarray(p, np.float64) ** n_hashes)))


def cheapest(
    collision: Callable[[np.ndarray], np.ndarray],
    wanted: np.ndarray,
    others: np.ndarray,
    recall: float,
    costs: Costs,
    most_tables: int,
) -> Amplification | None:
    """The r and b that cost least, among those whose mean recall of ``wanted`` is large enough.

    ``collision`` gives the collision probability of one function at each distance; ``wanted`` and
    ``others`` are distances of pairs that should be found, and of pairs as they come. None: so many
    tables cannot reach the recall.
    """
    near, far, best = collision(wanted), collision(others), None
    for r in range(1, MOST_HASHES + 1):
        b = _least_tables(near**r, recall, most_tables)
        if b is None:
            break  # a larger r needs more tables
        met, share = b * float((far**r).mean()), float(s_curve(far, r, b).mean())
        cost = b * (r * costs.hash + costs.table)
        cost += costs.rows * (met * costs.visit + share * costs.pair)
        if best is None or cost < best.cost:
            best = Amplification(r, b, cost)
        if far.min() == 1:
            break  # equal rows, which no hash tells apart
    return best


def _least_tables(p: np.ndarray, recall: float, most: int) -> int | None:
    """The smallest b with a mean of 1 - (1 - p)ᵇ of ``recall``, by bisection."""
    if s_curve(p, 1, most).mean() < recall:
        return None
    low, high = 0, most if s_curve(p, 1, 1).mean() < recall else 1
    while high - low > 1:
        middle = (low + high) // 2
        if s_curve(p, 1, middle).mean() < recall:
            low = middle
        else:
            high = middle
    return high
