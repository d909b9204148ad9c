"""Neighbours under a distance with bounds: the same as by all distances, and by fewer of them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import cases
from mercer import KNeighborsClassifier
from mercer.distances import DTW
from mercer.search import BruteForce, brute
from mercer.testing import check_index

rng = np.random.default_rng(1)
WALKS = [*rng.normal(size=(40, 24)).cumsum(axis=1), *cases.series()]


@pytest.mark.parametrize(
    ("rho", "X"),
    [(DTW(), WALKS[30:]), (DTW(3), WALKS[:25]), (DTW(0.1), WALKS[:25])],
    ids=["unequal lengths", "points", "share"],
)
def test_neighbours_are_those_of_all_distances(rho, X):
    check_index(BruteForce, rho, X, tol=0)


def test_series_beyond_the_window_are_endless_and_the_last():
    D, indices = BruteForce(DTW(1)).fit([[0.0] * 4, [1.0] * 9, [2.0] * 4, [0.0] * 9]).query(k=3)
    assert_array_equal(D[0], [4, np.inf, np.inf])
    assert_array_equal(indices[0], [2, 1, 3])


def test_series_of_several_channels():
    check_index(BruteForce, DTW(1), cases.channels(), tol=0)


def test_equal_distances_are_in_the_order_of_their_rows():
    X = [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]
    _, indices = BruteForce(DTW()).fit(X).query(k=4)
    assert_array_equal(indices[0], [2, 4, 1, 3])
    assert_array_equal(indices[3], [1, 0, 2, 4])


def test_few_pairs_are_compared(monkeypatch):
    compared = []
    of_pairs = DTW.of_pairs
    monkeypatch.setattr(
        DTW, "of_pairs", lambda *given: compared.append(len(given[3])) or of_pairs(*given)
    )
    X = rng.normal(size=(300, 32)).cumsum(axis=1)
    _, indices = BruteForce(DTW(2)).fit(X).query(X[:50] + 0.01, k=1)
    assert_array_equal(indices[:, 0], np.arange(50))
    assert sum(compared) < 50 * 300 / 10


def test_little_memory_means_smaller_chunks(monkeypatch):
    sizes = []
    cut = brute.slices
    monkeypatch.setattr(brute, "slices", lambda n, step: sizes.append(step) or cut(n, step))
    few = BruteForce(DTW(2), memory=3_000, n_jobs=1).fit(WALKS).query(k=2)
    many = BruteForce(DTW(2), n_jobs=2).fit(WALKS).query(k=2)
    assert sizes[0] < sizes[1]
    for a, b in zip(few, many):
        assert_array_equal(a, b)


def test_a_classifier_takes_series():
    y = np.arange(40) % 2
    X = [walk + 20 * label for walk, label in zip(WALKS, y)]
    model = KNeighborsClassifier(1, metric=DTW(0.2)).fit(X, y)
    assert model.algorithm_ == "brute"
    assert_array_equal(model.predict(X[:10]), y[:10])
