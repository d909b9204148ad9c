"""The tree of vantage points, against brute force."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import cases
from lanes import examples
from mercer.distances import (
    Cosine,
    Dice,
    Edit,
    Jaccard,
    KernelDistance,
    Mahalanobis,
    MappedMinkowski,
    Match,
    Minkowski,
)
from mercer.kernels import RBF
from mercer.search import BruteForce, MetricTree, metric_tree
from mercer.testing import check_index

METRICS = [c for c in cases.DISTANCES if c[0].metric]
EXACT = ("strings", "sets", "categories")


@pytest.fixture(params=[1, 3, 64])
def leaf(request, monkeypatch):
    """Leaves of a few rows, so that there are many."""
    monkeypatch.setattr(metric_tree, "LEAF", request.param)


@pytest.mark.parametrize("leaf", [1, 3], indirect=True)  # 64 would hold all rows in one
@pytest.mark.parametrize("case", cases.of_each_class(METRICS), ids=cases.name)
def test_the_contract(case, leaf):
    distance, samples = case
    tol = 0 if distance.kind in EXACT and not isinstance(distance, KernelDistance) else 1e-6
    check_index(MetricTree, distance, samples, tol=tol, saved=distance.kind != "objects")


def test_queries_of_several_tiles_are_searched_for_in_the_order_of_their_leaves(monkeypatch):
    """Of one tile they are not: the order would cost their distances to the vantage points."""
    monkeypatch.setattr(metric_tree, "LEAF", 4)
    words, rng = [f"{a:03x}" for a in range(200)], np.random.default_rng(0)
    asked = list(rng.permutation(words))
    tree = MetricTree(Edit()).fit(words)
    Z = tree.distance_.encode(asked)
    assert tree.arrange_queries(Z) is None
    found = tree.query(asked, 3)
    monkeypatch.setattr(metric_tree, "EDGE", 32)
    order = tree.arrange_queries(Z)
    homes = tree._home(tree._to_vantages(Z))
    assert (np.diff(homes[order]) >= 0).all()
    assert_array_equal(np.sort(order), np.arange(200))
    for a, b, c in zip(found, tree.query(asked, 3), BruteForce(Edit()).fit(words).query(asked, 3)):
        assert_array_equal(a, b)
        assert_array_equal(a, c)


def test_the_size_of_leaves_changes_the_tree_and_no_result():
    words = [f"{a:03x}" for a in range(300)]
    brute = BruteForce(Edit()).fit(words).query(None, 4)
    sizes = {}
    for size in (1, 20, None):
        index = MetricTree(Edit(), leaf_size=size).fit(words)
        sizes[size] = np.diff(index._starts).max()
        assert_array_equal(index.query(None, 4), brute)
    assert sizes[1] == 1
    assert 1 < sizes[20] <= 20 < sizes[None] <= 64
    with pytest.raises(ValueError, match="leaf_size=0"):
        MetricTree(Edit(), leaf_size=0).fit(words)


@examples(40)
@given(
    old=st.lists(st.text("ab", max_size=7), min_size=2, max_size=40),
    new=st.lists(st.text("abc", max_size=7), min_size=1, max_size=9),
    k=st.integers(1, 40),
    size=st.integers(1, 5),
)
def test_strings_and_sets(old, new, k, size):
    """Many ties and duplicates; nothing is lost, and the smaller index comes first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metric_tree, "LEAF", size)
        for distance, make in ((Edit(), list), (Edit("indel"), list), (Jaccard(), set)):
            A, B = ([make(text) if make is set else text for text in rows] for rows in (old, new))
            brute, tree = BruteForce(distance).fit(A), MetricTree(distance, n_jobs=2).fit(A)
            for Z in (B, None):
                most = min(k, len(A) - (Z is None))
                for a, b in zip(brute.query(Z, most), tree.query(Z, most), strict=True):
                    assert_array_equal(a, b)
                for a, b in zip(brute.query_radius(Z, k / 9), tree.query_radius(Z, k / 9)):
                    assert_array_equal(a, b)


