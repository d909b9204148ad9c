"""Nadaraya-Watson regression: the definition, leave one out, local lines, hostile samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import NadarayaWatson
from mercer.distances import Edit, Jaccard, Mahalanobis, Minkowski
from mercer.kernels import RBF
from mercer.learners.windows.totals import WINDOWS, window
from mercer.search import BruteForce

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(150, 2))
Z = rng.normal(size=(40, 3))


@parametrize_with_checks(
    [
        NadarayaWatson(),
        NadarayaWatson(1.0, degree=1),
        NadarayaWatson(0.5, window="quartic"),
        NadarayaWatson(None, n_neighbors=3),
        NadarayaWatson("learnt"),
    ],
    expected_failed_checks=lambda model: (
        dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            "the k nearest are k rows, whatever their weights are"
            if model.n_neighbors
            else "the descent stops within its tolerance, elsewhere after other rounding",
        )
        if model.n_neighbors or model.width == "learnt"
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)


def mean_by_definition(D, y, w, name, h):
    """Row by row; where all windows are 0, the nearest rows decide."""
    out, seen = [], np.broadcast_to(w, D.shape[1]) > 0
    for row in D[:, seen]:
        K = w[seen] * window(name, row, h)
        K = K if K.sum() > 1e-300 else w[seen] * (row == row.min())
        out.append(K @ y[seen] / K.sum())
    return np.array(out)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("h", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_definition(name, h, dtype):
    w = rng.integers(0, 4, 150).astype(float)
    A, B = X.astype(dtype), Z.astype(dtype)
    model = NadarayaWatson(h, window=name).fit(A, Y, w)
    expected = mean_by_definition(cdist(B, A), Y, w, name, h)
    tol = {"rtol": 1e-9} if dtype == np.float64 else {"atol": 2e-3}
    assert_allclose(model.predict(B), expected, **tol)


@pytest.mark.parametrize(
    "metric", [Minkowski(1), Minkowski(2, [1.0, 0.5, 4.0]), Mahalanobis(), RBF(0.5)]
)
def test_any_distance(metric):
    model = NadarayaWatson(0.4, metric=metric).fit(X, Y)
    D = model.distance_(Z, X)
    assert_allclose(
        model.predict(Z), mean_by_definition(D, Y, np.ones(150), "gaussian", 0.4), rtol=1e-7
    )


@pytest.mark.parametrize("name", WINDOWS)
def test_the_k_nearest(name):
    D = cdist(Z, X)
    order = np.argsort(D, axis=1)
    for h in (0.5, None):
        model = NadarayaWatson(h, n_neighbors=7, window=name).fit(X, Y)
        assert model.algorithm_
        assert model.width_ == h
        for i, near in enumerate(order):
            width = D[i, near[7]] if h is None else h
            expected = mean_by_definition(
                D[i : i + 1, near[:7]], Y[near[:7]], np.ones(7), name, width
            )
            assert_allclose(model.predict(Z[i : i + 1]), expected, rtol=1e-7)


def test_the_nearest_rows_decide_where_a_window_is_empty():
    A, y = [[0.0], [2.0], [10.0]], [1.0, 3.0, 50.0]
    for name in WINDOWS:
        model = NadarayaWatson(1e-3, window=name).fit(A, y)
        assert_allclose(model.predict([[1.0], [11.0], [1e6], [0.9]]), [2.0, 50, 50, 1])
        model = NadarayaWatson(1e-3, n_neighbors=2, window=name).fit(A, y)
        assert_allclose(model.predict([[1.0], [11.0]]), [2.0, 50])


def test_local_lines_are_exact_for_lines():
    y = X @ [1.0, -2.0, 0.5] + 3
    for h, k in ((1.0, None), (3.0, None), (None, 20)):
        model = NadarayaWatson(h, n_neighbors=k, degree=1).fit(X, y)
        assert_allclose(model.predict(Z), Z @ [1.0, -2.0, 0.5] + 3, atol=1e-5)
        assert_allclose(model.predict(Z, return_std=True)[1], 0, atol=1e-5)


def test_local_lines_are_weighted_least_squares():
    w = rng.uniform(0.5, 2, 150)
    model = NadarayaWatson(0.8, degree=1).fit(X, Y, w)
    mean, std = model.predict(Z, return_std=True)
    for i, z in enumerate(Z):
        k = w * np.exp(-0.5 * ((X - z) ** 2).sum(axis=1) / 0.64)
        A = np.column_stack([np.ones(150), X - z])
        weights = np.linalg.solve((A.T * k) @ A, A.T * k)[0]  # of the targets
        assert_allclose(mean[i], weights @ Y, atol=1e-5)
        noise = np.sqrt((k @ model._noise) / k.sum())
        assert_allclose(std[i], noise * np.sqrt((weights**2 / w).sum()), rtol=1e-4)


@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize(("h", "k"), [(0.8, None), (0.8, 30), (None, 30)])
def test_standard_errors_are_those_of_the_definition(h, k, degree):
    """The value is Σ l y; noise is the mean of squared leave-one-out errors over 1 + Σ l²."""

    def value(z, rows, y):
        D = np.linalg.norm(rows - z, axis=1)
        order = np.argsort(D)
        near, width = order[:k], D[order[k]] if h is None else h
        K = np.exp(-0.5 * (D[near] / width) ** 2)
        A = np.column_stack([np.ones(len(near)), rows[near] - z])[:, : 1 + degree * X.shape[1]]
        of_targets = np.linalg.solve((A.T * K) @ A, A.T * K)[0]
        return of_targets @ y[near], (of_targets**2).sum(), near, K / K.sum()

    noise = []
    for i, y in enumerate(Y):
        mean, squares, *_ = value(X[i], np.delete(X, i, axis=0), np.delete(Y, i, axis=0))
        noise.append((y - mean) ** 2 / (1 + squares))
    mean, std = NadarayaWatson(h, n_neighbors=k, degree=degree).fit(X, Y).predict(Z, True)
    for z, found, error in zip(Z, mean, std, strict=True):
        expected, squares, near, share = value(z, X, Y)
        assert_allclose(found, expected, atol=1e-5)
        assert_allclose(error, np.sqrt(share @ np.array(noise)[near] * squares), rtol=1e-4)


@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("name", ["gaussian", "tricube"])
@pytest.mark.parametrize("k", [None, 30])
def test_leave_one_out_is_a_fit_without_the_row(name, degree, k):
    model = NadarayaWatson(window=name, degree=degree, n_neighbors=k).fit(X, Y)
    assert model.errors_[model.width_] == min(model.errors_.values())
    assert_allclose(((model.left_out_ - Y) ** 2).mean(), model.errors_[model.width_])
    for i in range(0, 150, 10):
        rest = np.arange(150) != i
        without = NadarayaWatson(model.width_, window=name, degree=degree, n_neighbors=k)
        expected = without.fit(X[rest], Y[rest]).predict(X[[i]])[0]
        assert_allclose(model.left_out_[i], expected, atol=1e-9 if degree == 0 else 2e-2)


def test_leave_one_out_leaves_one_copy_of_a_row_out():
    w = rng.integers(1, 3, 60)
    rows = np.repeat(np.arange(60), w)
    weighted = NadarayaWatson().fit(X[:60], Y[:60], w)
    repeated = NadarayaWatson().fit(X[rows], Y[rows])
    for h, error in weighted.errors_.items():
        assert_allclose(repeated.errors_.get(h, error), error, rtol=1e-9)
    assert weighted.width_ == repeated.width_
    assert_allclose(weighted.predict(Z), repeated.predict(Z), rtol=1e-9)


def test_standard_errors_cover():
    inside = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        x = draw.uniform(0, 6, (300, 1))
        y = np.sin(x[:, 0]) + 0.3 * draw.normal(size=300)
        points = np.linspace(1, 5, 30)[:, None]
        mean, std = NadarayaWatson(0.15, degree=1).fit(x, y).predict(points, return_std=True)
        inside.append(np.abs(mean - np.sin(points[:, 0])) < 1.96 * std)
    assert 0.9 < np.mean(inside) < 0.99


def test_every_kind_of_sample():
    names = ["anna", "hanna", "anne", "otto", "ott", ""]
    model = NadarayaWatson(metric=Edit()).fit(names, [1.0, 1, 1, 2, 2, 0])
    assert abs(model.predict(["annna"])[0] - 1) < 0.2
    sets = [{1, 2}, {1, 2, 3}, {7, 8}, {7}]
    assert NadarayaWatson(0.3, metric=Jaccard()).fit(sets, [0, 0, 1, 1]).predict([{8, 7, 9}]) > 0.9
    sparse = NadarayaWatson(0.5, degree=1).fit(sp.csr_array(X), Y).predict(sp.csr_array(Z))
    assert_allclose(sparse, NadarayaWatson(0.5, degree=1).fit(X, Y).predict(Z), rtol=1e-9)
    D = cdist(X, X)
    given = NadarayaWatson(metric="precomputed").fit(D, Y)
    assert_allclose(given.predict(cdist(Z, X)), NadarayaWatson().fit(X, Y).predict(Z), rtol=1e-6)


@pytest.mark.spread(2)
@pytest.mark.parametrize("options", [{}, {"n_neighbors": 9}, {"degree": 1}, {"window": "tricube"}])
def test_memory_threads_and_order_change_nothing(options):
    A, y = load_diabetes(return_X_y=True)
    order = rng.permutation(len(y))
    expected = NadarayaWatson(**options).fit(A, y).predict(A, return_std=True)
    small = NadarayaWatson(memory="300KB", n_jobs=2, **options).fit(A[order], y[order])
    for a, b in zip(small.predict(A, return_std=True), expected, strict=True):
        assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("degree", [0, 1])
@pytest.mark.parametrize("name", WINDOWS)
def test_weights_mean_repetition(name, degree):
    """For values and for standard errors, where one copy of a row at a time is left out."""
    w = rng.integers(1, 4, 150)
    model = NadarayaWatson(3.0, window=name, degree=degree)
    repeated = model.fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0)).predict(Z, True)
    for a, b in zip(model.fit(X, Y, w).predict(Z, True), repeated, strict=True):
        assert_allclose(a, b, rtol=1e-6)


def test_an_index_of_ones_own():
    model = NadarayaWatson(None, n_neighbors=5, algorithm=BruteForce(Minkowski())).fit(X, Y)
    assert model.algorithm_ == "BruteForce"
    assert_allclose(model.predict(Z), NadarayaWatson(None, n_neighbors=5).fit(X, Y).predict(Z))


def test_rows_that_are_all_alike():
    same = np.ones((5, 2))
    model = NadarayaWatson().fit(same, np.arange(5.0))
    assert_allclose(model.predict([[1.0, 1], [9, 9]]), 2.0)
    with pytest.raises(ValueError, match="no width can be learnt"):
        NadarayaWatson("learnt").fit(same, np.arange(5.0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"width": 0}, "width=0: give a finite number > 0"),
        ({"width": "silverman"}, "one of .'auto', 'learnt'"),
        ({"width": None}, "give n_neighbors"),
        ({"n_neighbors": 0}, "n_neighbors=0: give a whole number >= 1"),
        ({"n_neighbors": 150}, "n_neighbors=150 leaves too few of n_samples=150: give at most 149"),
        ({"width": None, "n_neighbors": 149}, "give at most 148"),
        ({"window": "round"}, "window='round': give one of"),
        (
            {"window": "tricube", "width": "learnt"},
            "without end; give one of .'gaussian', 'exponential'",
        ),
        ({"degree": 2}, "degree=2: give 0 or 1"),
        ({"metric": "edits"}, "metric='edits' is not known"),
        ({"p": -1}, "p=-1: Minkowski needs 0 <= p"),
        ({"metric": Minkowski(2, [-1.0, 1, 1])}, "weights must be >= 0"),
        ({"algorithm": "octree"}, "algorithm='octree': give one of"),
    ],
)
def test_wrong_parameters(parameters, message):
    if "algorithm" in parameters:
        parameters = {"n_neighbors": 3, **parameters}
    with pytest.raises(ValueError, match=message):
        NadarayaWatson(**parameters).fit(X, Y)


def test_wrong_samples():
    with pytest.raises(ValueError, match="n_samples=1: give h"):
        NadarayaWatson().fit([[1.0]], [1.0])
    with pytest.raises(TypeError, match="degree=1 needs vectors"):
        NadarayaWatson(1.0, degree=1, metric=Edit()).fit(["a", "b"], [0.0, 1.0])
    model = NadarayaWatson().fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.predict([[np.nan, 0, 0]])


def test_files(tmp_path):
    for model in (NadarayaWatson(degree=1), NadarayaWatson(None, n_neighbors=4)):
        model.fit(X, Y).predict(Z, return_std=True)
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        for a, b in zip(loaded.predict(Z, return_std=True), model.predict(Z, return_std=True)):
            assert_allclose(a, b)
