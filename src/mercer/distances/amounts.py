"""Distances between vectors of amounts, and between rows of 0 and 1.

Those of amounts count differences in proportion to the size of the numbers; those of 0 and 1 how
many columns agree and differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.comparison import Meaning
from mercer.distances.products import check_weights, feature_sum, feature_weights, inner_products
from mercer.samples import Prepared, Samples, SamplesLike


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


#: name -> whether it is a metric, and whether 1 - ρ is a positive semidefinite kernel
NAMES = {
    "jaccard": (True, True),
    "dice": (False, True),
    "sokalsneath": (True, True),
    "rogerstanimoto": (True, True),
    "russellrao": (False, True),
    "yule": (False, False),
}


class Binary(Distance):
    r"""A distance between rows of 0 and 1, from the four ways in which two columns can meet.

    With a columns where both are 1, b where only x is, c where only z is, and e where neither is:

    ================ ================================
    name             ρ
    ================ ================================
    "jaccard"        (b + c) / (a + b + c)
    "dice"           (b + c) / (2a + b + c)
    "sokalsneath"    2(b + c) / (a + 2(b + c))
    "rogerstanimoto" 2(b + c) / (a + e + 2(b + c))
    "russellrao"     (b + c + e) / (a + b + c + e)
    "yule"           2bc / (ae + bc)
    ================ ================================

    Where ρ is 0 / 0 it is 0.

    Parameters
    ----------
    name : str, default="rogerstanimoto"
    weights : array-like of shape (d,), optional
        How much each column counts, >= 0. None means 1 for each.

    Raises
    ------
    ValueError
        X has other numbers than 0 and 1.

    See Also
    --------
    Jaccard : The same for sets, by packed bits, and without weights.

    Notes
    -----
    "jaccard", "sokalsneath" and "rogerstanimoto" are metrics (Gower & Legendre 1986). Under
    "russellrao" a row with zeros differs from itself. One product of matrices: O(n m d) operations;
    sparse rows stay sparse.

    References
    ----------
    Gower & Legendre, "Metric and Euclidean properties of dissimilarity coefficients", Journal of
    Classification 3, 1986.

    Examples
    --------
    >>> Binary()([[1, 1, 0, 0]], [[1, 0, 1, 0], [1, 1, 0, 0]]).round(4)
    array([[0.6667, 0.    ]])
    """

    meaning = Meaning("({name} of yes-or-no columns)", "how two rows of yes-or-no columns differ")

    def __init__(self, name: str = "rogerstanimoto", weights: np.ndarray | None = None):
        self.name = name
        self.weights = weights

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return NAMES[self.name][0]

    @property
    def reflexive(self) -> bool:  # type: ignore[override]
        return self.name != "russellrao"

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        return float(NAMES[self.name][1])

    def validate(self) -> None:
        if not (isinstance(self.name, str) and self.name in NAMES):
            raise ValueError(f"name={self.name!r}: give one of {', '.join(map(repr, NAMES))}.")
        check_weights(self.weights, shares=True)

    def check(self, X: Any, like: SamplesLike | None = None) -> None:
        values = X.data if sp.issparse(X) else X
        other = values[(values != 0) & (values != 1)]
        if other.size:
            raise ValueError(
                f"X holds {other.flat[0]:.6g}, but {self!r} compares rows of 0 and 1: give X != 0, "
                "say."
            )

    def prepare(self, X: np.ndarray, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        w = feature_weights(self.weights, X)
        weighed = X if w is None else X * w
        return Prepared((X, weighed, np.asarray(weighed.sum(axis=1), X.dtype).ravel()))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (rows, weighed, ones), (others, _, others_ones) = X.parts, Z.parts
        w = feature_weights(self.weights, rows)
        total = rows.shape[1] if w is None else w.sum()
        a = inner_products(weighed, others)
        b, c = np.maximum(ones[:, None] - a, 0), np.maximum(others_ones - a, 0)  # rounding
        if self.name == "russellrao":
            return 1 - a / total
        if self.name == "yule":
            above = 2 * b * c
            below = a * np.maximum(total - a - b - c, 0) + b * c
        else:
            above = b + c
            if self.name in ("sokalsneath", "rogerstanimoto"):
                above *= 2
            below = {"dice": 2 * a, "rogerstanimoto": total - b - c}.get(self.name, a) + above
        return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
