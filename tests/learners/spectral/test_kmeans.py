"""Kernel k-means: brute force, scikit-learn's k-means, monotone inertia, hostile samples."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import KernelKMeans
from mercer.gram import DenseGram, FeatureGram, Place, TiledGram, low_rank_gram
from mercer.kernels import RBF, Linear, Spectrum
from mercer.solvers.clusters import cluster_spaces
from mercer.solvers.clusters.cluster_spaces import Centres, ClusterSpace, Sums
from mercer.solvers.clusters.kernel_kmeans import KMeansSolver

IRIS = load_iris().data
DIGITS = load_digits().data / 16


@parametrize_with_checks(
    [
        KernelKMeans(3, n_init=20, random_state=0),
        KernelKMeans(3, solver="low_rank", rank=60, n_init=20, random_state=0),
        KernelKMeans(3, kernel="linear", n_init=20, random_state=0),
    ]
)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def inertia(K, labels, w):
    """The definition, cluster by cluster."""
    total = 0.0
    for c in np.unique(labels):
        i = np.flatnonzero(labels == c)
        share = w[i] / w[i].sum()
        square = share @ K[np.ix_(i, i)] @ share
        total += w[i] @ (K.diagonal()[i] - 2 * K[np.ix_(i, i)] @ share + square)
    return total


def gram_of(n, seed, dtype=np.float64):
    X = np.random.default_rng(seed).normal(size=(n, 3)).astype(dtype)
    return RBF(0.5)(X)


# --- the solver --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_the_inertia_never_rises_and_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 120)), int(rng.integers(1, 9))
    K, w = gram_of(n, seed), rng.uniform(0.1, 3, n)
    root = np.linalg.cholesky(K + 1e-10 * np.eye(n))
    for result in (
        KMeansSolver(min(k, n), seed=seed).solve(DenseGram(K, symmetric=True), w),
        KMeansSolver(min(k, n), seed=seed).solve_factor(FeatureGram(root), w),
    ):
        assert (np.diff(result.inertias) <= 1e-10 * result.inertias[0]).all()
        assert_allclose(result.objective, inertia(K, result.labels, w), atol=1e-7)
        assert_allclose(w @ result.own, result.objective, atol=1e-7)
        assert result.converged
        # at the end no sample is nearer to another centre
        assert (result.own <= result.other + 1e-9).all()


@pytest.mark.full
def test_the_best_of_many_starts_is_the_best_partition():
    K, w = gram_of(9, 0), np.ones(9)
    best = min(inertia(K, np.array(p), w) for p in itertools.product(range(3), repeat=9))
    result = KMeansSolver(3, restarts=200, seed=0).solve(DenseGram(K, symmetric=True), w)
    assert_allclose(result.objective, best)


def test_sums_of_the_samples_that_moved_stay_exact():
    """Many iterations, each changing the sums by some rows."""
    K, w = RBF(0.05)(DIGITS), np.ones(len(DIGITS))
    result = KMeansSolver(30, seed=1).solve(DenseGram(K, symmetric=True), w)
    assert len(result.inertias) > 10
    assert_allclose(result.objective, inertia(K, result.labels, w), rtol=1e-10)


@pytest.mark.parametrize("factor", [False, True])
@pytest.mark.parametrize("steps", [1, 300])
def test_starts_and_steps_with_weights_are_those_of_repeated_samples(steps, factor):
    """The draws too: each sample has as large a share of the sums that they are drawn from."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 3)), rng.integers(1, 9, 40)
    again = np.repeat(np.arange(40), w)
    for seed in range(12):
        solver, found = KMeansSolver(4, steps, seed=seed), []
        for rows, weights in ((X, w.astype(float)), (X[again], np.ones(len(again)))):
            if factor:
                found.append(solver.solve_factor(FeatureGram(rows), weights))
            else:
                found.append(solver.solve(DenseGram(RBF(0.5)(rows), symmetric=True), weights))
        assert_array_equal(found[0].labels[again], found[1].labels)
        assert_allclose(found[0].inertias, found[1].inertias)


