"""Distances between rows of categories: sums over columns, where two values are compared."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.comparison import Meaning
from mercer.distances.products import check_weights
from mercer.estimator import documented
from mercer.persistence import fields, unread
from mercer.samples import Categories, Samples, float_array


class Match(Distance):
    r"""Number of columns that differ

    .. math:: \rho(x, z) = \sum_j w_j [x_j \ne z_j] .

    Two missing values are equal to each other, and to nothing else.

    Parameters
    ----------
    weights : array-like of shape (c,), optional
        One weight :math:`w_j \ge 0` for each of the c columns. None means 1 for each.

    Notes
    -----
    It is a metric if all weights are positive. O(n m c) operations.

    References
    ----------
    Hamming, "Error detecting and error correcting codes", Bell System Technical Journal 29, 1950.

    Examples
    --------
    >>> Match()([["red", "s"]], [["red", "m"]])
    array([[1.]])
    """

    meaning = Meaning(
        "(share of j with xⱼ ≠ zⱼ)",
        "the share of columns in which two rows differ",
        "1 if x ≠ z, else 0",
    )

    kind = "categories"
    definite_up_to = 1.0  # it is half the squared distance of indicators

    def __init__(self, weights: Any = None):
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights)

    def block(self, X: Categories, Z: Categories) -> np.ndarray:
        w = column_weights(self.weights, X, 1.0)
        D = match_counts(X, Z, w)
        return np.subtract(w.sum(), D, out=D)

    def of_pairs(
        self, X: Categories, Z: Categories, pairs: np.ndarray, limits: np.ndarray
    ) -> np.ndarray:
        w = column_weights(self.weights, X, 1.0)
        equal = X.codes[pairs[:, 0]] == Z.codes[pairs[:, 1]]
        D = np.zeros(len(pairs), X.dtype)
        for j in range(len(w)):  # in the order in which the native loop of `block` adds
            D += w[j] * equal[:, j]
        return np.subtract(w.sum(), D).astype(np.float64, copy=False)

    def terms(self, X: Samples) -> int:
        return X.shape[1]

    def term(self, X: Any, Z: Any, j: int) -> np.ndarray:
        return (X.codes[:, j, None] != Z.codes[:, j]).astype(X.dtype)


@fields(counts=unread)
class _Frequencies(Distance):
    r"""Abstract: a sum over columns with the counts of each value in the training sample, learnt by
    ``bind``; define ``term``.

    Parameters
    ----------
    counts : list of arrays, optional
        The counts f of each column. None means that ``bind`` counts them.
    weights : array-like of shape (c,), optional
        One weight :math:`w_j \ge 0` for each of the c columns. None means 1 for each.
    """

    kind = "categories"

    def __init__(self, counts: list | None = None, weights: np.ndarray | None = None):
        self.counts = counts
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights)
        if self.counts is None:
            return
        if not isinstance(self.counts, (list, tuple, np.ndarray)):
            raise TypeError(f"counts={self.counts!r}: give a list of arrays, one for each column.")
        for f in self.counts:
            float_array("counts", f)

    def bind(self, X: Categories, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        if self.counts is not None:
            return self
        columns = range(X.shape[1])
        return self.copied(
            counts=[
                np.bincount(X.codes[:, j], sample_weight, minlength=len(X.levels[j]))
                for j in columns
            ]
        )

    def block(self, X: Categories, Z: Categories) -> np.ndarray:
        D = np.zeros((X.shape[0], Z.shape[0]), X.dtype)
        for j, w in enumerate(column_weights(self.weights, X, 1.0)):
            D += w * self.term(X, Z, j)
        return D

    def terms(self, X: Categories) -> int:
        return X.shape[1]

    def _table(self, X: Categories, j: int, values: np.ndarray, unseen: float) -> np.ndarray:
        """values[code] for column j; ``unseen`` for codes that are not in the training sample."""
        padded = np.full(max(len(X.levels[j]), len(values)), unseen, X.dtype)
        padded[: len(values)] = values
        return padded[X.codes[:, j]]

    def _counts(self, X: Categories) -> list[np.ndarray]:
        """How often each level occurs, after a check that this is known."""
        if self.counts is None:
            raise ValueError(
                f"{type(self).__name__} has no frequencies yet: bind it to the training sample."
            )
        if len(self.counts) != X.shape[1]:
            raise ValueError(
                f"counts has {len(self.counts)} items, but X has {X.shape[1]} columns: give one "
                "array of counts for each column."
            )
        return [np.asarray(f) for f in self.counts]


@documented
class SmoothedMatch(_Frequencies):
    r"""Match in which two rows that share a rare value are closer than with a frequent value.

    .. math:: \rho(x, z) = \sum_j w_j \bigl([x_j \ne z_j]
        + [x_j = z_j] \sum_{q: p(q) \le p(x_j)} p_2(q)\bigr), \quad
        p(m) = f(m) / l, \; p_2(m) = f(m) (f(m) - 1) / (l (l - 1))

    where f(m) is the count of value m among the l training rows. In general ρ(x, x) > 0, so it is
    not a metric.

    Notes
    -----
    O(n m c) operations.

    Examples
    --------
    >>> rho = SmoothedMatch()
    >>> X = rho.encode([["a"], ["a"], ["a"], ["b"], ["b"]])
    >>> rho.bind(X).block(X[[0, 3]], X[[0, 3]])
    array([[0.4, 1. ],
           [1. , 0.1]])
    """

    meaning = Meaning(
        "(Σⱼ 1 if xⱼ ≠ zⱼ, else how common xⱼ is)",
        "in how many columns two rows differ; to share a common value is part of a difference",
    )

    metric = False
    reflexive = False

    def term(self, X: Categories, Z: Categories, j: int) -> np.ndarray:
        f = self._counts(X)[j]
        l = f.sum()
        p2 = f * (f - 1) / max(l * (l - 1), 1)
        shared = np.array([p2[f <= count].sum() for count in f])
        x = self._table(X, j, shared, 0.0)
        same = X.codes[:, j, None] == Z.codes[:, j]
        return np.where(same, x[:, None], 1).astype(X.dtype, copy=False)


@documented
class LogFrequency(_Frequencies):
    r"""Match in which two different values are closer if they are rare.

    .. math:: \rho(x, z) = \sum_j w_j [x_j \ne z_j] \log(f(x_j) + 1) \log(f(z_j) + 1)

    where f is the count in the training sample, or 1 for a value that is not in it (with 0, such a
    value would have distance 0 to all others). It is not a metric.

    Notes
    -----
    O(n m c) operations.

    Examples
    --------
    >>> rho = LogFrequency()
    >>> X = rho.encode([["a"], ["a"], ["b"]])
    >>> rho.bind(X).block(X[[0]], X[[2]]).round(4)
    array([[0.7615]])
    """

    meaning = Meaning(
        "(Σⱼ log(f(xⱼ) + 1) log(f(zⱼ) + 1), for xⱼ ≠ zⱼ)",
        "in how many columns two rows differ, where common values differ more than rare ones",
    )

    metric = False

    def term(self, X: Categories, Z: Categories, j: int) -> np.ndarray:
        logs = np.log(np.maximum(self._counts(X)[j], 1) + 1.0)
        differs = X.codes[:, j, None] != Z.codes[:, j]
        x, z = (self._table(A, j, logs, np.log(2.0)) for A in (X, Z))
        return differs * np.outer(x, z)


def match_counts(X: Categories, Z: Categories, weights: np.ndarray) -> np.ndarray:
    """Σ_j w_j [x_j = z_j] for every pair of rows, (n, m)."""
    out = np.empty((X.shape[0], Z.shape[0]), X.dtype)
    codes = np.ascontiguousarray(X.codes), np.ascontiguousarray(Z.codes.T)
    _native.matches(*codes, np.asarray(weights, X.dtype), out)
    return out


def column_weights(weights: ArrayLike | None, X: Categories, default: float) -> np.ndarray:
    """One weight for each column, in the dtype of X; shape (c,)."""
    c = X.shape[1]
    w = np.full(c, default, X.dtype) if weights is None else np.asarray(weights, X.dtype)
    if w.shape != (c,):
        raise ValueError(f"weights has shape {w.shape}, but X has {c} columns: give one for each.")
    return w
