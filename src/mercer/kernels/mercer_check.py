"""Test Mercer's condition on a sample: is its Gram matrix positive semidefinite?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.radial import evenly
from mercer.samples import describe, float_array


@dataclass(frozen=True)
class MercerCheck:
    """The result of `check_mercer` on one sample.

    Attributes
    ----------
    positive_definite : bool
        Whether the Gram matrix is symmetric and its smallest eigenvalue is at least -tolerance
        times the largest. A sample can show that this is False for a kernel, but it cannot prove
        that it is always True.
    symmetric : bool
        Whether the Gram matrix is symmetric.
    eigenvalues : ndarray of shape (n,)
        The eigenvalues of the Gram matrix, in descending order.
    tolerance : float
        The tolerance that was used, relative to the largest eigenvalue.
    offender : ndarray of shape (n,) or None
        If the smallest eigenvalue is negative: coefficients c of length 1 with cᵀKc equal to it.
        Otherwise None.
    gram : ndarray of shape (n, n)
        The matrix that was checked.

    Examples
    --------
    >>> from mercer.kernels import Sigmoid
    >>> check = check_mercer(Sigmoid(coef0=-1.0), [[0.0], [1.0], [2.0]])
    >>> bool(np.isclose(check.offender @ check.gram @ check.offender, check.eigenvalues[-1]))
    True
    """

    positive_definite: bool
    symmetric: bool
    eigenvalues: np.ndarray
    tolerance: float
    offender: np.ndarray | None
    gram: np.ndarray

    def __str__(self) -> str:
        n = len(self.eigenvalues)
        if not self.symmetric:
            return f"Not symmetric on {n} samples, so this is not a Mercer kernel."
        smallest, largest = self.eigenvalues[-1], self.eigenvalues[0]
        spectrum = f"eigenvalues from {smallest:.3g} to {largest:.3g} on {n} samples"
        if self.positive_definite:
            return f"No violation found: {spectrum}."
        negative = int((self.eigenvalues < -self.tolerance * abs(largest)).sum())
        return (
            f"Not positive semidefinite: {spectrum}, {negative} of them negative. "
            "repair(check.gram, ...) clips, flips or shifts the spectrum."
        )


def check_mercer(
    kernel: Kernel, X: Any, *, max_samples: int = 1000, tolerance: float | None = None
) -> MercerCheck:
    """Test on a sample whether a kernel's Gram matrix is symmetric positive semidefinite.

    Parameters
    ----------
    kernel : Kernel
    X : raw samples of the kernel's kind
    max_samples : int, default=1000
        The most rows that are used, evenly spaced among all: the check costs O(n³).
    tolerance : float, optional
        How negative an eigenvalue may be, relative to the largest. None means n times the machine
        precision of the dtype.

    Returns
    -------
    MercerCheck

    Examples
    --------
    >>> from mercer.kernels import RBF, Sigmoid
    >>> X = [[0.0], [1.0], [2.0]]
    >>> print(check_mercer(RBF(), X))
    No violation found: eigenvalues from 0.489 to 1.53 on 3 samples.
    >>> check_mercer(Sigmoid(coef0=-1.0), X).positive_definite
    False
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel is {describe(kernel)}: give a kernel object of mercer.kernels.")
    X = kernel.encode(X)
    X = evenly(X, max_samples)
    kernel = kernel.bind(X)
    K = kernel.block(X, X)
    if not np.isfinite(K).all():
        raise ValueError(
            f"The Gram matrix of {kernel!r} holds values that are not finite: scale the samples "
            "down, or normalise the kernel."
        )
    scale = np.abs(K).max()
    if tolerance is None:
        tolerance = len(K) * float(np.finfo(K.dtype).eps)
    symmetric = bool(np.abs(K - K.T).max() <= tolerance * max(scale, np.finfo(K.dtype).tiny))
    values, vectors = np.linalg.eigh(((K + K.T) / 2).astype(np.float64))
    definite = symmetric and values[0] >= -tolerance * abs(values[-1])
    offender = vectors[:, 0] if values[0] < -tolerance * abs(values[-1]) else None
    return MercerCheck(bool(definite), symmetric, values[::-1], tolerance, offender, K)


def repair(K: np.ndarray, how: str = "clip") -> np.ndarray:
    """Make an indefinite symmetric matrix positive semidefinite.

    Parameters
    ----------
    K : ndarray of shape (n, n), symmetric
    how : {"clip", "flip", "shift"}, default="clip"
        What to do with negative eigenvalues: "clip" sets them to 0, "flip" takes their absolute
        values, and "shift" adds the same number to all eigenvalues until none is negative (which
        changes only the diagonal of K).

    Raises
    ------
    ValueError
        K is not square, not symmetric, or holds NaN or infinity.

    Examples
    --------
    >>> repair(np.array([[0.0, 1.0], [1.0, 0.0]]), "clip")
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    single = getattr(K, "dtype", None) == np.float32
    K = float_array("K", K).astype(np.float32 if single else np.float64, copy=False)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"K has shape {K.shape}: give a square matrix.")
    if not np.isfinite(K).all():
        raise ValueError("K holds NaN or infinity: give finite numbers.")
    gap = np.abs(K / 2 - K.T / 2)
    if gap.max(initial=0) > len(K) * np.finfo(K.dtype).eps * np.abs(K).max(initial=0):
        i, j = np.unravel_index(gap.argmax(), K.shape)
        raise ValueError(
            f"K is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} but K[{j}, {i}] = {K[j, i]:.6g}. If "
            "the difference means nothing, give (K + K.T) / 2."
        )
    values, U = np.linalg.eigh((K + K.T) / 2)
    if how == "clip":
        values = np.maximum(values, 0)
    elif how == "flip":
        values = np.abs(values)
    elif how == "shift":
        return (K + K.T) / 2 + max(0, -values[0]) * np.eye(len(K), dtype=K.dtype)
    else:
        raise ValueError(f'how={how!r}: give "clip", "flip" or "shift".')
    return (U * values) @ U.T
