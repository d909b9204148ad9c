"""Shares of the time by hand, with a clock that is told the times; baselines of large tables."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer import KernelRegressor
from mercer.machines import linear
from mercer.machines.candidates.candidate import Candidate
from mercer.machines.settings import REFERENCE, Speed
from mercer.machines.tasks import Classification, Regression
from mercer.selection.automatic.trials import costs
from mercer.selection.automatic.trials.costs import AT_FIRST, CARE, LAST, Costs
from mercer.selection.automatic.trials.state import FIRST_RUNG_SHARE, PROMOTED, Forecast
from mercer.tables.encoding import TableEncoder
from selection.automatic.simple_models import simple_model


class Told(Forecast):
    """Every trial takes these seconds."""

    def __init__(self, limit: float, seconds: float):
        self.clock: Any = SimpleNamespace(limit=limit, limited=True)
        self.rungs: Any = SimpleNamespace(fits_once=lambda candidate: False)
        self.seconds = seconds

    def expected(self, candidate, rung):
        return self.seconds


@pytest.mark.parametrize(
    ("limit", "seconds", "share"),
    [(100.0, 2.0, 1 - PROMOTED * 0.02), (100.0, 99.0, FIRST_RUNG_SHARE), (np.inf, 9.0, 1.0)],
)
def test_the_first_rung_leaves_what_the_second_needs(limit, seconds, share):
    told = Told(limit, seconds)
    assert_allclose(told.first_share([Candidate("gaussian", 1.0, False)], (100, None)), share)


def test_what_steps_took_corrects_the_next_of_their_kind_and_long_ones_count_most():
    costs = Costs(1, 1)
    assert_allclose(costs.expected("ridge", 2.0), CARE * AT_FIRST * 2)
    costs.observe("ridge", 1.0, 1.0)
    for _ in range(3):
        costs.observe("ridge", 0.01, 0.09)  # a short one with a start that was not predicted
    assert_allclose(costs.expected("ridge", 2.0), CARE * 2 * 1.27 / 1.03)
    assert_allclose(costs.factor("svc"), 1.27 / 1.03)  # nothing else is known
    costs.observe("svc", 1.0, 4.0)
    assert_allclose([costs.factor("svc"), costs.factor("ridge")], [4, 1.27 / 1.03])
    for _ in range(LAST):
        costs.observe("ridge", 1.0, 2.0)
    assert_allclose(costs.factor("ridge"), 2)  # the last ones alone


def test_the_rows_that_a_baseline_sees_keep_their_weights(monkeypatch):
    monkeypatch.setattr(linear, "MOST_ROWS", 50)
    y, weights = np.arange(200.0) ** 2, np.arange(200.0)
    rows = np.random.default_rng(0).permutation(200)[:50]
    encoder = TableEncoder().fit(y[:, None])
    M = encoder.transform(y[:, None])
    model = simple_model("trivial", encoder.features_, M, y, Regression(), weights)
    wanted = np.average(y[rows], weights=weights[rows])
    assert_allclose(model(M[:1]), wanted)


def test_a_baseline_of_many_classes_takes_fewer_steps(monkeypatch):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 12, 600)
    X = pd.DataFrame(rng.normal(size=(600, 3)) + 0.2 * y[:, None], columns=["a", "b", "c"])
    encoder = TableEncoder().fit(X)
    steps, given = [], linear.LogisticRegression
    monkeypatch.setattr(
        linear, "LogisticRegression",
        lambda **params: steps.append(params["max_iter"]) or given(**params),
    )  # fmt: skip
    parts = encoder.features_, encoder.transform(X), y, Classification(np.arange(12))
    simple_model("linear (spline)", *parts)
    assert steps[-1] == linear.STEPS[1]
    values = 3 * 8 * 600 * 12  # eight splines of each column
    monkeypatch.setattr(linear, "WORK", 30 * values)
    simple_model("linear (spline)", *parts)
    assert steps[-1] == pytest.approx(30, abs=10)
    monkeypatch.setattr(linear, "WORK", 1)
    simple_model("linear (spline)", *parts)
    assert steps[-1] == linear.STEPS[0]


def test_predictions_follow_the_speed_of_the_machine():
    slow, usual = Costs(3, 3, Speed(REFERENCE.operations / 4, 4 * REFERENCE.value)), Costs(3, 3)
    steps = {
        "low_rank": (5000, 500, 0.0), "exact": (5000, 0.0), "local": (9000, 1000, 0.0),
        "eigenpairs": (900, 0.0), "margin": (900, 0.0), "window": (900, 0.0),
        "interactions": (900, 0.0, 9), "alignment": (900, 0.0, 5), "screening": (900, 9),
        "metric": (900, 9),
    }  # fmt: skip
    for name, args in steps.items():
        assert_allclose(getattr(slow, name)(*args), 4 * getattr(usual, name)(*args))


@pytest.mark.parametrize(
    ("each", "power", "rows"),
    [
        (1e-3, 2, [16]),  # a value, and of how many samples it was measured
        (1e-4, 2, [16, 64]),
        (1e-5, 2, [16, 64, 192]),
        (3e-3, 1, [16, 64]),  # features of a sample
        (1e-3, 1, [16, 64, 192]),
    ],
)
def test_a_slow_kernel_is_measured_on_few_rows(each, power, rows, monkeypatch):
    """Of 192 series the measurement took as long as their whole matrix."""
    asked = []
    kernel = SimpleNamespace(block=lambda X, Z: asked.append(len(X)))
    monkeypatch.setattr(costs, "least_seconds", lambda step: (step(), each * asked[-1] ** power)[1])
    found = costs.entry_seconds(kernel, np.zeros((192, 1)))
    assert_allclose(found, each * 192**power / 192**2)
    assert asked == rows


@pytest.mark.parametrize(("each", "rows"), [(1e-2, 16), (3e-3, 64), (1e-4, 192)])
def test_slow_features_are_measured_on_few_rows(each, rows, monkeypatch):
    """Those of 300 long texts were computed four times before a search began."""
    asked = []
    kernel = SimpleNamespace(features=lambda X: asked.append(len(X)) or np.ones((len(X), 7)))
    monkeypatch.setattr(costs, "least_seconds", lambda step: (step(), each * asked[-1])[1])
    assert_allclose(costs.row_features(kernel, np.zeros((192, 1))), (each, 7))
    assert max(asked) == rows


def test_the_speed_is_measured_where_the_clock_decides(monkeypatch):
    measured = Speed.measured()
    assert 1e7 < measured.operations < 1e14
    assert 1e-12 < measured.value < 1e-6
    calls = []
    monkeypatch.setattr(Speed, "measured", lambda: calls.append(1) or measured)
    X = np.random.default_rng(0).normal(size=(40, 2))
    KernelRegressor(trials=1).fit(X, X[:, 0])
    assert not calls
    KernelRegressor(time=0.1).fit(X, X[:, 0])
    assert len(calls) == 1
