"""What a network reads of vectors: columns in a unit of their own, or their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

KNOTS = 1000  # ranks of a column that are kept
ROUNDING = 1e-12  # spread in parts of the largest number, below which a column is constant


@dataclass
class Standardised:
    """Columns of mean 0 and variance 1; a constant column is 0.

    Attributes
    ----------
    unit, mean, spread : ndarray of shape (d,)
        The largest size of each column, and mean and standard deviation in this unit.
    """

    unit: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> Self:
        unit = np.abs(X).max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        share = weights / weights.sum()
        mean = share @ (X / unit)
        spread = np.sqrt(share @ (X / unit - mean) ** 2)
        return cls(unit, mean, np.where(spread > ROUNDING, spread, 1.0))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X / self.unit - self.mean) / self.spread


@dataclass
class CommonScale:
    """Features of a kernel: centred, and of variance 1 on average over all of them."""

    mean: np.ndarray
    spread: float

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> Self:
        share = weights / weights.sum()
        mean = share @ X
        spread = float(np.sqrt((share @ (X - mean) ** 2).mean())) if X.shape[1] else 0.0
        return cls(mean, spread if spread > 0 else 1.0)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean) / self.spread


@dataclass
class Ranked:
    """The rank of each number in its column, spread evenly with mean 0 and variance 1.

    Attributes
    ----------
    values, ranks : list of d ndarray
        Numbers of a column, and the share of all rows below each.
    """

    values: list[np.ndarray]
    ranks: list[np.ndarray]

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> Self:
        values, ranks = [], []
        for column in X.T:
            found, codes = np.unique(column, return_inverse=True)
            share = np.bincount(codes, weights) / weights.sum()
            below = np.cumsum(share) - share / 2
            if len(found) > KNOTS:
                kept = np.unique(np.searchsorted(below, np.linspace(below[0], below[-1], KNOTS)))
                found, below = found[kept], below[kept]
            values.append(found)
            ranks.append(below)
        return cls(values, ranks)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        parts = zip(X.T, self.values, self.ranks)
        columns = [np.interp(column, found, below) for column, found, below in parts]
        return np.sqrt(12) * (np.column_stack(columns) - 0.5)


@dataclass
class AsTheyAre:
    """No scale."""

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> Self:
        return cls()

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return X


#: values of ``inputs=`` for vectors
SCALES: dict[Any, Any] = {"standard": Standardised, "ranks": Ranked, None: AsTheyAre}
