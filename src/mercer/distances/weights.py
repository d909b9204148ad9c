"""Weights of features that are learnt from the target."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["correlation_weights"]


def correlation_weights(X: Any, y: Any) -> np.ndarray:
    r"""Absolute correlation of each feature with the target, for ``weights=`` of a distance.

    .. math:: w_j = \frac{|\sum_i x_{ij} y_i|}{\sqrt{\sum_i x_{ij}^2} \sqrt{\sum_i y_i^2}}

    where columns and target are centred first. A constant column has weight 0.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The features.
    y : array-like of shape (n,)
        The target, as numbers; for two classes, any two numbers.

    Returns
    -------
    ndarray of shape (d,), values in [0, 1]

    Examples
    --------
    >>> correlation_weights([[0, 1], [1, 1], [2, 1]], [1.0, 2.0, 3.0])
    array([1., 0.])
    """
    X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(f"X has shape {X.shape} and y {y.shape}: give shapes (n, d) and (n,).")
    X, y = X - X.mean(axis=0), y - y.mean()
    norms = np.linalg.norm(X, axis=0) * np.linalg.norm(y)
    return np.abs(y @ X) / np.where(norms > 0, norms, 1)
