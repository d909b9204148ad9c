"""Deep kernel learning: the process against its definition, what is chosen, and what the estimators
promise. ``make test-torch`` runs this."""

import math
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch")

import mercer  # noqa: E402
from mercer.deep import DeepKernelClassifier, DeepKernelRegressor  # noqa: E402
from mercer.deep.networks import training  # noqa: E402
from mercer.deep.networks.inputs import (  # noqa: E402
    DirichletTargets,
    LatentNumbers,
    log_shares,
)
from mercer.deep.networks.process import LearntNumbers, RadialProcess, Seen  # noqa: E402
from mercer.distances import Minkowski  # noqa: E402
from mercer.gram.on_torch import torch_threads  # noqa: E402
from mercer.kernels import (  # noqa: E402
    RBF,
    ExponentialPower,
    Laplacian,
    Matern,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from mercer.testing import parametrize_with_object_checks  # noqa: E402

RNG = np.random.default_rng(0)
X, Y = make_friedman1(160, noise=0.2, random_state=0)
CLASSES = (Y > 14).astype(int) + (Y > 18)
COVARIANCES = [
    RBF(0.5), RBF(1.0, Minkowski(2)), Laplacian(0.7), Matern(0.5), Matern(1.5), Matern(2.5, 2.0),
    Matern(np.inf), RationalQuadratic(0.8), ExponentialPower(2.0, 1.3), 2.0 * RBF(0.3),
]  # fmt: skip
SCALES = np.array([0.5, 1.0, 3.0])


@pytest.fixture(autouse=True)
def one_thread():
    with torch_threads(1):
        yield


def settings(**parameters):
    known = {"width": 12, "n_features": 10, "epochs": 6, "random_state": 0, "n_jobs": 1}
    return {**known, **parameters}


def regressor(**parameters):
    return DeepKernelRegressor(**settings(**parameters))


def classifier(**parameters):
    return DeepKernelClassifier(**settings(**parameters))


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def process(kernel, amplitude=1.7, noise=0.2):
    numbers = [np.log(SCALES), math.log(amplitude), math.log(noise)]
    return RadialProcess(kernel, LearntNumbers(*map(tensor, numbers)))


def seen(n=25, q=2, given=None, weights=None):
    rng = np.random.default_rng(1)
    weights = np.ones(n) if weights is None else weights
    parts = [rng.normal(size=(n, 3)), rng.normal(size=(n, q))]
    return Seen(*map(tensor, parts), None if given is None else tensor(given), tensor(weights))


# --- the process ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", COVARIANCES, ids=str)
def test_covariances_are_those_of_the_kernel(kernel):
    x, z = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))
    found = process(kernel).gram(tensor(x), tensor(z)).numpy()
    assert_allclose(found, 1.7 * kernel(x / SCALES, z / SCALES), atol=1e-8)
    assert_allclose(float(process(kernel).variance), 1.7 * kernel(x[:1])[0, 0], rtol=1e-8)


@pytest.mark.parametrize("given", [None, RNG.uniform(0.1, 1, (25, 2))])
def test_the_likelihood_by_its_definition(given):
    weights = RNG.integers(1, 4, 25).astype(float)
    rows, kernel = seen(given=given, weights=weights), Matern(1.5)
    K = 1.7 * kernel(rows.x.numpy() / SCALES)
    noises = np.full((25, 2), 0.2 + 1e-6) if given is None else given
    wanted = sum(
        multivariate_normal(cov=K + np.diag(noises[:, j] / weights + 1.7e-6)).logpdf(
            rows.Y.numpy()[:, j]
        )
        for j in range(2)
    )
    assert_allclose(float(process(kernel).log_likelihood(rows)), wanted, rtol=1e-9)


