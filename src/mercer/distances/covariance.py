"""How much to shrink a covariance, by the leave-one-out error of nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.left_out import Answers, nearest_left_out
from mercer.distances.products import from_origin, squared_euclidean

SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
NEIGHBOURS = 5
ROWS = 5000  # the most rows that judge, evenly spaced


def least_left_out(X: np.ndarray, S: np.ndarray, y: Any) -> float:
    """The weight s in (1 - s) S + s t I with the least leave-one-out error; the largest if equal.

    S is the covariance, of positive trace d t. Without targets y this is a ValueError.
    """
    if y is None:
        raise ValueError(
            'shrinkage="leave_one_out" needs the targets y, which this use of the distance does '
            'not have: give shrinkage="auto" or a number.'
        )
    step = max(1, -(-len(X) // ROWS))
    X, y = X[::step], np.asarray(y)[::step]
    answers, n = Answers(y if y.ndim == 1 else y[:, 0]), len(X)
    values, U = np.linalg.eigh(S)
    turned, mean = from_origin(X).parts[0] @ U, float(values.mean())
    # along the eigenvectors each share is a scale of the axes
    scales = [1 / np.sqrt((1 - s) * np.maximum(values, 0) + s * mean) for s in SHARES]
    sides = [from_origin(turned * scale) for scale in scales]
    found = nearest_left_out(
        lambda rows: (squared_euclidean(A[rows], A) for A in sides), n, min(NEIGHBOURS, n - 1)
    )
    errors = np.array([answers.errors(nearest).mean() for nearest in found])
    return float(SHARES[len(SHARES) - 1 - int(np.argmin(errors[::-1]))])