OF_COORDINATES = [
    Minkowski(2), Minkowski(3), Minkowski(2, weights=[0.1, 3.0, 1.0]), Minkowski(np.inf),
    Mahalanobis(np.diag([2.0, 3.0, 5.0])), MappedMinkowski(np.array([0.3, 1.7, 2.9])),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("distance", OF_COORDINATES, ids=repr)
def test_distances_of_rows_of_numbers_are_those_of_brute_force_to_the_last_bit(
    distance, dtype, leaf
):
    """Integers far from 0: equal rows are at 0, and equally near rows are in their order."""
    rng = np.random.default_rng(0)
    X = rng.integers(3000, 3060, (90, 3)).astype(dtype)
    Z = np.concatenate([X[:20], rng.integers(3000, 3060, (20, 3))]).astype(dtype)
    brute, tree = BruteForce(distance).fit(X), MetricTree(distance).fit(X)
    for rows in (Z, None):
        for a, b in zip(brute.query(rows, 6), tree.query(rows, 6), strict=True):
            assert_array_equal(a, b)
        for a, b in zip(brute.query_radius(rows, 9), tree.query_radius(rows, 9), strict=True):
            assert_array_equal(a, b)
    assert not tree.query(X, 1)[0].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_rules_no_row_out(dtype, monkeypatch):
    """Near points, whose kernel distances have few right digits."""
    monkeypatch.setattr(metric_tree, "LEAF", 4)
    rng = np.random.default_rng(0)
    X = (1 + 1e-3 * rng.normal(size=(300, 3))).astype(dtype)
    X[::7] = X[0]
    for distance in (KernelDistance(RBF(gamma=0.1)), Cosine(), Minkowski(3)):
        bound = distance.bind(X)
        D = bound.whole(X, X)
        distances, indices = MetricTree(distance).fit(X).query(X, 10)
        size = 4 * float(np.sqrt(np.finfo(dtype).eps))  # k(x, x) = 1
        assert_allclose(distances, np.sort(D, axis=1)[:, :10], atol=size)
        assert_allclose(np.take_along_axis(D, indices, 1), distances, atol=size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_last_digits_rule_no_row_out(dtype):
    """Groups of rows that differ by some units of the last digit."""
    rng = np.random.default_rng(0)
    steps = 1 + np.finfo(dtype).eps * rng.integers(0, 300, (200, 1))
    X = (np.array([[1], [9]])[rng.integers(0, 2, 200)] * steps).astype(dtype)
    for distance in (Minkowski(1), Minkowski(2), Minkowski(3, weights=[0.3])):
        brute, tree = BruteForce(distance).fit(X), MetricTree(distance, leaf_size=2).fit(X)
        for k in (1, 7):
            for a, b in zip(brute.query(None, k), tree.query(None, k), strict=True):
                assert_array_equal(a, b)


class Rounded(Minkowski):
    """Distances with an error of their own, the same for each pair, up to ``error``."""

    def __init__(self, p=1, weights=None, error=0.0, itself=False):
        super().__init__(p, weights)
        self.error, self.itself = error, itself

    def coordinates(self, X):
        return None

    def raw(self, X, Z):
        x, z = (np.asarray(side.parts[0] if hasattr(side, "parts") else side) for side in (X, Z))
        gap = np.abs(x[:, None, 0] - z[None, :, 0])
        noise = np.sin(1e9 * (x[:, None, 0] + z[None, :, 0])) ** 2
        return gap + self.error * noise * (self.itself | (gap > 0))


@pytest.mark.parametrize("leaf_size", [1, 5])
@pytest.mark.parametrize(("error", "itself"), [(1e-8, False), (1e-3, True)])
def test_distances_with_few_right_digits_rule_no_row_out(error, itself, leaf_size):
    """As square roots of rounding have: near rows seem farther apart than they are."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300, 1)) + error * rng.normal(size=(300, 1))
    distance = Rounded(error=error, itself=itself)
    brute, tree = BruteForce(distance).fit(X), MetricTree(distance, leaf_size=leaf_size).fit(X)
    for rows in (X, None):
        for a, b in zip(brute.query(rows, 5), tree.query(rows, 5), strict=True):
            assert_array_equal(a, b)


def test_groups_are_searched_in_part():
    """Of 50 groups that are far from each other, a query reads few."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(50, 6)) * 100
    X = centres[rng.integers(50, size=6000)] + rng.normal(size=(6000, 6))
    computed = []

    class Watched(Minkowski):
        def coordinates(self, X):
            return None

        def within(self, X, Z, limit):
            computed.append(X.shape[0] * Z.shape[0])
            return super().within(X, Z, limit)

    found = MetricTree(Watched(1), n_jobs=1).fit(X).query(X[:500], 5)
    assert sum(computed) < 0.1 * 500 * len(X)
    assert_array_equal(found[1], BruteForce(Minkowski(1)).fit(X).query(X[:500], 5)[1])


@pytest.mark.parametrize("case", [c for c in cases.DISTANCES if not c[0].metric], ids=cases.name)
def test_what_is_no_metric_is_refused(case):
    distance, samples = case
    with pytest.raises(ValueError, match=r"is not a metric: the triangle .* Use BruteForce"):
        MetricTree(distance).fit(samples)


@pytest.mark.parametrize("letters", ["abcdefgh", "a"])
def test_all_distances_equal(letters):
    X = [[letter] for letter in letters * (160 // len(letters))]
    tree, brute = MetricTree(Match(), leaf_size=10).fit(X), BruteForce(Match()).fit(X)
    for rows in (X, None):
        for a, b in zip(tree.query(rows, 30), brute.query(rows, 30), strict=True):
            assert_array_equal(a, b)
        for a, b in zip(tree.query_radius(rows, 0), brute.query_radius(rows, 0), strict=True):
            assert_array_equal(a, b)


def test_what_separates_no_rows_is_no_metric():
    with pytest.raises(ValueError, match="not a metric"):
        MetricTree(Dice()).fit([{"a"}, {"b"}])
