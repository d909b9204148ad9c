"""The choice of an index: what is taken, and that it is always the same."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.distances import Cosine, Dice, Edit, Mahalanobis, Minkowski
from mercer.search import ALGORITHMS, BruteForce, KDTree, MetricTree, fit_index


@pytest.fixture
def rows():
    return np.random.default_rng(0).random((5000, 30)).astype(np.float32)


def chosen(X, distance):
    index, name = fit_index(X, distance)
    assert type(index) is ALGORITHMS[name]
    return name


def test_few_columns_are_a_tree_and_many_are_not(rows):
    assert chosen(rows[:, :2], Minkowski()) == "kd_tree"
    assert chosen(rows[:, :3], Mahalanobis()) == "kd_tree"
    assert chosen(rows[:, :3], Minkowski(np.inf, [1, 0, 2])) == "kd_tree"
    assert chosen(rows, Minkowski()) == "brute"
    assert chosen(rows[:, :3], Minkowski(0.5)) == "brute"
    assert chosen(rows[:500, :2], Minkowski()) == "brute"


def test_many_columns_of_few_dimensions_are_a_tree(rows):
    points = rows.reshape(-1, 2)
    lines = points @ np.random.default_rng(1).normal(size=(2, 60)).astype(np.float32)
    assert chosen(lines, Minkowski(1)) == "kd_tree"


def test_what_is_sorted_is_judged_by_all_of_it():
    """The first rows are equal, where a tree would be of no use."""
    X = np.random.default_rng(2).random((20_000, 3))
    X[:200] = 0.5
    assert chosen(X, Minkowski()) == "kd_tree"
    assert chosen(X[::-1], Minkowski()) == "kd_tree"


def test_metrics():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(10_000, 2))
    assert chosen(X, Cosine()) == "metric_tree"  # directions in the plane
    assert chosen(rng.normal(size=(10_000, 40)), Cosine()) == "brute"
    words = [f"{a:05d}" for a in rng.integers(0, 99999, 9000)]
    assert chosen(words, Edit()) == "brute"
    assert chosen([{w} for w in words[:100]], Dice()) == "brute"


def test_a_ball_tree_is_the_tree_that_the_distance_suits(rows):
    words = ["anna", "otto", "hanna"] * 20
    for X, distance, expected in (
        (rows[:, :3], Minkowski(1), "kd_tree"),
        (rows[:, :3], Mahalanobis(), "kd_tree"),
        (rows[:500, :3], Cosine(), "metric_tree"),
        (rows[:500, :3].round(1), Minkowski(0), "metric_tree"),
        (words, Edit(), "metric_tree"),
    ):
        index, name = fit_index(X, distance, "ball_tree", leaf_size=7)
        assert name == expected
        assert type(index) is ALGORITHMS[name]
        assert index.get_params().get("leaf_size", 7) == 7
        wanted = BruteForce(distance).fit(X).query(X[:20], 4)
        assert_array_equal(index.query(X[:20], 4)[1], wanted[1])
    with pytest.raises(ValueError, match="not a metric"):
        fit_index([{"a"}, {"b"}], Dice(), "ball_tree")


def test_the_choice_is_always_the_same_and_so_are_the_answers(rows):
    X = rows[:, :8]
    names = {chosen(X, Minkowski(1.5)) for _ in range(3)}
    assert len(names) == 1
    brute, tree = (
        fit_index(X, Minkowski(1.5), name)[0].query(X[:40], 7) for name in ("brute", "kd_tree")
    )
    for a, b in zip(brute, tree, strict=True):
        assert_array_equal(a, b)


def test_an_algorithm_by_name_or_as_an_index():
    X = [[0.0], [1.0], [5.0]]
    for name, make in (("brute", BruteForce), ("kd_tree", KDTree), ("metric_tree", MetricTree)):
        index, found = fit_index(X, Minkowski(), name, memory="1MB", n_jobs=1)
        assert (type(index), found, index.memory, index.n_jobs) == (make, name, "1MB", 1)
    index, found = fit_index(X, Minkowski(1), KDTree(Minkowski()))
    assert (found, index.distance) == ("KDTree", index.distance_)
    with pytest.raises(ValueError, match=r"algorithm='ball': give one of 'auto', 'brute', 'kd_tr"):
        fit_index(X, Minkowski(), "ball")
    with pytest.raises(TypeError, match="distance='euclid': give a distance"):
        fit_index(X, "euclid")
    with pytest.raises(ValueError, match="not a metric"):
        fit_index([{"a"}, {"b"}], Dice(), "metric_tree")
