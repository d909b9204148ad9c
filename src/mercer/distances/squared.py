"""The square of the Euclidean distance, as a distance of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance, Norm
from mercer.distances.meaning import Meaning
from mercer.distances.vectors import Minkowski
from mercer.samples import Prepared, Samples


class SquaredEuclidean(Distance):
    r"""Squared Euclidean distance :math:`\rho(x, z) = \sum_j w_j (x_j - z_j)^2`.

    Parameters
    ----------
    weights : array-like of shape (d,), optional
        The weights :math:`w_j \ge 0` of the columns. None means 1 for each.

    See Also
    --------
    Minkowski : Its root, a metric with the same order of neighbours and a faster search.

    Notes
    -----
    It is not a metric. One product of matrices: O(n m d) operations.

    Examples
    --------
    >>> SquaredEuclidean()([[0.0, 0.0]], [[3.0, 4.0]])
    array([[25.]])
    """

    meaning = Meaning("(‖x − z‖²)", "the squared Euclidean distance", "|x − z|²")

    metric = False
    definite_up_to = 1.0

    def __init__(self, weights: np.ndarray | None = None):
        self.weights = weights

    @property
    def _root(self) -> Minkowski:
        return Minkowski(2.0, self.weights)

    @property
    def norm(self) -> Norm | None:  # type: ignore[override]
        return self._root.norm

    def validate(self) -> None:
        self._root.validate()

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        return self._root.prepare(X, like)

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        return self._root.raw(X, Z)

    def terms(self, X: Samples) -> int:
        return self._root.terms(X)

    def term(self, X: Samples, Z: Samples, j: int) -> np.ndarray:
        return self._root.term(X, Z, j)

    def weight_slopes(self, X: Samples, Z: Samples, coef: np.ndarray) -> np.ndarray:
        return self._root.weight_slopes(X, Z, coef)
