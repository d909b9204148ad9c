"""The rules that say what a column is, one by one, and what a user may say instead."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer.tables.column_rules import infer_columns
from mercer.tables.columns import Column, column_notices
from mercer.tables.values import read_columns

N = 40
TEXTS = [f"a sentence of some length about {i}" for i in range(N)]
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}

# values of a column -> its kind, and words of the reason
RULES = {
    "numbers": ([1.5 * i for i in range(N)], "number", "numbers, 40 different"),
    "integers": ([i % 7 for i in range(N)], "number", "integers, 7 different"),
    "with missing": ([None, *range(2, N + 1)], "number", "integers"),
    "two numbers": ([0, 1] * 20, "category", "two different numbers, 0 and 1"),
    "words": (["red", "blue"] * 20, "category", "2 different values"),
    "booleans": ([True, False] * 20, "category", "true or false"),
    "dates": (
        [datetime.date(2024, 1, 1 + i % 28) for i in range(N)], "date",
        "year, month, day, day of week",
    ),
    "dates in text": (
        [f"2024-01-{1 + i % 28:02d} 10:00" for i in range(N)], "date", "dates stored as text",
    ),
    "numbers in text": ([f"1,{i:03d}.5" for i in range(N)], "number", "numbers stored as text"),
    "percent": ([f"{i}%" for i in range(N)], "number", "numbers stored as text"),
    "marks": (["?", "n/a", *map(str, range(N - 2))], "number", "2 that are not"),
    "one odd value": (["broken", *map(str, range(N - 1))], "number", "1 that are not, such as"),
    "zip codes": ([f"0{i % 9}234" for i in range(N)], "category", "9 different values"),
    "with blanks": ([f" 0{i % 9}234 " for i in range(N)], "category", "9 different values"),
    "free text": (TEXTS, "text", "free text: 40 different values, 34 characters"),
    "counting": (list(range(7, 7 + N)), "identifier", "counts the rows: 40 consecutive integers"),
    "keys": ([f"key{i}" for i in range(N)], "identifier", "all 40 values are different"),
    "uuids": ([f"{i:032x}" for i in range(N)], "identifier", "digits and letters"),
    "constant": ([3.0] * N, "constant", "every value is 3"),
    "one or missing": (["yes", None] * 20, "category", "missing in 20 rows"),
    "empty": ([None] * N, "empty", "every value is missing"),
}  # fmt: skip


def infer(values, name="x", make=pd.DataFrame, **given):
    return infer_columns(
        read_columns(make({name: values, "other": list(range(0, 2 * N, 2))})), **given
    )[0]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_for_every_frame(rule, make):
    values, kind, reason = RULES[rule]
    column = infer(values, make=make)
    assert column.kind == kind
    assert reason in column.reason
    assert column.used == (kind in ("number", "category", "date", "text", "set"))


def test_missing_values_ranges_and_levels_are_told():
    number = infer([None, *range(2, N + 1)])
    assert (number.missing, number.distinct, number.low, number.high) == (1, 39, 2.0, 40.0)
    assert infer(RULES["marks"][0]).missing == 2
    category = infer(["b"] * 20 + ["a"] * 15 + [None] * 5)
    assert (category.missing, category.levels) == (5, ["b", "a"])
    date = infer(RULES["dates"][0])
    assert (date.low, date.high) == ("2024-01-01", "2024-01-28")


def test_mixed_types_are_a_category_that_says_so():
    column = infer([1, "a", 2.5, None] * 10)
    assert column.kind == "category"
    assert "mixed types (float, int, str)" in column.reason


def test_a_quarter_of_words_among_numbers_is_no_column_of_numbers():
    assert infer(["low", *map(str, range(3))] * 10).kind == "category"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("id", "identifier"), ("customer_id", "identifier"), ("rowId", "identifier"),
     ("Unnamed: 0", "identifier"), ("income", "number"), ("humid", "number"), ("solid", "number")],
)  # fmt: skip
def test_different_integers_are_an_identifier_by_name_only(name, kind):
    assert infer([(i * 37) % 1009 for i in range(N)], name).kind == kind


def test_few_rows_are_no_identifiers():
    assert infer_columns(read_columns([["a"], ["b"], ["c"]]))[0].kind == "category"


@pytest.mark.parametrize(
    ("cells", "other", "form"),
    [
        ([f"{90 + i / 7:.3f}" for i in range(90)], ["lost", "see note", "bad"], "number"),
        (
            [f"2024-03-{i % 28 + 1:02d} {i % 24:02d}:10" for i in range(90)],
            ["later", "soon", "never"],
            "date",
        ),
    ],
)
def test_words_among_more_numbers_or_dates_are_said(cells, other, form):
    table = {"x": cells + other * 6, "size": np.sin(np.arange(len(cells) + 6 * len(other)))}
    column = infer_columns(read_columns(pd.DataFrame(table)))[0]
    (said,) = (text for kind, text in column.doubts if kind == "mixed")
    words = "dates" if form == "date" else "numbers"
    assert said.startswith(f"90 of its 108 cells are {words}, and the others are not, such as ")
    assert f"give --kind x={form}" in said
    read = infer_columns(read_columns(pd.DataFrame(table)), kind={"x": form})[0]
    assert (read.kind, read.unfit) == (form, 18)


@pytest.mark.parametrize(
    "cells",
    [
        [f"{i} High Street" for i in range(90)],
        [str(113803 + 7 * i) for i in range(70)] + [f"A/5 {i}" for i in range(20)],
        [str(i % 9) for i in range(90)] + ["other"] * 10,
        ["red", "blue", "12"] * 30,
    ],
    ids=["houses", "tickets", "ratings", "colours"],
)
def test_levels_and_codes_that_hold_digits_are_no_mixture(cells):
    column = infer_columns(read_columns(pd.DataFrame({"x": cells, "size": np.arange(len(cells))})))
    assert column[0].doubts == []


@pytest.mark.parametrize("name", ["rownames", "id", "No."])
def test_names_tell_that_a_short_column_counts_its_rows(name):
    table = {name: range(1, 13), "size": np.cos(range(12))}
    column = infer_columns(read_columns(pd.DataFrame(table)))[0]
    assert (column.kind, column.reason) == (
        "identifier",
        "counts the rows: 12 consecutive integers",
    )
    table["months"] = table.pop(name)
    assert [c.kind for c in infer_columns(read_columns(pd.DataFrame(table)))] == ["number"] * 2


def test_labels_at_the_ends_of_a_scale_are_left_away():
    cells = ["0 - Not at all likely", *map(str, range(1, 10)), "10 - Extremely likely"] * 9
    column = infer_columns(read_columns(pd.DataFrame({"nps": cells, "x": range(99)})))[0]
    assert (column.kind, column.low, column.high, column.missing) == ("number", 0, 10, 0)
    assert column.doubts == [["label", "18 cells are a number with words behind it, such as "
                              "'0 - Not at all likely': read as the number"]]  # fmt: skip
    for cells in (["1 - Male", "2 - Female", "3 - Other"] * 33, ["1 - 5 a", "2"] * 50):
        column = infer_columns(read_columns(pd.DataFrame({"a": cells, "x": range(len(cells))})))[0]
        assert column.kind == "category"


def test_days_of_a_year_are_no_numbers_of_rows():
    table = {"day_of_year": range(1, 366), "size": np.cos(range(365))}
    assert infer_columns(read_columns(pd.DataFrame(table)))[0].kind == "number"


def test_the_years_of_seasons_are_no_numbers_of_rows():
    for name, kind in (("SeasonStart", "number"), ("id", "identifier")):
        table = {name: range(1893, 2013), "size": np.cos(range(120))}
        assert infer_columns(read_columns(pd.DataFrame(table)))[0].kind == kind


def test_surnames_before_forenames_are_no_sets():
    people = [f"{a}, {b}" for a in ("Hirst", "Emin", "Long") for b in ("Ann", "Tom", "Lea")] * 20
    table = {"x": [f"{cell} {i // 9 % 3}" for i, cell in enumerate(people)], "y": range(180)}
    assert infer_columns(read_columns(pd.DataFrame(table)))[0].kind == "category"
    table["x"] = [cell.replace("Tom", "Tom, Ann") for cell in table["x"]]
    assert infer_columns(read_columns(pd.DataFrame(table)))[0].kind == "set"


def test_sequence_numbers_of_a_survey_are_identifiers():
    numbers = np.cumsum(np.arange(90) % 13 + 200)
    for name in ("seqn", "PID", "unitid", "caseid", "subjectID"):
        table = {name: numbers, "size": np.cos(numbers)}
        assert infer_columns(read_columns(pd.DataFrame(table)))[0].kind == "identifier"
    for name in ("lipid", "covid", "grid"):
        table = {name: numbers, "size": np.cos(numbers)}
        assert infer_columns(read_columns(pd.DataFrame(table)))[0].kind == "number"


def test_ten_thousand_levels_pool_those_that_are_rare():
    values = np.array([f"level {i % 10_000}" for i in range(25_000)], dtype=object)[:, None]
    column = infer_columns(read_columns(values))[0]
    assert column.kind == "category"
    assert (
        "10000 different values; the 5000 that fewer than 3 rows have count as one" in column.reason
    )


def test_levels_that_hardly_repeat_are_an_identifier():
    values = [f"level {i % 150}" for i in range(250)]
    table = pd.DataFrame({"level": values, "other": np.arange(250) % 7})
    level, _ = infer_columns(read_columns(table))
    assert level.kind == "identifier"
    assert "hardly any in 3 of them" in level.reason


def test_names_are_texts_where_there_is_nothing_else():
    names = [f"name {i % 35}" for i in range(N)]
    (column,) = infer_columns(read_columns(pd.DataFrame({"name": names})))
    assert (column.kind, column.low, column.high) == ("text", 6.0, 7.0)
    assert "35 different values in 40 rows, and no other column can be used" in column.reason
    (column,) = infer_columns(read_columns(pd.DataFrame({"name": ["a", "b"] * 20})))
    assert column.kind == "category"
    given = {"name": "category"}
    assert infer_columns(read_columns(pd.DataFrame({"name": names})), given)[0].kind == "category"


BASKETS = [";".join(f"item {(7 * i + k * k) % 9}" for k in range(i % 4 + 1)) for i in range(2 * N)]


def test_sets_are_told_by_their_separator_or_their_cells():
    def only(values, **given):
        return infer_columns(read_columns(pd.DataFrame({"x": values})), **given)[0]

    column = only(BASKETS)
    assert (column.kind, column.separator) == ("set", ";")
    assert column.reason == "sets of 9 different items, separated by ';'"
    assert len(column.levels) == 9
    for separator in "|,":
        assert only([b.replace(";", separator) for b in BASKETS]).separator == separator
    column = only([set(b.split(";")) for b in BASKETS])
    assert (column.kind, column.reason) == ("set", "sets of 9 different items")
    assert only([b.split(";") for b in BASKETS]).kind == "set"
    clauses = [f"the {i}th clause, then {i * i} more; and {i} again" for i in range(2 * N)]
    assert only(clauses).kind == "text"
    seldom = [f"word {i} {i % 5}" + ";x" * (i % 9 == 0) for i in range(2 * N)]
    assert only(seldom).kind != "set", "less than half of the cells hold the separator"
    few = [f"item {i % 30}" + ";item 3" * (i % 3 == 0) for i in range(6 * N)]
    assert only(few).kind == "category"
    column = only(["a b", "b", "c a b"] * 10, kind={"x": "set"})
    assert (column.separator, column.levels[0]) == (None, "b")
    assert column.reason == "as given; sets of 3 different items, separated by blanks"
    assert only(BASKETS, kind={"x": "text"}).kind == "text"
    assert only(BASKETS, kind={"x": "drop"}).kind == "dropped"


def test_two_values_in_a_hundred_rows_are_as_good_as_none():
    column = infer_columns(read_columns(np.array([[1.0, 2.0, *[np.nan] * 98]]).T))[0]
    assert (column.kind, column.reason) == ("empty", "only 2 of 100 rows have a value")


def test_duplicates_name_their_twin():
    table = pd.DataFrame(
        {"a": [0.0, 1.5, 3.0], "b": [-0.0, 1.5, 3.0], "c": list("xyx"), "d": list("xyx")}
    )
    a, b, c, d = infer_columns(read_columns(table))
    assert (a.kind, b.kind, c.kind, d.kind) == ("number", "duplicate", "category", "duplicate")
    assert b.reason == "equal to column 'a' in every row"
    assert infer_columns(read_columns(table), kind={"b": "number"})[1].used


def test_the_only_column_is_used_though_it_counts_the_rows():
    (column,) = infer_columns(read_columns(np.arange(50.0)[:, None]))
    assert column.kind == "number"
    assert "no other column can be used" in column.reason


def test_a_user_knows_better():
    assert infer([10115, 20095, 80331, 10117] * 10, kind={"x": "category"}).reason == "as given"
    assert infer(list("abcd") * 10, drop=["x"]).kind == "dropped"
    assert infer(RULES["keys"][0], kind={"x": "category"}).used
    assert not infer(RULES["numbers"][0], kind={"x": "identifier"}).used


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": {"y": "number"}}, r"kind: there is no column 'y'; columns are \['x', 'other'\]"),
        ({"kind": {"othr": "number"}}, "Did you mean 'other'"),
        ({"drop": ["z"]}, "drop: there is no column 'z'"),
        ({"kind": {"x": "numeric"}}, "kind: x='numeric'; kinds are number, category, date"),
        ({"kind": {"x": "number"}}, "no value is a number; the first is 'word'"),
        ({"kind": {"x": "date"}}, "no value is a date as in 2024-02-29"),
        ({"kind": {"other": "date"}}, "no value is a date"),
    ],
)
def test_what_a_user_says_must_fit(given, message):
    with pytest.raises(ValueError, match=message):
        infer(["word", "other word"] * 20, **given)


@pytest.mark.parametrize(
    ("given", "message"), [({"drop": "x"}, r"\['x'\]"), ({"kind": ["x"]}, "give a dict")]
)
def test_the_arguments_have_their_types(given, message):
    with pytest.raises(TypeError, match=message):
        infer(["a", "b"] * 20, **given)


def test_items_of_sets_that_are_as_frequent_have_one_order_in_all_processes():
    """Sets of texts have another order in each process."""
    words = [f"item {i}" for i in range(9)]
    (column,) = infer_columns(
        {"x": read_columns(pd.DataFrame({"x": [words] * 40}))["x"]}, {"x": "set"}
    )
    assert column.levels == words


def test_notices_tell_what_is_set_aside_and_filled():
    columns = [
        Column("key", "identifier", "all 9 values are different", 0, 9),
        Column("age", "number", "numbers", 2, 7),
        Column("sex", "category", "2 different values", 2, 2),
        Column("note", "text", "free text", 1, 9),
        Column("bag", "set", "sets of 3 different items", 2, 9),
    ]
    dropped, filled, gaps, texts, sets = column_notices(columns)
    assert gaps == "A missing category is a level of its own: sex."
    assert texts == "A missing text counts as the empty one: note."
    assert sets == "A missing set counts as the empty one: bag."
    assert "key (all 9 values are different)" in dropped
    spaced = Column("the key", "identifier", "unlike", 0, 9, others=[["text", "short texts"]])
    assert column_notices([spaced])[0].endswith("as in --kind 'the key=text'.")
    assert "age" in filled
    assert "sex" not in filled
    many = [Column(f"c{i}", "constant", "one", 0, 1) for i in range(30)]
    assert "and 10 more" in column_notices(many)[0]


def test_levels_of_a_report_are_written_in_full():
    cells = {"zip": np.array([1234567.0, 1234568.0] * 9)}
    (column,) = infer_columns(cells, {"zip": "category"})
    assert column.of.distribution(column, cells["zip"]).levels == ["1234567", "1234568"]


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_zip_codes_with_and_without_four_more_digits_are_codes(share):
    """Never numbers, of which those with four more would be lost, or be ranges."""
    random = np.random.default_rng(0)
    codes = random.integers(1000 if share > 0.1 else 10_000, 99_999, 40)
    cells = [f"{codes[i % 40]:05d}" for i in range(400)]
    for i in range(int(400 * share)):
        cells[i * 7 % 400] += f"-{random.integers(0, 9999):04d}"
    table = {"zip": np.array(cells, dtype=object), "x": random.random(400)}
    column = infer_columns(table)[0]
    assert column.kind in ("category", "identifier")
    assert not column.doubts
