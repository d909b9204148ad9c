"""Minkowski distance of rows that are compared by the differences between their columns too."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.mapped import MinkowskiOfMapped
from mercer.distances.meaning import Meaning
from mercer.distances.products import dense_rows
from mercer.distances.vectors import norm_meaning
from mercer.samples import Prepared


class PairDifferences(MinkowskiOfMapped):
    r"""Minkowski distance of rows to which the difference of each pair of columns is added.

    .. math:: \rho(x, z) = \Bigl(\sum_j |x_j - z_j|^p
        + \sum_{i < j} \bigl||x_i - x_j| - |z_i - z_j|\bigr|^p\Bigr)^{1/p}

    It suits columns in the same unit of which it matters how far apart they are, such as the
    places of pieces on a board.

    Parameters
    ----------
    p : float in [0, inf], default=1.0
        As in `Minkowski`; it is a metric for p >= 1 and p = 0.

    Notes
    -----
    d columns become d + d (d - 1) / 2, once for each row. Then O(n m d²) operations.

    Examples
    --------
    The first two rows have equal columns, and the third does not:

    >>> PairDifferences()([[1.0, 1.0]], [[2.0, 2.0], [2.0, 0.0]])
    array([[2., 4.]])
    """

    def __init__(self, p: float = 1.0):
        self.p = p

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        norm = norm_meaning(self.p, "x − z, and its differences")
        return Meaning(norm.formula, f"{norm.words} in columns and in the gaps between columns")

    def validate(self) -> None:
        self._norm.validate()

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self._norm.metric

    def prepare(self, X: Any, like: Any = None) -> Any:
        if isinstance(X, Prepared):
            return X
        X = dense_rows(X)
        i, j = np.triu_indices(X.shape[1], 1)
        return Prepared((np.hstack([X, np.abs(X[:, i] - X[:, j])]),))
