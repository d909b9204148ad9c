"""Dates that are counted since 1970, and times of day in the zone that they are written in."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables import as_dates, column_notices, infer_columns, read_columns

N = 48
STAMPS = pd.date_range("2024-02-27", periods=N, freq="h")
SECONDS = STAMPS.astype("datetime64[s]").astype("int64").to_numpy()


def judged(values, **given):
    return infer_columns(
        read_columns(pd.DataFrame({"ts": values, "x": np.sin(range(N))})), **given
    )[0]


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_numbers_are_dates_where_the_user_says_so(unit, factor):
    assert judged(SECONDS * factor).kind != "date"
    column = judged(SECONDS * factor, kind={"ts": "date"})
    assert (column.kind, column.order, column.low) == ("date", unit, "2024-02-27")
    assert "seconds since 1970" in column_notices([column])[0]
    read = column.of.read(np.float64(SECONDS * factor), column)
    np.testing.assert_array_equal(read, STAMPS.to_numpy().astype("datetime64[s]"))
    text = column.of.read(np.array(["2024-02-29T10:00"], object), column)
    assert text[0] == np.datetime64("2024-02-29T10:00")


def test_days_as_numbers():
    days = np.float64([20240227 + i % 3 for i in range(N)])
    column = judged(days, kind={"ts": "date"})
    assert (column.low, column.high) == ("2024-02-27", "2024-02-29")


def test_other_numbers_are_refused():
    with pytest.raises(ValueError, match="nor a number of seconds or milliseconds since 1970"):
        judged(np.arange(N) * 0.5, kind={"ts": "date"})


def test_times_are_those_of_their_zone():
    texts = np.array(["2024-03-30T08:30:00+01:00", "2024-03-31T08:30:00+02:00"], object)
    assert [str(date)[11:16] for date in as_dates(texts)] == ["08:30", "08:30"]
    texts[1] = "2024-03-31T08:30:00-05:00"
    assert [str(date)[11:16] for date in as_dates(texts)] == ["07:30", "13:30"]


def test_dates_with_another_mark_do_not_take_their_order_in_silence():
    points = [f"{day}.02.87" for day in range(1, 29)]
    assert judged((points * 2)[:N]).doubts == []
    ((kind, said),) = judged([*(points * 2)[: N - 1], "10/03/84"]).doubts
    assert kind == "order"
    assert said.startswith("1 of its dates fit both orders of day and month, and '10/03/84' is")


def test_the_zero_date_of_a_database_is_a_missing_one():
    column = judged(["0000-00-00", *[f"2024-02-{day:02d}" for day in range(1, 29)] * 2][:N])
    assert (column.kind, column.missing, column.unfit, column.doubts) == ("date", 1, 0, [])


def test_one_quarter_of_many_years_is_no_unit():
    for part, day in (("Q2", "04-01"), ("Q3", "07-01"), ("H2", "07-01")):
        column = judged([f"{1970 + i}{part}" for i in range(N)])
        assert (column.kind, column.low) == ("date", f"1970-{day}")
