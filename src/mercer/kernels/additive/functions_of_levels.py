"""Functions of the levels of one column, from a kernel between the levels and their shares of rows.

A level is a bin of numbers, a category, or "missing". The kernel is centred, so that a function of
one column has mean 0 over the rows; its leading eigenfunctions are the columns of Φ, K̃ ≈ Φ Φᵀ.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

LEAST = 1e-9  # eigenvalue, in parts of the largest, that is not rounding


def laplacian(positions: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-γ |t - t'|) between the positions of levels, (levels, levels).

    Levels whose position is NaN, as those of categories or of missing values are like no other.

    Examples
    --------
    >>> laplacian(np.array([0.0, 1.0, np.nan]), 1.0).round(2)
    array([[1.  , 0.37, 0.  ],
           [0.37, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    gaps = np.abs(positions[:, None] - positions)
    K = np.where(np.isnan(gaps), 0.0, np.exp(-gamma * gaps))
    np.fill_diagonal(K, 1.0)
    return K


def level_functions(K: np.ndarray, shares: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Φ of shape (levels, r), and its r <= ``most`` eigenvalues, the largest first.

    With :math:`\tilde K = H K H^\top`, :math:`H = I - 1 p^\top` and
    :math:`\sqrt p \tilde K \sqrt p = U μ U^\top` it is :math:`Φ = \tilde K \sqrt p \, U μ^{-1/2}`.
    Levels without rows that are like no other have the value 0.

    Examples
    --------
    >>> Phi, values = level_functions(np.eye(2), np.array([0.5, 0.5]), 5)
    >>> np.abs(Phi).round(2), values.round(2)
    (array([[0.71],
           [0.71]]), array([0.5]))
    """
    p = shares / shares.sum()
    mean = K @ p
    centred = K - mean[:, None] - mean + p @ mean
    root = np.sqrt(p)
    values, U = eigh(root[:, None] * centred * root)
    kept = np.flatnonzero(values > LEAST * max(values[-1], LEAST))[::-1][:most]
    Phi = centred @ (root[:, None] * U[:, kept]) / np.sqrt(values[kept])
    alone = (p == 0) & (np.count_nonzero(K, axis=1) == 1)
    Phi[alone] = 0
    return Phi, values[kept]
