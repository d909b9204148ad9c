"""Kernel density: the definition, scikit-learn's, volumes, draws, hostile samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity as SklearnKernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelDensity
from mercer.distances import (
    Cosine,
    Edit,
    Jaccard,
    KernelDistance,
    Mahalanobis,
    MappedMinkowski,
    Match,
    Minkowski,
)
from mercer.kernels import RBF
from mercer.learners.windows.density import SHAPES

rng = np.random.default_rng(0)
KERNELS = list(SHAPES)


@parametrize_with_checks(
    [KernelDensity(), KernelDensity(bandwidth="auto"), KernelDensity(kernel="tophat")]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("h", [1.0, 3.0, "scott", "silverman"])
def test_scikit_learn_agrees(kernel, d, h):
    rng = np.random.default_rng(d)  # of its own: other tests change no sample
    X, Z, w = rng.normal(size=(300, d)), rng.normal(size=(90, d)), rng.uniform(0.1, 2, 300)
    X, Z = X / np.sqrt(d), Z / np.sqrt(d)
    weights = None if isinstance(h, str) else w  # scikit-learn's rules do not see weights
    ours = KernelDensity(kernel=kernel, bandwidth=h).fit(X, sample_weight=weights)
    theirs = SklearnKernelDensity(kernel=kernel, bandwidth=h, rtol=0).fit(X, None, weights)
    a, b = ours.score_samples(Z), theirs.score_samples(Z)
    seen = b > -30  # where nothing is near, scikit-learn returns its rounding
    if kernel == "cosine" and d == 2:  # and its volume of "cosine" is wrong for even d
        b += np.log(2 / np.pi) - np.log(2 / np.pi - 4 / np.pi**2)
    elif kernel == "cosine" and d % 2 == 0:
        return
    assert seen.sum() > 20
    assert_allclose(a[seen], b[seen], rtol=1e-10, atol=1e-10)
    assert_allclose(ours.score(Z[seen]), b[seen].sum(), rtol=1e-10)


def test_parameters_of_scikit_learn_that_change_nothing():
    X = np.random.default_rng(1).normal(size=(50, 2))
    theirs = SklearnKernelDensity(bandwidth=0.4).get_params()
    ours = KernelDensity(**theirs).fit(X)
    tolerant = KernelDensity(
        bandwidth=0.4, algorithm="kd_tree", rtol=0.1, atol=1, leaf_size=3, breadth_first=False
    )
    expected = SklearnKernelDensity(bandwidth=0.4).fit(X).score_samples(X)
    assert_allclose(ours.score_samples(X), expected)
    assert_allclose(tolerant.fit(X).score_samples(X), expected)
    for name, value in {
        "algorithm": "brute", "rtol": -1, "atol": np.nan, "leaf_size": 0, "breadth_first": "no"
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=f"{name}="):
            KernelDensity(**{name: value}).fit(X)


@pytest.mark.parametrize("d", [1, 5, 40])
@pytest.mark.parametrize("h", [0.05, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_far_rows_have_logarithms_that_are_right(d, h, dtype):
    X, Z = rng.normal(size=(600, d)).astype(dtype), 10 * rng.normal(size=(50, d)).astype(dtype)
    w = rng.integers(1, 5, 600)
    logs = logsumexp(-0.5 * (cdist(Z, X) / h) ** 2, b=w / w.sum(), axis=1)
    expected = logs - d / 2 * np.log(2 * np.pi) - d * np.log(h)
    found = KernelDensity(bandwidth=h).fit(X, sample_weight=w).score_samples(Z)
    assert_allclose(found, expected, rtol=1e-10 if dtype == np.float64 else 1e-4)


METRICS = [
    Minkowski(2),
    Minkowski(1),
    Minkowski(np.inf),
    Minkowski(0.5),
    Minkowski(3, [0.5, 4.0]),
    Minkowski(np.inf, [0.5, 2.0]),
    Mahalanobis([[2.0, 0.7], [0.7, 1.0]]),
    Mahalanobis(precision=[[2.0, 0.7], [0.7, 1.0]]),
    MappedMinkowski([[1.0, 0.5], [0.0, 2.0]], 1),
    MappedMinkowski([0.5, -2.0]),
]


@pytest.mark.parametrize("metric", METRICS, ids=repr)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_volume_is_one(metric, kernel):
    """∫ f = 1 on a grid, and draws have the density: the mean of f over them is ∫ f²."""
    X = np.array([[0.0, 0.0], [1.0, 0.5]])
    model = KernelDensity(kernel=kernel, bandwidth=0.7, metric=metric).fit(X, sample_weight=[1, 3])
    line = np.linspace(-12, 12, 401)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    f = np.exp(model.score_samples(grid))
    cell = (line[1] - line[0]) ** 2
    heavy = metric.get_params().get("p", 2) == 0.5  # of long arms that the grid cuts off
    if not (heavy and kernel in ("gaussian", "exponential")):
        assert_allclose(f.sum() * cell, 1, atol=0.05 if kernel == "tophat" or heavy else 0.01)
    draws = model.sample(20_000, random_state=0)
    of_draws = np.exp(model.score_samples(draws))
    assert_allclose(of_draws.mean(), (f**2).sum() * cell, rtol=0.05)
    assert_allclose(draws.mean(axis=0), [0.75, 0.375], atol=0.15)


@pytest.mark.parametrize("kernel", KERNELS)
def test_draws_have_the_distribution(kernel):
    """Kolmogorov's distance of 20,000 draws: with probability 0.995 it is below 0.0123."""
    model = KernelDensity(bandwidth=0.7, kernel=kernel).fit([[0.0], [1.5]], sample_weight=[1, 3])
    line = np.linspace(-20, 20, 8001)
    below = np.cumsum(np.exp(model.score_samples(line[:, None]))) * (line[1] - line[0])
    draws = np.sort(model.sample(20_000, random_state=0)[:, 0])
    assert_allclose(np.searchsorted(draws, line) / len(draws), below, atol=0.0123)


