"""What zero means: f = 0 is no vote for the second class, weight 0 is a row that is absent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer import SVC, KernelRidgeClassifier, LinearSVC, OneClassSVM
from mercer.learners.base.reasons import votes
from mercer.learners.base.training import weigh_classes
from mercer.learners.ridge.logistic import KernelLogisticRegression

CLASSIFIERS = [
    SVC(kernel="linear"),
    LinearSVC(fit_intercept=False),
    KernelRidgeClassifier(kernel="linear"),
    KernelLogisticRegression(kernel="linear"),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_a_tie_is_the_first_class_as_in_scikit_learn(model):
    X, y = np.array([[-1.0], [1.0], [-2.0], [2.0]]), np.array(["no", "yes"] * 2)
    model.fit(X, y)
    middle = np.array([[0.0], [1e-3], [-1e-3]])
    f = model.decision_function(middle)
    assert_allclose(f[0], 0, atol=1e-12)
    if f[0] != 0:  # rounding of the intercept
        assert hasattr(model, "intercept_")
        model.intercept_ = np.zeros(1)
    assert model.decision_function(middle)[0] == 0
    assert_array_equal(model.predict(middle), ["no", "yes", "no"])


def test_equal_votes_are_ordered_by_the_values_of_f_and_then_by_the_class():
    # pairs (0, 1), (0, 2), (1, 2): each class wins once, then nobody has a lead
    cycle = votes(np.array([[1.0, -1.0, 1.0], [1.0, -1.0, 5.0], [0.0, 0.0, 0.0]]), 3)
    assert_allclose(cycle[0], cycle[0, 0])
    assert cycle[1].argmax() == 1
    assert_array_equal(np.round(cycle[:2]), 1)


def test_one_class_counts_the_border_as_inside():
    X = np.array([[-1.0], [1.0], [0.5], [-0.5]])
    model = OneClassSVM(kernel="rbf", nu=0.5).fit(X)
    f = model.decision_function(X)
    assert_array_equal(model.predict(X), np.where(f >= 0, 1, -1))
    model.decision_function = lambda X: np.array([0.0, -1e-9, 1e-9])
    assert_array_equal(model.predict(X), [1, -1, 1])


@pytest.mark.parametrize(
    ("y", "w", "wanted"),
    [
        (["a", "b", "b", "b"], [1, 1, 1, 1], [2, 2 / 3, 2 / 3, 2 / 3]),
        (["a", "b", "b", "b"], [3, 1, 1, 1], [3, 1, 1, 1]),
        # a row of weight 0 is absent, and so is a class that has no other rows
        (["a", "b", "b", "b", "a"], [1, 1, 1, 1, 0], [2, 2 / 3, 2 / 3, 2 / 3, 0]),
        (["a", "b", "b", "b", "c"], [1, 1, 1, 1, 0], [2, 2 / 3, 2 / 3, 2 / 3, 0]),
    ],
)
def test_balanced_weights_without_rows_of_weight_0(y, w, wanted):
    found = weigh_classes("balanced", np.array(y), np.array(w, float))
    assert_allclose(found, wanted)


@pytest.mark.parametrize("class_weight", ["balanced", {"low": 3.0}])
@pytest.mark.parametrize(
    "model",
    [SVC(tol=1e-9), LinearSVC(tol=1e-9), KernelRidgeClassifier(kernel="rbf"),
     KernelLogisticRegression(kernel="rbf")],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_weight_0_is_absence_whatever_the_class_weights(model, class_weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0.7, "low", "high")
    w = np.where(rng.uniform(size=60) < 0.3, 0.0, rng.uniform(0.5, 2, 60))
    model.set_params(class_weight=class_weight)
    zero = model.fit(X, y, w).decision_function(X)
    rows = w > 0
    absent = model.fit(X[rows], y[rows], w[rows]).decision_function(X)
    assert_allclose(zero, absent, rtol=1e-5, atol=1e-5)
