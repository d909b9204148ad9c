"""The classes of rows that are read in chunks or in parts, with their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from mercer.learners.base.classes import check_labels, weigh_classes
from mercer.learners.base.targets import check_targets
from mercer.streams import Chunk, count_rows


class ClassTotals:
    """The classes of rows that are read a few at a time, and the weight of each.

    ``a + b`` is that of both; as a function it looks at the chunks of a stream.

    Parameters
    ----------
    reader : str
        The learner, for errors.

    Examples
    --------
    >>> some, more = ClassTotals("SVC"), ClassTotals("SVC")
    >>> some.add(2, ["b", "a"])
    >>> more.add(1, ["b"], np.array([0.5]))
    >>> (some + more).classes().tolist(), (some + more).totals
    (['a', 'b'], {'a': 1.0, 'b': 1.5})
    """

    def __init__(self, reader: str):
        self.reader = reader
        self.totals: dict[Any, float] = {}

    def __call__(self, chunk: Chunk) -> None:
        self.add(count_rows(chunk.X), chunk.y, chunk.weights)

    def add(self, rows: int, y: Any, weights: np.ndarray | None = None) -> None:
        """Look at some rows, with one class for each."""
        y = check_targets(np.empty((rows, 0)), y, self.reader, numeric=False)
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        if y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}: a fit in parts takes one class for each row.")
        check_labels(y)
        found, numbers = np.unique(y, return_inverse=True)
        for label, total in zip(found.tolist(), np.bincount(numbers, weights).tolist()):
            if total > 0:
                self.totals[label] = self.totals.get(label, 0.0) + total

    def __add__(self, other: ClassTotals) -> ClassTotals:
        both = ClassTotals(self.reader)
        for label in [*self.totals, *(each for each in other.totals if each not in self.totals)]:
            both.totals[label] = self.totals.get(label, 0.0) + other.totals.get(label, 0.0)
        return both

    def classes(self) -> np.ndarray:
        """The classes, in ascending order."""
        try:
            found = np.array(sorted(self.totals))
        except TypeError:
            raise ValueError(
                f"y has classes of different types, such as {list(self.totals)[:3]}: give numbers, "
                "or texts."
            ) from None
        check_labels(found)
        if len(found) < 2:
            raise ValueError(
                f"y has one class, {found.tolist()[0]!r}, among the rows of positive weight: a "
                "classifier needs at least two."
            )
        return found

    def factors(self, class_weight: Any) -> np.ndarray:
        """What the weights of the rows of each class are multiplied by."""
        classes = self.classes()
        totals = np.array([self.totals[label] for label in classes.tolist()])
        if class_weight is None:
            return np.ones(len(classes))
        return weigh_classes(class_weight, classes, totals) / totals
