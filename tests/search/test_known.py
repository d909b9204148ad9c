"""Neighbours that a sparse matrix of distances holds, against the full matrix and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.neighbors
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import mercer
from mercer import (
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LocalOutlierFactor,
    NearestNeighbors,
)
from mercer.distances import Minkowski
from mercer.distances.from_function import Precomputed
from mercer.search import BruteForce, KnownNeighbours, fit_index
from mercer.testing import check_index

RNG = np.random.default_rng(0)
X, Z = RNG.integers(0, 5, (60, 3)).astype(float), RNG.integers(0, 5, (20, 3)).astype(float)  # ties
y = (X.sum(axis=1) > 6).astype(int)


def stored(D):
    """All entries of a matrix, zeros too, as sparse rows in an order of their own."""
    n, m = D.shape
    columns = np.concatenate([RNG.permutation(m) for _ in range(n)])
    rows = np.repeat(np.arange(n), m)
    return sp.csr_array((D[rows, columns], columns, np.arange(n + 1) * m), shape=D.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_distances_as_sparse_rows_are_the_full_matrix(dtype):
    D, others = Minkowski()(X).astype(dtype), Minkowski()(Z, X).astype(dtype)
    index, name = fit_index(stored(D), Precomputed())
    full = BruteForce(Precomputed()).fit(D)
    assert (name, type(index)) == ("known", KnownNeighbours)
    for few, many in ((None, None), (stored(others), others)):
        for k in (1, 7, 59):
            for found, wanted in zip(index.query(few, k), full.query(many, k), strict=True):
                assert_array_equal(found, wanted)
                assert found.dtype == wanted.dtype
        for radius in (0, 1.5, np.inf):
            found, wanted = index.query_radius(few, radius), full.query_radius(many, radius)
            for a, b in zip(found, wanted, strict=True):
                assert_array_equal(a, b)
                assert a.dtype == b.dtype


def test_the_contract_of_the_full_matrix():
    D = Minkowski()(X)

    class Stored(Precomputed):
        """Reads full matrices as sparse ones."""

        def known(self, X, Z):
            return stored(self.block(X, Z))

    check_index(KnownNeighbours, Stored(), D, tol=0, trusted=(Stored,), saved=False)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("kind", ["KNeighborsClassifier", "KNeighborsRegressor"])
def test_graphs_in_pipelines_are_those_of_scikit_learn(kind, weights):
    A, B = RNG.normal(size=(80, 3)), RNG.normal(size=(30, 3))
    target = (A[:, 0] > 0).astype(int)
    answers = []
    for room in (mercer, sklearn.neighbors):
        graph = sklearn.neighbors.KNeighborsTransformer(n_neighbors=20, mode="distance")
        model = getattr(room, kind)(7, metric="precomputed", weights=weights)
        answers.append(make_pipeline(graph, model).fit(A, target).predict(B))
    assert_allclose(*answers)


def test_every_learner_that_asks_for_neighbours_reads_a_graph(tmp_path):
    graph = NearestNeighbors(n_neighbors=50).fit(X).kneighbors_graph(mode="distance")
    factors = [
        model.fit(samples).negative_outlier_factor_
        for model, samples in (
            (LocalOutlierFactor(7, metric="precomputed"), graph),
            (LocalOutlierFactor(7), X),
        )
    ]
    assert_allclose(*factors)
    given = KNeighborsRegressor(3, metric="precomputed").fit(graph, y)
    plain = KNeighborsRegressor(3).fit(X, y)
    assert_allclose(given.predict(None), plain.predict(None))
    chosen = KNeighborsClassifier("auto", metric="precomputed").fit(graph, y)
    assert chosen.loo_scores_ == KNeighborsClassifier("auto").fit(X, y).loo_scores_
    # rows of weight 0 are left out of the columns as well
    w = np.arange(len(X)) % 3 > 0
    whole = stored(Minkowski()(X))
    given = KNeighborsClassifier(3, metric="precomputed").fit(whole, y, sample_weight=w)
    plain = KNeighborsClassifier(3).fit(X, y, sample_weight=w)
    assert_array_equal(given.predict(stored(Minkowski()(Z, X))), plain.predict(Z))
    folds = [
        cross_val_score(KNeighborsClassifier(3, **metric), samples, y, cv=3)
        for metric, samples in (({"metric": "precomputed"}, whole), ({}, X))
    ]
    assert_array_equal(*folds)
    mercer.save(chosen, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert_array_equal(again.predict(graph), chosen.predict(graph))


def test_what_the_graph_does_not_hold_is_asked_for_in_vain():
    graph = NearestNeighbors(n_neighbors=4).fit(X).kneighbors_graph(mode="distance")
    model = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(graph)
    assert model.kneighbors()[1].shape == (60, 4)
    with pytest.raises(ValueError, match=r"5 neighbors are required, but row 0 .* has only 4"):
        model.kneighbors(n_neighbors=5)
    whole = model.kneighbors(Minkowski()(Z, X))  # of new rows all distances may be known
    assert_array_equal(whole[1], NearestNeighbors(n_neighbors=4).fit(X).kneighbors(Z)[1])
    with pytest.raises(ValueError, match=r"X has to be \(m, 60\)"):
        model.kneighbors(graph[:, :9])
    with pytest.raises(ValueError, match="must be square"):
        model.fit(graph[:9])
    wrong = graph.copy()
    wrong.data[0] = -1
    with pytest.raises(ValueError, match=rf"X\[0, {wrong.indices[0]}\] = -1"):
        model.fit(wrong)
    wrong.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(wrong)
    density = KernelDensity(metric="precomputed").fit(graph)
    with pytest.raises(ValueError, match="sparse matrix, which holds the distances to some"):
        density.score_samples(graph)
    full = NearestNeighbors(metric="precomputed").fit(Minkowski()(X))
    with pytest.raises(ValueError, match="5 neighbors are required"):
        full.kneighbors(graph)