def test_the_widths_of_the_likelihood():
    X = load_iris().data
    model = KernelDensity(bandwidth="auto").fit(X)
    different, copies = np.unique(X, axis=0, return_counts=True)
    h = model.bandwidth_
    D = cdist(different, different)
    for width, likelihood in model.log_likelihoods_.items():
        if width < h / 4:
            continue
        logs = -0.5 * (D / width) ** 2 + np.log(copies)
        np.fill_diagonal(logs, -np.inf)
        logs = logsumexp(logs, axis=1) - np.log(150 - copies) - 4 * np.log(width)
        assert_allclose(likelihood, logs @ copies / 150, rtol=1e-9)
    assert model.log_likelihoods_[h] == max(model.log_likelihoods_.values())
    search = GridSearchCV(KernelDensity(), {"bandwidth": np.geomspace(0.05, 2, 15)}, cv=10).fit(X)
    assert 0.5 < h / search.best_params_["bandwidth"] < 2


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_rules_count_the_rows_that_weigh(rule):
    """As many rows of equal weights have the same sum of squared shares."""
    X, w = rng.normal(size=(60, 2)), np.repeat([3.0, 1e-9], 30)
    model = KernelDensity(bandwidth=rule).fit(X, sample_weight=w)
    assert_allclose(model.bandwidth_, KernelDensity(bandwidth=rule).fit(X[:30]).bandwidth_)
    model.fit(X, sample_weight=np.full(60, 7.0))
    assert_allclose(model.bandwidth_, KernelDensity(bandwidth=rule).fit(X).bandwidth_)


@pytest.mark.parametrize("kernel", KERNELS)
def test_copies_do_not_make_the_width_zero(kernel):
    X = rng.normal(size=(80, 2))
    one = KernelDensity(bandwidth="auto", kernel=kernel).fit(X)
    two = KernelDensity(bandwidth="auto", kernel=kernel).fit(np.repeat(X, 2, axis=0))
    weighted = KernelDensity(bandwidth="auto", kernel=kernel).fit(X, sample_weight=np.full(80, 2))
    assert two.bandwidth_ == weighted.bandwidth_
    assert 0.5 <= two.bandwidth_ / one.bandwidth_ <= 2


