"""Targets of learners on neighbours: the votes for classes, and the means of numbers.

Both say what weights of neighbours sum up to, which answer wins, and how good answers are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

__all__ = ["Classes", "Numbers"]


class Targets(ABC):
    """Abstract: what `Classes` and `Numbers` share."""

    @abstractmethod
    def columns(self) -> np.ndarray:
        """What each row adds to the sums, (n, columns)."""

    @abstractmethod
    def empty(self, sums: np.ndarray) -> np.ndarray:
        """Which queries have no neighbours."""

    def filled(self, sums: np.ndarray) -> np.ndarray:
        """The same sums; those of all rows where an index that is not exact found no neighbour."""
        empty = self.empty(sums)
        if empty.any():
            sums[empty] = self.columns().sum(axis=0)
        return sums


class Classes(Targets):
    """Votes for classes.

    Parameters
    ----------
    codes : ndarray of shape (n, outputs), int
        The class of each row, for each output.
    sizes : list of int
        The number of classes of each output.
    votes : ndarray of shape (n,) or None
        Votes of a row where it counts once: the weight of its class. None means 1 each.
    """

    def __init__(self, codes: np.ndarray, sizes: list[int], votes: np.ndarray | None):
        self.codes, self.sizes, self.votes = codes, sizes, votes

    def sums(self, indices: np.ndarray, W: np.ndarray) -> np.ndarray:
        """The votes for each class of each output by neighbours of these weights, (q, classes)."""
        # what is not found (-1) has weight 0
        W = W if self.votes is None else W * self.votes[indices]
        rows = np.arange(len(indices))[:, None]
        parts = []
        for codes, size in zip(self.codes.T, self.sizes):
            places = rows * size + codes[indices]
            total = np.bincount(places.ravel(), W.ravel(), len(indices) * size)
            parts.append(total.reshape(-1, size))
        return np.hstack(parts)

    def columns(self) -> np.ndarray:
        parts = [np.eye(size)[codes] for codes, size in zip(self.codes.T, self.sizes)]
        matrix = np.hstack(parts)
        return matrix if self.votes is None else matrix * self.votes[:, None]

    def empty(self, sums: np.ndarray) -> np.ndarray:
        return np.asarray((sums <= 0).all(axis=-1))

    def split(self, sums: np.ndarray) -> list[np.ndarray]:
        """Votes of each output."""
        return np.split(sums, np.cumsum(self.sizes)[:-1], axis=1)

    def answers(self, sums: np.ndarray) -> np.ndarray:
        """The class with most votes, of equal ones the first; (q, outputs)."""
        return np.column_stack([part.argmax(axis=1) for part in self.split(sums)])

    def score(self, answers: np.ndarray, weights: np.ndarray | None) -> float:
        """The accuracy of answers for the training rows, weighted by rows and classes."""
        right = (answers == self.codes).mean(axis=1)
        if self.votes is not None:
            weights = self.votes if weights is None else weights * self.votes
        return float(np.average(right, weights=weights))


class Numbers(Targets):
    """Means of numbers.

    Parameters
    ----------
    values : ndarray of shape (n, outputs)
    """

    def __init__(self, values: np.ndarray):
        values = values.astype(np.float64)
        self.unit = float(np.abs(values).max()) or 1.0  # sums of huge numbers must not overflow
        self.values = values / self.unit

    def sums(self, indices: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Weighted sums of the values, and of the weights; (q, outputs + 1)."""
        totals = np.einsum("qk,qko->qo", W, self.values[indices])
        return np.column_stack([totals, W.sum(axis=1)])

    def columns(self) -> np.ndarray:
        return np.column_stack([self.values, np.ones(len(self.values))])

    def empty(self, sums: np.ndarray) -> np.ndarray:
        return ~(sums[..., -1] > 0)

    def answers(self, sums: np.ndarray) -> np.ndarray:
        """The means, (q, outputs)."""
        return self.unit * (sums[:, :-1] / sums[:, -1:])

    def score(self, answers: np.ndarray, weights: np.ndarray | None) -> float:
        """R² of answers for the training rows."""
        values: Any = self.values
        return float(r2_score(values, answers / self.unit, sample_weight=weights))
