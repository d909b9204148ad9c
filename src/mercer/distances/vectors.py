"""Distances between vectors, and the products and feature sums that they are made of.

Rows may be dense or sparse. Inner products of sparse rows stay sparse; the other loops take
sparse rows densified, one tile at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances.base import Distance

__all__ = [
    "Cosine",
    "Mahalanobis",
    "Minkowski",
    "dense",
    "feature_sum",
    "inner_products",
    "squared_euclidean",
    "squared_norms",
]


class Minkowski(Distance):
    r"""Minkowski distance :math:`\rho(x, z) = (\sum_j w_j |x_j - z_j|^p)^{1/p}`.

    Parameters
    ----------
    p : float in [0, inf], default=2.0
        1 is Manhattan, 2 Euclid, ``inf`` Chebyshev (the largest weighted difference) and 0 the
        counting distance :math:`\sum_j w_j [x_j \ne z_j]`. A metric for p >= 1 and p = 0.
    weights : array-like of shape (d,), optional
        :math:`w_j \ge 0`; ones by default.

    Notes
    -----
    ``raw`` is :math:`\rho^p`: no root is taken. p = 2 is one matrix product on centred rows, every
    other p a native loop. O(n m d) operations. For p = inf the value is
    :math:`\max_j w_j |x_j - z_j|`. Sparse rows are densified, one tile at a time, unless p = 2.

    Examples
    --------
    >>> Minkowski(1)([[0.0, 0.0]], [[3.0, 4.0]]), Minkowski()([[0.0, 0.0]], [[3.0, 4.0]])
    (array([[7.]]), array([[5.]]))
    """

    def __init__(self, p: float = 2.0, weights: Any = None):
        self.p = p
        self.weights = weights

    @property
    def exponent(self) -> float:  # type: ignore[override]
        return 1.0 if self.p in (0, np.inf) else float(self.p)

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return self.p == 0 or self.p >= 1

    def validate(self) -> None:
        if not (isinstance(self.p, Real) and self.p >= 0):
            raise ValueError(f"p={self.p!r}: Minkowski needs 0 <= p <= inf.")
        if self.weights is not None and not (np.asarray(self.weights) >= 0).all():
            raise ValueError("weights must be >= 0; a negative weight gives no distance.")

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        w = _feature_weights(self.weights, X)
        if self.p == 2:
            if w is not None:
                X, Z = _scale_columns(X, np.sqrt(w), Z)
            return squared_euclidean(X, Z)
        if self.p == 0:
            return feature_sum(_native.differences, X, Z, w)
        if self.p == 1:
            return feature_sum(_native.manhattan, X, Z, w)
        if np.isinf(self.p):
            return feature_sum(_native.chebyshev, X, Z, w)
        return feature_sum(_native.minkowski, X, Z, w, float(self.p))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        D = self.raw(X, Z)
        if self.exponent == 2:
            return np.sqrt(D, out=D)
        if self.exponent != 1:
            D **= 1 / self.exponent
        return D


class Mahalanobis(Distance):
    r"""Mahalanobis distance :math:`\rho(x, z) = \sqrt{(x - z)^\top S^{-1} (x - z)}`.

    Its level sets are ellipsoids along the eigenvectors of S, with half-axes proportional to the
    square roots of its eigenvalues.

    Parameters
    ----------
    covariance : array-like of shape (d, d), optional
        S, symmetric positive definite. None: ``bind`` takes that of the training sample.
    shrinkage : "auto" or float in [0, 1], default="auto"
        How far the learnt covariance is drawn towards the multiple of the identity of the same
        trace. "auto" is 0 where the sample covariance is well conditioned, else the amount of
        Ledoit & Wolf (2004); the bound copy shows the amount that was taken.

    Notes
    -----
    Rows are whitened by the Cholesky factor of S, and then compared by Euclid. A constant sample
    has no covariance: the identity is taken. O(n m d + (n + m) d²) operations.

    References
    ----------
    Ledoit & Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
    Journal of Multivariate Analysis 88, 2004.

    Examples
    --------
    >>> Mahalanobis([[4.0, 0.0], [0.0, 1.0]])([[0.0, 0.0]], [[2.0, 0.0]])
    array([[1.]])
    """

    exponent = 2.0

    def __init__(self, covariance: Any = None, shrinkage: float | str = "auto"):
        self.covariance = covariance
        self.shrinkage = shrinkage

    def validate(self) -> None:
        if self.shrinkage != "auto" and not (
            isinstance(self.shrinkage, (int, float)) and 0 <= self.shrinkage <= 1
        ):
            raise ValueError(f'shrinkage={self.shrinkage!r}: give "auto" or a number in [0, 1].')
        if self.covariance is None:
            return
        S = np.asarray(self.covariance, dtype=float)
        if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.allclose(S, S.T):
            raise ValueError(f"covariance has shape {S.shape}: give a symmetric (d, d) matrix.")
        if np.linalg.eigvalsh(S)[0] <= 0:
            raise ValueError(
                "covariance is not positive definite: its smallest eigenvalue is "
                f"{np.linalg.eigvalsh(S)[0]:.3g}. Add a multiple of the identity, or leave it out "
                "to learn a shrunk one from the sample."
            )

    def bind(self, X: Any, y: Any = None) -> Mahalanobis:
        self.validate()
        if self.covariance is not None:
            return self
        X = dense(X).astype(np.float64)
        d = X.shape[1]
        S = np.cov(X, rowvar=False, bias=True).reshape(d, d)
        mean = np.trace(S) / d
        if not mean > 0:  # a constant sample: every direction is alike
            return Mahalanobis(np.eye(d), 1.0)
        if not isinstance(self.shrinkage, str):
            shrinkage = float(self.shrinkage)
        else:
            from sklearn.covariance import ledoit_wolf_shrinkage

            values = np.linalg.eigvalsh(S)
            well_conditioned = values[0] > 1e-8 * values[-1]
            # at least a trace of it: Ledoit & Wolf find 0 for rows that differ in one direction
            shrinkage = 0.0 if well_conditioned else max(float(ledoit_wolf_shrinkage(X)), 1e-6)
        S = (1 - shrinkage) * S + shrinkage * mean * np.eye(d)
        bound = Mahalanobis(S, shrinkage)
        bound.validate()
        return bound

    def raw(self, X: Any, Z: Any) -> np.ndarray:
        if self.covariance is None:
            raise ValueError("Mahalanobis has no covariance yet: bind it to a sample, or give one.")
        from scipy.linalg import solve_triangular

        L = np.linalg.cholesky(np.asarray(self.covariance, dtype=np.float64))
        # S = L Lᵀ, so (x - z)ᵀ S⁻¹ (x - z) = ‖L⁻¹ (x - z)‖²
        A = solve_triangular(L, dense(X).T, lower=True).T.astype(X.dtype)
        B = A if Z is X else solve_triangular(L, dense(Z).T, lower=True).T.astype(Z.dtype)
        return squared_euclidean(A, B)

    def block(self, X: Any, Z: Any) -> np.ndarray:
        D = self.raw(X, Z)
        return np.sqrt(D, out=D)


class Cosine(Distance):
    r"""Angle between two vectors, :math:`\arccos(\langle x, z\rangle / (\|x\| \|z\|))`, in radians.

    A zero vector is at a right angle to every other vector and at angle 0 to another zero vector.

    Notes
    -----
    A metric on directions. The arccosine turns rounding errors near 0 into angles of about
    1e-8 (float64) or 3e-4 (float32). O(n m d) operations; sparse rows stay sparse.

    Examples
    --------
    >>> Cosine()([[1.0, 0.0]], [[0.0, 2.0]]).round(4)
    array([[1.5708]])
    """

    def block(self, X: Any, Z: Any) -> np.ndarray:
        C = cosines(X, Z)
        C[np.outer(squared_norms(X) == 0, squared_norms(Z) == 0)] = 1
        D = np.arccos(C, out=C)
        if X is Z:
            np.fill_diagonal(D, 0)
        return D


def inner_products(X: Any, Z: Any) -> np.ndarray:
    """<x, z> for every pair of rows, dense or sparse; a fresh dense array (n, m)."""
    if sp.issparse(X) or sp.issparse(Z):
        product = X @ Z.T
        return np.ascontiguousarray(product.toarray() if sp.issparse(product) else product)
    return X @ Z.T


def squared_norms(X: Any) -> np.ndarray:
    """‖x‖² for every row, shape (n,)."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=X.dtype).ravel()
    return np.einsum("ij,ij->i", X, X)


