"""Texts with a header, .ts and .arff: what it says, the rows, and faults told by their line."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import printed

from mercer.cli.tables import Tables, read_table
from mercer.cli.terminal import TableError

HEAD = (
    "# a comment\n@problemName waves\n@timeStamps false\n@univariate true\n@classLabel true a b\n"
)
TWO = f"{HEAD}@data\n1,2,3.5:a\n\n-1e2,4:b\n"


def table(tmp_path, text, name="waves.ts"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(tmp_path / name)


def test_rows_of_different_lengths_and_classes(tmp_path):
    frame = table(tmp_path, TWO)
    assert frame.columns == ["series", "class"]
    assert frame["series"].to_list() == [[1.0, 2.0, 3.5], [-100.0, 4.0]]
    assert frame["class"].to_list() == ["a", "b"]


def test_channels_targets_and_no_labels(tmp_path):
    frame = table(tmp_path, "@targetlabel true\n@DATA\n1,2:3,4:0.5\n5:6:1e3\n")
    assert frame.columns == ["channel_0", "channel_1", "target"]
    assert frame["channel_1"].to_list() == [[3.0, 4.0], [6.0]]
    assert frame["target"].to_list() == [0.5, 1000.0]
    frame = table(tmp_path, "@classLabel false\n@data\n1,2\n3\n")
    assert frame.columns == ["series"]


def test_blocks_files_and_kinds(tmp_path):
    (tmp_path / "a.ts").write_text(TWO)
    (tmp_path / "b.ts").write_text(TWO.replace("\n", "\r\n"))
    tables = Tables([tmp_path / "*.ts"])
    blocks = list(tables.blocks(1))
    assert [block.height for block in blocks] == [1, 1, 1, 1]
    assert pl.concat(blocks).equals(Tables([tmp_path / "*.ts"]).frame())
    assert tables.kinds == {"series": "series"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWO.replace("4:b", "x4:b"), r"line 9: 'x4' is no number at point 1 of series"),
        (TWO.replace("-1e2,4:b", "?,4:b"), "line 9: a value is missing at point 0"),
        (TWO.replace("-1e2,4:b", "NaN,4:b"), "line 9: point 0 of series is nan: fill the gap"),
        (TWO.replace("-1e2,4:b", "1,1e999:b"), "line 9: point 1 of series is inf"),
        (TWO.replace("-1e2,4:b", ":b"), "line 9: a value is missing at point 0"),
        (TWO.replace("-1e2,4:b", "1,2:"), "line 9: it ends without a class"),
        (TWO.replace("-1e2,4:b", "1:2:b"), "line 9: it has 2 channels, and the first row has 1"),
        (TWO.replace("-1e2,4:b", "1,2"), "line 9: it has 0 channels"),
        ("@targetLabel true\n@data\n1,2:x\n", "line 3: its target is 'x', which is not a number"),
        ("@data\n1,2:3\n", "line 2: its channels have different lengths: 2, 1"),
        ("@timestamps true\n@data\n(0,1)\n", "line 1: the points have times, which are not read"),
        ("@colour true\n@data\n1\n", "line 1: '@colour' is no word of a .ts file"),
        ("1,2,3\n", "line 1: it stands before the line @data"),
        (HEAD, "has no line @data"),
        (f"{HEAD}@data\n", "has no rows"),
        (b"@data\n\xff\xfe\n", "is not utf-8"),
    ],
)
def test_faults_are_told_by_their_line(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        table(tmp_path, text)


def test_the_ending_is_named_where_a_format_is_unknown(tmp_path):
    with pytest.raises(TableError, match=r"series \(\.ts\)"):
        table(tmp_path, TWO, "waves.abc")


@pytest.mark.full
def test_a_file_is_fitted_and_predicted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    fast = np.arange(60) % 2
    rows = [
        ",".join(map(str, np.sin(np.arange(30) * (1.5 if f else 0.5)) + rng.normal(size=30) / 10))
        for f in fast
    ]
    said = "".join(f"{row}:{name}\n" for row, name in zip(rows, np.array(["slow", "fast"])[fast]))
    (tmp_path / "waves.ts").write_text(f"@classLabel true slow fast\n@data\n{said}")
    code, said = printed(capsys, "fit", "waves.ts", "--trials", "3")  # the file tells its target
    assert code == 0, said
    assert "series" in said
    assert "besides class" in said
    model = next(tmp_path.glob("*.mercer")).name
    code, said = printed(capsys, "predict", model, "waves.ts", "-o", "said.csv")
    assert code == 0, said
    answers = pl.read_csv("said.csv")
    wanted = np.array(["slow", "fast"])[fast]
    texts = [c for c in answers.iter_columns() if c.dtype == pl.String]
    assert max((column.to_numpy() == wanted).mean() for column in texts) > 0.9


ARFF = """% made by hand
@RELATION weather

@attribute outlook {sunny, 'very rainy'}
@attribute 'warm th' numeric
@ATTRIBUTE day date "dd.MM.yyyy HH:mm"
@attribute note string
@attribute class {1, 2, 3}
@data
sunny, 6.72, "29.02.2024 12:30", 'it\\'s fine, really', 1
% between
'very rainy',?,?,?,3
"""
SPARSE = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute c real\n@data\n"
SPARSE += "{0 2.5, 1 y}\n{ }\n{2 ?}\n"


def test_arff_has_its_types(tmp_path):
    frame = table(tmp_path, ARFF, "weather.arff")
    assert frame.columns == ["outlook", "warm th", "day", "note", "class"]
    assert frame["outlook"].to_list() == ["sunny", "very rainy"]
    assert frame["warm th"].to_list() == [6.72, None]
    assert frame["day"].to_list() == [datetime(2024, 2, 29, 12, 30), None]
    assert frame["note"].to_list() == ["it's fine, really", None]
    tables = Tables([tmp_path / "weather.arff"])
    assert pl.concat(tables.blocks(1)).equals(frame)
    assert tables.kinds == {"class": "category"}


def test_sparse_arff_has_zeros_and_first_levels(tmp_path):
    frame = table(tmp_path, SPARSE, "t.arff")
    assert frame.rows() == [(2.5, "y", 0), (0, "x", 0), (0, "x", None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ARFF.replace("6.72", "warm"), "line 10: 'warm' is no number, as warm th has"),
        (ARFF.replace("sunny, 6", "snow, 6"), "line 10: 'snow' is none of the levels of outlook"),
        (ARFF.replace(",?,?,?,", ",?,?,"), "line 12: it has 4 values, and there are 5 attributes"),
        (ARFF.replace("note string", "note relational"), "line 7: 'note' is of the type 'relat"),
        (ARFF.replace("note string", "class string"), "line 8: 'class' is there twice"),
        (ARFF.replace("note string", "note"), "line 7: an attribute has a name and a type"),
        (ARFF.replace("@data", ""), "line 10: it stands before the line @data"),
        (SPARSE.replace("{2 ?}", "{3 1}"), "line 8: '3' is the place of no attribute"),
        ("@relation r\n@attribute a numeric\n@data\n", "has no rows"),
    ],
)
def test_faults_of_arff_are_told_by_their_line(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        table(tmp_path, text, "t.arff")
