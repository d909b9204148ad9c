"""Where models fail, and what is advised: the numbers are scikit-learn's, the parts are planted."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

import mercer
from mercer.machines.holdout import score_held_out
from mercer.machines.scores import metric_named
from mercer.plots import save_report
from mercer.plots.fitted import RawRows
from mercer.plots.report.advice import LearningCurve, learning_curve, suspects
from mercer.plots.report.class_errors import calibration, class_rates, confusion
from mercer.plots.report.contents import render
from mercer.plots.report.errors import prediction_intervals, weak_segments, worst_rows
from mercer.plots.report.subject import TableFacts
from mercer.tables import column_kind
from mercer.threads import Clock, Stop, raise_if_stopped
from plots.displays.test_influence import planted
from plots.report.reports import report_data


def chances(n=600, rare=0.06):
    random = np.random.default_rng(0)
    score = random.normal(size=n) + random.normal(size=n) * 0.5
    p = 1 / (1 + np.exp(-3 * (score - np.quantile(score, 1 - rare))))
    return np.where(random.uniform(size=n) < p, "fraud", "fine"), np.stack([1 - p, p], 1)


def test_rates_of_the_rarer_class_are_scikit_learns():
    y, P = chances()
    classes = np.array(["fine", "fraud"])
    rates = class_rates(y, P, classes)
    assert rates.event == "fraud"
    happened, p = y == "fraud", P[:, 1]
    assert rates.share == happened.mean()
    assert rates.auc == roc_auc_score(happened, p)
    assert rates.average_precision == average_precision_score(happened, p)
    assert len(rates.hits) <= 150
    assert (rates.hits[0], rates.hits[-1]) == (0, 1)
    for row in rates.thresholds:
        flagged = p >= row.threshold
        assert row.flagged == flagged.sum()
        assert row.recall == recall_score(happened, flagged)
        assert_allclose(row.f1, f1_score(happened, flagged))
        if flagged.any():
            assert row.precision == precision_score(happened, flagged)
    assert rates.best.f1 == max(row.f1 for row in rates.thresholds)
    assert class_rates(y[:0], P[:0], classes) is None
    assert class_rates(y, np.stack([P[:, 0], P[:, 1], 0 * p], 1), np.array(list("abc"))) is None


def test_of_a_rare_class_thresholds_and_bins_tell_its_low_probabilities_apart():
    random = np.random.default_rng(1)
    p = np.exp(random.normal(-5, 1, size=4000)).clip(max=0.2)
    y = np.where(random.uniform(size=4000) < p, "fraud", "fine")
    classes, P = np.array(["fine", "fraud"]), np.stack([1 - p, p], 1)
    rates = class_rates(y, P, classes)
    flagged = [row.flagged for row in rates.thresholds]
    assert len(flagged) == len(set(flagged)) >= 6
    assert flagged[-1] < np.sum(y == "fraud") < flagged[0] < 4000
    found = calibration(y, P, classes)
    assert len(found.counts) == 10
    assert_allclose(found.counts, 400, rtol=0.01)
    assert_allclose(np.average(found.observed, weights=found.counts), np.mean(y == "fraud"))
    assert found.high.max() <= found.drawn(None)["x"].high <= 0.1


def test_intervals_cover_what_they_should():
    random = np.random.default_rng(0)
    y = random.standard_t(4, size=4000)
    found = prediction_intervals(y, np.zeros(4000))
    assert_allclose(found.coverage, found.level, atol=0.02)
    fresh = np.abs(random.standard_t(4, size=20000))
    assert_allclose([np.mean(fresh <= h) for h in found.half], found.level, atol=0.02)
    assert prediction_intervals(y[:19], np.zeros(19)) is None
    # of 39 rows, ceil(40 * 0.95) = 38
    few = prediction_intervals(y[:39], np.zeros(39))
    assert few.half[-1] == np.sort(np.abs(y[:39]))[37]


def test_a_part_with_more_errors_is_found_and_nothing_else():
    random = np.random.default_rng(0)
    n = 800
    X = pd.DataFrame({
        "size": random.normal(size=n), "place": random.choice(["north", "south", None], n),
        "noise": random.normal(size=n),
    })  # fmt: skip
    errors = (random.uniform(size=n) < 0.05).astype(float)
    south = (X["place"] == "south").to_numpy()
    errors[south] = random.uniform(size=south.sum()) < 0.4
    named = {"size": "number", "place": "category", "noise": "number"}
    kinds = {name: column_kind(kind) for name, kind in named.items()}
    (first, *others) = weak_segments(RawRows(X), list(X), kinds, errors)
    assert (first.column, first.part, first.rows) == ("place", "south", south.sum())
    assert first.error == errors[south].mean()
    assert first.others == errors[~south].mean()
    assert len(others) <= 1
    assert weak_segments(RawRows(X), list(X), kinds, np.zeros(n)) == []


def test_the_worst_rows_are_those_of_the_least_probable_truth():
    y, P = chances()
    X = pd.DataFrame({"p": P[:, 1]})
    numbers = np.arange(len(y)) + 1000
    rows = worst_rows(RawRows(X), y, P, np.array(["fine", "fraud"]), ["p"], numbers)
    chance = np.where(y == "fraud", P[:, 1], P[:, 0])
    assert [row.row - 1000 for row in rows] == np.argsort(chance, kind="stable")[:8].tolist()
    assert all(row.truth != row.predicted for row in rows)
    assert len(rows[0].cells) == 1


@pytest.mark.spread(1)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_learning_curve_ends_at_the_model_and_says_what_rows_are_worth(task):
    X, y, _ = planted(task)
    automatic = mercer.KernelClassifier if task == "classification" else mercer.KernelRegressor
    model = automatic(trials=2).fit(X[:300], y[:300])
    metric = metric_named(None, task)
    own = model.score(X[300:], y[300:])
    found = learning_curve(model, X[:300], y[:300], (X[300:], y[300:]), metric, own, Clock())
    assert found.rows.tolist() == [37, 75, 150, 300]
    assert found.score[-1] == own
    assert learning_curve(
        model, X[:300], y[:300], (X[300:], y[300:]), metric, own, Clock(0.0)
    ) is None  # fmt: skip
    rising = LearningCurve(np.array([50, 100]), np.array([0.8, 0.9]), 0.5)
    assert "has saved 50% of the error" in rising.advice
    assert "More rows would probably help" in rising.advice
    assert "help little" in LearningCurve(rising.rows, rising.score, 0.01).advice


def test_a_learning_curve_does_not_say_that_a_growing_error_was_saved():
    X, y, _ = planted("classification")
    model = mercer.KernelClassifier(trials=1).fit(X[:300], y[:300])
    holdout, metric = (X[300:], y[300:]), metric_named("accuracy", "classification")
    found = learning_curve(model, X[:300], y[:300], holdout, metric, 0.2, Clock())
    assert found.saved < 0
    assert "has not made the error smaller" in found.advice
    assert "Other columns" not in found.advice
    perfect = learning_curve(model, X[:300], y[:300], holdout, metric, 1.0, Clock())
    assert perfect.advice.startswith("The model makes no error on the held-out rows")


def test_suspects_have_the_numbers_of_the_users_table():
    X, y, wrong = planted("classification")
    model = mercer.KernelClassifier(trials=2).fit(X, y)
    found = suspects(model, X, y, np.arange(len(y)) + 5000, Clock())
    assert found.looked_at == len(y)
    assert found.count >= len(found.rows) > 0
    assert np.mean([row.row - 5000 in wrong for row in found.rows]) > 0.7
    assert {row.given for row in found.rows} <= {"yes", "no"}


@pytest.fixture(scope="module")
def rare():
    y, P = chances(500, 0.03)
    X = pd.DataFrame(
        {"secret name": np.log(P[:, 1]), "level": ["concealed"] * 250 + ["other"] * 250}
    )
    model = mercer.KernelClassifier(trials=2).fit(X[::2], y[::2])
    return model, X, y


def test_of_a_rare_class_average_precision_is_on_the_first_screen(rare):
    model, X, y = rare
    data = report_data(model, X[::2], y[::2], holdout=(X[1::2], y[1::2]))
    text = render(data)
    first = text[: text.index("<main>")]
    assert f"{data['rates'].average_precision:.3f}" in first
    assert f"{data['rates'].auc:.3f}" in first
    for name in ("roc", "precision", "thresholds", "learning", "suspects", "segments"):
        assert f'id="{name}"' in text
    order = [text.index(f'<section id="{n}">') for n in ("relevance", "errors", "next", "data")]
    assert order == sorted(order)
    assert data["machines"].stored in text


def test_without_values_no_cell_and_no_target_of_a_row_is_in_the_page(rare):
    model, X, y = rare
    rows = np.arange(0, 500, 2), np.arange(1, 500, 2)
    data = report_data(
        model, X[::2], y[::2], holdout=(X[1::2], y[1::2]), facts=TableFacts(rows=rows), values=False
    )
    text = render(data)
    assert "concealed" not in text
    numbers = json.loads(re.search(r'id="mercer-report">(.*)</script>', text)[1])
    assert numbers["has_values"] is False
    assert all(row["cells"] == [] and row["truth"] == "" for row in numbers["worst"])
    assert all(row["given"] == "" for row in numbers["suspicion"]["rows"])
    assert {row["row"] % 2 for row in numbers["worst"]} == {1}
    cells = {f"{value!r}" for value in X["secret name"].tolist()}
    assert not [cell for cell in cells if cell in text]
    X2, y2, _ = planted("regression")
    model = mercer.KernelRegressor(trials=1).fit(X2[:300], y2[:300])
    data = report_data(model, X2[:300], y2[:300], holdout=(X2[300:], y2[300:]), values=False)
    assert len(data["residuals"].predicted) == 0
    edges = data["target_summary"].edges
    assert edges[0] < y2.min() < y2.max() < edges[-1]
    text = render(data)
    assert not [v for v in y2.tolist() if repr(v) in text]
    assert "Has held" in text


def test_samples_without_columns_have_a_report_too():
    words = np.array(["banana", "ananas", "bandana", "papaya", "trick", "brick", "stick", "track"])
    X, y = np.tile(words, 6).tolist(), np.tile(["fruit"] * 4 + ["thing"] * 4, 6)
    model = mercer.KernelClassifier(trials=1).fit(X[:32], y[:32])
    data = report_data(model, X[:32], y[:32], holdout=(X[32:], y[32:]))
    assert data["worst"].columns == data["segments"].each == data["dependences"].each == []
    assert data["suspicion"].looked_at == 32
    render(data)
    (one,) = [report_data(model, None, None, holdout=(X[40:41], y[40:41]))]
    assert one.score.rows == 1
    render(one)


@pytest.mark.full
def test_a_report_needs_no_training_rows(rare, tmp_path):
    model, X, y = rare
    data = save_report(tmp_path / "r.html", model, X[1::2], y[1::2], target="kind of case")
    assert data.score.metric == model.metric_
    assert data.score.value == score_held_out(model, (X[::2], y[::2]), (X[1::2], y[1::2])).score
    assert data.get("relevance") is not None  # nothing is fitted for it
    assert data.get("learning") is None
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "kind of case" in text
    assert "the score of the fit on" not in text
    whole = save_report(tmp_path / "r.html", model, X[1::2], y[1::2], train=(X[::2], y[::2]))
    assert whole.get("relevance") is not None


def test_rows_without_a_target_are_counted(tmp_path):
    X = np.arange(20.0)[:, None]
    model = mercer.KernelRidge(0.1, kernel="rbf").fit(X, X[:, 0])
    y = np.where(np.arange(20) % 7 == 3, np.nan, X[:, 0])
    message = "y contains NaN in row 3; 3 of 20 rows have no finite target: leave them out"
    with pytest.raises(ValueError, match=message):
        save_report(tmp_path / "r.html", model, X, y)


def test_classes_with_an_order_stand_in_it():
    classes, ranks = np.array(["high", "low", "medium"]), np.array([2, 0, 1])
    y = np.array(["low", "medium", "high", "high", "unheard"])
    answers = np.eye(3)[[1, 2, 0, 2, 1]]
    drawn = confusion(y, answers, classes, ranks)
    assert drawn.classes == ["low", "medium", "high", "unheard"]
    assert drawn.matrix.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]]
    assert confusion(y, answers, classes).classes == ["high", "low", "medium", "unheard"]


def test_a_step_is_stopped_when_its_time_and_a_grace_are_over(monkeypatch):
    monkeypatch.setattr("mercer.threads.clock.GRACE", 0.0)
    steps = []

    def step(clock):
        while True:
            raise_if_stopped()
            steps.append(clock.left())

    assert Clock(0.01).within(step) is None
    assert steps
    assert Clock(5.0).within(lambda clock: clock.limit) == 5.0
    with Stop() as above:
        above.set()
        with pytest.raises(KeyboardInterrupt):
            Clock(0.0).within(step)
