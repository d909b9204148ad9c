"""The continuous algebraic Riccati equation, which the layers of deep kernel machines solve."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from mercer.samples import Samples, float_array, is_number

ROUNDING = 1e-9  # an eigenvalue below minus this part of the largest one is negative indeed
RESIDUAL = 1e-6  # relative residual from which on a solution is reported


def riccati(A: Any, U: np.ndarray, Q: np.ndarray) -> np.ndarray:
    r"""The stabilising solution G of the continuous algebraic Riccati equation

    .. math:: 0 = A^\top G + G A - G U G + Q.

    Parameters
    ----------
    A : float or array-like of shape (n, n)
        A number c means c I.
    U, Q : array-like of shape (n, n)
        Symmetric and positive semidefinite.

    Returns
    -------
    ndarray of shape (n, n)
        G, symmetric: the solution for which the eigenvalues of A - U G have no positive real part.
        It is positive definite if Q is; it is also for a singular Q if A is c I with c > 0.

    Raises
    ------
    TypeError, ValueError
        For matrices that are not numbers, not finite, of other shapes, not symmetric, or with
        negative eigenvalues; or if there is no such solution.

    Notes
    -----
    For A = c I and an invertible U there is a closed form of two eigendecompositions,

    .. math:: G = U^{-1/2} \left[ c I + (c^2 I + U^{1/2} Q U^{1/2})^{1/2} \right] U^{-1/2},

    which for c = 0 is the geometric mean of :math:`U^{-1}` and Q. Any other equation is solved by
    `scipy.linalg.solve_continuous_are`. Both take O(n³) operations and O(n²) numbers. The
    certificate is the relative residual: a ConvergenceWarning reports one above 1e-6, which
    ill-conditioned matrices have.

    References
    ----------
    Lancaster & Rodman, "Algebraic Riccati Equations", 1995, chapters 7 to 9.

    Examples
    --------
    >>> from mercer.solvers.eigen import riccati
    >>> riccati(1.0, np.eye(2), np.diag([3.0, 8.0]))  # g = 1 + sqrt(1 + q)
    array([[3., 0.],
           [0., 4.]])
    """
    U, Q = _positive("U", U), _positive("Q", Q)
    n = len(U)
    if len(Q) != n:
        raise ValueError(f"U is {n} x {n}, but Q is {len(Q)} x {len(Q)}: give them equal shapes.")
    matrix, c = _checked_a(A, n)
    with np.errstate(all="ignore"):
        values, V = np.linalg.eigh(U)
        if c is not None and values[0] > np.finfo(np.float64).eps * n * max(values[-1], 0):
            G = _closed_form(c, values, V, Q)
        else:
            G = _by_scipy(matrix, values, V, Q)
    G = (G + G.T) / 2
    _check_residual(matrix, U, Q, G)
    return G


def _closed_form(c: float, values: np.ndarray, V: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The solution from the eigenvalues of U, all > 0, and their vectors V."""
    roots = np.sqrt(values)
    half = (V * roots) @ V.T
    q, W = np.linalg.eigh(half @ Q @ half)
    q = np.maximum(q, 0)
    root = np.sqrt(c * c + q)
    # c + sqrt(c² + q), where c < 0 without cancellation
    x = c + root if c >= 0 else np.divide(q, root - c)
    Z = ((V / roots) @ V.T) @ W
    return (Z * x) @ Z.T


def _by_scipy(A: np.ndarray, values: np.ndarray, V: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The solution by the method of Schur vectors."""
    B = V * np.sqrt(np.maximum(values, 0))  # U = B Bᵀ
    try:
        return scipy.linalg.solve_continuous_are(A, B, Q, np.eye(len(A)))
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(
            "The Riccati equation has no stabilising solution for these A, U and Q: make U and Q "
            f"positive definite, for example by adding a small multiple of the identity. ({error})"
        ) from error


def _positive(name: str, M: Samples) -> np.ndarray:
    """A symmetric positive semidefinite matrix of float64, or an error that names it."""
    M = float_array(name, M)
    if M.ndim != 2 or M.shape[0] != M.shape[1] or not M.size:
        raise ValueError(f"{name} has shape {M.shape}: give a square matrix of at least one row.")
    _check_finite(name, M)
    size = float(np.abs(M).max())
    if np.abs(M - M.T).max() > ROUNDING * size:
        raise ValueError(
            f"{name} is not symmetric (entries differ by up to {np.abs(M - M.T).max():.3g}): give "
            f"({name} + {name}.T) / 2 if that is what you mean."
        )
    M = (M + M.T) / 2
    least = float(np.linalg.eigvalsh(M)[0])
    if least < -ROUNDING * max(size, 0) * len(M):
        raise ValueError(
            f"{name} has the negative eigenvalue {least:.3g}: give a positive semidefinite matrix."
        )
    return M


def _checked_a(A: Any, n: int) -> tuple[np.ndarray, float | None]:
    """A as a matrix, and c if it is c I."""
    if is_number(A):
        if not np.isfinite(A):
            raise ValueError(f"A={A!r}: give a finite number, or a matrix.")
        return float(A) * np.eye(n), float(A)
    A = float_array("A", A)
    if A.shape != (n, n):
        raise ValueError(f"A has shape {A.shape}, wanted {(n, n)} as of U, or a number.")
    _check_finite("A", A)
    c = float(A[0, 0])
    return A, c if np.array_equal(A, c * np.eye(n)) else None


def _check_finite(name: str, M: np.ndarray) -> None:
    if not np.isfinite(M).all():
        i, j = np.argwhere(~np.isfinite(M))[0]
        raise ValueError(f"{name}[{i}, {j}] is {M[i, j]}: give finite numbers.")


def _check_residual(A: np.ndarray, U: np.ndarray, Q: np.ndarray, G: np.ndarray) -> None:
    """Warn of a residual that is too large, and refuse one that is not finite."""
    linear, square = A.T @ G, G @ U @ G
    size = 2 * np.linalg.norm(linear) + np.linalg.norm(square) + np.linalg.norm(Q)
    residual = float(np.linalg.norm(linear + linear.T - square + Q))
    if not np.isfinite(residual):
        raise ValueError(
            "The solution of the Riccati equation is not finite: divide A, U and Q by a common "
            "factor, so that their entries are nearer to 1."
        )
    if residual > RESIDUAL * size:
        warnings.warn(
            "The solution of the Riccati equation has the relative residual "
            f"{residual / size:.3g}: A, U or Q are ill-conditioned; add a small multiple of the "
            "identity to U and Q.",
            ConvergenceWarning,
            stacklevel=3,
        )