@pytest.mark.parametrize("factor", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_an_empty_cluster_gets_the_sample_that_adds_most_to_the_inertia(seed, factor):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(9, 2)), rng.uniform(0.1, 3, 9)
    K = FeatureGram(X) if factor else DenseGram(X @ X.T, symmetric=True)
    solver = KMeansSolver(3, seed=0)
    space = Centres(K, 3, 1) if factor else Sums(K, 3, 2**20, 1)
    labels, sizes = np.zeros(9, int), np.array([w.sum(), 0, 0])
    squares = space.place(labels, w, sizes)
    solver._fill(labels, space, squares, sizes, w)
    parts = w * np.square(X - np.average(X, axis=0, weights=w)).sum(axis=1)
    expected = np.zeros(9, int)
    expected[np.argsort(-parts)[:2]] = [1, 2]
    assert_array_equal(labels, expected)
    result = (solver.solve_factor if factor else solver.solve)(K, w)
    assert (result.sizes > 0).all()


def factors(dtype):
    X = np.random.default_rng(0).normal(size=(900, 4)).astype(dtype)
    X[:300] += 4
    yield FeatureGram(X)
    yield FeatureGram(sp.csr_array(np.where(X > 0, X, 0)))
    K = TiledGram(RBF(0.3), X)
    yield low_rank_gram(K, 60, random_state=0)
    # a factor that is computed again for each reading
    tight = TiledGram(RBF(0.3), X, place=Place(2 * 60 * 400 * X.itemsize))
    yield low_rank_gram(tight, 60, random_state=0)


@pytest.mark.spread(12)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("clusters", [1, 2, 12, 80])
def test_bounds_skip_samples_and_change_nothing(monkeypatch, dtype, which, clusters):
    K, rng = list(factors(dtype))[which], np.random.default_rng(clusters)
    w = rng.uniform(0.1, 3, 900)
    compared = []
    compare = Centres._compare

    def counted(self, rows, *others):
        compared.append(len(rows))
        return compare(self, rows, *others)

    monkeypatch.setattr(Centres, "_compare", counted)
    monkeypatch.setattr(cluster_spaces, "STRIP", 50)
    solver = KMeansSolver(clusters, restarts=2, seed=clusters)
    found, skipping = solver.solve_factor(K, w), sum(compared)
    compared.clear()
    monkeypatch.setattr(Centres, "moves", ClusterSpace.moves)
    plain = solver.solve_factor(K, w)
    assert_array_equal(found.labels, plain.labels)
    assert found.iterations == plain.iterations
    rounding = 1e3 * np.finfo(dtype).eps
    assert_allclose(found.inertias, plain.inertias, rtol=rounding, atol=rounding)
    assert_allclose(found.other, plain.other, rtol=rounding, atol=rounding)
    assert skipping < sum(compared) or clusters == 1


def test_bounds_do_not_outlive_a_cluster_that_was_empty():
    """Centres that jump and clusters that are filled: the moves are those of plain comparisons."""
    rng = np.random.default_rng(0)
    K, w = FeatureGram(rng.normal(size=(200, 3))), rng.uniform(0.5, 2, 200)
    space, plain = Centres(K, 5, 1), Centres(K, 5, 1)
    for step in range(60):
        if step % 3 == 0:
            labels = rng.integers(0, 1 + step % 5, 200)  # the last clusters are empty
        sizes = np.bincount(labels, w, 5)
        squares = space.place(labels, w, sizes)
        plain.place(labels, w, sizes)
        rows, after = space.moves(labels, squares, sizes)
        expected = ClusterSpace.moves(plain, labels, squares, sizes)
        assert_array_equal(rows, expected[0])
        assert_array_equal(after, expected[1])
        labels = labels.copy()
        labels[rows] = after
        if step % 7 == 0:
            labels[rng.integers(200)] = 4


# --- the learner -------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [IRIS, sp.csr_array(IRIS), IRIS.astype(np.float32)], ids=type)
def test_a_linear_kernel_is_ordinary_k_means(X):
    ours = KernelKMeans(3, kernel="linear", n_init=10, random_state=0).fit(X)
    theirs = KMeans(3, n_init=10, random_state=0).fit(X)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-4)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.99
    centres = np.stack([IRIS[ours.labels_ == c].mean(axis=0) for c in range(3)])
    assert_allclose(ours.transform(X), cdist(IRIS, centres), atol=1e-2)
    apart = np.where(ours.labels_[:, None] == np.arange(3), cdist(IRIS, centres), np.inf)
    assert_allclose(apart[ours.medoids_, np.arange(3)], apart.min(axis=0), atol=1e-3)


