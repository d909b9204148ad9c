"""Predictions of a learnt neighbourhood by its nearest rows alone, which an index finds in z."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    NeighbourhoodMachineClassifier as Classifier,
    NeighbourhoodMachineRegressor as Regressor,
)
from mercer.distances import Minkowski
from mercer.search import BruteForce
from mercer.solvers.neighbourhoods import nearest_shares, smooth, smooth_nearest

QUICK = {"steps": 60, "hidden": 32, "scaling": "standard", "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(700, 3))
STAIRS = np.floor(4 * X[:, 0]) * (X[:, 1] > 0.5)
NEW = RNG.uniform(size=(60, 3))
W = RNG.integers(0, 3, 700).astype(float)


@parametrize_with_checks(
    [Regressor(**QUICK, n_neighbors=5), Classifier(**QUICK, n_neighbors=5)],
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def by_definition(model, k):
    """The mean over the k nearest rows of z, member by member."""
    values = []
    for member in model.members_:
        Z = member.embed(model.encoder_.transform(NEW), 1)
        D = np.linalg.norm(Z[:, None] - member.Z[None], axis=2)
        for row in D:
            near = np.argsort(row, kind="stable")[:k]
            P = model._weights[near] * np.exp(-member.temperature * (row[near] - row[near[0]]))
            values.append(P @ model._targets[near] / P.sum())
    return np.mean(np.reshape(values, (len(model.members_), len(NEW), -1)), axis=0)


@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "descent"])
@pytest.mark.parametrize("k", [1, 7, 60])
def test_the_definition(k, algorithm):
    model = Regressor(**QUICK, n_members=2, n_neighbors=k, algorithm=algorithm).fit(X, STAIRS, W)
    expected = by_definition(model, k)[:, 0] * model._spread + model._centre
    found = model.predict(NEW)
    close = np.isclose(found, expected, atol=2e-4)
    assert np.mean(close) > (0.95 if algorithm == "descent" else 0.999)
    shares = model.shares(NEW)
    assert_allclose(shares.sum(axis=1), 1)
    assert ((shares > 0).sum(axis=1) <= 2 * k).all()
    assert_allclose(shares @ STAIRS[model.rows_], found, atol=1e-3)
    reasons = model.reasons(NEW, most=2)
    assert_array_equal(reasons.rows[:, 0], model.rows_[shares.argmax(axis=1)])


@pytest.mark.parametrize("Machine", [Regressor, Classifier])
def test_many_nearest_rows_are_all_rows(Machine):
    y = STAIRS if Machine is Regressor else STAIRS > 1
    whole = Machine(**QUICK).fit(X, y)
    answer = "predict" if Machine is Regressor else "predict_proba"
    expected = getattr(whole, answer)(NEW)
    n = len(whole.rows_)
    gaps = []
    for k in (20, 200, n - 1, n):
        some = clone(whole).set_params(n_neighbors=k).fit(X, y)
        gaps.append(np.abs(getattr(some, answer)(NEW) - expected).max())
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[2] < 1e-3
    assert gaps[3] == 0
    assert_array_equal(some.transform(NEW), whole.transform(NEW))


def test_the_parameters_may_change_after_a_fit():
    model = Regressor(**QUICK, n_neighbors=50).fit(X, STAIRS)
    expected = model.predict(NEW)
    later = Regressor(**QUICK).fit(X, STAIRS)
    assert not later.searches
    later.set_params(n_neighbors=50, algorithm="kd_tree")
    assert_allclose(later.predict(NEW), expected, atol=1e-5)
    assert type(later.indexes()[0]).__name__ == "KDTree"
    later.set_params(algorithm=BruteForce(Minkowski(2)))
    assert type(later.indexes()[0]).__name__ == "BruteForce"
    assert_allclose(later.predict(NEW), expected, atol=1e-5)
    with pytest.raises(ValueError, match="algorithm='octree'"):
        Regressor(**QUICK, n_neighbors=3, algorithm="octree").fit(X, STAIRS)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        Regressor(**QUICK, n_neighbors=0).fit(X, STAIRS)


def test_another_fit_has_another_index():
    model = Regressor(**QUICK, n_neighbors=5).fit(X, STAIRS)
    model.fit(X[:300], STAIRS[:300])
    fresh = Regressor(**QUICK, n_neighbors=5).fit(X[:300], STAIRS[:300])
    assert_array_equal(model.predict(NEW), fresh.predict(NEW))


@pytest.mark.parametrize("algorithm", ["auto", "descent"])
def test_files_hold_no_index(algorithm, tmp_path):
    model = Regressor(**QUICK, n_neighbors=20, algorithm=algorithm, n_jobs=1).fit(X, STAIRS)
    mercer.save(model, tmp_path / "model.mercer")
    for copy in (mercer.load(tmp_path / "model.mercer"), pickle.loads(pickle.dumps(model))):
        assert copy._indexes is None
        assert_allclose(copy.predict(NEW), model.predict(NEW), atol=1e-6)
        assert_array_equal(copy.kneighbors(NEW, 3)[1], model.kneighbors(NEW, 3)[1])


def test_rows_that_an_index_did_not_find_have_no_share():
    targets = np.array([[1.0], [3.0], [9.0]], np.float32)
    weights = np.array([1.0, 2.0, 1.0], np.float32)
    D = np.array([[0.0, 1.0, np.inf], [2.0, np.inf, np.inf], [np.inf] * 3], np.float32)
    near = np.array([[0, 1, -1], [2, -1, -1], [-1, -1, -1]])
    P = nearest_shares(D, near, weights, 2.0)
    votes = np.array([1.0, 2 * np.exp(-2.0)])
    assert_allclose(P[0], [*votes / votes.sum(), 0])
    assert_allclose(P[1:], [[1, 0, 0], [0, 0, 0]])
    found = smooth_nearest(D, near, targets, weights, 2.0)
    assert_allclose(found[:, 0], [votes @ [1, 3] / votes.sum(), 9, 0])
    D, near = np.array([[2e3, 2e3 + 1]]), np.array([[0, 1]])  # far from all
    assert_allclose(smooth_nearest(D, near, targets, weights, 2.0)[0], found[0], rtol=1e-6)


def test_nearest_rows_agree_with_the_native_smoother():
    Z = RNG.normal(size=(50, 8)).astype(np.float32)
    Q = RNG.normal(size=(9, 8)).astype(np.float32)
    targets = RNG.normal(size=(50, 2)).astype(np.float32)
    weights = RNG.uniform(0.5, 2, 50).astype(np.float32)
    D, near = BruteForce(Minkowski(2)).fit(Z).query(Q, 50)
    expected = smooth(Q, Z, targets, weights, (1.4,), 1)[0]
    assert_allclose(smooth_nearest(D, near, targets, weights, 1.4), expected, atol=1e-4)
