"""Spectral clustering: dense eigenvectors, scikit-learn's, shapes, new samples, hostile samples."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering as Theirs
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import SpectralClustering
from mercer.kernels import RBF, Spectrum
from mercer.learners.spectral import spectral_clustering
from mercer.solvers import TopEigenSolver

IRIS = load_iris().data


@parametrize_with_checks(
    [
        SpectralClustering(3, random_state=0),
        SpectralClustering(3, gamma=0.01, solver="low_rank", rank=60, random_state=0),
    ]
)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [40, 700])
def test_the_eigenpairs_are_those_of_the_random_walk(n, dtype):
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(dtype)
    model = SpectralClustering(3, gamma=0.5, n_components=4, random_state=0).fit(X)
    K = RBF(0.5)(X.astype(float))
    D = np.diag(K.sum(axis=1))
    values, vectors = scipy.linalg.eigh(K, D)
    assert_allclose(model.eigenvalues_, values[::-1][:4], atol=1e-5)
    assert model.embedding_.shape == (n, 4)
    E = model.embedding_
    assert_allclose(E.T @ D @ E, np.eye(4), atol=1e-4)
    overlap = np.abs(E.T @ D @ vectors[:, ::-1][:, :4])
    assert_allclose(overlap, np.eye(4), atol=2e-2 if dtype is np.float32 else 1e-4)
    # new samples that are old ones have the same coordinates
    assert_allclose(model.transform(X), E, atol=1e-4 * np.abs(E).max())
    assert_array_equal(model.predict(X), model.labels_)


def test_each_sample_is_nearest_to_the_mean_of_its_cluster_where_degrees_are_weights():
    """Else the clusters would not lessen the normalised cut (Dhillon, Guan & Kulis 2004)."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = SpectralClustering(8, gamma=0.3, random_state=0).fit(X)
    E, degrees = model.embedding_, RBF(0.3)(X).sum(axis=1)
    share = (model.labels_ == np.arange(8)[:, None]) * degrees
    means = share @ E / share.sum(axis=1, keepdims=True)
    assert_array_equal(cdist(E, means).argmin(axis=1), model.labels_)
    assert_array_equal(model.predict(X), model.labels_)


def test_neither_the_seed_nor_the_order_of_samples_decides_the_signs():
    """Two groups whose samples have equal degrees, so that coordinates sum to 0."""
    K = np.full((8, 8), 0.01)
    K[2:, 2:] = 1
    K[:2, :2] = (6 + 2 * 0.01 - 6 * 0.01) / 2
    wanted = SpectralClustering(2, kernel="precomputed", random_state=0).fit(K).embedding_
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(8)
        model = SpectralClustering(2, kernel="precomputed", random_state=seed)
        found = model.fit(K[np.ix_(order, order)]).embedding_
        assert_allclose(found, wanted[order], atol=1e-7)


@pytest.mark.spread(1)
@pytest.mark.parametrize("shape", [make_moons, make_circles])
def test_shapes_are_found_as_scikit_learn_finds_them(shape):
    X, y = shape(
        500, noise=0.04, random_state=1, **({"factor": 0.4} if shape is make_circles else {})
    )
    new, y_new = shape(
        200, noise=0.04, random_state=2, **({"factor": 0.4} if shape is make_circles else {})
    )
    model = SpectralClustering(2, gamma=40, random_state=0).fit(X)
    theirs = Theirs(2, gamma=40, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, theirs.labels_) == 1
    assert adjusted_rand_score(model.labels_, y) == 1
    assert adjusted_rand_score(model.predict(new), y_new) == 1
    low = SpectralClustering(2, gamma=40, solver="low_rank", rank=200, random_state=0).fit(X)
    assert adjusted_rand_score(low.labels_, y) == 1
    K = RBF(40)(X)
    given = SpectralClustering(2, kernel="precomputed", random_state=0).fit(K)
    assert_array_equal(given.labels_, model.labels_)
    assert_array_equal(given.predict(RBF(40)(new, X)), model.predict(new))


def test_the_cut_is_near_its_lower_bound():
    """Normalised cut of three clusters of iris: at least 3 - Σ λ, by the relaxation."""

    def cut(K, labels):
        return sum(
            K[np.ix_(labels == c, labels != c)].sum() / K[labels == c].sum() for c in range(3)
        )

    K = RBF(0.5)(IRIS)
    ours = SpectralClustering(3, gamma=0.5, random_state=0).fit(IRIS)
    theirs = Theirs(3, gamma=0.5, random_state=0).fit(IRIS)
    assert 3 - ours.eigenvalues_.sum() <= cut(K, ours.labels_) <= cut(K, theirs.labels_) * 1.01


