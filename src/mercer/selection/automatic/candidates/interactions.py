r"""Learn the column weights of an interactions kernel from the leave-one-out error.

The kernel :math:`k(x, z) = \prod_j (1 + w_j k_j(x, z)) / (1 + w_j)` contains the products of all
subsets of columns, and the weights w say how much each column matters. They are learnt together
with the ridge penalty by gradient descent on the squared leave-one-out error of kernel ridge. The
error and its gradient have a closed form. Each step costs a Cholesky factorisation, two n x n
products, and two passes over the columns' kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg.lapack as lapack

from mercer import _native
from mercer.kernels import On, TableKernel
from mercer.threads import blas_limit, ordered_map

RATE = 0.4  # learning rate of the first step; it falls to a tenth along a half cosine
SMALLEST_PENALTY = 1e-6  # relative to the number of rows; below, float32 factorisations fail


@dataclass(frozen=True)
class InteractionWeights:
    """The result of `learn_interactions`."""

    kernel: TableKernel  # the kernel with the learnt weights
    penalty: float  # λ / n
    error: float  # mean squared leave-one-out error, in units of the targets' variance
    errors: list[float] = field(repr=False)  # the error after each step


def learn_interactions(
    kernel: TableKernel,
    X: Any,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    steps: int = 25,
    n_jobs: int | None = None,
    on_step: Callable[[int, float], bool | None] | None = None,
) -> InteractionWeights:
    r"""Learn the weights of ``TableKernel(combine="interactions")`` from a few thousand rows.

    The kernel is bound, with parts. Learning starts from its weights, or from 1.4 / number of parts
    if they are None, and takes at most ``steps`` of Adam (Kingma & Ba 2015) on the logarithms of
    the weights and the penalty. Use at most about 3,000 rows: a step costs O(n³). The targets
    (n, c), one column or one for each class, are centred and scaled here. ``on_step`` is called
    with (step, error) after each step; if it returns True, the learning ends.

    With G = K + λ W⁻¹, C = G⁻¹ and α = C y the leave-one-out residuals are e_i = α_i / C_ii
    (Rasmussen & Williams 2006, eq. 5.12). For v_i = w_i e_i / C_ii,

    .. math:: \mathrm{d} \sum_i w_i e_i^2
        = 2 \langle C \,\mathrm{diag}(v \circ e)\, C - (C v) \alpha^\top, \mathrm{d} G \rangle,

    one n x n matrix for all weights, against which each column's
    :math:`\partial K / \partial \log w_j = K \circ (w_j k_j / (1 + w_j k_j) - w_j / (1 + w_j))`
    is an inner product.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> rng = np.random.default_rng(0)
    >>> table = rng.uniform(size=(200, 2))
    >>> kernel = TableKernel([(Laplacian(), [0]), (Laplacian(), [1])], combine="interactions")
    >>> X = kernel.encode(table)
    >>> found = learn_interactions(kernel, X, np.sin(6 * table[:, :1]))
    >>> w = found.kernel.weights
    >>> bool(w[0] > 10 * w[1])
    True
    """
    n = X.shape[0]
    y = np.asarray(Y, X.dtype).reshape(n, -1)
    share = np.ones(n) if weights is None else weights / weights.mean()
    share = share.astype(X.dtype)[:, None]
    y = y - (share * y).mean(axis=0)
    scale = np.sqrt(np.mean(share * y**2)) or 1.0
    y /= scale
    parts = kernel.parts
    start = 1.4 / len(parts) if kernel.weights is None else np.asarray(kernel.weights, float)
    theta = np.append(np.log(np.full(len(parts), start)), np.log(1e-3 * n))
    momentum, spread = np.zeros_like(theta), np.zeros_like(theta)
    # values of kernels on texts and other objects are expensive, so they are computed once
    held = {j: On(*part).block(X, X) for j, part in enumerate(parts) if part[0].reads.column}

    def block(j: int) -> np.ndarray:
        return held[j].copy() if j in held else On(*parts[j]).block(X, X)

    best, errors = (np.inf, theta), []
    for step in range(steps):
        try:
            with blas_limit(n):
                error, slope = _error_and_slope(block, y, share, theta, n_jobs)
        except np.linalg.LinAlgError:  # not positive definite in this precision: λ is too small
            break
        errors.append(error)
        if error < best[0]:
            best = (error, theta.copy())
        if on_step is not None and on_step(step, error):
            break
        momentum = 0.9 * momentum + 0.1 * slope
        spread = 0.99 * spread + 0.01 * slope**2
        direction = momentum / (1 - 0.9 ** (step + 1))
        direction /= np.sqrt(spread / (1 - 0.99 ** (step + 1))) + 1e-12
        fall = 0.55 + 0.45 * np.cos(np.pi * step / steps)
        theta = theta - RATE * fall * direction
        theta[:-1] = np.clip(theta[:-1], np.log(1e-6), np.log(1e4))
        theta[-1] = np.clip(theta[-1], np.log(SMALLEST_PENALTY * n), np.log(10 * n))
    error, theta = best
    weights = np.exp(theta[:-1])
    learnt = TableKernel(parts, "interactions", weights.tolist())
    return InteractionWeights(learnt, float(np.exp(theta[-1]) / n), float(error), errors)


def _error_and_slope(
    block: Callable[[int], np.ndarray],
    y: np.ndarray,
    share: np.ndarray,
    theta: np.ndarray,
    n_jobs: int | None,
) -> tuple[float, np.ndarray]:
    """Mean squared leave-one-out error, and its derivatives by log w_j and log λ.

    ``block(j)`` gives a new matrix with the values of part j; ``share`` has the weights of the
    rows, (n, 1), with mean 1.
    """
    n, dtype = len(y), y.dtype
    w, penalty = np.exp(theta[:-1]).astype(dtype), dtype.type(np.exp(theta[-1]))
    K = np.ones((n, n), dtype)
    for j, weight in enumerate(w):
        _native.interact(K, block(j), float(weight / (1 + weight)))
    C = _inverse(K, penalty / share[:, 0])
    alpha = C @ y
    diagonal = C.diagonal()[:, None]
    e = alpha / diagonal
    v = share * e / diagonal
    M = (C * np.sum(v * e, axis=1)) @ C
    M -= (C @ v) @ alpha.T
    slope = np.empty_like(theta)
    slope[-1] = np.sum(penalty / share[:, 0] * M.diagonal())
    M *= K
    total = float(M.sum(dtype=np.float64))

    def slope_of(j: int) -> float:
        k = block(j)
        k *= w[j]
        k /= 1 + k  # w k / (1 + w k)
        return float(np.vdot(M, k)) - total * w[j] / (1 + w[j])

    jobs = 1 if n < 1000 else n_jobs  # for a small matrix, threads take too long to start
    for j, value in enumerate(ordered_map(slope_of, range(len(w)), jobs)):
        slope[j] = value
    return float(np.mean(share * e.astype(np.float64) ** 2)), slope * 2 / y.size


def _inverse(K: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """(K + diag λ)⁻¹ by Cholesky, as a full symmetric matrix in K's precision."""
    potrf, potri = lapack.get_lapack_funcs(("potrf", "potri"), (K,))
    G = K.T.copy(order="F")
    G.flat[:: len(G) + 1] += penalty
    L, failed = potrf(G, lower=True, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("K + λ W⁻¹ is not positive definite in this precision")
    C, _ = potri(L, lower=True, overwrite_c=True)
    C = np.tril(C)
    C += np.tril(C, -1).T
    return C
