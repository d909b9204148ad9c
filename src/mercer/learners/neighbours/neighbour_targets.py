"""Targets of learners on neighbours: the votes for classes, and the means of numbers.

Both say what weights of neighbours sum up to, which answer wins, and how good answers are. Sums and
answers may be those of several numbers of neighbours, as an axis before the last one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.persistence import each, fields, floats, number, optional, whole

FEW = 32  # columns that are compared one by one


class Targets(ABC):
    """Abstract: what `Classes` and `Numbers` share."""

    @abstractmethod
    def columns(self, rows: slice = slice(None)) -> np.ndarray:
        """What each row adds to the sums, (n, columns)."""

    @abstractmethod
    def running(
        self, indices: np.ndarray, numbers: Sequence[int]
    ) -> Callable[[np.ndarray], np.ndarray]:
        """A function of weights (q, numbers[-1]) of neighbours, or of fewer where the others have
        none: what the first of them sum up to, for each of the ascending ``numbers`` of them,
        (q, numbers, columns)."""

    @abstractmethod
    def tally(self, answers: np.ndarray, rows: Any, weights: np.ndarray | None) -> np.ndarray:
        """What `scores` reads of answers (q, ..., outputs) for some of the training rows, a slice
        or their numbers. It may be added up over all rows."""

    @abstractmethod
    def scores(self, tally: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The scores of answers for all training rows, of their tally."""

    @abstractmethod
    def empty(self, sums: np.ndarray) -> np.ndarray:
        """Which queries have no neighbours."""

    def filled(self, sums: np.ndarray) -> np.ndarray:
        """The same sums; those of all rows where an index that is not exact found no neighbour."""
        empty = self.empty(sums)
        if empty.any():
            sums[empty] = self.columns().sum(axis=0)
        return sums


def _codes(targets: Classes, codes: Any) -> None:
    """Each column has the numbers of its own classes."""
    whole(axes=2)(targets, codes)
    for column, size in zip(codes.T, targets.sizes, strict=True):
        whole(lambda _, size=size: size)(targets, column)


