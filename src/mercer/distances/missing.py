"""Euclidean distance of rows in which numbers are missing."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances.base import Rooted
from mercer.distances.meaning import Meaning
from mercer.distances.products import (
    FARTHEST,
    check_weights,
    feature_weights,
    inner_products,
    refuse_beyond_squares,
)
from mercer.samples import Prepared, accepted, encode_vectors


class NanEuclidean(Rooted):
    r"""Euclidean distance of rows with missing numbers (NaN), over the columns that both rows know.

    .. math:: \rho(x, z) = \Bigl(\frac{\sum_j w_j}{\sum_{j \in J} w_j}
        \sum_{j \in J} w_j (x_j - z_j)^2\Bigr)^{1/2}

    where J are the columns in which neither x nor z is missing: the others are taken to differ as
    much as these. Rows that share no known column are infinitely far apart.

    Parameters
    ----------
    weights : array-like of shape (d,), optional
        The weights :math:`w_j \ge 0` of the columns. None means 1 for each.

    Raises
    ------
    ValueError
        All numbers of a row are missing, or X is sparse or has infinite numbers.

    See Also
    --------
    Mixed : Tables with missing numbers and categories (``missing="skip"``).

    Notes
    -----
    It is not a metric: a row may be at distance 0 from two rows that differ. Where nothing is
    missing it is ``Minkowski(2, weights)``. Products of matrices: O(n m d) operations.

    References
    ----------
    Dixon, "Pattern recognition with partly missing data", IEEE Transactions on Systems, Man, and
    Cybernetics 9, 1979.

    Examples
    --------
    >>> NanEuclidean()([[3.0, np.nan, 5.0, 6.0]], [[1.0, 4.0, np.nan, 5.0]]).round(4)
    array([[3.1623]])
    """

    meaning = Meaning(
        "(‖x − z‖ over known columns)", "the Euclidean distance in the columns that both rows have"
    )

    metric = False
    reads_missing = True
    exponent = 2.0

    def __init__(self, weights: Any = None):
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights, shares=True)

    def encoding(self) -> Hashable:
        return self.kind, "missing"

    def encode(self, X: Any, like: Any = None) -> np.ndarray:
        reader = type(self).__name__
        X = encode_vectors(accepted(X, self.reads, reader), like, reader, missing=True)
        if sp.issparse(X):
            raise ValueError("X is sparse, but a 0 that is not stored is known: give X.toarray().")
        unknown = np.isnan(X).all(axis=1)
        if unknown.any():
            raise ValueError(
                f"row {int(unknown.argmax())} of X has no known number: leave such rows out."
            )
        return X

    def prepare(self, X: Any, like: Any = None) -> Any:
        if isinstance(X, Prepared):
            return X
        known = ~np.isnan(X)
        if like is None:  # an origin near the rows, so that the sums below lose few digits
            origin = np.where(known, X, 0).sum(axis=0, dtype=np.float64)
            origin = np.clip(origin / np.maximum(known.sum(axis=0), 1), -FARTHEST, FARTHEST)
            origin = origin.astype(np.float32)
        else:
            origin = like.common
        with np.errstate(over="ignore"):
            rows = np.where(known, X - origin, 0).astype(X.dtype)
            squares = rows**2
            refuse_beyond_squares(np.where(known, X, 0), squares.sum(axis=1))
        known = known.astype(X.dtype)
        w = feature_weights(self.weights, X)
        w = np.ones(X.shape[1], X.dtype) if w is None else w
        # Σ_J w (x - z)² = <(w x², w known, -2 w x), (known, z², z)>, where x is 0 if it is missing
        left = np.hstack([w * squares, w * known, -2 * w * rows])
        right = np.hstack([known, squares, rows])
        return Prepared((left, right, w * known, known), origin)

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        D = np.maximum(inner_products(X.parts[0], Z.parts[1]), 0)  # rounding
        shared = inner_products(X.parts[2], Z.parts[3])
        w = feature_weights(self.weights, X.parts[3])
        total = X.parts[3].shape[1] if w is None else w.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            D *= total / shared
        D[shared <= 0] = np.inf
        if X is Z:
            np.fill_diagonal(D, 0)
        return D
