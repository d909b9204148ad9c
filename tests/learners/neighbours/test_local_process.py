"""Gaussian processes on the nearest rows, beside the definition and the full process."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor, kernels as gp
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelRidge, NeighbourGaussianProcess
from mercer.distances import Mahalanobis, Minkowski
from mercer.kernels import Spectrum

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(600, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=600)
NEW = RNG.uniform(-2, 2, size=(400, 2))
NEW_Y = np.sin(2 * NEW[:, 0]) + NEW[:, 1] + 0.1 * RNG.normal(size=400)


@parametrize_with_checks(
    [NeighbourGaussianProcess(5), NeighbourGaussianProcess(5, corrected=Ridge())]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_with_all_rows_it_is_the_full_process():
    model = NeighbourGaussianProcess(60).fit(X[:60], Y[:60])
    kind, length, noise, variance = model.covariance_
    kernel = {
        "laplacian": gp.Matern(length, nu=0.5), "matern": gp.Matern(length, nu=1.5),
        "gaussian": gp.RBF(length),
    }[kind]  # fmt: skip
    full = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    full.fit(X[:60], Y[:60] - Y[:60].mean())
    mean, std = model.predict(NEW, return_std=True)
    wanted, spread = full.predict(NEW, return_std=True)
    assert_allclose(mean, wanted + Y[:60].mean(), atol=2e-3)
    unit = Y[:60].std() ** 2 * variance
    assert_allclose(std, np.sqrt(unit * (spread**2 + noise)), rtol=1e-2)


@pytest.mark.spread(1)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("corrected", [None, Ridge(), KernelRidge(0.1, kernel="rbf")], ids=str)
def test_intervals_are_calibrated(corrected, dtype):
    model = NeighbourGaussianProcess(corrected=corrected, random_state=0)
    mean, std = model.fit(X.astype(dtype), Y.astype(dtype)).predict(
        NEW.astype(dtype), return_std=True
    )
    assert mean.dtype == std.dtype == dtype
    assert np.sqrt(np.mean((mean - NEW_Y) ** 2)) < 0.13
    assert 0.9 < np.mean(np.abs(mean - NEW_Y) < 1.96 * std) < 0.98
    left = model.left_out_
    errors = (Y - left[:, 0]) / left[:, 1] if corrected is None else None
    assert errors is None or abs(np.mean(errors**2) - 1) < 1e-3


def test_it_corrects_what_a_learner_misses():
    line = Ridge().fit(X, Y)
    both = NeighbourGaussianProcess(corrected=Ridge()).fit(X, Y)
    assert both.score(NEW, NEW_Y) > 0.98 > 0.9 > line.score(NEW, NEW_Y)
    assert_allclose(both.corrected_.coef_, line.coef_)
    # far from all rows it is the learner alone, with a large deviation
    mean, std = both.predict([[500.0, 0.0]], return_std=True)
    assert_allclose(mean, line.predict([[500.0, 0.0]]), atol=0.3)
    assert std[0] > 3 * both.predict(NEW, return_std=True)[1].mean()


@pytest.mark.full
def test_metrics_weigh_columns():
    noisy = np.column_stack([X, 3 * RNG.normal(size=(600, 4))])
    plain = NeighbourGaussianProcess().fit(noisy[:400], Y[:400])
    weights = Minkowski(2, weights=[1, 1, 0, 0, 0, 0])
    weighed = NeighbourGaussianProcess(metric=weights).fit(noisy[:400], Y[:400])
    assert weighed.score(noisy[400:], Y[400:]) > 0.97 > plain.score(noisy[400:], Y[400:])
    turned = NeighbourGaussianProcess(metric=Mahalanobis()).fit(X[:400], Y[:400])
    assert turned.score(X[400:], Y[400:]) > 0.97


@pytest.mark.full
def test_far_rows_keep_their_digits_and_order_changes_nothing():
    model = NeighbourGaussianProcess().fit(X, Y)
    moved = NeighbourGaussianProcess().fit(X + 1e5, Y)
    assert_allclose(moved.predict(NEW + 1e5), model.predict(NEW), atol=1e-4)
    turned = NeighbourGaussianProcess().fit(X[::-1], Y[::-1])
    assert_allclose(turned.predict(NEW), model.predict(NEW), atol=1e-4)
    assert_allclose(model.predict(NEW[:3]), model.predict(NEW)[:3])
    sparse = NeighbourGaussianProcess().fit(sp.csr_array(X), Y)
    assert_allclose(sparse.predict(sp.csr_array(NEW)), model.predict(NEW), atol=1e-4)


def test_degenerate_samples():
    for rows, y in (
        (X[:1], Y[:1]), (X[:2], Y[:2]), (np.zeros((9, 2)), np.arange(9.0)),
        (np.zeros((9, 2)), np.ones(9)), (np.repeat(X[:3], 50, axis=0), np.repeat(Y[:3], 50)),
    ):  # fmt: skip
        mean, std = NeighbourGaussianProcess().fit(rows, y).predict(rows, return_std=True)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
        assert_allclose(mean.mean(), y.mean(), atol=0.05)


@pytest.mark.full
def test_an_index_that_finds_too_few_and_files(tmp_path):
    model = NeighbourGaussianProcess(algorithm="lsh", random_state=0).fit(X, Y)
    assert model.score(NEW, NEW_Y) > 0.9
    for each in (NeighbourGaussianProcess().fit(X, Y),
                 NeighbourGaussianProcess(corrected=Ridge()).fit(X, Y)):  # fmt: skip
        mercer.save(each, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert_allclose(loaded.predict(NEW), each.predict(NEW))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"n_neighbors": 0}, "n_neighbors=0"), ({"metric": "manhattan"}, "metric='manhattan'"),
     ({"metric": Spectrum(2)}, "metric=|vectors|strings"), ({"random_state": "a"}, "random_state")],
)  # fmt: skip
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NeighbourGaussianProcess(**parameters).fit(X, Y)


def test_several_targets_and_an_unfitted_process_are_refused():
    with pytest.raises(ValueError, match=r"2 targets.*MultiOutputRegressor"):
        NeighbourGaussianProcess().fit(X, np.column_stack([Y, Y]))
    with pytest.raises(NotFittedError):
        NeighbourGaussianProcess().predict(X)
