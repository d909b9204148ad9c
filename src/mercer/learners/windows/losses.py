"""What a mean over a window is judged by: squared errors of numbers, or -log p of the right class.

Both are losses of one row: ``values`` are they, and ``slopes`` their derivatives by the mean.
"""

from __future__ import annotations

import numpy as np

LEAST_PROBABILITY = 1e-7  # a right class without any vote costs its logarithm


class SquaredErrors:
    """The mean over the outputs of (a - y)²."""

    @staticmethod
    def values(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row, from a (..., n, t) and y (n, t): (..., n)."""
        return ((a - y) ** 2).mean(axis=-1)

    @staticmethod
    def slopes(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """∂ loss / ∂a, (n, t)."""
        return 2 * (a - y) / y.shape[1]

    @staticmethod
    def scale(y: np.ndarray, w: np.ndarray) -> float:
        """The mean loss of the mean over all rows."""
        return float(np.average(SquaredErrors.values(np.average(y, 0, w), y), weights=w))


class LogLoss:
    """-log p of the right class, where a are the shares of the classes and y their indicators."""

    @staticmethod
    def values(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of each row, from a (..., n, t) and y (n, t): (..., n)."""
        return -np.log(np.maximum((a * y).sum(axis=-1), LEAST_PROBABILITY))

    @staticmethod
    def slopes(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """∂ loss / ∂a, (n, t); 0 where p is at its floor."""
        p = (a * y).sum(axis=-1, keepdims=True)
        return np.where(p > LEAST_PROBABILITY, -y / np.maximum(p, LEAST_PROBABILITY), 0.0)

    @staticmethod
    def scale(y: np.ndarray, w: np.ndarray) -> float:
        """1: the loss has a unit of its own."""
        return 1.0


Loss = type[SquaredErrors] | type[LogLoss]
