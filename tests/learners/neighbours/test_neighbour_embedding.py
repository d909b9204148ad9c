"""Maps of samples of any kind: forces, invariances, new rows, and how well they show distances."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import NearestNeighbors, NeighbourEmbedding
from mercer.distances import DTW, Edit, Minkowski
from mercer.learners.neighbours.neighbour_embedding import symmetric_graph
from mercer.solvers import embedding
from mercer.solvers.embedding import (
    EmbeddingSolver,
    PotentialGrid,
    SummedPotential,
    by_place,
    pairs_of,
)

RNG = np.random.default_rng(0)
LABELS = np.arange(400) % 5  # of five clouds, whose distances are all different
CLOUDS = 2 * RNG.normal(size=(5, 6))[LABELS] + RNG.normal(size=(400, 6))
SOME, OTHERS = CLOUDS[:300], CLOUDS[300:]
NAMES = ["anna", "anne", "hanna", "hannah", "otto", "lotto", "motto", "potto"]


@pytest.mark.filterwarnings("ignore:n_neighbors")
@parametrize_with_checks(
    # scikit-learn's checks take one dimension, where the parameter is there
    [NeighbourEmbedding(5, steps=50, random_state=0)]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def fitted(**parameters):
    return NeighbourEmbedding(random_state=0, **parameters).fit(SOME)


def divergence(P, Y):
    """That of a map, whose sum over pairs is exact."""
    potential = replace(PotentialGrid().of(Y), pairs=pairs_of(forces(Y)))
    return EmbeddingSolver().divergence(P, Y, potential)


def forces(Y):
    """The potential at each point and its derivatives, pair by pair."""
    gaps = Y[:, None] - Y
    q = 1 / (1 + (gaps**2).sum(axis=2))
    return np.column_stack([q.sum(axis=1), (-2 * q[..., None] ** 2 * gaps).sum(axis=1)])


@pytest.mark.parametrize("width", [1e-4, 1.0, 10.0])
def test_the_potential_is_that_of_all_pairs(width):
    Y = np.random.default_rng(0).normal(size=(800, 2)) * width
    found, wanted = PotentialGrid().of(Y).at(Y), forces(Y)
    assert_allclose(found[:, 0], wanted[:, 0], rtol=0.06)
    error = np.linalg.norm((found - wanted)[:, 1:]) / np.linalg.norm(wanted[:, 1:])
    assert error < 0.04


@pytest.mark.parametrize("count", [1, 15, 16, 17, 600])
@pytest.mark.parametrize("width", [1e-4, 1.0, 30.0])
@pytest.mark.parametrize("axes", [1, 3])
def test_the_potential_that_is_summed_is_that_of_all_pairs(count, width, axes, monkeypatch):
    Y = np.random.default_rng(0).normal(size=(count, axes)) * width
    potential = SummedPotential(Y)
    found, wanted = potential.at(Y), forces(Y)
    assert_allclose(found[:, 0], wanted[:, 0], rtol=1e-5)
    assert_allclose(found[:, 1:], wanted[:, 1:], atol=1e-5 * max(np.abs(wanted[:, 1:]).max(), 1e-9))
    for strip in (7, 64):
        monkeypatch.setattr(embedding, "SUMMED", strip)
        assert_array_equal(potential.at(Y, 3), found)


@pytest.mark.full
def test_a_map_in_three_dimensions(tmp_path):
    flat, deep = fitted(), fitted(n_components=3)
    assert deep.embedding_.shape == (300, 3)
    assert deep.kl_divergence_ < flat.kl_divergence_
    assert deep.quality().kept > flat.quality().kept
    assert_array_equal(fitted(n_components=3, n_jobs=3).embedding_, deep.embedding_)
    gaps = ((deep.embedding_[:, None] - deep.embedding_) ** 2).sum(axis=2)
    assert_allclose(deep._potential.pairs, (1 / (1 + gaps)).sum() - 300, rtol=1e-5)
    places = deep.transform(OTHERS)
    assert_array_equal(places[3:5], deep.transform(OTHERS[3:5]))
    assert_allclose(deep.transform(SOME), deep.embedding_, atol=1e-9)
    nearest = KNeighborsClassifier(15).fit(deep.embedding_, LABELS[:300])
    assert nearest.score(places, LABELS[300:]) > 0.85
    mercer.save(deep, tmp_path / "map.mercer")
    assert_array_equal(mercer.load(tmp_path / "map.mercer").transform(OTHERS), places)
    graph = NearestNeighbors(n_neighbors=20).fit(SOME).kneighbors_graph(mode="distance")
    known = NeighbourEmbedding(n_components=3, metric="precomputed", random_state=0).fit(graph)
    assert abs(known.kl_divergence_ - deep.kl_divergence_) < 0.1
    with pytest.warns(UserWarning, match="more than half"):
        few = NeighbourEmbedding(n_components=3, random_state=0).fit([[0.0], [1.0], [5.0]])
    assert np.isfinite(few.embedding_).all()
    line = fitted(n_components=1)
    assert line.kl_divergence_ > flat.kl_divergence_
    assert line.transform(OTHERS).shape == (100, 1)
    assert_allclose(line.transform(SOME), line.embedding_, atol=1e-9)
    with pytest.raises(ValueError, match="shape"):
        mercer.plots.MapDisplay.from_estimator(deep)


def test_the_divergence_is_that_of_the_definition():
    P = symmetric_graph(NearestNeighbors(n_neighbors=5).fit(SOME[:60]).kneighbors()[1])
    Y = np.random.default_rng(1).normal(size=(60, 2))
    q = 1 / (1 + ((Y[:, None] - Y) ** 2).sum(axis=2))
    np.fill_diagonal(q, 0)
    p = P.toarray()
    assert_allclose([p.sum(), np.abs(p - p.T).max()], [1, 0], atol=1e-12)
    wanted = (p[p > 0] * np.log(p[p > 0] / (q / q.sum())[p > 0])).sum()
    assert_allclose(divergence(P, Y), wanted, rtol=1e-9)


@pytest.mark.full
def test_the_descent_ends_where_no_small_change_is_better():
    P = symmetric_graph(NearestNeighbors(n_neighbors=5).fit(SOME[:60]).kneighbors()[1])
    Y, _ = EmbeddingSolver(steps=1500).solve(P, SOME[:60, :2])
    least = divergence(P, Y)
    for seed in range(20):
        other = Y + np.random.default_rng(seed).normal(size=Y.shape) * 0.3
        assert divergence(P, other) > least


@pytest.mark.full
def test_it_keeps_the_neighbours_of_digits():
    rows, labels = load_digits(return_X_y=True)
    model = NeighbourEmbedding(random_state=0).fit(rows)
    found = model.quality(labels)
    assert found.kept > 0.61
    assert found.trustworthiness > 0.99
    assert found.accuracy > 0.97
    assert found.far > 0.4
    assert model.n_parts_ == 1


def test_exaggeration_draws_clusters_together():
    wide, close = fitted(), fitted(exaggeration=4)
    assert close.quality().kept < wide.quality().kept - 0.1
    assert np.ptp(close.embedding_) < np.ptp(wide.embedding_) / 2


def test_quality_is_that_of_the_definitions():
    model = fitted(n_neighbors=7)
    found, Y = model.quality(LABELS[:300]), model.embedding_
    assert_allclose(found.trustworthiness, trustworthiness(SOME, Y, n_neighbors=7))
    near = [NearestNeighbors(n_neighbors=7).fit(X).kneighbors()[1] for X in (SOME, Y)]
    kept = np.mean([len({*a} & {*b}) / 7 for a, b in zip(*near)])
    assert_allclose(found.kept, kept, atol=1e-12)
    votes = [np.bincount(LABELS[row], minlength=10).argmax() for row in near[1]]
    assert_allclose(found.accuracy, np.mean(votes == LABELS[:300]))


@pytest.mark.full
def test_threads_and_strips_change_nothing(monkeypatch):
    plain = fitted(n_jobs=1)
    for strip in (embedding.STRIP, 64):
        monkeypatch.setattr(embedding, "STRIP", strip)
        threads = fitted(n_jobs=3)
        assert_array_equal(plain.embedding_, threads.embedding_)
        assert_array_equal(plain.transform(OTHERS), threads.transform(OTHERS))


def test_maps_of_many_rows_are_numbered_by_their_places(monkeypatch):
    monkeypatch.setattr("mercer.solvers.embedding.FAR_ROWS", 100)
    assert fitted().quality().kept > 0.55
    assert fitted(n_components=3).quality().kept > 0.6
    assert np.isfinite(fitted(n_components=1).embedding_).all()
    places = np.random.default_rng(2).uniform(size=(4096, 2))
    order = by_place(places)
    assert sorted(order) == list(range(4096))
    steps = np.linalg.norm(np.diff(places[order], axis=0), axis=1)
    assert steps.mean() < 0.05


def test_a_new_row_is_placed_alone_and_a_known_one_where_it_is():
    model = fitted()
    places = model.transform(OTHERS)
    assert_array_equal(places[3:5], model.transform(OTHERS[3:5]))
    assert_array_equal(places[::-1], model.transform(OTHERS[::-1]))
    assert_allclose(model.transform(SOME), model.embedding_, atol=1e-9)
    nearest = KNeighborsClassifier(15).fit(model.embedding_, LABELS[:300])
    assert nearest.score(places, LABELS[300:]) > 0.85


@pytest.mark.full
def test_precisions_and_units():
    rows = SOME.astype(np.float32)
    single = NeighbourEmbedding(random_state=0).fit(rows)
    double = NeighbourEmbedding(random_state=0).fit(rows.astype(np.float64))
    assert_array_equal(single.embedding_, double.embedding_)
    whole = fitted()
    for unit in (2.0**-40, 2.0**40):
        scaled = NeighbourEmbedding(random_state=0).fit(SOME * unit)
        assert_allclose(scaled.embedding_, whole.embedding_, atol=1e-6)


def test_a_graph_and_a_matrix_of_distances():
    D = Minkowski()(SOME)
    known = NeighbourEmbedding(metric="precomputed", random_state=0).fit(D)
    assert_allclose(known.embedding_, fitted().embedding_, atol=1e-6)
    graph = NearestNeighbors(n_neighbors=20).fit(SOME).kneighbors_graph(mode="distance")
    model = NeighbourEmbedding(metric="precomputed", random_state=0).fit(graph)
    assert abs(model.kl_divergence_ - known.kl_divergence_) < 0.1
    with pytest.raises(ValueError, match="all of them are needed"):
        model.quality()


def test_other_samples_and_files(tmp_path):
    model = NeighbourEmbedding(3, metric=Edit(), random_state=0)
    model.fit(NAMES)
    assert model.n_parts_ == 2
    mercer.save(model, tmp_path / "map.mercer")
    again = mercer.load(tmp_path / "map.mercer")
    assert_array_equal(again.transform(["hanno"]), model.transform(["hanno"]))


def test_infinite_distances_join_no_rows():
    """Series of other lengths that no window aligns: two groups of lengths are two parts."""
    rng = np.random.default_rng(0)
    series = [rng.normal(size=10 + 40 * (i % 2)).cumsum() for i in range(50)]
    model = NeighbourEmbedding(30, metric=DTW(window=0.1), random_state=0)
    with pytest.warns(UserWarning, match="24 are taken"):
        model.fit(series)
    assert model.n_parts_ == 2
    assert np.isfinite(model.embedding_).all()
    assert model.quality().kept > 0.5
    assert np.isfinite(model.transform([rng.normal(size=10)])).all()


def test_equal_rows_and_few():
    twins = np.repeat(CLOUDS[:3, :2], 5, axis=0)
    model = NeighbourEmbedding(3, random_state=0).fit(twins)
    assert model.n_parts_ == 3
    assert np.isfinite(model.embedding_).all()
    assert len(np.unique(model.embedding_, axis=0)) == 15
    with pytest.warns(UserWarning, match="more than half of the other rows"):
        few = NeighbourEmbedding(random_state=0).fit([[0.0], [1.0], [5.0]])
    assert few.n_neighbors_ == 1
    assert len(vars(few._potential)["potential"]) < 200  # how far apart they are is not determined
    same = NeighbourEmbedding(5, random_state=0).fit(np.ones((40, 3)))
    assert np.isfinite(same.embedding_).all()
    with pytest.raises(ValueError, match="a map needs 3 rows or more"):
        NeighbourEmbedding().fit([[0.0], [1.0]])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"exaggeration": 0}, "exaggeration=0"),
        ({"n_components": 4}, "n_components=4: a map has 3 at most"),
        ({"n_components": 2.5}, "n_components=2.5"),
        ({"steps": 9}, "steps=9: give a whole number >= 10"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        NeighbourEmbedding(**parameters).fit(SOME)


def test_a_sparse_graph_of_few_parts_has_smooth_vectors():
    ring = np.arange(60)
    D = sp.csr_array((np.ones(120), (np.tile(ring, 2), np.r_[(ring + 1) % 60, ring - 1] % 60)))
    model = NeighbourEmbedding(2, metric="precomputed", random_state=0).fit(D)
    around = np.unwrap(np.arctan2(*(model.embedding_ - model.embedding_.mean(axis=0)).T))
    assert abs(abs(around[-1] - around[0]) - 2 * np.pi * 59 / 60) < 0.5
