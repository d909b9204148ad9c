"""Features of samples of any kind by a kernel's values at some of them, the centres."""

from __future__ import annotations

import numpy as np

SINGULAR = 1e-10  # part of the largest eigenvalue, below which one is rounding
DIGITS = 8  # after which values of a kernel count as equal


def different_centres(K: np.ndarray) -> np.ndarray:
    """Row numbers of a kernel matrix (m, m) without repeated rows, in their order."""
    unit = np.abs(K).max(initial=0) or 1.0
    return np.sort(np.unique(np.round(K / unit, DIGITS), axis=0, return_index=True)[1])


def principal_axes(K: np.ndarray, least: float = SINGULAR) -> np.ndarray:
    """P (m, r) with P Pᵀ = K⁺: rows k(x, Z) P are features of x.

    An eigenvalue below ``least``, as a part of the largest, counts as 0. If all are 0, there is one
    axis of zeros.

    The axes are those of `KernelPCA` without its centre, the longest first; signs are chosen so
    that neither they nor the features depend on the order of the centres.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> P = principal_axes(K)
    >>> np.round(K @ P @ P.T @ K, 6)
    array([[2., 1.],
           [1., 2.]])
    """
    values, U = np.linalg.eigh((K + K.T) / 2)
    kept = np.flatnonzero(values > least * max(float(values[-1]), 0.0))[::-1]
    if not len(kept):
        return np.zeros((len(K), 1))
    values, U = values[kept], U[:, kept]
    signs = np.sign(np.sum(U**3, axis=0))
    return U * np.where(signs == 0, 1.0, signs) / np.sqrt(values)
