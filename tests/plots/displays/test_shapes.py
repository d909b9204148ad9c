"""What is drawn of the functions of an additive learner."""

import numpy as np
import pandas as pd
import pytest

from mercer import AdditiveClassifier, AdditiveRegressor
from mercer.plots import ShapeDisplay

pytest.importorskip("matplotlib").use("Agg")
rng = np.random.default_rng(0)
TABLE = pd.DataFrame({
    "size": np.where(rng.random(400) < 0.1, np.nan, rng.uniform(0, 5, 400)),
    "age": rng.uniform(0, 1, 400),
    "kind": rng.choice(["red", "green", "blue"], 400),
})  # fmt: skip


def test_curves_levels_and_heat_maps():
    target = (
        TABLE["size"].fillna(9)
        + (TABLE["kind"] == "red")
        + 4 * TABLE["age"] * (TABLE["kind"] == "blue")
    )
    model = AdditiveRegressor().fit(TABLE, target)
    assert model.pairs_ == [("age", "kind")]
    display = ShapeDisplay.from_estimator(model)
    labels = [ax.get_xlabel() for ax in display.axes_[:4]]
    assert labels[0] == "size"
    assert any("missing" in text.get_text() for text in display.axes_[0].texts)
    levels = display.axes_[labels.index("kind")].get_yticklabels()
    assert {tick.get_text() for tick in levels} == {"red", "green", "blue"}
    assert {ax.get_ylabel() for ax in display.axes_[:4]} >= {"kind"}  # of the heat map


def test_the_class_is_named():
    model = AdditiveClassifier(0).fit(TABLE[["age"]], np.where(TABLE["age"] > 0.5, "old", "new"))
    display = ShapeDisplay.from_estimator(model)
    assert "log-odds of old" in display.figure_.get_suptitle()
