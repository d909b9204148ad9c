"""A layer on the Gram matrix of some samples, and the pull-back of a gradient through it."""

from __future__ import annotations

import numpy as np

from mercer.kernels import Layer


def kernel_of(layer: Layer, G: np.ndarray) -> np.ndarray:
    """The kernel matrix (n, n) of a Gram matrix G; LinAlgError if its diagonal is not finite.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine
    >>> kernel_of(ArcCosine(1), np.eye(2)).round(3)  # 1 / π off the diagonal
    array([[1.   , 0.318],
           [0.318, 1.   ]])
    """
    g = _norms(G)
    K = layer.of_gram(G.copy(), g, g)
    np.fill_diagonal(K, layer.of_diag(g))
    return K


def pull_back(layer: Layer, D: np.ndarray, G: np.ndarray) -> np.ndarray:
    """dL/dG for a symmetric D = dL/dK at K = ``kernel_of(layer, G)``."""
    g = _norms(G)
    by_gram, by_norm, _ = layer.gram_derivatives(G, g, g)
    out, shared = D * by_gram, D * by_norm
    np.fill_diagonal(shared, 0.0)
    # κ is symmetric, and so is D: each diagonal entry is met on the left and on the right
    np.fill_diagonal(out, 2 * shared.sum(axis=1) + D.diagonal() * layer.diag_derivative(g))
    return out


def _norms(G: np.ndarray) -> np.ndarray:
    """Squared norms; one that rounding made negative is 0."""
    g = np.maximum(G.diagonal(), 0)
    if not np.isfinite(g).all():
        raise np.linalg.LinAlgError("a Gram matrix is not finite")
    return g
