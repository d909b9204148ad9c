"""Families of hash functions that are equal for near vectors more often than for far ones.

A family is a value: `HashFamily.draw` makes a copy that has functions, `HashFamily.hashes` applies
them, and `HashFamily.collision` is the probability that two rows have the same hash. The family for
sets is `MinHash` (minhash.py).

With the collision probability p of one function, two rows share a key in some table with the
probability 1 - (1 - pʳ)ᵇ, an S-curve over their distance. `cheapest` takes the r and b that reach a
wanted recall at least cost: an AND of r functions within a table, and an OR of b tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.base import BaseEstimator

from mercer.persistence import fields, floats, whole
from mercer.samples import Samples, check_positive, is_number

MOST_HASHES = 32  # most functions of one table; with more, any family tells far rows apart


class Amplification(NamedTuple):
    """A choice of r and b."""

    n_hashes: int  # r
    n_tables: int  # b
    cost: float  # nanoseconds for a query, about


class QueryCosts(NamedTuple):
    """About how many nanoseconds a step of a query takes."""

    #: one hash function, one table, one row that is met in a table, one distance
    hash: float
    table: float
    visit: float
    pair: float
    rows: int  # number of rows in the index


def s_curve(p: np.ndarray, n_hashes: int, n_tables: int) -> np.ndarray:
    """1 - (1 - pʳ)ᵇ, without loss of digits where it is small."""
    with np.errstate(divide="ignore"):
        return -np.expm1(n_tables * np.log1p(-(np.asarray(p, np.float64) ** n_hashes)))


def cheapest(
    collision: Callable[[np.ndarray], np.ndarray],
    wanted: np.ndarray,
    others: np.ndarray,
    recall: float,
    costs: QueryCosts,
    most_tables: int,
) -> Amplification | None:
    """The r and b that cost least, among those whose mean recall of ``wanted`` is large enough.

    ``collision`` gives the collision probability of one function at each distance; ``wanted`` and
    ``others`` are distances of pairs that should be found, and of pairs as they come. None: so many
    tables cannot reach the recall.
    """
    near, far, best = collision(wanted), collision(others), None
    for r in range(1, MOST_HASHES + 1):
        b = _least_tables(near**r, recall, most_tables)
        if b is None:
            break  # a larger r needs more tables
        met, share = b * float((far**r).mean()), float(s_curve(far, r, b).mean())
        cost = b * (r * costs.hash + costs.table)
        cost += costs.rows * (met * costs.visit + share * costs.pair)
        if best is None or cost < best.cost:
            best = Amplification(r, b, cost)
        if far.min() == 1:
            break  # equal rows, which no hash tells apart
    return best


def _least_tables(p: np.ndarray, recall: float, most: int) -> int | None:
    """The smallest b with a mean of 1 - (1 - p)ᵇ of ``recall``, by bisection."""
    if s_curve(p, 1, most).mean() < recall:
        return None
    low, high = 0, most if s_curve(p, 1, 1).mean() < recall else 1
    while high - low > 1:
        middle = (low + high) // 2
        if s_curve(p, 1, middle).mean() < recall:
            low = middle
        else:
            high = middle
    return high


FARTHEST = 2.0**30  # whole numbers of steps that are told apart; Cauchy's may be any number


class Sensitivity(NamedTuple):
    r"""That a family is (d1, d2, p1, p2)-sensitive:

    .. math:: d(x, z) \le d_1 \Rightarrow P[f(x) = f(z)] \ge p_1, \qquad
              d(x, z) > d_2 \Rightarrow P[f(x) = f(z)] \le p_2

    f is drawn from the family.

    Attributes
    ----------
    d1, d2 : float
    p1, p2 : float

    References
    ----------
    Indyk & Motwani, "Approximate nearest neighbors: towards removing the curse of dimensionality",
    STOC 1998; Leskovec, Rajaraman & Ullman, "Mining of massive datasets", 3rd ed., section 3.6.

    Examples
    --------
    >>> from mercer.search import BitSampling
    >>> BitSampling(10).sensitivity(1, 5)
    Sensitivity(d1=1.0, d2=5.0, p1=0.9, p2=0.5)
    """

    d1: float
    d2: float
    p1: float
    p2: float

    @property
    def exponent(self) -> float:
        """log p1 / log p2: about n to this power rows are compared with each of n."""
        with np.errstate(divide="ignore"):
            return float(np.log(self.p1) / np.log(self.p2))

    def amplified(self, n_hashes: int, n_tables: int) -> Sensitivity:
        """The same for several tables together, each with keys of several functions."""
        p1, p2 = (1 - (1 - p**n_hashes) ** n_tables for p in (self.p1, self.p2))
        return self._replace(p1=p1, p2=p2)


class HashFamily(BaseEstimator, ABC):
    """Random functions that are mostly equal for near rows. Abstract.

    .. math:: P[f(x) = f(z)] = p(d(x, z))

    p falls with the distance; f maps rows to whole numbers of shape (n,).

    References
    ----------
    Indyk & Motwani, "Approximate nearest neighbors: towards removing the curse of dimensionality",
    STOC 1998.
    """

    @abstractmethod
    def collision(self, distance: ArrayLike) -> np.ndarray:
        """P[f(x) = f(z)] for rows at these distances; the shape of ``distance``."""

    def sensitivity(self, d1: float, d2: float) -> Sensitivity:
        """That the family is (d1, d2, p1, p2)-sensitive, with the largest p1 and the smallest p2.

        Parameters
        ----------
        d1, d2 : float
            Distances, 0 <= d1 < d2.

        Examples
        --------
        >>> from mercer.search import MinHash
        >>> MinHash().sensitivity(0.25, 0.5)
        Sensitivity(d1=0.25, d2=0.5, p1=0.75, p2=0.5)
        """
        if not (is_number(d1) and is_number(d2) and 0 <= d1 < d2):
            raise ValueError(f"d1={d1!r}, d2={d2!r}: give two distances, 0 <= d1 < d2.")
        p1, p2 = (float(p) for p in self.collision([d1, d2]))
        return Sensitivity(float(d1), float(d2), p1, p2)

    @abstractmethod
    def draw(self, X: Samples, count: int, rng: np.random.Generator) -> Self:
        """A copy with ``count`` functions of rows like X."""

    @abstractmethod
    def hashes(self, X: Samples) -> np.ndarray:
        """The value of each function for each row of X, (n, count), int32."""


@fields(normals_=floats(2))
class Hyperplanes(HashFamily):
    r"""Random hyperplanes through the origin, for angles: on which side of each a row is.

    .. math:: P[f(x) = f(z)] = 1 - \frac{\theta(x, z)}{\pi}

    θ is the angle between x and z, rows of shape (d,).

    References
    ----------
    Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002.

    Examples
    --------
    >>> float(Hyperplanes().collision(np.pi / 4))
    0.75
    """

    normals_: np.ndarray

    def collision(self, distance: ArrayLike) -> np.ndarray:
        return np.clip(1 - np.asarray(distance, np.float64) / np.pi, 0, 1)

    def draw(self, X: np.ndarray, count: int, rng: np.random.Generator) -> Hyperplanes:
        drawn = Hyperplanes()
        drawn.normals_ = rng.normal(size=(X.shape[1], count)).astype(X.dtype)
        return drawn

    def hashes(self, X: np.ndarray) -> np.ndarray:
        return (X @ self.normals_ > 0).astype(np.int32)


@fields(origin_=floats(1), directions_=floats(2), shifts_=floats(1))
class StableProjections(HashFamily):
    r"""Steps of a random projection, :math:`\lfloor \langle a, x \rangle / w + b \rfloor`.

    The entries of a are drawn from a p-stable law, so that :math:`\langle a, x - z \rangle` is
    distributed as :math:`\|x - z\|_p` times one such number: normal for p = 2, Cauchy for p = 1. b
    is uniform in [0, 1). With c the distance and w the width, the collision probability is

    .. math:: 1 - 2 \Phi(-w / c) - \frac{2 c}{\sqrt{2 \pi} w} (1 - e^{-w^2 / 2 c^2}), \qquad
       \frac{2}{\pi} \arctan \frac{w}{c} - \frac{c}{\pi w} \ln\Bigl(1 + \frac{w^2}{c^2}\Bigr)

    for p = 2 and for p = 1.

    Parameters
    ----------
    p : {1, 2}, default=2
    width : float > 0, default=1.0
        The width w of a step, in the units of the distance.

    References
    ----------
    Datar, Immorlica, Indyk & Mirrokni, "Locality-sensitive hashing scheme based on p-stable
    distributions", SCG 2004, section 3.2.

    Examples
    --------
    >>> StableProjections(width=4.0).collision([0.5, 1.0, 4.0]).round(3)
    array([0.9  , 0.801, 0.369])
    """

    origin_: np.ndarray
    directions_: np.ndarray
    shifts_: np.ndarray

    def __init__(self, p: int = 2, width: float = 1.0):
        self.p = p
        self.width = width

    def collision(self, distance: ArrayLike) -> np.ndarray:
        if self.p not in (1, 2):
            raise ValueError(f"p={self.p!r}: give 1 or 2.")
        check_positive("width", self.width)
        c = np.asarray(distance, np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            t = self.width / c  # infinite at distance 0
        t = np.clip(t, 1e-12, 1e150)
        if self.p == 2:
            gap = -np.expm1(-t * t / 2)
            return np.clip(1 - 2 * ndtr(-t) - 2 / (np.sqrt(2 * np.pi) * t) * gap, 0, 1)
        return np.clip(2 / np.pi * np.arctan(t) - np.log1p(t * t) / (np.pi * t), 0, 1)

    def draw(self, X: np.ndarray, count: int, rng: np.random.Generator) -> StableProjections:
        drawn = StableProjections(self.p, self.width)
        shape = X.shape[1], count
        law = rng.normal(size=shape) if self.p == 2 else rng.standard_cauchy(size=shape)
        # rows far from the origin would lose digits
        drawn.origin_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        with np.errstate(over="ignore"):  # buckets beyond floats are the last ones
            drawn.directions_ = (law / self.width).astype(X.dtype)
        drawn.shifts_ = rng.random(count).astype(X.dtype)
        return drawn

    def hashes(self, X: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            steps = np.nan_to_num((X - self.origin_) @ self.directions_)
        steps += self.shifts_
        np.floor(steps, out=steps)
        return np.clip(steps, -FARTHEST, FARTHEST, out=steps).astype(np.int32)


@fields(columns_=whole(lambda family: len(family.weights)))
class BitSampling(HashFamily):
    r"""The value of one column, drawn at random, for the number of columns that differ.

    .. math:: P[f(x) = f(z)] = 1 - \frac{d(x, z)}{T}, \qquad
              d(x, z) = \sum_{j:\, x_j \ne z_j} w_j, \qquad T = \sum_j w_j

    A column j is drawn with the probability :math:`w_j / T`.

    Parameters
    ----------
    weights : array-like of shape (columns,)
        Their weights :math:`w_j \ge 0`, of which one at least is positive.

    References
    ----------
    Indyk & Motwani, "Approximate nearest neighbors: towards removing the curse of dimensionality",
    STOC 1998.

    Examples
    --------
    >>> BitSampling([1.0] * 8).collision([0, 2, 8])
    array([1.  , 0.75, 0.  ])
    """

    columns_: np.ndarray

    def __init__(self, weights: ArrayLike):
        self.weights = weights

    def collision(self, distance: ArrayLike) -> np.ndarray:
        total = float(np.sum(self.weights))
        return np.clip(1 - np.asarray(distance, np.float64) / total, 0, 1)

    def draw(self, X: np.ndarray, count: int, rng: np.random.Generator) -> BitSampling:
        drawn = BitSampling(self.weights)
        share = np.asarray(self.weights, np.float64) / np.sum(self.weights)
        drawn.columns_ = rng.choice(len(share), count, p=share)
        return drawn

    def hashes(self, X: np.ndarray) -> np.ndarray:
        values = X[:, self.columns_].astype(np.float64) + 0.0  # -0 is 0
        bits = values.view(np.int64)
        return (bits ^ (bits >> 32)).astype(np.int32)
