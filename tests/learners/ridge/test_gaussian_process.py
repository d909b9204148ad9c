"""The Gaussian process by its definition, beside scikit-learn's; its own tests: tests/yardstick."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor as Theirs, kernels as gp
from sklearn.utils.estimator_checks import parametrize_with_checks

import cases
import mercer
from mercer import GaussianProcessRegressor, KernelRidge
from mercer.distances import Minkowski
from mercer.kernels import (
    RBF,
    Centred,
    Kernel,
    Laplacian,
    Linear,
    Match,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
)
from yardstick.processes import translated

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(40, 2)), RNG.normal(size=(15, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), 5 + 3 * X[:, 1] ** 2]) + 0.1 * RNG.normal(size=(40, 2))
WORDS = ["".join(RNG.choice(list("abc"), 6)) for _ in range(30)]
ARD = RBF(0.5, Minkowski(2, weights=[1.0, 0.5]))

KERNELS = [
    gp.RBF(0.7),
    2.5 * gp.RBF([0.7, 1.5]),
    gp.DotProduct(0.5) + gp.ConstantKernel(0.3) * gp.RBF(1.2),
    gp.RBF(2.0) * gp.RBF([0.9, 3.0]) + 0.1 * gp.RBF(0.2),
]
NOISES = [0.01, RNG.uniform(0.01, 0.5, 40)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # y is noise
@parametrize_with_checks([GaussianProcessRegressor(), GaussianProcessRegressor(alpha="auto")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.spread(6)
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("alpha", NOISES, ids=["one", "each"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_all_answers_are_scikit_learns(kernel, alpha, normalize_y):
    part = translated(kernel)
    options = {"alpha": alpha, "optimizer": None, "normalize_y": normalize_y}
    for y in (Y[:, 0], Y, Y[:, :1]):
        theirs = Theirs(kernel, **options).fit(X, y)
        ours = GaussianProcessRegressor(part.kernel, **options).fit(X, y)
        assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=1e-8, atol=1e-8)
        for what in ("return_std", "return_cov"):
            found, wanted = (m.predict(NEW, **{what: True})[1] for m in (ours, theirs))
            assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
        assert_allclose(ours.sample_y(NEW, 3), theirs.sample_y(NEW, 3), atol=1e-5)
        assert_allclose(ours.alpha_, theirs.alpha_, rtol=1e-8, atol=1e-8)
        assert_allclose(ours.L_, theirs.L_, atol=1e-8)
        found, wanted = (m.log_marginal_likelihood() for m in (ours, theirs))
        assert_allclose(found, wanted, rtol=1e-8)
        slope = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)[1]
        model = GaussianProcessRegressor(part.kernel, bounds=part.bounds, **options).fit(X, y)
        value, found = model.log_marginal_likelihood(model.theta_, eval_gradient=True)
        assert_allclose(value, wanted, rtol=1e-8)
        # scikit-learn orders parts as they stand in the kernel
        by_name: dict[str, list] = {}
        values = model.kernel_.get_params()
        names = [n for n in model.hyperparameters_ for _ in range(np.size(values[n]))]
        for name, each in zip(names, found):
            by_name.setdefault(name, []).append(each)
        ordered = [by_name[name].pop(0) * s for name, s in zip(part.names, part.slopes)]
        assert_allclose(ordered, slope, rtol=1e-8, atol=1e-8 * np.abs(slope).max())


def test_the_optimum_is_scikit_learns():
    theirs = Theirs(1.0 * gp.RBF(1.0) + gp.WhiteKernel(1.0), alpha=0).fit(X, Y[:, 0])
    ours = GaussianProcessRegressor(1.0 * RBF(0.5), alpha="auto").fit(X, Y[:, 0])
    assert ours.hyperparameters_ == ["factor", "kernel__gamma", "noise"]
    assert_allclose(
        ours.log_marginal_likelihood_value_, theirs.log_marginal_likelihood_value_, rtol=1e-7
    )
    scale = theirs.kernel_.k1.k2.length_scale
    assert_allclose(ours.kernel_.kernel.gamma, 0.5 / scale**2, rtol=1e-3)
    assert_allclose(ours.noise_, theirs.kernel_.k2.noise_level, rtol=1e-3)
    assert_allclose(np.exp(ours.theta_[2]), ours.noise_)
    slope = ours.log_marginal_likelihood(ours.theta_, eval_gradient=True)[1]
    assert np.abs(slope).max() < 1e-3
    started = GaussianProcessRegressor(1.0 * RBF(0.5), alpha=0.3, bounds={"noise": (1e-4, 2)})
    assert_allclose(started.fit(X, Y[:, 0]).noise_, ours.noise_, rtol=1e-2)


def test_ridge_regression_is_its_mean():
    model = GaussianProcessRegressor(ARD, alpha=0.1, optimizer=None).fit(X, Y)
    ridge = KernelRidge(0.1, kernel=ARD).fit(X, Y)
    for found, wanted in zip(model.predict(NEW, True), ridge.predict(NEW, True)):
        assert_allclose(found, wanted, atol=1e-9)
    assert_allclose(model.log_marginal_likelihood(), ridge.log_marginal_likelihood().value)


FREE = [
    case for case in cases.KERNELS
    if case[0].positive_definite is not False and case[0].symmetric and "Precomputed" not in
    repr(case[0])
]  # fmt: skip


def check_gradient(model, tolerance=1e-6):
    theta, h = model.theta_, 1e-4
    value, found = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert_allclose(value, model.log_marginal_likelihood(), rtol=1e-9)
    for step, slope in zip(h * np.eye(len(theta)), found, strict=True):
        up, down = (model.log_marginal_likelihood(theta + s * step) for s in (1, -1))
        assert_allclose(slope, (up - down) / (2 * h), rtol=1e-5, atol=tolerance)


@pytest.mark.spread(66)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", FREE, ids=cases.name)
def test_gradients_are_differences_of_the_likelihood(case):
    kernel, sample = case
    n = sample.shape[0] if hasattr(sample, "shape") else len(sample)
    y = np.cos(3.0 * np.arange(n))
    model = GaussianProcessRegressor(kernel, alpha=2.0, optimizer=None).fit(sample, y)
    assert model.hyperparameters_ == model.kernel_.free_parameters()
    check_gradient(model)


NESTED = [
    2.0 * Centred(RBF(0.4)),
    0.5 * ARD + Laplacian(0.3),
    (ARD * Matern(2.5)) ** 2,
    (3.0 * RBF("median")).normalised() + Linear(),
    RationalQuadratic(0.5, 2.0, Minkowski(2, [1, 2])),
]


@pytest.mark.parametrize("kernel", NESTED, ids=repr)
def test_gradients_of_kernels_of_kernels(kernel):
    model = GaussianProcessRegressor(kernel, alpha="auto", optimizer=None).fit(X, Y)
    check_gradient(model, 1e-5)


def test_weights_of_columns_say_the_scale():
    assert ARD.free_parameters() == ["metric__weights"]
    assert RationalQuadratic(metric=ARD.metric).free_parameters() == ["alpha", "metric__weights"]
    assert (2 * RBF("scale") + Polynomial(2, coef0=0.0)).free_parameters() == [
        "left__factor", "right__gamma",
    ]  # fmt: skip
    useless = np.column_stack([X[:, 0], RNG.normal(size=40)])
    model = GaussianProcessRegressor(ARD, alpha=0.01).fit(useless, Y[:, 0])
    weights = model.kernel_.metric.weights
    assert weights[1] < 0.05 * weights[0]


@pytest.mark.parametrize(
    ("kernel", "rows"),
    [(1.0 * Spectrum(2).normalised(), WORDS),
     (RBF(0.5).on("a") + 0.5 * Match().on("b"),
      pd.DataFrame({"a": X[:30, 0], "b": np.resize(["u", "v"], 30)})),
     (1.0 * RBF(0.5), sp.csr_array(X[:30])), ("precomputed", RBF(0.5)(X[:30]))],
    ids=["strings", "table", "sparse", "precomputed"],
)  # fmt: skip
def test_samples_of_all_kinds_are_fitted_and_saved(kernel, rows, tmp_path):
    y = Y[:30, 0]
    model = GaussianProcessRegressor(kernel, alpha=0.1).fit(rows, y)
    mercer.save(model, tmp_path / "process.mercer")
    for copy in (mercer.load(tmp_path / "process.mercer"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(copy.predict(rows), model.predict(rows))
        assert copy.log_marginal_likelihood() == model.log_marginal_likelihood()
        assert_array_equal(copy.theta_, model.theta_)
        if kernel != "precomputed":
            assert_allclose(copy.predict(rows, True)[1], model.predict(rows, True)[1], atol=1e-7)
    assert_allclose(model.kernel_sum()(rows)[:, 0], model.predict(rows), atol=1e-8)
    if kernel == "precomputed":
        assert model.hyperparameters_ == []
        with pytest.raises(ValueError, match=r"precomputed.*k\(x, x\)"):
            model.predict(rows, return_std=True)


def test_single_precision_is_computed_in_double():
    double = GaussianProcessRegressor(1.0 * RBF(0.5), normalize_y=True).fit(X, Y)
    single = GaussianProcessRegressor(1.0 * RBF(0.5), normalize_y=True)
    single.fit(np.float32(X), np.float32(Y))
    for what in ({}, {"return_std": True}, {"return_cov": True}):
        for found, wanted in zip(*(np.atleast_1d(model.predict(np.float32(NEW), **what))
                                   if not what else model.predict(np.float32(NEW), **what)
                                   for model in (single, double))):  # fmt: skip
            assert_allclose(found, wanted, atol=1e-3)
    assert single.predict(np.float32(NEW)).dtype == np.float32
    assert single.predict(np.float32(NEW), return_cov=True)[1].dtype == np.float32


def test_before_a_fit_it_is_the_prior():
    model = GaussianProcessRegressor(2.0 * RBF(0.3), n_targets=2)
    mean, cov = model.predict(NEW, return_cov=True)
    assert_array_equal(mean, np.zeros((15, 2)))
    assert_allclose(cov[..., 1], 2 * RBF(0.3)(NEW))
    assert_allclose(model.predict(NEW, return_std=True)[1], np.sqrt(2) * np.ones((15, 2)))
    assert model.sample_y(NEW, 4).shape == (15, 2, 4)
    words = GaussianProcessRegressor(Spectrum(2).normalised())
    assert words.sample_y(WORDS[:5]).shape == (5, 1)
    drawn = GaussianProcessRegressor(2.0 * RBF(0.3)).sample_y(NEW[:2], 20_000, random_state=1)
    assert_allclose(np.cov(drawn), 2 * RBF(0.3)(NEW[:2]), atol=0.06)


def test_copies_of_the_training_rows():
    for copied in (True, False):
        rows = X.copy()
        model = GaussianProcessRegressor(RBF(0.5), alpha=0.1, copy_X_train=copied).fit(rows, Y)
        assert np.shares_memory(model.X_train_, rows) is not copied


def test_starts_and_optimizers():
    hard = np.sin(5 * X[:, 0])
    kernel, values = 1.0 * RBF(0.001), []
    for restarts in (0, 3):
        model = GaussianProcessRegressor(
            kernel, alpha=0.01, n_restarts_optimizer=restarts, random_state=0,
            bounds={"kernel__gamma": (1e-4, 100.0)},
        ).fit(X, hard)  # fmt: skip
        values.append(model.log_marginal_likelihood_value_)
    assert values[1] >= values[0]
    asked = []

    def by_grid(cost, start, bounds):
        asked.append((start, bounds))
        found = [(start + [0, s], cost(start + [0, s], eval_gradient=False)) for s in (0, 1, 2)]
        assert cost(start)[1].shape == start.shape
        return min(found, key=lambda each: each[1])

    model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=by_grid).fit(X, hard)
    assert_allclose(asked[0][0], np.log([1.0, 0.001]))
    assert_allclose(asked[0][1], np.log([[1e-5, 1e5], [1e-8, 100]]))
    assert model.kernel_.kernel.gamma == pytest.approx(0.001 * np.exp(2))
    assert_array_equal(model.bounds_, asked[0][1])
    kept = GaussianProcessRegressor(kernel, optimizer=None, alpha=0.01).fit(X, hard)
    assert kept.kernel_.kernel.gamma == 0.001


def test_bounds_that_hold_and_warn():
    low = {"gamma": (1e-3, 1e-2)}
    model = GaussianProcessRegressor(RBF(0.005), alpha=0.01, bounds=low)
    with pytest.warns(
        ConvergenceWarning, match=r"gamma=0.01 is at its upper bound.*rises.*bounds="
    ):
        model.fit(X, Y[:, 0])
    assert model.kernel_.gamma == pytest.approx(0.01)
    fixed = GaussianProcessRegressor(1.0 * RBF(0.5), alpha=0.01, bounds={"factor": "fixed"})
    assert fixed.fit(X, Y[:, 0]).hyperparameters_ == ["kernel__gamma"]
    assert fixed.kernel_.factor == 1.0
    smooth = GaussianProcessRegressor(Matern(1.7), alpha=0.01, bounds={"nu": (0.6, 9.0)})
    assert smooth.fit(X[:, :1], np.abs(X[:, 0])).hyperparameters_ == ["length_scale", "nu"]
    each = {"metric__weights": [(0.1, 1), (0.2, 2)]}
    assert_allclose(
        GaussianProcessRegressor(ARD, alpha=0.1, bounds=each, optimizer=None).fit(X, Y).bounds_,
        np.log([(0.1, 1), (0.2, 2)]),
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"bounds": {"gama": "fixed"}}, "'gama'.*gamma"),
     ({"alpha": -1.0}, "alpha=-1.0.*>= 0"), ({"alpha": "much"}, "alpha='much'"),
     ({"alpha": [0.1, 0.2]}, "alpha must be a scalar.*40"),
     ({"optimizer": "adam"}, "optimizer='adam'.*fmin_l_bfgs_b"),
     ({"bounds": {"width": (1, 2)}}, "'width'.*gamma"),
     ({"bounds": {"gamma": (2, 1)}}, r"bounds\['gamma'\]=\(2, 1\).*fixed"),
     ({"bounds": {"gamma": "free"}}, r"bounds\['gamma'\]='free'"),
     ({"bounds": {"gamma": (0, 1)}}, r"bounds\['gamma'\]=\(0, 1\).*> 0"),
     ({"bounds": {"noise": "fixed"}, "n_restarts_optimizer": 1.5}, "n_restarts_optimizer=1.5"),
     ({"bounds": {"gamma": (0.1, np.inf)}, "n_restarts_optimizer": 1}, "bounds.*finite"),
     ({"kernel": Sigmoid()}, "not positive semidefinite"),
     ({"n_targets": 3}, "is 2, but n_targets=3")],
)  # fmt: skip
def test_what_is_refused(parameters, message):
    model = GaussianProcessRegressor(**{"kernel": RBF(0.5), **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_other_refusals():
    with pytest.raises(TypeError, match="bounds='wide'"):
        GaussianProcessRegressor(bounds="wide").fit(X, Y)
    model = GaussianProcessRegressor(RBF(0.5), alpha=0.1)
    with pytest.raises(ValueError, match=r"singular.*larger alpha"):
        clone(model).set_params(alpha=0.0, optimizer=None).fit(X[[0, 0]], Y[:2])
    with pytest.raises(MemoryError, match=r"variance of all rows.*KernelRidge\(solver"):
        GaussianProcessRegressor(RBF(0.5), alpha=0.1, memory=10_000).fit(X, Y)
    model.fit(X, Y)
    assert model.log_marginal_likelihood([60.0]) < model.log_marginal_likelihood()
    with pytest.raises(ValueError, match=r"theta has shape \(2,\).*\['gamma'\]"):
        model.log_marginal_likelihood([0.0, 1.0])
    tiny = GaussianProcessRegressor(RBF(0.5), alpha=0.0, optimizer=None).fit(X[:5], Y[:5])
    assert tiny.log_marginal_likelihood([-60.0]) == -np.inf
    value, slope = tiny.log_marginal_likelihood([-60.0], eval_gradient=True)
    assert value == -np.inf
    assert slope == [0.0]


@pytest.mark.parametrize(
    ("dtype", "scale"), [("f4", 1e-22), ("f4", 1e25), ("f8", 1e-170), ("f8", 1e200)]
)
def test_deviations_of_tiny_and_huge_targets(dtype, scale):
    plain = GaussianProcessRegressor(RBF(0.5), alpha=0.1, normalize_y=True, optimizer=None)
    rows, new = X.astype(dtype), NEW.astype(dtype)
    wanted = clone(plain).fit(rows, Y).predict(new, return_std=True)[1]
    for y in (Y, Y[:, 0]):
        model = clone(plain).fit(rows, (y * scale).astype(dtype))
        std = model.predict(new, return_std=True)[1]
        assert_allclose(std / scale, wanted if y.ndim == 2 else wanted[:, 0], rtol=1e-5)
        for ask in (lambda m: m.predict(new, return_cov=True), lambda m: m.sample_y(new)):
            with pytest.raises(ValueError, match=r"y_std_=.*squares.*divide y by its deviation"):
                ask(model)


def test_only_predictions_come_before_a_fit():
    fitted = GaussianProcessRegressor(RBF(0.5), alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(np.full_like(X, np.nan), Y)
    for model in (GaussianProcessRegressor(), fitted):
        for ask in (
            lambda m: m.log_marginal_likelihood(), lambda m: m.log_marginal_likelihood([0.0]),
            lambda m: m.kernel_sum(), lambda m: m.alpha_, lambda m: m.L_, lambda m: m.X_train_,
        ):  # fmt: skip
            with pytest.raises(NotFittedError):
                ask(model)
        assert_array_equal(model.predict(NEW), np.zeros(len(NEW)))


class Noisy(Kernel):
    """RBF and a parameter of the name of the process's own."""

    free = ("noise",)

    def __init__(self, noise=0.5):
        self.noise = noise

    def block(self, X, Z):
        return RBF(self.noise).block(X, Z)