@fields(
    codes=_codes,
    sizes=each(number(lambda targets: 2**31)),
    votes=optional(floats(1, lambda targets: len(targets.codes))),
)
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

    def running(
        self, indices: np.ndarray, numbers: Sequence[int]
    ) -> Callable[[np.ndarray], np.ndarray]:
        indices = indices[:, : numbers[-1]]
        q, m, steps = *indices.shape, len(numbers)
        votes = None if self.votes is None else self.votes[indices]
        # a block of (steps, q) numbers for each class, so that all sums are over long rows; the
        # step of a neighbour is the first of the numbers that counts it
        step = np.searchsorted(numbers, np.arange(m), side="right")
        place = step * q + np.arange(q)[:, None]
        places = [place + codes[indices] * (steps * q) for codes in self.codes.T]

        def sums(W: np.ndarray) -> np.ndarray:
            reach = W.shape[1]
            W = (W if votes is None else W * votes[:, :reach]).ravel()
            added = [
                np.bincount(place[:, :reach].ravel(), W, size * steps * q).reshape(size, steps, q)
                for place, size in zip(places, self.sizes)
            ]
            total = added[0] if len(added) == 1 else np.concatenate(added)
            for s in range(1, steps):
                total[:, s] += total[:, s - 1]
            return total.transpose(2, 1, 0)

        return sums

    def columns(self, rows: slice = slice(None)) -> np.ndarray:
        parts = [np.eye(size)[codes] for codes, size in zip(self.codes[rows].T, self.sizes)]
        matrix = np.hstack(parts)
        return matrix if self.votes is None else matrix * self.votes[rows, None]

    def empty(self, sums: np.ndarray) -> np.ndarray:
        return np.asarray((sums <= 0).all(axis=-1))

    def split(self, sums: np.ndarray) -> list[np.ndarray]:
        """Votes of each output."""
        return np.split(sums, np.cumsum(self.sizes)[:-1], axis=-1)

    def answers(self, sums: np.ndarray) -> np.ndarray:
        """The class with most votes, of equal ones the first; (q, outputs)."""
        return np.stack([_first_largest(part) for part in self.split(sums)], axis=-1)

    def tally(self, answers: np.ndarray, rows: Any, weights: np.ndarray | None) -> np.ndarray:
        """The weight of the rows with right answers."""
        importance = self._importance(weights)[rows]
        shape = len(importance), *[1] * (answers.ndim - 2)
        right = [
            np.tensordot(importance, answers[..., j] == codes[rows].reshape(shape), 1)
            for j, codes in enumerate(self.codes.T)
        ]
        return np.mean(right, axis=0)

    def scores(self, tally: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The accuracy, weighted by rows and classes."""
        return tally / self._importance(weights).sum()

    def _importance(self, weights: np.ndarray | None) -> np.ndarray:
        w = np.ones(len(self.codes)) if weights is None else weights
        return w if self.votes is None else w * self.votes


@fields()
class Numbers(Targets):
    """Means of numbers.

    Parameters
    ----------
    values : ndarray of shape (n, outputs)
    """

    unit: float

    def __init__(self, values: np.ndarray):
        values = values.astype(np.float64)
        self.unit = float(np.abs(values).max()) or 1.0  # sums of huge numbers must not overflow
        self.values = values / self.unit

    def sums(self, indices: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Weighted sums of the values, and of the weights; (q, outputs + 1)."""
        totals = np.einsum("qk,qko->qo", W, self.values[indices])
        return np.column_stack([totals, W.sum(axis=1)])

    def running(
        self, indices: np.ndarray, numbers: Sequence[int]
    ) -> Callable[[np.ndarray], np.ndarray]:
        near, ends = self.values[indices[:, : numbers[-1]]], np.asarray(numbers)

        def sums(W: np.ndarray) -> np.ndarray:
            reach = W.shape[1]
            starts = [0, *ends[:-1][ends[:-1] < reach]]
            last = np.minimum(np.arange(len(ends)), len(starts) - 1)  # further ones add nothing
            totals = np.add.reduceat(W[:, :, None] * near[:, :reach], starts, axis=1)
            counted = np.add.reduceat(W, starts, axis=1)
            return np.concatenate([totals, counted[:, :, None]], axis=2).cumsum(axis=1)[:, last]

        return sums

    def columns(self, rows: slice = slice(None)) -> np.ndarray:
        values = self.values[rows]
        return np.column_stack([values, np.ones(len(values))])

    def empty(self, sums: np.ndarray) -> np.ndarray:
        return ~(sums[..., -1] > 0)

    def answers(self, sums: np.ndarray) -> np.ndarray:
        """The means, (q, outputs)."""
        return self.unit * (sums[..., :-1] / sums[..., -1:])

    def tally(self, answers: np.ndarray, rows: Any, weights: np.ndarray | None) -> np.ndarray:
        """The squared errors of each output."""
        values = np.expand_dims(self.values[rows], tuple(range(1, answers.ndim - 1)))
        w = np.ones(len(values)) if weights is None else weights[rows]
        return np.tensordot(w, (answers / self.unit - values) ** 2, 1)

    def scores(self, tally: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """R², its mean over the outputs. It is 1 of a constant output, which all means hit."""
        w = np.ones(len(self.values)) if weights is None else weights
        spread = w @ (self.values - np.average(self.values, axis=0, weights=w)) ** 2
        constant = np.ptp(self.values, axis=0) == 0  # whatever rounding makes of it
        share = np.where(constant, 0, tally / np.where(constant, 1, spread))
        return (1 - share).mean(axis=-1)


def _first_largest(sums: np.ndarray) -> np.ndarray:
    """The place of the largest along the last axis, of equal ones the first."""
    if not 0 < sums.shape[-1] <= FEW:
        return sums.argmax(axis=-1)
    # NumPy starts a search for each row, which takes longer than to compare whole columns
    most, place = sums[..., 0].copy(order="K"), np.zeros_like(sums[..., 0], dtype=np.int64)
    for c in range(1, sums.shape[-1]):
        larger = sums[..., c] > most
        place[larger] = c
        np.maximum(most, sums[..., c], out=most)
    return place
