"""What the values of a target tell: the task, the order of its classes, the usual metric.

It needs no learner, so that the command asks it before it loads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from mercer.tables.forms import words_in_order

MOST_CLASSES = 20  # an integer target with more different values is a number
NUMBERS_PER_CLASS = 10  # an integer target with fewer rows per value is a number too
FEW_CLASSES = 10  # more integers than these, some of which are rare, are counts
FEWEST_ROWS = 5  # of a value that is not rare
LARGEST = 1e18  # of a target of numbers: its square has to be one of single precision
RARE_SHARE = 0.1  # part of the rows of the rarer of two classes, below which accuracy says little
FEWEST = 3  # classes from which on an order matters


def levels_in_order(y: ArrayLike) -> list | None:
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
    return words_in_order(values)


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


def task_of(target: np.ndarray, given: str | None = None) -> tuple[str, str]:
    """The task ("classification" or "regression") and the reason, from the values of the target.

    Examples
    --------
    >>> task_of(np.array(["a", "b"]))[0], task_of(np.linspace(0, 1, 50))[0]
    ('classification', 'regression')
    """
    target = np.asarray(target)
    if given is not None:
        return given, "you said so"
    if target.dtype.kind not in "fiu":
        values = len({*target.tolist()})
        return "classification", f"the target has {values} different values that are not numbers"
    counts = np.unique(target, return_counts=True)[1]
    values = len(counts)
    whole = bool(np.all(target == np.round(target)))
    if whole and values <= 2:
        return "classification", f"the target has {values} different values"
    few = values <= MOST_CLASSES and len(target) >= NUMBERS_PER_CLASS * values
    # of counts, such as visits in an hour, the largest are rare; classes have some rows each
    counted = values > FEW_CLASSES and counts.min() < FEWEST_ROWS
    if whole and few and not counted:
        return "classification", (
            f"the target holds integers with only {values} different values; "
            "--task regression reads them as numbers"
        )
    reverse = "; --task classification reads them as classes" if whole and values <= 100 else ""
    kind = "integers" if whole else "numbers"
    return "regression", f"the target holds {kind}, {values} different{reverse}"


def default_metric(task: str, y: np.ndarray, ordered: bool = False) -> str:
    """The metric where none is asked for: "r2", "accuracy", "average_precision" or "rank_error".

    "rank_error" is for ordered classes, "average_precision" for two classes of which one has less
    than a tenth of the rows: who never predicts it is right nine times in ten, and has found
    nothing.

    Examples
    --------
    >>> default_metric("classification", np.repeat(["ill", "well"], [3, 97]))
    'average_precision'
    """
    if task == "regression":
        return "r2"
    if ordered:
        return "rank_error"
    _, counts = np.unique(y, return_counts=True)
    rare = len(counts) == 2 and counts.min() < RARE_SHARE * len(y)
    return "average_precision" if rare else "accuracy"
