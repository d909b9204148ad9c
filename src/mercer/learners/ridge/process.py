"""The Gaussian process that ridge regression is: f ~ N(0, K), with noise of variance λ / w.

Its mean given y is the solution of ridge regression. Here are its variance at new samples and the
likelihood of y with derivatives, by which kernels and λ are compared (Rasmussen & Williams,
"Gaussian Processes for Machine Learning", 2006, algorithm 2.1 and eq. 5.9).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer.distances import dense_rows
from mercer.gram import GramOperator, cholesky_factor, inverse_diagonal, refuse_overflow
from mercer.kernels import Kernel, Radial, Scaled
from mercer.learners.base import KernelLearner
from mercer.samples import Samples
from mercer.solvers.ridge import GramEigenpairs
from mercer.threads import blas_limit, raise_if_stopped

MATRICES = 6  # of the size of K in float64, for the derivatives of the likelihood
STRIP = 2**21  # numbers of K between new samples and others that are held at a time


class Likelihood(NamedTuple):
    """The log marginal likelihood of targets, log N(y; 0, K + λ W⁻¹), and its derivatives.

    Attributes
    ----------
    value : float
        Summed over the targets.
    penalty : float
        The derivative by log λ, for all targets together.
    variance : float
        The derivative by the logarithm of a factor of the kernel.
    length_scales : ndarray of shape (d,) or None
        The derivatives by the logarithm of a length scale of each column. None for kernels that
        have none: they are there for radial kernels of a Minkowski distance on dense vectors.
    """

    value: float
    penalty: float
    variance: float
    length_scales: np.ndarray | None


def exact_root(K: GramOperator, noise: Any, remedy: str = ', or solver="low_rank"') -> np.ndarray:
    """L (n, n) in float64, lower triangular, with K + N = L Lᵀ, where ``noise`` is N's diagonal.

    What stands above the diagonal means nothing. ``remedy`` is what needs less memory.

    Raises
    ------
    ValueError
        The matrix is singular: a process without noise has no variance then that can be computed.
    """
    if not K.fits(MATRICES):
        K.refuse(MATRICES, "the variance of all rows", remedy)
    A = K.fresh(np.dtype(np.float64))
    refuse_overflow(A)
    A.flat[:: len(A) + 1] += noise
    A = A.T
    with blas_limit(len(A)):
        if not cholesky_factor(A, K.n_jobs):
            raise ValueError(
                f"alpha={np.min(noise)}: K + alpha I is singular, so that rounding hides the "
                "variance: give a larger alpha, the variance of the noise."
            )
    return A


def low_rank_root(
    pairs: GramEigenpairs, lift: Callable[[np.ndarray], np.ndarray], penalty: float
) -> np.ndarray:
    """T (m, m) with (k(x, S) T)² summed: what the data explain of k(x, x), by a low-rank K.

    Of φ(x) = L⁻¹ k(S, x) and Fᵀ W F = Q diag(μ) Qᵀ it is φᵀ Q diag(μ / (μ + λ)) Qᵀ φ (Quiñonero &
    Rasmussen, "A unifying view of sparse approximate Gaussian process regression", JMLR 6, 2005,
    eq. 20: the conditionals of training rows are deterministic). ``lift`` is L⁻ᵀ.
    """
    mu = pairs.values
    share = np.divide(mu, mu + penalty, out=np.zeros_like(mu), where=mu > pairs.noise)
    return lift(pairs.Q * np.sqrt(share))


def density(root: np.ndarray, coef: np.ndarray) -> float:
    """log N(y; 0, A), summed over the targets y = A coef of A = L Lᵀ (algorithm 2.1, line 7)."""
    a = coef.reshape(len(root), -1).astype(np.float64, copy=False)
    white = np.tril(root).T @ a  # yᵀ A⁻¹ y = ‖Lᵀ a‖²
    n, outputs = a.shape
    value = -0.5 * (np.square(white).sum() + outputs * n * np.log(2 * np.pi))
    return float(value - outputs * np.log(root.diagonal()).sum())


def pull(root: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """G = a aᵀ - A⁻¹, summed over the targets: dlog p / dθ = ½ tr(G dA / dθ) (eq. 5.9)."""
    a = coef.reshape(len(root), -1).astype(np.float64, copy=False)
    inverse = scipy.linalg.cho_solve((root, True), np.eye(len(root)), check_finite=False)
    inverse *= -a.shape[1]
    inverse += a @ a.T
    return inverse


def likelihood(
    kernel: Kernel, X: Samples, root: np.ndarray, coef: np.ndarray, noise: Any
) -> Likelihood:
    """The likelihood of y = (K + N) coef, where ``root`` is L, with its derivatives."""
    a = coef.reshape(len(root), -1).astype(np.float64)
    n, outputs = a.shape
    diagonal = np.square(a).sum(axis=1) - outputs * inverse_diagonal(root)
    by_penalty = 0.5 * float(np.sum(diagonal * noise))
    # tr((a aᵀ - A⁻¹) A) = aᵀ A a - n, and A is K and the noise
    white = np.tril(root).T @ a
    by_variance = 0.5 * float(np.square(white).sum() - outputs * n) - by_penalty
    scales = None
    radial, factor = radial_part(kernel)
    if radial is not None and isinstance(X, np.ndarray):
        scales = 0.5 * factor * by_scales(radial, X.astype(np.float64), pull(root, a))
    return Likelihood(density(root, a), by_penalty, by_variance, scales)


def by_scales(kernel: Radial, X: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Σ_ab G_ab dk(x_a, x_b) / dlog ℓ_j for each column j, whose numbers are divided by ℓ_j = 1.

    With D = Σ_j |x̃_aj - x̃_bj|^p of the columns after the scaling, dD / dlog ℓ_j = -p |.|^p.
    """
    formula: Any = kernel.formula
    rows, p = formula.rows(X), float(formula.p)
    D = np.asarray(kernel.distance.raw(*kernel.distance.sides(X, X)), np.float64)
    apart = D > 0  # equal rows have no slope, though the profile may be infinitely steep there
    M = np.zeros_like(D)
    M[apart] = G[apart] * kernel.profile_derivative(D[apart])
    if p == 2:
        # Σ_ab M_ab (x_a - x_b)² = 2 Σ_a x_a² Σ_b M_ab - 2 xᵀ M x
        squares = M.sum(axis=1) @ np.square(rows) - np.einsum("aj,aj->j", rows, M @ rows)
        return -4 * squares
    return np.array([-p * np.sum(M * np.abs(x[:, None] - x) ** p) for x in rows.T])


