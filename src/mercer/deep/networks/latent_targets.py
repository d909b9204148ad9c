"""Targets as a Gaussian process sees them, and how likely they are by its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod

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


class NumberTargets(LatentTargets):
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
