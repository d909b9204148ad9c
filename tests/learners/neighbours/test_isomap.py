"""Isomap: against scikit-learn's, by its definition, and where the graph is in parts."""

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.manifold
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import floyd_warshall
from sklearn.datasets import make_swiss_roll
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import Isomap
from mercer.distances import DTW, Edit, KernelDistance, Minkowski
from mercer.kernels import RBF
from mercer.learners.neighbours import isomap
from mercer.search import NeighbourGraph
from mercer.solvers import LandmarkScaling

RNG = np.random.default_rng(0)
ROLL, PLACE = make_swiss_roll(400, random_state=0)
NEW = make_swiss_roll(50, random_state=1)[0]
PARTS = np.concatenate([RNG.normal(size=(40, 3)) + shift for shift in (0, 12, [40, 0, 0], -25)])
NAMES = ["anna", "hanna", "hannah", "anne", "otto", "lotto", "motto", "potto", "ottos"]


@pytest.mark.filterwarnings("ignore:The 5 nearest neighbours")
@parametrize_with_checks([Isomap()])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("samples", [ROLL, PARTS], ids=["one part", "parts"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_map_is_that_of_scikit_learn(metric, samples, count):
    mine = Isomap(6, count, metric=metric).fit(samples)
    given: Any = sklearn.manifold.Isomap(n_neighbors=6, n_components=count, metric=metric)
    theirs = given.fit(samples)
    assert_allclose(mine.dist_matrix_, theirs.dist_matrix_, atol=1e-10)
    assert_allclose(mine.embedding_, theirs.embedding_, atol=1e-8)
    assert_allclose(mine.reconstruction_error(), theirs.reconstruction_error(), rtol=1e-8)
    assert_allclose(mine.transform(NEW), theirs.transform(NEW), atol=1e-8)
    assert_allclose(mine.transform(samples), mine.embedding_, atol=1e-8)
    assert mine.n_parts_ == (1 if samples is ROLL else 4)


def test_a_roll_is_unrolled():
    assert abs(np.corrcoef(PLACE, Isomap().fit_transform(ROLL)[:, 0])[0, 1]) > 0.98
    flat = mercer.KernelPCA(1, kernel="linear").fit_transform(ROLL)[:, 0]
    assert abs(np.corrcoef(PLACE, flat)[0, 1]) < 0.3


@pytest.mark.parametrize(
    ("distance", "samples"),
    [(Edit(), NAMES), (RBF(), ROLL[:40]), (DTW(), [ROLL[i : i + 5, 0] for i in range(30)])],
    ids=["strings", "kernel", "series"],
)
def test_ways_of_any_kind_are_the_shortest(distance, samples):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Isomap(3, 1, metric=distance).fit(samples)
    far = KernelDistance(distance) if isinstance(distance, RBF) else distance
    D = np.asarray(far(samples))
    near = mercer.NearestNeighbors(n_neighbors=3, metric=distance).fit(samples).kneighbors()[1]
    graph = np.full(D.shape, np.inf)
    rows = np.arange(len(D))[:, None]
    graph[rows, near] = D[rows, near]
    ways = floyd_warshall(np.minimum(graph, graph.T))
    reached = np.isfinite(ways)
    assert_allclose(model.dist_matrix_[reached], ways[reached], atol=1e-7)
    assert np.isfinite(model.dist_matrix_).all()
    assert_allclose(model.transform(samples), model.embedding_, atol=1e-5)  # a root of rounding


def test_the_nearest_rows_of_each_two_parts_are_joined():
    with pytest.warns(UserWarning, match="5 nearest neighbours of all rows connect 4 parts"):
        model = Isomap().fit(PARTS)
    D = Minkowski()(PARTS)
    for a in range(4):
        for b in range(a):
            mine, other = slice(40 * a, 40 * a + 40), slice(40 * b, 40 * b + 40)
            assert_allclose(model.dist_matrix_[mine, other].min(), D[mine, other].min())
    graph: Any = NeighbourGraph(Minkowski(), 5).fit(PARTS)
    with pytest.raises(ValueError, match="connect 4 parts, each within itself: give more"):
        Isomap(metric="precomputed").fit(graph)
    with pytest.warns(UserWarning, match="connect 4 parts"):
        assert_array_equal(Isomap(metric="graph").fit(graph).embedding_, model.embedding_)


def test_copies_are_in_one_place():
    rows = np.repeat(ROLL[:60], 2, axis=0)
    Y = Isomap(6).fit(rows).embedding_
    assert_allclose(Y[::2], Y[1::2], atol=1e-7)
    with pytest.warns(UserWarning, match="connect"):  # more copies than neighbours
        Y = Isomap(2).fit(np.repeat(ROLL[:20], 4, axis=0)).embedding_
    assert np.isfinite(Y).all()
    assert not Isomap(3).fit(np.ones((9, 2))).embedding_.any()


def test_landmarks_place_all_rows_nearly_as_all_rows_do():
    rows = make_swiss_roll(1500, random_state=0)[0]
    full, some = Isomap(8).fit(rows), Isomap(8, n_landmarks=200).fit(rows)
    assert some.dist_matrix_.shape == (1500, 200)
    assert_array_equal(some.dist_matrix_, full.dist_matrix_[:, some.landmarks_])
    for a, b in zip(full.embedding_.T, some.embedding_.T):
        assert abs(np.corrcoef(a, b)[0, 1]) > 0.99
    assert_allclose(some.transform(rows[:200]), some.embedding_[:200], atol=1e-8)
    again = Isomap(8, n_landmarks=200, random_state=1).fit(rows)
    assert (again.landmarks_ != some.landmarks_).any()


@pytest.mark.full
def test_many_rows_have_landmarks():
    rows, place = make_swiss_roll(6000, random_state=0)
    model = Isomap(8).fit(rows)
    assert model.dist_matrix_.shape == (6000, 500)
    assert abs(np.corrcoef(place, model.embedding_[:, 0])[0, 1]) > 0.98


def test_threads_the_order_of_rows_and_other_new_rows_change_nothing(monkeypatch):
    model = Isomap(6, n_jobs=1).fit(ROLL)
    monkeypatch.setattr(isomap, "STRIP", 7)
    threads = Isomap(6, n_jobs=3).fit(ROLL)
    assert_array_equal(threads.dist_matrix_, model.dist_matrix_)
    assert_allclose(threads.embedding_, model.embedding_, atol=1e-10)
    order = RNG.permutation(400)
    assert_allclose(
        np.abs(Isomap(6).fit(ROLL[order]).embedding_), np.abs(model.embedding_[order]), atol=1e-8
    )
    whole = model.transform(NEW)
    assert_allclose(np.concatenate([model.transform(NEW[i : i + 1]) for i in range(50)]), whole,
                    atol=1e-10)  # fmt: skip
    assert model.fit(ROLL.astype(np.float32)).embedding_.dtype == np.float64


def test_scaling_by_products_is_that_of_the_whole_matrix(monkeypatch):
    squares = Minkowski()(ROLL) ** 2
    whole = LandmarkScaling.of(squares, 3)
    monkeypatch.setattr("mercer.solvers.embedding.WHOLE", 10)
    found = LandmarkScaling.of(squares, 3)
    assert_allclose(found.values, whole.values, rtol=1e-9)
    assert_allclose(found.places(squares), whole.places(squares), atol=1e-7)
    centred = ROLL - ROLL.mean(axis=0)
    assert_allclose(found.values, np.linalg.svd(centred)[1] ** 2)
    assert found.lost(squares) < 1e-3


def test_wrong_input():
    for model, samples, message in [
        (Isomap(9), ROLL[:9], "n_neighbors=9, but n_samples=9: give fewer neighbours"),
        (Isomap(2, 9), ROLL[:8], "n_components=9 is more than .* n_samples=8"),
        (Isomap(2, 9, n_landmarks=5), ROLL, "n_components=9 is more than .* n_landmarks=5"),
        (Isomap(0), ROLL, "n_neighbors=0"),
        (Isomap(n_landmarks=0), ROLL, "n_landmarks=0"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(samples)
    with pytest.raises(MemoryError, match="fewer n_landmarks"):
        Isomap(memory="1MB").fit(ROLL)


def test_a_model_in_a_file(tmp_path):
    model = Isomap(3, 1, metric=Edit()).fit(NAMES[:4])
    mercer.save(model, tmp_path / "m")
    found = mercer.load(tmp_path / "m")
    assert_array_equal(found.transform(NAMES), model.transform(NAMES))
    assert found.reconstruction_error() == model.reconstruction_error()
    names = model.get_feature_names_out()
    assert names.tolist() == ["isomap0"]