@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_a_polynomial_kernel_is_k_means_of_the_monomials(solver):
    a, b = X = (IRIS - IRIS.mean(axis=0))[:, 2:].T
    monomials = np.column_stack([a**2, b**2, np.sqrt(2) * a * b])
    ours = KernelKMeans(
        4, kernel="poly", degree=2, gamma=1.0, coef0=0.0, n_init=20, solver=solver, random_state=0
    ).fit(X.T)
    theirs = KMeans(4, n_init=20, random_state=0).fit(monomials)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-4)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.99
    centres = np.stack([monomials[ours.labels_ == c].mean(axis=0) for c in range(4)])
    assert_allclose(ours.transform(X.T), cdist(monomials, centres), atol=1e-6)


@pytest.mark.parametrize("solver", ["exact", "low_rank", "mini_batch"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_samples_are_predicted_into_their_clusters(solver, dtype):
    X = DIGITS[:600].astype(dtype)
    model = KernelKMeans(5, gamma=0.1, solver=solver, rank=150, random_state=0).fit(X)
    share = np.mean(model.predict(X) == model.labels_)
    assert share > 0.99
    assert (model.labels_[model.medoids_] == np.arange(5)).all()
    exact = KernelKMeans(5, gamma=0.1, random_state=0).fit(X)
    assert model.inertia_ < 1.1 * exact.inertia_


def test_moons_and_circles_are_found_by_a_kernel():
    X, y = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    model = KernelKMeans(2, gamma=15.0, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_memory_changes_nothing(dtype):
    X = np.random.default_rng(0).normal(size=(2500, 3)).astype(dtype)
    models = [
        KernelKMeans(4, gamma=0.5, random_state=0, memory=m, n_jobs=jobs).fit(X)
        for m, jobs in (("500MB", None), ("3MB", None), ("3MB", 1))
    ]
    for model in models[1:]:
        assert_allclose(model.inertia_, models[0].inertia_, rtol=1e-5)
        assert adjusted_rand_score(model.labels_, models[0].labels_) > 0.99
    assert_array_equal(models[1].labels_, models[2].labels_)


@pytest.mark.parametrize("clusters", [3, "silhouette"])
@pytest.mark.parametrize("solver", ["exact", "low_rank"])
def test_weights_are_repetition(solver, clusters):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)) + c for c in ([0, 0], [4, 0], [0, 4])])
    w = rng.integers(0, 4, 60)
    again = np.repeat(np.arange(60), w)
    settings = {"gamma": 0.1, "solver": solver, "rank": 40, "n_init": 5, "random_state": 0}
    one, two = (KernelKMeans(clusters, **settings) for _ in range(2))
    one.fit(X, sample_weight=w.astype(float))
    two.fit(X[again])
    close = {"atol": 1e-9 if solver == "exact" else 1e-2}
    assert_allclose(one.inertia_, two.inertia_, **close)
    assert_array_equal(one.labels_[again], two.labels_)
    assert_array_equal(one.labels_[one.medoids_], np.arange(one.n_clusters_))
    if solver == "exact":  # landmarks that differ give other distances to the centre
        assert_array_equal(X[one.medoids_], X[again[two.medoids_]])
    assert_allclose(one.transform(X), two.transform(X), **close)
    assert_allclose(one.score(X, sample_weight=w), two.score(X[again]), **close)
    assert_allclose(one.score(X, sample_weight=w), -one.inertia_, **close)
    if clusters == "silhouette":
        assert_allclose(list(one.scores_.values()), list(two.scores_.values()), **close)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_lingoes_correction_shifts_all_partitions_alike(weighted):
    rng = np.random.default_rng(0)
    D = rng.uniform(1, 2, (40, 40))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    K, w = -(D**2) / 2, rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
    model = KernelKMeans(3, kernel="precomputed", correction="lingoes", random_state=0)
    model.fit(K, sample_weight=w)
    delta = model.correction_
    share = w / w.sum()
    H = np.eye(40) - np.outer(np.ones(40), share)
    values = np.linalg.eigvalsh(np.sqrt(np.outer(w, w)) * (H @ K @ H.T))
    assert_allclose(delta, -values[0], rtol=1e-6)
    assert delta > 0.1
    assert_allclose(model.inertia_, inertia(K, model.labels_, w), rtol=1e-6)
    corrected = K + delta * np.diag(1 / w)
    for _ in range(5):
        labels = rng.integers(0, 3, 40)
        shift = inertia(corrected, labels, w) - inertia(K, labels, w)
        assert_allclose(shift, delta * (40 - 3))
    assert_allclose(model.correction_effect_, delta * 37)
    plain = KernelKMeans(3, correction="lingoes", random_state=0).fit(IRIS)
    assert plain.correction_ == 0
    assert_allclose(plain.inertia_, KernelKMeans(3, random_state=0).fit(IRIS).inertia_)


