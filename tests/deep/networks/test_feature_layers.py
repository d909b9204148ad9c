"""Layers of kernel features: inner products are the kernels, and blocks hold what they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from mercer.deep import (  # noqa: E402
    ArcCosineFeatures,
    FourierFeatures,
    NeuralKernelBlock,
    NeuralKernelNetwork,
    NystroemFeatures,
    PooledScales,
)
from mercer.distances import Mahalanobis, Minkowski  # noqa: E402
from mercer.gram.on_torch import torch_threads  # noqa: E402
from mercer.kernels import (  # noqa: E402
    RBF,
    ArcCosine,
    ChiSquared,
    ExponentialPower,
    Laplacian,
    Matern,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from mercer.learners.features.random_features import frequencies, positive_stable, stable  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))
WEIGHTED = Minkowski(2, weights=[0.5, 2.0, 0.0])
RADIAL = [
    RBF(0.3), RBF(0.3, WEIGHTED), RBF(0.5, Mahalanobis()), Laplacian(0.7),
    Laplacian(0.7, Minkowski(2)), Laplacian(0.4, Minkowski(1.5)), ExponentialPower(2.0, 0.6),
    ExponentialPower(3.0, 1.5), ExponentialPower(3.0, 0.5, Minkowski(1)),
    ExponentialPower(2.0, 1.0, Minkowski(1.0)), ExponentialPower(2.0**0.8, 0.8, Minkowski(1.6)),
    RationalQuadratic(0.7, 1.3),
    RationalQuadratic(0.7, 1.3, WEIGHTED), Matern(0.5), Matern(1.5, 2.0), Matern(2.5),
    Matern(0.8), Matern(np.inf, 1.4), Matern(0.5, 2.0, Minkowski(1)), 2.5 * RBF(0.2),
]  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        yield


def shown(kernel):
    return " ".join(repr(kernel).split())


@pytest.mark.parametrize("kernel", RADIAL, ids=shown)
def test_fourier_features_have_the_kernel_as_inner_product(kernel):
    bound = kernel.bind(X)
    layer = FourierFeatures(3, bound, 40_000, random_state=0)
    phi = layer(torch.tensor(X, dtype=torch.float32)).detach().numpy()
    wanted = kernel(X)
    assert_allclose(phi @ phi.T, wanted, atol=0.02 * wanted.max())
    assert_allclose(np.sum(phi**2, axis=1), bound.diag(X), rtol=1e-4)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_the_length_scale_divides_the_rows(scale):
    x = torch.tensor(X)
    layer = FourierFeatures(3, RBF(0.5), 50, length_scale=scale, random_state=0).double()
    unit = FourierFeatures(3, RBF(0.5), 50, random_state=0).double()
    assert_allclose(layer(x).detach(), unit(x / scale).detach(), atol=1e-6)
    layer.set_scale(x)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(12, 1)]
    median = np.sort(D)[(len(D) - 1) // 2]  # as torch has it
    assert_allclose(float(layer.log_scale.detach()), np.log(median))
    layer.set_scale(x[:1])
    assert float(layer.log_scale.detach()) == 0


@pytest.mark.parametrize("alpha", [0.3, 0.7, 1.0, 1.5, 2.0])
def test_stable_laws_by_their_transforms(alpha):
    rng = np.random.RandomState(0)
    s = stable(alpha, 100_000, rng)
    for u in (0.3, 1.0, 2.0):
        assert abs(np.cos(u * s).mean() - np.exp(-(u**alpha))) < 0.01
    if alpha <= 1:
        t = positive_stable(alpha, 100_000, rng)
        for u in (0.3, 1.0, 2.0):
            assert abs(np.exp(-u * t).mean() - np.exp(-(u**alpha))) < 0.01


@pytest.mark.parametrize(
    ("kernel", "says"),
    [(Polynomial(2), "layer=.*RBF"), (ChiSquared(), "layer="), (ArcCosine(0), "layer="),
     (RBF("median"), 'gamma=.median.*number'), (RBF(1.0, Minkowski(1)), "layer="),
     (Matern(1.5, metric=Minkowski(1)), "layer="), (Spectrum(2), "layer="),
     (RBF(1.0, Minkowski(2, weights=[1.0, 2.0])), "2 columns, but here are 3")],
    ids=shown,
)  # fmt: skip
def test_kernels_without_random_frequencies_are_named(kernel, says):
    with pytest.raises(ValueError, match=says):
        frequencies(kernel, 3, 5, np.random.RandomState(0), "layer")


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_arc_cosine_features_have_the_kernel_as_inner_product(degree):
    layer = ArcCosineFeatures(3, degree, 200_000, random_state=0)
    phi = layer(torch.tensor(X, dtype=torch.float32)).detach().numpy()
    wanted = ArcCosine(degree)(X)
    assert_allclose(phi @ phi.T, wanted, atol=0.03 * wanted.max())


def test_nystroem_features_are_exact_at_their_centres():
    words = ["abba", "baab", "cddc", "abba", "", "abcd"]
    layer = NystroemFeatures(Spectrum(2), words, random_state=0)
    phi = layer(words).numpy()
    assert phi.shape == (6, 4)  # a word twice, and one without pairs of letters
    assert_allclose(phi @ phi.T, Spectrum(2)(words), atol=1e-5)
    few = NystroemFeatures(Spectrum(2), words, 2, random_state=0)
    assert few(words).shape[1] <= 2
    other = ["ab", "zz", ""]
    assert_allclose(layer(other).numpy() @ phi.T, Spectrum(2)(other, words), atol=1e-5)


def test_nystroem_features_do_not_depend_on_the_order_of_the_centres():
    first = NystroemFeatures(RBF(0.5), X, random_state=0)(X).numpy()
    second = NystroemFeatures(RBF(0.5), X[::-1].copy(), random_state=1)(X).numpy()
    assert_allclose(first, second, atol=1e-4)


@pytest.mark.parametrize("pooling", ["average", "maxout", "convolution"])
def test_pooling_by_its_definition(pooling):
    x = torch.tensor(X, dtype=torch.float32)
    features = FourierFeatures(3, n_features=7, random_state=0)
    layer = PooledScales(features, (0.5, 2.0), pooling)
    a, b = (features(x / s) for s in (0.5, 2.0))
    if pooling == "convolution":
        with torch.no_grad():
            layer.mixing.weight.copy_(torch.tensor([[[0.3], [-2.0]]]))
            layer.mixing.bias.fill_(0.25)
    wanted = {
        "average": (a + b) / 2, "maxout": torch.maximum(a, b),
        "convolution": 0.3 * a - 2 * b + 0.25,
    }  # fmt: skip
    assert_allclose(layer(x).detach(), wanted[pooling].detach(), atol=1e-6)
    layer(x).sum().backward()
    with pytest.raises(ValueError, match="pooling="):
        PooledScales(features, (1.0,), "median")


def test_a_block_passes_on_its_features_and_the_layer_below_them():
    x = torch.tensor(X, dtype=torch.float32)
    block = NeuralKernelBlock(3, 5, n_features=4, random_state=0)
    out = block.begin(x).numpy()
    h = block.linear(x).detach()
    assert out.shape == (12, block.out_features) == (12, 13)
    assert_allclose(out[:, 8:], (h / (h.std() * np.sqrt(5))).numpy(), rtol=1e-5)
    assert_allclose(out[:, :8], block.features(h).detach().numpy(), atol=1e-6)
    assert NeuralKernelBlock(3, 5, n_features=4, skip=False).out_features == 8


def test_layers_follow_seeds_of_their_own_and_that_of_torch():
    def weights(**seed):
        network = NeuralKernelNetwork(3, 1, depth=1, width=4, n_features=4, **seed)
        return np.concatenate([t.ravel().numpy() for t in network.state_dict().values()])

    assert_allclose(weights(random_state=3), weights(random_state=3))
    torch.manual_seed(1)
    first = weights()
    torch.manual_seed(1)
    assert_allclose(weights(), first)
    assert not np.allclose(weights(), first)


def test_layers_learn_inside_a_network_of_others():
    """A plain loop over torch's own layers and ours."""
    x = torch.linspace(-3, 3, 200)[:, None]
    y = torch.sin(3 * x)
    layers = [torch.nn.Linear(1, 8), FourierFeatures(8, Laplacian(0.5), 32), torch.nn.Linear(64, 1)]
    torch.manual_seed(0)
    network = torch.nn.Sequential(*layers)
    adam = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(150):
        adam.zero_grad()
        loss = (network(x) - y).square().mean()
        loss.backward()
        adam.step()
    assert float(loss.detach()) < 0.05
    assert float(layers[1].log_scale.detach()) != 0
