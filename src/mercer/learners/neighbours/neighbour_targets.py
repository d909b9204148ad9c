"""Weights of neighbours, and what they make of the targets: votes for classes, means of numbers.

`Neighbourhoods` are the nearest rows that a search found, and how many times each of them counts;
`WeightRule` makes weights of them: equally, by rank, by distance or by a window. Both kinds of
targets say what weights of neighbours sum up to, which answer wins, and how good answers are. Sums
and answers may be those of several numbers of neighbours, as an axis before the last one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import column_or_1d

from mercer.learners.base import Classifier, Training, check_labels, is_auto
from mercer.learners.windows import ENDLESS, WINDOWS, window
from mercer.persistence import each, fields, floats, number, optional, whole
from mercer.samples import SamplesLike, is_number

NAMES = ("uniform", "distance", "rank")


class Neighbourhoods(NamedTuple):
    """The nearest rows of some queries.

    Attributes
    ----------
    distances : ndarray of shape (n, m)
        Ascending in each row.
    indices : ndarray of shape (n, m)
    counts : ndarray of shape (n, m) or None
        How many times each row counts; None means once each.
    """

    distances: np.ndarray
    indices: np.ndarray
    counts: np.ndarray | None

    def of(self, rows: slice | np.ndarray) -> Neighbourhoods:
        """The same for some of the queries."""
        counts = None if self.counts is None else self.counts[rows]
        return Neighbourhoods(self.distances[rows], self.indices[rows], counts)


class WeightRule(NamedTuple):
    """A rule that gives weights to the k nearest of a query.

    Attributes
    ----------
    weights : {"uniform", "distance", "rank"}, a window's name or callable
    width : float or None
        Width of a window; None means the distance to the (k + 1)-th neighbour.
    """

    weights: str | Callable
    width: float | None = None

    @property
    def adaptive(self) -> bool:
        """Whether it needs the (k + 1)-th neighbour, too."""
        return self.weights in WINDOWS and self.width is None

    @property
    def independent(self) -> bool:
        """Whether the weight of a neighbour does not depend on k."""
        return not self.adaptive and self.weights != "rank"

    def reach(self, found: Neighbourhoods) -> int:
        """How many of the nearest may have a weight that is not 0; at least one."""
        m = found.distances.shape[1]
        if self.weights not in WINDOWS or self.weights in ENDLESS or self.width is None:
            return m
        nearest = found.distances.min(axis=0)
        return max(1, int(np.searchsorted(nearest, self.width, side="right")))

    def __call__(self, found: Neighbourhoods, k: int) -> np.ndarray:
        """Weights of the nearest, (n, m) or (n, k), which are 0 for rows beyond the k-th.

        Where all of them are 0, the weight of the nearest is 1.
        """
        if found.counts is None:
            D = found.distances[:, : k + self.adaptive].astype(np.float64, copy=False)
            farther = D[:, k] if self.adaptive else None
            D = D[:, :k]
            before, counted = np.arange(D.shape[1])[None, :], None
        else:
            # a row of weight 2 is two neighbours, and may be the k-th and the (k + 1)-th
            D = found.distances.astype(np.float64)
            after = np.cumsum(found.counts, axis=1)
            before = after - found.counts
            counted = np.clip(k - before, 0, found.counts)
            farther = D[np.arange(len(D)), (after > k).argmax(axis=1)] if self.adaptive else None
        W = self._weights(D, farther, before, counted, k)
        some = np.flatnonzero(~(W[:, 0] > 0))  # mostly the nearest counts
        nobody = some[~(W[some] > 0).any(axis=1)]
        if len(nobody):
            W[nobody] = 0
            W[nobody, 0] = 1 if found.counts is None else found.counts[nobody, 0] > 0
        return W

    def _weights(
        self, D: np.ndarray, farther: Any, before: np.ndarray, counted: np.ndarray | None, k: int
    ) -> np.ndarray:
        """``counted`` is how many times each row counts; None means once."""
        if self.weights == "uniform":
            return np.ones(D.shape) if counted is None else counted
        if self.weights == "rank":  # the sum of (k + 1 - i) / k over its places, before < i <= last
            last = before + (1 if counted is None else counted)
            W = (last * (2 * k + 1 - last) - before * (2 * k + 1 - before)) / (2 * k)
            return np.broadcast_to(np.where(last > before, W, 0), D.shape).copy()
        if self.weights == "distance":
            # 1 / d, in units of the nearest; rows at distance 0 leave nothing to the others
            with np.errstate(divide="ignore", invalid="ignore"):
                W = np.where(D[:, :1] > 0, D[:, :1] / D, D == 0)
        elif callable(self.weights):
            W = infinite_alone(called(self.weights, D))
        else:
            W = window(self.weights, D, self.width if farther is None else farther[:, None])
        return W if counted is None else W * counted


def check_weighing(weights: ArrayLike, width: Any, n_neighbors: int | str) -> None:
    """Raise an error if ``weights``, ``width`` and ``n_neighbors`` do not go together."""
    known = callable(weights) or (isinstance(weights, str) and weights in (*NAMES, *WINDOWS))
    if not (known or weights is None):
        names = ", ".join(map(repr, (*NAMES, *WINDOWS)))
        raise ValueError(f"weights={weights!r}: give one of {names}, or a function of distances.")
    windowed = isinstance(weights, str) and weights in WINDOWS
    if width is not None and not windowed:
        raise ValueError(
            f"width={width!r} belongs to a window, but weights={weights!r}: leave width out, or "
            f"give weights as one of {', '.join(map(repr, WINDOWS))}."
        )
    if not (width is None or is_auto(width) or (is_number(width) and 0 < width < np.inf)):
        raise ValueError(f'width={width!r}: give a finite number > 0, "auto" or None.')
    if n_neighbors is None and width is None:
        raise ValueError(
            "n_neighbors=None means all rows, which needs a window of a known width: give "
            f'weights="gaussian", say, and width, instead of weights={weights!r} and width=None.'
        )


def called(function: Callable, D: np.ndarray) -> np.ndarray:
    """Weights by a user's function of the distances.

    Infinite ones, as of 1 / d at distance 0, leave nothing to the others of their row.
    """
    with np.errstate(divide="ignore", over="ignore"):
        W = np.asarray(function(D.copy()))
    if W.shape != D.shape or W.dtype.kind not in "biuf":
        raise ValueError(
            f"weights returned shape {W.shape} of {W.dtype} for distances of shape {D.shape}: give "
            "one number for each."
        )
    if not (W >= 0).all():
        raise ValueError(
            "weights returned a negative number or NaN: give numbers >= 0, such as 1 / (d + 1)."
        )
    return W.astype(np.float64)


def infinite_alone(W: np.ndarray) -> np.ndarray:
    """Weights (n, k) where infinite ones are 1, and leave nothing to the others of their row."""
    infinite = np.isinf(W)
    return np.where(infinite.any(axis=1, keepdims=True), infinite, W)


FEW = 32  # columns that are compared one by one


class NeighbourTargets(ABC):
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
    def tally(self, answers: np.ndarray, rows: object, weights: np.ndarray | None) -> np.ndarray:
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
class Classes(NeighbourTargets):
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

    def tally(
        self, answers: np.ndarray, rows: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
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
class Numbers(NeighbourTargets):
    """Means of numbers.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, outputs)
    """

    values: np.ndarray
    unit: float
    dtype: str  # of y, which answers have too
    one: bool  # whether y is (n,)

    def __init__(self, y: np.ndarray):
        self.one, self.dtype = y.ndim == 1, y.dtype.name
        values = y.reshape(len(y), -1).astype(np.float64)
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

    def like_given(self, sums: np.ndarray) -> np.ndarray:
        """The answers as y was: (q,) or (q, outputs)."""
        answers = self.answers(sums).astype(self.dtype, copy=False)
        return answers[:, 0] if self.one else answers

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


class ClassColumns(MultiOutputMixin, Classifier):
    """Abstract: a classifier of one or more outputs. It sets ``classes_`` and ``outputs_2d_``."""

    classes_: Any
    outputs_2d_: bool

    @abstractmethod
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Keep samples X (n) and their classes y (n) or (n, outputs).

        Parameters
        ----------
        X : samples
            (n, n) distances for ``metric="precomputed"``.
        y : array-like of shape (n,) or (n, outputs)
        sample_weight : array-like of shape (n,), optional
            How many times each row counts.

        Raises
        ------
        ValueError
            A parameter is out of range, or there are fewer rows than neighbours.
        TypeError
            An outlier label is of another type than the classes.
        """

    @abstractmethod
    def predict(self, X: SamplesLike) -> np.ndarray:
        """The class with most votes of the neighbours.

        Parameters
        ----------
        X : samples, or None
            None means the training rows; no row is its own neighbour.

        Returns
        -------
        ndarray of shape (q,) or (q, outputs)
        """

    @abstractmethod
    def predict_proba(self, X: SamplesLike) -> Any:
        """The share of each class in the votes of the neighbours.

        Parameters
        ----------
        X : samples, or None
            None means the training rows; no row is its own neighbour.

        Returns
        -------
        ndarray of shape (q, n_classes), or a list of them for several outputs
            Samples without neighbours have 1 for their outlier label, or 0 for all classes.
        """

    def check_classes(self, training: Training) -> Training:
        """The training samples with their classes, (n,) or (n, outputs)."""
        self.outputs_2d_ = training.y.ndim == 2 and training.y.shape[1] > 1
        if not self.outputs_2d_:
            training = training._replace(y=column_or_1d(training.y, warn=True))
        check_labels(training.y)
        return training

    def keep_classes(self, y: np.ndarray, votes: np.ndarray | None = None) -> Classes:
        """The classes as numbers, and how many votes each row has."""
        Y = y if self.outputs_2d_ else y[:, None]
        found = [np.unique(column, return_inverse=True) for column in Y.T]
        levels = [classes for classes, _ in found]
        self.classes_ = levels if self.outputs_2d_ else levels[0]
        codes = np.column_stack([code for _, code in found])
        return Classes(codes, [len(classes) for classes in levels], votes)

    def levels(self) -> list[np.ndarray]:
        """The classes of each output."""
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def labels(self, answers: np.ndarray) -> np.ndarray:
        """Classes from their numbers (q, outputs): (q,) or (q, outputs)."""
        columns = [c[code] for c, code in zip(self.levels(), answers.T)]
        return np.column_stack(columns) if self.outputs_2d_ else columns[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
