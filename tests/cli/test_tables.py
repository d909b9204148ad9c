"""Table files as they come: formats, compressions, and everything that can be wrong with them."""

import bz2
import gzip
import lzma
import zipfile

import polars as pl
import pytest

from mercer.cli.tables import TableError, read_table

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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", r"header \(2 columns\) but no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", r"row 3 has 3 fields, the header has 2"),
        ("t.csv", b"a,b\n1\n", r"row 2 has 1 fields"),
        ("t.csv", b"a,a\n1,2\n", r"names the column 'a' more than once"),
        ("t.csv", "a\nü\n".encode("latin-1"), r"byte 0xfc in row 2.*--encoding latin-1"),
        ("t.csv", b"a\n\0\n", r"NUL character in row 2"),
        ("t.xlsx", b"PK", r"\.xlsx.*give CSV"),
        ("t", b"a", "give CSV"),
        ("t.parquet", b"no", "not a readable Parquet"),
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
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path / "folder.csv")
    (tmp_path / "t.csv").write_bytes("a\nü\n".encode("latin-1"))
    assert read_table(tmp_path / "t.csv", encoding="latin-1")["a"].to_list() == ["ü"]
    with pytest.raises(TableError, match="not known"):
        read_table(tmp_path / "t.csv", encoding="klingon")
