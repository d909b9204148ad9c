"""Kernels of kernels, by the feature maps that the algebra makes of the parts' feature maps."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import kernels as k
from mercer.distances import KernelDistance, Minkowski

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))


def squares(A):
    """The features of <x, z>²."""
    return (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)


def products(A, B):
    """The tensor product of two feature maps."""
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


ONE, TWO = k.Linear(), k.Polynomial(2, 1.0, 0.0)  # with the features x, and x ⊗ x
MAPS = {
    "sum": (ONE + TWO, lambda A: np.c_[A, squares(A)]),
    "multiple": (2.5 * TWO, lambda A: math.sqrt(2.5) * squares(A)),
    "product": (ONE * TWO, lambda A: products(A, squares(A))),
    "power": (TWO**2, lambda A: products(squares(A), squares(A))),
    "polynomial of a kernel": (
        1.0 * TWO**2 + 3.0 * ONE,
        lambda A: np.c_[products(squares(A), squares(A)), math.sqrt(3) * A],
    ),
    "normalised": (
        TWO.normalised(),
        lambda A: squares(A) / np.linalg.norm(squares(A), axis=1)[:, None],
    ),
    "f(x) k f(z)": (
        k.Modulated(TWO, lambda A: 1 + A[:, 0] ** 2),
        lambda A: squares(A) * (1 + A[:, :1] ** 2),
    ),
    "k(g(x), g(z))": (k.Mapped(TWO, lambda A: A[:, :2] + 1), lambda A: squares(A[:, :2] + 1)),
    "convex combination": (
        k.Convex([ONE, TWO], [0.25, 0.75]),
        lambda A: np.c_[0.5 * A, math.sqrt(0.75) * squares(A)],
    ),
    "centred": (k.Centred(TWO, sample=X), lambda A: squares(A) - squares(X).mean(axis=0)),
}


@pytest.mark.parametrize("case", MAPS.values(), ids=MAPS)
def test_the_algebra_by_feature_maps(case):
    kernel, features = case
    assert_allclose(kernel(X, Z), features(X) @ features(Z).T, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("case", MAPS.values(), ids=MAPS)
def test_the_distance_in_feature_space(case):
    """ρ² = k(x, x) + k(z, z) - 2 k(x, z) = |φ(x) - φ(z)|²."""
    kernel, features = case
    wanted = np.linalg.norm(features(X)[:, None] - features(Z)[None], axis=2)
    assert_allclose(KernelDistance(kernel)(X, Z), wanted, rtol=1e-6, atol=1e-6)


def test_exponential_of_a_kernel():
    """exp(k) is the limit of sums of powers of k."""
    K = X @ Z.T
    wanted = sum(K**p / math.factorial(p) for p in range(60))
    assert_allclose(k.Exponential(k.Linear())(X, Z), wanted, rtol=1e-12)


def test_a_tensor_product_over_parts_of_an_object():
    """k((a, b), (c, d)) = k1(a, c) k2(b, d)."""
    kernel = k.On(ONE, [0]) * k.On(TWO, [1, 2])
    wanted = products(X[:, :1], squares(X[:, 1:])) @ products(Z[:, :1], squares(Z[:, 1:])).T
    assert_allclose(kernel(X, Z), wanted, rtol=1e-10)


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_a_factor_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match="factor"):
        (factor * k.Linear())(X)


def test_every_kernel_of_the_algebra_is_positive_semidefinite():
    for kernel, _ in MAPS.values():
        values = np.linalg.eigvalsh(kernel(X))
        assert values.min() > -1e-9 * values.max()
        assert k.check_mercer(kernel, X).positive_definite


def test_the_centred_gram_matrix():
    """K - 1K - K1 + 1K1, with the matrix 1 of entries 1/n."""
    K, one = TWO(X), np.full((6, 6), 1 / 6)
    centred = k.Centred(TWO, sample=X)
    assert_allclose(centred(X), K - one @ K - K @ one + one @ K @ one, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_any_distance_gives_an_exponential(power):
    rho = np.abs(X[:, None] - Z[None]).sum(axis=2)
    kernel = k.FromDistance(Minkowski(1), 0.3, power)
    assert_allclose(kernel(X, Z), np.exp(-0.3 * rho**power), rtol=1e-12)


def test_mercer_fails_where_a_gram_matrix_has_a_negative_eigenvalue():
    """exp(-γ ρ²) of the Manhattan distance is no kernel: some points show it."""
    grid = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=3)))
    kernel = k.FromDistance(Minkowski(1), 0.1, 2.0)
    values = np.linalg.eigvalsh(kernel(grid))
    check = k.check_mercer(kernel, grid)
    assert values[0] < -1e-3
    assert not check.positive_definite
    v = check.offender
    assert_allclose(v @ kernel(grid) @ v / (v @ v), values[0], rtol=1e-6)


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
def test_a_matrix_is_repaired_by_its_spectrum(how):
    A = RNG.normal(size=(5, 5))
    K = A + A.T
    values, Q = np.linalg.eigh(K)
    changed = {"clip": np.maximum(values, 0), "flip": abs(values), "shift": values - values[0]}
    assert_allclose(k.repair(K, how), Q * changed[how] @ Q.T, atol=1e-10)
