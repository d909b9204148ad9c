"""The algebraic Riccati equation: residuals, scipy's solver, geometric means, hostile matrices."""

import warnings

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from mercer.solvers import ConvergenceWarning
from mercer.solvers.eigen import riccati

RNG = np.random.default_rng(0)


def positive(n, rank=None):
    Z = RNG.normal(size=(n, rank or 2 * n))
    return Z @ Z.T / Z.shape[1]


def residual(A, U, Q, G):
    return np.abs(A.T @ G + G @ A - G @ U @ G + Q).max() / np.abs(G @ U @ G).max()


@pytest.mark.parametrize("c", [-3.0, 0.0, 0.5, 40.0])
@pytest.mark.parametrize("n", [1, 2, 17])
def test_the_closed_form_is_scipys_solution(n, c):
    U, Q = positive(n), positive(n)
    G = riccati(c, U, Q)
    assert residual(c * np.eye(n), U, Q, G) < 1e-11
    assert np.array_equal(G, G.T)
    assert np.linalg.eigvalsh(G)[0] > 0
    B = np.linalg.cholesky(U)
    theirs = scipy.linalg.solve_continuous_are(c * np.eye(n), B, Q, np.eye(n))
    assert_allclose(G, theirs, rtol=1e-7, atol=1e-9 * np.abs(G).max())
    assert_allclose(riccati(c * np.eye(n), U, Q), G)


def test_any_matrix_a():
    A, U, Q = RNG.normal(size=(6, 6)), positive(6), positive(6)
    G = riccati(A, U, Q)
    assert residual(A, U, Q, G) < 1e-10
    assert np.linalg.eigvalsh(G)[0] > 0
    assert np.linalg.eigvals(A - U @ G).real.max() < 0


def test_without_a_it_is_the_geometric_mean():
    """U⁻¹ # Q = U^{-1/2} (U^{1/2} Q U^{1/2})^{1/2} U^{-1/2}, by another formula."""
    K, Q = positive(9), positive(9)
    mean = K @ scipy.linalg.sqrtm(np.linalg.solve(K, Q))
    assert_allclose(riccati(0, np.linalg.inv(K), Q), mean, atol=1e-9)


def test_a_negative_a_has_no_cancellation():
    """g = (q / u) / (√(c² + q u) - c): for c = -1e8 the textbook's c + √(c² + q u) is 0."""
    assert_allclose(riccati(-1e8, np.eye(2), np.eye(2)), 5e-9 * np.eye(2), rtol=1e-12)


def test_singular_matrices():
    U, Q = positive(5), positive(5, rank=2)
    assert residual(np.eye(5), U, Q, riccati(1.0, U, Q)) < 1e-11
    assert_allclose(riccati(1.0, U, np.zeros((5, 5))), 2 * np.linalg.inv(U), rtol=1e-9)
    G = riccati(-1.0, positive(5, rank=3), Q)  # U is singular, but A is stable
    assert np.linalg.eigvalsh(G)[0] > -1e-9
    with pytest.raises(ValueError, match="no stabilising solution"):
        riccati(1.0, np.zeros((2, 2)), np.eye(2))


@pytest.mark.parametrize(
    ("A", "U", "Q", "error", "words"),
    [
        (0, -np.eye(2), np.eye(2), ValueError, "U has the negative eigenvalue -1"),
        (0, np.eye(2), np.diag([1.0, -2.0]), ValueError, "Q has the negative eigenvalue -2"),
        (0, np.eye(2), np.eye(3), ValueError, "U is 2 x 2, but Q is 3 x 3"),
        (np.eye(3), np.eye(2), np.eye(2), ValueError, r"A has shape \(3, 3\), wanted \(2, 2\)"),
        (0, np.ones((2, 3)), np.eye(2), ValueError, r"U has shape \(2, 3\): give a square"),
        (0, np.ones(2), np.eye(2), ValueError, "U has shape"),
        (0, np.empty((0, 0)), np.empty((0, 0)), ValueError, "at least one row"),
        (0, np.array([[1.0, np.nan], [np.nan, 1.0]]), np.eye(2), ValueError, r"U\[0, 1\] is nan"),
        (0, np.eye(2), np.diag([np.inf, 1.0]), ValueError, r"Q\[0, 0\] is inf"),
        (np.nan, np.eye(2), np.eye(2), ValueError, "A=nan: give a finite number"),
        (np.diag([np.nan, 1]), np.eye(2), np.eye(2), ValueError, r"A\[0, 0\] is nan"),
        (0, np.array([[1.0, 0.5], [0.0, 1.0]]), np.eye(2), ValueError, "U is not symmetric"),
        ("a", np.eye(2), np.eye(2), TypeError, "A='a'"),
        (0, "many", np.eye(2), TypeError, "U='many'"),
    ],
)
def test_hostile_matrices(A, U, Q, error, words):
    with pytest.raises(error, match=words):
        riccati(A, U, Q)


def test_ill_conditioned_matrices_are_solved_or_reported():
    U = positive(8)
    _, V = np.linalg.eigh(U)
    U = (V * np.logspace(-14, 14, 8)) @ V.T
    U = (U + U.T) / 2
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        G = riccati(0.5, U + 1e-9 * np.abs(U).max() * np.eye(8), positive(8))
    assert np.isfinite(G).all()
    assert all(w.category is ConvergenceWarning and "residual" in str(w.message) for w in seen)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types(dtype):
    G = riccati(1, np.eye(3, dtype=dtype), 3 * np.eye(3, dtype=dtype))
    assert G.dtype == np.float64
    assert_allclose(G, 3 * np.eye(3))
