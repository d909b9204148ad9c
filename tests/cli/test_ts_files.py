"""Time series in .ts files: what the header says, the rows, and faults told by their line."""

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import printed

from mercer.cli.errors import TableError
from mercer.cli.tables import Tables, read_table

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
    code, said = printed(capsys, "fit", "waves.ts", "--target", "class", "--trials", "3")
    assert code == 0, said
    assert "series" in said
    model = next(tmp_path.glob("*.mercer")).name
    code, said = printed(capsys, "predict", model, "waves.ts", "-o", "said.csv")
    assert code == 0, said
    answers = pl.read_csv("said.csv")
    wanted = np.array(["slow", "fast"])[fast]
    texts = [c for c in answers.iter_columns() if c.dtype == pl.String]
    assert max((column.to_numpy() == wanted).mean() for column in texts) > 0.9
