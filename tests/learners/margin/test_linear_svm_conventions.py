"""What scikit-learn documents of LinearSVC and LinearSVR holds for ours.

Shapes and signs, the intercept's penalty, losses and penalties, weights, sparse input.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import NotFittedError

from mercer import SVC, SVR, LinearSVC, LinearSVR

RNG = np.random.default_rng(0)
IRIS = load_iris(return_X_y=True)
IRIS = (IRIS[0] - IRIS[0].mean(axis=0)) / IRIS[0].std(axis=0), IRIS[1]
TWO = make_classification(120, 5, flip_y=0.1, random_state=1)
MACHINES = [LinearSVC, LinearSVR]
VARIANTS = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(penalty="l1"),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVC(fit_intercept=False),
    LinearSVR(epsilon=0.1),
    LinearSVR(loss="squared_epsilon_insensitive"),
]


def values(model, X):
    return model.decision_function(X) if isinstance(model, LinearSVC) else model.predict(X)


@pytest.mark.parametrize("model", VARIANTS, ids=repr)
def test_values_are_linear_in_the_coefficients(model):
    for X, y in (TWO, IRIS):
        model = clone(model).fit(X, y)
        assert_allclose(values(model, X), (X @ model.coef_.T + model.intercept_).squeeze())
        machines = 3 if len(set(y)) > 2 and isinstance(model, LinearSVC) else 1
        assert np.shape(model.intercept_) == (machines,)
        shape = (X.shape[1],) if isinstance(model, LinearSVR) else (machines, X.shape[1])
        assert model.coef_.shape == shape
        assert model.n_features_in_ == X.shape[1]
        assert isinstance(model.n_iter_, int)


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer"])
def test_classes_are_those_of_the_largest_values(multi_class):
    X, y = IRIS
    labels = np.array(["red", "blue", "green"])[y]
    model = LinearSVC(multi_class=multi_class).fit(X, labels)
    assert model.classes_.tolist() == ["blue", "green", "red"]
    f = model.decision_function(X)
    assert f.shape == (150, 3)
    assert_array_equal(model.predict(X), model.classes_[f.argmax(axis=1)])
    assert model.score(X, labels) > 0.9
    two = LinearSVC(multi_class=multi_class).fit(X[:100], labels[:100])
    f = two.decision_function(X[:100])
    assert f.shape == (100,)
    assert_array_equal(two.predict(X[:100]), two.classes_[(f > 0).astype(int)])


def test_one_against_the_rest_is_a_machine_for_each_class():
    X, y = IRIS
    model = LinearSVC(tol=1e-8).fit(X, y)
    for c in range(3):
        alone = LinearSVC(tol=1e-8).fit(X, y == c)
        assert_allclose(model.coef_[c], alone.coef_[0], atol=1e-4)
        assert_allclose(model.intercept_[c], alone.intercept_[0], atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scaling", [1.0, 10.0])
def test_the_intercept_is_penalised_as_the_weight_of_a_constant_column(loss, scaling):
    X, y = TWO
    X = X + 3
    model = LinearSVC(loss=loss, intercept_scaling=scaling, tol=1e-8, C=0.1).fit(X, y)
    wide = np.column_stack([X, np.full(len(X), scaling)])
    explicit = LinearSVC(loss=loss, fit_intercept=False, tol=1e-8, C=0.1).fit(wide, y)
    assert_allclose(explicit.coef_[0, :-1], model.coef_[0], atol=1e-4)
    assert_allclose(scaling * explicit.coef_[0, -1], model.intercept_[0], atol=1e-4)
    assert np.all(explicit.intercept_ == 0)


def test_a_large_intercept_scaling_frees_the_intercept():
    """Then the hinge machine is that of SVC, whose intercept costs nothing."""
    X, y = TWO
    X = X + 3
    free = SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, y)
    model = LinearSVC(loss="hinge", C=0.1, intercept_scaling=300.0, tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, free.coef_, atol=1e-3)
    assert_allclose(model.intercept_, free.intercept_, atol=5e-3)
    X, y = load_diabetes(return_X_y=True)
    free = SVR(kernel="linear", C=10.0, epsilon=5.0, tol=1e-6).fit(X, y)
    model = LinearSVR(C=10.0, epsilon=5.0, intercept_scaling=3000.0, tol=1e-6).fit(X, y)
    assert_allclose(model.predict(X), free.predict(X), atol=0.1)


@pytest.mark.parametrize("dual", ["auto", True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_every_way_of_solving_agrees_with_scikit_learn(dual, loss):
    X, y = TWO
    ours = LinearSVC(loss=loss, dual=dual, tol=1e-7, C=0.5, max_iter=20_000).fit(X, y)
    theirs = sklearn.svm.LinearSVC(
        loss=loss, dual=True, tol=1e-9, C=0.5, max_iter=1_000_000, random_state=0
    ).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_regression_agrees_with_scikit_learn(loss, epsilon):
    X = RNG.normal(size=(100, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + 1 + 0.3 * RNG.normal(size=100)
    arguments = {"loss": loss, "epsilon": epsilon}
    ours = LinearSVR(tol=1e-7, **arguments).fit(X, y)
    theirs = sklearn.svm.LinearSVR(
        tol=1e-9, max_iter=1_000_000, dual=True, random_state=0, **arguments
    ).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


def test_l1_weights_are_few_and_optimal():
    X, y = make_classification(200, 30, n_informative=3, random_state=0)
    model = LinearSVC(penalty="l1", C=0.02, tol=1e-6).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 15
    wide, sign = np.column_stack([X, np.ones(200)]), 2 * y - 1

    def objective(parts):  # w = w₊ - w₋
        w = parts[:31] - parts[31:]
        return parts.sum() + 0.02 * np.sum(np.maximum(0, 1 - sign * (wide @ w)) ** 2)

    best = minimize(objective, np.zeros(62), bounds=[(0, None)] * 62).fun
    w = np.append(model.coef_, model.intercept_)
    found = np.abs(w).sum() + 0.02 * np.sum(np.maximum(0, 1 - sign * (wide @ w)) ** 2)
    assert found <= best * (1 + 1e-4)
    assert_allclose(model.objective_, found, rtol=1e-6)


def test_few_weights_may_be_kept_sparse():
    X, y = make_classification(200, 30, n_informative=3, random_state=0)
    model = LinearSVC(penalty="l1", C=0.02).fit(X, y)
    wanted = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    assert_allclose(model.decision_function(X), wanted)
    assert isinstance(model.densify().coef_, np.ndarray)
    assert_allclose(model.decision_function(X), wanted)


def test_coefficients_may_be_set():
    X, y = TWO
    model = LinearSVC().fit(X, y)
    wanted = -model.decision_function(X)
    model.coef_, model.intercept_ = -model.coef_, -model.intercept_
    assert_allclose(model.decision_function(X), wanted)


@pytest.mark.spread(4)
@pytest.mark.parametrize("model", VARIANTS, ids=repr)
def test_weights_mean_repetition(model):
    X, y = IRIS
    w = RNG.integers(0, 3, len(y))
    model = clone(model).set_params(tol=1e-7)
    weighted = clone(model).fit(X, y, w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(values(weighted, X), values(repeated, X), atol=2e-3)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-6)


def test_class_weights_are_factors_of_C():
    X, y = make_classification(400, 6, weights=[0.9], flip_y=0.1, random_state=0)
    by_class = LinearSVC(class_weight={1: 4.0}, tol=1e-7).fit(X, y)
    by_row = LinearSVC(tol=1e-7).fit(X, y, np.where(y == 1, 4.0, 1.0))
    assert_allclose(by_class.coef_, by_row.coef_, atol=1e-4)
    plain, balanced = LinearSVC().fit(X, y), LinearSVC(class_weight="balanced").fit(X, y)
    assert balanced.predict(X)[y == 1].sum() > plain.predict(X)[y == 1].sum()
    theirs = sklearn.svm.LinearSVC(class_weight="balanced").fit(X, y)
    assert_allclose(balanced.coef_, theirs.coef_, atol=2e-3)


@pytest.mark.parametrize("model", VARIANTS, ids=repr)
@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix, sp.dok_array, sp.lil_matrix])
def test_sparse_equals_dense(model, container):
    X, y = IRIS
    X = np.where(np.abs(X) < 0.4, 0, X)
    model = clone(model).set_params(tol=1e-7)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(container(X), y)
    assert_allclose(sparse.coef_, dense.coef_, atol=2e-3)
    assert_allclose(sparse.objective_, dense.objective_, rtol=1e-6)
    assert isinstance(sparse.coef_, np.ndarray)
    for A in (X, container(X)):
        assert_allclose(values(sparse, A), values(dense, X), atol=5e-3)


@pytest.mark.parametrize("Machine", MACHINES)
def test_single_precision_stays(Machine):
    X, y = TWO
    single = Machine().fit(X.astype(np.float32), y)
    assert single.coef_.dtype == single.intercept_.dtype == np.float32
    assert_allclose(single.coef_, Machine().fit(X, y).coef_, atol=5e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "penalty='l1' and loss='hinge'"),
        ({"penalty": "l1", "dual": True}, "penalty='l1' is not supported with dual=True"),
        ({"C": 0}, "C=0"),
        ({"C": -1.0}, r"C=-1\.0"),
        ({"tol": 0}, "tol=0"),
        ({"penalty": "l3"}, "penalty='l3'"),
        ({"loss": "l2"}, "loss='l2'"),
        ({"multi_class": "ovo"}, "multi_class='ovo'"),
        ({"intercept_scaling": 0}, "intercept_scaling=0"),
        ({"class_weight": {7: 1.0}}, "the class 7, but y does not have it"),
    ],
)
def test_arguments_that_exclude_each_other_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearSVC(**arguments).fit(*TWO)


def test_a_class_of_no_weight_is_absent():
    X, y = IRIS
    with pytest.raises(ValueError, match="one class, 'b'"):
        LinearSVC().fit(X[:100], np.repeat(["a", "b"], 50), np.repeat([0.0, 1.0], 50))
    model = LinearSVC().fit(X, y, np.repeat([0.0, 1.0, 1.0], 50))
    assert model.classes_.tolist() == [1, 2]


@pytest.mark.parametrize("Machine", MACHINES)
def test_numbers_too_large_to_square_are_refused(Machine):
    X = 1e300 * RNG.uniform(-1, 1, size=(10, 2))
    with pytest.raises(ValueError, match=r"not finite. column \d of X reaches 9"):
        Machine().fit(X, [0, 1] * 5)


@pytest.mark.parametrize("Machine", MACHINES)
def test_methods_before_fit_name_the_machine(Machine):
    with pytest.raises(NotFittedError, match=rf"{Machine.__name__}.*not fitted"):
        Machine().predict([[1.0]])
