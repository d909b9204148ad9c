"""Relevance of automatic estimators: encoded once, the foremost columns first, within a time."""

from time import process_time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from lanes import few
from mercer.plots import RelevanceDisplay
from mercer.plots.displays.relevance import _dependence
from mercer.plots.fitted import RawRows, rows_of, typical_row
from plots.report.reports import report_data


def mixed(n=80):
    random = np.random.default_rng(0)
    return pd.DataFrame({
        "size": np.where(np.arange(n) % 9 == 0, np.nan, random.normal(size=n)),
        "level": random.choice(["a", "b", None], n),
        "day": pd.date_range("2024-01-01", periods=n).to_numpy(),
        "note": [f"the {'cat' if i % 3 else 'dog'} is {i} metres away" for i in range(n)],
        "count": random.integers(0, 5, n),
    })  # fmt: skip


def test_a_held_column_of_the_encoded_table_is_that_of_the_encoded_held_table():
    X = mixed()
    y = X["count"] + X["level"].eq("a")
    model = mercer.KernelRegressor(trials=1, kind={"note": "text"}).fit(X, y)
    encoded, raw = rows_of(model, X), RawRows(X)
    assert list(encoded.kinds) == list(X.columns)
    for name, kind in encoded.kinds.items():
        row = typical_row(encoded.cells(name), kind)
        held = encoded[np.arange(10, 50)].held(name, encoded, row)
        table = raw[np.arange(10, 50)].held(name, raw, row)
        assert table[name].nunique(dropna=False) == 1
        expected = model.encode(table)
        if name != "day":  # its parts that are constant in training have no features
            assert_array_equal(held.numbers, expected.numbers)
        assert_array_equal(model.machine_(held), model.machine_(expected))


def wide(columns=300, rows=400):
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.normal(size=(rows, columns))).rename(columns=lambda j: f"c{j}")
    return X, 3 * X["c42"].to_numpy() + 0.1 * random.normal(size=rows)


@pytest.mark.full
def test_a_wide_table_is_measured_in_time_and_its_column_is_found():
    X, y = wide()
    model = mercer.KernelRegressor(trials=1).fit(X[:300], y[:300])
    begun = process_time()  # of the processor: other programs may take the clock's
    display = RelevanceDisplay.measured(model, X[:300], y[:300], X[300:], y[300:], time=1)
    assert process_time() - begun < 12
    assert display.columns[0] == "c42"
    assert display.n_columns == 300
    assert 1 <= len(display.columns) <= 40


@pytest.mark.full
@pytest.mark.parametrize("time", few(1, [1e-9, 1]))
def test_a_report_ends_in_its_time_with_its_cheap_parts(time):
    X, y = wide(100)
    model = mercer.KernelRegressor(trials=1).fit(X[:300], y[:300])
    begun = process_time()
    data = report_data(model, X[:300], y[:300], holdout=(X[300:], y[300:]), time=time)
    assert process_time() - begun < 3 * (time + 3)  # the whole would take minutes
    assert len(data["columns"]) == 100
    assert len(data["spectrum"].display.eigenvalues) >= 100
    assert len(data["relevance"].display.columns) >= 1


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.9, 0.1], [0.2, 0.3, 0.5], [1.0]])
@pytest.mark.parametrize("answers", [1, 3])
def test_dependence_is_the_part_of_the_variance_between_groups(shares, answers):
    """The R² of a linear regression on indicators of the groups, of the best answer."""
    random = np.random.default_rng(0)
    codes = random.choice(len(shares), 400, p=shares)
    Y = random.normal(size=(len(shares), answers))[codes] + random.normal(size=(400, answers))
    indicators = np.eye(len(shares))[codes]
    fitted = indicators @ np.linalg.lstsq(indicators, Y, rcond=None)[0]
    parts = np.var(fitted, axis=0) / np.var(Y, axis=0)
    found = _dependence(np.array(list("abcdef"))[codes], Y[:, 0] if answers == 1 else Y)
    assert_allclose(found, parts.max(), atol=1e-12)


def test_dependence_of_numbers_and_of_nothing():
    x = np.random.default_rng(0).normal(size=1000)
    assert _dependence(x, np.exp(3 * x) > 1) > 0.8
    assert _dependence(x, x) > 0.9
    assert _dependence(x, np.random.default_rng(1).normal(size=1000)) < 0.05
    assert _dependence(x, np.ones(1000)) == 0
