"""The leave-one-out error of k nearest neighbours, by which a metric is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import _native
from mercer.threads import ordered_map

STRIP = 256  # rows whose distances to all others are held at a time, in each thread


def are_classes(y: Any, classes: bool | None = None) -> bool:
    """Whether targets are classes, if ``classes`` does not say it.

    What is no number is a class, and so are whole numbers of at most 2 + n / 10 different values.
    """
    if classes is not None:
        if not isinstance(classes, (bool, np.bool_)):
            raise ValueError(f"classes={classes!r}: give True, False or None.")
        return bool(classes)
    y = np.asarray(y)
    if y.dtype.kind not in "fiu":
        return True
    levels = np.unique(y)
    whole = bool(np.isfinite(levels).all() and (levels == np.round(levels)).all())
    return whole and len(levels) <= 2 + len(y) / 10


class Answers:
    """Targets, and the errors of predictions from neighbours.

    Whether they are classes is as `are_classes` has it.
    """

    def __init__(self, y: Any, classes: bool | None = None):
        y = np.asarray(y)
        if y.ndim != 1:
            raise ValueError(f"y has shape {y.shape}: give one class or number for each row.")
        levels, codes = np.unique(y, return_inverse=True)
        self.classes = are_classes(y, classes)
        self.codes = codes
        #: the numbers, or the indicators of the classes
        self.values = np.eye(len(levels))[codes] if self.classes else y.astype(np.float64)

    def errors(self, neighbours: np.ndarray) -> np.ndarray:
        """The error of each row from its k neighbours, (n,): the share of wrong votes among the
        classes that win, or the squared error of the mean."""
        if not self.classes:
            return (self.values[neighbours].mean(axis=1) - self.values) ** 2
        votes = self.values[neighbours].sum(axis=1)
        winners = votes == votes.max(axis=1, keepdims=True)
        return 1 - winners[np.arange(len(votes)), self.codes] / winners.sum(axis=1)


def nearest_left_out(
    distances: Callable[[slice], Any], n: int, k: int, n_jobs: int | None = None
) -> list[np.ndarray]:
    """The k < n nearest other rows of each row, (n, k), by each of several distances.

    ``distances`` takes a slice of rows and returns C-ordered arrays (rows, n), one for each
    distance. Of equally near rows the one of smaller number comes first.
    """
    ids = np.arange(n)

    def strip(start: int) -> list[np.ndarray]:
        rows = slice(start, min(start + STRIP, n))
        found = []
        for D in distances(rows):
            best = np.full((len(D), k), np.inf, D.dtype)
            nearest = np.full((len(D), k), np.iinfo(np.int64).max)
            _native.keep_nearest(D, ids, ids[rows], best, nearest)
            found.append(nearest)
        return found

    parts = list(ordered_map(strip, range(0, n, STRIP), n_jobs))
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]
