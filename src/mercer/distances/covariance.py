"""How much to shrink a covariance, by the leave-one-out error of nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.left_out import Answers, nearest_left_out
from mercer.distances.products import from_origin, squared_euclidean

SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
NEIGHBOURS = 5
ROWS = 5000  # the most rows that judge, evenly spaced


def least_left_out(
    X: np.ndarray, S: np.ndarray, targets: dict[str, np.ndarray], y: Any, weights: np.ndarray
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
    answers, n = Answers(y if y.ndim == 1 else y[:, 0]), len(X)
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
