"""Pre-images: vectors whose features are near to given features, for radial kernels.

For k(z, x) = κ(‖z - x‖²) all features have the same norm, and the z whose feature is nearest to
Σ g_i φ(x_i) maximises Σ g_i κ(‖z - x_i‖²). Where the gradient is 0, z is a weighted mean of the
samples, with the weights g_i κ'(‖z - x_i‖²): a fixed point, which is found by iteration (Mika et
al., "Kernel PCA and de-noising in feature spaces", NIPS 1998).
"""

from __future__ import annotations

import numpy as np

from mercer.distances import Minkowski
from mercer.kernels import Kernel, Radial
from mercer.threads import raise_if_stopped

STEPS, TOL = 200, 1e-7  # most steps, and the step, relative to the samples, at which it ends
PAIRS = 2**21  # pairs of wanted and training samples at a time
CANCELLED = 1e-6  # a sum of weights below this part of their sizes says nothing


def has_fixed_points(kernel: Kernel) -> bool:
    """Whether a kernel is a function of the Euclidean distance."""
    if not (isinstance(kernel, Radial) and isinstance(kernel.distance, Minkowski)):
        return False
    return kernel.distance.p == 2 and kernel.distance.exponent == 2


def fixed_points(kernel: Radial, X: np.ndarray, G: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The pre-images of Σ_i G_qi φ(x_i), (q, d).

    Parameters
    ----------
    kernel : Radial
        A function of the Euclidean distance.
    X : ndarray of shape (m, d)
    G : ndarray of shape (q, m)
    start : ndarray of shape (q,)
        The row of X from which each begins; it is the answer where nothing better is found.
    """
    mean = X.mean(axis=0)  # distances are more exact near the origin
    X, out = X - mean, np.empty((len(G), X.shape[1]), X.dtype)
    step = max(1, PAIRS // max(len(X), 1))
    for s in range(0, len(G), step):
        part = slice(s, s + step)
        out[part] = _iterate(kernel, X, G[part].astype(X.dtype, copy=False), X[start[part]])
    return out + mean


def _iterate(kernel: Radial, X: np.ndarray, G: np.ndarray, Z: np.ndarray) -> np.ndarray:
    first, size = Z.copy(), float(np.abs(X).max(initial=0)) or 1.0
    active = np.arange(len(Z))
    Z = Z.copy()
    for _ in range(STEPS):
        raise_if_stopped()
        D = np.maximum(kernel.distance.raw(Z[active], X), np.finfo(X.dtype).tiny)
        weights = G[active] * -kernel.profile_derivative(D)
        total, sizes = weights.sum(axis=1), np.abs(weights).sum(axis=1)
        sound = np.abs(total) > CANCELLED * sizes
        moved = (weights[sound] @ X) / total[sound, None]
        steps = np.abs(moved - Z[active[sound]]).max(axis=1, initial=0)
        Z[active[sound]] = moved
        active = active[sound][steps > TOL * size]
        if not len(active):
            break
    # with weights of both signs a step need not lead upwards
    value = [np.einsum("qm,qm->q", G, kernel.block(A, X)) for A in (first, Z)]
    return np.where((value[1] > value[0])[:, None], Z, first)
