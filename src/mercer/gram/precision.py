"""Which samples may be compared in float32, though they came in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances import Minkowski
from mercer.kernels import Kernel
from mercer.kernels.base import Radial

__all__ = ["in_single_precision"]


def in_single_precision(kernel: Kernel, X: Any, error: float = 1e-5) -> Any:
    """Samples in float32 on which the kernel is within ``error`` of its values on X, else X.

    Parameters
    ----------
    kernel : Kernel
        Bound.
    X : encoded samples
    error : float
        Absolute.

    Notes
    -----
    For radial kernels of the Euclidean distance, which centred samples leave as they are. With
    norms up to R and unit rounding u, ‖x‖² + ‖z‖² - 2<x, z> is off by about 8 u R² (sums of d
    terms round like √d, and 8 covers d up to thousands), and the kernel by its largest slope times
    that. Other kernels keep X.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5]])
    >>> in_single_precision(RBF(1.0), X).dtype, in_single_precision(RBF(1e4), X).dtype
    (dtype('float32'), dtype('float64'))
    """
    if not (isinstance(X, np.ndarray) and X.dtype == np.float64 and len(X)):
        return X
    if not (isinstance(kernel, Radial) and isinstance(kernel.distance, Minkowski)):
        return X
    if kernel.distance.p != 2 or kernel.distance.weights is not None:
        return X
    centred = X - X.mean(axis=0)
    square = float(np.einsum("ij,ij->i", centred, centred).max())
    if not square < np.finfo(np.float32).max / 8:
        return X
    rounding = 8 * np.finfo(np.float32).eps * square
    # profiles fall steepest at the origin: nearer to it than the rounding nothing is resolved
    slope = abs(float(kernel.profile_derivative(np.array([max(rounding, 1e-300)]))[0]))
    return centred.astype(np.float32) if slope * rounding <= error else X
