"""Partial dependence is the mean of the predictions, with a direction that is so."""

import inspect

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.inspection import partial_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.plots import PartialDependenceDisplay, RelevanceDisplay
from plots.displays.test_influence import planted

mpl.use("Agg")


def table(n=300):
    random = np.random.default_rng(0)
    X = pd.DataFrame({
        "up": random.normal(size=n), "down": random.normal(size=n), "hill": random.normal(size=n),
        "noise": random.normal(size=n), "level": random.choice(["low", "middle", "high"], n),
        "day": pd.date_range("2024-01-01", periods=n).to_numpy(),
    })  # fmt: skip
    y = 2 * X["up"] - X["down"] - 2 * X["hill"] ** 2
    y = y + X["level"].map({"low": -3.0, "middle": 0.0, "high": 3.0})
    X.loc[::17, "level"] = None
    return X, (y + 0.1 * random.normal(size=n)).to_numpy()


@pytest.mark.full
def test_directions_are_those_of_the_function():
    X, y = table()
    model = mercer.KernelRegressor(trials=3).fit(X, y)
    display = PartialDependenceDisplay.from_estimator(model, X, list(X.columns))
    found = {each.column: each for each in display.dependences}
    assert [found[name].direction for name in ("up", "down", "hill", "level")] == [
        "rises", "falls", "rises and falls", "highest for high, lowest for low",
    ]  # fmt: skip
    assert found["noise"].span < 0.2 * found["up"].span
    assert sorted(found["level"].values) == ["high", "low", "middle"]
    assert {"day", "day: month", "day: day of week"} >= set(found) - set(X.columns[:-1])
    assert len(display.axes_) >= 7
    for each in display.dependences:
        assert (each.low <= each.high).all()


@pytest.mark.full
def test_of_times_the_parts_are_shown_that_matter():
    """Whole times mix hours and days: 20 of them drew a daily pattern as a zigzag."""
    times = pd.date_range("2024-01-01", periods=500, freq="h")
    X = pd.DataFrame({"time": times.to_numpy(), "noise": np.random.default_rng(0).normal(size=500)})
    y = np.sin(2 * np.pi * times.hour / 24) + 0.5 * (times.day_of_week >= 5)
    model = mercer.KernelRegressor(trials=3).fit(X, np.asarray(y))
    hour, day = PartialDependenceDisplay.measured(model, X, ["time"]).dependences
    assert (hour.column, hour.kind, hour.values) == ("time: hour", "number", list(range(24)))
    assert np.corrcoef(hour.mean, np.sin(2 * np.pi * np.arange(24) / 24))[0, 1] > 0.95
    assert day.column == "time: day of week"
    assert day.values[0] == "Monday"
    assert day.mean[5:].min() > day.mean[:5].max()


@pytest.mark.skipif(
    "custom_values" not in inspect.signature(partial_dependence).parameters,
    reason="this scikit-learn chooses the values itself",
)
@pytest.mark.parametrize("automatic", [True, False])
def test_means_are_scikit_learns(automatic):
    X, y = table()
    X = X[["up", "down", "hill"]]
    if automatic:
        model = mercer.KernelRegressor(trials=1).fit(X, y)
    else:
        model = make_pipeline(StandardScaler(), mercer.KernelRidge(0.1, kernel="rbf")).fit(X, y)
    (each,) = PartialDependenceDisplay.measured(model, X, ["up"], max_samples=300).dependences
    expected = partial_dependence(
        model, X, ["up"], custom_values={"up": np.array(each.values)}, kind="average"
    )["average"][0]
    assert_allclose(each.mean, expected, rtol=1e-4, atol=1e-4)
    assert len(each.values) == 20


@pytest.mark.full
def test_of_two_classes_the_second_is_shown_and_of_more_the_one_that_changes_most():
    X, y = table()
    two = mercer.KernelClassifier(trials=1).fit(X, np.where(y > 0, "yes", "no"))
    (each,) = PartialDependenceDisplay.measured(two, X, ["up"]).dependences
    assert (each.answer, each.direction) == ("yes", "rises")
    codes = np.array(["a", "b", "c"])[np.digitize(X["up"], [-0.3, 0.3])]
    three = mercer.KernelClassifier(trials=1).fit(X, codes)
    (each,) = PartialDependenceDisplay.measured(three, X, ["up"]).dependences
    assert each.answer in codes
    assert each.span > 0.5


def test_a_column_that_is_not_used_is_refused():
    X, y = table()
    model = mercer.KernelRegressor(trials=1, drop=["noise"]).fit(X, y)
    with pytest.raises(ValueError, match="'noise' is not a column that the estimator uses"):
        PartialDependenceDisplay.measured(model, X, ["noise"])


def test_a_model_of_several_targets_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = mercer.KernelRidge().fit(X, np.column_stack([X[:, 0], -X[:, 0]]))
    for door in (PartialDependenceDisplay.measured, PartialDependenceDisplay.from_estimator):
        with pytest.raises(ValueError, match=r"targets \[0, 1\].*fit it with one column of y"):
            door(model, X, [0])
    one = mercer.KernelRidge().fit(X, X[:, :1])
    assert PartialDependenceDisplay.measured(one, X, [0]).dependences[0].direction == "rises"


@pytest.mark.spread(1)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_planted_column_is_the_most_relevant_beside_its_copy(task):
    X, y, _ = planted(task)
    automatic = mercer.KernelClassifier if task == "classification" else mercer.KernelRegressor
    model = automatic(trials=3).fit(X[:300], y[:300])
    display = RelevanceDisplay.measured(model, X[:300], y[:300], X[300:], y[300:])
    assert display.columns[0] == "matters"
    assert display.loss[0] > 0.2


@pytest.mark.full
def test_few_values_at_once_give_the_same_curves(monkeypatch):
    """All rows of a wide table at all values of a column took gigabytes."""
    X, y = table()
    model = mercer.KernelRegressor(trials=1).fit(X, y)
    whole = PartialDependenceDisplay.measured(model, X)
    monkeypatch.setattr("mercer.plots.displays.partial_dependence.AT_ONCE", 1)
    for one, other in zip(
        PartialDependenceDisplay.measured(model, X).dependences, whole.dependences, strict=True
    ):
        assert_allclose(one.mean, other.mean, rtol=1e-5)
