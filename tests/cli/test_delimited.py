"""Quotes and line ends: polars gets to see the same fields as the csv module of Python."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from mercer.cli.delimited import _fields_agree, _mended
from mercer.cli.tables import Tables, read_table
from mercer.cli.terminal import TableError


def fields(text):
    """The cells of a table of texts, with None for an empty field."""
    with open("t.csv", "w", newline="") as file:
        file.write(text)
    frame = read_table("t.csv", separator=",")
    return [frame.columns, *map(list, frame.rows())]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize(
    "rows",
    [
        'a,b~"x",y~',
        'a,b~"x~y",z~"",""~',
        'a,b~"x\ry","\n"~',
        'a,b~5" pipe,z~x,6"" pipe~',
        'a,b~"5"" pipe, ""x""",z~x,y',
        '"a~1","b, c"~x,y~',
        'a,b~x"y"z," k"~ "q",v~',
        '"a""b","""c"""~x,y',
        '"a,a_duplicated_0,a",a,a_duplicated_0~x,y,z',
    ],
)
def test_fields_are_those_of_the_csv_module(rows, end):
    text = rows.replace("~", end)
    assert fields(text) == list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_an_empty_text_and_a_missing_one_stay_different():
    assert fields('a,b\r"",x\r,y\r') == [["a", "b"], ["", "x"], [None, "y"]]


def test_codes_keep_their_zeros_and_long_integers_their_digits():
    assert fields("a,b\r0123,1\r5,2\r") == [["a", "b"], ["0123", 1], ["5", 2]]
    assert fields(f"a,b\n{'9' * 60},x\n1,y\n")[1:] == [["9" * 60, "x"], ["1", "y"]]


def test_a_carriage_return_in_a_cell_is_no_end_of_a_row_where_rows_would_break():
    text = "a,b\n1,x\ry\n2,z\r\r\n3,w\n"
    assert fields(text) == [["a", "b"], [1, "x y"], [2, "z "], [3, "w"]]
    Path("t.csv").write_text(text, newline="")
    tables = Tables([Path("t.csv")])
    tables.frame()
    assert tables.notes == ["2 cells hold carriage returns, which are read as blanks."]
    assert fields("a,b\n1,x\r2,y\n") == [["a", "b"], [1, "x"], [2, "y"]]


def test_names_in_single_quotes_stand_without_them():
    assert fields("'a','b c'\n1,2\n")[0] == ["a", "b c"]
    assert fields("'a,b'\n1,2\n")[0] == ["'a", "b'"]


ESCAPED = (
    'name,note,n\n"a","a \\"word\\", and",1\n"b","back\\\\slash",2\n\\N,"c",3\n',
    [("a", 'a "word", and', 1), ("b", "back\\slash", 2), (None, "c", 3)],
)
BARE = ("name\tnote\tn\na\tx\\\ty\t1\nb\tz\t2\n", [("a", "x\ty", 1), ("b", "z", 2)])


COPIED = (
    "name\tnote\tn\na\tx\\ty\t1\nb\ttwo\\nlines\t\\N\n\\N\tback\\\\slash\t3\n",
    [("a", "x\ty", 1), ("b", "two\nlines", None), (None, "back\\slash", 3)],
)
BROKEN = ("name\tnote\tn\na\tx\\\ny\t1\nb\tz\t2\n", [("a", "x\ny", 1), ("b", "z", 2)])


@pytest.mark.parametrize(("text", "rows"), [ESCAPED, BARE, COPIED, BROKEN])
def test_backslashes_escape_quotes_and_separators(text, rows, folder):
    name = "t.csv" if "," in text else "t.tsv"
    (folder / name).write_text(text)
    tables = Tables([Path(name)])
    assert tables.frame().rows() == rows
    assert "Backslashes in the fields are escapes" in tables.notes[0]
    assert [row for block in Tables([Path(name)]).blocks(1) for row in block.rows()] == rows


def test_a_quote_that_is_never_closed_among_backslashes_is_told(folder):
    """Also where the beginning of the file, by which backslashes are found out, is right."""
    rows = 'a,b\n"1 \\" x",2\n' + "3,4\n" * 5
    (folder / "t.csv").write_text(rows + '"5,6\n')
    with pytest.raises(TableError, match=r"quote is opened and never closed|ragged"):
        read_table("t.csv")
    long = 'a,b\n"1 \\" x",2\n' + '"' + "y\n" * 400_000 + '",4\n'
    (folder / "t.csv").write_text(long)  # the beginning is cut in a field
    assert read_table("t.csv").height == 2


@pytest.mark.parametrize("cell", ['"C:\\dir\\"', "a\\b", '"5"" \\ wide"', "\\N"])
def test_backslashes_that_are_no_escapes_stay(cell, folder):
    (folder / "t.csv").write_text(f"path,n\n{cell},1\n{cell},2\n")
    tables = Tables([Path("t.csv")])
    bare = cell.strip('"').replace('""', '"')
    assert tables.frame()["path"].to_list() == [bare, bare]
    assert tables.notes == []


@given(st.text('a",\n', min_size=1, max_size=12), st.integers(1, 3), st.booleans())
def test_what_is_counted_without_a_loop_is_as_the_csv_module_reads_it(cells, width, ended):
    text = cells.strip("\n") + "\n" if ended else cells
    if _fields_agree(text.encode(), ",", width):
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert {len(row) or 1 for row in rows} == {width}
        assert _mended(text, ",") == text


def test_names_again_in_other_words_are_no_row_even_above_few_others(folder):
    head = (
        "Respondent ID,StartDate,Q1,Q2\nRespondent ID,Start Date,I like my work,My boss listens\n"
    )
    (folder / "t.csv").write_text(head + "11471,01/02/2023,Agree,Agree\n")
    assert Tables([Path("t.csv")]).frame().height == 1
    (folder / "t.csv").write_text("name,kind,size\nname,person,large\nage,number,12\n")
    assert Tables([Path("t.csv")]).frame().height == 2


def test_the_null_of_a_database_is_a_missing_text_too(folder):
    (folder / "t.tsv").write_text("a\tb\nx\t\\N\n\\N\ty\n")
    tables = Tables([Path("t.tsv")])
    assert tables.frame().rows() == [("x", None), (None, "y")]
    assert tables.notes == ["\\N in a field means a missing value."]
