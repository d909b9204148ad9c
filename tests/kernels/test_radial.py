"""Radial kernels: special cases of one another, learnt bandwidths, native profiles, bad values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import kv
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import SVC

from mercer import _native
from mercer.distances import Mahalanobis, Match, Minkowski
from mercer.kernels import (
    RBF,
    ExponentialPower,
    FromDistance,
    Laplacian,
    Matern,
    RationalQuadratic,
    check_mercer,
)
from mercer.kernels.radial import evenly

X = np.random.default_rng(0).normal(size=(15, 3))


@pytest.mark.parametrize(
    ("special", "general"),
    [
        (ExponentialPower(2.0, 2.0), RBF(0.5)),
        (ExponentialPower(2.0, 1, Minkowski(1)), Laplacian(0.5)),
        (ExponentialPower(2.0**2, 2, Minkowski(2)), RBF(0.25)),
        (ExponentialPower(2.0, 1, Minkowski(2)), ExponentialPower(2.0, 1.0)),
        (Matern(0.5, 2.0), ExponentialPower(2.0, 1.0)),
        (Matern(np.inf, 2.0), RBF(0.125)),
        (FromDistance(Minkowski(2), 0.3, 2.0), RBF(0.3)),
        (FromDistance(Minkowski(1), 0.3), Laplacian(0.3)),
        (RBF(0.3, Mahalanobis(np.diag([4.0, 1.0, 0.25]))), RBF(0.3, Minkowski(2, [0.25, 1, 4]))),
        (Laplacian(0.3, Minkowski(2)), ExponentialPower(1 / 0.3, 1)),
        (RationalQuadratic(1e8, 2.0), RBF(0.125)),
    ],
)
def test_special_cases(special, general):
    assert_allclose(special(X), general(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.7, 4.0, np.inf])
def test_matern_agrees_with_scikit_learn(nu):
    assert_allclose(Matern(nu, 1.7)(X), gp.Matern(1.7, nu=nu)(X), rtol=1e-7)


def test_rational_quadratic_agrees_with_scikit_learn():
    ours, theirs = RationalQuadratic(0.7, 1.7)(X), gp.RationalQuadratic(1.7, 0.7)(X)
    assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize("order", [3, 5])
def test_native_matern_profile(dtype, isa, order):
    before = _native.isa()
    t = np.concatenate([[0], np.geomspace(1e-6, 80, 1001)])
    D = (t / 2).astype(dtype)
    _native.use_isa(isa)
    _native.matern(D, 2.0, order)
    _native.use_isa(before)
    t[0] = 1e-12
    nu = order / 2
    expected = 2 ** (1 - nu) / {3: 0.5, 5: 0.75}[order] / np.sqrt(np.pi) * t**nu * kv(nu, t)
    assert_allclose(D, expected, rtol=2e-5 if dtype == np.float32 else 1e-13)


def test_bandwidth_as_in_scikit_learn():
    y = X[:, 0] > 0
    svc = SVC(gamma="scale").fit(X, y)
    assert_allclose(RBF("scale").bind(X).gamma, svc._gamma)
    assert RBF("auto").bind(X).gamma == 1 / 3


def test_constant_samples_have_a_bandwidth():
    for word in ("scale", "median"):
        for kernel in (RBF(word), Laplacian(word)):
            assert kernel.bind(np.ones((4, 2))).gamma == 1.0
    assert RBF("median").bind(np.ones((1, 2))).gamma == 1.0


def test_median_of_many_rows_takes_a_sample_of_them():
    Z = np.random.default_rng(0).normal(size=(2500, 3))
    # squared distances of such pairs are 2 chi-squared with 3 degrees of freedom: median 4.73
    assert_allclose(1 / RBF("median").bind(Z).gamma, 4.73, rtol=0.05)


@pytest.mark.parametrize("n", [700, 1001, 1200, 1500, 1999, 2000, 2500, 2999, 3500, 6001])
def test_the_median_hardly_depends_on_the_order_of_the_rows(n):
    """Of rows sorted by class, all classes are in the sample by their share."""
    rng = np.random.default_rng(n)
    Z = np.repeat([0.0, 3.0, 30.0], [n // 2, n // 4, n - n // 2 - n // 4])[:, None]
    Z = Z + rng.normal(size=(n, 2))
    shuffled, alternating = rng.permutation(n), np.argsort(np.arange(n) % 3, kind="stable")
    want = np.median(Minkowski(2)(Z)[np.triu_indices(n, 1)]) if n < 2600 else None
    medians = [RBF("median").bind(Z[order]).gamma ** -0.5 for order in (slice(None), shuffled)]
    medians.append(RBF("median").bind(Z[alternating]).gamma ** -0.5)
    assert_allclose(medians, medians[0] if want is None else want, rtol=0.1)


def test_a_sample_of_rows_is_spread_evenly():
    for n in (1000, 1001, 1999, 2000, 2001, 5000):
        rows = evenly(np.arange(n), 1000)
        assert len(rows) == 1000
        assert (rows[0], rows[-1]) == (0, n - 1)
        steps = np.diff(rows)
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 1


@pytest.mark.parametrize("word", ["scale", "auto", "median"])
def test_an_unbound_bandwidth_is_refused(word):
    # else a test sample would change γ silently
    with pytest.raises(ValueError, match=rf"gamma='{word}' is learnt.*RBF\(...\)\.bind\(X\)"):
        RBF(word).block(X, X)
    bound = RBF(word).bind(X)
    assert_allclose(bound(X[:2], X), bound(X)[:2])


def test_the_variance_of_categories_is_no_bandwidth():
    kernel = RBF("scale", Match())
    words = kernel.encode([["a"], ["b"]])
    with pytest.raises(TypeError, match='gamma="scale" is learnt from the variance of vectors'):
        kernel.bind(words)


def test_bound_kernels_serve_as_callables_of_scikit_learn():
    y = X[:, 0] > 0
    ours = SVC(kernel=RBF("scale").bind(X)).fit(X, y).decision_function(X)
    theirs = SVC(kernel="rbf", gamma="scale").fit(X, y).decision_function(X)
    assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("word", ["scale", "auto"])
@pytest.mark.parametrize(
    ("kernel", "named"),
    [(RBF, rbf_kernel), (Laplacian, laplacian_kernel)],
    ids=["rbf", "laplacian"],
)
def test_a_bandwidth_in_words_is_that_of_the_training_side(kernel, named, word):
    """scikit-learn calls kernel(new, training): rows of another variance, or one, do not count."""
    y, new = X[:, 0] > 0, 5 * X[:4] + 1
    gamma = 1 / 3 if word == "auto" else 1 / (3 * X.var())
    assert_allclose(kernel(word)(X), named(X, gamma=gamma))
    assert_allclose(kernel(word)(new, X), named(new, X, gamma=gamma))
    ours = SVC(kernel=kernel(word)).fit(X, y)
    theirs = SVC(kernel="precomputed").fit(named(X, gamma=gamma), y)
    for rows in (new, new[:1]):
        wanted = theirs.decision_function(named(rows, X, gamma=gamma))
        assert_allclose(ours.decision_function(rows), wanted, atol=1e-9)
        if kernel is RBF:
            wanted = SVC(kernel="rbf", gamma=word).fit(X, y).decision_function(rows)
            assert_allclose(ours.decision_function(rows), wanted, atol=1e-6)


def test_a_median_bandwidth_is_that_of_the_training_side():
    bound = RBF("median").bind(X)
    assert_allclose(RBF("median")(5 * X[:4], X), bound(5 * X[:4], X))
    assert RBF("median").bind(5 * X[:4]).gamma != bound.gamma


def test_the_diagonal_is_exactly_one():
    Z = (X + 1e4).astype(np.float32)
    for kernel in (RBF(10.0), Laplacian(), Matern(), Matern(2.5), RationalQuadratic()):
        assert (kernel(Z).diagonal() == 1).all()


def test_far_points_are_zero_not_nan():
    Z = np.array([[0.0], [1e15]])
    for kernel in (RBF(), Laplacian(), Matern(0.5), Matern(), Matern(2.5), Matern(1.1)):
        assert (kernel(Z) == np.eye(2)).all()
        assert (kernel(Z.astype(np.float32)) == np.eye(2)).all()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(0), "gamma=0: must be a finite number > 0"),
        (RBF(-1.0), "gamma=-1.0"),
        (RBF(np.inf), "gamma=inf"),
        (RBF("scael"), "gamma='scael': give a number > 0"),
        (Laplacian(np.nan), "gamma=nan"),
        (ExponentialPower(power=2.5), r"power=2.5: must be in \(0, 2\].*not positive semidefinite"),
        (ExponentialPower(scale=0), "scale=0"),
        (ExponentialPower(1.0, 0), r"power=0: must be in \(0, 2\]"),
        (Matern(0), "nu=0: must be > 0"),
        (Matern(length_scale=0), "length_scale=0"),
        (RationalQuadratic(alpha=0), "alpha=0"),
        (RBF(1.0, Minkowski(-1)), "p=-1"),
        (FromDistance(Minkowski(), gamma=0), "gamma=0"),
        (FromDistance(Minkowski(), power=0), "power=0"),
    ],
)
def test_bad_parameters_are_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(X)
    with pytest.raises(ValueError, match=message):
        kernel.bind(X)


@pytest.mark.parametrize("gamma", [None, [1.0, 2.0], 1j])
def test_a_bandwidth_is_a_number(gamma):
    with pytest.raises(TypeError, match=r'gamma=.*: give a number > 0, "scale"'):
        RBF(gamma)(X)


def test_a_metric_is_a_distance():
    with pytest.raises(TypeError, match="metric='euclidean': give a distance"):
        RBF(metric="euclidean")(X)
    for kernel in (Minkowski("2"), Matern("1.5"), ExponentialPower(power="1"), Matern(1.5, "1")):
        with pytest.raises(ValueError, match="='"):
            kernel(X)


def test_powers_above_two_are_rightly_refused():
    line = np.arange(8.0)[:, None]
    assert not check_mercer(FromDistance(Minkowski(2), 0.05, 4.0), line).positive_definite


@pytest.mark.parametrize("kernel", [RBF(1e80), Laplacian(1e80), Matern(1.5, 1e-80)])
def test_a_bandwidth_beyond_float32_is_the_identity(kernel):
    """The scale must not become infinite there: infinity times a distance of 0 is NaN."""
    S = X.astype(np.float32)
    assert_allclose(kernel(S), np.eye(len(S)))
