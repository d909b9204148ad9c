"""Rows of data frames that a learner keeps: files hold them, and no type is lost."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import mercer
from mercer import AdditiveRegressor, KernelPerceptron
from mercer.kernels import TableKernel
from mercer.streams import join_rows, plain_columns

PANDAS = pd.DataFrame(
    {
        "fraction": [1.5, np.nan, 2, 3],
        "whole": [1, 2, 3, 4],
        "whole or missing": pd.array([1, None, 3, 4], "Int64"),
        "text": ["a", None, "b", "c"],
        "string": pd.array(["a", None, "b", "c"], "string"),
        "level": pd.Categorical(["x", "y", None, "x"]),
        "level of numbers": pd.Categorical([1, 2, None, 1]),
        "flag": [True, False, True, True],
        "flag or missing": pd.array([True, None, False, True], "boolean"),
        "day": pd.to_datetime(["2020-01-01", None, "2021-05-05", "2022-01-01"]),
        "zone": pd.date_range("2020-03-29", periods=4, tz="Europe/Berlin"),
        "list": [[1, 2], [3], [1], [2]],
        "date": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)],
        "single": np.ones(4, np.float32),
    }
)
POLARS = pl.from_pandas(PANDAS).with_columns(
    pl.Series("enum", ["x", "y", "x", None], dtype=pl.Enum(["x", "y"])),
    pl.Series("nothing", [None] * 4, dtype=pl.String),
    pl.col("fraction").fill_null(np.nan),  # of numbers, both are missing
)


@pytest.mark.parametrize("frame", [PANDAS, POLARS], ids=["pandas", "polars"])
def test_rows_that_were_kept_are_joined_as_data_frames_are(frame):
    first, last = frame.head(2), frame.tail(2)
    joined, wanted = join_rows(plain_columns(first), last), join_rows(first, last)
    assert [*joined.columns] == [*wanted.columns]
    for name in wanted.columns:
        assert joined[name].dtype == wanted[name].dtype, name
        assert joined[name].equals(wanted[name]), name


@pytest.mark.parametrize(
    ("kept", "later", "wanted"),
    [
        ([1.5, 2.5], [3, 4], [1.5, 2.5, 3, 4]),
        (pd.array([1, None], "Int64"), [3, 4], [1, None, 3, 4]),
        (pd.Categorical(["u", "v"]), pd.Categorical(["v", "w"]), ["u", "v", "v", "w"]),
    ],
    ids=["fractions", "missing", "levels"],
)
def test_values_that_the_later_type_cannot_hold_stay(kept, later, wanted):
    found = join_rows(plain_columns(pd.DataFrame({"a": kept})), pd.DataFrame({"a": later}))
    assert found["a"].tolist() == wanted


LEARNERS = {
    "additive": (AdditiveRegressor(), {}),
    "perceptron": (KernelPerceptron(kernel=TableKernel()), {"classes": [0, 1]}),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_file_keeps_a_stream_of_data_frames(name, as_frame, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "number": rng.normal(size=90),
            "level": pd.Categorical(rng.choice([3, 4, 5], 90)),
            "day": pd.date_range("2020-01-01", periods=90),
            "text": rng.choice(["a", "b", None], 90),
        }
    )
    y = ((X["number"] > 0) & (X["level"] == 3)).astype(int).to_numpy()
    frames = [as_frame(X[start : start + 30]) for start in (0, 30, 60)]
    model, more = LEARNERS[name]
    model = clone(model)
    model.partial_fit(frames[0], y[:30], **more).partial_fit(frames[1], y[30:60])
    mercer.save(model, tmp_path / "stream.mercer")
    again = mercer.load(tmp_path / "stream.mercer")
    for each in (model, again):
        each.partial_fit(frames[2], y[60:])
    np.testing.assert_array_equal(again.predict(as_frame(X)), model.predict(as_frame(X)))