@singledispatch
def radial_part(kernel: Kernel) -> tuple[Radial | None, float]:
    """A radial kernel with length scales of columns and its factor; None if it is not one."""
    return None, 1.0


@radial_part.register
def _radial(kernel: Radial) -> tuple[Radial | None, float]:
    formula = kernel.formula
    columns = formula is not None and (formula.scaling is None or formula.scaling.ndim == 1)
    return (kernel if columns else None), 1.0


@radial_part.register
def _scaled(kernel: Scaled) -> tuple[Radial | None, float]:
    radial, factor = radial_part(kernel.kernel)
    return radial, factor * float(kernel.factor)


def variances(learner: KernelLearner, X: Samples, roots: Any, triangular: bool) -> np.ndarray:
    """What is left of k(x, x) of encoded samples by each root of what the data explain, (n, roots).

    The root is L of `exact_root` if ``triangular``, else T of `low_rank_root`.
    """
    n = X.shape[0]
    var = np.empty((n, len(roots)))
    step = max(1, STRIP // learner.X_fit_.shape[0])
    for s in range(0, n, step):
        raise_if_stopped()
        rows = X[s : s + step]
        whole = np.asarray(learner.kernel_.diag(rows), np.float64)
        cross = np.asarray(dense_rows(learner.gram_with_support(rows).dense()), np.float64)
        for j, root in enumerate(roots):
            white = whitened(root, cross) if triangular else cross @ root
            var[s : s + step, j] = whole - np.square(white, out=white).sum(axis=1)
    return np.maximum(var, 0)


def whitened(root: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """V (q, n) with V Vᵀ the covariance that the data explain, of k between q samples and the
    stored ones (algorithm 2.1, line 5)."""
    solved = scipy.linalg.solve_triangular(root, cross.T, lower=True, check_finite=False)
    return solved.T
