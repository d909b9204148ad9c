"""k nearest neighbours: classes and numbers beside scikit-learn's, and beside slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.neighbors
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict

import mercer
from mercer import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from mercer.distances import Edit, Minkowski
from mercer.learners.windows.totals import WINDOWS, window
from mercer.search import Index

RNG = np.random.default_rng(1)
X, Z = RNG.normal(size=(50, 3)), RNG.normal(size=(20, 3))
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 50)]
NUMBERS = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=50)


def squares(d):
    return 1 / (1 + d**2)


def name(value):
    return getattr(value, "__name__", None) or str(value)


def weights_of(rule, d, k, width):
    """The slow twin: weights of the k nearest of all ascending distances d."""
    near = d[:k]
    if rule == "uniform":
        w = np.ones(k)
    elif rule == "rank":
        w = np.array([(k + 1 - i) / k for i in range(1, k + 1)])
    elif rule == "distance":
        w = (near == 0).astype(float) if near[0] == 0 else 1 / near
    elif callable(rule):
        w = rule(near)
    else:
        w = window(rule, near, d[k] if width is None else width)
    return w if w.sum() > 0 else np.eye(k)[0]


def twin(A, y, new, rule, k, width=None, own=False):
    """Shares of the classes of y, or means of numbers, one query at a time."""
    D, out = Minkowski()(new, A), []
    for q, d in enumerate(D):
        order = np.argsort(d, kind="stable")
        order = order[order != q] if own else order
        m = len(order) if k is None else k
        w = weights_of(rule, d[order], m, width)
        near = y[order[:m]]
        if y.dtype.kind == "f":
            out.append(w @ near / w.sum())
        else:
            out.append([w[near == c].sum() / w.sum() for c in np.unique(y)])
    return np.array(out)


RULES = [
    *[(rule, None, k) for rule in ("uniform", "distance", "rank", squares) for k in (1, 4, 50)],
    *[(rule, width, k) for rule in WINDOWS for width in (None, 0.3, 1.5) for k in (1, 6)],
    *[(rule, width, None) for rule in WINDOWS for width in (0.01, 0.7, 30.0)],
]


@pytest.mark.parametrize(("weights", "width", "k"), RULES, ids=name)
def test_slow_twins(weights, width, k):
    model = KNeighborsClassifier(k, weights=weights, width=width).fit(X, LABELS)
    expected = twin(X, LABELS, Z, weights, k, width)
    assert_allclose(model.predict_proba(Z), expected, atol=1e-9)
    assert_array_equal(model.predict(Z), model.classes_[expected.round(12).argmax(axis=1)])
    numbers = KNeighborsRegressor(k, weights=weights, width=width).fit(X, NUMBERS)
    assert_allclose(numbers.predict(Z), twin(X, NUMBERS, Z, weights, k, width), atol=1e-9)
    if k == 50:
        return
    left_out = twin(X, NUMBERS, X, weights, k, width, own=True)
    assert_allclose(numbers.predict(None), left_out, atol=1e-9)
    # the training rows as new samples are neighbours of themselves, at a distance of 0 or rounding
    assert_allclose(numbers.predict(X), twin(X, NUMBERS, X, weights, k, width), atol=1e-6)


@pytest.mark.parametrize("weights", ["uniform", "distance", None, squares])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scikit_learn_answers_alike(weights, dtype):
    A, B = X.astype(dtype), Z.astype(dtype)
    several = np.column_stack([LABELS, np.roll(LABELS, 3)])
    two = np.column_stack([NUMBERS, X[:, 1]]).astype(dtype)
    for ours, theirs, y in (
        (KNeighborsClassifier, sklearn.neighbors.KNeighborsClassifier, LABELS),
        (KNeighborsClassifier, sklearn.neighbors.KNeighborsClassifier, several),
        (KNeighborsRegressor, sklearn.neighbors.KNeighborsRegressor, NUMBERS.astype(dtype)),
        (KNeighborsRegressor, sklearn.neighbors.KNeighborsRegressor, two),
    ):
        model, known = (c(7, weights=weights).fit(A, y) for c in (ours, theirs))
        for new in (B, None):
            found, expected = model.predict(new), known.predict(new)
            assert found.shape == expected.shape
            if y.dtype.kind == "f":
                assert found.dtype == dtype
                assert_allclose(found, expected, atol=1e-5)
            else:
                assert_array_equal(found, expected)
                shares, others = model.predict_proba(new), known.predict_proba(new)
                assert_allclose(np.array(shares), np.array(others), atol=1e-6)
                assert model.outputs_2d_ == known.outputs_2d_
    assert_allclose(model.score(B, two[:20]), known.score(B, two[:20]), atol=1e-4)


def test_x_none_is_leave_one_out():
    for model, y in ((KNeighborsClassifier(3), LABELS), (KNeighborsRegressor(3), NUMBERS)):
        expected = cross_val_predict(model, X, y, cv=LeaveOneOut())
        found = model.fit(X, y).predict(None)
        assert_array_equal(found, expected) if y is LABELS else assert_allclose(found, expected)


def test_rows_at_distance_zero_leave_nothing_to_others():
    A = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    y = np.array([1.0, 1.5, 2.0, 0.0])
    assert_allclose(KNeighborsRegressor(4, weights="distance").fit(A, y).predict(A[:1]), 1.25)
    votes = KNeighborsClassifier(4, weights="distance").fit(A, ["a", "b", "b", "b"])
    assert_allclose(votes.predict_proba(A[:1]), [[0.5, 0.5]])


def test_ties_go_to_the_first_class_and_to_rows_of_smallest_index():
    A = [[-1.0], [1.0], [1.0], [-1.0]]
    assert KNeighborsClassifier(2).fit(A, ["b", "a", "a", "b"]).predict([[0.0]]) == "a"
    assert KNeighborsClassifier(1).fit(A, ["b", "a", "a", "b"]).predict([[0.0]]) == "b"
    words = ["ab", "cd", "ef", "gh"]  # all at one distance
    model = KNeighborsClassifier(3, metric=Edit()).fit(words, ["b", "b", "a", "a"])
    assert_allclose(model.predict_proba(["xy"]), [[1 / 3, 2 / 3]])


@pytest.mark.parametrize("weights", ["triangular", "gaussian"])
def test_an_empty_window_is_decided_by_the_nearest(weights):
    A, y = [[0.0], [1.0], [10.0]], [5.0, 6.0, 7.0]
    for k in (2, None):
        model = KNeighborsRegressor(k, weights=weights, width=1e-3).fit(A, y)
        assert_array_equal(model.predict([[4.0], [900.0]]), [6.0, 7.0])
        assert_array_equal(model.predict(None), [6.0, 5.0, 6.0])
    classes = KNeighborsClassifier(2, weights=lambda d: 0 * d).fit(A, ["a", "b", "c"])
    assert_array_equal(classes.predict([[0.7]]), ["b"])
    # all k + 1 at one distance: their adaptive windows are empty
    words = KNeighborsClassifier(2, weights="triangular", metric=Edit()).fit(["ab", "cd", "ef"], y)
    assert_array_equal(words.predict(["xy"]), [5.0])


def test_all_rows_equal():
    A, y = np.ones((6, 2)), np.array([0.0, 0, 1, 1, 1, 1])
    for weights in ("uniform", "distance", "rank", *WINDOWS):
        model = KNeighborsRegressor(3, weights=weights).fit(A, y)
        assert np.isfinite(model.predict([[1.0, 1.0], [2.0, 2.0]])).all()
    model = KNeighborsRegressor("auto", weights="gaussian", width="auto").fit(A, y)
    assert np.isfinite(model.predict([[1.0, 1.0]])).all()


@pytest.mark.parametrize(("weights", "width", "k"), [r for r in RULES if r[2] != 50], ids=name)
def test_weights_mean_repetition(weights, width, k):
    w = RNG.integers(0, 4, 50)
    rows = np.repeat(np.arange(50), w)
    for Learner, y, method in (
        (KNeighborsClassifier, LABELS, "predict_proba"),
        (KNeighborsRegressor, NUMBERS, "predict"),
    ):
        model = Learner(k, weights=weights, width=width)
        repeated = getattr(model.fit(X[rows], y[rows]), method)(Z)
        weighted = getattr(model.fit(X, y, sample_weight=w), method)(Z)
        assert_allclose(weighted, repeated, atol=1e-9)
    assert set(model.kneighbors(Z, 5)[1].ravel()) <= set(rows)


@pytest.mark.parametrize("weights", ["triangular", "gaussian", "uniform"])
@pytest.mark.parametrize("k", [1, 4])
def test_one_heavy_row_is_a_row_that_is_there_twice(k, weights):
    """The others need k + 1 rows for the width of a window, as without weights."""
    w = np.ones(50, int)
    w[0] = 2
    rows = np.repeat(np.arange(50), w)
    model = KNeighborsRegressor(k, weights=weights)
    repeated = model.fit(X[rows], NUMBERS[rows]).predict(Z)
    assert_allclose(model.fit(X, NUMBERS, w).predict(Z), repeated)


def test_fractions_of_weights():
    """Half a row each: the six nearest count where three are asked for."""
    half = KNeighborsRegressor(3).fit(X, NUMBERS, np.full(50, 0.5))
    assert_allclose(half.predict(Z), KNeighborsRegressor(6).fit(X, NUMBERS).predict(Z))
    light = np.where(np.arange(50) % 2, 1.0, 1e-9)
    odd = KNeighborsRegressor(3).fit(X[1::2], NUMBERS[1::2])
    found = KNeighborsRegressor(3).fit(X, NUMBERS, light)
    assert_allclose(found.predict(Z), odd.predict(Z), atol=1e-7)
    with pytest.raises(ValueError, match=r"n_neighbors=5 needs 5 or more, .* total weight of 1"):
        KNeighborsRegressor().fit(X, NUMBERS, np.full(50, 0.02))


def test_class_weights_multiply_votes():
    plain = KNeighborsClassifier(9).fit(X, LABELS).predict_proba(Z)
    model = KNeighborsClassifier(9, class_weight={"b": 3.0}).fit(X, LABELS)
    votes = plain * [1, 3, 1]
    assert_allclose(model.predict_proba(Z), votes / votes.sum(axis=1, keepdims=True))
    without = LABELS != "b"
    model = KNeighborsClassifier(9, class_weight={"b": 0.0}).fit(X, LABELS)
    only = KNeighborsClassifier(9).fit(X[without], LABELS[without])
    assert_array_equal(model.classes_, ["a", "c"])
    assert_allclose(model.predict_proba(Z), only.predict_proba(Z))
    rare = np.where(np.arange(50) < 5, "rare", "usual")
    balanced = KNeighborsClassifier(9, class_weight="balanced").fit(X, rare)
    assert (balanced.predict(Z) == "rare").sum() > (
        KNeighborsClassifier(9).fit(X, rare).predict(Z) == "rare"
    ).sum()
    with pytest.raises(ValueError, match=r"class_weight=.* is 0 for all classes"):
        KNeighborsClassifier(class_weight={"a": 0, "b": 0, "c": 0}).fit(X, LABELS)


def test_duplicates_and_one_class():
    A = np.repeat(X[:5], 4, axis=0)
    y = np.repeat(["a", "b", "a", "b", "a"], 4)
    assert_array_equal(KNeighborsClassifier(4).fit(A, y).predict(X[:5]), y[::4])
    one = KNeighborsClassifier(2).fit(X, ["same"] * 50)
    assert set(one.predict(Z)) == {"same"}
    assert_array_equal(one.predict_proba(Z), 1)


def test_sparse_rows_and_float_labels():
    A = np.where(RNG.random((40, 6)) < 0.5, RNG.normal(size=(40, 6)), 0)
    y = RNG.integers(0, 2, 40).astype(float)
    dense = KNeighborsClassifier(3).fit(A, y)
    found = KNeighborsClassifier(3).fit(sp.csr_matrix(A), y)
    assert_array_equal(found.predict(sp.csr_array(A)), dense.predict(A))
    assert found.classes_.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("k", [3, None])
def test_threads_memory_and_strips_change_nothing(k):
    A, B = RNG.normal(size=(900, 4)), RNG.normal(size=(1100, 4))
    y = RNG.integers(0, 4, 900)
    width = 0.8 if k is None else None
    found = [
        KNeighborsClassifier(k, weights="quartic", width=width, n_jobs=jobs, memory=memory)
        .fit(A, y)
        .predict_proba(B)
        for jobs, memory in ((1, None), (2, "2MB"), (2, None))
    ]
    assert_allclose(found[1], found[0], atol=1e-12)
    assert_array_equal(found[2], found[0])


class OwnSign(Index):
    """An index that compares numbers of one sign only, and so finds too few or none."""

    exact = False

    def arrange(self, X):
        self.sign_ = X[:, 0] < 0

    def candidates(self, Z, limits):
        for sign in (False, True):
            yield np.flatnonzero((Z[:, 0] < 0) == sign), np.flatnonzero(self.sign_ == sign)


def test_an_index_that_is_not_exact_may_find_fewer_or_none():
    A, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 6.0]
    index = OwnSign(Minkowski())
    model = KNeighborsRegressor(2, algorithm=index).fit(A, y)
    assert model.algorithm_ == "OwnSign"
    assert_array_equal(model.predict([[1.4], [-1.0]]), [1.5, 3.0])
    graph = (
        mercer.NearestNeighbors(n_neighbors=2, algorithm=index).fit(A).kneighbors_graph([[-1.0]])
    )
    assert graph.nnz == 0
    with pytest.raises(ValueError, match=r"algorithm=.* give a number, or an exact algorithm"):
        KNeighborsRegressor(None, weights="gaussian", width=1.0, algorithm=index).fit(A, y)
    with pytest.raises(ValueError, match="found fewer than n_neighbors=2"):
        mercer.LocalOutlierFactor(2, algorithm=index).fit([[1.0], [2.0], [-1.0]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_neighbors": "all"}, "n_neighbors='all'"),
        ({"n_neighbors": 51}, "n_neighbors=51 needs 51 or more, but there are n_samples=50"),
        ({"n_neighbors": 50, "weights": "gaussian"}, "and one for the width"),
        ({"n_neighbors": None}, "n_neighbors=None means all rows"),
        ({"n_neighbors": None, "weights": "tricube"}, "n_neighbors=None means all rows"),
        ({"weights": "near"}, "weights='near': give one of 'uniform'"),
        ({"weights": ["uniform"]}, "weights="),
        ({"width": 1.0}, r"width=1\.0 belongs to a window"),
        ({"weights": "gaussian", "width": 0}, "width=0: give a finite number > 0"),
        ({"weights": "gaussian", "width": "wide"}, "width='wide'"),
        ({"weights": lambda d: d[:, :1]}, "weights returned shape"),
        ({"weights": lambda d: d - 9}, "weights returned a negative number"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        KNeighborsRegressor(**params).fit(X, NUMBERS).predict(Z)


def test_wrong_data():
    model = KNeighborsClassifier(3).fit(X, LABELS)
    with pytest.raises(ValueError, match="NaN"):
        model.predict([[np.nan, 0.0, 0.0]])
    with pytest.raises(ValueError, match="y has 49 rows"):
        KNeighborsClassifier().fit(X, LABELS[1:])
    with pytest.raises(ValueError, match="continuous"):
        KNeighborsClassifier().fit(X, NUMBERS)
    with pytest.raises(ValueError, match="negative value"):
        KNeighborsClassifier().fit(X, LABELS, -np.ones(50))
    with pytest.raises(ValueError, match="X=None means the training rows"):
        KNeighborsClassifier(3).fit(X, LABELS, np.arange(50)).predict(None)
    with pytest.raises(ValueError, match="n_neighbors < n_samples_fit"):
        KNeighborsClassifier(50).fit(X, LABELS).predict(None)


def test_numbers_of_any_size():
    y = NUMBERS * 1e308
    found = KNeighborsRegressor(5).fit(X, y).predict(Z)
    assert_allclose(found / 1e308, KNeighborsRegressor(5).fit(X, NUMBERS).predict(Z))
    tiny = KNeighborsRegressor(5, weights="distance").fit(X * 1e-310, NUMBERS).predict(Z * 1e-310)
    assert np.isfinite(tiny).all()
    with pytest.raises(ValueError, match="column 1 of X reaches"):
        KNeighborsRegressor().fit(X * [1, 1e300, 1], NUMBERS)


def test_searches_reach_the_parameters_of_the_distance():
    grid = {"metric__p": [1, 2], "n_neighbors": [1, 5]}
    search = GridSearchCV(KNeighborsClassifier(metric=Minkowski()), grid, cv=3).fit(X, LABELS)
    assert search.best_params_["metric__p"] in (1, 2)


def test_infinite_weights_leave_nothing_to_the_others():
    """A function may be infinite at distance 0, as "distance" is."""
    square = lambda d: 1 / d**2  # noqa: E731
    A, labels = np.array([[0.0], [1.0], [1.5], [1.5]]), np.array(["a", "b", "c", "c"])
    for make in (KNeighborsClassifier, KNeighborsRegressor):
        y = labels if make is KNeighborsClassifier else np.arange(4.0)
        model = make(4, weights=square).fit(A, y)
        assert_array_equal(model.predict(A[:2]), y[:2])
    shares = KNeighborsClassifier(4, weights=square).fit(A, labels).predict_proba([[0.5], [1.5]])
    assert_allclose(shares, [[0.4, 0.4, 0.2], [0, 0, 1]])
    for make in (RadiusNeighborsClassifier, RadiusNeighborsRegressor):
        y = labels if make is RadiusNeighborsClassifier else np.arange(4.0)
        assert_array_equal(make(3.0, weights=square).fit(A, y).predict(A[:2]), y[:2])
