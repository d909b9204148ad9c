"""The distance that is given as a matrix of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances.base import Distance
from mercer.samples import MatrixRows, as_samples

__all__ = ["Precomputed"]


class Precomputed(Distance):
    """A distance whose values are given; the same as ``metric="precomputed"`` of the learners.

    For ``fit``, X is the matrix D of the distances between all training samples, of shape (n, n).
    For new samples, X has their distances to all training samples, shape (m, n).

    Raises
    ------
    ValueError
        The matrix is not square or not symmetric in ``fit``, or has another width later, or holds
        NaN, infinities or negative numbers.
    TypeError
        The matrix is sparse: what it leaves out would be at distance 0.

    Examples
    --------
    >>> from mercer import NearestNeighbors
    >>> D = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]])
    >>> NearestNeighbors(n_neighbors=1, metric=Precomputed()).fit(D).kneighbors()[1].ravel()
    array([1, 0, 1])
    """

    kind = "precomputed"
    metric = False  # it is not known
    reflexive = False

    def encode(self, X: Any, like: Any = None) -> MatrixRows:
        if isinstance(X, MatrixRows):
            return X
        if sp.issparse(X):
            raise TypeError(
                "X is a sparse matrix of distances, whose missing entries are no zeros: give the "
                "full matrix, or the samples and a distance."
            )
        shape = np.shape(X)
        if len(shape) == 2 and like is None and shape[0] != shape[1]:
            raise ValueError(
                f"X has shape {shape}: Precomputed matrix must be square in fit, with the distance "
                "of each training sample to each; give samples and another metric otherwise."
            )
        if len(shape) == 2 and like is not None and shape[1] != like.width:
            raise ValueError(
                f"X has shape {shape}, but X has to be (m, {like.width}): give the distances of m "
                f"new samples to all {like.width} training samples."
            )
        rows = as_samples(X, "precomputed", like=like, reader=type(self).__name__)
        if rows.matrix.min() < 0:
            i, j = np.unravel_index(rows.matrix.argmin(), rows.matrix.shape)
            raise ValueError(
                f"Negative values in data passed to a precomputed distance: X[{i}, {j}] = "
                f"{rows.matrix[i, j]:.6g}; give distances >= 0."
            )
        return rows

    def block(self, X: MatrixRows, Z: MatrixRows) -> np.ndarray:
        if Z.columns is None or X.matrix is None:
            raise ValueError(
                "The distances between these samples are not known: the matrix holds those to the "
                "training samples; give another metric, and the samples."
            )
        return X.matrix[np.ix_(X.rows, Z.columns)]
