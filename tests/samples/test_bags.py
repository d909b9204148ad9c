"""Bags of points: how they are read, kernels and distances on them, and learners."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

import mercer
from mercer import SVC, KernelClassifier, KNeighborsClassifier
from mercer.distances import KernelDistance, SlicedWasserstein
from mercer.kernels import (
    RBF,
    Bhattacharyya,
    GaussianMeanMap,
    Linear,
    MeanMap,
    Spectrum,
    bags,
    check_mercer,
)
from mercer.samples import Bags, as_samples
from mercer.tables import infer_columns
from mercer.testing import DistanceContract, KernelContract

rng = np.random.default_rng(0)
y = np.arange(30) % 2
#: in bags of the second class one point is far from the others
BAGS = [
    np.vstack([rng.normal(size=(n, 2)), [[5.0, 5.0]] if label else [[0.0, 0.0]]])
    for label, n in zip(y, rng.integers(1, 9, 30))
]


def read(X, like=None):
    return as_samples(X, "bags", like=like, reader="MeanMap")


def test_bags_are_points_in_one_array():
    X = read([[[1, 2], [3, 4]], np.array([[5.0, 6.0]])])
    assert isinstance(X, Bags)
    assert_array_equal(X.values, [[1, 2], [3, 4], [5, 6]])
    assert_array_equal(X.lengths, [2, 1])
    assert X.dtype == np.float64
    assert read([np.zeros((1, 2), np.float32)]).dtype == np.float32
    assert len(read(np.zeros((4, 3, 2)))) == 4
    assert_array_equal(X[[1, 0]].values, [[5, 6], [1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([np.zeros((0, 2))], r"X\[0\] has no points"),
        ([[[1.0]], []], r"X\[1\] has no points"),
        ([[[1.0, 2.0]], [[1.0]]], r"the points of X\[1\] have 1 numbers, but those of X\[0\]"),
        ([[[1.0, np.nan]]], r"X\[0\] holds nan in point 0, column 1"),
        ([[1.0, 2.0]], r"X\[0\] has the shape \(2,\).*reshape\(-1, 1\)"),
        ([[["a", "b"]]], r"X\[0\] is no array of numbers"),
        (["ab"], r"X\[0\] is"),
        (np.zeros((3, 2)), "Put a single bag into a list"),
        ([3.0], r"X\[0\] is 3.0"),
    ],
)
def test_what_is_no_list_of_bags_is_told(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read(X)


def test_new_bags_have_the_columns_of_the_fit():
    model = SVC(kernel=MeanMap(RBF(0.5))).fit(BAGS, y)
    with pytest.raises(ValueError, match="but the bags of the fit have 2"):
        model.predict([np.zeros((2, 3))])


def test_the_mean_map_of_a_linear_kernel_is_the_product_of_means():
    means = np.array([bag.mean(axis=0) for bag in BAGS])
    assert_allclose(MeanMap(Linear())(BAGS), means @ means.T, atol=1e-12)
    assert_allclose(
        KernelDistance(MeanMap(Linear()))(BAGS),
        np.linalg.norm(means[:, None] - means[None], axis=2),
        atol=1e-6,
    )


def test_strips_change_nothing(monkeypatch):
    kernel = MeanMap(RBF(0.3))
    K, own = kernel(BAGS), kernel.diag(read(BAGS))
    monkeypatch.setattr(bags, "STRIP", 50)
    assert_allclose(kernel(BAGS), K)
    assert_allclose(kernel.diag(read(BAGS)), own)
    assert_allclose(own, K.diagonal())


def test_the_order_of_points_and_copies_of_all_of_them_mean_nothing():
    other = [np.repeat(bag[::-1], 2, axis=0) for bag in BAGS]
    assert_allclose(MeanMap(RBF(0.3))(BAGS, other), MeanMap(RBF(0.3))(BAGS), atol=1e-12)
    assert SlicedWasserstein()(BAGS, other).diagonal().max() < 1e-6


def wasserstein(a, b):
    """W2 of two lists of numbers, as a linear programme."""
    n, m = len(a), len(b)
    costs = (np.subtract.outer(a, b) ** 2).ravel()
    rows = [np.outer(np.eye(n)[i], np.ones(m)).ravel() for i in range(n)]
    columns = [np.outer(np.ones(n), np.eye(m)[j]).ravel() for j in range(m)]
    moved = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    return np.sqrt(linprog(costs, A_eq=np.array(rows + columns), b_eq=moved).fun)


@pytest.mark.parametrize(("n", "m"), [(2, 3), (4, 4), (1, 6)])
def test_on_a_line_the_distance_is_that_of_a_linear_programme(n, m):
    a, b = rng.normal(size=n), rng.normal(size=m)
    found = SlicedWasserstein(levels=12)([a[:, None]], [b[:, None]])
    assert_allclose(found, wasserstein(a, b), atol=1e-6)
    assert SlicedWasserstein(levels=5)([a[:, None]], [b[:, None]]) <= found + 1e-9


def test_what_is_positive_semidefinite_says_so():
    assert MeanMap().positive_definite
    assert RBF(1.0, SlicedWasserstein()).positive_definite
    assert RBF(1.0, KernelDistance(MeanMap())).positive_definite
    for kernel in (MeanMap(), RBF("median", SlicedWasserstein())):
        assert check_mercer(kernel, BAGS).positive_definite


def density(bag, grid, ridge):
    S = np.cov(bag.T, bias=True) + ridge * np.eye(2)
    away = grid - bag.mean(axis=0)
    forms = np.einsum("id,de,ie->i", away, np.linalg.inv(S), away)
    return np.exp(-forms / 2) / (2 * np.pi * np.sqrt(np.linalg.det(S)))


def test_the_overlap_of_two_gaussians_is_an_integral():
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(6, 2)), draw.normal(0.5, 1.5, (3, 2))
    line = np.linspace(-12, 12, 601)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    both = np.sqrt(density(a, grid, 0.2) * density(b, grid, 0.2)).sum() * (line[1] - line[0]) ** 2
    assert_allclose(Bhattacharyya(0.2)([a], [b])[0, 0], both, rtol=1e-6)


def test_the_mean_map_of_gaussians_is_that_of_many_points_they_draw():
    draw = np.random.default_rng(2)
    pair = [draw.normal(size=(6, 2)), draw.normal(0.5, 1.5, (5, 2))]
    drawn = [
        draw.multivariate_normal(bag.mean(axis=0), np.cov(bag.T, bias=True), 3000) for bag in pair
    ]
    assert_allclose(GaussianMeanMap(0.4)(pair), MeanMap(RBF(0.4))(drawn), atol=0.02)


@pytest.mark.parametrize("kernel", [Bhattacharyya(0.3), GaussianMeanMap(0.3), GaussianMeanMap()])
def test_kernels_of_gaussians_are_positive_semidefinite_in_any_number_of_runs(kernel, monkeypatch):
    assert kernel.positive_definite
    assert check_mercer(kernel, BAGS).positive_definite
    K = kernel(BAGS)
    single = kernel([bag.astype(np.float32) for bag in BAGS])
    assert single.dtype == np.float32
    assert_allclose(single, K, atol=1e-5)
    assert_allclose(kernel.bind(read(BAGS)).diag(read(BAGS)), K.diagonal())
    monkeypatch.setattr(bags, "VALUES", 40)
    assert_allclose(kernel(BAGS), K)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Bhattacharyya(0), "ridge=0: give a number > 0"),
        (Bhattacharyya(float("nan")), "ridge=nan: give a number > 0"),
        (GaussianMeanMap(-1), "gamma=-1"),
        (MeanMap("rbf"), "give a kernel on vectors"),
        (MeanMap(Spectrum(2)), "compares strings, but the points of bags are vectors"),
        (MeanMap(RBF(-1)), "gamma=-1"),
    ],
)
def test_wrong_kernels(kernel, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kernel(BAGS)


@pytest.mark.parametrize("name", ["directions", "levels", "random_state"])
def test_wrong_parameters(name):
    with pytest.raises(ValueError, match=f"{name}=-1"):
        SlicedWasserstein(**{name: -1})(BAGS)


@pytest.mark.parametrize(
    "learner",
    [
        SVC(kernel=MeanMap().normalised(), C=10),
        SVC(kernel=RBF("median", KernelDistance(MeanMap(RBF(0.5)))), C=10),
        KNeighborsClassifier(3, metric=SlicedWasserstein()),
    ],
    ids=repr,
)
def test_learners_and_files(learner, tmp_path):
    model = learner.fit(BAGS, y)
    said = model.predict(BAGS)
    assert (said == y).mean() > 0.8
    mercer.save(model, tmp_path / "bags.mercer")
    assert_array_equal(mercer.load(tmp_path / "bags.mercer").predict(BAGS), said)


def test_a_point_that_decides_is_found_by_a_narrow_kernel():
    """The multi-instance kernel: a power of κ, in which near points count more."""
    narrow = SVC(kernel=MeanMap(RBF(0.1) ** 5).normalised(), C=100)
    assert (narrow.fit(BAGS[::2] + BAGS[1::2], np.sort(y)).predict(BAGS) == y).mean() > 0.9


def test_columns_of_tables_are_bags_where_that_is_said():
    table = pd.DataFrame({"shots": [bag.tolist() for bag in BAGS], "age": np.arange(30.0)})
    column = infer_columns({"shots": table["shots"].to_numpy()}, kind={"shots": "bag"})[0]
    assert column.kind == "bag"
    words = np.array(["a", "b", "c"], object)
    with pytest.raises(ValueError, match="kind: words='bag', but the column holds other values"):
        infer_columns({"words": words}, kind={"words": "bag"})
    model = KernelClassifier(trials=2, kind={"shots": "bag"}, random_state=0).fit(table, y)
    assert model.score(table, y) > 0.8


class TestKernelOfBags(KernelContract):
    @pytest.fixture
    def kernel(self):
        return MeanMap(RBF(0.4))

    @pytest.fixture
    def samples(self):
        return BAGS[:9]


class TestKernelOfGaussians(KernelContract):
    @pytest.fixture
    def kernel(self):
        return GaussianMeanMap(0.4)

    @pytest.fixture
    def samples(self):
        return BAGS[:9]


class TestOverlapOfGaussians(KernelContract):
    @pytest.fixture
    def kernel(self):
        return Bhattacharyya(0.4)

    @pytest.fixture
    def samples(self):
        return BAGS[:9]


class TestDistanceOfBags(DistanceContract):
    @pytest.fixture
    def distance(self):
        return SlicedWasserstein(7, 9)

    @pytest.fixture
    def samples(self):
        return BAGS[:9]
