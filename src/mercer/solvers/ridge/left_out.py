"""Kernel ridge regression with its leave-one-out errors, for a metric that is learnt from them.

One Cholesky factorisation of a dense K and one triangular inverse, in K's precision and without
refinement: what a search compares needs few digits. `mercer.solvers.CholeskySolver` is for the
machine that is kept, and learners/ridge/penalty.py chooses the penalties of learners.
"""

from __future__ import annotations

import numpy as np

from mercer.gram import cholesky_factor, inverse_diagonal, solve_factored


def left_out_fit(
    K: np.ndarray, y: np.ndarray, penalty: float, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Coefficients of :math:`(K + λ W^{-1}) a = y`, and each row's error when it is left out.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric positive semidefinite. It is not changed.
    y : ndarray of shape (n, outputs)
    penalty : float > 0
        λ.
    weights : ndarray of shape (n,), optional
        Weights of the rows, > 0, which mean repetition.

    Returns
    -------
    coef, errors : ndarray of shape (n, outputs)
        a, and :math:`y_i - f_{-i}(x_i) = a_i / [(K + λ W^{-1})^{-1}]_{ii}`, where a row
        is left out with all its copies (Rasmussen & Williams 2006, eq. 5.12).

    Raises
    ------
    LinAlgError
        K + λ W⁻¹ is not positive definite in K's precision: λ is too small for it.

    Examples
    --------
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> a, errors = left_out_fit(K, np.array([[2.5], [4.5]]), penalty=1.0)
    >>> a.ravel().round(4), errors.ravel()
    (array([0.7333, 2.0667]), array([1.375, 3.875]))
    """
    # with s = √w and z = a / s the system is (s K sᵀ + λ I) z = s y, well conditioned for any w
    A = np.array(K, order="C")
    s = None if weights is None else np.sqrt(weights).astype(K.dtype)[:, None]
    if s is not None:
        A *= s
        A *= s.T
    A.flat[:: len(A) + 1] += K.dtype.type(penalty)
    A = A.T  # the same matrix in the other order, as LAPACK reads it
    if not cholesky_factor(A):
        raise np.linalg.LinAlgError("K + λ W⁻¹ is not positive definite in this precision")
    z = solve_factored(A, y if s is None else s * y)
    errors = z / inverse_diagonal(A).astype(K.dtype)[:, None]
    return (z, errors) if s is None else (s * z, errors / s)
