"""Descent under any distance: the contract of indexes, recall, and how few pairs it compares."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.distances import DTW, Edit, Jaccard, KernelDistance, Minkowski, Mixed
from mercer.kernels import RBF
from mercer.search import (
    BruteForce,
    DescentIndex,
    NeighbourGraph,
    SampleDescentIndex,
    fit_index,
    sample_descent,
)
from mercer.testing import check_index


def texts(n=120, seed=0):
    """Variants of some words, with copies."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice([*"abcdef"], 12)) for _ in range(6)]
    found = []
    for _ in range(n):
        word = [*words[rng.integers(6)]]
        for place in rng.integers(0, 12, rng.integers(0, 6)):
            word[place] = str(rng.choice([*"abcdef"]))
        found.append("".join(word))
    return [*found[:-1], found[0]]


def series(n=120, seed=0, length=30, kinds=8):
    rng = np.random.default_rng(seed)
    base = np.random.default_rng(9).normal(size=(kinds, length)).cumsum(axis=1)
    noise = 0.3 * rng.normal(size=(n, length)).cumsum(axis=1)
    return [*(base[rng.integers(0, kinds, n)] + noise)]


def sets(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return [{*rng.integers(0, 12, rng.integers(1, 6)).tolist()} for _ in range(n)]


def rows(n=120, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4)).round(1)


SAMPLES = {
    "series": (DTW(), series),
    "strings": (Edit(), texts),
    "window": (DTW(window=0.1), series),
    "sets": (Jaccard(), sets),
    "kernel": (KernelDistance(RBF()), rows),
    "third powers": (Minkowski(3), rows),
    "squares": (Minkowski(), rows),
    "table": (Mixed.gower(rows()), rows),
}
CASES = [
    pytest.param(*case, id=name, marks=[] if name == "series" else pytest.mark.full)
    for name, case in SAMPLES.items()
]


@pytest.mark.spread(4)
@pytest.mark.parametrize(("distance", "make"), CASES)
def test_the_contract_of_indexes(distance, make):
    check_index(lambda d: SampleDescentIndex(d, n_jobs=2), distance, make(), make(20, 1))
    check_index(lambda d: SampleDescentIndex(d, 2, 1), distance, make(40), make(10, 1))


@pytest.mark.spread(4)
@pytest.mark.parametrize(("distance", "make"), CASES)
def test_recall_beside_brute_force(distance, make):
    X, Z = make(600), make(60, 1)
    brute, index = BruteForce(distance).fit(X), SampleDescentIndex(distance).fit(X)
    for queries, k in ((None, 10), (None, 25), (Z, 10)):
        wanted, found = brute.query(queries, k)[0], index.query(queries, k)[0]
        assert (found <= wanted[:, -1:] * (1 + 1e-6) + 1e-6).mean() > 0.97
    radius = float(np.median(brute.query(Z, 10)[0]))
    total, some = brute.query_radius(Z, radius), index.query_radius(Z, radius)
    assert 0.95 * len(total[1]) < len(some[1]) <= len(brute.query_radius(Z, radius + 1e-6)[1])


def baskets(n, seed, customers=200):
    """Parts of the usual baskets of many customers, most of them as far from each other as any."""
    rng = np.random.default_rng(seed)
    usual = np.random.default_rng(9).integers(0, 2000, (customers, 25))
    return [set(rng.choice(usual[i % customers], 15).tolist()) for i in range(n)]


def test_walks_reach_many_groups_and_the_recall_is_that_of_new_samples(monkeypatch):
    X, Z = baskets(4000, 0), baskets(300, 1)
    wanted = BruteForce(Jaccard()).fit(X).query(Z, 5)[0][:, -1:]
    index = SampleDescentIndex(Jaccard()).fit(X)
    assert (index.query(Z, 5)[0] <= wanted).mean() > 0.97
    assert index.recall_ > 0.97
    assert len(index.drawn_) < len(X) / 5  # a query is compared with these, and with few others
    # most groups that come later are reached as well
    more = baskets(600, 2, 240)
    index.add(more)
    far = BruteForce(Jaccard()).fit(more).query(more[200:240], 2)[0][:, 1]
    assert (index.query(more[200:240], 2)[0][:, 1] <= far).mean() > 0.85
    # without more entries most groups are out of reach, which the recall says
    monkeypatch.setattr(sample_descent, "ENOUGH", 0.0)
    index = SampleDescentIndex(Jaccard()).fit(X)
    found = (index.query(Z, 5)[0] <= wanted).mean()
    assert found < 0.7
    assert abs(index.recall_ - found) < 0.2


@pytest.mark.full
def test_pairs_that_are_compared_grow_as_the_rows_nearly():
    shares = []
    for n in (1000, 4000):
        graph = NeighbourGraph(DTW(), 10, "descent").fit(series(n))
        assert isinstance(graph.index_, SampleDescentIndex)
        assert (graph.algorithm_, graph.index_.n_compared_ < 320 * n) == ("descent", True)
        assert graph.recall_ > 0.95
        shares.append(graph.index_.n_compared_ / n)
    assert shares[1] < 1.5 * shares[0]


@pytest.mark.parametrize(("distance", "make"), CASES[:2])
def test_threads_and_parts_change_nothing(distance, make, monkeypatch):
    X, Z = make(300), make(30, 1)
    one = SampleDescentIndex(distance, n_jobs=1).fit(X)
    wanted = [one.query(None, 9), one.query(Z, 9)]
    three = SampleDescentIndex(distance, n_jobs=3).fit(X)
    for name, size in {"TASK": 100, "SEEN": 300 * 7}.items():
        monkeypatch.setattr(sample_descent, name, size)
    monkeypatch.setattr(sample_descent, "STRIP", 7)
    small = SampleDescentIndex(distance, n_jobs=3).fit(X)
    for index in (three, small):
        for found, (distances, indices) in zip(
            (index.query(None, 9), index.query(Z, 9)), wanted, strict=True
        ):
            assert_array_equal(found[0], distances)
            assert_array_equal(found[1], indices)
    assert_array_equal(one.query(Z[4:6], 9)[1], wanted[1][1][4:6])


def test_descent_is_by_vectors_where_it_can_be():
    for distance, X, kind in [
        (Minkowski(), rows(), DescentIndex),
        (Minkowski(3), rows(), SampleDescentIndex),
        (Edit(), texts(), SampleDescentIndex),
    ]:
        index, name = fit_index(X, distance, "descent")
        assert (name, type(index)) == ("descent", kind)


def test_copies_few_rows_and_infinite_distances():
    distances, indices = SampleDescentIndex(Edit()).fit(["a"] * 30).query(k=5)
    assert not distances.any()
    assert indices[0].tolist() == [1, 2, 3, 4, 5]
    assert SampleDescentIndex(Edit()).fit(["a", "abc"]).query(k=1)[1].tolist() == [[1], [0]]
    rng = np.random.default_rng(0)
    apart = [rng.normal(size=10 + 40 * (i % 2)).cumsum() for i in range(50)]  # no window aligns
    index = SampleDescentIndex(DTW(window=0.1)).fit(apart)
    distances, indices = index.query(k=5)
    near = np.isfinite(distances)
    assert near.mean() > 0.9
    assert ((indices % 2 == np.arange(50)[:, None] % 2) | ~near).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SampleDescentIndex(Edit(), 1), ValueError, "connectivity=1: give"),
        (lambda: SampleDescentIndex(Edit(), 8, 0), ValueError, "expansion=0"),
        (lambda: SampleDescentIndex(Edit(), memory=1000), MemoryError, "the graph of"),
    ],
)
def test_bad_input_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make().fit(texts())