@pytest.mark.parametrize("given", [None, RNG.uniform(0.1, 1, (25, 2))])
def test_the_exact_process_by_its_definition_and_by_all_rows_as_inducing_points(given):
    rows, kernel = seen(given=given), RBF(0.5)
    z = RNG.normal(size=(7, 3))
    p = process(kernel)
    mean, variance = (t.numpy() for t in p.conditioned(rows, rows.x)(tensor(z)))
    x = rows.x.numpy()
    K, C = 1.7 * kernel(x / SCALES), 1.7 * kernel(z / SCALES, x / SCALES)
    for j in range(2):
        noise = 0.2 if given is None else given[:, j]
        inverse = np.linalg.inv(K + np.diag(np.full(25, noise)))
        assert_allclose(mean[:, j], C @ inverse @ rows.Y.numpy()[:, j], atol=1e-4)
        assert_allclose(variance[:, j], 1.7 - np.sum((C @ inverse) * C, axis=1), atol=1e-4)
    order = torch.randperm(25)
    twice = torch.cat([rows.x[order], rows.x[:1] + 5])  # other points than the rows
    for a, b in zip(p.conditioned(rows, twice)(tensor(z)), (mean, variance)):
        assert_allclose(a.numpy(), b, atol=1e-3)


def test_inducing_points_are_spread():
    x = tensor(np.concatenate([1e-4 * RNG.normal(size=(50, 3)), RNG.normal(size=(6, 3))]))
    points = process(RBF(0.5)).chosen_points(x, 7)
    assert 6 <= len(points) <= 7
    assert int((points.norm(dim=1) > 0.1).sum()) == 6
    few = process(RBF(0.5)).chosen_points(x[:1].repeat(10, 1), 5)
    assert len(few) == 1


def test_learning_the_numbers_raises_the_likelihood_and_finds_what_matters():
    x = RNG.normal(size=(150, 3))
    y = np.sin(2 * x[:, :1]) + 0.1 * RNG.normal(size=(150, 1))
    rows = Seen(tensor(x), tensor(y), None, tensor(np.ones(150)))
    first = RadialProcess.begin(RBF(0.5), rows.x)
    best = first.learnt(rows)
    assert float(best.log_likelihood(rows)) > float(first.log_likelihood(rows)) + 50
    scales = best.numbers.scales.exp()
    assert float(scales[0]) < 2 < 5 < float(scales[1:].min())
    assert 0.05 < float(best.numbers.noise.exp().sqrt()) < 0.2


# --- targets -------------------------------------------------------------------------------------


def test_classes_as_logarithms_of_gamma_variables():
    """A log-normal variable with the mean and the variance of Gamma(α, 1)."""
    latent, variances = DirichletTargets().latent(np.array([[1.0, -1.0]]))
    alpha = np.array([[1.01, 0.01]])
    mean = np.exp(latent + variances / 2)
    assert_allclose(mean, alpha)
    assert_allclose(mean**2 * np.expm1(variances), alpha)


def test_shares_of_uncertain_outputs():
    mean, variance = np.array([[0.3, -1.0, 2.0]]), np.array([[0.5, 2.0, 1.0]])
    draws = mean + np.sqrt(variance) * np.random.default_rng(0).normal(size=(200_000, 3))
    e = np.exp(draws)
    wanted = (e / e.sum(1, keepdims=True)).mean(0)
    assert_allclose(np.exp(log_shares(mean, variance))[0], wanted, atol=0.02)
    sure = log_shares(np.array([[1.5]]), np.zeros((1, 1)))
    assert_allclose(np.exp(sure), [[1 / (1 + np.exp(1.5)), 1 / (1 + np.exp(-1.5))]])


def test_densities_of_numbers():
    mean, variance, y = (
        RNG.normal(size=(3, 2)),
        RNG.uniform(0.5, 1, (3, 2)),
        RNG.normal(size=(3, 2)),
    )
    wanted = [multivariate_normal(m, np.diag(v)).logpdf(z) for m, v, z in zip(mean, variance, y)]
    assert_allclose(LatentNumbers().log_density(mean, variance, y), wanted)


