"""The interface of indexes: the published contract, and indexes that are defined in a few lines."""

import numpy as np
import pytest

import cases
from mercer.distances import Cosine, Distance, Edit, Jaccard, Minkowski
from mercer.search import BruteForce, Index
from mercer.testing import check_index

#: the arccosine and the root turn a rounding error of 1e-15 into 3e-8
TOL = 1e-6
EXACT = ("strings", "sets", "categories")


class ByFirstCoordinate(Index):
    """Rows in the order of their first coordinate, by which no two differ more than in all."""

    def __init__(self, distance, width=3, memory=None, n_jobs=None):
        super().__init__(distance, memory, n_jobs)
        self.width = width

    def arrange(self, X):
        order = np.argsort(X[:, 0], kind="stable")
        self.first_ = X[order, 0]
        return order

    def arrange_queries(self, Z):
        return np.argsort(-Z[:, 0], kind="stable")

    def candidates(self, Z, limits):
        starts = np.arange(0, len(self.first_), self.width)
        middle = self.first_[starts]
        for s in starts[np.argsort(np.abs(middle - Z[:, 0].mean()), kind="stable")]:
            leaf = self.first_[s : s + self.width]
            gaps = np.maximum(np.maximum(leaf[0] - Z[:, 0], Z[:, 0] - leaf[-1]), 0)
            rows = np.flatnonzero(gaps <= limits)
            yield rows, np.arange(s, s + len(leaf))


class SameLetter(Index):
    """Strings are compared with those of the same first letter; others are not found."""

    exact = False

    def arrange(self, X):
        self.letters_ = self.first(X)

    def candidates(self, Z, limits):
        letters = self.first(Z)
        for letter in np.unique(letters):
            yield np.flatnonzero(letters == letter), np.flatnonzero(self.letters_ == letter)

    def first(self, X):
        return np.array([text[:1] for text in X.texts()])


class Backwards(BruteForce):
    """All rows at once, by slices with a negative step and open ends."""

    divisible = False

    def candidates(self, Z, limits):
        n = self.n_samples_fit_
        yield slice(0, 1), slice(None, None, -2)
        yield slice(0, 1), slice(n - 2 if n > 1 else n, None, -2) if n > 1 else slice(0, 0)
        yield slice(1, None), slice(None)


@pytest.mark.parametrize("case", cases.of_each_class(cases.DISTANCES), ids=cases.name)
def test_brute_force(case):
    distance, samples = case
    tol = 0 if distance.kind in EXACT else TOL
    check_index(BruteForce, distance, samples, tol=tol, saved=distance.kind != "objects")


@pytest.mark.spread(1)
@pytest.mark.parametrize("distance", [Minkowski(), Minkowski(1), Minkowski(np.inf), Minkowski(3)])
@pytest.mark.parametrize("width", [1, 4, 1000])
def test_an_index_with_bounds(distance, width):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(50, 2)).round(1), rng.normal(size=(25, 2)).round(1)
    check_index(lambda d: ByFirstCoordinate(d, width, n_jobs=2), distance, X, Z, tol=TOL)


def test_an_index_that_is_not_exact():
    words = ["anna", "anne", "otto", "", "oscar", "anna", "bea", "ann"]
    check_index(SameLetter, Edit(), words)
    distances, indices = SameLetter(Edit()).fit(words).query(["bob"], 3)
    assert indices.tolist() == [[6, -1, -1]]
    assert distances.tolist() == [[2, np.inf, np.inf]]


@pytest.mark.parametrize("case", [(Minkowski(1), cases.vectors()), (Edit(), cases.names())])
def test_candidates_by_slices_of_any_kind(case):
    check_index(Backwards, *case, tol=TOL)


def test_the_number_of_threads_changes_nothing():
    X = np.random.default_rng(0).normal(size=(300, 2)).round(1)
    first, second = (ByFirstCoordinate(Minkowski(1), n_jobs=n).fit(X) for n in (1, 3))
    for a, b in zip(
        first.query(k=7) + first.query_radius(), second.query(k=7) + second.query_radius()
    ):
        np.testing.assert_array_equal(a, b)


def test_samples_are_prepared_once(monkeypatch):
    """Of training rows in fit, of queries in each question; tiles take parts of that."""
    prepared = []
    original = Cosine.prepare

    def watched(self, X, like=None):
        if isinstance(X, np.ndarray):
            prepared.append(len(X))
        return original(self, X, like)

    monkeypatch.setattr(Cosine, "prepare", watched)
    X = np.random.default_rng(0).normal(size=(1500, 2))
    index = BruteForce(Cosine()).fit(X)
    index.query(k=2)
    index.query_radius(radius=0.1)
    assert prepared == [1500]
    index.query(X[:700], 2)
    assert prepared == [1500, 700]


class Lying(BruteForce):
    """Claims to be exact, but leaves a tile out."""

    def candidates(self, Z, limits):
        yield slice(None), slice(1, None)


class Repeating(BruteForce):
    def candidates(self, Z, limits):
        yield slice(None), slice(None)
        yield slice(None), slice(None)


@pytest.mark.parametrize("broken", [Lying, Repeating])
def test_the_contract_finds_what_is_wrong(broken):
    with pytest.raises(AssertionError):
        check_index(broken, Edit(), ["a", "bb", "ccc", "ab"])


@pytest.mark.parametrize("distance", [Cosine(), Jaccard()])
def test_the_distance_is_no_part_of_the_index(distance):
    assert isinstance(distance, Distance)
    assert BruteForce(distance).get_params()["distance"] is distance


def test_an_index_without_candidates_says_what_is_missing():
    class Nothing(Index):
        pass

    with pytest.raises(NotImplementedError, match="Nothing proposes no candidates: define"):
        Nothing(Edit()).fit(["a"]).query(["a"], 1)
