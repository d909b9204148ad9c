"""The kernel smoother in z: p(x) = Σ P_j y_j, where P_j is w_j exp(-τ |z - z_j|) over their sum."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer import _native
from mercer.threads import ordered_map

TEMPERATURES = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
LEAST_PROBABILITY = 1e-7
PART = 256  # queries that a thread answers at a time


def smooth(
    queries: np.ndarray,
    Z: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    temperatures: tuple[float, ...],
    n_jobs: int | None,
) -> np.ndarray:
    """p of each query for each temperature, (temperatures, n, outputs); arrays are float32."""
    n = len(queries)
    taus = np.array(temperatures, np.float32)
    values = np.empty((len(taus), n, targets.shape[1]), np.float32)

    def answer(rows: slice) -> None:
        out = np.empty((len(taus), len(queries[rows]), targets.shape[1]), np.float32)
        _native.neighbourhood_smooth(queries[rows], Z, targets, weights, taus, out)
        values[:, rows] = out

    for _ in ordered_map(answer, [slice(s, s + PART) for s in range(0, n, PART)], n_jobs):
        pass
    return values


def held_out_loss(
    values: np.ndarray, targets: np.ndarray, weights: np.ndarray, classes: bool
) -> float:
    """Mean of -log p of the right class, or of squared errors; targets are as in `TrainingRows`."""
    if classes:
        right = (values.astype(np.float64) * targets).sum(axis=1)
        losses = -np.log(np.maximum(right, LEAST_PROBABILITY))
    else:
        losses = ((values.astype(np.float64) - targets) ** 2).mean(axis=1)
    return float(np.average(losses, weights=weights))


def vote_shares(
    queries: np.ndarray, Z: np.ndarray, weights: np.ndarray, temperature: float
) -> np.ndarray:
    """P: the share of each row in the prediction of each query, (n, rows)."""
    D = cdist(queries, Z)
    votes = weights * np.exp(temperature * (D.min(axis=1, keepdims=True) - D))
    return votes / votes.sum(axis=1, keepdims=True)


def nearest_shares(
    distances: np.ndarray, nearest: np.ndarray, weights: np.ndarray, temperature: float
) -> np.ndarray:
    """P of the nearest rows alone, (n, k); rows that were not found (-1) have no share.

    Where nothing was found, all shares are 0.
    """
    D = distances.astype(np.float64)
    missing = nearest < 0
    least = np.where(missing, np.inf, D).min(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        votes = np.where(missing, 0.0, weights[nearest] * np.exp(temperature * (least - D)))
    return votes / np.maximum(votes.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)


def smooth_nearest(
    distances: np.ndarray,
    nearest: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    temperature: float,
) -> np.ndarray:
    """p of each query over its nearest rows alone, (n, outputs)."""
    n, k = nearest.shape
    P = nearest_shares(distances, nearest, weights, temperature)
    shape = n, len(weights)
    rows = np.maximum(nearest, 0).ravel()
    return sp.csr_array((P.ravel(), rows, np.arange(0, n * k + 1, k)), shape=shape) @ targets