# --- the estimators ------------------------------------------------------------------------------


@parametrize_with_checks([
    regressor(candidates=["both"], epochs=120, dtype="float64"),
    classifier(candidates=["both"], epochs=120, dtype="float64"),
])  # fmt: skip
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@parametrize_with_object_checks([
    (classifier(kernel=Spectrum(2), dtype="float64", candidates=["both"]), "strings"),
    (regressor(kernel=Spectrum(2), dtype="float64", candidates=["process"]), "strings"),
])  # fmt: skip
def test_strings(check):
    check()


@pytest.mark.parametrize("name", ["process", "network", "both"])
def test_each_candidate_answers_numbers_with_their_spread(name):
    A, b = make_friedman1(400, noise=1.0, random_state=1)
    model = regressor(candidates=[name], epochs=60, width=24, n_features=24, learning_rate=0.01)
    model.fit(A[:300], b[:300])
    assert model.chosen_ == name
    assert model.held_likelihood_ == {}
    mean, std = model.predict(A[300:], return_std=True)
    assert np.corrcoef(mean, b[300:])[0, 1] > 0.85
    assert 0.5 < np.sqrt(np.mean(((b[300:] - mean) / std) ** 2)) < 1.5
    assert 0.5 < np.sqrt(model.noise_) * model.y_scale_[0] < 3.5


@pytest.mark.parametrize("name", ["process", "network", "both"])
def test_each_candidate_answers_classes(name):
    Z, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = classifier(candidates=[name], epochs=60).fit(Z[::2], names[::2])
    assert model.score(Z[1::2], names[1::2]) > 0.9
    proba = model.predict_proba(Z)
    assert_allclose(proba.sum(1), 1)
    assert_array_equal(model.classes_[proba.argmax(1)], model.predict(Z))
    far = model.predict_proba(Z[:1] + 1e3)
    assert np.isfinite(far).all()
    two = classifier(candidates=[name]).fit(Z[:100], names[:100])
    assert_array_equal(two.decision_function(Z) > 0, two.predict_proba(Z)[:, 1] > 0.5)


def test_the_likeliest_on_held_rows_is_chosen():
    model = regressor(epochs=40).fit(X, Y)
    found = model.held_likelihood_
    assert sorted(found) == ["both", "network", "process"]
    assert found[model.chosen_] == max(found.values())
    scaled = regressor(epochs=40).fit(X, 8 * Y)
    assert_allclose(
        [scaled.held_likelihood_[k] + np.log(8) for k in found], list(found.values()), atol=1e-3
    )
    few = regressor().fit(X[:40], Y[:40])
    assert few.held_likelihood_ == {}
    assert few.chosen_ == "process"


@pytest.mark.parametrize("count", [None, 30])
def test_away_from_the_rows_it_is_uncertain(count):
    model = regressor(candidates=["process"], n_inducing=count).fit(X, Y)
    _, near = model.predict(X, return_std=True)
    mean, far = model.predict(X + 50, return_std=True)
    assert far.min() > 2 * near.mean()
    assert_allclose(far, Y.std() * np.sqrt(np.exp(model.process_["amplitude"]) + model.noise_))
    assert_allclose(mean, Y.mean(), rtol=1e-6)
    assert len(model.process_["points"]) == (160 if count is None else 30)


def test_several_targets():
    both = regressor(candidates=["process"]).fit(X, np.column_stack([Y, 7 - 3 * Y]))
    mean, std = both.predict(X, return_std=True)
    assert mean.shape == std.shape == (160, 2)
    assert_allclose(mean[:, 1], 7 - 3 * mean[:, 0], rtol=1e-6)
    assert_allclose(std[:, 1], 3 * std[:, 0], rtol=1e-6)


def test_joint_training_changes_the_network():
    frozen = regressor(candidates=["both"]).fit(X, Y)
    joint = regressor(candidates=["both"], training="joint").fit(X, Y)
    assert not np.allclose(
        frozen.weights_["bottleneck.weight"], joint.weights_["bottleneck.weight"]
    )
    assert joint.score(X, Y) > 0.6


