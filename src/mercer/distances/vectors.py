"""Distances between vectors.

Rows may be dense or sparse. Inner products read sparse rows directly; for the other loops, sparse
rows are made dense, one block at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances.base import Coordinates, Distance, Norm, Rooted
from mercer.distances.comparison import Meaning
from mercer.distances.products import (
    check_weights,
    cosines,
    dense_rows,
    feature_sum,
    feature_weights,
    from_origin,
    log_unit_ball,
    mapped_rows,
    safe_unit,
    squared_euclidean,
    squared_norms,
    unit_rows,
    unit_sphere,
)
from mercer.distances.weights import least_left_out, ledoit_wolf
from mercer.estimator import estimator
from mercer.samples import Prepared, Samples, float_array, is_number, largest_column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: p -> index of the norm, and the norm of a difference in words
NORMS = {
    0: ("₀", "the number of columns in which rows differ"),
    1: ("₁", "the sum of absolute differences"),
    2: ("", "the Euclidean distance"),
    np.inf: ("_∞", "the largest of absolute differences"),
}


def norm_meaning(p: float, gap: str = "x − z") -> Meaning:
    """What a norm of a difference says about itself."""
    index, words = NORMS.get(p, (f"_{p:g}", f"the {p:g}-norm of the difference"))
    return Meaning(f"‖{gap}‖{index}", words, f"|{gap}|")


class Minkowski(Rooted):
    r"""Minkowski distance

    .. math:: \rho(x, z) = (\sum_j w_j |x_j - z_j|^p)^{1/p} .

    Parameters
    ----------
    p : float in [0, inf], default=2.0
        1 is the Manhattan distance, 2 the Euclidean, ``inf`` Chebyshev's (the largest weighted
        difference) and 0 counts the differences, :math:`\sum_j w_j [x_j \ne z_j]`. It is a metric
        for p >= 1 and p = 0.
    weights : array-like of shape (d,), optional
        The weights :math:`w_j \ge 0` of the columns. None means 1 for each.

    Notes
    -----
    ``raw`` is :math:`\rho^p`, without the root. For p = inf the value is
    :math:`\max_j w_j |x_j - z_j|`. O(n m d) operations: one product of matrices for p = 2, a native
    loop for other p, for which sparse rows are made dense, one block at a time.

    Examples
    --------
    >>> Minkowski(1)([[0.0, 0.0]], [[3.0, 4.0]]), Minkowski()([[0.0, 0.0]], [[3.0, 4.0]])
    (array([[7.]]), array([[5.]]))
    """

    free = ("weights",)

    def __init__(self, p: float = 2.0, weights: ArrayLike | None = None):
        self.p = p
        self.weights = weights

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        return norm_meaning(self.p)

    @property
    def exponent(self) -> float:  # type: ignore[override]
        return 1.0 if self.p in (0, np.inf) else float(self.p)

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self.p == 0 or self.p >= 1

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        # for p > 2 and three or more columns, no power is (Koldobsky 1991)
        return self.exponent if self.p <= 2 else 0.0

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        return 1 <= self.p < np.inf

    @property
    def norm(self) -> Norm | None:  # type: ignore[override]
        if not 0 < self.p < np.inf:
            return None
        w = self.weights
        return Norm(float(self.p), None if w is None else np.asarray(w, float) ** (1 / self.p))

    def validate(self) -> None:
        if not (is_number(self.p) and self.p >= 0):
            raise ValueError(f"p={self.p!r}: Minkowski needs 0 <= p <= inf.")
        check_weights(self.weights)

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if self.p != 2 or isinstance(X, Prepared):
            return X
        w = feature_weights(self.weights, X)
        return from_origin(X if w is None else _scale_columns(X, np.sqrt(w)), like)

    def raw(self, X: Samples, Z: Samples) -> np.ndarray:
        if self.p == 2:
            return squared_euclidean(*self.sides(X, Z))
        w = feature_weights(self.weights, X)
        if self.p == 0:
            return feature_sum(_native.differences, X, Z, w)
        if self.p == 1:
            return feature_sum(_native.manhattan, X, Z, w)
        if np.isinf(self.p):
            return feature_sum(_native.chebyshev, X, Z, w)
        return feature_sum(_native.minkowski, X, Z, w, float(self.p))

    def terms(self, X: Samples) -> int:
        return 0 if np.isinf(self.p) else X.shape[1]

    def term(self, X: Samples, Z: Samples, j: int) -> np.ndarray:
        if np.isinf(self.p):
            return super().term(X, Z, j)
        gaps = np.subtract.outer(_column(X, j), _column(Z, j))
        if self.p == 2:
            return np.square(gaps, out=gaps)
        gaps = np.abs(gaps, out=gaps)
        return (gaps != 0).astype(gaps.dtype) if self.p == 0 else gaps ** float(self.p)

    def weight_slopes(self, X: Any, Z: Any, coef: np.ndarray) -> np.ndarray:
        if self.p != 2:
            return super().weight_slopes(X, Z, coef)
        # Σ_ij c_ij (x_i - z_j)², by a product of matrices
        X, Z = (dense_rows(side).astype(np.float64) for side in (X, Z))
        middle = Z.mean(axis=0)
        X, Z = X - middle, Z - middle
        cross = np.einsum("ij,ij->j", X, coef @ Z)
        return coef.sum(axis=1) @ X**2 + coef.sum(axis=0) @ Z**2 - 2 * cross

    def log_ball(self, columns: int) -> float | None:
        w = np.ones(columns) if self.weights is None else np.asarray(self.weights, np.float64)
        if self.p == 0 or not (w > 0).all():
            return None
        scale = np.log(w).sum() / (1 if np.isinf(self.p) else self.p)
        return log_unit_ball(columns, self.p) - float(scale)

    def unit_steps(self, n: int, columns: int, rng: np.random.RandomState) -> np.ndarray:
        steps = unit_sphere(n, columns, self.p, rng)
        if self.weights is None:
            return steps
        return steps / np.asarray(self.weights) ** (1 if np.isinf(self.p) else 1 / self.p)

    def coordinates(self, X: Any) -> Coordinates | None:
        if sp.issparse(X):
            return None
        return Coordinates(X, float(self.p), feature_weights(self.weights, X))

    def gradient(self, X: Samples, Z: Samples, weights: np.ndarray) -> np.ndarray:
        if not self.differentiable:
            return super().gradient(X, Z, weights)
        X, Z = dense_rows(X), dense_rows(Z)
        w = feature_weights(self.weights, X)
        if self.p == 2:
            slopes = 2 * (weights.sum(axis=1, keepdims=True) * X - weights @ Z)
        else:  # one column at a time needs n m numbers, not n m d
            slopes = np.stack([self._slope(x, z, weights) for x, z in zip(X.T, Z.T)], axis=1)
        return slopes if w is None else slopes * w

    def gradients(
        self, X: Samples, Z: Samples, weights: np.ndarray, coef: np.ndarray
    ) -> np.ndarray:
        if not self.differentiable:
            return super().gradients(X, Z, weights, coef)
        X, Z = dense_rows(X), dense_rows(Z)
        w = feature_weights(self.weights, X)
        if self.p == 2:  # one product for all outputs
            products = weights @ (coef.T[:, None] * Z.T).reshape(-1, len(Z)).T
            pulls = products.reshape(len(X), coef.shape[1], -1).transpose(1, 0, 2)
            slopes = 2 * ((weights @ coef).T[:, :, None] * X - pulls)
        else:
            columns = [(weights * self._powers(x, z)) @ coef for x, z in zip(X.T, Z.T)]
            slopes = self.p * np.stack(columns, axis=2).transpose(1, 0, 2)
        return slopes if w is None else slopes * w

    def _slope(self, x: np.ndarray, z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_ij p |x_i - z_j|^(p - 1) sign(x_i - z_j), (n,)."""
        return self.p * np.einsum("ij,ij->i", weights, self._powers(x, z))

    def _powers(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """|x_i - z_j|^(p - 1) sign(x_i - z_j), (n, m)."""
        gap = np.subtract.outer(x, z)
        return np.sign(gap) if self.p == 1 else np.sign(gap) * np.abs(gap) ** (self.p - 1)


@estimator
class Mahalanobis(Rooted):
    r"""Mahalanobis distance

    .. math:: \rho(x, z) = \sqrt{(x - z)^\top S^{-1} (x - z)} .

    Points at the same distance from x form an ellipsoid along the eigenvectors of S, with half-axes
    proportional to the square roots of its eigenvalues.

    Parameters
    ----------
    covariance : array-like of shape (d, d), optional
        The matrix S, symmetric positive definite. None means that ``bind`` learns it from the
        training sample.
    shrinkage : "auto", "leave_one_out" or float in [0, 1], default="auto"
        The weight s in (1 - s) C + s T, the matrix that is learnt from the covariance C of the
        sample, sums of squares divided by n - 1. "auto" is 0 if C is well conditioned, otherwise
        the amount of Ledoit & Wolf (2004). "leave_one_out" is the one of 12 weights with the least
        leave-one-out error of 5 nearest neighbours; it needs the targets y in ``bind``, as learners
        give them. The bound copy shows the number that was used.
    precision : array-like of shape (d, d), optional
        The matrix :math:`M = S^{-1}`, which can be given in place of S. It may be only positive
        semidefinite: then directions in its null space do not count, and ρ is a pseudometric.
        None means that S is used.
    target : "identity" or "diagonal", optional
        What C is drawn towards: the mean of the variances times the identity, or the variances
        themselves, without the correlations. None means the identity; with "leave_one_out" the one
        of the two that errs less, which the bound copy shows.

    Raises
    ------
    ValueError
        If both a covariance and a precision are given, or if one is not positive (semi)definite.

    Notes
    -----
    With :math:`M = A A^\top` this is the Euclidean distance of the rows :math:`A^\top x`, which are
    computed once. If all samples are equal, S is the identity.
    O(n m d + (n + m) d²) operations.

    References
    ----------
    Ledoit & Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
    Journal of Multivariate Analysis 88, 2004.

    Examples
    --------
    >>> Mahalanobis([[4.0, 0.0], [0.0, 1.0]])([[0.0, 0.0]], [[2.0, 0.0]])
    array([[1.]])
    >>> Mahalanobis(precision=[[1.0, 0.0], [0.0, 0.0]])([[0.0, 0.0]], [[2.0, 9.0]])
    array([[2.]])
    """

    meaning = Meaning("√((x − z)ᵀ S⁻¹ (x − z))", "the distance in units of the spread of the rows")

    exponent = 2.0
    definite_up_to = 2.0
    differentiable = True

    covariance: Any = None
    shrinkage: float | str = "auto"
    precision: Any = None
    target: str | None = None

    @property
    def norm(self) -> Norm:  # type: ignore[override]
        return Norm(2.0, self.factor().T)

    def validate(self) -> None:
        if self.shrinkage not in ("auto", "leave_one_out") and not (
            is_number(self.shrinkage) and 0 <= self.shrinkage <= 1
        ):
            raise ValueError(
                f'shrinkage={self.shrinkage!r}: give "auto", "leave_one_out" or a number in [0, 1].'
            )
        if self.target not in (None, "identity", "diagonal"):
            raise ValueError(f'target={self.target!r}: give "identity", "diagonal" or None.')
        if self.covariance is not None and self.precision is not None:
            raise ValueError(
                "covariance and precision are both given, but one is the inverse of the other: "
                "give only one of them."
            )
        if self.covariance is not None:
            least = np.linalg.eigvalsh(_symmetric("covariance", self.covariance))[0]
            if least <= 0:
                raise ValueError(
                    f"covariance is not positive definite: its smallest eigenvalue is {least:.3g}. "
                    "Add a multiple of the identity, or give covariance=None to learn it from the "
                    "sample, or give the inverse, which may be singular, as precision."
                )
        if self.precision is not None:
            values = np.linalg.eigvalsh(_symmetric("precision", self.precision))
            if values[0] < -1e-10 * max(values[-1], 0):
                raise ValueError(
                    "precision is not positive semidefinite: its smallest eigenvalue is "
                    f"{values[0]:.3g}. Clip the eigenvalues at 0."
                )

    @property
    def metric(self) -> bool:  # type: ignore[override]
        if self.precision is None:
            return True
        values = np.linalg.eigvalsh(np.asarray(self.precision, np.float64))
        return bool(values[0] > 1e-12 * values[-1])

    def bind(self, X: np.ndarray, y: Any = None, sample_weight: np.ndarray | None = None) -> Self:
        self.validate()
        if self.covariance is not None or self.precision is not None:
            return self
        if safe_unit(X) != 1:
            j, size = largest_column(X)
            raise ValueError(
                f"column {j} of X reaches only {size:.3g}, and variances of such numbers are 0 as "
                "floats: divide the column by its largest value "
                "(sklearn.preprocessing.MaxAbsScaler does it for all columns)."
            )
        X, d = dense_rows(X).astype(np.float64), X.shape[1]
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        n = max(float(weights.sum()), 2.0)  # one row has no variance
        with np.errstate(all="ignore"):
            S = np.cov(X, rowvar=False, bias=True, aweights=weights).reshape(d, d) * (n / (n - 1))
        if not np.isfinite(S).all():
            raise ValueError("Variances of X are beyond the range of floats: scale its columns.")
        variances, mean = S.diagonal(), np.trace(S) / d
        if not mean > 0:  # all samples are equal: no direction differs from the others
            return self.copied(covariance=np.eye(d), shrinkage=1.0)
        # a column that does not vary has no scale of its own
        scales = np.where(variances > 0, variances, mean)
        targets = {"identity": np.full(d, mean), "diagonal": scales}
        target = self.target
        if self.shrinkage == "leave_one_out":
            wanted = targets if target is None else {target: targets[target]}
            target, shrinkage = least_left_out(X, S, wanted, y, weights)
        elif not isinstance(self.shrinkage, str):
            shrinkage = float(self.shrinkage)
        else:
            values = np.linalg.eigvalsh(S)
            well_conditioned = values[0] > 1e-8 * values[-1]
            # not 0: Ledoit & Wolf give 0 if rows differ only in one direction
            shrinkage = 0.0 if well_conditioned else max(ledoit_wolf(X, weights), 1e-6)
        S = (1 - shrinkage) * S + shrinkage * np.diag(targets[target or "identity"])
        bound = self.copied(covariance=S, shrinkage=shrinkage, target=target)
        bound.validate()
        return bound

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        whitened = (dense_rows(X) @ self.factor()).astype(X.dtype, copy=False)
        return from_origin(whitened, like)

    def coordinates(self, X: Samples) -> Coordinates:
        return Coordinates(mapped_rows(X, self.factor()), 2.0, None)

    def factor(self) -> np.ndarray:
        """A with M = A Aᵀ, so that (x - z)ᵀ M (x - z) = ‖Aᵀ (x - z)‖²; (d, d), float64."""
        if self.precision is not None:
            values, U = np.linalg.eigh(np.asarray(self.precision, dtype=np.float64))
            return U * np.sqrt(np.maximum(values, 0))
        if self.covariance is None:
            raise ValueError("Mahalanobis has no covariance yet: bind it to a sample, or give one.")
        from scipy.linalg import solve_triangular

        L = np.linalg.cholesky(np.asarray(self.covariance, dtype=np.float64))
        return solve_triangular(L, np.eye(len(L)), lower=True).T  # S = L Lᵀ: A = L⁻ᵀ

    def raw(self, X: Prepared, Z: Prepared) -> np.ndarray:
        return squared_euclidean(*self.sides(X, Z))

    def log_ball(self, columns: int) -> float | None:
        if not self.metric:
            return None
        logdet = np.linalg.slogdet(self.factor())[1]
        return log_unit_ball(columns, 2) - float(logdet)

    def unit_steps(self, n: int, columns: int, rng: np.random.RandomState) -> np.ndarray:
        return np.linalg.solve(self.factor().T, unit_sphere(n, columns, 2, rng).T).T

    def gradient(self, X: Samples, Z: Samples, weights: np.ndarray) -> np.ndarray:
        A = self.factor()
        slopes = 2 * (weights.sum(axis=1, keepdims=True) * dense_rows(X) - weights @ dense_rows(Z))
        return (slopes @ A @ A.T).astype(X.dtype, copy=False)


class Cosine(Distance):
    r"""Angle between two vectors

    .. math:: \arccos(\langle x, z\rangle / (\|x\| \|z\|)) ,

    in radians.

    The angle is π / 2 between a zero vector and any other vector, and 0 between two zero vectors.

    Notes
    -----
    It is a metric on directions. Because of rounding, an angle of 0 may come out as about 1e-8
    (float64) or 3e-4 (float32). O(n m d) operations; sparse rows stay sparse.

    Examples
    --------
    >>> Cosine()([[1.0, 0.0]], [[0.0, 2.0]]).round(4)
    array([[1.5708]])
    """

    meaning = Meaning("∠(x, z)", "the angle between two rows")

    # the angle is π times the share of great circles that separate x and z, a distance of sets; a
    # zero vector is like one more axis
    definite_up_to = 1.0

    def prepare(self, X: Samples, like: Prepared | None = None) -> Any:
        if isinstance(X, Prepared):
            return X
        units = unit_rows(X)
        return Prepared((units, squared_norms(units) == 0))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        (A, x_zero), (B, z_zero) = X.parts, Z.parts
        C = cosines(A, B)
        C[np.outer(x_zero, z_zero)] = 1
        D = np.arccos(C, out=C)
        if X is Z:
            np.fill_diagonal(D, 0)
        return D


def _symmetric(name: str, matrix: ArrayLike) -> np.ndarray:
    S = float_array(name, matrix)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.allclose(S, S.T):
        raise ValueError(f"{name} has shape {S.shape}: give a symmetric (d, d) matrix.")
    return S


def _column(X: Samples, j: int) -> np.ndarray:
    """A column of dense or sparse rows, (n,)."""
    return dense_rows(X[:, [j]])[:, 0] if sp.issparse(X) else np.asarray(X)[:, j]


def _scale_columns(X: Any, scale: np.ndarray) -> Any:
    return sp.csr_array(X.multiply(scale)) if sp.issparse(X) else X * scale
