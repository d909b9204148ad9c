"""Layers of Gram matrices: values by another formula, and every derivative by differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.deep import (
    AffineLayer,
    ArcCosineLayer,
    LinearLayer,
    NormalisedGaussianLayer,
    SquaredExponentialLayer,
)
from mercer.kernels import RBF

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 5))
G = X @ X.T
LAYERS = [
    LinearLayer(),
    SquaredExponentialLayer(),
    SquaredExponentialLayer(2.5),
    ArcCosineLayer(),
    NormalisedGaussianLayer(),
    AffineLayer(ArcCosineLayer(), 0.7, 0.2),
    AffineLayer(AffineLayer(SquaredExponentialLayer(), 2.0), 3.0, 1.0),
]


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_kernel_matrices_are_positive_and_their_parts_agree(layer):
    K, g = layer.kernel(G), G.diagonal()
    assert_allclose(K, K.T, rtol=1e-13)
    assert np.linalg.eigvalsh(K)[0] > -1e-9
    assert_allclose(K.diagonal(), layer.diagonal(g))
    off = ~np.eye(12, dtype=bool)
    assert_allclose(layer.values(G, g, g)[off], K[off])
    # the formula on the diagonal itself, but for the root of rounding
    assert_allclose(layer.values(G, g, g).diagonal(), K.diagonal(), rtol=1e-6)
    assert_allclose(layer.values(G[:3], g[:3], g), K[:3], rtol=1e-6)
    assert_allclose(layer.values(G[:, :3], g, g[:3]), layer.values(G[:3], g[:3], g).T)


def test_the_squared_exponential_is_the_gaussian_kernel():
    assert_allclose(SquaredExponentialLayer(2.0).kernel(G), RBF(1 / 8)(X), rtol=1e-12)


def test_the_arc_cosine_is_the_covariance_of_rectified_units():
    W = RNG.normal(size=(5, 400_000))
    units = np.maximum(X[:3] @ W, 0)
    K = ArcCosineLayer().kernel(G[:3, :3])
    assert_allclose(2 * units @ units.T / W.shape[1], K, atol=0.05 * np.abs(K).max())


def test_the_normalised_gaussian_keeps_norms():
    K = NormalisedGaussianLayer().kernel(G)
    assert_allclose(K.diagonal(), G.diagonal())
    norms = np.linalg.norm(X, axis=1)
    gaps = np.square(X[0] / norms[0] - X[1] / norms[1]).sum()
    assert_allclose(K[0, 1], norms[0] * norms[1] * np.exp(-gaps / 2))


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_the_pull_back_is_the_derivative(layer):
    D, E = RNG.normal(size=(2, 12, 12))
    D, E = D + D.T, E + E.T
    H = G + np.eye(12)  # where the arc-cosine has no kink
    h = 1e-6
    wanted = np.sum(D * (layer.kernel(H + h * E) - layer.kernel(H - h * E))) / (2 * h)
    assert_allclose(np.sum(layer.pull_back(D, H) * E), wanted, rtol=1e-6)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_each_derivative_by_differences(layer):
    C, a = RNG.normal(size=(4, 3)), RNG.uniform(4, 6, size=4)
    b, h = RNG.uniform(4, 6, size=3), 1e-6
    by_c, by_a, by_b = layer.derivatives(C, a, b)

    def slope(C_step, a_step, b_step):
        up = layer.values(C + C_step, a + a_step, b + b_step)
        return (up - layer.values(C - C_step, a - a_step, b - b_step)) / (2 * h)

    assert_allclose(by_c, slope(h, 0, 0), atol=1e-8)
    assert_allclose(by_a, slope(0, h, 0), atol=1e-8)
    assert_allclose(by_b, slope(0, 0, h), atol=1e-8)
    wanted = (layer.diagonal(a + h) - layer.diagonal(a - h)) / (2 * h)
    assert_allclose(layer.diagonal_derivative(a), wanted, atol=1e-8)


def test_the_squared_exponentials_pull_back_in_closed_form():
    """M - diag(M 1) for M = D o K."""
    D = RNG.normal(size=(12, 12))
    D = D + D.T
    layer = SquaredExponentialLayer()
    M = D * layer.kernel(G / 5)
    assert_allclose(layer.pull_back(D, G / 5), M - np.diag(M.sum(axis=1)), atol=1e-12)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_rows_of_zeros_and_equal_rows(layer):
    Z = np.vstack([np.zeros((2, 5)), X[:1], X[:1], -X[:1]])
    H = Z @ Z.T
    K = layer.kernel(H)
    assert np.isfinite(K).all()
    assert_allclose(K[2, 3], K[2, 2], rtol=1e-6)
    assert np.linalg.eigvalsh(K)[0] > -1e-6
    assert np.isfinite(layer.pull_back(np.ones((5, 5)), H)).all()


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (SquaredExponentialLayer(0.0), "length_scale=0.0"),
        (SquaredExponentialLayer("wide"), "length_scale='wide'"),
        (AffineLayer(LinearLayer(), -1.0), "weight=-1.0"),
        (AffineLayer(LinearLayer(), 1.0, -0.5), "bias=-0.5"),
        (AffineLayer(SquaredExponentialLayer(np.nan)), "length_scale=nan"),
    ],
)
def test_wrong_parameters(layer, words):
    with pytest.raises(ValueError, match=words):
        layer.validate()
    with pytest.raises(TypeError, match=r"give a layer of mercer\.deep"):
        AffineLayer("linear").validate()
