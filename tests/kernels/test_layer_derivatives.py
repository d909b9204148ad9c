"""Derivatives of layers by differences, and the pull-back of gradients through them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.deep.propagation import kernel_of, pull_back
from mercer.kernels import (
    RBF,
    ArcCosine,
    Laplacian,
    Linear,
    NeuralNetworkGP,
    NeuralTangent,
    NormalisedGaussian,
    Polynomial,
    RationalQuadratic,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 5))
G = X @ X.T
LAYERS = [
    Linear(),
    Polynomial(1, 0.5),
    Polynomial(3, 0.2, 0.7),
    RBF(0.5),
    RBF(0.08),
    RationalQuadratic(0.7, 1.3),
    ArcCosine(1),
    ArcCosine(2),
    NormalisedGaussian(),
]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_each_derivative_by_differences(layer):
    C, a = RNG.normal(size=(4, 3)), RNG.uniform(4, 6, size=4)
    b, h = RNG.uniform(4, 6, size=3), 1e-5

    def slope(C_step, a_step, b_step):
        up = layer.of_gram(C + C_step, a + a_step, b + b_step)
        return (up - layer.of_gram(C - C_step, a - a_step, b - b_step)) / (2 * h)

    by_c, by_a, by_b = layer.gram_derivatives(C, a, b)
    assert_allclose(by_c, slope(h, 0, 0), atol=1e-7)
    assert_allclose(by_a, slope(0, h, 0), atol=1e-7)
    assert_allclose(by_b, slope(0, 0, h), atol=1e-7)
    wanted = (layer.of_diag(a + h) - layer.of_diag(a - h)) / (2 * h)
    assert_allclose(layer.diag_derivative(a), wanted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_derivatives_in_float32(layer):
    """They keep the precision, and are those of float64 to its rounding."""
    C, a, b = RNG.normal(size=(4, 3)), RNG.uniform(4, 6, size=4), RNG.uniform(4, 6, size=3)
    single = [v.astype(np.float32) for v in (C, a, b)]
    for ours, wanted in zip(layer.gram_derivatives(*single), layer.gram_derivatives(C, a, b)):
        assert ours.dtype == np.float32
        assert_allclose(ours, wanted, rtol=2e-5, atol=2e-5 * np.abs(wanted).max())
    found = layer.diag_derivative(single[1])
    assert found.dtype == np.float32
    assert_allclose(found, layer.diag_derivative(a), rtol=1e-5)
    D = RNG.normal(size=(12, 12))
    D, H = D + D.T, G + np.eye(12)
    back = pull_back(layer, D.astype(np.float32), H.astype(np.float32))
    wanted = pull_back(layer, D, H)
    assert back.dtype == np.float32
    assert_allclose(back, wanted, atol=2e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_the_pull_back_is_the_derivative(layer):
    D, E = RNG.normal(size=(2, 12, 12))
    D, E = D + D.T, E + E.T
    H = G + np.eye(12)  # where the arc-cosine has no kink
    h = 1e-6
    wanted = np.sum(D * (kernel_of(layer, H + h * E) - kernel_of(layer, H - h * E))) / (2 * h)
    assert_allclose(np.sum(pull_back(layer, D, H) * E), wanted, rtol=1e-5)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_kernel_matrices_and_those_of_vectors(layer):
    assert_allclose(kernel_of(layer, G), layer(X), rtol=1e-9)


def test_the_squared_exponentials_pull_back_in_closed_form():
    """M - diag(M 1) for M = D o K."""
    D = RNG.normal(size=(12, 12))
    D = D + D.T
    M = D * kernel_of(RBF(0.5), G / 5)
    assert_allclose(pull_back(RBF(0.5), D, G / 5), M - np.diag(M.sum(axis=1)), atol=1e-12)


def test_the_normalised_gaussian_is_the_gaussian_of_directions():
    norms = np.linalg.norm(X, axis=1)
    wanted = np.outer(norms, norms) * RBF(0.5)(X / norms[:, None])
    assert_allclose(NormalisedGaussian()(X), wanted)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_rows_of_zeros_and_equal_rows(layer):
    Z = np.vstack([np.zeros((2, 5)), X[:1], X[:1], -X[:1]])
    H = Z @ Z.T
    K = kernel_of(layer, H)
    assert np.isfinite(K).all()
    assert_allclose(K[2, 3], K[2, 2], rtol=1e-6)
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.trace(K)
    assert np.isfinite(pull_back(layer, np.ones((5, 5)), H)).all()


@pytest.mark.parametrize(
    "layer",
    [ArcCosine(0), ArcCosine(1, 2), NeuralNetworkGP(), NeuralTangent(), Laplacian()],
    ids=str,
)
def test_layers_without_derivatives_say_so(layer):
    assert not layer.differentiable
    g = G.diagonal().copy()
    with pytest.raises(TypeError, match="has no derivatives: give a layer that has"):
        layer.gram_derivatives(G, g, g)
    with pytest.raises(TypeError, match="has no derivatives of its diagonal"):
        layer.diag_derivative(g)


def test_matrices_that_are_not_finite():
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        kernel_of(RBF(0.5), np.full((2, 2), np.inf))
