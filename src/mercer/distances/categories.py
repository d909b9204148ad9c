"""Distances between rows of categories: a sum over columns of a comparison of two values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.vectors import feature_sum
from mercer.samples import Categories

__all__ = ["LogFrequency", "Match", "SmoothedMatch", "match_counts"]


class Match(Distance):
    r"""Number of columns that differ, :math:`\rho(x, z) = \sum_j w_j [x_j \ne z_j]`.

    A missing value equals a missing value and nothing else.

    Parameters
    ----------
    weights : array-like of shape (c,), optional
        :math:`w_j \ge 0`, one a column; ones by default.

    Examples
    --------
    >>> Match()([["red", "s"]], [["red", "m"]])
    array([[1.]])
    """

    kind = "categories"

    def __init__(self, weights: Any = None):
        self.weights = weights

    def validate(self) -> None:
        if self.weights is not None and not (np.asarray(self.weights) >= 0).all():
            raise ValueError("weights must be >= 0; a negative weight gives no distance.")

    def block(self, X: Any, Z: Any) -> np.ndarray:
        w = np.ones(X.shape[1], X.dtype) if self.weights is None else self.weights
        D = match_counts(X, Z, w)
        return np.subtract(np.sum(w, dtype=X.dtype), D, out=D)


class _Frequencies(Distance):
    """Abstract: counts of each value in the training sample, learnt by ``bind``."""

    kind = "categories"

    def __init__(self, counts: Any = None):
        self.counts = counts

    def bind(self, X: Categories, y: Any = None) -> _Frequencies:
        if self.counts is not None:
            return self
        return type(self)(
            [np.bincount(X.codes[:, j], minlength=len(X.levels[j])) for j in range(X.shape[1])]
        )

    def _table(self, X: Categories, j: int, values: np.ndarray) -> np.ndarray:
        """values[code] for column j, 0 for values that the training sample lacks."""
        padded = np.zeros(max(len(X.levels[j]), len(values)), X.dtype)
        padded[: len(values)] = values
        return padded[X.codes[:, j]]

    def _counts(self) -> list[np.ndarray]:
        if self.counts is None:
            raise ValueError(
                f"{type(self).__name__} has no frequencies yet: bind it to the training sample."
            )
        return self.counts


class SmoothedMatch(_Frequencies):
    r"""Match that counts sharing a rare value as closer than sharing a frequent one.

    .. math:: \rho(x, z) = \sum_j [x_j \ne z_j]
        + [x_j = z_j] \sum_{q: p(q) \le p(x_j)} p_2(q), \quad
        p(m) = f(m) / l, \; p_2(m) = f(m) (f(m) - 1) / (l (l - 1))

    with f(m) the count of value m among the l training rows. ρ(x, x) > 0 in general: not a metric.

    Parameters
    ----------
    counts : list of arrays, optional
        f of each column; None: learnt by ``bind``.

    Examples
    --------
    >>> rho = SmoothedMatch()
    >>> X = rho.encode([["a"], ["a"], ["a"], ["b"], ["b"]])
    >>> rho.bind(X).block(X[[0, 3]], X[[0, 3]])
    array([[0.4, 1. ],
           [1. , 0.1]])
    """

    metric = False

    def block(self, X: Categories, Z: Categories) -> np.ndarray:
        D = np.zeros((X.shape[0], Z.shape[0]), X.dtype)
        for j, f in enumerate(self._counts()):
            l = f.sum()
            p2 = f * (f - 1) / max(l * (l - 1), 1)
            shared = np.array([p2[f <= count].sum() for count in f])
            x = self._table(X, j, shared)
            same = X.codes[:, j, None] == Z.codes[:, j]
            D += np.where(same, x[:, None], 1)
        return D


class LogFrequency(_Frequencies):
    r"""Match that counts a mismatch of rare values as closer than one of frequent values.

    .. math:: \rho(x, z) = \sum_j [x_j \ne z_j] \log(f(x_j) + 1) \log(f(z_j) + 1)

    with f the count on the training sample, 0 for a value that it lacks. Not a metric.

    Parameters
    ----------
    counts : list of arrays, optional
        f of each column; None: learnt by ``bind``.

    Examples
    --------
    >>> rho = LogFrequency()
    >>> X = rho.encode([["a"], ["a"], ["b"]])
    >>> rho.bind(X).block(X[[0]], X[[2]]).round(4)
    array([[0.7615]])
    """

    metric = False

    def block(self, X: Categories, Z: Categories) -> np.ndarray:
        D = np.zeros((X.shape[0], Z.shape[0]), X.dtype)
        for j, f in enumerate(self._counts()):
            logs = np.log(f + 1.0)
            differs = X.codes[:, j, None] != Z.codes[:, j]
            D += differs * np.outer(self._table(X, j, logs), self._table(Z, j, logs))
        return D


def match_counts(X: Categories, Z: Categories, weights: Any) -> np.ndarray:
    """Σ_j w_j [x_j = z_j] for every pair of rows, (n, m)."""
    return feature_sum(_native.matches, X.codes, Z.codes, np.asarray(weights, X.dtype))
