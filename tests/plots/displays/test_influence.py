"""Influence in closed form is that of fits without the row, and wrong labels are found."""

import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import sklearn.kernel_ridge
from numpy.testing import assert_allclose

import mercer
from mercer.machines.candidates import Recipe
from mercer.machines.machines import KernelRidgeMachine
from mercer.machines.tasks import BackTransformed, TargetScale
from mercer.plots import InfluenceDisplay

mpl.use("Agg")


def planted(task, n=400):
    """A table with a column that matters, its copy, noise, and 5% wrong labels."""
    random = np.random.default_rng(0)
    u = random.normal(size=n)
    X = pd.DataFrame({"matters": u, "noise": random.normal(size=n), "copy": u})
    X["level"] = random.choice(["a", "b"], n)
    wrong = random.permutation(n)[: n // 20]
    if task == "classification":
        y = np.where(u > 0, "yes", "no")
        wrong = wrong[np.abs(u[wrong]) > 0.05]  # at the border nobody can know
        y[wrong] = np.where(u[wrong] > 0, "no", "yes")
    else:
        y = np.sin(2 * u) + 0.1 * random.normal(size=n)
        y[wrong] += random.choice([-2.0, 2.0], len(wrong))
    return X, y, wrong


@pytest.mark.spread(1)
@pytest.mark.parametrize("trials", [1, 3])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_of_the_wrong_labels_four_fifths_are_in_the_first_tenth(task, trials):
    X, y, wrong = planted(task)
    automatic = mercer.KernelClassifier if task == "classification" else mercer.KernelRegressor
    display = InfluenceDisplay.from_estimator(automatic(trials=trials).fit(X, y), X, y)
    flagged = display.rows[: len(y) // 10]
    assert np.isin(wrong, flagged).mean() >= 0.8
    assert np.isin(display.rows[display.suspected], wrong).mean() > 0.5
    assert (np.diff(display.surprise) <= 0).all()
    assert len(display.points_.get_offsets()) == len(y)


def test_support_vector_machines_and_pipelines_find_them_by_folds():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, wrong = planted("classification")
    model = make_pipeline(StandardScaler(), mercer.SVC(probability=False))
    Z = X[["matters", "noise", "copy"]].to_numpy()
    display = InfluenceDisplay.measured(model.fit(Z, y), Z, y)
    assert np.isin(wrong, display.rows[:40]).mean() >= 0.8
    assert display.influence is None
    auto = mercer.KernelClassifier(trials=1).fit(X, y)
    task = auto._read_target(y, len(y))[0]
    auto.machine_ = Recipe("svc", 1.0).fit(task, auto.kernel_, auto.encode(X), y)
    display = InfluenceDisplay.measured(auto, X, y, folds=3)
    assert np.isin(wrong, display.rows[:40]).mean() >= 0.8


def test_the_closed_form_is_that_of_fits_without_the_row():
    X, y, _ = planted("regression", 60)
    model = mercer.KernelRegressor(trials=1).fit(X, y)
    learner = mercer.KernelRidge(0.01 * 60, kernel=model.kernel_)
    learner.fit(model.encode(X), (y - y.mean())[:, None])
    model.machine_ = KernelRidgeMachine(
        learner, BackTransformed(TargetScale()), 0.01, np.array([y.mean()])
    )
    display = InfluenceDisplay.measured(model, X, y)
    M, mean = model.encode(X), y.mean()
    ridge = mercer.KernelRidge(0.01 * 60, kernel=model.kernel_)
    full = ridge.fit(M, y - mean).predict(M)
    for i in (0, 10, 59):
        rows = np.delete(np.arange(60), i)
        without = ridge.fit(M[rows], y[rows] - mean).predict(M)
        at = display.rows.tolist().index(i)
        assert_allclose(display.expected[at], without[i] + mean, atol=1e-4)
        change = np.sqrt(np.mean((full - without) ** 2))
        assert_allclose(display.influence[at], change, rtol=2e-3, atol=1e-5)


def left_out(model, X, y, weights=None):
    """Predictions of each row by a fit without it, and how far all predictions move."""
    n, full = len(y), model.fit(X, y, sample_weight=weights).predict(X)
    expected, influence = np.empty(n), np.empty(n)
    for i in range(n):
        rows = np.delete(np.arange(n), i)
        pairwise = model.__sklearn_tags__().input_tags.pairwise
        some = X[np.ix_(rows, rows)] if pairwise else X[rows]
        given = None if weights is None else weights[rows]
        without = model.fit(some, y[rows], sample_weight=given)
        moved = without.predict(X[:, rows] if pairwise else X)
        expected[i], influence[i] = moved[i], np.sqrt(np.mean((moved - full) ** 2))
    return expected, influence


def assert_alike(display, expected, influence, **near):
    order = np.argsort(display.rows)
    assert_allclose(display.rows[order], np.arange(len(expected)))
    assert_allclose(display.expected[order], expected, **near)
    assert_allclose(display.influence[order], influence, **near)


RBF = mercer.kernels.RBF(0.4)
NEAR = {"rtol": 1e-8, "atol": 1e-9}


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("model", "weighted", "near"),
    [
        (mercer.KernelRidge(0.3, kernel="rbf", gamma=0.4), False, NEAR),
        (mercer.KernelRidge(0.3, kernel="precomputed"), False, NEAR),
        (mercer.KernelRidge([0.3], kernel="precomputed"), True, NEAR),
        (mercer.KernelRidge(0.3, kernel=RBF), True, NEAR),
        (
            mercer.KernelRidge(0.3, kernel=RBF, solver="conjugate_gradient", tol=1e-12),
            False, {"rtol": 1e-6, "atol": 1e-7},
        ),
        # an indefinite matrix has an inverse too, but no Cholesky factor
        (mercer.KernelRidge(0.07, kernel=mercer.kernels.Sigmoid(1.0, -1.0)), False, NEAR),
        (sklearn.kernel_ridge.KernelRidge(alpha=0.3, kernel="rbf", gamma=0.4), False, NEAR),
        (sklearn.kernel_ridge.KernelRidge(alpha=0.1, kernel="poly", degree=2), False, NEAR),
        (sklearn.kernel_ridge.KernelRidge(alpha=0.3, kernel="precomputed"), False, NEAR),
    ],
    ids=str,
)  # fmt: skip
def test_kernel_ridge_regression_has_the_closed_form(model, weighted, near):
    random = np.random.default_rng(3)
    X = random.normal(size=(30, 2))
    X[7] = X[3]
    y = np.sin(2 * X[:, 0]) + 3 + 0.1 * random.normal(size=30)
    weights = random.uniform(0.2, 3, 30) if weighted else None
    M = RBF(X) if model.kernel == "precomputed" else X
    found = left_out(model, M, y, weights)
    model.fit(M, y, sample_weight=weights)
    assert_alike(InfluenceDisplay.measured(model, M, y), *found, **near)


def test_the_penalty_that_was_chosen_is_kept():
    X, y, _ = planted("regression", 40)
    X = X[["matters", "noise"]].to_numpy()
    model = mercer.KernelRidge("auto", kernel="rbf", gamma=0.5).fit(X, y)
    found = left_out(mercer.KernelRidge(model.alpha_, kernel="rbf", gamma=0.5), X, y)
    assert_alike(InfluenceDisplay.measured(model, X, y), *found, rtol=1e-6, atol=1e-7)
    search = mercer.KernelSearchCV(mercer.KernelRidge(kernel=RBF), {"alpha": [0.1, 1.0]}, cv=3)
    chosen = search.fit(X, y).best_estimator_
    found = left_out(mercer.KernelRidge(chosen.alpha, kernel=RBF), X, y)
    assert_alike(InfluenceDisplay.measured(search, X, y), *found, **NEAR)


@pytest.mark.parametrize("penalty", [0.0, 1e-18])
def test_of_equal_rows_without_a_penalty_the_others_answer(penalty):
    """The limit of small penalties: the answer for a copy is the target of the other one."""
    X = np.array([[0.0], [0.0], [3.0], [5.0], [5.0], [5.0]])
    y = np.array([1.0, 2.0, 7.0, -1.0, 4.0, 10.0])
    model = mercer.KernelRidge(penalty, kernel=RBF)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the matrix is singular
        found = left_out(model, X, y)
        model.fit(X, y)
    near = {"rtol": 1e-6, "atol": 1e-6}
    assert_allclose(found[0][[0, 1, 3]], [2.0, 1.0, 7.0], atol=0.2)
    assert_alike(InfluenceDisplay.measured(model, X, y), *found, **near)


def test_where_a_fit_is_not_exact_there_is_no_influence():
    X, y, _ = planted("regression", 60)
    X = X[["matters", "noise"]].to_numpy()
    for solver in ("low_rank", "local"):
        model = mercer.KernelRidge(0.1, kernel=RBF, solver=solver, rank=10, leaf_rows=20)
        assert InfluenceDisplay.measured(model.fit(X, y), X, y).influence is None


def test_of_many_rows_some_are_measured():
    X, y, _ = planted("regression", 60)
    X, weights = X[["matters", "noise"]].to_numpy(), np.linspace(0.5, 2, 60)
    display = InfluenceDisplay.measured(
        mercer.KernelRidge(0.1, kernel=RBF).fit(X, y, weights), X, y, max_samples=25
    )
    rows = np.sort(display.rows)
    found = left_out(mercer.KernelRidge(0.1, kernel=RBF), X[rows], y[rows], weights[rows])
    order = np.argsort(display.rows)
    assert_allclose(display.expected[order], found[0], **NEAR)
    assert_allclose(display.influence[order], found[1], **NEAR)


def test_targets_and_weights_that_do_not_fit_are_refused():
    X, y, _ = planted("regression", 60)
    X, weights = X[["matters", "noise"]].to_numpy(), np.repeat([0.0, 2.0], 30)
    model = mercer.KernelRidge(0.1, kernel=RBF).fit(X, y, weights)
    with pytest.raises(ValueError, match="60 rows, but the model was fitted to 30"):
        InfluenceDisplay.measured(model, X, y)
    found = left_out(mercer.KernelRidge(0.1, kernel=RBF), X[30:], y[30:], weights[30:])
    model.fit(X, y, weights)
    assert_alike(InfluenceDisplay.measured(model, X[30:], y[30:]), *found, **NEAR)
    two = np.column_stack([y, y])
    with pytest.raises(ValueError, match=r"y has the shape \(60, 2\): give one target"):
        InfluenceDisplay.measured(model.fit(X, two), X, two)


def test_labels_of_a_rare_class_are_not_suspected_for_being_rare():
    """Where nothing tells it apart, a rare class has always a small probability."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=list("ab"))
    y = np.where(rng.random(600) < 0.03, "fraud", "fine")
    display = InfluenceDisplay.measured(mercer.KernelClassifier(trials=1).fit(X, y), X, y)
    rare = display.given == "fraud"
    assert rare.sum() > 10
    assert display.suspected[rare].mean() < 0.2


@pytest.mark.full
def test_a_short_time_takes_fewer_rows(monkeypatch):
    """And measures them once: what tells how many rows there is time for is not thrown away."""
    from mercer.plots.displays import influence

    X, y, _ = planted("classification", 1500)
    model = mercer.KernelClassifier(trials=1).fit(X, y)
    automatic, sizes = influence._automatic, []

    def counted(model, X, y, *rest):
        sizes.append(len(y))
        return automatic(model, X, y, *rest)

    monkeypatch.setattr(influence, "_automatic", counted)
    display = InfluenceDisplay.measured(model, X, y, time=1e-6)
    assert len(display.rows) == 400
    assert sizes == [400]
    display = InfluenceDisplay.measured(model, X, y, time=1000.0)
    assert len(display.rows) == 1500
    assert sizes == [400, 400, 1500]
