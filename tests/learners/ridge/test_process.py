"""Ridge regression as a Gaussian process, beside scikit-learn's and the definition."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor, kernels as gp

import mercer
from mercer import KernelRidge
from mercer.distances import Mahalanobis, Minkowski
from mercer.kernels import (
    RBF,
    ExponentialPower,
    Laplacian,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * RNG.normal(size=(60, 2))
NEW = np.vstack([RNG.normal(size=(20, 3)), 30 * np.ones((1, 3)), X[:2]])
SCALES = np.array([0.7, 1.5, 3.0])
ARD = Minkowski(2, weights=SCALES**-2)
WORDS = ["".join(RNG.choice(list("abc"), 6)) for _ in range(30)]

PAIRS = [
    (RBF(0.5), gp.RBF(1.0)),
    (2.5 * RBF(0.5, ARD), 2.5 * gp.RBF(SCALES)),
    (Matern(1.5, 1.3), gp.Matern(1.3, nu=1.5)),
    (Matern(2.5, 1.0, ARD), gp.Matern(SCALES, nu=2.5)),
    (Matern(0.5), gp.Matern(1.0, nu=0.5)),
    (RationalQuadratic(), gp.RationalQuadratic(1.0, 1.0)),
]  # fmt: skip


@pytest.mark.parametrize("alpha", [0.1, 1e-4])
@pytest.mark.parametrize(("ours", "theirs"), PAIRS[:5], ids=str)
def test_means_deviations_and_likelihoods_are_scikit_learns(ours, theirs, alpha):
    for y in (Y[:, 0], Y):
        known = GaussianProcessRegressor(theirs, alpha=alpha, optimizer=None).fit(X, y)
        model = KernelRidge(alpha, kernel=ours).fit(X, y)
        mean, std = model.predict(NEW, return_std=True)
        wanted, spread = known.predict(NEW, return_std=True)
        assert std.shape == mean.shape == spread.shape
        assert_allclose(mean, wanted, atol=1e-8)
        assert_allclose(std, spread, atol=1e-7)
        value = known.log_marginal_likelihood()
        assert_allclose(model.log_marginal_likelihood().value, value, rtol=1e-9)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS[1:2] + PAIRS[3:4], ids=str)
def test_derivatives_by_length_scales_are_scikit_learns(ours, theirs):
    known = GaussianProcessRegressor(theirs, alpha=0.1, optimizer=None).fit(X, Y[:, 0])
    _, wanted = known.log_marginal_likelihood(known.kernel_.theta, eval_gradient=True)
    found = KernelRidge(0.1, kernel=ours).fit(X, Y[:, 0]).log_marginal_likelihood()
    assert_allclose(found.length_scales, wanted[-3:], rtol=1e-8)
    if len(wanted) == 4:
        assert_allclose(found.variance, wanted[0], rtol=1e-8)


def value(kernel, alpha, rows, weights=None):
    return KernelRidge(alpha, kernel=kernel).fit(rows, Y, weights).log_marginal_likelihood()


@pytest.mark.parametrize(
    "kernel",
    [RBF(0.3), Laplacian(0.4), Matern(1.5), Matern(0.5), RationalQuadratic(), 3 * Laplacian(0.2),
     ExponentialPower(0.5, metric=Minkowski(1.5)), RBF(0.3, ARD), Matern(1.5, metric=Minkowski(1))],
    ids=repr,
)  # fmt: skip
def test_derivatives_are_differences(kernel):
    weights = np.resize([1.0, 2.0, 0.5], len(X))
    rows = np.vstack([X[:-1], X[:1]])  # with a copy
    found, h = value(kernel, 0.2, rows, weights), 1e-5
    for j in range(3):
        up, down = (
            value(kernel, 0.2, rows * np.where(np.arange(3) == j, np.exp(-s * h), 1), weights).value
            for s in (1, -1)
        )
        assert_allclose(found.length_scales[j], (up - down) / (2 * h), rtol=1e-5, atol=1e-5)
    up, down = (value(kernel, 0.2 * np.exp(s * h), rows, weights).value for s in (1, -1))
    assert_allclose(found.penalty, (up - down) / (2 * h), rtol=1e-6)
    up, down = (value(np.exp(s * h) * kernel, 0.2, rows, weights).value for s in (1, -1))
    assert_allclose(found.variance, (up - down) / (2 * h), rtol=1e-6)


def test_kernels_without_length_scales_have_the_other_derivatives():
    for kernel, rows in ((Polynomial(2), X[:30]), (RBF(0.3, Mahalanobis()), X[:30]),
                         (Spectrum(2), WORDS)):  # fmt: skip
        model = KernelRidge(0.2, kernel=kernel).fit(rows, Y[:30, 0])
        found = model.log_marginal_likelihood()
        assert found.length_scales is None
        A = kernel(rows) + 0.2 * np.eye(30)
        log_det = np.linalg.slogdet(A)[1]
        wanted = Y[:30, 0] @ np.linalg.solve(A, Y[:30, 0]) + log_det + 30 * np.log(2 * np.pi)
        assert_allclose(found.value, -wanted / 2)
        assert model.predict(rows, return_std=True)[1].max() < np.sqrt(kernel(rows).max())


@pytest.mark.parametrize("solver", ["auto", "conjugate_gradient", "low_rank"])
def test_weights_and_solvers(solver):
    w, k = np.resize([0.0, 1.0, 2.0], len(X)), RBF(0.3)
    model = KernelRidge(0.1, kernel=k, solver=solver, tol=1e-12, uncertainty=True).fit(X, Y, w)
    std = model.predict(NEW, return_std=True)[1]
    kept = w > 0
    A = k(X[kept]) + np.diag(0.1 / w[kept])
    C = k(NEW, X[kept])
    wanted = np.sqrt(np.maximum(1 - np.einsum("ij,ji->i", C, np.linalg.solve(A, C.T)), 0))
    assert_allclose(std, np.column_stack([wanted, wanted]), atol=1e-6)


@pytest.mark.parametrize("solver", ["cholesky", "low_rank"])
def test_a_penalty_for_each_target_and_one_that_is_chosen(solver):
    options = {"kernel": RBF(0.3), "solver": solver, "uncertainty": True}
    both = KernelRidge([0.5, 0.01], **options).fit(X, Y).predict(NEW, return_std=True)[1]
    for j, alpha in enumerate((0.5, 0.01)):
        alone = KernelRidge(alpha, **options).fit(X, Y[:, j]).predict(NEW, return_std=True)[1]
        assert_allclose(both[:, j], alone, atol=1e-7)
    auto = KernelRidge("auto", **options).fit(X, Y[:, 0])
    given = KernelRidge(auto.alpha_, **options).fit(X, Y[:, 0])
    answers = (model.predict(NEW, return_std=True)[1] for model in (auto, given))
    assert_allclose(*answers, atol=1e-6)


def test_low_rank_keeps_the_variance_that_its_centres_leave_open():
    rows = np.linspace(-3, 3, 400)[:, None]
    y = np.sin(rows[:, 0])
    options = {"kernel": RBF(0.5), "random_state": 0, "uncertainty": True}
    few = KernelRidge(0.01, solver="low_rank", rank=4, **options).fit(rows, y)
    exact = KernelRidge(0.01, solver="cholesky", **options).fit(rows, y)
    Z = np.linspace(-6, 6, 50)[:, None]
    std, wanted = (model.predict(Z, return_std=True)[1] for model in (few, exact))
    assert (std > wanted - 1e-9).all()
    assert std.max() > 0.9
    many = KernelRidge(0.01, solver="low_rank", rank=60, **options).fit(rows, y)
    assert_allclose(many.predict(Z, return_std=True)[1], wanted, atol=1e-3)


def test_single_precision_and_strips(monkeypatch):
    monkeypatch.setattr("mercer.learners.ridge.process.STRIP", 200)
    double = KernelRidge(0.1, kernel=RBF(0.3)).fit(X, Y[:, 0])
    single = KernelRidge(0.1, kernel=RBF(0.3)).fit(np.float32(X), np.float32(Y[:, 0]))
    std = single.predict(np.float32(NEW), return_std=True)[1]
    assert std.dtype == np.float32
    assert_allclose(std, double.predict(NEW, return_std=True)[1], atol=1e-4)


def test_files_and_another_fit(tmp_path):
    for solver in ("cholesky", "low_rank"):
        model = KernelRidge(0.1, kernel=RBF(0.3), solver=solver, uncertainty=True).fit(X, Y[:, 0])
        std = model.predict(NEW, return_std=True)[1]
        mercer.save(model, tmp_path / "model.mercer")
        for copy in (pickle.loads(pickle.dumps(model)), mercer.load(tmp_path / "model.mercer")):
            assert_allclose(copy.predict(NEW, return_std=True)[1], std, atol=1e-12)
        again = model.fit(X[:9], Y[:9, 0]).predict(NEW, return_std=True)[1]
        assert (again >= std - 1e-9).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"solver": "low_rank"}, "uncertainty=True"), ({"solver": "local"}, 'solver="local"'),
     ({"kernel": Sigmoid(), "alpha": 2.0}, "no process"), ({"alpha": 0.0}, "alpha=0.0.*singular"),
     ({"uncertainty": "yes"}, "uncertainty='yes'")],
)  # fmt: skip
def test_what_has_no_deviation_says_so(parameters, message):
    rows = np.vstack([X[:20], X[:20]])
    options = {"alpha": 0.1, "kernel": RBF(0.3), **parameters}

    def predicted():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of alpha = 0
            model = KernelRidge(**options).fit(rows, Y[:40, 0])
        return model.predict(NEW, return_std=True)

    with pytest.raises(ValueError, match=message):
        predicted()


def test_other_refusals():
    model = KernelRidge(0.1, kernel=RBF(0.3), solver="low_rank", uncertainty=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"low_rank.*exact fit"):
        model.log_marginal_likelihood()
    with pytest.raises(ValueError, match="one number for all targets"):
        KernelRidge([0.1, 0.2], kernel="rbf").fit(X, Y).log_marginal_likelihood()
    K = RBF(0.3)(X)
    known = KernelRidge(0.1, kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match=r"precomputed.*k\(x, x\)"):
        known.predict(K, return_std=True)
    with pytest.raises(ValueError, match="precomputed"):
        known.log_marginal_likelihood()
    small = KernelRidge(0.1, kernel=RBF(0.3), memory=100_000).fit(X, Y)
    with pytest.raises(MemoryError, match=r"variance of all rows.*low_rank"):
        small.predict(NEW, return_std=True)
