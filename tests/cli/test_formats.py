"""Every format of a table file, several files, a pipe, and files that are not what they seem."""

import gzip
import io
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

from cli.runner import printed
from mercer.cli.delimited import DelimitedText
from mercer.cli.files import ByteSource
from mercer.cli.tables import Tables, TextReading, read_table
from mercer.cli.terminal import TableError

FRAME = pl.DataFrame({"size": [1.5, None, 3.0], "colour": ["red", "blue", None]})
ROWS = FRAME.to_dict(as_series=False)


def workbook(rows, sheets=("One",), merged=()):
    """A file of Excel by hand."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"

    def cell(value):
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    numbers = range(1, len(sheets) + 1)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" '
            f'Type="{related}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        named = "".join(
            f'<sheet name="{sheet}" sheetId="{i}" r:id="r{i}"/>'
            for i, sheet in zip(numbers, sheets)
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{related}"><sheets>{named}</sheets></workbook>',
        )
        links = "".join(
            f'<Relationship Id="r{i}" Type="{related}/worksheet" Target="worksheets/{i}.xml"/>'
            for i in numbers
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
        )
        for i in numbers:
            cells = "".join(f'<mergeCell ref="{each}"/>' for each in merged)
            text = f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData>{cells}</worksheet>'
            archive.writestr(f"xl/worksheets/{i}.xml", text)
    return content.getvalue()


def arrow_stream():
    content = io.BytesIO()
    FRAME.write_ipc_stream(content)
    return content.getvalue()


def ipc():
    content = io.BytesIO()
    FRAME.write_ipc(content)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.arrow", ipc()),
        ("t.feather", ipc()),
        ("stream.arrow", arrow_stream()),
        ("t.feather.gz", gzip.compress(ipc(), mtime=0)),
        ("t.jsonl", FRAME.write_ndjson().encode()),
        ("t.ndjson.gz", gzip.compress(FRAME.write_ndjson().encode(), mtime=0)),
        ("gaps.jsonl", b'{"size": 1.5, "colour": "red"}\n\n{"colour": "blue"}\n{"size": 3}\n'),
        ("wide.jsonl", FRAME.write_ndjson().encode("utf-16")),
    ],
)
def test_formats_with_types(name, content, folder):
    (folder / name).write_bytes(content)
    assert read_table(name).to_dict(as_series=False) == ROWS
    blocks = Tables([Path(name)]).blocks(2)
    assert pl.concat(blocks).to_dict(as_series=False) == ROWS


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.5", '["é"]'], ["1.5", '["é"]']),
        (["true", '{"b": 1}', "null"], ["true", '{"b": 1}', None]),
        (['{"b": 1}', "[2]"], ['{"b": 1}', "[2]"]),
    ],
)
def test_json_lines_whose_cells_are_of_many_types(cells, expected, folder):
    (folder / "t.jsonl").write_text("".join(f'{{"a": {cell}, "n": 1}}\n' for cell in cells))
    found = read_table("t.jsonl").to_dict(as_series=False)
    assert found == {"a": expected, "n": [1] * len(cells)}


def test_svmlight_has_the_target_first_and_zeros_for_what_is_absent(folder):
    (folder / "t.svm").write_text("1 1:0.5 3:2\n-1 2:1.5 # a comment\n")
    expected = {"target": [1, -1], "x1": [0.5, 0.0], "x2": [0.0, 1.5], "x3": [2.0, 0.0]}
    assert read_table("t.svm").to_dict(as_series=False) == expected
    (folder / "new.libsvm").write_text("0.5 1:3\n")
    new = Tables([Path("new.libsvm")]).frame(["x1", "x2", "x3"])
    assert new.rows() == [(0.5, 3.0, 0.0, 0.0)]
    (folder / "t.svm").write_text("1 a:0.5\n")
    with pytest.raises(TableError, match=r"t\.svm is not a readable svmlight file"):
        read_table("t.svm")


def test_excel_where_its_reader_is_installed(folder):
    pytest.importorskip("fastexcel")
    rows = [["size", None, "colour"], [1.5, 2, "red"], [3, None, "blue"]]
    (folder / "t.xlsx").write_bytes(workbook(rows, ["One", "Two"]))
    tables = Tables([Path("t.xlsx")])
    assert tables.frame().rows() == [(1.5, 2.0, "red"), (3.0, None, "blue")]
    assert tables.frame().columns == ["size", "column 2", "colour"]
    assert "Of 2 sheets one is read, One; --sheet reads another: Two." in tables.notes
    assert "Without a name in the header: column 2." in tables.notes
    for content in (workbook([]), workbook([["a", "b"]]), b"PK\3\4no"):
        (folder / "t.xlsx").write_bytes(content)
        with pytest.raises(TableError, match=r"is empty|no rows|not a readable Excel"):
            read_table("t.xlsx")


def test_a_sheet_of_large_numbers_and_of_nothing_is_read_in_silence(folder, capfd):
    pytest.importorskip("fastexcel")
    rows = [["size", "none", None, "id"], [1e293, None, None, 1], [None] * 4,
            [-3, None, None, 2], [2.0**53, None, None, 3]]  # fmt: skip
    (folder / "t.xlsx").write_bytes(workbook(rows))
    frame = read_table("t.xlsx")
    assert frame.columns == ["size", "none", "id"]
    assert frame["size"].to_list() == [1e293, -3.0, 2.0**53]
    assert frame["none"].null_count() == 3
    assert frame["id"].dtype == pl.Int64
    said = capfd.readouterr()
    assert said.out + said.err == ""


@pytest.mark.parametrize(
    ("name", "modules"),
    [("t.xlsx", ["fastexcel"]), ("t.csv.zst", ["compression.zstd", "backports.zstd"])],
)
def test_what_to_install_is_said(name, modules, folder, monkeypatch):
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    (folder / name).write_bytes(b"PK")
    with pytest.raises(TableError, match=r'pip install "mercer\[formats\]"'):
        read_table(name)


def test_zstandard(folder):
    zstd = pytest.importorskip(
        "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    )
    content = zstd.compress(FRAME.write_csv().encode())
    (folder / "t.csv.zst").write_bytes(content)
    assert read_table("t.csv.zst").to_dict(as_series=False) == ROWS
    (folder / "t.csv.zst").write_bytes(content[:-3])
    with pytest.raises(TableError, match="cannot be uncompressed"):
        read_table("t.csv.zst")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', r"t.jsonl, row 2: this is not JSON"),
        ('{"a": 1}\n[1]\n', r"t.jsonl, row 2: '\[1\]' is not a JSON object"),
        ("\n \n", "has no rows"),
        ('{"a": [{"b": 1}]}\n', "no column that can be read"),
    ],
)
def test_json_that_is_none(content, message, folder):
    (folder / "t.jsonl").write_text(content)
    with pytest.raises(TableError, match=message):
        read_table("t.jsonl")


# --- several files ----------------------------------------------------------------------------


def test_several_files_are_one_table_with_one_type_for_each_column(folder, capsys):
    (folder / "part-1.csv").write_text("a,b\n1,x\n2,y\n")
    (folder / "part-2.csv").write_text("b,a\n7,2.5\n")
    frame = Tables([Path("part-*.csv")]).frame()
    assert frame.to_dict(as_series=False) == {"a": [1.0, 2.0, 2.5], "b": ["x", "y", "7"]}
    assert pl.concat(Tables([Path("part-*.csv")]).blocks(1)).equals(frame)
    code, said = printed(capsys, "check", "part-1.csv", "part-2.csv")
    assert (code, "Read from 2 files." in said) == (0, True)
    (folder / "part-3.csv").write_text("a,c\n1,2\n")
    code, said = printed(capsys, "check", "part-*.csv")
    assert code == 3
    assert "part-3.csv has other columns than part-1.csv: it lacks 'b' and has 'c' besides." in said
    code, said = printed(capsys, "check", "absent-*.csv")
    assert (code, "no name matches the pattern" in said) == (3, True)
    pl.DataFrame({"a": [1], "b": [[1]]}).write_parquet("part-3.parquet")
    code, said = printed(capsys, "check", "part-1.csv", "part-3.parquet")
    assert code == 3
    assert "column 'b' holds List(Int64) and String in different files" in said


# --- standard input ---------------------------------------------------------------------------


def piped(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize(
    "content",
    [
        b"a;b\n1;x\n",
        gzip.compress(b"a,b\n1,x\n", mtime=0),
        b'{"a": 1, "b": "x"}\n',
        "parquet",
        "arrow",
    ],
)
def test_a_table_from_a_pipe(content, monkeypatch, capsys):
    if isinstance(content, str):
        buffer, frame = io.BytesIO(), pl.DataFrame({"a": [1], "b": ["x"]})
        (frame.write_parquet if content == "parquet" else frame.write_ipc)(buffer)
        content = buffer.getvalue()
    piped(monkeypatch, content)
    code, said = printed(capsys, "check", "-")
    assert code == 0, said
    assert "1 row, 2 columns." in said


def test_a_pipe_that_is_closed_or_empty_or_torn(monkeypatch, capsys):
    piped(monkeypatch, b"")
    code, said = printed(capsys, "check", "-")
    assert (code, "Standard input is empty: the program before" in said) == (3, True)
    piped(monkeypatch, b"a,b\n1,2\n3")
    code, said = printed(capsys, "check", "-")
    assert (code, "Standard input is ragged: row 3 has 1 fields" in said) == (3, True)
    sys.stdin.close()
    code, said = printed(capsys, "check", "-")
    assert (code, "Standard input is closed." in said) == (3, True)
    monkeypatch.setattr(sys, "stdin", None)
    assert printed(capsys, "check", "-")[0] == 3


# --- files that change ------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 1])
def test_a_file_that_changes_while_it_is_read_is_refused(rows, folder):
    (folder / "t.csv").write_text("a,b\n1,x\n2,y\n")
    text = DelimitedText(ByteSource(Path("t.csv")), ",", "utf-8")
    with open("t.csv", "a") as file:
        file.write("3,z\n")
    with pytest.raises(TableError, match=r"t.csv was changed while it was read\. Wait until"):
        list(text.blocks(rows))


# --- texts that say what they are -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "frame", "notes"),
    [
        ("a;b\n1.234,5;2\n0,5;3\n", {"a": [1234.5, 0.5], "b": [2, 3]},
         ["Numbers have decimal commas: a.", "The fields are separated by semicolons."]),
        ("a;b\n1.234;0,5\n2.345;1\n", {"a": [1234.0, 2345.0], "b": [0.5, 1.0]},
         ["Numbers have decimal commas: a, b.", "The fields are separated by semicolons."]),
        ("a\tb\n1,5\t2.5\n", {"a": ["1,5"], "b": [2.5]}, ["The fields are separated by tabs."]),
        ('a,b\n"1,234",0.5\n', {"a": ["1,234"], "b": [0.5]}, []),
        ("a,,\n1,2,3\n", {"a": [1], "column 2": [2], "column 3": [3]},
         ["Without a name in the header: column 2, column 3."]),
        ("a,a,b,a (2),a\n1,2,3,4,5\n",
         {"a": [1], "a (2)": [2], "b": [3], "a (2) (2)": [4], "a (3)": [5]},
         ["Names that the header repeats are numbered: a (2), a (2) (2), a (3)."]),
        ('"x, y";z\n1,5;2\n', {"x, y": [1.5], "z": [2]},
         ["Numbers have decimal commas: x, y.", "The fields are separated by semicolons."]),
        ("items\na;b\nc;d\n", {"items": ["a;b", "c;d"]}, []),
        ("t\n2024-02-29 12:30\n2024-03-01 00:00:05\n", None, []),
    ],
)  # fmt: skip
def test_separators_decimals_and_blank_names(text, frame, notes, folder):
    (folder / "t.csv").write_text(text)
    for rows in (None, 1):
        tables = Tables([Path("t.csv")])
        found = tables.frame() if rows is None else pl.concat(tables.blocks(rows))
        assert tables.notes == notes
        if frame is None:
            assert found.dtypes == [pl.Datetime("us")]
        else:
            assert found.to_dict(as_series=False) == frame


def test_options_decide_where_the_text_does_not(folder, capsys):
    (folder / "t.csv").write_text("a;b\n1.234;1\n2.345;2\n")
    assert Tables([Path("t.csv")]).frame()["a"].to_list() == [1.234, 2.345]
    comma = TextReading(decimal=",")
    assert Tables([Path("t.csv")], comma).frame()["a"].to_list() == [1234.0, 2345.0]
    assert Tables([Path("t.csv")], TextReading(usual=",")).frame()["a"].to_list() == [
        1234.0,
        2345.0,
    ]
    assert read_table("t.csv", separator=",").columns == ["a;b"]
    for option, message in (("--sep=;;", "give one character"), ("--decimal=x", "decimal")):
        code, said = printed(capsys, "check", "absent.csv", option)
        assert code in (2, 3)
        assert message in said
    assert printed(capsys, "check", "t.csv", "--sep", "semicolon", "--decimal", ",")[0] == 0


def test_a_nul_is_no_matter_of_encoding(folder):
    (folder / "t.csv").write_bytes(b"a,b\n1,\0\n")
    with pytest.raises(
        TableError, match=r"NUL character in row 2: this is not a text table\. Take"
    ):
        read_table("t.csv")


def test_rows_above_the_header_of_a_sheet_are_left_out_and_said(folder):
    pytest.importorskip("fastexcel")
    rows = [["Sales of March"], [], ["name", "size"], ["a", 1.5], ["b", 2.5], ["c", 3.5]]
    (folder / "t.xlsx").write_bytes(workbook(rows))
    tables = Tables([Path("t.xlsx")])
    assert tables.frame().rows() == [("a", 1.5), ("b", 2.5), ("c", 3.5)]
    assert "The table begins below the first" in tables.notes[0]


@pytest.mark.parametrize(
    ("foot", "said"),
    [([["Total", 7.5, 6]], "The last row adds up the others"),
     ([["Total", 7.5, None]], "The last row is no part of the table and left out: Total, 7.5"),
     ([[], ["Source: a survey", None, None]], "left out: Source: a survey"),
     ([["Grand total", None, 99], ["* estimated", None, None]], "The last 2 rows are")],
)  # fmt: skip
def test_totals_and_notes_below_a_sheet_are_left_out_and_said(foot, said, folder):
    pytest.importorskip("fastexcel")
    rows = [["Sales"], ["name", "size", "sold"], ["a", 1.5, 1], ["b", 2.5, 2], ["c", 3.5, 3]]
    (folder / "t.xlsx").write_bytes(workbook([*rows, *foot]))
    tables = Tables([Path("t.xlsx")])
    assert tables.frame().rows() == [("a", 1.5, 1), ("b", 2.5, 2), ("c", 3.5, 3)]
    assert any(said in note for note in tables.notes)


@pytest.mark.parametrize("title", [[], [["Sales of March", None, None, None, None], []]])
def test_headings_in_two_rows_of_a_sheet_are_joined(title, folder):
    pytest.importorskip("fastexcel")
    heads = [["id", "north", None, "south", None], [None, "sold", "price", "sold", "price"]]
    rows = [["a", 1, 1.5, 2, 2.5], ["b", 2, 3.5, 3, 4.5], ["c", 3, 5.5, 4, 6.5]]
    n = len(title)
    merged = [f"A{n + 1}:A{n + 2}", f"B{n + 1}:C{n + 1}", f"D{n + 1}:E{n + 1}"]
    merged += ["A1:E1"] * bool(title)
    (folder / "t.xlsx").write_bytes(workbook([*title, *heads, *rows], merged=merged))
    tables = Tables([Path("t.xlsx")])
    frame = tables.frame()
    names = ["id", "north / sold", "north / price", "south / sold", "south / price"]
    assert (frame.columns, frame.rows()) == (names, [tuple(row) for row in rows])
    assert any("The headings stand in two rows, which are joined: id, north" in n
               for n in tables.notes)  # fmt: skip
    assert any("Sales of March" in note for note in tables.notes) == bool(title)


def test_a_title_over_a_sheet_is_no_heading(folder):
    pytest.importorskip("fastexcel")
    rows = [["Sales", None, "of March", None], ["name", "size", "sold", "left"]]
    rows += [[f"n{i}", i + 0.5, i, 2 * i + 1] for i in range(5)]
    (folder / "t.xlsx").write_bytes(workbook(rows[1:], merged=["A3:B3"]))
    assert Tables([Path("t.xlsx")]).frame().columns == ["name", "size", "sold", "left"]


def test_rows_of_a_sheet_that_are_no_total_stay(folder):
    pytest.importorskip("fastexcel")
    rows = [["name", "size", "sold"], ["a", 1.5, 1], ["b", 2.5, 2], ["sum", 3.5, 3], ["c", 1, None]]
    (folder / "t.xlsx").write_bytes(workbook(rows))
    assert Tables([Path("t.xlsx")]).frame().height == 4


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.jsonl"])
def test_objects_in_cells_are_unfolded_in_every_format(name, folder):
    cells = [{"age": 30, "home": {"city": "Rome"}}, None, {"age": 41, "home": None}]
    frame = pl.DataFrame({"user": cells, "y": [1, 2, 3]})
    getattr(frame, {"parquet": "write_parquet", "arrow": "write_ipc", "jsonl": "write_ndjson"}[
        name.partition(".")[2]])(name)  # fmt: skip
    tables = Tables([Path(name)])
    assert tables.frame().columns == ["user.age", "user.home.city", "y"]
    assert tables.frame().rows() == [(30, "Rome", 1), (None, None, 2), (41, None, 3)]


# --- workbooks of strangers ----------------------------------------------------------------------

SHEET = "xl/worksheets/1.xml"
THREE = [["n", "t"], [1, "a"], [2, "b"], [3, "a"]]


def other(name, change, rows=THREE):
    """A workbook in which one member is another; None leaves it out."""
    content = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook(rows))) as given,
        zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for member in given.namelist():
            text = given.read(member)
            text = change(text) if member == name else text
            if text is not None:
                archive.writestr(member, text)
    return content.getvalue()


def further(row):
    """A sheet with more rows behind the others."""
    return lambda text: text.replace(b"</sheetData>", row + b"</sheetData>")


def hollow():
    """A workbook that says of a part that it has 5 GB."""
    whole = bytearray(workbook(THREE))
    at = whole.index(b"PK\1\2")
    whole[at + 24 : at + 28] = (0xFFFFFFF0).to_bytes(4, "little")
    return bytes(whole)


CLOSED = b"</sheets></workbook>"
ENTITY = b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"
REFUSED_BOOKS = {
    "no zip": (b"n,t\n1,a\n", "Cannot detect file format"),
    "empty": (b"", "is empty"),
    "cut": (workbook(THREE)[:500], "Cannot detect file format"),
    "encrypted": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(3000), "Cannot detect file format"),
    "no sheets": (
        other("xl/workbook.xml", lambda t: t[: t.index(b"<sheet ")] + CLOSED), "no sheets"
    ),
    "no cells": (workbook([]), "is empty"),
    "no rows": (workbook(THREE[:1]), "has no rows"),
    "no sheet": (other(SHEET, lambda text: None), "not found"),
    "half a sheet": (other(SHEET, lambda text: text[:200]), "Xml error"),
    "entities": (other(SHEET, lambda t: ENTITY + t.replace(b">b<", b">&e;<")), "unrecognized"),
    "far": (other(SHEET, further(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')),
            "reach row 1,048,576 and column 16,384"),
    "far, without places": (
        other(SHEET, further(b'<row r="1048576"><c r=\'A1048576\'/>' + b"<c/>" * 5000 + b"</row>")),
        "reach row 1,048,576 and column 5,0"),
    "beyond": (other(SHEET, further(b'<row r="9"><c r="ZZZZZZZ4294967295"><v>1</v></c></row>')),
               "too large"),
    "below 1": (other(SHEET, further(b'<row r="-2"><c r="A-2"><v>1</v></c></row>')), "Xlsx error"),
    "hollow": (hollow(), "bytes in"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_BOOKS)
def test_workbooks_that_are_refused(name, folder, capsys):
    """With a message that names the file, and before a small file takes much memory."""
    content, message = REFUSED_BOOKS[name]
    (folder / "t.xlsx").write_bytes(content)
    code, said = printed(capsys, "check", "t.xlsx")
    assert code == 3
    assert said.startswith("mercer: t.xlsx")
    assert message in said


LINK = b'<Relationship Id="x" Type="%s" Target="http://127.0.0.1:9/x.xlsx" TargetMode="External"/>'
MERGED = b'<mergeCell ref="A2:A%d"/>' % 10**30
TAKEN_BOOKS = {
    "a million rows declared": other(
        SHEET, lambda t: t.replace(b"<sheetData>", b'<dimension ref="A1:XFD1048576"/><sheetData>')
    ),
    "a formula": other(SHEET, lambda t: t.replace(b"<v>2</v>", b"<f>WEBSERVICE(A1)</f><v>2</v>")),
    "a link to another": other(
        "xl/_rels/workbook.xml.rels",
        lambda t: t.replace(b"</Rel", LINK % b"http://schemas.openxmlformats.org/x" + b"</Rel"),
    ),
    "rows and columns far away": other(SHEET, further(b'<row r="9000"><c r="CZ9000"/></row>')),
    "merged beyond all numbers": other(
        SHEET,
        lambda t: t.replace(b"</work", b'<mergeCells>%s</mergeCells></work' % MERGED),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN_BOOKS)
def test_workbooks_that_are_read_as_they_are(name, folder):
    (folder / "t.xlsx").write_bytes(TAKEN_BOOKS[name])
    frame = read_table("t.xlsx")
    assert frame["n"].to_list() == [1, 2, 3]
    assert frame["t"].to_list() == ["a", "b", "a"]


def test_dates_that_no_calendar_has(folder):
    """Numbers in the format of dates, beyond the year 9999 and before 1900."""
    style = (
        b'<styleSheet xmlns="x"><cellXfs count="2"><xf/><xf numFmtId="14"/></cellXfs></styleSheet>'
    )
    for number in (b"1e18", b"-99999999", b"NaN", b"2958466"):
        content = other(
            SHEET, lambda t, v=number: t.replace(b"<c><v>2</v>", b'<c s="1"><v>' + v + b"</v>")
        )
        with zipfile.ZipFile(again := io.BytesIO(content), "a") as archive:
            archive.writestr("xl/styles.xml", style)
        (folder / "t.xlsx").write_bytes(again.getvalue())
        frame = read_table("t.xlsx")
        assert frame.height == 3
        assert frame["t"].to_list() == ["a", "b", "a"]
