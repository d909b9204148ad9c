"""Forms of cells: each row of the tables is read as it says, columns by the form of most cells."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

from lanes import examples
from mercer.tables import ReadTable, TableEncoder, column_notices, infer_columns, read_columns
from mercer.tables.cells import clear_separator
from mercer.tables.forms import (
    NumberColumn,
    clock_hours,
    clocks,
    dates,
    grammar,
    levels,
    some_of,
    spelled_date,
    spelled_number,
)
from mercer.tables.forms.clocks import span_seconds
from mercer.tables.values import as_numbers

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("form", dates.FORMS, ids=lambda form: form.cell)
def test_each_form_of_dates(form):
    assert str(spelled_date(form.cell, "dmy", local=True, asked=True)) == form.date
    assert (spelled_date(form.cell, "dmy") is None) == form.asked


@pytest.mark.parametrize("form", [*clocks.CLOCKS, clocks.ASKED], ids=lambda form: form.cell)
def test_each_form_of_times_of_day(form):
    assert clock_hours(form.cell, asked=True) == form.value


@pytest.mark.parametrize("form", clocks.SPANS, ids=lambda form: form.cell)
def test_each_form_of_lengths_of_time(form):
    assert span_seconds(form.cell) == form.value


@pytest.mark.parametrize("name", grammar.WHOLE)
def test_each_form_of_whole_columns_is_read_as_cell_by_cell(name):
    form = grammar.WHOLE[name]
    (read,) = form.read(pl.Series([form.cell])).to_list()
    assert str(read) == form.value
    assert re.match(form.pattern, form.cell)
    if isinstance(read, bool):
        return
    if isinstance(read, (int, float)):
        assert spelled_number(form.cell, "," if name == "comma number" else ".") == float(read)
    else:
        stamp = np.datetime64(str(read).removesuffix("+00:00"), "s")
        assert spelled_date(form.cell, local=name == "local") == stamp


def test_cells_that_most_rows_have_are_looked_at_among_many_rare_ones():
    rare = [f"{i * 7919 % 99991:x}xy" for i in range(2000)]
    found, _ = column([*rare[:551], *["1", "2", "3"] * 15_000, *rare[551:]])
    assert (found.kind, found.unfit) == ("number", 2000)
    cells = [*rare[:700], *["tea; rum; ale"] * 9000, *rare[700:]]
    assert some_of(Counter(cells))["tea; rum; ale"] == 9000
    assert clear_separator(Counter(cells)) == ";"


def test_a_form_of_dates_is_one_row_of_one_table(monkeypatch):
    """As docs/reading_tables.rst says, whose row this is."""
    page = Path(__file__).parents[2] / "docs" / "reading_tables.rst"
    row = re.search(r"^    (DateForm\(.*\)),$", page.read_text(encoding="utf-8"), re.MULTILINE)[1]
    form = eval(row, {"DateForm": dates.DateForm})
    cells = [form.cell.replace("29", str(day)) for day in range(1, 29)]
    table = read_columns(pd.DataFrame({"day": cells}))
    assert infer_columns(table)[0].kind != "date"
    monkeypatch.setattr(dates, "FORMS", (*dates.FORMS, form))
    dates._patterns.cache_clear()
    try:
        column = infer_columns(table)[0]
        assert (column.kind, column.low, column.high) == ("date", "2024-02-01", "2024-02-28")
        assert str(spelled_date(form.cell, "ymd")) == form.date
        assert "day: elapsed days" in {
            f.label for f in TableEncoder().fit(ReadTable(table)).features_
        }
    finally:
        dates._patterns.cache_clear()


def test_levels_with_an_order_are_one_row_of_one_table(monkeypatch):
    grades = dict(zip(["A", "A-", "B+", "B"], range(4)))
    form = levels.LevelForm(grades.get, "A-", "grades, the best first")
    table = read_columns(pd.DataFrame({"grade": [*grades] * 9, "size": np.arange(36) % 5}))
    assert not infer_columns(table)[0].order
    monkeypatch.setitem(levels.ORDERED, "grade", form)
    column = infer_columns(table)[0]
    assert (column.kind, column.order, column.of.said(column)) == ("category", "grade", form.said)
    assert "grade: order" in {f.label for f in TableEncoder().fit(ReadTable(table)).features_}


def test_times_of_a_web_server_are_read_in_their_brackets():
    times = [f"[{day:02d}/Jan/2023:10:0{day % 10}:00 +0000]" for day in range(1, 29)]
    found, read = column(times)
    assert found.kind == "date"
    assert str(read[1]) == "2023-01-02T10:02:00"


def column(cells, name="x", **others):
    """A column beside one of numbers, as it is read, and its values."""
    n = len(cells)
    table = pd.DataFrame({name: cells, "size": np.sin(np.arange(n)), **others})
    values = read_columns(table)
    found = infer_columns(values)[0]
    return found, found.of.read(values[name], found) if found.of.ordered else values[name]


def some(make, n=40):
    return [make(i) for i in range(n)]


DAYS = pd.date_range("2021-03-01", periods=40, freq="17D")
#: cells, kind, the first value, and what a doubt says
READ = {
    "Indian groups": (some(lambda i: f"{i + 1},23,456"), "number", 123456.0, ""),
    "minus of typography": (some(lambda i: f"\u2212{i + 1}.5"), "number", -1.5, ""),
    "zloty": (some(lambda i: f"{i + 1} 234,50 zł"), "number", 1234.5, ""),
    "reals": (some(lambda i: f"R$ {i + 1}.234,50"), "number", 1234.5, ""),
    "below one": (["1,234", *some(lambda i: f"0,{i + 100}")], "number", 1.234, ""),
    "euros": (["1.234 €", *some(lambda i: f"{i + 500} €")], "number", 1234.0, ""),
    "unit in part": (["3 mm", *some(lambda i: f"{i}.5")], "number", 3.0, "without a unit"),
    "per cent in part": (["12%", *some(lambda i: f"0.{i + 10}")], "number", 12.0, "shares"),
    "limits": (["<0.1", *some(lambda i: f"{i}.7")], "number", 0.1, "limit"),
    "a wrong cell": (["4.l", *some(lambda i: f"{i}.7")], "number", np.nan, "'4.l' (row 1)"),
    "errors": (["#DIV/0!", "\\N", "k. A.", *some(lambda i: f"{i}.7")], "number", np.nan, ""),
    "a mark that repeats": (["gone"] * 5 + some(lambda i: f"{i}.7"), "number", np.nan, "'gone'"),
    "several currencies": (["$ 3", *some(lambda i: f"{i} €")], "number", 3.0, "currencies"),
    "names of months": (list(DAYS.strftime("%d-%b-%Y")), "date", "2021-03-01", ""),
    "long dates": (list(DAYS.strftime("%B %d, %Y")), "date", "2021-03-01", ""),
    "months first": (list(DAYS.strftime("%m/%d/%y")), "date", "2021-03-01", ""),
    "two forms": (["04.03.2021", *DAYS.strftime("%Y-%m-%d")], "date", "2021-03-04", ""),
    "months": (list(DAYS.strftime("%b-%y")), "date", "2021-03-01", ""),
    "quarters": (some(lambda i: f"{2010 + i // 4}Q{i % 4 + 1}"), "date", "2010-01-01", ""),
    "weeks": (some(lambda i: f"2021-W{i + 1:02d}"), "date", "2021-01-04", ""),
    "both orders": (some(lambda i: f"0{i % 9 + 1}/0{i % 7 + 1}/2021"), "date", "2021-01-01",
                    "--dates month-first"),
    "times of day": (some(lambda i: f"{i % 24:02d}:30"), "time", 0.5, ""),
    "halves of a day": (some(lambda i: f"{i % 12 + 1}:30 PM"), "time", 13.5, ""),
    "laps": (some(lambda i: f"0:{i + 10}:05"), "number", 605.0, ""),
    "spans of ISO": (some(lambda i: f"PT{i + 1}M5S"), "number", 65.0, ""),
    "half-years": (some(lambda i: f"{2000 + i // 2}H{i % 2 + 1}"), "date", "2000-01-01", ""),
    "amounts": (["3k", "5bn", "950", *some(lambda i: f"{i + 1}.2M")], "number", 3000.0, ""),
    "amounts of money": (some(lambda i: f"${i + 1}K"), "number", 1000.0, ""),
    "degrees": (["33°51'S", *some(lambda i: f"{i}°30'N")], "number", -33.85, ""),
    "degrees with a point": (some(lambda i: f"{i + 1}.25 W"), "number", -1.25, ""),
    "ranges among numbers": (["5-6", *some(lambda i: f"{i}")], "number", 5.5, "its middle"),
    "feet": (some(lambda i: f'5\' {i % 12}"'), "number", 5.0, ""),
}  # fmt: skip
NOT_READ = {
    "pairs": some(lambda i: f"{120 + i} {80 + i % 9}"),
    "cards": some(lambda i: f"{1000 + i} {2000 + i} 4711 {3000 + i}"),
    "phones": some(lambda i: f"+49 30 {652729 + i}"),
    "phones without blanks": some(lambda i: f"+4930{652729 + i}"),
    "part numbers": some(lambda i: f"{12 + i}-{345 + i % 7}"),
    "numbers and telephones": some(lambda i: f"555-{1234 + i}" if i % 2 else f"555{1234 + i}"),
    "telephones with points": some(lambda i: f"555.123.{4567 + i}"),
    "numbers of books": some(lambda i: f"978-3-16-1484{i:02d}-0"),
    "papers": some(lambda i: f"10.1000/xyz{i}"),
    "articles": some(lambda i: f"SKU-{100 + i}M"),
    "shoes": some(lambda i: f"{i % 9 + 4}M"),
    "resistors": some(lambda i: f"{i % 9 + 1}k{i % 7 + 1}"),
    "addresses": some(lambda i: f"10.0.{i}.{2 * i}"),
    "seasons": some(lambda i: f"{2000 + i}-{(1 + i) % 100:02d}"),
    "results": some(lambda i: f"{i % 4}:{i % 3}"),
    "marks of a school": some(lambda i: f"{i % 5 + 1}{'+-'[i % 2]}"),
    "ranges": some(lambda i: f"{10 * (i % 5)}-{10 * (i % 5) + 9}"),
    "decades": some(lambda i: f"{1950 + 10 * (i % 6)}s"),
    "numbers of accounts": some(lambda i: f"{101 + i} {201 + i} {301 + i}"),
    "names in brackets": some(lambda i: f"(x{i % 4})"),
    "objects of JSON": some(lambda i: f'{{"a": {i}, "b": {i + 1}}}'),
    "codes": some(lambda i: f"{i:05d}"),
    "postal codes": some(lambda i: f"01220-{i:04d}"),
}


@pytest.mark.parametrize("case", READ)
def test_columns_are_read_by_their_form(case):
    cells, kind, first, doubt = READ[case]
    found, values = column(cells)
    assert found.kind == kind
    value = str(values[0].astype("datetime64[D]")) if kind == "date" else values[0]
    assert value == pytest.approx(first, nan_ok=True) if kind != "date" else value == first
    said = " ".join(text for _, text in found.doubts)
    assert doubt in said if doubt else not said


@pytest.mark.parametrize("case", NOT_READ)
def test_other_columns_are_no_numbers_dates_or_times(case):
    found, _ = column(NOT_READ[case])
    assert found.kind in ("category", "identifier", "text")


#: cells in their order, and the form
LEVELS = {
    "version": (["1.2", "1.2.3", "1.10.2", "v2.0.0-rc1"], "version"),
    "address": (["9.255.0.1", "10.0.0.2", "10.0.1.0", "192.168.0.1"], "address"),
    "range": (["<18", "18-24", "25 to 64", "65+"], "range"),
    "money": (["$0 - $999", "$1,000 - $1,999", "$2,000 or more"], "range"),
}


@pytest.mark.parametrize("case", LEVELS)
def test_levels_whose_text_tells_their_order(case):
    cells, form = LEVELS[case]
    rows = [cells[i % len(cells)] for i in range(60)] + [None]
    found, values = column(rows)
    assert (found.kind, found.order, found.missing) == ("category", form, 1)
    assert form in found.of.said(found)
    (numbers,) = found.of.series(found, values).values()
    assert (np.diff(numbers[: len(cells)]) > 0).all()
    assert np.isnan(numbers[-1])
    encoder = TableEncoder().fit(ReadTable({"x": values}))
    assert [f"{f.label}: {f.kind}" for f in encoder.features_] != ["x: rank", "x: code"]
    assert len(encoder.transform(ReadTable({"x": values[:3]}))) == 3


@pytest.mark.parametrize(
    "cells",
    [["12-345", "13-260", "14-999"], ["1.2", "1.3", "1.4"], ["0-10", "5-15", "10-20"],
     ["120-80", "130-85", "110-70"], ["1.2.300.4", "a", "b"]],
)  # fmt: skip
def test_levels_without_an_order(cells):
    assert column([cells[i % 3] for i in range(60)])[0].order not in ("version", "address", "range")


def test_places_in_one_cell_are_vectors():
    found, _ = column(some(lambda i: f"POINT({2 + i / 7:.3f} {48 + i / 9:.3f})"))
    assert (found.kind, found.high) == ("vector", 2)
    found, _ = column(some(lambda i: f"{48 + i % 9}°51'N {2 + i % 5}°2{i % 7}'W"))
    assert (found.kind, found.high) == ("vector", 2)


def test_four_digits_are_times_by_name_and_values():
    cells = [100 * (i % 24) + 7 * i % 60 for i in range(40)]
    found, values = column(cells, name="dep_time")
    assert (found.kind, values[1]) == ("time", 1 + 7 / 60)
    assert column([f"{cell:04d}" for cell in cells], name="dep_time")[0].kind == "time"
    assert column(cells)[0].kind == "number"
    assert column([100 * i for i in range(40)], name="time")[0].kind != "time"
    assert column([17 * i for i in range(40)], name="time")[0].kind != "time"


def test_other_columns_tell_the_order_of_day_and_month():
    cells = some(lambda i: f"0{i % 9 + 1}/0{i % 7 + 1}/2021")
    sure = [f"{i % 12 + 1}/{i % 28 + 1}/2021" for i in range(40)]
    found, _ = column(cells, end=sure)
    assert (found.order, found.doubts) == ("mdy", [])


@pytest.mark.parametrize(
    ("form", "days", "order"),
    [
        ("%d/%m/%Y", pd.date_range("2021-01-01", periods=24, freq="MS"), "dmy"),
        ("%m/%d/%Y", pd.date_range("2021-01-01", periods=24, freq="MS"), "mdy"),
        ("%m/%d/%Y", [pd.Timestamp(2021, m, d) for m in (1, 4, 9) for d in (2, 5, 11)], "mdy"),
        ("%d/%m/%Y", pd.date_range("2021-01-01", periods=24, freq="MS")[::-1], "dmy"),
    ],
)
def test_steps_from_row_to_row_tell_the_order_of_day_and_month(form, days, order):
    found, values = column([day.strftime(form) for day in days])
    assert (found.kind, found.order, found.doubts) == ("date", order, [])
    assert (values == np.array(days, "datetime64[s]")).all()


def test_steps_that_fit_both_orders_leave_a_doubt():
    found, _ = column([f"0{i % 9 + 1}/01/2021" for i in range(40)])
    assert [kind for kind, _ in found.doubts] == ["order"]
    assert found.others == [["date:month-first", "all cells fit both orders of day and month"]]


def test_integers_that_rise_as_rows_do_are_no_measure():
    kept = np.sort(np.random.default_rng(0).permutation(2000)[:200]) + 5000
    assert column(kept)[0].kind == "identifier"
    assert column(kept[::-1])[0].kind == "number"  # not in the order of the file
    assert column(kept, name="year_built")[0].kind == "identifier"
    assert column(10 * np.arange(200))[0].kind == "number"  # a scale
    assert column(np.arange(200) ** 2)[0].kind == "number"  # not steadily
    assert column(1000 * kept + np.arange(200) % 7)[0].kind == "number"  # far apart


def test_the_record_names_cells_that_do_not_fit():
    cells = ["4.l", *some(lambda i: f"{i}.7", 99), "4.m", "n/a", "4.l"]
    found, _ = column(cells)
    assert (found.unfit, found.missing) == (3, 4)
    assert found.misfits == [[1, "4.l"], [101, "4.m"]]
    found, _ = column([i % 4 for i in range(40)])
    assert found.others == [["category", "only 4 different numbers"]]


def test_the_notice_of_an_identifier_says_how_to_use_it():
    table = {"row no": np.arange(40.0), "size": np.sin(np.arange(40.0))}
    (said,) = column_notices(infer_columns(table))
    assert said.endswith("To use row no, give its kind, as in --kind 'row no=number'.")
    table["row no"] = np.array([f"b{i}-{i * 7919 % 997}" for i in range(40)], dtype=object)
    assert column_notices(infer_columns(table))[0].endswith("--kind 'row no=text'.")


def test_amounts_are_said():
    found, _ = column(some(lambda i: f"{i + 1}.2M"))
    assert found.of.said(found) == "in full, such as 1.2M as 1200000"


def test_long_integers_stay_different():
    ids = [9007199254740993001 + i for i in range(40)]
    found, values = column(ids)
    assert (found.kind, found.distinct, len(set(values.tolist()))) == ("identifier", 40, 40)
    found, values = column([9007199254740993001 + i % 3 for i in range(40)])
    assert (found.kind, found.levels[0]) == ("category", "9007199254740993001")


def test_years_are_no_numbers_of_rows():
    assert column(list(range(1980, 2020)), name="year")[0].kind == "number"
    assert column(list(range(1980, 2020)))[0].kind == "identifier"


def test_days_as_digits_are_dates_by_the_name_of_their_column():
    cells = list(DAYS.strftime("%Y%m%d"))
    assert column(cells, name="date")[1][0] == np.datetime64("2021-03-01")
    assert column([int(cell) for cell in cells], name="date")[0].kind == "date"
    assert "may be dates" in column([int(cell) for cell in cells])[0].doubts[0][1]


# --- made columns, of a form with marks: read back equal, or refused ------------------------------


def written_number(x, decimal, group, sign, money):
    """A number as a program of some country writes it."""
    text = f"{abs(x):,.2f}".translate(str.maketrans({",": group, ".": decimal}))
    text = f"{money}{text}" if money in ("$", "R$ ") else f"{text}{money}"
    if x >= 0:
        return text
    return {"-": f"-{text}", "\u2212": f"\u2212{text}", "()": f"({text})", "end": f"{text}-"}[sign]


numbers = st.lists(st.floats(-1e7, 1e7).map(lambda x: round(x, 2)), min_size=25, max_size=60)
MARKS = ["", "n/a", "#N/A", "\\N", "k. A.", "–"]


@examples(300)
@given(
    numbers,
    st.sampled_from([(".", ","), (",", "."), (",", " "), (",", "\u202f"), (".", "'"), (",", "")]),
    st.sampled_from(["-", "\u2212", "()", "end"]),
    st.sampled_from(["", " €", "$", "R$ ", " zł", " kg", "%"]),
    st.lists(st.sampled_from(MARKS), max_size=5),
)
def test_made_columns_of_numbers_are_read_back(values, signs, sign, money, marks):
    cells = [written_number(x, *signs, sign, money) for x in values]
    cells = [*cells, *marks]
    found, read = column(cells)
    if found.kind == "number":
        np.testing.assert_array_equal(read, [*values, *[np.nan] * len(marks)])
    else:  # nothing but a word may say that they are none
        assert found.kind in ("category", "identifier", "text", "constant", "empty")
        assert len({*cells}) < 4 or sign == "()" or money == " kg"


@examples(300)
@given(
    st.lists(st.dates(pd.Timestamp("1970-01-01").date(), pd.Timestamp("2060-12-31").date()),
             min_size=25, max_size=60),
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%d-%b-%Y",
                     "%B %d, %Y", "%d %B %Y", "%a, %d %b %Y", "%Y-W%V-%u", "%Y/%m/%d", "%d-%b-%y"]),
    st.lists(st.sampled_from(MARKS), max_size=5),
)  # fmt: skip
def test_made_columns_of_dates_are_read_back(days, form, marks):
    form = form.replace("%Y-W", "%G-W")
    found, read = column([day.strftime(form) for day in days] + marks)
    if len(set(days)) == 1:
        return
    assert found.kind == "date"
    wrong = read[: len(days)] != np.array(days, "datetime64[s]")
    short = "%y" in form and any(not 1969 <= day.year <= 2068 for day in days)
    open_order = any(kind == "order" for kind, _ in found.doubts)
    assert not wrong.any() or open_order or short
    assert np.isnat(read[len(days) :]).all()


def test_words_of_a_scale_are_levels_with_an_order():
    answers = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree"] * 9
    (found, *_) = column(answers)
    assert (found.kind, found.order) == ("category", "scale")
    ranks = found.of.series(found, np.array(answers[:4], object))["x: order"]
    assert (np.diff(ranks) > 0).all()
    for other in (["low", "good", "red"], ["Married", "Single", "Widowed"], ["low", "high"]):
        assert column(other * 12)[0].order == ""


def test_places_of_words_rise_within_each_scale():
    for scale in levels.SCALES:
        words = scale.split(", ")
        places = [levels.scale_number(word) for word in words]
        assert places == sorted(set(places)), scale
        assert levels.words_in_order(words[::-1]) == words


@pytest.mark.parametrize("decimal", ["", ".", ","])
@pytest.mark.parametrize("shares", [False, True])
def test_many_texts_are_read_as_each_alone(decimal, shares):
    # the many are tried by the shapes of their digits, and so may not differ
    texts = ["0", "7", "-0", "1,234", "1.234", "0,5", "0.5", "12,345.67", "12.345,67", "1,234,567",
             "1.234.567", "0123", "-1,234.5", "1,23", "12.", ".5", "5%", "$3.50", "(4)", "4-", "",
             "1\n2", "9" * 61, "<5", "5-6", "+4912345678", "1e3", "3 kg", " 8 "]  # fmt: skip
    form = NumberColumn(decimal, shares=shares)
    alone = {text: cell.number for text in texts if (cell := form.cell(text)) is not None}
    assert form.read(texts) == alone
    assert form.read(text for text in texts if "\n" not in text) == alone
    assert list(form.simple(texts)) == [text for text in texts if text in form.simple([text])]


@pytest.mark.parametrize("last", ["n/k", "1.234,5"])
def test_a_misfit_far_down_is_named_with_its_row(last):
    rows = 950_000
    cells = np.array([f"{i % 5000:,}.5" for i in range(rows)], dtype=object)
    cells[899_999] = last
    (column,) = infer_columns({"x": cells})
    assert column.kind == "number"
    if last == "n/k":
        assert column.misfits == [[900_000, "n/k"]]
        assert column.unfit == column.missing == 1
    else:
        assert [kind for kind, _ in column.doubts] == ["decimal"]
        assert as_numbers(cells, column.numbers)[899_999] == 1234.5


@pytest.mark.parametrize(("rows", "most"), [(40, 20), (6000, 1000)])
def test_what_a_column_is_not_is_told_by_a_few_of_its_texts(rows, most, monkeypatch):
    """Else a wide table, and a long one, take a try of each form of date for each of its cells."""
    tried = []
    monkeypatch.setattr(
        grammar, "moment_in", lambda text: tried.append(text) or dates.moment_in(text)
    )
    texts = [f"w{i} w{i * 7919 % 997} and w{i * 31 % 89}" for i in range(rows)]
    table = {"note": np.array(texts, dtype=object), "x": np.arange(rows) % 7.0}
    assert infer_columns(table)[0].kind in ("text", "identifier")
    assert 0 < len(tried) <= most