def cosines(X: Any, Z: Any) -> np.ndarray:
    """Cosine of the angle of every pair, within [-1, 1]; 0 where a vector is zero."""
    x, z = np.sqrt(squared_norms(X)), np.sqrt(squared_norms(Z))
    C = inner_products(X, Z)
    C /= np.where(x > 0, x, 1)[:, None]
    C /= np.where(z > 0, z, 1)
    return np.clip(C, -1, 1, out=C)


def squared_euclidean(X: Any, Z: Any) -> np.ndarray:
    """‖x - z‖² for every pair of rows, by one matrix product; a fresh array (n, m).

    Dense rows are centred on the mean of some of Z's: distances stay as they are, and the norms,
    against which ‖x‖² + ‖z‖² - 2<x, z> cancels, stay small.
    """
    same = X is Z
    if not (sp.issparse(X) or sp.issparse(Z)):
        some = Z[:: len(Z) // 32 + 1]
        centre = some.mean(axis=0, dtype=np.float64).astype(Z.dtype)
        Z = Z - centre
        X = Z if same else X - centre
    D = inner_products(X, Z)
    xx = squared_norms(X)
    _native.squares(D, xx, xx if same else squared_norms(Z))
    if same:
        np.fill_diagonal(D, 0)
    return D


def feature_sum(
    loop: Callable, X: Any, Z: Any, weights: np.ndarray | None = None, *arguments: Any
) -> np.ndarray:
    """Sum over features by a native pair loop, (n, m)."""
    dtype = np.result_type(X.dtype, Z.dtype)
    w = np.ones(X.shape[1], dtype) if weights is None else np.asarray(weights, dtype)
    return over_pairs(lambda rows, columns, out: loop(rows, columns, w, out, *arguments), X, Z)


def over_pairs(fill: Callable[[np.ndarray, np.ndarray, np.ndarray], None], X: Any, Z: Any):
    """A tile (n, m), filled by a native loop over dense rows X and transposed rows Z.

    Z goes in transposed, so that the lanes of the loop run over the columns of the tile.
    """
    dtype = np.result_type(X.dtype, Z.dtype)
    rows, columns = (np.require(A, dtype, ["C", "ALIGNED"]) for A in (dense(X), dense(Z).T))
    out = np.empty((X.shape[0], Z.shape[0]), dtype)
    fill(rows, columns, out)
    return out


def dense(X: Any) -> np.ndarray:
    """Rows as a dense array."""
    return X.toarray() if sp.issparse(X) else X


def _feature_weights(weights: Any, X: Any) -> np.ndarray | None:
    if weights is None:
        return None
    w = np.asarray(weights, dtype=X.dtype)
    if w.shape != (X.shape[1],):
        raise ValueError(f"weights has shape {w.shape}, but X has {X.shape[1]} columns: one each.")
    return w


def _scale_columns(X: Any, scale: np.ndarray, Z: Any) -> tuple[Any, Any]:
    def scaled(A):
        return sp.csr_array(A.multiply(scale)) if sp.issparse(A) else A * scale

    A = scaled(X)
    return A, A if Z is X else scaled(Z)
