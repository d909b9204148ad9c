"""Leave-one-out errors of a search, against fits without each row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import cholesky_factor, inverse_diagonal
from mercer.kernels import RBF
from mercer.solvers.ridge.cholesky import left_out_fit

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(size=(40, 3))
K = RBF(0.5)(X)
WEIGHTS = RNG.integers(1, 4, 40).astype(float)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_are_those_of_fits_without_the_row(weights, dtype):
    w = np.ones(40) if weights is None else weights
    coef, errors = left_out_fit(K.astype(dtype), Y.astype(dtype), 0.3, weights)
    assert coef.dtype == errors.dtype == dtype
    tol = 1e-4 if dtype == np.float32 else 1e-10
    assert_allclose(coef, np.linalg.solve(K + np.diag(0.3 / w), Y), rtol=tol, atol=tol)
    for i in range(0, 40, 7):
        rest = np.arange(40) != i
        a = np.linalg.solve(K[rest][:, rest] + np.diag(0.3 / w[rest]), Y[rest])
        assert_allclose(errors[i], Y[i] - K[i, rest] @ a, rtol=tol, atol=tol)


def test_a_penalty_that_is_too_small_is_said():
    same = np.ones((30, 30), np.float32)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        left_out_fit(same, np.ones((30, 1), np.float32), 1e-12)


@pytest.mark.parametrize("n", [1, 2, 511, 512, 513, 1100])
def test_the_diagonal_of_an_inverse(n):
    A = RNG.normal(size=(n, n))
    A = np.asfortranarray(A @ A.T + n * np.eye(n))
    expected = np.linalg.inv(A).diagonal()
    assert cholesky_factor(A)
    A += np.triu(np.full((n, n), np.nan), 1)  # what lies above the factor is never read
    assert_allclose(inverse_diagonal(np.asfortranarray(A)), expected, rtol=1e-10)
