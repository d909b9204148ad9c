"""Table files as they come: formats, compressions, and everything that can be wrong with them."""

import bz2
import gzip
import io
import lzma
import os
import zipfile

import polars as pl
import pytest

from mercer.cli.tables import read_table
from mercer.cli.terminal import TableError

TEXT = "size,colour\n1.5,red\n,blue\n3,\n"


def test_empty_fields_are_missing_and_nothing_else_is(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,NA\n,None\n")
    frame = read_table(path)
    assert frame["a"].to_list() == [1, None]
    assert frame["b"].to_list() == ["NA", "None"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", TEXT.encode()),
        ("t.CSV", TEXT.encode()),
        ("t.tsv", TEXT.replace(",", "\t").encode()),
        ("t.txt", TEXT.replace(",", ";").encode()),
        ("bom.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("dos.csv", TEXT.replace("\n", "\r\n").encode()),
        ("mac.csv", TEXT.replace("\n", "\r").encode()),
        ("mac.txt", TEXT.replace("\n", "\r").replace(",", ";").encode()),
        ("mixed.csv", b"size,colour\r1.5,red\r\n,blue\n3,\r\n"),
        ("utf-16.csv", TEXT.encode("utf-16")),
        ("utf-16-le.csv", TEXT.encode("utf-16-le")),
        ("utf-16-be.csv", TEXT.encode("utf-16-be")),
        ("utf-32.csv", TEXT.encode("utf-32")),
        ("semicolons.csv", TEXT.replace(",", ";").encode()),
        ("tabs.csv", TEXT.replace(",", "\t").encode()),
        ("bars.csv", TEXT.replace(",", "|").encode()),
        ("commas.tsv", TEXT.encode()),
        ("decimal commas.csv", TEXT.replace(",", ";").replace(".", ",").encode()),
        ("t.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("t.csv.bz2", bz2.compress(TEXT.encode())),
        ("t.csv.xz", lzma.compress(TEXT.encode())),
    ],
)
def test_text_formats(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    frame = read_table(tmp_path / name)
    assert frame.to_dict(as_series=False) == {
        "size": [1.5, None, 3.0],
        "colour": ["red", "blue", None],
    }


def test_parquet_and_zip(tmp_path):
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").equals(frame)
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.write(tmp_path / "t.parquet", "inner.parquet")
    assert read_table(tmp_path / "t.zip").equals(frame)
    with zipfile.ZipFile(tmp_path / "t.zip", "a") as archive:
        archive.writestr("second.csv", TEXT)
    with pytest.raises(TableError, match=r"holds 2 files.*Unpack"):
        read_table(tmp_path / "t.zip")


def test_a_quoted_line_break_is_not_ragged(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n"one\ntwo",1\nx,2\n')
    assert read_table(tmp_path / "t.csv")["a"].to_list() == ["one\ntwo", "x"]


def parquet():
    content = io.BytesIO()
    pl.DataFrame({"a": [1, 2], "b": ["x", None]}).write_parquet(content)
    return content.getvalue()


def torn(content):
    """The same with another byte in its middle."""
    return content[:20] + bytes([content[20] ^ 255]) + content[21:]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", r"header \(2 columns\) but no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", r"row 3 has 3 fields, the header has 2"),
        ("t.csv", b"a,b\n1\n", r"row 2 has 1 fields"),
        ("t.csv", b"\n<!DOCTYPE html>\n<p>a,b</p>\n", "is a web page, not a table: save"),
        ("t.csv", "a\nü\n".encode("latin-1"), r"byte 0xfc in row 2.*--encoding latin-1"),
        ("t.csv", b"a\n\0\n", r"NUL character in row 2"),
        ("t.ods", b"PK", r"\.ods.*give CSV"),
        ("t", b"a", "give CSV"),
        ("t.csv", b'a,b\n1,2\n"3,4\n5,6\n', "row 3: a quote is opened and never closed"),
        ("t.csv", b'a,b\n"1"2,3\n', "row 2: text follows a closing quote"),
        ("t.csv", b"\n\r\n\r", "is empty"),
        ("t.csv", b"\n1,2\n", "begins with an empty line: delete it"),
        ("t.csv", bytes(range(1, 256)) * 9, "is not utf-8"),
        ("t.parquet", b"no", "not a readable Parquet"),
        ("t.parquet", parquet()[:-9], "not a readable Parquet"),
        ("t.parquet", parquet()[:40], "not a readable Parquet"),
        ("t.csv.gz", gzip.compress(TEXT.encode(), mtime=0)[:-9], "cannot be uncompressed"),
        ("t.csv.gz", torn(gzip.compress(TEXT.encode() * 9, mtime=0)), "cannot be uncompressed"),
        ("t.csv.gz", b"no", "cannot be uncompressed"),
        ("t.zip", b"no", "cannot be uncompressed"),
    ],
)
def test_what_is_wrong_is_said(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / name)


def test_missing_file_folder_and_encodings(tmp_path):
    with pytest.raises(TableError, match="There is no file"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="it is a folder without graphs"):
        read_table(tmp_path / "folder.csv")
    (tmp_path / "t.csv").write_bytes("a\nü\n".encode("latin-1"))
    assert read_table(tmp_path / "t.csv", encoding="latin-1")["a"].to_list() == ["ü"]
    for encoding in ("klingon", "hex", "undefined", "\0"):
        with pytest.raises(TableError, match="not known"):
            read_table(tmp_path / "t.csv", encoding=encoding)
    (tmp_path / "half.csv").write_bytes(b"a\n+2AA-\n")
    with pytest.raises(TableError, match="cannot read"):  # half a character
        read_table(tmp_path / "half.csv", encoding="utf-7")
    for name in ("a" * 300 + ".csv", "t.csv/t.csv", "\0.csv"):
        with pytest.raises(TableError, match=r"cannot be read|no file"):
            read_table(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes on Windows")
def test_a_pipe_that_might_never_end_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(TableError, match="it is a pipe or a device"):
        read_table(tmp_path / "pipe.csv")


def test_many_columns_are_read_together(tmp_path, monkeypatch):
    """Neighbours of a wide table are tested at once: no call grows with the number of columns."""
    kinds = ["7", "1.5", "2024-01-31", "true", "word", "1,5", "007", "2024-01-31 10:00", ""]
    calls = []
    names = pl.DataFrame.columns
    monkeypatch.setattr(
        pl.DataFrame, "columns", property(lambda self: calls.append(1) or names.fget(self))
    )

    def types(repeats: int) -> tuple[list, int]:
        row = ",".join(f'"{cell}"' if "," in cell else cell for cell in kinds * repeats)
        header = ",".join(f"c{j}" for j in range(len(kinds) * repeats))
        (tmp_path / "wide.csv").write_text(f"{header}\n{row}\n{row}\n")
        calls.clear()
        frame = read_table(tmp_path / "wide.csv")
        return frame.dtypes, len(calls)

    (few, asked), (many, asked_of_many) = types(1), types(40)
    assert many == few * 40
    assert {pl.Float64, pl.Date, pl.Boolean, pl.Int64} <= set(few)
    assert asked_of_many == asked
