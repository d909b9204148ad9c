"""KernelRidge and KernelRidgeClassifier: scikit-learn's answers, whichever solver runs."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from mercer import KernelRidge, KernelRidgeClassifier
from mercer.kernels import RBF, Sigmoid
from mercer.learners.base.parameters import LIMITS, Limits

SOLVERS = ["cholesky", "conjugate_gradient", "low_rank"]
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 3))
Z = rng.normal(size=(9, 4))

ESTIMATORS = [
    *(KernelRidge(solver=s) for s in ["auto", *SOLVERS]),
    *(KernelRidge(kernel=k) for k in ("rbf", RBF(0.5))),
    *(KernelRidgeClassifier(solver=s) for s in ["auto", *SOLVERS]),
    KernelRidgeClassifier(kernel="rbf", class_weight="balanced"),
]


@parametrize_with_checks(ESTIMATORS[:2] + ESTIMATORS[6:8])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def executed(estimator) -> Counter:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # skipped checks, and those of scikit-learn's own class
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    return Counter(r["check_name"] for r in results if r["status"] != "skipped")


@pytest.mark.parametrize(
    ("ours", "theirs", "inapplicable"),
    [
        (KernelRidge(), SklearnKernelRidge(), set()),
        # that check reads coef_, which only a linear model has
        (
            KernelRidgeClassifier(),
            RidgeClassifier(),
            {"check_class_weight_balanced_linear_classifier"},
        ),
    ],
)
def test_no_check_is_left_out(ours, theirs, inapplicable):
    assert set(executed(theirs)) - set(executed(ours)) <= inapplicable


@pytest.mark.full
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_whole_suite_passes_with_no_expected_failure(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed


# --- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "sigmoid", "cosine"])
@pytest.mark.parametrize("alpha", [0.5, [0.1, 1.0, 10.0]], ids=["one", "per target"])
@pytest.mark.parametrize("weights", [None, rng.uniform(0.1, 3, 60)], ids=["equal", "weighted"])
def test_scikit_learns_values(kernel, alpha, weights):
    if kernel == "sigmoid":
        alpha = np.asarray(alpha) + 30  # positive definite, as scikit-learn's solver needs it
    ours = KernelRidge(alpha, kernel=kernel).fit(X, Y, weights)
    theirs = SklearnKernelRidge(alpha, kernel=kernel).fit(X, Y, weights)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_solvers_agree(solver, weighted):
    w = np.where(np.arange(60) % 5 == 0, 0.0, 1.5) if weighted else None
    exact = KernelRidge([0.1, 1, 2], kernel=RBF(0.3)).fit(X, Y, w)
    model = KernelRidge([0.1, 1, 2], kernel=RBF(0.3), solver=solver, tol=1e-10, random_state=0).fit(
        X, Y, w
    )
    assert model.solver_ == solver
    assert model.residual_ < 1e-8
    assert_allclose(model.predict(Z), exact.predict(Z), atol=1e-6)


def test_many_penalties_share_one_eigendecomposition():
    y = rng.normal(size=(60, 12))
    alpha = np.logspace(-2, 2, 12)
    ours, theirs = KernelRidge(alpha, kernel="rbf"), SklearnKernelRidge(alpha, kernel="rbf")
    assert_allclose(ours.fit(X, y).predict(Z), theirs.fit(X, y).predict(Z), atol=1e-9)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 2e-4)])
def test_precision_of_the_input_is_kept(dtype, tol):
    model = KernelRidge(0.1, kernel="rbf").fit(X.astype(dtype), Y[:, 0])
    assert model.dual_coef_.dtype == dtype
    assert model.predict(Z.astype(dtype)).dtype == dtype
    exact = SklearnKernelRidge(0.1, kernel="rbf").fit(X, Y[:, 0]).predict(Z)
    assert_allclose(model.predict(Z.astype(dtype)), exact, atol=tol)


@pytest.mark.parametrize(
    ("n", "d"), [(1, 3), (5, 1), (4, 30)], ids=["one row", "one feature", "more features than rows"]
)
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
def test_small_and_wide(n, d, solver):
    A, t = rng.normal(size=(n, d)), rng.normal(size=n)
    model = KernelRidge(0.5, kernel="rbf", solver=solver, random_state=0).fit(A, t)
    expected = SklearnKernelRidge(0.5, kernel="rbf").fit(A, t).predict(A)
    assert_allclose(model.predict(A), expected, atol=1e-5)


def test_a_constant_column_and_duplicate_rows_are_no_trouble():
    A = np.column_stack([X[:, :2], np.ones(60)])
    A[30:] = A[:30]
    model = KernelRidge(0.1, kernel="rbf").fit(A, Y)
    assert_allclose(
        model.predict(A), SklearnKernelRidge(0.1, kernel="rbf").fit(A, Y).predict(A), atol=1e-9
    )


def test_without_penalty_duplicates_are_reported():
    A = np.repeat(X[:10], 2, axis=0)
    with pytest.warns(ConvergenceWarning, match="minimum norm"):
        model = KernelRidge(0, kernel="rbf").fit(A, Y[:20, 0])
    means = Y[:20, 0].reshape(10, 2).mean(axis=1)
    assert_allclose(model.predict(X[:10]), means, atol=1e-6)


def test_rows_of_weight_zero_are_absent_for_the_kernel_too():
    w = (np.arange(60) < 40).astype(float)
    model, fewer = (KernelRidge(kernel=RBF("scale")) for _ in range(2))
    model.fit(X, Y, w)
    fewer.fit(X[:40], Y[:40])
    assert model.kernel_.gamma == fewer.kernel_.gamma
    assert_allclose(model.predict(Z), fewer.predict(Z), atol=1e-12)


def test_weights_mean_repetition_in_every_solver():
    times = rng.integers(0, 4, 60)
    index = np.repeat(np.arange(60), times)
    for solver in SOLVERS:
        args = {"kernel": RBF(0.2), "solver": solver, "tol": 1e-10, "random_state": 0}
        weighted = KernelRidge(0.3, **args).fit(X, Y, times)
        repeated = KernelRidge(0.3, **args).fit(X[index], Y[index])
        assert_allclose(weighted.predict(Z), repeated.predict(Z), atol=1e-6)


# --- what is chosen -----------------------------------------------------------------------------


def test_auto_chooses_by_size_and_memory(monkeypatch):
    y = Y[:, 0]
    assert KernelRidge().fit(X, y).solver_ == "cholesky"
    tight = KernelRidge(kernel="rbf", memory=20_000, random_state=0).fit(X, y)
    assert tight.solver_ == "conjugate_gradient"
    assert tight.gram_.startswith("TiledGram")
    monkeypatch.setitem(LIMITS, "ridge", Limits(50, 2000))
    large = KernelRidge(kernel="rbf", rank=30, random_state=0).fit(X, y)
    assert large.solver_ == "low_rank"
    assert large.gram_ == "LowRankGram 60 x 60 float64, rank 30"
    assert large.X_fit_.shape == (30, 4)
    assert large.dual_coef_.shape == (30,)
    indefinite = KernelRidge(40.0, kernel="sigmoid").fit(X, y)
    assert indefinite.solver_ == "cholesky"


def test_low_rank_of_a_precomputed_matrix():
    kernel = RBF(0.2)
    args = {"solver": "low_rank", "rank": 20, "random_state": 0}
    given = KernelRidge(kernel="precomputed", **args).fit(kernel(X), Y)
    assert np.count_nonzero(given.dual_coef_.any(axis=1)) == 20
    own = KernelRidge(kernel=kernel, **args).fit(X, Y)
    assert_allclose(given.predict(kernel(Z, X)), own.predict(Z), atol=1e-7)


def test_wrong_arguments():
    y = Y[:, 0]
    with pytest.raises(ValueError, match=r"solver='lu': give one of \['auto'"):
        KernelRidge(solver="lu").fit(X, y)
    with pytest.raises(ValueError, match=r"alpha=-1: give a finite penalty >= 0"):
        KernelRidge(-1).fit(X, y)
    with pytest.raises(ValueError, match=r"alpha has shape \(2,\), but y has 3 targets"):
        KernelRidge([1, 2]).fit(X, Y)
    for solver in SOLVERS[1:]:
        with pytest.raises(ValueError, match="needs a positive semidefinite kernel"):
            KernelRidge(kernel=Sigmoid(), solver=solver).fit(X, y)
    with pytest.raises(MemoryError, match='give memory="1MB" or more, or solver='):
        KernelRidge(kernel="rbf", solver="cholesky", memory=20_000).fit(X, y)


def test_conjugate_gradients_that_stop_early_say_so():
    with pytest.warns(ConvergenceWarning, match=r"raise max_iter.*relative residual"):
        KernelRidge(
            1e-9, kernel="rbf", solver="conjugate_gradient", max_iter=2, rank=2, random_state=0
        ).fit(X, Y)


def test_pickle():
    model = KernelRidge(kernel=RBF("scale")).fit(X, Y)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(Z), model.predict(Z))


# --- the classifier -----------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_linear_kernel_gives_ridge_classifier(classes, weighted, fit_intercept, solver):
    A, y = make_classification(
        90, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=0
    )
    labels = np.array(["a", "b", "c", "d"])[y]
    w = rng.integers(0, 3, 90) if weighted else None
    ours = KernelRidgeClassifier(
        0.7, fit_intercept=fit_intercept, solver=solver, tol=1e-12, random_state=0
    ).fit(A, labels, w)
    theirs = RidgeClassifier(0.7, fit_intercept=fit_intercept, solver="cholesky")
    theirs.fit(A, labels, w)
    assert_allclose(ours.decision_function(A), theirs.decision_function(A), atol=1e-6)
    assert_array_equal(ours.predict(A), theirs.predict(A))
    assert_array_equal(ours.classes_, theirs.classes_)


def test_class_weights_are_row_weights():
    A, y = make_classification(80, 5, weights=[0.8], random_state=1)
    counts = np.bincount(y)
    balanced = KernelRidgeClassifier(kernel="rbf", class_weight="balanced").fit(A, y)
    rows = KernelRidgeClassifier(kernel="rbf").fit(A, y, (80 / 2 / counts)[y])
    assert_allclose(balanced.decision_function(A), rows.decision_function(A))
    given = KernelRidgeClassifier(kernel="rbf", class_weight={0: 3.0}).fit(A, y)
    rows = KernelRidgeClassifier(kernel="rbf").fit(A, y, np.where(y == 0, 3.0, 1.0))
    assert_allclose(given.decision_function(A), rows.decision_function(A))


def test_balanced_counts_weights_as_repetition():
    A, y = make_classification(40, 5, weights=[0.7], random_state=1)
    times = rng.integers(0, 3, 40)
    index = np.repeat(np.arange(40), times)
    model = KernelRidgeClassifier(kernel="rbf", class_weight="balanced")
    weighted = model.fit(A, y, times).decision_function(A)
    assert_allclose(weighted, model.fit(A[index], y[index]).decision_function(A), atol=1e-9)


def test_iris():
    A, y = load_iris(return_X_y=True)
    model = KernelRidgeClassifier(0.1, kernel=RBF("scale")).fit(A[::2], y[::2])
    assert model.score(A[1::2], y[1::2]) > 0.94
    assert model.decision_function(A).shape == (150, 3)


def test_labels_of_indicators():
    A = rng.normal(size=(50, 3))
    labels = (A[:, :2] > 0).astype(int)
    model = KernelRidgeClassifier(0.1, kernel="rbf").fit(A, labels)
    assert model.predict(A).shape == (50, 2)
    assert (model.predict(A) == labels).mean() > 0.95


@pytest.mark.parametrize(
    ("args", "y", "message"),
    [
        ({}, np.ones(60), "y has one class, .*needs at least two"),
        ({}, Y[:, 0], "Unknown label type"),
        ({"class_weight": {5: 1.0}}, np.arange(60) % 2, "class_weight has the class 5"),
        ({"class_weight": "even"}, np.arange(60) % 2, "class_weight='even': give"),
        ({"class_weight": {0: -1}}, np.arange(60) % 2, "finite weights >= 0"),
        ({"alpha": [1, 2]}, np.arange(60) % 2, "all classes share the penalty"),
    ],
)
def test_wrong_classes(args, y, message):
    with pytest.raises(ValueError, match=message):
        KernelRidgeClassifier(**args).fit(X, y)


def test_a_class_of_weight_zero_is_absent():
    y = np.arange(60) % 3
    model = KernelRidgeClassifier(kernel="rbf").fit(X, y, (y < 2).astype(float))
    assert_array_equal(model.classes_, [0, 1])
    fewer = KernelRidgeClassifier(kernel="rbf").fit(X[y < 2], y[y < 2])
    assert_allclose(model.decision_function(Z), fewer.decision_function(Z))
