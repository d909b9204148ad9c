"""Nadaraya-Watson classification: the definition, leave one out, reasons, hostile samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import NadarayaWatson, NadarayaWatsonClassifier
from mercer.distances import Edit, Jaccard, KernelDistance, Minkowski, Sum
from mercer.kernels import RBF, Spectrum
from mercer.learners.windows.totals import WINDOWS, window

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(150, 3)), rng.normal(size=(40, 3))
Y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 0.7])]
CODES = np.searchsorted(["low", "mid", "top"], Y)
K_NEAREST = "the k nearest are k rows, whatever their weights are"
DESCENT = "the descent stops within its tolerance, elsewhere after other rounding"


@parametrize_with_checks(
    [
        NadarayaWatsonClassifier(),
        NadarayaWatsonClassifier(0.5, window="quartic"),
        NadarayaWatsonClassifier(None, n_neighbors=3),
        NadarayaWatsonClassifier("learnt", window="exponential"),
    ],
    expected_failed_checks=lambda model: (
        dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            K_NEAREST if model.n_neighbors else DESCENT,
        )
        if model.n_neighbors or model.width == "learnt"
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)


def probabilities(D, codes, w, name, h):
    """Row by row; where all windows are 0, the nearest rows decide."""
    out, seen = [], np.broadcast_to(w, D.shape[1]) > 0
    for row in D[:, seen]:
        K = w[seen] * window(name, row, h)
        K = K if K.sum() > 1e-300 else w[seen] * (row == row.min())
        out.append(K @ np.eye(codes.max() + 1)[codes[seen]] / K.sum())
    return np.array(out)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("h", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_definition(name, h, dtype):
    w = rng.integers(0, 4, 150).astype(float)
    A, B = X.astype(dtype), Z.astype(dtype)
    model = NadarayaWatsonClassifier(h, window=name).fit(A, Y, w)
    expected = probabilities(cdist(B, A), CODES, w, name, h)
    tol = {"rtol": 1e-8, "atol": 1e-12} if dtype == np.float64 else {"atol": 2e-3}
    found = model.predict_proba(B)
    assert_allclose(found, expected, **tol)
    assert_allclose(found.sum(axis=1), 1)
    assert_array_equal(model.predict(B), model.classes_[found.argmax(axis=1)])


@pytest.mark.parametrize("n_neighbors", [None, 20])
@pytest.mark.parametrize("name", ["gaussian", "exponential", "tricube"])
def test_leave_one_out_is_a_fit_without_the_row(name, n_neighbors):
    model = NadarayaWatsonClassifier(window=name, n_neighbors=n_neighbors).fit(X, Y)
    assert model.errors_[model.width_] == min(model.errors_.values())
    losses = -np.log(np.maximum(model.left_out_, 1e-7))
    assert_allclose(losses.mean(), model.errors_[model.width_])
    for i in range(0, 150, 10):
        rest = np.arange(150) != i
        without = NadarayaWatsonClassifier(model.width_, window=name, n_neighbors=n_neighbors)
        expected = without.fit(X[rest], Y[rest]).predict_proba(X[[i]])[0, CODES[i]]
        assert_allclose(model.left_out_[i], expected, atol=1e-9)


def test_the_exponential_window_is_a_softmax_with_a_temperature():
    model = NadarayaWatsonClassifier(0.4, window="exponential").fit(X, Y)
    s = -model.temperature_ * cdist(Z, X)
    P = np.exp(s - s.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    assert_allclose(model.shares(Z), P, rtol=1e-8)
    assert_allclose(model.predict_proba(Z), P @ np.eye(3)[CODES], rtol=1e-8, atol=1e-12)
    assert NadarayaWatsonClassifier(0.4).fit(X, Y).temperature_ == pytest.approx(1 / (2 * 0.16))
    assert not hasattr(NadarayaWatsonClassifier(0.4, window="quartic").fit(X, Y), "temperature_")


def test_the_gaussian_window_is_a_softmax_of_a_normalised_kernel():
    kernel = RBF(0.5)
    model = NadarayaWatsonClassifier(0.5, metric=kernel).fit(X, Y)
    E = np.exp(2 * model.temperature_ * kernel(Z, X))
    assert_allclose(model.shares(Z), E / E.sum(axis=1, keepdims=True), rtol=1e-7)


@pytest.mark.parametrize(
    "options",
    [{}, {"width": None, "n_neighbors": 7}, {"width": 0.5, "window": "quartic"}, {"p": 1}],
    ids=repr,
)
def test_reasons_are_the_shares_of_the_prediction(options):
    w = rng.integers(0, 3, 150).astype(float)
    model = NadarayaWatsonClassifier(**options).fit(X, Y, w)
    shares = model.shares(Z)
    assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(model.rows_, np.flatnonzero(w))
    indicators = np.eye(3)[CODES[model.rows_]]
    assert_allclose(shares @ indicators, model.predict_proba(Z), rtol=1e-7, atol=1e-9)
    reasons, answers = model.reasons(Z, most=2), model.predict(Z)
    assert reasons.stored == len(model.rows_)
    for i, answer in enumerate(answers):
        own = Y[model.rows_] == answer
        best = np.where(own, shares[i], 0).argmax()
        assert reasons.rows[i, 0] == model.rows_[best]
        assert reasons.shares[i, 0] == pytest.approx(shares[i, best])
        against = reasons.against[i][reasons.against[i] >= 0]
        assert (Y[against] != answer).all()
    numbers = NadarayaWatson(**options).fit(X, X[:, 1], w)
    shares = numbers.shares(Z)
    assert_allclose(shares @ X[numbers.rows_, 1], numbers.predict(Z), rtol=1e-7)
    assert_array_equal(numbers.reasons(Z).rows[:, 0], numbers.rows_[shares.argmax(axis=1)])
    with pytest.raises(ValueError, match="no mean of rows with shares"):
        NadarayaWatson(1.0, degree=1).fit(X, X[:, 0]).reasons(Z)


@pytest.mark.parametrize("n_neighbors", [None, 9])
def test_neighbours_by_the_learnt_distance(n_neighbors):
    model = NadarayaWatsonClassifier("learnt", n_neighbors=n_neighbors).fit(X, Y)
    distances, indices = model.kneighbors(Z, 4)
    D = model.distance_(Z, X)
    order = np.argsort(D, axis=1)[:, :4]
    assert_array_equal(indices, order)
    assert_allclose(distances, np.take_along_axis(D, order, axis=1))
    own = model.kneighbors(n_neighbors=1, return_distance=False)[:, 0]
    assert (own != np.arange(150)).all()
    with pytest.raises(ValueError, match="there are 149 rows to compare with: ask for fewer"):
        model.kneighbors(None, 150)


def test_every_kind_of_sample():
    names = ["anna", "hanna", "anne", "otto", "ott", "otta"]
    for metric in (Edit(), Spectrum(1), Sum([Edit(), KernelDistance(Spectrum(1))])):
        for width in ("auto", "learnt"):
            model = NadarayaWatsonClassifier(width, window="exponential", metric=metric)
            assert model.fit(names, [1, 1, 1, 2, 2, 2]).predict(["annna", "ottto"]).tolist() == [
                1,
                2,
            ]
            assert names[model.reasons(["annna"]).rows[0, 0]] in ("anna", "anne", "hanna")
    sets = [{1, 2}, {1, 2, 3}, {7, 8}, {7}]
    model = NadarayaWatsonClassifier("learnt", metric=Jaccard()).fit(sets, list("aabb"))
    assert model.predict([{8, 7, 9}, {2}]).tolist() == ["b", "a"]
    given = NadarayaWatsonClassifier(metric="precomputed").fit(cdist(X, X), Y)
    expected = NadarayaWatsonClassifier().fit(X, Y).predict_proba(Z)
    assert_allclose(given.predict_proba(cdist(Z, X)), expected, rtol=1e-6, atol=1e-9)


def test_equal_rows_of_different_classes():
    A = np.repeat([[0.0], [1.0]], 4, axis=0)
    y = [0, 0, 0, 1, 1, 1, 1, 0]
    for width in ("auto", "learnt", 0.1):
        model = NadarayaWatsonClassifier(width, window="exponential").fit(A, y)
        found = model.predict_proba([[0.0], [1.0]])
        assert np.isfinite(found).all()
        assert_allclose(found.sum(axis=1), 1)
    assert_allclose(found[0], [0.75, 0.25], atol=1e-3)


def test_a_class_of_one_row():
    y = np.r_[np.zeros(149, int), 1]
    for width in ("auto", "learnt"):
        model = NadarayaWatsonClassifier(width).fit(X, y)
        assert np.isfinite(list(model.errors_.values())).all()
        assert model.predict_proba(X[-1:])[0, 1] > model.predict_proba(X[:1])[0, 1]


def test_memory_threads_and_order_change_nothing():
    order = rng.permutation(150)
    for width in ("auto", "learnt"):
        expected = NadarayaWatsonClassifier(width).fit(X, Y).predict_proba(Z)
        small = NadarayaWatsonClassifier(width, memory="300KB", n_jobs=2).fit(X[order], Y[order])
        assert_allclose(small.predict_proba(Z), expected, atol=1e-6)


def test_weights_mean_repetition():
    w = rng.integers(1, 4, 150)
    for width in ("auto", "learnt", 0.5):
        weighted = NadarayaWatsonClassifier(width).fit(X, Y, w)
        repeated = NadarayaWatsonClassifier(width).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
        assert_allclose(weighted.predict_proba(Z), repeated.predict_proba(Z), atol=1e-4)


def test_many_classes_stay_small():
    """Leave one out keeps one probability of each row, and not one of each class."""
    A = rng.normal(size=(400, 2))
    y = np.arange(400) // 2
    model = NadarayaWatsonClassifier(memory="20MB").fit(A, y)
    assert model.left_out_.shape == (400,)
    assert model.predict_proba(A[:3]).shape == (3, 200)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"width": "features"}, "one of .'auto', 'learnt'"),
        ({"window": "tricube", "width": "learnt"}, "one of .'gaussian', 'exponential'"),
        ({"n_neighbors": 150}, "give at most 149"),
        ({"metric": Minkowski(2, [-1.0, 1, 1])}, "weights must be >= 0"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        NadarayaWatsonClassifier(**parameters).fit(X, Y)


def test_wrong_targets():
    with pytest.raises(ValueError, match="only one class"):
        NadarayaWatsonClassifier().fit(X, np.ones(150))
    with pytest.raises(ValueError, match="no width can be learnt"):
        NadarayaWatsonClassifier("learnt").fit(np.ones((4, 2)), [0, 0, 1, 1])


def test_files(tmp_path):
    for options in ({"width": "learnt"}, {"width": None, "n_neighbors": 4}):
        model = NadarayaWatsonClassifier(**options).fit(X, Y)
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert_array_equal(loaded.predict_proba(Z), model.predict_proba(Z))
        assert_array_equal(loaded.reasons(Z).rows, model.reasons(Z).rows)


@pytest.mark.parametrize("window", ["gaussian", "exponential"])
def test_learnt_widths_of_weights_are_those_of_repeated_rows(window):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(80, 2))
    classes = (rows[:, 0] + rng.normal(0, 0.7, 80) > 0).astype(int)
    times = rng.integers(1, 4, 80)
    model = NadarayaWatsonClassifier("learnt", window=window)
    one = model.fit(rows, classes, times).predict_proba(rows)
    twice = model.fit(np.repeat(rows, times, axis=0), np.repeat(classes, times))
    assert_allclose(twice.predict_proba(rows), one, atol=1e-3)
