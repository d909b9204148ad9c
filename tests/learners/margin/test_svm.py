"""SVC and SVR against scikit-learn's; test_svm_family.py has all five and its own checks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, SVR
from mercer.kernels import RBF, Laplacian, Linear, Match, Polynomial, Sigmoid, TableKernel

RNG = np.random.default_rng(0)
IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("data", [IRIS, WINE, CANCER], ids=["iris", "wine unscaled", "cancer"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_agrees_with_scikit_learn(data, C, kernel):
    X, y = data
    if kernel != "rbf":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = SVC(C=C, kernel=kernel, tol=1e-5).fit(X, y)
    theirs = sklearn.svm.SVC(C=C, kernel=kernel, tol=1e-5).fit(X, y)
    scale = np.abs(theirs.decision_function(X)).max()
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3 * scale)
    assert np.mean(ours.predict(X) == theirs.predict(X)) >= 0.99
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3 * scale)
    assert ours.converged_


def test_attributes_are_laid_out_as_in_scikit_learn():
    X, y = IRIS
    ours, theirs = SVC(tol=1e-6).fit(X, y), sklearn.svm.SVC(tol=1e-6).fit(X, y)
    assert_array_equal(ours.support_, theirs.support_)
    assert_array_equal(ours.n_support_, theirs.n_support_)
    assert_array_equal(ours.support_vectors_, theirs.support_vectors_)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    ovo = ours.set_params(decision_function_shape="ovo").decision_function(X)
    wanted = theirs.set_params(decision_function_shape="ovo").decision_function(X)
    assert_allclose(ovo, wanted, atol=1e-3)
    linear = SVC(kernel="linear", tol=1e-6).fit(X, y)
    peer = sklearn.svm.SVC(kernel="linear", tol=1e-6).fit(X, y)
    assert_allclose(linear.coef_, peer.coef_, atol=1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 5.0])
def test_regression_agrees_with_scikit_learn(epsilon):
    X, y = load_diabetes(return_X_y=True)
    ours = SVR(C=100, epsilon=epsilon).fit(X, y)
    theirs = sklearn.svm.SVR(C=100, epsilon=epsilon).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=0.02)
    assert abs(ours.score(X, y) - theirs.score(X, y)) < 1e-4


@pytest.mark.parametrize("estimator", [SVC(tol=1e-6), SVR(tol=1e-6, epsilon=0.05)])
def test_weights_mean_repetition(estimator):
    X = RNG.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(float) + (0.1 * X[:, 1] if isinstance(estimator, SVR) else 0)
    w = RNG.integers(0, 4, 60)
    weighted = clone(estimator).fit(X, y, sample_weight=w)
    repeated = clone(estimator).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    values = "predict" if isinstance(estimator, SVR) else "decision_function"
    assert_allclose(getattr(weighted, values)(X), getattr(repeated, values)(X), atol=1e-4)
    assert not np.isin(np.flatnonzero(w == 0), weighted.support_).any()


def test_balanced_class_weights_count_weights_as_rows():
    X, y = CANCER
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = SVC(class_weight="balanced").fit(X, y)
    theirs = sklearn.svm.SVC(class_weight="balanced").fit(X, y)
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-3)


@pytest.mark.parametrize(
    "kernel", [RBF(0.5), Laplacian(0.5), Polynomial(2), Linear(), RBF("median")], ids=repr
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certificates_of_every_kernel(kernel, dtype):
    X, y = IRIS
    model = SVC(kernel=kernel).fit(X.astype(dtype), y)
    assert model.converged_
    assert 0 <= model.dual_gap_ <= 1e-2 * model.objective_
    assert model.score(X.astype(dtype), y) > 0.95
    assert model.decision_function(X.astype(dtype)).dtype == np.float64


def test_samples_of_other_kinds():
    X, y = IRIS
    dense = SVC(gamma=0.5).fit(X, y)
    K = RBF(0.5)(X)
    assert_allclose(
        SVC(kernel="precomputed").fit(K, y).decision_function(K), dense.decision_function(X)
    )
    assert_allclose(
        SVC(gamma=0.5).fit(sp.csr_array(X), y).decision_function(sp.csr_array(X)),
        dense.decision_function(X),
        atol=1e-6,
    )
    callable_kernel = SVC(kernel=lambda A, B: RBF(0.5)(A, B)).fit(X, y)
    assert_allclose(callable_kernel.decision_function(X), dense.decision_function(X), atol=1e-6)
    table = pd.DataFrame({"size": X[:, 0], "colour": np.array(["red", "blue", "green"])[y]})
    assert SVC(kernel=TableKernel()).fit(table, y).score(table, y) == 1.0
    assert SVC(kernel=Match()).fit(table[["colour"]], y).score(table[["colour"]], y) == 1.0


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["three classes", "two classes"])
def test_probabilities(data):
    X, y = data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = SVC(probability=True, random_state=0).fit(X, y)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    agree = np.mean(model.classes_[P.argmax(axis=1)] == model.predict(X))
    assert agree == 1 if len(model.classes_) == 2 else agree > 0.97
    assert -np.mean(np.log(P[np.arange(len(y)), y])) < 0.2
    assert not hasattr(SVC().fit(X, y), "predict_proba")


def test_breaking_ties():
    X, y = IRIS
    model = SVC(break_ties=True).fit(X, y)
    assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0}, r"C=0: must be a number > 0"),
        ({"C": -1}, r"C=-1"),
        ({"C": np.nan}, r"C=nan"),
        ({"tol": 0}, r"tol=0"),
        ({"max_iter": 0}, r"max_iter=0"),
        ({"kernel": "rfb"}, r"Did you mean 'rbf'"),
        ({"kernel": RBF(), "gamma": 2.0}, r"gamma=2\.0 is given together with the kernel"),
        ({"gamma": -1.0}, r"gamma=-1\.0"),
        ({"class_weight": {7: 1.0}}, r"class 7, but y does not have it"),
        ({"class_weight": "even"}, r"class_weight='even'"),
        ({"decision_function_shape": "all"}, r"decision_function_shape='all'"),
    ],
)
def test_wrong_parameters_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        SVC(**change).fit(*IRIS)


def test_wrong_data_are_named():
    X, y = IRIS
    with pytest.raises(ValueError, match="one class"):
        SVC().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="negative value"):
        SVC().fit(X, y, sample_weight=np.full(150, -1.0))
    with pytest.raises(ValueError, match="zero for every row"):
        SVC().fit(X, y, sample_weight=np.zeros(150))
    with pytest.raises(TypeError, match=r"X is 150 strings, .*RBF compares vectors"):
        SVC().fit(["a"] * 150, y)
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="not symmetric"):
        SVC(kernel="precomputed").fit(np.triu(np.ones((150, 150))), y)
    with pytest.raises(ValueError, match="NaN"):
        SVC().fit(np.where(X > 7, np.nan, X), y)


@pytest.mark.full
def test_hostile_problems_end():
    X, y = IRIS
    assert SVC().fit(np.ones((10, 2)), [0, 1] * 5).converged_  # zero variance, contradictions
    assert SVC(kernel=Sigmoid(2.0, -1.0)).fit(X, y).predict(X).shape == (150,)
    assert SVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.0], [1.0]]).tolist() == [0, 1]
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter.*duality gap"):
        SVC(max_iter=1, C=1e4, gamma=10.0).fit(RNG.normal(size=(2000, 2)), RNG.integers(0, 2, 2000))


def test_a_small_memory_budget_gives_the_same():
    X, y = CANCER
    small, large = SVC(memory="300kB").fit(X, y), SVC().fit(X, y)
    assert_allclose(small.decision_function(X), large.decision_function(X), atol=1e-6)


def test_rounding_leaves_room_for_large_penalties():
    """The violation in terms of the exact K is what was promised."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=2100) > 0, 1.0, -1.0)
    for C in (1.0, 1e3):
        model = SVC(C=C, gamma=0.5).fit(X, y)
        alpha = np.zeros(2100)
        alpha[model.support_] = np.abs(model.dual_coef_[0])
        f = model.decision_function(X) - y
        low = np.where(y > 0, alpha > 0, alpha < C)
        up = np.where(y > 0, alpha < C, alpha > 0)
        assert f[low].max() - f[up].min() < 2e-3


def test_large_samples_are_compared_in_single_precision_within_the_tolerance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 2))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2100) > 0
    fast, exact = SVC(gamma=0.5).fit(X, y), SVC(gamma=0.5, tol=1e-5).fit(X, y)
    assert "float32" in fast.gram_
    assert "float64" in exact.gram_
    assert fast.support_vectors_.dtype == np.float64
    assert_allclose(fast.objective_, exact.objective_, rtol=1e-5)
    assert_allclose(fast.decision_function(X), exact.decision_function(X), atol=5e-3)
