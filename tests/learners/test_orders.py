"""The order of rows and columns does not matter, and weights mean repetition, for every learner."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier

from mercer import (
    SVC,
    SVR,
    KernelClassifier,
    KernelQuantileRegression,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KNeighborsRegressor,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.learners.ridge.logistic import KernelLogisticRegression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 3.0, 0.5]
NEW = RNG.normal(size=(20, 3))
NUMBERS = np.sin(X[:, 0]) + X[:, 2] + 0.1 * RNG.normal(size=60)
LABELS = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [-0.4, 0.5])]
TIMES = RNG.integers(0, 4, 60)
LEARNERS = [
    KernelRidge(0.1, kernel="rbf"),
    KernelRidge("auto", kernel="rbf"),
    KernelRidgeClassifier(0.1, kernel="rbf"),
    KernelLogisticRegression(kernel="rbf"),
    KNeighborsRegressor(4, weights="rank"),
    KNeighborsRegressor(None, weights="quartic", width=1.5),
    SVC(tol=1e-9),
    SVC(tol=1e-9, kernel="linear", multi_class="ovr"),
    SVR(tol=1e-9),
    NuSVC(tol=1e-9, nu=0.2),
    NuSVR(tol=1e-9),
    KernelQuantileRegression(tol=1e-9, quantile=[0.1, 0.9]),
    OneClassSVM(tol=1e-9, nu=0.3),
    LinearSVC(tol=1e-10),
    LinearSVR(tol=1e-10, epsilon=0.1),
]


def values(model, A, y, w=None, new=NEW):
    model = clone(model)
    if isinstance(model, OneClassSVM):
        return model.fit(A, sample_weight=w).decision_function(new)
    model.fit(A, y, w)
    return model.decision_function(new) if is_classifier(model) else model.predict(new)


@pytest.mark.parametrize("model", LEARNERS, ids=lambda model: " ".join(repr(model).split()))
def test_orders_and_repetition(model):
    y = LABELS if is_classifier(model) else NUMBERS
    wanted, close = values(model, X, y), {"rtol": 1e-4, "atol": 1e-4}
    rows, columns = RNG.permutation(60), [2, 0, 1]
    assert_allclose(values(model, X[rows], y[rows]), wanted, **close)
    assert_allclose(values(model, X[:, columns], y, None, NEW[:, columns]), wanted, **close)
    if model.get_params().get("alpha") != "auto":  # a row and its copies are left out together
        many = np.repeat(np.arange(60), TIMES)
        repeated, weighted = values(model, X[many], y[many]), values(model, X, y, TIMES * 1.0)
        assert_allclose(weighted, repeated, **close)
        assert np.abs(weighted - wanted).max() > 1e-2


@pytest.mark.parametrize("fit", [KernelClassifier, KernelRegressor])
def test_an_automatic_fit_of_rows_and_columns_in_another_order(fit):
    y = LABELS if fit is KernelClassifier else NUMBERS
    one = {"family": "gaussian", "scale": 1.0, "learn": False, "rows": 60, "rank": 60, "steps": []}

    def fitted(A, y, new, w=None):
        model = fit(replay=[one], only="kernels").fit(A, y, w)  # folds decide which model is kept
        answers = model.predict_proba(new) if fit is KernelClassifier else model.predict(new)
        return answers, [row["score"] for row in model.leaderboard_]

    rows, columns = RNG.permutation(60), [2, 0, 1]
    wanted, scores = fitted(X, y, NEW)
    assert_allclose(fitted(X[rows], y[rows], NEW)[0], wanted, rtol=1e-3, atol=1e-3)
    assert_allclose(fitted(X[:, columns], y, NEW[:, columns])[0], wanted, rtol=1e-3, atol=1e-3)
    # seven times each row is no other table, but probabilities lean less on what is assumed
    for factor in (1.0,) if fit is KernelClassifier else (1.0, 7.0):
        answers, found = fitted(X, y, NEW, np.full(60, factor))
        assert_allclose(answers, wanted, rtol=1e-3, atol=1e-3)
        assert_allclose(found, scores, rtol=1e-3, atol=1e-3)