def test_copies_and_the_order_of_rows_mean_nothing_but_less_noise():
    rows = RNG.permutation(np.concatenate([np.arange(160), np.arange(160)]))
    once = regressor(candidates=["both"], dtype="float64").fit(X, Y)
    order = RNG.permutation(160)
    again = regressor(candidates=["both"], dtype="float64").fit(X[order], Y[order])
    assert_allclose(again.predict(X), once.predict(X), rtol=1e-6)
    twice = regressor(candidates=["process"]).fit(X[rows], Y[rows])
    assert len(twice.process_["points"]) == 160


@pytest.mark.parametrize("covariance", [Laplacian(1.0), Matern(2.5), RationalQuadratic()], ids=str)
def test_covariances_learn(covariance):
    model = regressor(candidates=["process"], covariance=covariance).fit(X, Y)
    assert model.score(X, Y) > 0.9


@pytest.mark.parametrize(
    "Z",
    [np.zeros((60, 2)), np.repeat(RNG.normal(size=(3, 4)), 20, axis=0), RNG.normal(size=(60, 1)),
     1e300 * RNG.normal(size=(60, 3)), 1e-140 * RNG.normal(size=(60, 3)), RNG.normal(size=(2, 3))],
    ids=["zeros", "duplicates", "a column", "large", "small", "two"],
)  # fmt: skip
def test_hostile_rows(Z):
    y = np.arange(len(Z)) % 2
    for name in ("process", "both"):
        assert np.isfinite(classifier(candidates=[name]).fit(Z, y).predict_proba(Z)).all()
        mean, std = regressor(candidates=[name]).fit(Z, 1e100 * y).predict(Z, return_std=True)
        assert np.isfinite(mean).all()
        assert (std >= 0).all()


def test_files_hold_all_of_it_and_later_parameters_change_nothing(tmp_path):
    for name in ("process", "network", "both"):
        for model, y in (
            (regressor(candidates=[name]), Y),
            (classifier(candidates=[name]), CLASSES),
        ):
            model.fit(X, y)
            mercer.save(model, tmp_path / "model.mercer")
            loaded = mercer.load(tmp_path / "model.mercer")
            assert_array_equal(loaded.predict(X), model.predict(X))
            wanted = model.predict(X)
            model.set_params(covariance=Matern(0.5), bottleneck=3, candidates=["network"], width=5)
            assert_array_equal(model.predict(X), wanted)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [({"candidates": []}, "candidates="), ({"candidates": "both"}, "candidates=.*list"),
     ({"candidates": ["tree"]}, "candidates="), ({"training": "slow"}, "training="),
     ({"bottleneck": 0}, "bottleneck=0"), ({"n_inducing": 0}, "n_inducing=0"),
     ({"covariance": Polynomial(2)}, "covariance="), ({"covariance": RBF("scale")}, "covariance="),
     ({"covariance": Matern(0.7)}, "nu = 1/2, 3/2"),
     ({"covariance": RBF(1.0, Minkowski(2, weights=[1.0] * 10))}, "covariance=")],
)  # fmt: skip
def test_wrong_parameters_are_named(parameters, says):
    with pytest.raises(ValueError, match=says):
        regressor(**parameters).fit(X, Y)
    with pytest.raises(TypeError, match="covariance='rbf'"):
        regressor(covariance="rbf").fit(X, Y)


def test_what_was_cut_is_not_fitted(monkeypatch):
    model, calls = clone(regressor(candidates=["both"])), []

    def stop():
        calls.append(1)
        if len(calls) > 8:
            raise KeyboardInterrupt

    monkeypatch.setattr(training, "raise_if_stopped", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_without_torch_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'DeepKernelRegressor needs torch.*"mercer\[torch\]"'):
        regressor().fit(X, Y)
