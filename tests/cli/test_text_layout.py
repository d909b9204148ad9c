"""Lines above the header, a header that stands in the file again, and totals and notes below."""

import polars as pl
import pytest
from tests.cli.runner import printed

from mercer.cli.tables import Tables, TextReading
from mercer.cli.terminal import TableError
from mercer.cli.text_layout import lines_above, lines_below

ROWS = [(f"n{i}", i + 0.5, i % 3) for i in range(30)]
HEADER = "name,size,count\n"
BODY = "".join(f"{a},{b},{c}\n" for a, b, c in ROWS)
SUM = f"Total,{sum(b for _, b, _ in ROWS)},{sum(c for *_, c in ROWS)}\n"

ABOVE = {
    "a title": "Sales of March\n",
    "a title and an empty line": "Sales of March\n\n",
    "comments": "# from the shop\n# units: mm\n",
    "padded": "Sales of March,,\n,,\n",
    "two that are padded": "Sales,,\nYear,2024,\n",
    "quoted": '"Sales, of ""March"""\n',
}
BELOW = {
    "a total with gaps": "Total,,30\n",
    "a total of sums": SUM,
    "a note": "Source: the shop\n",
    "a note behind an empty line": "\nSource: the shop\n",
    "rows affected": "\n(30 rows affected)\n",
    "total and notes": "Total,,30\n\n* not audited\n",
}


def read(text, tmp_path, rows=None, **options):
    (tmp_path / "t.csv").write_bytes(text.encode())
    tables = Tables([tmp_path / "t.csv"], TextReading(**options))
    frame = tables.frame() if rows is None else pl.concat(tables.blocks(rows))
    return frame, " ".join(tables.notes)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("rows", [None, 7])
@pytest.mark.parametrize("above", ABOVE)
def test_lines_above_the_header_are_left_out_and_said(above, rows, ends, tmp_path):
    frame, said = read((ABOVE[above] + HEADER + BODY).replace("\n", ends), tmp_path, rows)
    assert frame.rows() == ROWS
    assert "The table begins below the first" in said
    assert "--skip-rows 0" in said


@pytest.mark.parametrize("rows", [None, 7])
@pytest.mark.parametrize("below", BELOW)
def test_what_stands_below_is_left_out_and_said(below, rows, tmp_path):
    if below == "a total of sums" and rows:
        pytest.skip("only the whole column adds up")
    frame, said = read(HEADER + BODY + BELOW[below], tmp_path, rows)
    assert frame.rows() == ROWS
    assert "left out" in said


@pytest.mark.parametrize("rows", [None, 7])
def test_a_header_that_stands_among_the_rows_is_left_out(rows, tmp_path):
    frame, said = read(HEADER + BODY + HEADER + BODY, tmp_path, rows)
    assert frame.rows() == ROWS + ROWS
    assert "The header stands among the rows again." in said


def test_skip_rows_says_where_the_header_is(tmp_path):
    odd = "a,b,c\nd,e,f\n" + HEADER + BODY
    assert read(odd, tmp_path, skip=2)[0].rows() == ROWS
    assert read(odd, tmp_path, 7, skip=2)[0].rows() == ROWS
    assert read(odd, tmp_path)[0].columns == ["a", "b", "c"]
    with pytest.raises(TableError, match="ragged: row 2 has 3 fields, the header has 1"):
        read(ABOVE["a title"] + HEADER + BODY, tmp_path, skip=0)
    with pytest.raises(TableError, match="no table below its first 99 lines"):
        read(odd, tmp_path, skip=99)


def test_the_option_is_checked_and_recorded(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b,c\n" + HEADER + BODY)
    code, said = printed(capsys, "check", "t.csv", "--skip-rows", -1)
    assert (code, "--skip-rows -1: give a number of lines, at least 0." in said) == (2, True)
    code, said = printed(capsys, "check", "t.csv", "--skip-rows", 1)
    assert (code, "30 rows, 3 columns" in said) == (0, True)


def test_rows_keep_their_numbers_in_messages(tmp_path):
    with pytest.raises(TableError, match="row 34 has 2 fields, the header has 3"):
        read(ABOVE["comments"] + HEADER + BODY + "n,1\n" + BODY, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n1,2,3,4\n5,6,7,8\n",
        "1\n2,3\n4,5\n",
        "text\nhello, you\nwell, no\n",
        "a\nb\n",
        "a,b\n",
    ],
)
def test_no_lines_above_where_the_file_is_only_ragged(text):
    assert lines_above(text, ",") == 0


@pytest.mark.parametrize(
    "last",
    [["a,1,2\n", "b,3\n"], ["Total SE,1,2\n"], ["a\n", "Total\n"], ["Total,\n", "b,2\n"]],
)
def test_rows_that_are_cut_off_or_named_so_are_no_notes(last):
    assert lines_below(last, ",") == 0


def test_separators_within_cells_are_no_lines_above(tmp_path):
    text = "id,tags\n" + "".join(f"{i},a;b;c\n" for i in range(9)) + "Source: x\n"
    assert read(text, tmp_path)[0].columns == ["id", "tags"]
    assert read(text.replace("Source: x\n", ""), tmp_path)[0].height == 9


def test_a_company_named_total_stays(tmp_path):
    assert read(HEADER + BODY + "Total,3.5,1\n", tmp_path)[0].rows()[-1] == ("Total", 3.5, 1)


def test_a_quoted_field_that_looks_like_a_note_is_a_row(tmp_path):
    text = HEADER + BODY + '"x\nTotal\n",1,2\n'
    assert read(text, tmp_path)[0].height == read(text, tmp_path, 7)[0].height == 31
