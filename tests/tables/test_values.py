"""Raw tables: every kind of frame gives the same columns, and texts spell numbers and dates."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from mercer.samples import recognised
from mercer.tables.forms import spelled_date, spelled_number
from mercer.tables.values import ReadTable, as_dates, as_numbers, missing_values, read_columns

DAYS = [datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)]
DATA = {
    "number": [1.5, None, 3.0],
    "integer": [1, 2, 3],
    "word": ["a", None, "é"],
    "flag": [True, False, None],
    "day": DAYS,
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_of_every_library_give_the_same_columns(make):
    columns = read_columns(make(DATA))
    assert list(columns) == list(DATA)
    assert_array_equal(columns["number"], [1.5, np.nan, 3.0])
    assert_array_equal(columns["integer"], [1.0, 2.0, 3.0])
    assert columns["word"].tolist() == ["a", None, "é"]
    assert columns["flag"].tolist() == [True, False, None]
    assert columns["day"].dtype == "datetime64[s]"
    assert_array_equal(
        columns["day"], np.array(["2024-02-29", "NaT", "1969-12-31"], dtype="datetime64[s]")
    )


def test_nullable_categorical_and_zoned_columns_of_pandas():
    stamps = pd.to_datetime(["2024-01-01 12:00", None]).tz_localize("Europe/Berlin")
    columns = read_columns(
        pd.DataFrame(
            {
                "integer": pd.array([1, None], dtype="Int64"),
                "level": pd.Categorical(["a", None]),
                "text": pd.array(["a", None], dtype="string"),
                "stamp": stamps,
                "span": pd.to_timedelta(["12h", None]),
                "flag": pd.array([True, None], dtype="boolean"),
                "nothing": pd.array([None, None], dtype="Int64"),
            }
        )
    )
    assert_array_equal(columns["integer"], [1.0, np.nan])
    assert columns["level"].tolist() == columns["text"].tolist() == ["a", None]
    assert_array_equal(columns["stamp"], np.array(["2024-01-01T11", "NaT"], "datetime64[s]"))
    assert_array_equal(columns["span"], [0.5, np.nan])
    assert columns["flag"].tolist() == [True, None]
    assert_array_equal(columns["nothing"], [np.nan, np.nan])


def test_arrays_and_lists_name_their_columns_by_number():
    assert list(read_columns(np.eye(2, dtype=np.float32))) == [0, 1]
    assert_array_equal(read_columns([[1, 2], [3, 4]])[1], [2.0, 4.0])
    columns = read_columns([["a", 1, None], ["b", 2.5, DAYS[0]]])
    assert [columns[j].dtype.kind for j in range(3)] == ["O", "f", "M"]
    assert_array_equal(
        read_columns(np.array([[1], [2]], "datetime64[D]"))[0].astype(int), [86400, 172800]
    )


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (sp.csr_array((10, 10**7)), TypeError, "sparse"),
        ("text", TypeError, "data frame"),
        ({"a": [1]}, TypeError, "data frame"),
        (np.ones(3), ValueError, "Reshape your data"),
        (np.ones((0, 2)), ValueError, r"0 sample\(s\)"),
        (np.ones((2, 0)), ValueError, r"0 feature\(s\)"),
        (pd.DataFrame(), ValueError, r"0 sample\(s\)"),
        (pd.DataFrame({"a": [1.0, -np.inf]}), ValueError, "infinity in column 'a', row 1"),
        (np.array([[1.0], [np.inf]]), ValueError, "infinity in column 0, row 1"),
        ([[1.0], [float("inf")]], ValueError, "infinity"),
        (np.array([[1j]]), ValueError, "Complex"),
        ([[1], [2, 3]], ValueError, "different lengths"),
        (pd.DataFrame({"a": [{1: 2}, {3: 4}]}), TypeError, "column 'a' of X holds"),
        ([], ValueError, "X is empty"),
        (None, TypeError, "X is None: give a data frame"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_no_table_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        read_columns(X)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12.5", 12.5), (" -3 ", -3.0), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("+7", 7.0),
        ("1,200", 1200.0), ("1,200.50", 1200.5), ("1.200,50", 1200.5), ("0,125", 0.125),
        ("12,5", 12.5), ("1'000", 1000.0), ("12%", 12.0), ("$5", 5.0), ("€ 5", 5.0),
        ("1,234,567", 1234567.0),
        ("", None), ("a", None), ("1.2.3", None), ("inf", None), ("nan", None), ("12a", None),
        ("-", None), ("1-2", None), ("2024-01-01", None),
    ],
)  # fmt: skip
def test_what_texts_spell_as_numbers(text, number):
    assert spelled_number(text) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_as_python_writes_it_is_read_back(x):
    assert spelled_number(repr(x)) == x


@given(st.datetimes(min_value=datetime.datetime(1, 1, 1)))
def test_every_iso_date_is_read_back(stamp):
    stamp = stamp.replace(microsecond=0)
    assert spelled_date(stamp.isoformat(" ")) == np.datetime64(stamp)
    assert spelled_date(stamp.isoformat() + "Z") == np.datetime64(stamp)
    assert spelled_date(stamp.date().isoformat()) == np.datetime64(stamp.date())


@pytest.mark.parametrize("text", ["2023-02-29", "24-01-01", "2024-13-1", "01/02/2024", "noon", ""])
def test_other_texts_are_no_dates(text):
    assert spelled_date(text) is None


def test_columns_turned_into_numbers_and_dates():
    mixed = np.array(["1,5", 2, None, "x", True], dtype=object)
    assert_array_equal(as_numbers(mixed), [1.5, 2.0, np.nan, np.nan, 1.0])
    dates = np.array(["2024-01-01", None, "x", DAYS[0]], dtype=object)
    assert_array_equal(np.isnat(as_dates(dates)), [False, True, True, False])
    assert_array_equal(as_numbers(as_dates(dates[:2])), [19723.0, np.nan])
    assert_array_equal(missing_values(dates), [False, True, False, False])


@pytest.mark.parametrize(
    "X",
    [
        ["ab", "c"], ("ab", "c"), np.array(["ab", "c"]), np.array(["ab", "c"], object),
        pd.Series(["ab", "c"]), pl.Series(["ab", "c"]), pa.chunked_array([["ab", "c"]]),
    ],
    ids=lambda X: type(X).__name__,
)  # fmt: skip
def test_a_list_of_strings_is_one_column(X):
    (column,) = read_columns(X).values()
    assert column.tolist() == ["ab", "c"]


def test_a_list_of_sets_is_one_column_and_may_begin_with_a_missing_one():
    (column,) = read_columns([None, {1, 2}, set()]).values()
    assert column.tolist() == [None, {1, 2}, set()]
    (column,) = read_columns(pl.Series([["a"], [], ["b", "c"]])).values()
    assert column.tolist() == [["a"], [], ["b", "c"]]


def test_a_table_of_one_column_that_was_read_is_no_column_of_samples():
    assert recognised(ReadTable.of([[1.0], [2.0]])) is None
