"""One minus the cosine of the angle between vectors, or minus the correlation of their entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.meaning import Meaning
from mercer.distances.products import check_weights, cosines, dense_rows, feature_weights, unit_rows
from mercer.samples import Prepared


class CosineGap(Distance):
    r"""The cosine distance of scikit-learn,
    :math:`\rho(x, z) = 1 - \langle x, z\rangle / (\|x\| \|z\|)`.

    A zero vector is at distance 1 from every vector, and at distance 0 from itself.

    See Also
    --------
    Cosine : The angle, a metric with the same order of neighbours.

    Notes
    -----
    It is not a metric, but half the square of one. O(n m d) operations; sparse rows stay sparse.

    Examples
    --------
    >>> CosineGap()([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    array([[1., 0., 1.]])
    """

    meaning = Meaning("(1 − cos ∠(x, z))", "1 minus the cosine of the angle between two rows")

    metric = False
    definite_up_to = 1.0  # 1 - k for a positive semidefinite k

    def prepare(self, X: Any, like: Any = None) -> Any:
        return X if isinstance(X, Prepared) else Prepared((unit_rows(X),))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        C = cosines(X.parts[0], Z.parts[0])
        D = np.subtract(1, C, out=C)
        if X is Z:
            np.fill_diagonal(D, 0)
        return D


class CorrelationGap(CosineGap):
    r"""One minus the correlation of the entries of two vectors.

    It is the `CosineGap` of vectors, from each of which its own mean was subtracted.

    A constant vector is at distance 1 from every vector, and at distance 0 from itself.

    Parameters
    ----------
    weights : array-like of shape (d,), optional
        How much each entry counts, >= 0. None means 1 for each.

    Notes
    -----
    Sparse rows are made dense.

    Examples
    --------
    >>> rows = [[5.0, 7.0, 9.0], [3.0, 2.0, 1.0], [4.0, 4.0, 4.0]]
    >>> CorrelationGap()([[1.0, 2.0, 3.0]], rows).round(4)
    array([[0., 2., 1.]])
    """

    meaning = Meaning("(1 − corr(x, z))", "1 minus the correlation of two rows")

    def __init__(self, weights: Any = None):
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights, shares=True)

    def prepare(self, X: Any, like: Any = None) -> Any:
        if isinstance(X, Prepared):
            return X
        X = dense_rows(X)
        w = feature_weights(self.weights, X)
        w = np.ones(X.shape[1], X.dtype) if w is None else w
        means = np.average(X.astype(np.float64), axis=1, weights=w)[:, None]
        rows = ((X - means) * np.sqrt(w)).astype(X.dtype)
        # rounding leaves something of a constant row
        rest = np.abs(rows).max(axis=1) <= 4 * np.finfo(X.dtype).eps * np.abs(means[:, 0])
        rows[rest] = 0
        return Prepared((unit_rows(rows),))
