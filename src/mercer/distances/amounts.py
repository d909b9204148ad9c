"""Distances between vectors of amounts: differences in proportion to the size of the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.meaning import Meaning
from mercer.distances.products import check_weights, feature_sum, feature_weights
from mercer.samples import Prepared, Samples


class Canberra(Distance):
    r"""Canberra distance

    .. math:: \rho(x, z) = \sum_j w_j |x_j - z_j| / (|x_j| + |z_j|) .

    A column where both numbers are 0 adds nothing.

    Parameters
    ----------
    weights : array-like of shape (d,), optional
        The weights :math:`w_j \ge 0` of the columns. None means 1 for each.

    Notes
    -----
    It is a metric. A column adds :math:`w_j` at most, which it does wherever one number is 0 or
    the signs differ. O(n m d) operations in a native loop; sparse rows are made dense, one block at
    a time.

    References
    ----------
    Lance & Williams, "Mixed-data classificatory programs", Australian Computer Journal 1, 1967.

    Examples
    --------
    >>> Canberra()([[1.0, 0.0, 5.0]], [[3.0, 0.0, 0.0]])
    array([[1.5]])
    """

    meaning = Meaning("(Σⱼ |xⱼ − zⱼ| / (|xⱼ| + |zⱼ|))", "the sum of relative differences")

    # for numbers of one sign it is 1 - 2 min(x, z) / (x + z), and 1 / (x + z) is positive definite
    definite_up_to = 1.0

    def __init__(self, weights: np.ndarray | None = None):
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights)

    def block(self, X: Samples, Z: Samples) -> np.ndarray:
        return feature_sum(_native.relative, X, Z, feature_weights(self.weights, X))

    def terms(self, X: Samples) -> int:
        return X.shape[1]

    def term(self, X: Samples, Z: Samples, j: int) -> np.ndarray:
        return feature_sum(_native.relative, X[:, [j]], Z[:, [j]])


class BrayCurtis(Distance):
    r"""Bray-Curtis distance

    .. math:: \rho(x, z) = \sum_j w_j |x_j - z_j| \,/ \sum_j w_j (|x_j| + |z_j|) .

    Two zero vectors are at distance 0.

    Parameters
    ----------
    weights : array-like of shape (d,), optional
        The weights :math:`w_j \ge 0` of the columns. None means 1 for each.

    Notes
    -----
    It is not a metric. It is made for amounts >= 0; of numbers of both signs scipy has
    :math:`|x_j + z_j|` below, and scikit-learn what stands here, which keeps ρ in [0, 1]. O(n m d)
    operations in a native loop; sparse rows are made dense, one block at a time.

    References
    ----------
    Bray & Curtis, "An ordination of the upland forest communities of southern Wisconsin",
    Ecological Monographs 27, 1957.

    Examples
    --------
    >>> BrayCurtis()([[6.0, 1.0, 0.0]], [[2.0, 1.0, 6.0], [6.0, 1.0, 0.0]])
    array([[0.625, 0.   ]])
    """

    meaning = Meaning("(Σⱼ |xⱼ − zⱼ| / Σⱼ (xⱼ + zⱼ))", "the share of two amounts that differs")

    metric = False
    definite_up_to = 1.0  # as for Canberra: 1 - 2 Σ min(x, z) / (Σ x + Σ z)

    def __init__(self, weights: np.ndarray | None = None):
        self.weights = weights

    def validate(self) -> None:
        check_weights(self.weights)

    def prepare(self, X: np.ndarray, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        w = feature_weights(self.weights, X)
        sizes = abs(X) @ np.ones(X.shape[1], X.dtype) if w is None else abs(X) @ w
        return Prepared((X, sizes))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (rows, sizes), (others, other_sizes) = X.parts, Z.parts
        w = feature_weights(self.weights, rows)
        D = feature_sum(_native.manhattan, rows, others, w)
        return np.divide(D, sizes[:, None] + other_sizes, out=D, where=D > 0)
