"""Predictions by the rows within a radius, beside scikit-learn's and on every kind of sample."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.neighbors
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import RadiusNeighborsClassifier, RadiusNeighborsRegressor
from mercer.distances import Edit, Jaccard, Match, Minkowski, Mixed
from mercer.kernels import RBF, Spectrum
from mercer.learners.windows.totals import WINDOWS, window

RNG = np.random.default_rng(2)
X, Z = RNG.normal(size=(60, 2)), RNG.normal(size=(25, 2))
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]
TWO = np.column_stack([RNG.integers(0, 3, 60), RNG.integers(5, 7, 60)])
NUMBERS = RNG.normal(size=60)
FAR = np.array([[50.0, 50.0], [-50.0, 9.0]])


def squares(d):
    return 1 / (1 + d**2)


@pytest.mark.filterwarnings("ignore:.* no row within radius:UserWarning")
@parametrize_with_checks(
    [
        RadiusNeighborsClassifier(outlier_label="most_frequent"),
        RadiusNeighborsClassifier(30.0, weights="distance"),
        RadiusNeighborsRegressor(),
        RadiusNeighborsRegressor(3.0, weights="quartic"),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weights", ["uniform", "distance", None, squares])
@pytest.mark.parametrize("y", [LABELS, TWO], ids=["one", "two"])
@pytest.mark.parametrize("label", ["most_frequent", "known", "other"])
def test_classes_beside_scikit_learn(weights, y, label):
    if label != "most_frequent":
        known = y[0].tolist() if y.ndim == 2 else y[0]
        label = known if label == "known" else ([7, 9] if y.ndim == 2 else "z")
    params = {"weights": weights, "outlier_label": label, "p": 1}
    ours = RadiusNeighborsClassifier(0.5, **params).fit(X, y)
    theirs = sklearn.neighbors.RadiusNeighborsClassifier(0.5, **params).fit(X, y)
    new = np.vstack([Z, FAR, X[:3]])
    assert_array_equal(ours.outlier_label_, theirs.outlier_label_)
    assert ours.outputs_2d_ == theirs.outputs_2d_
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ours.predict_proba(new)
    strange = label in ("z", [7, 9])
    assert len(caught) == strange * (y.ndim)
    assert all("is not in training classes" in str(warning.message) for warning in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, answers = theirs.predict_proba(new), theirs.predict(new)
    assert_allclose(np.hstack(found), np.hstack(expected), atol=1e-12)
    assert_array_equal(ours.predict(new), answers)


@pytest.mark.parametrize("weights", ["uniform", "distance", None, squares])
@pytest.mark.parametrize("y", [NUMBERS, np.column_stack([NUMBERS, TWO[:, 0]])], ids=["one", "two"])
@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree"])
def test_numbers_beside_scikit_learn(weights, y, algorithm):
    ours = RadiusNeighborsRegressor(1.5, weights=weights, algorithm=algorithm).fit(X, y)
    theirs = sklearn.neighbors.RadiusNeighborsRegressor(1.5, weights=weights).fit(X, y)
    new = np.vstack([X[:3], np.clip(Z, -1, 1)])
    assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-10)
    found, expected = ours.radius_neighbors(new), theirs.radius_neighbors(new, sort_results=True)
    assert [len(row) for row in found[0]] == [len(row) for row in expected[0]]
    assert ours.effective_metric_ == theirs.effective_metric_


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_as_wide_as_the_radius(name):
    K = window(name, Minkowski()(Z, X), 2.0) * (Minkowski()(Z, X) <= 2.0)
    model = RadiusNeighborsRegressor(2.0, weights=name).fit(X, NUMBERS)
    assert_allclose(model.predict(Z), K @ NUMBERS / K.sum(axis=1))
    votes = K @ (LABELS[:, None] == np.unique(LABELS))
    model = RadiusNeighborsClassifier(2.0, weights=name).fit(X, LABELS)
    assert_allclose(model.predict_proba(Z), votes / votes.sum(axis=1, keepdims=True))


def test_where_nobody_is_near():
    model = RadiusNeighborsClassifier(0.5).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"test samples \[0, 2\] within radius=0.5: .*outlier_l"):
        model.predict([FAR[0], X[0], FAR[1]])
    regressor = RadiusNeighborsRegressor(0.5).fit(X, NUMBERS)
    with pytest.warns(UserWarning, match="1 of 2 samples have no row within radius=0.5"):
        found = regressor.predict([FAR[0], X[0]])
    nearest = Minkowski()(FAR[:1], X).argmin()
    assert found[0] == pytest.approx(NUMBERS[nearest])
    nobody = RadiusNeighborsRegressor(5.0, weights=lambda d: 0 * d).fit(X, NUMBERS)
    with pytest.warns(UserWarning, match="no row within"):
        assert_allclose(nobody.predict(X[:3]), NUMBERS[:3])
    longer = RadiusNeighborsClassifier(0.5, outlier_label="nobody").fit(X, LABELS)
    assert longer.predict([FAR[0], X[0]]).tolist() == ["nobody", longer.predict(X[:1])[0]]


@pytest.mark.parametrize("function", [lambda d: 1 / d, lambda d: 1 / d**2], ids=["1", "2"])
def test_rows_at_distance_zero_leave_nothing_to_others_of_their_own_query_alone(function):
    new = np.vstack([X[:3], Z])  # of which some are training rows
    model = RadiusNeighborsRegressor(3.0, weights=function).fit(X, NUMBERS)
    one_by_one = [model.predict(row[None])[0] for row in new]
    assert_allclose(model.predict(new), one_by_one)
    assert_allclose(one_by_one[:3], NUMBERS[:3])
    if function(2.0) == 0.5:
        named = RadiusNeighborsRegressor(3.0, weights="distance").fit(X, NUMBERS)
        assert_allclose(named.predict(new), one_by_one)


def test_radius_zero_and_infinity():
    doubled, y = np.vstack([X, X[:1]]), np.append(NUMBERS, 5.0)
    for weights in ("uniform", "distance", "gaussian", "quartic"):
        model = RadiusNeighborsRegressor(0, weights=weights).fit(doubled, y)
        assert_allclose(model.predict(X[:2]), [(y[0] + 5) / 2, y[1]])
    for weights in ("uniform", "gaussian"):
        model = RadiusNeighborsRegressor(np.inf, weights=weights).fit(X, NUMBERS)
        assert_allclose(model.predict(FAR), NUMBERS.mean())


def test_weights_mean_repetition():
    w = RNG.integers(0, 4, 60)
    copies = np.repeat(np.arange(60), w)
    for weights in ("uniform", "distance", "triangular"):
        params = {"weights": weights, "radius": 1.4}
        a = RadiusNeighborsRegressor(**params).fit(X, NUMBERS, w)
        b = RadiusNeighborsRegressor(**params).fit(X[copies], NUMBERS[copies])
        new = np.clip(Z, -1, 1)
        assert_allclose(a.predict(new), b.predict(new))
        params["outlier_label"] = "most_frequent"
        a = RadiusNeighborsClassifier(**params).fit(X, LABELS, w)
        b = RadiusNeighborsClassifier(**params).fit(X[copies], LABELS[copies])
        assert_allclose(a.predict_proba(Z), b.predict_proba(Z))
        assert a.outlier_label_ == b.outlier_label_
    rows = a.radius_neighbors(X[:5], return_distance=False)
    assert all((w[row] > 0).all() for row in rows), "rows are those that the user gave"


def test_x_none_leaves_each_row_out():
    model = RadiusNeighborsRegressor(1.5).fit(X, NUMBERS)
    D = Minkowski()(X)
    near = (D <= 1.5) & ~np.eye(60, dtype=bool)
    some = near.any(axis=1)
    with pytest.warns(UserWarning, match="no row within") if not some.all() else _nothing():
        found = model.predict(None)
    assert_allclose(found[some], (near @ NUMBERS)[some] / near.sum(axis=1)[some])
    weighed = RadiusNeighborsClassifier(9.0).fit(X, LABELS, np.arange(60) % 2)
    with pytest.raises(ValueError, match="some of them have weight 0"):
        weighed.predict(None)


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


WORDS = ["haus", "maus", "house", "mouse", "laus", "haus"]
TABLE = pd.DataFrame({"a": [0.0, 1.0, 5.0, 6.0, 0.5, 0.0], "c": list("xxyyxx")})
KINDS = [
    (Edit(), WORDS, 1),
    (Jaccard(), [set(w) for w in WORDS], 0.5),
    (Match(), [[w[0], w[1]] for w in WORDS], 1),
    (Mixed([(Minkowski(1), ["a"]), (Match(), ["c"])]), TABLE, 1.5),
    (Spectrum(2).normalised(), WORDS, 1.1),
    (RBF(0.5), TABLE[["a"]].to_numpy(), 0.9),
    (Minkowski(), sp.csr_array(TABLE[["a"]].to_numpy()), 1.2),
]


@pytest.mark.parametrize(
    ("metric", "samples", "radius"), KINDS, ids=[type(metric).__name__ for metric, _, _ in KINDS]
)
def test_any_kind_of_sample(metric, samples, radius, tmp_path):
    y = np.array(["de", "de", "en", "en", "de", "fr"])
    model = RadiusNeighborsClassifier(radius, metric=metric).fit(samples, y)
    D = model.distance_.whole(model.X_fit_, model.X_fit_)
    votes = (radius >= D) @ (y[:, None] == np.unique(y)).astype(float)
    assert_allclose(model.predict_proba(samples), votes / votes.sum(axis=1, keepdims=True))
    given = RadiusNeighborsClassifier(radius, metric="precomputed").fit(D, y)
    assert_allclose(given.predict_proba(D), model.predict_proba(samples))
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(loaded.predict(samples), model.predict(samples))


def test_threads_and_strips_change_nothing(monkeypatch):
    model = RadiusNeighborsClassifier(0.8, outlier_label="a").fit(X, LABELS)
    before = model.predict_proba(Z)
    monkeypatch.setattr("mercer.learners.neighbours.neighbour_learner.QUERIES", 4)
    monkeypatch.setattr("mercer.learners.neighbours.neighbour_learner.PAIRS", 1)
    assert_array_equal(model.predict_proba(Z), before)
    for n_jobs in (1, 3):
        same = clone(model).set_params(n_jobs=n_jobs).fit(X, LABELS)
        assert_array_equal(same.predict_proba(Z), before)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"radius": -1}, ValueError, "radius=-1"),
        ({"radius": np.nan}, ValueError, "radius=nan"),
        ({"weights": "rank"}, ValueError, "weights='rank': give one of 'uniform'"),
        ({"weights": lambda d: d[:1]}, ValueError, "weights returned shape"),
        ({"weights": lambda d: -d}, ValueError, "weights returned a negative"),
        ({"outlier_label": 3}, TypeError, "outlier_label=3: give a label of the type"),
        ({"outlier_label": ["a", "b"]}, ValueError, "2 labels, but y has 1 output"),
        ({"outlier_label": [["a"]]}, TypeError, r"outlier_label=\['a'\]"),
        ({"metric": "euclidian"}, ValueError, "Did you mean"),
    ],
)
def test_wrong_parameters(params, error, message):
    with pytest.raises(error, match=message):
        RadiusNeighborsClassifier(**params).fit(X, LABELS).predict(X)


def test_memory_is_kept():
    many = np.zeros((3000, 1))
    model = RadiusNeighborsRegressor(memory="1MB").fit(many, np.arange(3000))
    assert_allclose(model.predict(many[:50]), 1499.5)  # of 150,000 pairs, by parts
    with pytest.raises(ValueError, match="query fewer rows at a time"):
        model.predict(None)  # the training rows ask all at once
