"""What a network reads of vectors, and which targets a Gaussian process sees.

Columns are read in a unit of their own, or as their ranks. A process is fitted to latent targets,
and says how likely the given ones are by its answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax

DRAWS = 128  # of outputs, for the mean of their softmax; every other one is the mirrored one
SHARE = 0.01  # α of a Dirichlet distribution for classes that a row does not have


class LatentTargets(ABC):
    """Abstract: what a process is conditioned on, and the density of targets."""

    #: the loss of the network
    loss: str

    @abstractmethod
    def latent(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets (n, q) of the process and the variances of their noise; None: to be learnt."""

    @abstractmethod
    def log_density(self, mean: np.ndarray, variance: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Log-likelihood (n,) of targets Y for outputs of these means and variances, (n, q)."""


class LatentNumbers(LatentTargets):
    """Numbers with Gaussian noise."""

    loss = "squared"

    def latent(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return Y, None

    def log_density(self, mean: np.ndarray, variance: np.ndarray, Y: np.ndarray) -> np.ndarray:
        errors = (Y - mean) ** 2 / variance
        return -(errors + np.log(2 * np.pi * variance)).sum(axis=1) / 2


class DirichletTargets(LatentTargets):
    """Classes as logarithms of Gamma variables, whose shares have a Dirichlet distribution.

    Milios et al., "Dirichlet-based Gaussian processes for large-scale calibrated classification",
    NeurIPS 2018, eq. 5 and 6. Targets are 1 for the class of a row, and -1 for others.
    """

    loss = "cross_entropy"

    def latent(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        signs = np.column_stack([-Y, Y]) if Y.shape[1] == 1 else Y
        alpha = SHARE + (signs > 0)
        variances = np.log1p(1 / alpha)
        return np.log(alpha) - variances / 2, variances

    def log_density(self, mean: np.ndarray, variance: np.ndarray, Y: np.ndarray) -> np.ndarray:
        codes = (Y[:, 0] > 0).astype(int) if Y.shape[1] == 1 else Y.argmax(axis=1)
        return log_shares(mean, variance)[np.arange(len(Y)), codes]


def log_shares(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Logarithms of the mean of softmax(f) for independent f ~ N(mean, variance), (n, q).

    A single output is that of the second of two classes. The draws are the same for all rows, so
    that no row's answer depends on others.

    Examples
    --------
    >>> np.exp(log_shares(np.array([[0.0, 0.0]]), np.array([[2.0, 2.0]]))).round(3)
    array([[0.5, 0.5]])
    """
    if mean.shape[1] == 1:
        mean = np.column_stack([np.zeros(len(mean)), mean])
        variance = np.column_stack([np.zeros(len(variance)), variance])
    if not variance.any():
        return log_softmax(mean, axis=1)
    half = np.random.RandomState(0).normal(size=(DRAWS // 2, mean.shape[1]))
    total = np.zeros_like(mean)
    spread = np.sqrt(variance)
    for draw in (*half, *-half):
        total += np.exp(log_softmax(mean + spread * draw, axis=1))
    return np.log(np.maximum(total / DRAWS, np.finfo(float).tiny))


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
