"""FASTA and FASTQ as tables, and several of them as classes."""

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import printed

from mercer.cli.tables import Tables, read_table
from mercer.cli.terminal import TableError

FASTA = ">one  a promoter\nGATTACA\nga tt\n\n; said by nobody\n>two\nMKV*\n>three\n"
FASTQ = "@one first\nGATn\n+one\n>@+I\n@two\nAC\n+\n@@\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_records_are_rows_with_capital_letters():
    Path("t.fa").write_text(FASTA)
    assert read_table("t.fa").to_dict(as_series=False) == {
        "id": ["one", "two", "three"],
        "description": ["a promoter", None, None],
        "sequence": ["GATTACAGATT", "MKV*", None],
    }
    tables = Tables([Path("t.fa")])
    tables.frame()
    assert tables.notes == ["Small letters are read as capital ones."]
    assert tables.kinds == {"id": "identifier", "sequence": "sequence"}
    assert pl.concat(Tables([Path("t.fa")]).blocks(1)).equals(read_table("t.fa"))


@pytest.mark.parametrize("name", ["t.fq", "t.fastq.gz"])
def test_qualities_are_not_read(name):
    content = FASTQ.encode()
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    read = read_table(name)
    assert read["sequence"].to_list() == ["GATN", "AC"]
    assert read["description"].to_list() == ["first", None]


def test_a_quality_may_begin_with_a_semicolon():
    """``;`` is the quality 26 there, and no remark."""
    Path("t.fq").write_text("; a remark\n@one\nGATT\n+\n;III\n@two\nAC\n+\n;;\n")
    assert read_table("t.fq")["sequence"].to_list() == ["GATT", "AC"]


@pytest.mark.parametrize("end", ["", "\n", "\n\n@three\nAC\n+\nII\n\n"])
def test_reads_without_letters_are_records_of_four_lines(end):
    """Programs that trim reads write them; blank lines between records are no part of any."""
    Path("t.fq").write_text("\n@one\nGATT\n+\nIIII\n\n@two\n\n+\n" + end)
    expected = ["GATT", None, "AC"] if "three" in end else ["GATT", None]
    assert read_table("t.fq")["sequence"].to_list() == expected


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.fa", "GATTACA\n", r"line 1: it is 'GATTACA', but a record begins with > \(FASTA\)"),
        ("t.fa", ">one\nGA\nGA!TA\n", r"line 3: it is 'GA!TA', but a sequence has letters"),
        ("t.fq", "@one\nGATT\n+\nIII\n", "line 1: it is '@one', but a record of FASTQ is"),
        ("t.fq", "@one\nGATT\n", "line 1: it is '@one', but a record of FASTQ is"),
        ("t.fq", "@one\nGA\n+\nII\nGATT\n+\nIIII\n", "line 5: it is 'GATT', but a record of FASTQ"),
        ("t.fa", "; a remark\n", "no rows"),
    ],
)
def test_what_is_no_record_is_refused_with_its_line(name, text, said):
    Path(name).write_text(text)
    with pytest.raises(TableError, match=said):
        read_table(name)


def test_each_of_several_files_is_a_class(capsys):
    rng = np.random.default_rng(0)
    for name, motif in (("bound.fa", "TTGACATA"), ("free.fa", "")):
        letters = ["".join(rng.choice(list("ACGT"), 40)) for _ in range(40)]
        records = [f">r{i}\n{text[:9]}{motif}{text[9:]}\n" for i, text in enumerate(letters)]
        Path(name).write_text("".join(records))
    tables = Tables([Path("bound.fa"), Path("free.fa")])
    assert tables.frame()["class"].to_list() == ["bound"] * 40 + ["free"] * 40
    assert tables.target == "class"
    code, said = printed(capsys, "fit", "bound.fa", "free.fa", "--trials", 4, "-o", "m.mercer")
    assert code == 0, said
    assert "Each file of sequences is a class" in said
    code, said = printed(capsys, "predict", "m.mercer", "bound.fa", "-o", "said.csv")
    assert code == 0, said
    assert (pl.read_csv("said.csv")["prediction"] == "bound").mean() > 0.8


def test_files_of_one_name_are_the_classes_of_their_folders():
    for folder in ("near", "far"):
        Path(folder).mkdir()
        Path(folder, "x.fa").write_text(">a\nGATTACA\n>b\nGATTA\n")
    frame = Tables([Path("near/x.fa"), Path("far/x.fa")]).frame()
    assert frame["class"].to_list() == ["near", "near", "far", "far"]
