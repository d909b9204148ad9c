"""KernelLogisticRegression: scikit-learn's answers for a linear kernel, probabilities that hold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from lanes import few
from mercer import KernelLogisticRegression
from mercer.kernels import RBF, Match
from mercer.learners.base.parameters import LIMITS, Limits

rng = np.random.default_rng(0)
SOLVERS = ["exact", "low_rank"]


@pytest.mark.parametrize(
    "estimator",
    few(1, [KernelLogisticRegression(), KernelLogisticRegression(solver="low_rank")]),
    ids=repr,
)
def test_the_whole_suite_passes_with_no_expected_failure(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
        theirs = check_estimator(LogisticRegression(), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    ran = {r["check_name"] for r in theirs if r["status"] != "skipped"}
    missing = ran - {r["check_name"] for r in results if r["status"] != "skipped"}
    # these read coef_, which only a linear model has
    assert missing <= {
        "check_class_weight_balanced_linear_classifier",
        "check_sparsify_coefficients",
    }


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_linear_kernel_gives_logistic_regression(solver, classes, fit_intercept):
    X, y = make_classification(120, 6, n_informative=4, n_classes=classes, random_state=0)
    w = rng.integers(0, 3, 120)
    labels = np.array(["x", "y", "z"])[y]
    ours = KernelLogisticRegression(
        0.3, kernel="linear", solver=solver, fit_intercept=fit_intercept, random_state=0
    ).fit(X, labels, w)
    theirs = LogisticRegression(
        C=0.3, tol=1e-10, max_iter=1000, solver="newton-cg", fit_intercept=fit_intercept
    ).fit(X, labels, w)
    assert ours.solver_ == solver
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    if solver == "exact":
        assert len(ours.dual_coef_) == (w > 0).sum()  # rows of weight 0 are absent


def test_low_rank_with_all_centres_is_exact():
    X, y = load_iris(return_X_y=True)
    kernel = RBF(0.5)
    exact = KernelLogisticRegression(kernel=kernel).fit(X, y)
    low = KernelLogisticRegression(kernel=kernel, solver="low_rank", random_state=0).fit(X, y)
    assert_allclose(low.predict_proba(X), exact.predict_proba(X), atol=1e-6)
    few = KernelLogisticRegression(kernel=kernel, solver="low_rank", rank=40, random_state=0)
    few.fit(X, y)
    assert few.X_fit_.shape == (40, 4)
    assert_allclose(few.predict_proba(X), exact.predict_proba(X), atol=0.02)


@pytest.mark.parametrize("solver", SOLVERS)
def test_precomputed(solver):
    X, y = load_iris(return_X_y=True)
    kernel = RBF(0.5)
    args = {"solver": solver, "rank": 50, "random_state": 0}
    given = KernelLogisticRegression(kernel="precomputed", **args).fit(kernel(X), y)
    own = KernelLogisticRegression(kernel=kernel, **args).fit(X, y)
    Z = X[::7] + 0.1
    assert_allclose(given.predict_proba(kernel(Z, X)), own.predict_proba(Z), atol=1e-6)


def test_mean_probability_is_the_share_of_the_class():
    X, y = make_classification(300, 5, weights=[0.8], flip_y=0.1, random_state=0)
    model = KernelLogisticRegression(kernel="rbf").fit(X, y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    assert p[:, 1].mean() == pytest.approx(y.mean(), abs=1e-6)  # the intercept's equation


def test_float32_is_kept_and_near():
    X, y = make_classification(300, 5, random_state=0)
    exact = KernelLogisticRegression(kernel="rbf").fit(X, y)
    narrow = KernelLogisticRegression(kernel="rbf", tol=1e-6).fit(X.astype(np.float32), y)
    assert narrow.dual_coef_.dtype == np.float32
    assert_allclose(narrow.predict_proba(X.astype(np.float32)), exact.predict_proba(X), atol=2e-3)


def test_categories():
    X = rng.choice(list("abc"), (60, 2)).astype(object)
    y = X[:, 0] == "a"
    model = KernelLogisticRegression(10.0, kernel=Match()).fit(X, y)
    assert model.score(X, y) == 1


def test_auto_goes_low_rank_beyond_exact_rows(monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setitem(LIMITS, "logistic", Limits(100, 1000))
    model = KernelLogisticRegression(rank=30, random_state=0).fit(X, y)
    assert (model.solver_, model.gram_) == ("low_rank", "LowRankGram 150 x 150 float64, rank 30")


@pytest.mark.parametrize(
    ("args", "message"),
    [({"C": 0}, "C=0: give a finite number > 0"), ({"solver": "lbfgs"}, "solver='lbfgs': give")],
)
def test_wrong_arguments(args, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        KernelLogisticRegression(**args).fit(X, y)
    with pytest.raises(ValueError, match=r"y has only one class, 0\.0"):
        KernelLogisticRegression().fit(X, np.zeros(150))


def test_stopping_early_is_said():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        KernelLogisticRegression(1e3, max_iter=1).fit(X, y)
