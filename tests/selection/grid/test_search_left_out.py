"""Searches with one row in each fold: SVC and SVR answer from one fit, as single fits would."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut

from mercer import SVC, SVR, KernelRidge, KernelSearchCV, NuSVC, NuSVR
from mercer.gram import gram
from mercer.kernels import RBF, Spectrum
from mercer.solvers.smo import DualProblem, SmoSolver, leave_out

RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 3))
Y = X[:, 0] + X[:, 1] ** 2 - 1 + 0.4 * RNG.normal(size=48)
CLASSES = {2: np.where(Y > 0, "b", "a"), 3: np.digitize(Y, [-0.6, 0.5])}
WEIGHTS = RNG.integers(0, 3, 48).astype(float)
C = [0.05, 0.7, 20.0]
TIGHT = SVC(gamma=0.4, tol=1e-8)
TUBE = SVR(gamma=0.4, tol=1e-8)


SOME = np.arange(0, 48, 3)  # enough of the rows: inside, on and outside of the margins


def one_by_one(model, X, y, weights=None, rows=None):
    """Values of some rows, or of all, each by a fit to all others."""
    answer = "predict" if isinstance(model, SVR) else "decision_function"
    found = []
    for i in range(len(y)) if rows is None else rows:
        rest = np.arange(len(y)) != i
        w = None if weights is None else weights[rest]
        single = clone(model).fit(X[rest], y[rest], w)
        found.append(getattr(single, answer)(X[i : i + 1])[0])
    return np.array(found)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("classes", "changes"),
    [
        (2, {}),
        (3, {}),
        (3, {"multi_class": "ovr"}),
        (3, {"decision_function_shape": "ovo"}),
        (2, {"class_weight": {"a": 3.0}}),
    ],
)
@pytest.mark.parametrize("c", C)
def test_values_are_those_of_single_fits(classes, changes, c, dtype):
    model = clone(TIGHT).set_params(C=c, **changes)
    answers, samples = clone(model).leave_one_out(X.astype(dtype), CLASSES[classes])
    wanted = one_by_one(model, X.astype(dtype), CLASSES[classes], rows=SOME)
    atol = 1e-6 if dtype == np.float64 else 1e-3
    assert_allclose(answers.decision_function(samples)[SOME], wanted, atol=atol)


@pytest.mark.filterwarnings("ignore:All targets are inside the tube")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("c", C)
def test_values_of_a_regression_are_those_of_single_fits(c, epsilon, dtype):
    """With a tube around all rows none is a support vector, and with none all of them are."""
    model = clone(TUBE).set_params(C=c, epsilon=epsilon)
    answers, samples = clone(model).leave_one_out(X.astype(dtype), Y)
    wanted = one_by_one(model, X.astype(dtype), Y, rows=SOME)
    atol = 1e-5 if dtype == np.float64 else 1e-3
    assert_allclose(answers.predict(samples)[SOME], wanted, atol=atol)


def test_a_search_of_regressions():
    rows = slice(0, 24)
    weights = {"sample_weight": WEIGHTS[rows] + 1}
    arguments = {"cv": LeaveOneOut(), "scoring": "neg_mean_absolute_error"}
    grid = {"C": C, "epsilon": [0.05, 0.3]}
    for given in ({}, weights):
        ours = KernelSearchCV(TUBE, grid, **arguments).fit(X[rows], Y[rows], **given)
        theirs = GridSearchCV(TUBE, grid, **arguments).fit(X[rows], Y[rows], **given)
        assert all(s.left_out for s in ours.sharing_)
        for i in range(24):
            name = f"split{i}_test_score"
            assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-5)
        assert ours.best_params_ == theirs.best_params_


def test_an_intercept_that_no_free_vector_tells():
    """It is in the middle of an interval, which ends at rows that are no support vectors."""
    model, y = SVC(C=0.1, kernel="linear", tol=1e-8), np.array([0, 0, 1, 1])
    A = np.array([[-6.0], [-1.0], [1.0], [6.0]])
    assert sorted(clone(model).fit(A, y).support_) == [1, 2]
    answers, samples = clone(model).leave_one_out(A, y)
    wanted = one_by_one(model, A, y)
    assert_allclose(answers.decision_function(samples), wanted, atol=1e-7)
    assert_allclose(wanted[3], 0.9)


@pytest.mark.filterwarnings("ignore:All targets are inside the tube")
def test_two_rows_of_a_regression():
    answers, samples = clone(TUBE).leave_one_out(X[:2], Y[:2])
    assert_allclose(answers.predict(samples), Y[[1, 0]], atol=0.1 + 1e-8)


def test_samples_of_other_kinds():
    sparse = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    answers, samples = clone(TIGHT).leave_one_out(sparse, CLASSES[2])
    wanted = one_by_one(TIGHT, sparse.toarray(), CLASSES[2])
    assert_allclose(answers.decision_function(samples), wanted, atol=1e-6)
    words = ["".join(RNG.choice(list("ab"), 6)) for _ in range(30)]
    model, y = SVC(kernel=Spectrum(2), tol=1e-8), np.array([word[0] for word in words])
    answers, samples = clone(model).leave_one_out(words, y)
    for i, word in enumerate(words):
        rest = [j for j in range(30) if j != i]
        single = clone(model).fit([words[j] for j in rest], y[rest])
        value = answers.decision_function(samples)[i]
        assert_allclose(value, single.decision_function([word])[0], atol=1e-6)


def test_weights_mean_repetition():
    model = clone(TIGHT).set_params(C=2.0)
    answers, samples = clone(model).leave_one_out(X, CLASSES[2], WEIGHTS)
    wanted = one_by_one(model, X, CLASSES[2], WEIGHTS)
    assert_allclose(answers.decision_function(samples), wanted, atol=1e-6)


@pytest.mark.spread(1)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", [None, "accuracy", "neg_log_loss"])
def test_search(classes, scoring):
    given = clone(TIGHT).set_params(probability=scoring == "neg_log_loss", random_state=0)
    some = slice(0, 24) if given.probability else slice(None)
    y = CLASSES[classes][some]
    grid = {"C": C[1:] if given.probability else C}
    arguments = {"cv": LeaveOneOut(), "scoring": None if given.probability else scoring}
    ours = KernelSearchCV(given, grid, **arguments).fit(X[some], y)
    theirs = GridSearchCV(given, grid, **arguments).fit(X[some], y)
    for i in range(len(y)):
        name = f"split{i}_test_score"
        assert_array_equal(ours.cv_results_[name], theirs.cv_results_[name])
    assert ours.best_params_ == theirs.best_params_
    # probabilities need a fit for each row, whose folds are drawn without it
    assert [s.left_out for s in ours.sharing_] == [not given.probability]
    assert ("rows left out of one fit" in str(ours.sharing_[0])) == (not given.probability)


@pytest.mark.parametrize(
    ("given", "grid", "cv"),
    [
        (SVC(gamma=0.4), {"C": C}, KFold(5)),
        (SVC(gamma="scale"), {"C": C}, LeaveOneOut()),
        (SVC(gamma=0.4, class_weight="balanced"), {"C": C}, LeaveOneOut()),
        (NuSVC(gamma=0.4), {"nu": [0.2, 0.3]}, LeaveOneOut()),
        (NuSVR(gamma=0.4), {"nu": [0.2, 0.3]}, LeaveOneOut()),
        (SVR(gamma="scale"), {"C": C}, LeaveOneOut()),
        (KernelRidge(kernel="rbf"), {"alpha": [0.1]}, LeaveOneOut()),
    ],
)
def test_other_searches_fit_each_fold(given, grid, cv):
    y = np.where(CLASSES[2] == "a", 0.0, 1.0)
    regression = isinstance(given, (KernelRidge, NuSVR, SVR))
    scoring = "neg_mean_squared_error" if regression else None
    search = KernelSearchCV(given, grid, cv=cv, scoring=scoring, refit=False).fit(X, y)
    assert not any(s.left_out for s in search.sharing_)


@pytest.mark.full
def test_a_class_of_one_row_has_a_fit_for_each():
    y = np.where(np.arange(48) == 7, 2, CLASSES[2] == "a").astype(int)
    assert clone(TIGHT).leave_one_out(X, y) is None
    ours = KernelSearchCV(TIGHT, {"C": [1.0]}, cv=LeaveOneOut(), refit=False).fit(X, y)
    theirs = GridSearchCV(TIGHT, {"C": [1.0]}, cv=LeaveOneOut(), refit=False).fit(X, y)
    assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])


def test_errors_are_those_of_fits():
    search = KernelSearchCV(TIGHT, {"C": [-1.0]}, cv=LeaveOneOut(), error_score="raise")
    with pytest.raises(ValueError, match="C=-1"):
        search.fit(X, CLASSES[2])


def test_threads_do_not_change_the_values():
    found = [clone(TIGHT).set_params(n_jobs=jobs).leave_one_out(X, CLASSES[3]) for jobs in (1, 3)]
    first, second = (model.decision_function(samples) for model, samples in found)
    assert_array_equal(first, second)


@pytest.mark.parametrize("regression", [False, True])
def test_duals(regression):
    """Each row that is left out against a problem that never had it, also with two variables a row
    and a hard margin."""
    K = RBF(0.4).block(X, X)
    solver = SmoSolver(tol=1e-9)

    def problem(rows):
        if regression:
            return DualProblem.regression(Y[rows], np.full(len(rows), 5.0), 0.1)
        labels = np.where(CLASSES[2][rows] == "a", -1.0, 1.0)
        return DualProblem.classification(labels, np.full(len(rows), np.inf))

    every = np.arange(len(X))
    whole = gram(RBF(0.4), X)
    alpha = solver.solve(whole, problem(every)).alpha
    found = leave_out(solver, whole, problem(every), alpha)
    for row, value in zip(found.rows, found.values):
        rest = np.delete(every, row)
        single = solver.solve(gram(RBF(0.4), X[rest]), problem(rest))
        assert_allclose(value, K[row, rest] @ single.coef + single.intercept, atol=1e-6)


def test_given_sums_are_refused():
    problem = DualProblem.nu_classification(np.where(Y > 0, 1.0, -1.0), np.ones(48), 0.3)
    with pytest.raises(ValueError, match="sums of α are given"):
        leave_out(SmoSolver(), gram(RBF(), X), problem, np.zeros(48))
