"""Numbers and dates in texts: signs, thousands and orders, as columns and not single cells tell."""

import re
import sys

import numpy as np
import pandas as pd
import polars  # noqa: F401 - which reads long columns, where it is loaded
import pytest
from hypothesis import given, strategies as st

from mercer.tables import column_rules
from mercer.tables.column_rules import infer_columns
from mercer.tables.columns import column_notices
from mercer.tables.encoding import TableEncoder
from mercer.tables.forms import (
    COMMA_NUMBER,
    POINT_NUMBER,
    NumberColumn,
    decimal_of,
    order_of,
    signs_of,
    spelled_date,
    spelled_number,
)
from mercer.tables.forms.spelled import fits
from mercer.tables.values import as_dates, as_numbers, read_columns


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1.234,5", ",", 1234.5), ("1.234", ",", 1234.0), ("1,234", ",", 1.234),
        ("1,234", ".", 1234.0), ("1 234,5", ",", 1234.5), ("1\u202f234,5 €", ",", 1234.5),
        ("-1.234.567,89", ",", -1234567.89), ("€ -3,5", ",", -3.5), ("CHF 1'200.50", ".", 1200.5),
        ("12,5 %", ",", 12.5), ("12.5", ",", 12.5), ("0,5", ".", 0.5), ("1,5e3", ",", 1500.0),
        ("5 kg", ",", None), ("1.2.3", ",", None), ("EUR", ",", None),
    ],
)  # fmt: skip
def test_the_decimal_sign_of_the_column_decides(text, decimal, number):
    assert spelled_number(text, decimal) == number


@given(st.floats(-1e12, 1e12), st.sampled_from([".", ","]))
def test_grouped_numbers_are_read_back(x, decimal):
    written = f"{x:,.3f}"
    if decimal == ",":
        written = written.translate(str.maketrans(",.", ".,"))
    assert spelled_number(written, decimal) == float(f"{x:.3f}")


@pytest.mark.parametrize(
    ("texts", "decimal"),
    [(["1,234", "0,5"], ","), (["1.234", "1,234.5"], "."), (["1,234"], ""), (["12", "a"], "")],
)
def test_a_column_tells_its_decimal_sign(texts, decimal):
    assert decimal_of(texts) == decimal


@given(st.text("0159.,-+e $%'()", max_size=9), st.sampled_from(".,"))
def test_short_ways_to_a_number_end_where_the_long_one_does(text, decimal):
    pattern = POINT_NUMBER if decimal == "." else COMMA_NUMBER
    whole = re.match(pattern, text.strip()) is not None
    whole = whole and re.fullmatch(r"\+[0-9]{8,}", text.strip()) is None
    assert fits(text, decimal) == whole
    if whole:
        assert spelled_number(text, decimal) == spelled_number(f"{text.strip()}%", decimal) or (
            spelled_number(f"{text.strip()}%", decimal) is None  # a sign behind, or two of them
        )


def test_signs_and_orders():
    assert signs_of(["5 €", "$3", "4%"]) == "$ % €"
    assert order_of(["2024-02-01", "2024-02-29"])[0] == "ymd"
    assert order_of(["01.02.2024", "29.02.2024 12:30"])[0] == "dmy"
    assert order_of(["01/02/2024", "02/29/2024", "unknown"])[0] == "mdy"
    assert spelled_date("02/29/2024 7:05", "mdy") == np.datetime64("2024-02-29T07:05")
    assert spelled_date("2024-02-29T23:30:00-0130") == np.datetime64("2024-03-01T01:00")
    assert spelled_date("31.02.2024", "dmy") is None
    assert spelled_date("2024-02-29T25:00") is None


PRICES = [f"{i}.{i % 7}00,{i % 10}5 €" for i in range(1, 41)]


def test_what_a_column_of_texts_taught_is_the_rule_for_new_rows():
    table = pd.DataFrame({"price": PRICES, "day": [f"{i % 28 + 1}.3.2024" for i in range(40)]})
    price, day = infer_columns(read_columns(table))
    assert (price.kind, price.decimal, price.signs) == ("number", ",", "€")
    assert (day.kind, day.order) == ("date", "dmy")
    (notice,) = (n for n in column_notices([price, day]) if "written" in n)
    assert "price (with a decimal comma and with €, which is left away)" in notice
    assert "day (the day before the month)" in notice
    encoder = TableEncoder([price, day]).fit(table)
    labels = [f.label + " " + f.kind for f in encoder.features_]
    new = pd.DataFrame({"price": ["1.000", "2,000"], "day": ["1.2.2024", "2.1.2024"]})
    M = encoder.transform(new).numbers
    prices = as_numbers(table["price"].to_numpy(), NumberColumn(","))
    mean, spread = prices.mean(), prices.std()
    np.testing.assert_allclose(
        M[:, labels.index("price scaled")], (np.array([1000, 2]) - mean) / spread, rtol=1e-5
    )
    assert as_dates(new["day"].to_numpy(), day.order)[1] == np.datetime64("2024-01-02")


def test_a_hint_decides_for_a_column_that_does_not_tell():
    columns = read_columns(pd.DataFrame({"x": [f"{i},{100 + i}" for i in range(1, 40)]}))
    assert infer_columns(columns)[0].high == 39139
    assert infer_columns(columns, hints=",")[0].high == 39.139


