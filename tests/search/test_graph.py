"""The index by a graph: the contract of indexes, and its recall beside brute force."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.distances import Cosine, Edit, Jaccard, Mahalanobis, MappedMinkowski, Minkowski
from mercer.search import BruteForce, GraphIndex
from mercer.testing import check_index

pytest.importorskip("usearch")
DISTANCES = [
    Minkowski(),
    Minkowski(weights=[1, 2, 0, 3, 1, 1]),
    Mahalanobis(),
    MappedMinkowski([1, 0, 1, 0, 0, 3]),
    Cosine(),
]


def vectors(n=120, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 6)).round(1)
    X[3] = X[7] = 0
    X[5] = X[4]
    return X


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_the_contract_of_indexes(distance):
    X, Z = vectors(), vectors(50, 1)
    check_index(lambda d: GraphIndex(d, n_jobs=2), distance, X, Z, saved=False)
    check_index(lambda d: GraphIndex(d, 2, 1), distance, X, Z, saved=False)


@pytest.mark.spread(4)
@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_recall_beside_brute_force(distance):
    X, Z = vectors(4000) + 1000, vectors(300, 1) + 1000  # far from the origin
    brute, graph = BruteForce(distance).fit(X), GraphIndex(distance, n_jobs=1).fit(X)
    wanted, found = brute.query(Z, 10), graph.query(Z, 10)
    recall = np.mean([np.isin(w, f).mean() for w, f in zip(wanted[1], found[1])])
    assert recall > (0.7 if isinstance(distance, Cosine) else 0.95)
    same = np.isclose(found[0][:, 0], wanted[0][:, 0], atol=1e-3)
    assert same.mean() > 0.95
    assert (found[0][:, 0] > wanted[0][:, 0] - 1e-3).all()
    radius = float(np.median(wanted[0]))
    total, some = brute.query_radius(Z, radius), graph.query_radius(Z, radius)
    widest = brute.query_radius(Z, radius + 1e-6)  # rounding may let rows of the edge in
    assert 0.9 * len(total[1]) < len(some[1]) <= len(widest[1])
    everything = graph.query_radius(Z[:3], np.inf)
    assert len(everything[1]) > 0.99 * 3 * len(X)


def test_float32_and_pieces(monkeypatch):
    from mercer.search import graph

    monkeypatch.setattr(graph, "STEP", 7)
    X = vectors().astype(np.float32)
    distances, _ = GraphIndex(Minkowski(), n_jobs=1).fit(X).query(k=3)
    assert distances.dtype == np.float32
    assert_allclose(distances, BruteForce(Minkowski()).fit(X).query(k=3)[0], atol=1e-3)


@pytest.mark.parametrize(
    ("make", "X", "error", "message"),
    [
        (lambda: GraphIndex(Edit()), ["a", "b"], TypeError, "no graph for Edit.*LSHIndex or Brute"),
        (lambda: GraphIndex(Jaccard()), [{1}, {2}], TypeError, "no graph for Jaccard"),
        (lambda: GraphIndex(Minkowski(1)), vectors(), TypeError, "no graph for Minkowski"),
        (lambda: GraphIndex(Minkowski(), 1), vectors(), ValueError, "connectivity=1: give"),
        (lambda: GraphIndex(Minkowski(), 8, 0), vectors(), ValueError, "expansion=0"),
        (lambda: GraphIndex(Minkowski(), memory=1000), vectors(), MemoryError, "graph of 120 rows"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, X, error, message):
    with pytest.raises(error, match=message):
        make().fit(X)


def test_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r'needs USearch .* pip install "mercer\[graph\]"'):
        GraphIndex(Minkowski()).fit(vectors())


@pytest.mark.full
def test_results_beyond_memory_are_refused():
    X = vectors(2000)
    index = GraphIndex(Minkowski(), memory="1MB").fit(X)
    with pytest.raises(ValueError, match=r"k=100 finds 200,000 pairs .*: give more memory, or"):
        index.query(X, 100)
    with pytest.raises(ValueError, match=r"radius=9 finds .* beyond memory='1MB'"):
        index.query_radius(X, 9)
