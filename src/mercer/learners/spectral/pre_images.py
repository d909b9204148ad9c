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
STARTS = 3  # training samples of the best values from which an iteration begins
PAIRS = 2**21  # pairs of wanted and training samples at a time
CANCELLED = 1e-6  # a sum of weights below this part of their sizes says nothing


def has_fixed_points(kernel: Kernel) -> bool:
    """Whether a kernel is a function of the Euclidean distance."""
    if not (isinstance(kernel, Radial) and isinstance(kernel.distance, Minkowski)):
        return False
    return kernel.distance.p == 2 and kernel.distance.exponent == 2


def fixed_points(kernel: Radial, X: np.ndarray, G: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The pre-images of Σ_i G_qi φ(x_i), (q, d).

    Parameters
    ----------
    kernel : Radial
        A function of the Euclidean distance.
    X : ndarray of shape (m, d)
    G : ndarray of shape (q, m)
    starts : ndarray of shape (q, s)
        The rows of X from which each begins; the best of them is the answer where nothing better is
        found.
    """
    mean = X.mean(axis=0)  # distances are more exact near the origin
    X, out = X - mean, np.empty((len(G), X.shape[1]), X.dtype)
    step = max(1, PAIRS // max(len(X), 1))
    for s in range(0, len(G), step):
        part = slice(s, s + step)
        wanted = G[part].astype(X.dtype, copy=False)
        points = [P for rows in starts[part].T for P in _iterate(kernel, X, wanted, X[rows])]
        values = [np.einsum("qm,qm->q", wanted, kernel.block(P, X)) for P in points]
        best = np.argmax(values, axis=0)  # with weights of both signs a step need not lead upwards
        out[part] = np.stack(points)[best, np.arange(len(best))]
    return out + mean


def _iterate(
    kernel: Radial, X: np.ndarray, G: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where the iterations begin, and where they end."""
    size = float(np.abs(X).max(initial=0)) or 1.0
    active, Z = np.arange(len(first)), first.copy()
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
    return first, Z
