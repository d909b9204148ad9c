"""What distances learn from the target: weights of features, and how much to shrink a covariance.

A shrinkage is judged by the leave-one-out error of k nearest neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer import _native
from mercer.distances.products import from_origin, squared_euclidean
from mercer.samples import (
    column_names,
    float_array,
    is_missing,
    number_columns,
    object_columns,
    read,
    select_columns,
)
from mercer.threads import ordered_map

STRIP = 256  # rows whose distances to all others are held at a time, in each thread


def are_classes(y: np.ndarray, classes: bool | None = None) -> bool:
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


class NeighbourAnswers:
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


SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
NEIGHBOURS = 5
ROWS = 5000  # the most rows that judge, evenly spaced


def least_left_out(
    X: np.ndarray, S: np.ndarray, targets: dict[str, np.ndarray], y: ArrayLike, weights: np.ndarray
) -> tuple[str, float]:
    """The target T and the weight s in (1 - s) S + s T with the least leave-one-out error.

    S is the covariance, and ``targets`` are the names and the diagonals, of numbers > 0, of the
    matrices T to try. Of equally good ones the first target and the largest weight. A row of weight
    w is left out with its copies, and its error counts w times. Without targets y this is a
    ValueError.
    """
    if y is None:
        raise ValueError(
            'shrinkage="leave_one_out" needs the targets y, which this use of the distance does '
            'not have: give shrinkage="auto" or a number.'
        )
    step = max(1, -(-len(X) // ROWS))
    X, y, weights = from_origin(X[::step]).parts[0], np.asarray(y)[::step], weights[::step]
    answers, n = NeighbourAnswers(y if y.ndim == 1 else y[:, 0]), len(X)
    best: tuple[float, str, float] = (np.inf, "", 1.0)
    for name, diagonal in targets.items():
        root = np.sqrt(diagonal)  # of rows in these units the target is the identity
        values, U = np.linalg.eigh(S / np.outer(root, root))
        turned = (X / root) @ U
        # along the eigenvectors each share is a scale of the axes
        scales = [1 / np.sqrt((1 - s) * np.maximum(values, 0) + s) for s in SHARES]
        sides = [from_origin(turned * scale) for scale in scales]

        def distances(rows: slice, sides: list = sides) -> Any:
            return (squared_euclidean(A[rows], A) for A in sides)

        found = nearest_left_out(distances, n, min(NEIGHBOURS, n - 1))
        errors = np.array(
            [np.average(answers.errors(nearest), weights=weights) for nearest in found]
        )
        place = len(SHARES) - 1 - int(np.argmin(errors[::-1]))
        if errors[place] < best[0]:
            best = float(errors[place]), name, float(SHARES[place])
    return best[1:]


def ledoit_wolf(X: np.ndarray, weights: np.ndarray) -> float:
    """The s in (1 - s) S + s T with the least expected error, T the identity times a number.

    A row of weight w counts as w rows. Ledoit & Wolf, "A Well-Conditioned Estimator for
    Large-Dimensional Covariance Matrices", 2004, Lemma 3.2 to 3.4.
    """
    share, d = weights / weights.sum(), X.shape[1]
    X = X - share @ X
    S = (X * share[:, None]).T @ X
    mean = np.trace(S) / d
    apart = (np.vdot(S, S) - d * mean**2) / d  # d² of the paper: between S and the identity
    spread = (share @ (X**2).sum(axis=1) ** 2 - np.vdot(S, S)) / (d * weights.sum())  # b²
    return float(np.clip(spread / apart, 0, 1)) if apart > 0 else 0.0


def correlation_weights(X: Any, y: ArrayLike, *, classes: bool | None = None) -> np.ndarray:
    r"""How much each feature tells of the target, for ``weights=`` of a distance.

    .. math:: w_j = \frac{|\sum_i x_{ij} y_i|}{\sqrt{\sum_i x_{ij}^2} \sqrt{\sum_i y_i^2}}

    where columns and target are centred first: the absolute correlation. For classes it is the
    largest one over their indicators. For a column of categories it is the correlation ratio: the
    root of the share of the target's variance that is between the categories; again the largest
    over the indicators of classes. A constant column has weight 0.

    Parameters
    ----------
    X : array-like of shape (n, d), or data frame
        Numbers and categories. Missing numbers are left out; a missing category is one more.
    y : array-like of shape (n,)
        Numbers, of which two different values may stand for two classes; or classes.
    classes : bool, optional
        Whether y has classes. None: if it is not of numbers, or of whole numbers that are at most
        2 + n / 10 different ones.

    Returns
    -------
    ndarray of shape (d,), values in [0, 1]

    References
    ----------
    Fisher, "Statistical Methods for Research Workers", 1925, section 44, for the correlation ratio.

    Examples
    --------
    >>> correlation_weights([[0, 1], [1, 1], [2, 1]], [1.0, 2.0, 3.0])
    array([1., 0.])
    >>> correlation_weights([["red", 1], ["red", 5], ["blue", 2]], ["a", "a", "b"]).round(2)
    array([1.  , 0.28])
    """
    _, X = read(X, "table", reader="correlation_weights")
    shape = len(X), len(column_names(X))
    if not shape[0]:
        raise ValueError("X has no rows: give at least one.")
    if len(np.asarray(y)) != shape[0]:
        raise ValueError(
            f"X has shape {shape} and y {np.shape(y)}: give shapes (n, d) and (n,), one target for "
            "each row."
        )
    Y = _columns_of_target(y, classes)
    numbers = set(number_columns(X)[0])
    return np.array(
        [
            _of_numbers(select_columns(X, [name]), Y)
            if name in numbers
            else _of_categories(select_columns(X, [name]), Y)
            for name in column_names(X)
        ]
    )


def _columns_of_target(y: ArrayLike, classes: bool | None) -> np.ndarray:
    """The numbers, (n, 1), or the indicators of the classes, (n, classes)."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}: give one target for each row, shape (n,).")
    if not are_classes(y, classes):
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity: leave out such rows.")
        return y.astype(np.float64)[:, None]
    codes = np.unique(y, return_inverse=True)[1]
    return np.eye(codes.max() + 1)[codes]


def _of_numbers(column: np.ndarray, Y: np.ndarray) -> float:
    """The largest correlation of a column of numbers with a target."""
    (values,) = object_columns(column)
    known = ~is_missing(values)
    x, Y = float_array("X", values[known]), Y[known]
    if not len(x):
        return 0.0
    if not np.isfinite(x).all():
        raise ValueError("X holds infinity: leave out such rows.")
    x = x / (np.abs(x).max() or 1.0)  # so that squares are floats
    x, Y = x - x.mean(), Y - Y.mean(axis=0)
    norms = np.linalg.norm(x) * np.linalg.norm(Y, axis=0)
    return float((np.abs(x @ Y) / np.where(norms > 0, norms, 1)).max())


def _of_categories(column: np.ndarray, Y: np.ndarray) -> float:
    """The root of the largest share of the variance of a target between the levels."""
    (values,) = object_columns(column)
    texts = np.array(["" if m else f"={v}" for v, m in zip(values, is_missing(values))], object)
    codes = np.unique(texts, return_inverse=True)[1]
    Y = Y - Y.mean(axis=0)
    counts = np.bincount(codes)
    sums = np.stack([np.bincount(codes, column) for column in Y.T], axis=1)
    between, total = (sums**2 / counts[:, None]).sum(axis=0), (Y**2).sum(axis=0)
    return float(np.sqrt((between / np.where(total > 0, total, 1)).max()).clip(0, 1))
