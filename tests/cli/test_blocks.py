"""Predictions in blocks of rows are those of the whole table, whatever the blocks hold."""

import gzip

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command

N = 60
RANDOM = np.random.default_rng(0)
SIZE = RANDOM.normal(size=N).round(3)
TABLE = pl.DataFrame(
    {
        "size": SIZE,
        "code": [["1", "2", "3a"][i % 3] for i in range(N)],
        "rate": [f"{i},5%" if i % 2 else f"{i}%" for i in range(N)],
        "note": [f'a "word"\nand {i} more' for i in range(N)],
        "y": np.where(SIZE > 0, "yes", "no"),
    }
)
#: blocks of a few rows have only whole numbers here, only codes that are numbers, or only texts
NEW = TABLE.drop("y").with_columns(
    code=pl.Series(["1"] * 30 + ["3a"] * 30),
    size=pl.Series(["7"] * 20 + ["garbled"] * 20 + ["0.5"] * 20),
)


@pytest.fixture(scope="module")
def model():
    model = mercer.KernelClassifier(trials=1, kind={"note": "category"})
    return model.fit(TABLE.drop("y"), TABLE["y"].to_numpy())


@pytest.fixture
def folder(folder, model):
    mercer.save(model, "model.mercer")
    NEW.write_csv("new.csv")
    NEW.write_parquet("new.parquet")
    NEW.write_ipc("new.arrow")
    NEW.write_ndjson("new.jsonl")
    (folder / "new.csv.gz").write_bytes(gzip.compress((folder / "new.csv").read_bytes()))
    return folder


def predicted(capsys, table, output, *options):
    """The file that is written, and what is said."""
    code = command("predict", "model.mercer", table, "-o", output, "--force", *options)
    said = capsys.readouterr()
    assert code == 0, said.err
    read = pl.read_parquet if output.endswith("parquet") else pl.read_csv
    return read(output), said.out


@pytest.mark.spread(1)
@pytest.mark.parametrize("name", ["new.csv", "new.csv.gz", "new.parquet", "new.arrow", "new.jsonl"])
@pytest.mark.parametrize("output", ["p.csv", "p.parquet"])
def test_blocks_predict_what_the_whole_does(name, output, capsys, monkeypatch):
    whole, said = predicted(capsys, name, output, "--keep", "code")
    assert whole.height == N
    # of one row in one case, since they are many
    for rows in (1, 7, 25) if (name, output) == ("new.csv", "p.csv") else (7, 25):
        monkeypatch.setattr("mercer.cli.predict.WHOLE", 0)
        monkeypatch.setattr("mercer.cli.predict.BLOCK", rows)
        blocks, again = predicted(capsys, name, output, "--keep", "code")
        assert blocks["code"].equals(whole["code"])
        assert blocks["prediction"].equals(whole["prediction"])
        np.testing.assert_allclose(blocks["proba_yes"], whole["proba_yes"], rtol=1e-5)  # float32
        assert again == said
    assert "size: 20 of 60 values cannot be read as numbers, such as 'garbled'" in said


def test_a_column_that_no_block_can_read_is_refused(capsys, monkeypatch, folder):
    NEW.with_columns(size=pl.lit("big")).write_csv("new.csv")
    monkeypatch.setattr("mercer.cli.predict.WHOLE", 0)
    monkeypatch.setattr("mercer.cli.predict.BLOCK", 7)
    assert command("predict", "model.mercer", "new.csv", "-o", "p.csv") == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "none of its values is a number now, the first is 'big'" in said
    assert not (folder / "p.csv").exists()


@pytest.mark.spread(1)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_wrong_rows_are_found_in_blocks(end, folder, capsys, monkeypatch):
    monkeypatch.setattr("mercer.cli.predict.WHOLE", 0)
    monkeypatch.setattr("mercer.cli.predict.BLOCK", 2)
    for text, message in (
        ("a,b~1,2~3,4~5~", "row 4 has 1 fields"),
        ('a,b~1,2~3,4~"5,6~', "row 4: a quote is opened and never closed"),
        ("a,b~1,2~3,4~5,\0~", "NUL character in row 4"),
        ("a,b~1,2~3,4~5,\udcff~", "byte 0xff in row 4"),
        ("size,colour,code,x~" + "1,a,1,2~" * 8 + "inf,a,1,2~", "row 9 below the header"),
    ):
        (folder / "new.csv").write_bytes(text.replace("~", end).encode(errors="surrogateescape"))
        assert command("predict", "model.mercer", "new.csv", "-o", "p.csv") == 3
        assert message in " ".join(capsys.readouterr().err.split())
