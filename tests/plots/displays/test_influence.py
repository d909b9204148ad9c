"""Influence in closed form is that of fits without the row, and wrong labels are found."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.plots import InfluenceDisplay
from mercer.selection.automatic.machines.machines import KernelRidgeMachine
from mercer.selection.automatic.machines.recipes import Recipe
from mercer.selection.automatic.tasks import BackTransformed, TargetScale

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


def test_labels_of_a_rare_class_are_not_suspected_for_being_rare():
    """Where nothing tells it apart, a rare class has always a small probability."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=list("ab"))
    y = np.where(rng.random(600) < 0.03, "fraud", "fine")
    display = InfluenceDisplay.measured(mercer.KernelClassifier(trials=1).fit(X, y), X, y)
    rare = display.given == "fraud"
    assert rare.sum() > 10
    assert display.suspected[rare].mean() < 0.2


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