@pytest.mark.parametrize("alpha", [0.1, "auto"])
def test_a_kernel_whose_parameter_is_named_noise(alpha):
    with pytest.raises(ValueError, match=r"has a parameter noise.*1\.0 \* kernel"):
        GaussianProcessRegressor(Noisy(), alpha=alpha).fit(X, Y)
    model = GaussianProcessRegressor(1.0 * Noisy(), alpha=0.1).fit(X, Y)
    assert model.hyperparameters_ == ["factor", "kernel__noise"]


def test_what_is_no_theta():
    model = GaussianProcessRegressor(RBF(0.5), alpha=0.1).fit(X, Y)
    for wrong in (np.nan, 1000.0, -1000.0, np.inf):
        with pytest.raises(ValueError, match=r"theta=\[.*logarithms of finite numbers > 0"):
            model.log_marginal_likelihood([wrong])

    def lost(cost, start, bounds):
        return start * np.nan, 0.0

    with pytest.raises(ValueError, match=r"optimizer=.*lost.*returned.*nan.*1 finite.*gamma"):
        GaussianProcessRegressor(RBF(0.5), alpha=0.1, optimizer=lost).fit(X, Y)


@pytest.mark.parametrize(
    ("kernel", "rows", "bounds"),
    [(Polynomial(3, 0.5, 1.0), X, {"degree": (1, 3)}),
     (Spectrum(2, shortest=1, decay=0.5), WORDS, {"decay": None})],
)  # fmt: skip
def test_bounds_that_the_kernel_refuses(kernel, rows, bounds):
    model = GaussianProcessRegressor(kernel, alpha=0.1, bounds=bounds)
    (name,) = bounds
    with pytest.raises(ValueError, match=rf"bounds\['{name}'\]=.*the kernel refuses.*fixed"):
        model.fit(rows, Y[: len(rows)])