def test_samples_without_volumes():
    names = ["anna", "hanna", "anne", "otto"]
    model = KernelDensity(bandwidth=2.0, metric=Edit()).fit(names, sample_weight=[1, 2, 1, 1])
    assert model.log_volume_ == 0
    expected = np.array([np.exp(-1 / 8) * 1 + np.exp(-4 / 8) * 2 + np.exp(-1 / 8)])
    expected += np.exp(-16 / 8)
    assert_allclose(np.exp(model.score_samples(["ann"])), expected / 5)
    for metric, X in (
        (Jaccard(), [{1, 2}, {2}]),
        (Match(), [["a"], ["b"]]),
        (KernelDistance(RBF(1.0)), [[0.0], [1.0]]),
        (Cosine(), [[0.0, 1], [1, 1]]),
        (Minkowski(2, [1.0, 0.0]), [[0.0, 1], [1, 1]]),
        (Minkowski(0), [[0.0, 1], [1, 1]]),
        (Mahalanobis(precision=[[1.0, 0], [0, 0]]), [[0.0, 1], [1, 1]]),
    ):
        model = KernelDensity(metric=metric, bandwidth=0.5).fit(X)
        logs = model.score_samples(X)
        assert ((logs <= 0) & (logs > -3)).all()
        with pytest.raises(TypeError, match="sample needs a norm of vectors"):
            model.sample()
        with pytest.raises(ValueError, match="bandwidth='auto' needs a norm of vectors"):
            KernelDensity(metric=metric, bandwidth="auto").fit(X)


def test_where_no_window_reaches():
    model = KernelDensity(kernel="tophat", bandwidth=0.5).fit([[0.0], [1.0]])
    assert model.score_samples([[5.0]])[0] == -np.inf
    far = KernelDensity().fit([[0.0]]).score_samples([[1e6]])[0]
    assert far == -0.5e12 - 0.5 * np.log(2 * np.pi)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("h", [1e-300, 1e-50, 1e50, 1e300])
def test_widths_of_any_size(kernel, dtype, h):
    X = np.array([[0.0], [1.0], [4.0]], dtype)
    model = KernelDensity(kernel=kernel, bandwidth=h).fit(X)
    logs = model.score_samples(X)
    assert not np.isnan(logs).any()
    if h > 1:  # below, the rounding of distances counts
        assert_allclose(logs, -model.log_volume_, rtol=1e-6)


def test_memory_threads_order_and_sparse_rows_change_nothing():
    X = rng.normal(size=(900, 5)) * (rng.uniform(size=(900, 5)) < 0.5)
    expected = KernelDensity(bandwidth="auto").fit(X)
    order = rng.permutation(900)
    for other in (X[order], sp.csr_array(X)):
        model = KernelDensity(bandwidth="auto", memory="200KB", n_jobs=2).fit(other)
        assert model.bandwidth_ == expected.bandwidth_
        assert_allclose(model.score_samples(X), expected.score_samples(X), rtol=1e-9)
    assert model.sample(7, random_state=0).shape == (7, 5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bandwidth": 0}, "bandwidth=0: give a finite number > 0"),
        ({"bandwidth": np.nan}, "bandwidth=nan"),
        ({"bandwidth": "scot"}, "one of .'scott', 'silverman', 'auto'"),
        ({"kernel": "round"}, "kernel='round': give one of"),
        ({"metric": "edits"}, "metric='edits' is not known"),
        ({"metric": Mahalanobis([[1.0, 2], [2, 1]])}, "covariance is not positive definite"),
        ({"metric": Minkowski(-1)}, "p=-1: Minkowski needs 0 <= p"),
        ({"metric": Minkowski(2, [1.0, -1])}, "weights must be >= 0"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelDensity(**parameters).fit([[0.0, 1.0], [1.0, 0.0]])


def test_wrong_samples():
    with pytest.raises(ValueError, match="two rows of X that differ"):
        KernelDensity(bandwidth="auto").fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="NaN"):
        KernelDensity().fit([[0.0]]).score_samples([[np.nan]])
    with pytest.raises(ValueError, match="n_samples=0: give a whole number"):
        KernelDensity().fit([[0.0]]).sample(0)


def test_files(tmp_path):
    model = KernelDensity(bandwidth="auto").fit(load_iris().data)
    mercer.save(model, tmp_path / "density.mercer")
    loaded = mercer.load(tmp_path / "density.mercer")
    assert_allclose(loaded.score_samples([[5.0, 3, 1, 0]]), model.score_samples([[5.0, 3, 1, 0]]))


@pytest.mark.parametrize(("n", "said"), [(1, "there is one sample"), (5, "all 5 are equal")])
def test_rows_that_do_not_differ_have_no_likely_width(n, said):
    with pytest.raises(ValueError, match=said):
        KernelDensity(bandwidth="auto").fit(np.ones((n, 2)))
