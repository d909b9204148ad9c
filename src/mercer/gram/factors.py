"""Factors of a Gram matrix: what solves linear systems with it, where it lives.

`LapackFactor` is that of every matrix in this machine's memory. An operator that lives elsewhere
returns one of its own from `GramOperator.factorise`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.linalg

from mercer.gram.lapack import cholesky_factor, inverse_diagonal, solve_factored
from mercer.threads import blas_limit, ordered_map

STRIP = 64  # columns of a matrix whose absolute values are summed at a time


class GramFactor(ABC):
    """A factorisation of a positive definite K + shift I. Abstract."""

    @abstractmethod
    def solve(self, B: np.ndarray) -> np.ndarray:
        """(K + shift I)⁻¹ B for B of shape (n, k), in float64."""

    @abstractmethod
    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of (K + shift I)⁻¹, (n,), in float64."""


class LapackFactor(GramFactor):
    """A = L Lᵀ by Cholesky's method, in the memory of A.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric, in Fortran order; its lower triangle is overwritten by L.
    n_jobs : int or None
        Threads.

    Raises
    ------
    LinAlgError
        A is not positive definite to its precision, or in float64 singular to it. How well a factor
        of float32 serves is seen by the residuals of those who use it.
    """

    def __init__(self, A: np.ndarray, n_jobs: int | None = 1):
        wide = A.dtype == np.float64
        norm = _largest_sum(A, n_jobs) if wide else 0.0
        if cholesky_factor(A, n_jobs):
            self.L = A
            if not wide:
                return
            (pocon,) = scipy.linalg.get_lapack_funcs(("pocon",), (A,))
            with blas_limit(0):  # solutions for single columns are no work for threads
                reciprocal_condition, _ = pocon(A, norm, uplo="L")
            if reciprocal_condition > 4 * np.finfo(A.dtype).eps:
                return
        raise np.linalg.LinAlgError(
            f"the matrix is singular to the precision of {A.dtype}, or not positive definite"
        )

    def solve(self, B: np.ndarray) -> np.ndarray:
        return solve_factored(self.L, B).astype(np.float64)

    def inverse_diagonal(self) -> np.ndarray:
        return inverse_diagonal(self.L)


def _largest_sum(A: np.ndarray, n_jobs: int | None) -> float:
    """The largest sum of the absolute values of a column, by strips: |A| is another matrix."""

    def strip(s: int) -> float:
        return float(np.abs(A[:, s : s + STRIP]).sum(axis=0).max())

    return max(ordered_map(strip, range(0, len(A), STRIP), n_jobs), default=0.0)


def eigenpairs(A: np.ndarray, in_place: bool) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n,), ascending, and eigenvectors (n, n) of a symmetric A, which is overwritten.

    ``in_place`` is slower, but needs no other matrix; otherwise two more than A are needed.
    """
    refuse_overflow(A)
    driver = "ev" if in_place else "evd"  # the QR method, or divide and conquer
    return scipy.linalg.eigh(A, overwrite_a=True, check_finite=False, driver=driver)


def refuse_overflow(A: np.ndarray) -> None:
    """Raise LinAlgError if a matrix that is to be factorised has NaN or infinity.

    LAPACK may not return from one.
    """
    if not np.isfinite(A).all():
        raise np.linalg.LinAlgError(
            "K, weighted by the rows' weights, has NaN or infinity: the samples or the weights are "
            f"too large for {A.dtype}. Scale them, or normalise the kernel."
        )