def test_the_number_of_clusters_is_found():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)) + c for c in ([0, 0], [9, 0], [0, 9], [9, 9])])
    model = SpectralClustering("eigengap", gamma=0.1, random_state=0).fit(X)
    assert max(model.scores_, key=model.scores_.get) == 4
    assert_array_equal(np.bincount(model.labels_), [40] * 4)
    assert len(model.eigenvalues_) == 4
    assert model.predict([[9.0, 9.0]]) == model.labels_[-1]


def test_strings_and_no_likeness():
    words = ["banana", "bananas", "ananas", "cherry", "cherries", "sherry"]
    kernel = Spectrum(3, shortest=1).normalised()
    model = SpectralClustering(2, kernel=kernel, random_state=0).fit(words)
    assert len(set(model.labels_[:3])) == len(set(model.labels_[3:])) == 1
    assert set(model.predict(["bananarama", "xyz"])) <= {0, 1}  # "xyz" is like none


def test_bad_input():
    with pytest.raises(ValueError, match="positive sums"):
        SpectralClustering(2, kernel="linear").fit(IRIS - IRIS.mean(axis=0))
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=8"):
        SpectralClustering().fit(IRIS[:3])
    with pytest.raises(ValueError, match='n_clusters=0: give a whole number >= 1, or "eigengap"'):
        SpectralClustering(0).fit(IRIS)
    with pytest.raises(ValueError, match="n_clusters='silhouette'"):
        SpectralClustering("silhouette").fit(IRIS)
    with pytest.raises(ValueError, match="fewer than the 2 samples"):
        SpectralClustering("eigengap").fit(IRIS[:2])
    with pytest.raises(ValueError, match="n_components="):
        SpectralClustering(2, n_components=1.5).fit(IRIS)
    with pytest.raises(ValueError, match="solver='arpack': give one of"):
        SpectralClustering(2, solver="arpack").fit(IRIS)


@pytest.mark.parametrize("gamma", [1e-12, 1.0, 1e9])
def test_samples_that_are_equal_or_alone(gamma):
    X = np.repeat([[0.0], [1.0], [5.0]], [4, 3, 2], axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if gamma == 1 else "ignore", ConvergenceWarning)
        model = SpectralClustering(3, gamma=gamma, random_state=0).fit(X)
    assert all(len(set(part)) == 1 for part in np.split(model.labels_, [4, 7]))
    assert np.isfinite(model.transform([[1e9]])).all()
    assert set(model.predict([[1e9], [2.0], [-3.0]])) <= set(model.labels_)
    if gamma == 1e9:
        assert_array_equal(model.labels_, [0] * 4 + [1] * 3 + [2] * 2)
    if gamma == 1e-12:  # K = 1 to rounding
        assert not model.labels_.any()
        with pytest.warns(ConvergenceWarning, match="1 distinct clusters, fewer than n_clusters=3"):
            model.fit(X)
    one = SpectralClustering(1, gamma=gamma).fit(X)
    assert not one.labels_.any()


def test_a_saved_model_predicts_the_same(tmp_path):
    model = SpectralClustering(3, gamma=0.5, random_state=0).fit(IRIS)
    mercer.save(model, tmp_path / "model.mercer")
    assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(IRIS), model.labels_)


def test_threads_and_memory_give_the_same_clusters():
    X, _ = make_moons(900, noise=0.1, random_state=0)
    wanted = SpectralClustering(4, gamma=20, random_state=0, n_jobs=1).fit(X)
    for options in ({"n_jobs": 2}, {"memory": "3MB"}):
        model = SpectralClustering(4, gamma=20, random_state=0, **options).fit(X)
        assert_array_equal(model.labels_, wanted.labels_)


def test_a_solver_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr(spectral_clustering, "TopEigenSolver", partial(TopEigenSolver, max_iter=1))
    X = np.random.default_rng(0).normal(size=(900, 3))
    with pytest.warns(ConvergenceWarning):
        SpectralClustering(3, random_state=0).fit(X)


def test_coordinates_have_names():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = SpectralClustering(3, n_components=2, random_state=0).fit(X)
    names = model.get_feature_names_out().tolist()
    assert names == ["spectralclustering0", "spectralclustering1"]
    assert model.set_output(transform="pandas").transform(X).shape == (40, 2)