def test_times_of_day_are_read_where_there_are_some():
    hours = pd.date_range("2024-01-01", periods=60, freq="h")
    quarters = pd.date_range("2024-01-01", periods=60, freq="15min")
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    for stamps, parts in ((hours, {"hour"}), (quarters, {"hour", "minute"}), (days, set())):
        for column in (stamps, stamps.strftime("%Y-%m-%d %H:%M")):
            encoder = TableEncoder().fit(pd.DataFrame({"t": column}))
            found = {f.label.removeprefix("t: ") for f in encoder.features_}
            assert found & {"hour", "minute"} == parts
            assert ("hour" in encoder.columns_[0].reason) == ("hour" in parts)


def test_counters_and_the_index_of_pandas_are_identifiers():
    n = 60
    kept = np.flatnonzero(np.random.default_rng(0).random(n) < 0.9)
    table = pd.DataFrame(
        {
            "count": kept,
            "size": np.sin(kept),
            "__index_level_0__": np.random.default_rng(1).permutation(9 * n)[: len(kept)],
            "step": 2 * np.arange(len(kept)),
        }
    )
    columns = infer_columns(read_columns(table))
    assert [c.kind for c in columns] == ["identifier", "number", "identifier", "number"]
    assert "counts the rows: integers from 0 that rise" in columns[0].reason
    assert "the index of a pandas table" in columns[2].reason


def test_columns_that_were_inferred_from_more_rows_are_kept():
    table = pd.DataFrame({"row": range(40), "x": ["1,5", "2"] * 20})
    columns = infer_columns(read_columns(table))
    some = read_columns(table.iloc[::3])
    assert infer_columns(some)[0].kind == "number"
    assert infer_columns(some, {c.name: c for c in columns}) == columns


@pytest.mark.parametrize(
    ("text", "moment"),
    [("03/04/2024 12:05 AM", "2024-03-04T00:05:00"), ("03/04/2024 12:05 PM", "2024-03-04T12:05:00"),
     ("03/04/2024 1:05:09pm", "2024-03-04T13:05:09"), ("03/04/2024 11:59 p.m.",
     "2024-03-04T23:59:00")],
)  # fmt: skip
def test_hours_may_be_those_of_half_a_day(text, moment):
    assert spelled_date(text, "mdy") == np.datetime64(moment)
    assert spelled_date("03/04/2024 13:05 PM", "mdy") is None
    assert spelled_date("03/04/2024 0:05 AM", "mdy") is None


def test_a_mantissa_has_no_groups_of_thousands():
    texts = ["3.374e5", "-1,5", "2,25", "1.000,5"] * 9
    column = infer_columns(read_columns(pd.DataFrame({"x": texts, "y": range(36)})))[0]
    read = column.of.read(np.array(texts, object), column)
    assert read[:4].tolist() == [337400.0, -1.5, 2.25, 1000.5]
    assert column.doubts[0][0] == "decimal"


PARTS = [
    "1,234.50", "1,234", "0.512", "1.234", "1.234,5", "0,5", "-3", "7", "12.", "9" * 61, "007",
    "+5", "1e3", "12345-6789", "(4)", "2024-02-29", "5 kg", "1 234", "n/a", "14:30", "-0",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4, unique=True),
    st.sampled_from(["", ".", ","]),
    st.integers(0, 1),
    st.sampled_from(["x", "date", "time"]),
)
def test_numbers_of_digits_alone_are_read_at_once_as_cell_by_cell(some, decimal, gaps, name):
    """A long column of these is read without a look at each different cell."""
    numbers = [f"{i % 31}{',.'[i % 7 == 0] if decimal else ''}{i % 1000:03d}" for i in range(900)]
    cells = np.array(
        [*some, *[None] * gaps, *numbers[: 900 if len(some) % 2 else 0], *some * 450], object
    )
    read = {}
    (column,) = infer_columns({name: cells}, hints=decimal, numbers=read)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_rules, "simple_numbers", lambda texts, hints: None)
        (wanted,) = infer_columns({name: cells}, hints=decimal)
    assert vars(column) == vars(wanted)
    for found in read.values():
        np.testing.assert_array_equal(found, wanted.of.read(cells, wanted))


@pytest.mark.parametrize("loaded", [True, False])
@pytest.mark.parametrize("decimal", [".", ","])
def test_a_long_column_of_digits_alone_is_read_once(decimal, loaded, monkeypatch):
    """Polars reads it, if it is loaded, to the last bit as Python does."""
    if not loaded:
        monkeypatch.delitem(sys.modules, "polars")
    exact = ["-0.0", "12.", "9007199254740993.0", "0.1000000000000000055511151231257827"]
    cells = [f"{i * 7919 % 99991:,d}.5" for i in range(2000)] + exact
    wanted = [float(cell.replace(",", "")) for cell in cells]
    swapped = str.maketrans(",.", ".,") if decimal == "," else {}
    read = {}
    cells = np.array([cell.translate(swapped) for cell in cells], object)
    (column,) = infer_columns({"x": cells}, numbers=read)
    assert (column.kind, column.decimal, column.distinct) == ("number", decimal, 2004)
    assert read["x"].tolist() == wanted
    assert not np.signbit(read["x"][2000])
