"""`KMedoids` beside all choices of medoids."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KMedoids, NearestNeighbors
from mercer.distances import DTW, Edit, Jaccard, Minkowski
from mercer.kernels import RBF
from mercer.learners.base import distance_learner
from mercer.learners.density import kmedoids

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(c, 1, (20, 2)) for c in (0, 6, 12)])


@parametrize_with_checks([KMedoids(3)])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_small_samples_by_all_choices(k):
    D = cdist(X[::4], X[::4], "cityblock")
    least = min(D[:, list(some)].min(axis=1).sum() for some in combinations(range(15), k))
    found = [KMedoids(k, metric=Minkowski(1), random_state=s).fit(X[::4]) for s in range(5)]
    for model in found:
        assert_allclose(model.inertia_, D[:, model.medoid_indices_].min(axis=1).sum())
    assert_allclose(min(model.inertia_ for model in found), least)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rounded", [False, True])
def test_no_exchange_lowers_the_sum(seed, rounded):
    rows = np.round(X) if rounded else X
    D = cdist(rows, rows)
    model = KMedoids(6, metric="precomputed", random_state=seed).fit(D)
    assert_allclose(model.inertia_, KMedoids(6, random_state=seed).fit(rows).inertia_)
    medoids = model.medoid_indices_
    for m in range(6):
        kept = np.delete(D[:, medoids], m, axis=1).min(axis=1)
        sums = np.minimum(kept[:, None], D).sum(axis=0)
        assert sums.min() >= model.inertia_ * (1 - 1e-9)
    assert_array_equal(model.labels_, D[:, medoids].argmin(axis=1))
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()


def test_many_rows_by_samples(monkeypatch):
    rows = np.vstack([rng.normal(c, 0.5, (100, 2)) for c in (0, 6, 12)])
    whole = KMedoids(3).fit(rows)
    monkeypatch.setattr(kmedoids, "MOST", 200)
    monkeypatch.setattr(kmedoids, "SAMPLED", 60)
    some = KMedoids(3).fit(rows)
    assert_array_equal(
        some.labels_ == some.labels_[:, None], whole.labels_ == whole.labels_[:, None]
    )
    assert whole.inertia_ <= some.inertia_ < 1.1 * whole.inertia_
    D = cdist(rows, rows)
    assert_allclose(some.inertia_, D[:, some.medoid_indices_].min(axis=1).sum())


def test_any_samples_and_new_ones(tmp_path):
    names = ["anna", "hanna", "hannah", "peter", "petra", "pete"] * 3
    series = [np.sin(np.arange(20 + i % 4) / (1 + i % 2)) + 0.01 * i for i in range(18)]
    baskets = [{i % 2, 2 + i % 2, 10 + i % 5} for i in range(18)]
    for metric, samples in ((Edit(), names), (DTW(), series), (Jaccard(), baskets), (RBF(), X)):
        model = KMedoids(2, metric=metric).fit(samples)
        assert_array_equal(model.predict(samples), model.labels_)
        assert_allclose(model.transform(samples).min(axis=1).sum(), model.inertia_)
        mercer.save(model, tmp_path / "model")
        assert_array_equal(mercer.load(tmp_path / "model").predict(samples), model.labels_)
    model = KMedoids(3).fit(X.astype(np.float32))
    assert_array_equal(model.cluster_centers_, X.astype(np.float32)[model.medoid_indices_])
    assert_array_equal(model.labels_, KMedoids(3, n_jobs=1).fit(X).labels_)


def test_tiles_and_threads_change_nothing(monkeypatch):
    plain = KMedoids(3, n_jobs=1).fit(X)
    monkeypatch.setattr(kmedoids, "EDGE", 7)
    monkeypatch.setattr(distance_learner, "STRIP", 5)
    tiles = KMedoids(3, n_jobs=3).fit(X)
    assert_array_equal(tiles.labels_, plain.labels_)
    assert_allclose(tiles.inertia_, plain.inertia_)
    assert_allclose(tiles.transform(X[:20]), plain.transform(X[:20]), atol=1e-12)


def test_few_rows_and_wrong_parameters():
    assert KMedoids(1).fit(X[:1]).inertia_ == 0
    with pytest.warns(ConvergenceWarning, match="1 distinct clusters"):
        KMedoids(2).fit(np.ones((4, 2)))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        KMedoids(25, max_iter=2, random_state=1).fit(rng.normal(size=(300, 5)))
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=8"):
        KMedoids().fit(X[:3])
    for params in ({"n_clusters": 0}, {"max_iter": 0}, {"random_state": "a"}):
        with pytest.raises((ValueError, TypeError), match=next(iter(params))):
            KMedoids(**params).fit(X)
    graph = NearestNeighbors(n_neighbors=3).fit(X).kneighbors_graph(mode="distance")
    with pytest.raises(ValueError, match="dense matrix"):
        KMedoids(2, metric="precomputed").fit(graph)
