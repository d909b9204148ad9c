"""Sums of K in place of those of F = K L⁻ᵀ, and when they are exact enough."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import cholesky, solve_triangular

from mercer.kernels import RBF
from mercer.solvers.ridge import RidgeSums, products_serve

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 1, (500, 5)), RNG.normal(size=(500, 2))
WEIGHTS = RNG.integers(0, 3, 500).astype(float)
PENALTY = 0.1


def factor(gamma):
    """K between rows and 40 centres, and L."""
    K = RBF(gamma)(X, X[:40])
    return K, cholesky(K[:40] + 1e-12 * np.eye(40), lower=True)


def sums_of(F, weights):
    sums = RidgeSums(40, 2)
    for rows in (slice(0, 130), slice(130, 500)):
        sums.add(F[rows], Y[rows], None if weights is None else weights[rows])
    return sums


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_whitened_sums_are_those_of_the_features(weights):
    K, L = factor(0.5)
    assert products_serve(L, 500, PENALTY)
    found = sums_of(K, weights).whitened(L)
    F = solve_triangular(L, K.T, lower=True).T
    expected = sums_of(F, weights)
    for name, value in vars(expected).items():
        assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-9)
    one, other = (s.factorise().solve(PENALTY).coef for s in (found, expected))
    assert_allclose(F @ one, F @ other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("gamma", np.geomspace(1e-4, 1, 9))
def test_where_products_serve_solutions_agree(gamma):
    """And they do not serve where centres are nearly the same."""
    K, L = factor(gamma)
    F = solve_triangular(L, K.T, lower=True).T
    found, expected = (
        s.factorise().solve(PENALTY).coef for s in (sums_of(K, None).whitened(L), sums_of(F, None))
    )
    if products_serve(L, 500, PENALTY):
        assert_allclose(F @ found, F @ expected, rtol=1e-4, atol=1e-5)
    assert products_serve(L, 500, PENALTY) == (gamma > 0.01)


def test_products_do_not_serve_without_a_penalty_or_in_few_digits():
    _, L = factor(0.5)
    assert not products_serve(L, 500, 0.0)
    assert not products_serve(L, 1e12, PENALTY)
    assert not products_serve(L.astype(np.float32), 500, PENALTY)
