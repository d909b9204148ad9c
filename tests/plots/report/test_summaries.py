"""What a report draws of each column: counts of its values, and whiskers of its relevance."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose

from mercer import KernelRegressor
from mercer.plots.report.drawings import curve_points, relevance_tracks
from mercer.plots.report.save import report_data
from mercer.tables import infer_columns

RNG = np.random.default_rng(0)
N = 60
TABLE = pd.DataFrame(
    {
        "number": np.r_[np.nan, np.arange(1.0, 49.0), np.full(11, 3.0)],
        "level": ["x"] * 30 + ["y"] * 20 + [None] * 10,
        "text": ["", *("word " * (1 + i % 7) for i in range(N - 1))],
        "set": [{"tea"}] * 40 + [{"tea", "rum"}] * 20,
        "date": pd.date_range("2024-01-01", periods=N),
    }
)


def test_a_column_of_series_is_drawn_as_their_mean():
    """A rising and a falling line of different lengths have a flat mean; channels beyond the first
    are not drawn."""
    both = np.empty(2, object)
    both[:] = [[0.0, 1.0, 2.0, 3.0], [3.5, 1.5, -0.5]]
    rising = np.empty(2, object)
    rising[:] = [[[0.0, 9.0], [4.0, 9.0]], [[2.0, 9.0], [6.0, 9.0]]]
    for cells, first, last in ((both, 1.75, 1.25), (rising, 1.0, 5.0)):
        column = infer_columns({"wave": cells}, kind={"wave": "series"})[0]
        curve = column.of.distribution(column, cells).curve
        assert_allclose(curve, np.linspace(first, last, 48))
    drawn = curve_points(SimpleNamespace(curve=curve))
    assert drawn[0] == (0.0, 22.0)
    assert drawn[-1] == (96.0, 2.0)
    assert {y for _, y in curve_points(SimpleNamespace(curve=[2.0] * 48))} == {12.0}


def test_each_kind_of_column_is_summed_up():
    model = KernelRegressor(trials=1, kind={"text": "text", "set": "set"})
    y = RNG.normal(size=N)
    model.fit(TABLE, y)
    columns = {c.name: c for c in report_data(model, TABLE, y, holdout=(TABLE[:9], y[:9])).columns}
    number = columns["number"]
    assert (number.low, number.high, sum(number.counts)) == (1.0, 48.0, 59)
    assert dict(zip(columns["level"].levels, columns["level"].counts)) == {"x": 30, "y": 20}
    text = columns["text"]
    assert (text.low, text.high, sum(text.counts)) == (5.0, 35.0, 59)  # of texts that are not empty
    assert dict(zip(columns["set"].levels, columns["set"].counts)) == {"tea": 60, "rum": 20}
    date = columns["date"]
    assert date.levels == ["2024-01-01", "2024-02-29"]
    assert sum(date.counts) == N


def test_whiskers_are_the_interval_where_it_is_known():
    relevance = SimpleNamespace(
        columns=["a", "b", "c"], loss=np.array([0.5, 0.0, -0.5]),
        low=np.array([0.25, np.nan, -1.0]), high=np.array([1.0, np.nan, 0.0]),
    )  # fmt: skip
    tracks = relevance_tracks(relevance)
    a, b, c = tracks["rows"]
    assert tracks["zero"] == 50
    assert b["whisker"] is None
    assert_allclose(a["whisker"], (62.5, 100))
    assert_allclose(c["whisker"], (0, 50))
    assert (a["left"], a["width"]) == (50, 25)
    assert (c["left"], c["width"]) == (25, 25)
