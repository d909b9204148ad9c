"""Graphs of neighbours: against brute force, in learners, as sparse matrices and in files."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mercer
from mercer.distances import DTW, Edit, KernelDistance, Minkowski, Mixed, Precomputed
from mercer.kernels import RBF, Spectrum
from mercer.search import BruteForce, Index, LSHIndex, NeighbourGraph

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1)  # with ties
L2: Any = "l2"
NAMES = ["anna", "hanna", "hannah", "anne", "otto", "lotto", "motto", "potto", "ottos"]


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "metric_tree"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_graphs_are_those_of_brute_force(algorithm, dtype):
    rows = X.astype(dtype)
    graph = NeighbourGraph(Minkowski(), 7, algorithm).fit(rows)
    distances, indices = BruteForce(Minkowski()).fit(rows.astype(float)).query(k=7)
    assert_array_equal(graph.distances_, distances)
    assert_array_equal(graph.indices_, indices)
    assert graph.distances_.dtype == graph.X_fit_.dtype == float
    assert (graph.recall_, graph.recall(), graph.n_neighbors_) == (1, 1, 7)


@pytest.mark.parametrize("distance", [Edit(), Spectrum(2), KernelDistance(Spectrum(2))], ids=repr)
def test_distances_and_kernels_of_any_kind(distance):
    graph = NeighbourGraph(distance, 2).fit(NAMES)
    model = mercer.NearestNeighbors(n_neighbors=2, metric=distance).fit(NAMES)
    assert_array_equal(graph.indices_, model.kneighbors()[1])
    assert graph.recall(5) == 1


def test_the_recall_is_a_share_of_the_neighbours():
    graph = NeighbourGraph(Minkowski(), 10, LSHIndex(Minkowski(), recall=0.6)).fit(X)
    true = BruteForce(Minkowski()).fit(X).query(k=10)[0][:, -1:]
    share = (graph.distances_ <= true * (1 + 1e-9)).mean()
    assert graph.recall(300) == share < 1
    assert abs(graph.recall_ - share) < 0.05  # of fewer rows


def test_a_graph_stands_for_its_sparse_matrix_in_learners():
    graph: Any = NeighbourGraph(Minkowski(), 12).fit(X)
    same = graph.to_sparse()
    y = X[:, 0] > 0
    for model, asked in [
        (
            mercer.NeighbourEmbedding(5, steps=20, metric="precomputed", random_state=0),
            "embedding_",
        ),
        (mercer.HDBSCAN(4, metric="precomputed"), "labels_"),
        (mercer.LocalOutlierFactor(5, metric="precomputed"), "negative_outlier_factor_"),
    ]:
        found = getattr(model.fit(graph), asked)
        assert model.n_features_in_ == len(X)
        assert_array_equal(found, getattr(model.fit(same), asked))
    for model in (
        mercer.KNeighborsClassifier(3, metric="precomputed"),
        mercer.NearestNeighbors(n_neighbors=3, metric="precomputed"),
    ):
        distances, indices = model.fit(graph, y).kneighbors()
        assert_array_equal(distances, graph.distances_[:, :3])
        assert_array_equal(indices, graph.indices_[:, :3])
    again = NeighbourGraph(Precomputed(), 3).fit(graph)
    assert_array_equal(again.indices_, graph.indices_[:, :3])
    assert (again.algorithm_, again.recall()) == ("known", 1)
    with pytest.raises(TypeError, match="X is a NeighbourGraph, but Minkowski reads"):
        mercer.NearestNeighbors().fit(graph)
    with pytest.raises(ValueError, match="KMedoids compares all rows"):
        mercer.KMedoids(2, metric="precomputed").fit(graph)


class Counted(BruteForce):
    """Counts the questions by its own rows."""

    asked = 0

    def query(self, Z=None, k=5):
        Counted.asked += Z is None
        return super().query(Z, k)


SERIES = [RNG.normal(size=length) for length in RNG.integers(8, 14, 40)]
TABLE = pl.DataFrame({"a": X[:, 0], "b": [NAMES[i % 9] for i in range(300)]})


@pytest.mark.parametrize(
    ("distance", "rows"),
    [(Minkowski(1), X), (Minkowski(), X.astype(np.float32)), (RBF(), RNG.normal(size=(200, 3))),
     (Edit(), 9 * NAMES), (DTW(), SERIES), (Mixed.gower(TABLE), TABLE)],
    ids=["numbers", "float32", "kernel", "strings", "series", "table"],
)  # fmt: skip
def test_learners_take_a_graph_for_its_rows_and_do_not_search_again(distance, rows):
    graph: Any = NeighbourGraph(distance, 9, Counted(Minkowski())).fit(rows)
    asked = Counted.asked
    for make, names in [
        (
            lambda metric: mercer.NeighbourEmbedding(5, steps=20, metric=metric, random_state=0),
            ["embedding_", "kl_divergence_"],
        ),
        (lambda metric: mercer.HDBSCAN(4, metric=metric), ["labels_", "outlier_scores_"]),
        (lambda metric: mercer.KMedoids(3, metric=metric, random_state=0), ["medoid_indices_"]),
        (lambda metric: mercer.LocalOutlierFactor(6, metric=metric), ["negative_outlier_factor_"]),
    ]:
        plain, same = make(distance).fit(rows), make("graph").fit(graph)
        for name in names:
            known = np.asarray(getattr(plain, name))  # of float32 where its rows are
            assert_array_equal(np.asarray(getattr(same, name), known.dtype), known)
    y = np.random.default_rng(1).integers(-1, 2, len(rows))  # a third has no class
    plain = mercer.LabelSpreading(5, metric=distance).fit(rows, y)
    same = mercer.LabelSpreading(5, metric="graph").fit(graph, y)
    assert_array_equal(same.transduction_, plain.transduction_)
    assert Counted.asked == asked
    new = rows[:3]
    for learner, ask in [
        (mercer.NeighbourEmbedding(5, steps=20, random_state=0), "transform"),
        (mercer.HDBSCAN(4), "approximate_predict"),
    ]:
        copy: Any = clone(learner)
        same = copy.set_params(metric="graph").fit(graph)
        plain = learner.set_params(metric=distance).fit(rows)
        assert_array_equal(getattr(same, ask)(new), getattr(plain, ask)(new))


def test_a_graph_of_fewer_neighbours_than_are_asked_for_has_them_searched():
    graph, few = NeighbourGraph(Minkowski(), 9).fit(X), NeighbourGraph(Minkowski(), 2).fit(X)
    for learner in (
        mercer.HDBSCAN(6, metric="graph"),
        mercer.NeighbourEmbedding(9, steps=20, metric="graph", random_state=0),
    ):
        found = []
        for given in (graph, few):
            copy: Any = clone(learner)
            found.append(vars(copy.fit(given)))
        for name in {"labels_", "embedding_"} & set(found[0]):
            assert_array_equal(found[0][name], found[1][name])


def test_other_samples_are_no_graph():
    for rows, error, message in [
        (X, TypeError, "X is .*, but metric='graph' reads a fitted mercer.search.NeighbourGraph"),
        (NeighbourGraph(Minkowski()), NotFittedError, "NeighbourGraph instance is not fitted"),
    ]:
        given: Any = rows
        with pytest.raises(error, match=message):
            mercer.HDBSCAN(metric="graph").fit(given)


def test_edges_of_either_row_and_of_both():
    graph = NeighbourGraph(Minkowski(), 5).fit(X)
    directed = graph.to_sparse()
    D = Minkowski()(X)
    wanted = np.zeros(D.shape, bool)
    wanted[np.arange(len(X))[:, None], graph.indices_] = True
    for edges, mask in [
        ("found", wanted),
        ("either", wanted | wanted.T),
        ("both", wanted & wanted.T),
    ]:
        matrix = graph.to_sparse(edges)
        assert matrix.has_sorted_indices
        i, j = np.nonzero(mask)  # entries of length 0 are stored, too
        assert_array_equal(np.repeat(np.arange(len(X)), np.diff(matrix.indptr)), i)
        assert_array_equal(matrix.indices, j)
        assert_allclose(matrix.data, D[i, j])
        near = graph.to_sparse(edges, radius=0.55)
        assert near.nnz == (mask & (D <= 0.55)).sum()
    assert graph.n_parts_ == connected_components(directed, directed=False)[0]
    far = NeighbourGraph(Minkowski(), 3).fit(np.vstack([X, X + 100]))
    assert far.n_parts_ >= 2


def test_copies_and_few_rows():
    graph = NeighbourGraph(Minkowski(), 3).fit(np.ones((30, 2)))
    assert not graph.distances_.any()
    assert graph.recall() == 1
    assert (graph.indices_ != np.arange(30)[:, None]).all()
    either, both = (graph.to_sparse(edges).nnz for edges in ("either", "both"))
    assert either + both == 2 * 30 * 3
    with pytest.warns(UserWarning, match="n_neighbors=15, but there are 2 rows"):
        graph = NeighbourGraph(Minkowski()).fit(X[:2])
    assert graph.indices_.tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="n_samples=1: a graph of neighbours needs 2 rows"):
        NeighbourGraph(Minkowski()).fit(X[:1])


@pytest.mark.parametrize(
    ("make", "samples", "error", "message"),
    [
        (lambda: NeighbourGraph(L2), X, TypeError, "distance='l2': give a distance"),
        (lambda: NeighbourGraph(Minkowski(), 0), X, ValueError, "n_neighbors=0"),
        (lambda: NeighbourGraph(Minkowski(), 2, "best"), X, ValueError, "algorithm='best'"),
        (lambda: NeighbourGraph(Minkowski()), X * np.nan, ValueError, "NaN"),
        (lambda: NeighbourGraph(Minkowski(), memory=100), X, ValueError, "beyond memory=100"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(make, samples, error, message):
    with pytest.raises(error, match=message):
        make().fit(samples)


def test_bad_edges_are_refused():
    graph = NeighbourGraph(Edit(), 2).fit(NAMES)
    with pytest.raises(ValueError, match="edges='all': give one of"):
        graph.to_sparse("all")
    with pytest.raises(ValueError, match="radius=-1: give a number >= 0"):
        graph.to_sparse(radius=-1)
    with pytest.raises(ValueError, match="rows=0"):
        graph.recall(0)


def test_a_graph_in_a_file(tmp_path):
    for made, rows in [(NeighbourGraph(RBF(), 4, "brute"), X), (NeighbourGraph(Edit(), 2), NAMES)]:
        graph = made.fit(rows)
        mercer.save(graph, tmp_path / "graph")
        found = mercer.load(tmp_path / "graph")
        assert_array_equal(found.distances_, graph.distances_)
        assert_array_equal(found.indices_, graph.indices_)
        assert found.recall() == graph.recall() == 1
        assert isinstance(found.index_, Index)
        assert sp.issparse(found.to_sparse())