def test_the_number_of_clusters_is_found():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)) + c for c in ([0, 0], [9, 0], [0, 9], [9, 9])])
    for how in ("eigengap", "silhouette"):
        model = KernelKMeans(how, gamma=0.1, random_state=0, n_init=5).fit(X)
        assert model.n_clusters_ == 4, model.scores_
        assert max(model.scores_, key=model.scores_.get) == 4
    with pytest.raises(ValueError, match="positive sums"):
        KernelKMeans("eigengap", kernel="linear").fit(X - X.mean(axis=0))


def test_too_few_different_samples():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    for kernel in ("rbf", "linear"):
        with pytest.warns(ConvergenceWarning, match="2 distinct clusters"):
            model = KernelKMeans(4, kernel=kernel, random_state=0).fit(X)
        assert model.n_clusters_ == 2
        assert_allclose(model.inertia_, 0, atol=1e-9)
        assert_array_equal(model.predict(X), model.labels_)
        assert np.isfinite(model.transform(X)[:, np.unique(model.labels_)]).all()
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        KernelKMeans(3).fit([[0.0], [1.0]])
    same = np.zeros((5, 2))
    with pytest.warns(ConvergenceWarning, match="1 distinct"):
        KernelKMeans(2).fit(same)


def test_an_indefinite_kernel_ends():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(80, 80))
    model = KernelKMeans(4, kernel="precomputed", random_state=0, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((K + K.T) / 2)
    assert model.n_iter_ <= 51


def test_strings_and_model_files(tmp_path):
    X = ["abab", "baba", "abba", "xyxy", "yxyx", "xyyx"]
    model = KernelKMeans(2, kernel=Spectrum(2, shortest=1).normalised(), random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1]) == 1
    mercer.save(model, tmp_path / "model")
    assert_array_equal(mercer.load(tmp_path / "model").predict(["aab", "xxy"]),
                       model.predict(["aab", "xxy"]))  # fmt: skip


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": "elbow"}, "n_clusters='elbow'"),
        ({"n_init": 0}, "n_init=0"),
        ({"solver": "fast"}, "solver='fast'"),
        ({"correction": "cailliez"}, "correction='cailliez'"),
        ({"correction": "lingoes", "solver": "low_rank"}, "cannot correct K"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**{"n_clusters": 2, **params}).fit(IRIS)
    with pytest.raises(ValueError, match="NaN"):
        KernelKMeans(2).fit([[np.nan], [1.0]])


def test_new_samples_of_a_matrix_have_no_distances():
    model = KernelKMeans(2, kernel="precomputed", random_state=0).fit(Linear()(IRIS))
    assert_array_equal(model.predict(Linear()(IRIS)), model.labels_)
    with pytest.raises(TypeError, match="use predict"):
        model.transform(Linear()(IRIS))


def test_moons_by_a_kernel_of_small_radius():
    X, y = make_moons(400, noise=0.04, random_state=0)
    model = KernelKMeans(2, gamma=1.0, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.2


@pytest.mark.parametrize("weighted", [False, True])
def test_a_corrected_matrix_has_the_best_clusters_of_all(weighted):
    """The correction draws each sample to its own centre: 8 of 20 matrices ended early."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(7, 7))
        K, w = (A + A.T) / 2, rng.uniform(0.5, 2, 7) if weighted else np.ones(7)
        best = np.inf
        for labels in itertools.product(range(3), repeat=6):
            labels = np.array([0, *labels])
            if len(set(labels.tolist())) == 3:
                groups = [np.flatnonzero(labels == c) for c in range(3)]
                parts = [w[g] @ K[np.ix_(g, g)] @ w[g] / w[g].sum() for g in groups]
                best = min(best, w @ K.diagonal() - sum(parts))
        model = KernelKMeans(
            3, kernel="precomputed", correction="lingoes", n_init=20, random_state=0
        ).fit(K, sample_weight=w)
        assert model.correction_ > 0
        assert_allclose(model.inertia_, best, atol=1e-9)


def test_distances_to_centres_have_names():
    model = KernelKMeans(3, random_state=0).fit(IRIS)
    names = model.get_feature_names_out()
    assert names.tolist() == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]
    frame = model.set_output(transform="pandas").transform(IRIS)
    assert frame.shape == (150, 3)
