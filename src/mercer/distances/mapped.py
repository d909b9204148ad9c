"""Minkowski distance after a map: one learnt from the targets, or all differences of columns.

The square of the Euclidean distance stands here as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances.base import Coordinates, Distance, Norm, Rooted
from mercer.distances.comparison import Meaning
from mercer.distances.products import (
    dense_rows,
    from_origin,
    log_unit_ball,
    mapped_rows,
    squared_euclidean,
    unit_sphere,
)
from mercer.distances.vectors import Minkowski, norm_meaning
from mercer.samples import Prepared, Samples, float_array, largest_column


class SquaredEuclidean(Distance):
    r"""Squared Euclidean distance

    .. math:: \rho(x, z) = \sum_j w_j (x_j - z_j)^2 .

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


class MinkowskiOfMapped(Rooted):
    """Abstract: Minkowski's distance of rows that ``prepare`` maps once, to its first part."""

    p: float

    @property
    def _norm(self) -> Minkowski:
        return Minkowski(self.p)

    @property
    def exponent(self) -> float:  # type: ignore[override]
        return self._norm.exponent

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        return self._norm.definite_up_to

    def raw(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return self._norm.raw(X.parts[0], Z.parts[0])


class MappedMinkowski(MinkowskiOfMapped):
    r"""Distance after a linear map

    .. math:: \rho(x, z) = \|A (x - z)\|_p .

    Parameters
    ----------
    linear_map : array-like of shape (d,) or (r, d)
        The map A: a factor for each column, or a matrix with a row for each new coordinate.
    p : float in [0, inf], default=2.0
        The norm, as in `Minkowski`.

    Notes
    -----
    Rows are mapped once, in float64, so that columns in different units lose no digits. For p = 2
    it equals `Mahalanobis` with the precision AᵀA, which need not be formed. If A maps two
    different vectors to one point, ρ is a pseudometric. O(n m r + (n + m) r d) operations.

    Raises
    ------
    ValueError
        ``linear_map`` has another number of columns than X, more than two axes, or is not finite.

    References
    ----------
    Weinberger & Saul, "Distance metric learning for large margin nearest neighbor classification",
    JMLR 10, 2009, section 2, for the family of such distances.

    Examples
    --------
    >>> MappedMinkowski([2.0, 0.0])([[0.0, 0.0]], [[3.0, 9.0]])
    array([[6.]])
    >>> MappedMinkowski([[1.0, -1.0]])([[0.0, 0.0]], [[3.0, 4.0]])
    array([[1.]])
    """

    def __init__(self, linear_map: Any, p: float = 2.0):
        self.linear_map = linear_map
        self.p = p

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        return norm_meaning(self.p, "W (x − z)")

    @property
    def norm(self) -> Norm | None:  # type: ignore[override]
        A = np.asarray(self.linear_map, np.float64)
        return Norm(float(self.p), A) if 0 < self.p < np.inf else None

    def validate(self) -> None:
        self._norm.validate()
        A = float_array("linear_map", self.linear_map)
        if A.ndim not in (1, 2) or A.size == 0:
            raise ValueError(
                f"linear_map has shape {A.shape}: give one factor for each column, (d,), or a "
                "linear map, (r, d)."
            )
        if not np.isfinite(A).all():
            raise ValueError("linear_map has NaN or infinity: give finite numbers.")

    @property
    def metric(self) -> bool:  # type: ignore[override]
        A = np.asarray(self.linear_map, np.float64)
        rank = np.count_nonzero(A) if A.ndim == 1 else np.linalg.matrix_rank(A)
        return self._norm.metric and bool(rank == A.shape[-1])

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        return self._norm.differentiable

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        with np.errstate(all="ignore"):
            rows = self._mapped(X)
        try:
            mapped = from_origin(rows, like)
        except ValueError:
            j, size = largest_column(X)
            raise ValueError(
                f"column {j} of X reaches {size:.3g}: after the linear map the square of a "
                f"distance between such rows is beyond {rows.dtype}."
            ) from None
        return Prepared(tuple(part.astype(X.dtype) for part in mapped.parts), mapped.common)

    def raw(self, X: Prepared, Z: Prepared) -> np.ndarray:
        if self.p == 2:
            return squared_euclidean(*self.sides(X, Z))
        return super().raw(X, Z)

    def log_ball(self, columns: int) -> float | None:
        A = self._map(columns)
        if self.p == 0 or not self.metric or A.shape[0] != columns:
            return None
        logdet = np.log(np.abs(A)).sum() if A.ndim == 1 else np.linalg.slogdet(A)[1]
        return log_unit_ball(columns, self.p) - float(logdet)

    def unit_steps(self, n: int, columns: int, rng: np.random.RandomState) -> np.ndarray:
        A, steps = self._map(columns), unit_sphere(n, columns, self.p, rng)
        return steps / A if A.ndim == 1 else np.linalg.solve(A, steps.T).T

    def coordinates(self, X: Samples) -> Coordinates | None:
        A = self._map(X.shape[1])
        if A.ndim == 2:
            return Coordinates(mapped_rows(X, A.T), float(self.p), None)
        if sp.issparse(X):
            return None
        return Coordinates((X * A).astype(X.dtype), float(self.p), None)

    def gradient(self, X: Samples, Z: Samples, weights: np.ndarray) -> np.ndarray:
        slopes = self._norm.gradient(self._mapped(X), self._mapped(Z), weights)
        return self._pulled_back(slopes).astype(X.dtype, copy=False)

    def gradients(
        self, X: Samples, Z: Samples, weights: np.ndarray, coef: np.ndarray
    ) -> np.ndarray:
        A, B = (self._mapped(side).astype(X.dtype, copy=False) for side in (X, Z))
        return self._pulled_back(self._norm.gradients(A, B, weights, coef))

    def _map(self, columns: int) -> np.ndarray:
        """The matrix of the map, after a check of its shape."""
        A = np.asarray(self.linear_map, np.float64)
        if A.shape[-1] != columns:
            raise ValueError(
                f"linear_map has shape {A.shape}, but X has {columns} columns: its last axis needs "
                "one entry for each."
            )
        return A

    def _mapped(self, X: Any) -> Any:
        """A x for each row, float64; sparse rows stay sparse if each column has a factor."""
        A = self._map(X.shape[1])
        if A.ndim == 2:
            return dense_rows(X @ A.T)
        return sp.csr_array(X.multiply(A)) if sp.issparse(X) else X * A

    def _pulled_back(self, slopes: np.ndarray) -> np.ndarray:
        """Derivatives by x from those by A x."""
        A = np.asarray(self.linear_map, slopes.dtype)
        return slopes * A if A.ndim == 1 else slopes @ A


class PairDifferences(MinkowskiOfMapped):
    r"""Minkowski distance of rows to which the difference of each pair of columns is added.

    .. math:: \rho(x, z) = \Bigl(\sum_j |x_j - z_j|^p
        + \sum_{i < j} \bigl||x_i - x_j| - |z_i - z_j|\bigr|^p\Bigr)^{1/p}

    It suits columns in the same unit of which it matters how far apart they are, such as the
    places of pieces on a board.

    Parameters
    ----------
    p : float in [0, inf], default=1.0
        The same as in `Minkowski`; it is a metric for p >= 1 and p = 0.

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

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        X = dense_rows(X)
        i, j = np.triu_indices(X.shape[1], 1)
        return Prepared((np.hstack([X, np.abs(X[:, i] - X[:, j])]),))
