"""Classes that have an order, such as "low", "medium" and "high": which ones, and their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

#: words that people put in an order, the lowest first; some of one line make an order too
SCALES = (
    "none, minimal, trace, mild, slight, moderate, severe, critical",
    "never, rarely, seldom, sometimes, often, usually, always",
    "very low, low, medium, moderate, high, very high, extreme",
    "tiny, small, medium, large, huge",
    "xxs, xs, s, m, l, xl, xxl, xxxl",
    "terrible, very bad, bad, poor, fair, average, ok, good, very good, great, excellent",
    "very poor, poor, fair, acceptable, good, very good, ideal",
    "fail, pass, merit, distinction",
    "strongly disagree, disagree, somewhat disagree, neutral, somewhat agree, agree, "
    "strongly agree",
    "very dissatisfied, dissatisfied, neutral, satisfied, very satisfied",
    "very unlikely, unlikely, neutral, likely, very likely",
    "cold, cool, mild, warm, hot",
    "slow, medium, fast",
    "young, adult, old",
    "bronze, silver, gold, platinum",
    "beginner, intermediate, advanced, expert",
    "primary, secondary, tertiary",
)
FEWEST = 3  # classes from which on an order matters


def levels_in_order(y: Any) -> list | None:
    """The levels of a series whose type has an order, the lowest first; None for all others.

    Examples
    --------
    >>> import pandas as pd
    >>> levels_in_order(pd.Series(pd.Categorical(["b", "a"], ["b", "a"], ordered=True)))
    ['b', 'a']
    """
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):  # of pandas, a Categorical or a series of one
        return list(dtype.categories)
    series = nw.from_native(y, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series) or not isinstance(series.dtype, nw.Enum):
        return None
    return list(series.dtype.categories)


def known_order(values: Sequence) -> list | None:
    """The values from the lowest to the highest, if they are numbers or words of a known scale.

    Examples
    --------
    >>> known_order(["High", "Low", "Medium"]), known_order(["a", "b", "c"])
    (['Low', 'Medium', 'High'], None)
    """
    if len(values) < FEWEST:
        return None
    if all(isinstance(value, (int, float)) for value in values):
        return sorted(values)
    words = {str(value).strip().lower().replace("_", " ").replace("-", " "): value
             for value in values}  # fmt: skip
    for scale in SCALES:
        found = [word for word in scale.split(", ") if word in words]
        if len(found) == len(values):
            return [words[word] for word in found]
    return None


def ranks_of(classes: np.ndarray, order: Sequence | None) -> np.ndarray | None:
    """The rank of each class, from 0, in an order that may have more classes; None without one."""
    if order is None:
        return None
    places = {value: place for place, value in enumerate(order)}
    absent = [value for value in classes.tolist() if value not in places]
    if absent or len(places) < len(order):
        what = f"lacks the class {absent[0]!r}" if absent else "has a class twice"
        raise ValueError(
            f"order={list(order)!r:.200} {what}: give each class once, the lowest first."
        )
    return np.argsort(np.argsort([places[value] for value in classes.tolist()]))
