"""Random features beside the kernels that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import RandomFeatures
from mercer.distances import Mahalanobis, Minkowski
from mercer.kernels import (
    RBF,
    ArcCosine,
    ExponentialPower,
    Jaccard,
    Laplacian,
    Layered,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)) * [2.0, 1.0, 0.5, 1.0]

KERNELS = [
    RBF(0.2), RBF("median"), RBF("scale", Minkowski(2, weights=[1.0, 0.5, 2.0, 0.1])),
    RBF(0.2, Mahalanobis()), Laplacian(0.2), ExponentialPower(0.3),
    ExponentialPower(1.0, 1.0, Minkowski(1.0)), Matern(0.5),
    Matern(1.5, 2.0), Matern(2.5), RationalQuadratic(), 3 * Laplacian(0.2), ArcCosine(0),
    ArcCosine(1), ArcCosine(2), 2 * ArcCosine(0), Linear(), Polynomial(2, 0.3),
    Polynomial(3, "auto", 0.0), 0.5 * (2 * Polynomial(3, 0.2)),
]  # fmt: skip


@parametrize_with_checks(
    [RandomFeatures(n_components=7), RandomFeatures("poly", n_components=6),
     RandomFeatures(ArcCosine(0), n_components=5), RandomFeatures("linear")]
)  # fmt: skip
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_inner_products_are_the_kernel_on_average(kernel):
    K = kernel(X)
    unit = np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    errors = []
    for D in (1001, 16_000):
        maps = [RandomFeatures(kernel, n_components=D, random_state=seed).fit(X) for seed in (0, 1)]
        phi, psi = (each.transform(X) for each in maps)
        assert phi.shape == (30, D)
        errors.append(np.abs((phi @ phi.T + psi @ psi.T) / 2 - K) / unit)
    assert errors[1].mean() < 0.02
    assert errors[1].mean() < max(0.6 * errors[0].mean(), 1e-9)


@pytest.mark.parametrize("kernel", [RBF(0.2), ArcCosine(1), Polynomial(2, 0.3)], ids=repr)
def test_sparse_rows_and_single_precision(kernel):
    model = RandomFeatures(kernel, n_components=31, random_state=0).fit(X)
    phi = model.transform(X)
    assert_allclose(model.transform(sp.csr_array(X)), phi, atol=1e-12)
    single = RandomFeatures(kernel, n_components=31, random_state=0).fit_transform(np.float32(X))
    assert single.dtype == np.float32
    assert_allclose(single, phi, atol=1e-4 * np.abs(phi).max())


def test_one_feature_and_one_row():
    for kernel in (RBF(), ArcCosine(0), Polynomial(3), Linear()):
        assert RandomFeatures(kernel, n_components=1).fit(X).transform(X[:1]).shape == (1, 1)


def test_strips_and_threads_change_nothing():
    many = RNG.normal(size=(20_000, 4))
    model = RandomFeatures(n_components=64, random_state=0).fit(many)
    alone = model.set_params(n_jobs=1).transform(many)
    assert_array_equal(model.set_params(n_jobs=2).transform(many), alone)
    assert_allclose(model.transform(many[-3:]), alone[-3:])
    assert list(model.get_feature_names_out()[:2]) == ["randomfeatures0", "randomfeatures1"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(Sigmoid(), "no random Fourier"), (Layered(RBF(), 2), "no random Fourier"),
     (ArcCosine(1, layers=2), "one layer"), (RBF(1.0, Minkowski(1)), "no random Fourier"),
     ("chi2", "no random Fourier"), (2 * Sigmoid(), "no random Fourier")],
    ids=repr,
)  # fmt: skip
def test_kernels_without_random_features_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        RandomFeatures(kernel).fit(np.abs(X))


@pytest.mark.parametrize(
    ("kernel", "samples"), [(Spectrum(2), ["ab", "bc"]), (Jaccard(), [{1}, {2}])], ids=repr
)
def test_other_samples_are_refused(kernel, samples):
    with pytest.raises(ValueError, match=r"only vectors have.*Nystroem"):
        RandomFeatures(kernel).fit(samples)


def test_wrong_parameters_and_unfitted_maps():
    with pytest.raises(ValueError, match="n_components=0"):
        RandomFeatures(n_components=0).fit(X)
    with pytest.raises(NotFittedError):
        RandomFeatures().transform(X)


@pytest.mark.parametrize("kernel", [RBF(0.2), ArcCosine(1), Polynomial(2)], ids=repr)
def test_files(kernel, tmp_path):
    model = RandomFeatures(kernel, random_state=0).fit(X)
    mercer.save(model, tmp_path / "model.mercer")
    assert_allclose(mercer.load(tmp_path / "model.mercer").transform(X), model.transform(X))
