"""The index by descent: the contract of indexes, its recall beside brute force, and its loops."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import HDBSCAN, _native
from mercer.distances import Cosine, Edit, Jaccard, Mahalanobis, MappedMinkowski, Minkowski
from mercer.search import BruteForce, DescentIndex, NeighbourGraph, descent, graph
from mercer.testing import check_index

DISTANCES = [
    Minkowski(),
    Minkowski(1),
    Minkowski(weights=[1, 2, 0, 3, 1, 1]),
    Mahalanobis(),
    MappedMinkowski([1, 0, 1, 0, 0, 3]),
    Cosine(),
]


def vectors(n=120, seed=0, d=6):
    X = np.random.default_rng(seed).normal(size=(n, d)).round(1)
    X[3] = X[7] = 0
    X[5] = X[4]
    return X


def found(wanted, distances):
    """The share of neighbours that are no farther than the true last one."""
    return (distances <= wanted[:, -1:] * (1 + 1e-6)).mean()


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_the_contract_of_indexes(distance):
    X, Z = vectors(), vectors(50, 1)
    check_index(lambda d: DescentIndex(d, n_jobs=2), distance, X, Z)
    check_index(lambda d: DescentIndex(d, 2, 1), distance, X, Z)


@pytest.mark.spread(4)
@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_recall_beside_brute_force(distance):
    X, Z = vectors(4000) + 1000, vectors(300, 1) + 1000  # far from the origin
    brute, index = BruteForce(distance).fit(X), DescentIndex(distance).fit(X)
    for queries, k in ((None, 15), (None, 30), (Z, 10)):
        assert found(brute.query(queries, k)[0], index.query(queries, k)[0]) > 0.98
    radius = float(np.median(brute.query(Z, 10)[0]))
    total, some = brute.query_radius(Z, radius), index.query_radius(Z, radius)
    widest = brute.query_radius(Z, radius + 1e-6)  # rounding may let rows of the edge in
    assert 0.95 * len(total[1]) < len(some[1]) <= len(widest[1])
    everything = index.query_radius(Z[:3], np.inf)
    assert len(everything[1]) > 0.99 * 3 * len(X)


def test_walks_reach_many_clusters_and_the_recall_is_that_of_new_rows(monkeypatch):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, 32))
    rows = centres[rng.integers(0, 200, 10_500)] + 0.3 * rng.normal(size=(10_500, 32))
    X, Z = rows[500:], rows[:500]
    wanted, measured = BruteForce(Minkowski()).fit(X).query(Z, 10)[0], {}
    for probes in (descent.PROBES, 1):
        monkeypatch.setattr(descent, "PROBES", probes)
        index = DescentIndex(Minkowski()).fit(X)
        measured[probes] = found(wanted, index.query(Z, 10)[0])
        assert abs(index.recall_ - measured[probes]) < 0.1
    assert measured[6] > 0.98
    assert measured[1] < 0.95


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_neighbours_on_any_number_of_threads(dtype, monkeypatch):
    X = vectors(3000, d=20).astype(dtype)
    one = DescentIndex(Minkowski(), n_jobs=1).fit(X)
    three = DescentIndex(Minkowski(), n_jobs=3).fit(X)
    for queries in (None, X[:100] + 0.5):
        for a, b in zip(one.query(queries, 9), three.query(queries, 9), strict=True):
            assert_array_equal(a, b)
    assert one.query(k=3)[0].dtype == dtype
    assert found(BruteForce(Minkowski()).fit(X).query(k=9)[0], one.query(k=9)[0]) > 0.97
    before = one.query(X[:100], 9)
    monkeypatch.setattr(descent, "STRIP", 700)  # other lists are read
    monkeypatch.setattr(graph, "STRIP", 30)  # queries are other parts
    monkeypatch.setattr(descent, "STEP", 30)
    assert_array_equal(one.query(X[:100], 9)[1], before[1])
    again = DescentIndex(Minkowski()).fit(X)
    assert (again.query(k=9)[1] == one.query(k=9)[1]).mean() > 0.95


@pytest.mark.parametrize("unit", [1e-200, 1e-30, 1e30, 1e150])
def test_any_unit(unit):
    X = vectors(500)
    index = DescentIndex(Minkowski()).fit(X * unit)
    wanted = BruteForce(Minkowski()).fit(X).query(k=5)[0]
    if 1e-100 < unit < 1e100:  # squares beyond floats
        assert_allclose(index.query(k=5)[0], wanted * unit, rtol=1e-6)
    far = index.query(np.full((1, 6), 1e100 * unit), 3)[1]
    assert (far >= 0).all()


def test_copies_and_few_rows():
    distances, indices = DescentIndex(Minkowski()).fit(np.ones((30, 3))).query(k=5)
    assert not distances.any()
    assert indices[0].tolist() == [1, 2, 3, 4, 5]
    assert DescentIndex(Minkowski()).fit(np.ones((1, 3))).query([[2.0, 1, 1]], 1)[0] == 1
    two = DescentIndex(Minkowski()).fit([[0.0], [2.0]])
    assert two.query(k=1)[1].tolist() == [[1], [0]]
    # groups of more copies than a list holds, few of all rows
    X = vectors(2000)
    X[:100] = np.repeat(X[:2], 50, axis=0)
    graph = NeighbourGraph(Minkowski(), 10, "descent").fit(X)
    assert graph.recall_ > 0.98
    assert not graph.distances_[:100].any()


def test_a_graph_of_many_columns_in_clusters():
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(6, 100))
    X = centres[np.arange(3000) % 6] + rng.normal(size=(3000, 1)) * rng.normal(size=100)
    X += 0.3 * rng.normal(size=X.shape)
    graph: Any = NeighbourGraph(Minkowski(), 10, "descent").fit(X.astype(np.float32))
    assert (graph.algorithm_, graph.n_parts_) == ("descent", 6)
    assert graph.recall_ > 0.9
    assert abs(graph.recall(3000) - graph.recall_) < 0.03
    labels = HDBSCAN(10, metric="precomputed").fit(graph).labels_
    assert len(set(labels[labels >= 0])) >= 6


@pytest.mark.full
def test_tiles_are_sums_of_each_pair_on_every_machine():
    rng = np.random.default_rng(0)
    X, before = rng.normal(size=(40, 48)).astype(np.float32), _native.isa()
    listed = rng.permutation(40)[:13].astype(np.int32)
    try:
        for isa in _native.available_isas():
            assert _native.use_isa(isa)
            for squared in (True, False):
                out, whole = np.empty((40, 13), np.float32), np.empty((40, 40), np.float32)
                _native.descent_table(X, squared, X, listed, out)
                _native.descent_table(X, squared, X, np.arange(40, dtype=np.int32), whole)
                gaps = X[:, None].astype(float) - X[listed]
                wanted = (gaps**2 if squared else abs(gaps)).sum(axis=2)
                assert_allclose(out, wanted, rtol=1e-5)
                assert_array_equal(out, whole[:, listed])
                assert_array_equal(whole, whole.T)
    finally:
        _native.use_isa(before)


@pytest.mark.parametrize(
    ("make", "X", "error", "message"),
    [
        (lambda: DescentIndex(Edit()), ["a", "b"], TypeError, "no graph for Edit.*LSHIndex or Bru"),
        (lambda: DescentIndex(Jaccard()), [{1}, {2}], TypeError, "no graph for Jaccard"),
        (lambda: DescentIndex(Minkowski(3)), vectors(), TypeError, "no graph for Minkowski"),
        (lambda: DescentIndex(Minkowski(0)), vectors(), TypeError, "no graph for Minkowski"),
        (lambda: DescentIndex(Minkowski(), 1), vectors(), ValueError, "connectivity=1: give"),
        (lambda: DescentIndex(Minkowski(), 8, 0), vectors(), ValueError, "expansion=0"),
        (lambda: DescentIndex(Minkowski(), memory=1000), vectors(), MemoryError, "of 120 rows"),
        (lambda: DescentIndex(Minkowski()), vectors() * np.nan, ValueError, "NaN"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, X, error, message):
    with pytest.raises(error, match=message):
        make().fit(X)


@pytest.mark.full
def test_results_beyond_memory_are_refused():
    X = vectors(2000)
    index = DescentIndex(Minkowski(), memory="3MB").fit(X)
    with pytest.raises(ValueError, match=r"k=100 finds 200,000 pairs .*: give more memory, or"):
        index.query(X, 100)
    with pytest.raises(ValueError, match=r"radius=9 finds .* beyond memory='3MB'"):
        index.query_radius(X, 9)
