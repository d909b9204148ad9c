"""What a notebook shows of a fitted estimator, and the code that fits its winner again."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import mercer
from mercer.tables.column_rules import infer_columns
from mercer.tables.values import read_columns


def table(n=120):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"<b>size</b>": random.normal(size=n), "level": random.choice(["a", "b"], n)})
    return X, np.where(X["<b>size</b>"] + X["level"].eq("a") > 0.5, "yes", "no")


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_the_code_runs_and_predicts_the_same(trials):
    X, y = table()
    model = mercer.KernelClassifier(trials=trials, kind={"level": "category"}).fit(X, y)
    names = {"X": X, "y": y}
    exec(model.code(), names)
    again = names["model"]
    assert again.winner_name_ == model.winner_name_
    assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-6)
    assert len([r for r in again.leaderboard_ if not r["baseline"]]) == 1


def test_the_code_of_a_model_whose_columns_were_read_before():
    X, y = table()
    X["same"] = "a"
    X["number"] = X["level"].map({"a": "1,5", "b": "2,5"})
    columns = infer_columns(read_columns(X))  # as the command does
    model = mercer.KernelClassifier(trials=2, kind={c.name: c for c in columns}).fit(X, y)
    names = {"X": X, "y": y}
    exec(model.code(), names)
    assert_allclose(names["model"].predict_proba(X), model.predict_proba(X), atol=1e-6)
    assert "Column('level', 'category', '2 different values')" in repr(model)
    assert len(repr(model)) < 1000


def test_the_code_of_a_regressor_runs():
    X, _ = table()
    y = np.sin(X["<b>size</b>"].to_numpy())
    model = mercer.KernelRegressor(trials=2, random_state=3, metric="mae").fit(X, y)
    names = {"X": X, "y": y}
    exec(model.code(), names)
    assert names["model"].metric == "mae"
    assert_allclose(names["model"].predict(X), model.predict(X), atol=1e-6)


@pytest.mark.full
def test_the_report_is_that_of_the_rows_given(tmp_path):
    X, y = table()
    model = mercer.KernelClassifier(trials=2)
    with pytest.raises(NotFittedError):
        model.report(tmp_path / "none.html", X, y)
    model.fit(X[:80], y[:80])
    model.report(tmp_path / "some.html", X[80:], y[80:], train=(X[:80], y[:80]), target="answer")
    html = (tmp_path / "some.html").read_text()
    assert "Predicting answer" in html
    assert "On the 40 rows set aside" in html
    with pytest.raises(FileNotFoundError):
        model.report(tmp_path / "missing" / "some.html", X[80:], y[80:])


def test_a_notebook_shows_the_winner_and_no_markup_of_names():
    X, y = table()
    model = mercer.KernelClassifier(trials=3)
    assert "Kernel" in model._repr_html_()  # scikit-learn's diagram
    model.fit(X, y)
    html = model._repr_html_()
    assert model.winner_name_ in html
    assert f"{len(model.stored_rows_):,}" in html
    assert "<b>" not in html
    assert len(html) < 3000
    assert model._repr_mimebundle_()["text/html"] == html
