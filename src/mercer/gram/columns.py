"""Samples as Gram matrices read them: prepared once for several, or rounded to float32."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer.distances import Minkowski
from mercer.kernels import Kernel, Radial
from mercer.samples import Samples


class Columns:
    """Encoded samples Z for `gram`, whose preparation is kept.

    Predictions compare new samples with the same ones again and again: to prepare these takes
    longer than to compare one sample with them.

    Parameters
    ----------
    kernel : Kernel
        Bound to the training samples.
    samples : encoded samples

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> columns = Columns(RBF(0.5), np.arange(6.0).reshape(3, 2))
    >>> [gram(columns.kernel, x[None], columns).dense().round(2).tolist() for x in np.eye(2)]
    [[[0.37, 0.01, 0.0]], [[1.0, 0.02, 0.0]]]
    """

    def __init__(self, kernel: Any, samples: Any):
        self.kernel, self.samples = kernel, samples

    @cached_property
    def prepared(self) -> Any:
        """What the kernel's blocks read of the samples."""
        return self.kernel.prepare(self.samples)

    def are(self, kernel: Kernel, samples: Samples) -> bool:
        """Whether they are these very samples, as this very kernel reads them."""
        return kernel is self.kernel and samples is self.samples


def in_single_precision(kernel: Kernel, X: Samples, error: float = 1e-5) -> Any:
    """Centred samples in float32 if the kernel's error on them is at most ``error``, else X.

    Parameters
    ----------
    kernel : Kernel
        The kernel, bound to the training samples.
    X : encoded samples
    error : float
        Largest absolute error of a kernel value.

    Notes
    -----
    Only for radial kernels of the Euclidean distance, which do not change if samples are centred;
    other kernels keep X. With norms up to R and unit rounding u, ‖x‖² + ‖z‖² - 2<x, z> has an
    error of about 8 u R² (sums of d terms have rounding errors of order √d, and the factor 8 is
    enough for d in the thousands). The kernel's error is this times its largest slope.

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
    # profiles are steepest at 0, but distances below the rounding error are not resolved
    slope = abs(float(kernel.profile_derivative(np.array([max(rounding, 1e-300)]))[0]))
    return centred.astype(np.float32) if slope * rounding <= error else X
