"""What ``mercer predict`` writes: what the model says, or a form that no spreadsheet runs."""

from importlib import import_module

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command, printed
from mercer.cli.tables import read_table

LIVE = [
    "=cmd|' /C calc'!A0",
    "+a",
    "-b",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "\nx",
    "\N{FULLWIDTH EQUALS SIGN}1",
]
TAME = ["a=b", "x", "'=y", "5-3", " z", 'q"r', "", "-5", "+3.5e-7", "-.5"]
CELLS = LIVE + TAME
N = 4 * len(CELLS)
TABLE = pl.DataFrame(
    {
        "size": [i % 4 + i / N for i in range(N)],
        "=name": [CELLS[i % len(CELLS)] for i in range(N)],
        "y": [LIVE[0] if i % 4 > 1 else '-"new\nclass"' for i in range(N)],
    }
)


@pytest.fixture
def folder(folder):
    TABLE.write_parquet("t.parquet")
    fit = ("fit", "t.parquet", "--target", "y", "--trials", "1", "--quiet", "--drop", "=name")
    assert command(*fit) == 0
    return folder


def predict(output, *options):
    """The written table."""
    arguments = ("predict", "model.mercer", "t.parquet", "-o", output, "--keep", "=name")
    assert command(*arguments, *options, "--force") == 0
    return read_table(output)


@pytest.mark.parametrize("output", ["p.csv", "p.tsv", "p.parquet"])
def test_what_is_written_is_read_back_exactly(output):
    model, found = mercer.load("model.mercer"), predict(output)
    P = model.predict_proba(TABLE)
    assert found.columns == ["=name", "prediction", *(f"proba_{c}" for c in model.classes_)]
    assert found["=name"].to_list() == TABLE["=name"].to_list()
    assert found["prediction"].to_list() == model.predict(TABLE).tolist()
    assert (found.select(found.columns[2:]).to_numpy() == P).all()


@pytest.mark.parametrize("output", ["p.csv", "p.tsv"])
def test_safe_cells_are_no_formulas(output):
    found = predict(output, "--safe-cells")
    assert found.columns[:2] == ["'=name", "prediction"]
    assert set(found["'=name"]) == {f"'{cell}" for cell in LIVE} | set(TAME)
    assert set(found["prediction"]) == {f"'{label}" for label in TABLE["y"].unique()}
    assert found.select(found.columns[2:]).equals(predict(output).select(found.columns[2:]))


def test_what_a_file_cannot_hold_is_refused_before_the_work(folder, capsys, monkeypatch):
    table = TABLE.with_columns(prediction=pl.lit(1), bag=pl.Series([["a"]] * N))
    table.write_parquet("new.parquet")
    arguments = ("predict", "model.mercer", "new.parquet", "-o", "p.csv", "--keep")
    assert command(*arguments, "prediction") == 3
    assert (
        "--keep prediction: the predictions have a column of that name" in capsys.readouterr().err
    )
    monkeypatch.setattr("mercer.cli.predict.predictions", None)
    assert command(*arguments, "bag") == 3
    assert "--keep bag: that column holds List(String)" in capsys.readouterr().err
    assert not (folder / "p.csv").exists()
    monkeypatch.undo()


def test_predictions_are_written_before_anything_is_said(folder, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("mercer.cli.predict._show", broken)
    assert command("predict", "model.mercer", "t.parquet", "-o", "p.csv") == 1
    assert read_table("p.csv").height == N
    assert np.isfinite(read_table("p.csv").select(pl.col(pl.Float64)).to_numpy()).all()


def test_explanations_name_rows_of_the_training_table(capsys):
    found = predict("p.csv", "--explain")
    model = mercer.load("model.mercer")
    reasons = model.reasons(TABLE)
    assert found.columns[-4:] == ["because_1", "because_2", "because_3", "not_like_1"]
    first = found["because_1"].str.extract(r"^row (\d+) \([\d.]+%\)$").cast(int).to_numpy() - 1
    assert first.tolist() == reasons.rows[:, 0].tolist()
    assert set(first) <= set(model.stored_rows_)
    # the classes are in the order of the rows, so a reason is a row of the predicted class
    assert np.mean(TABLE["y"].to_numpy()[first] == found["prediction"].to_numpy()) > 0.9
    assert "rows of the training table" in capsys.readouterr().out


def test_what_cannot_be_explained_is_said(capsys):
    X, y = TABLE.select("size").to_numpy(), TABLE["size"].to_numpy()
    mercer.save(mercer.KernelRidge(kernel="rbf").fit(X, y), "ridge.mercer")
    code = command("predict", "ridge.mercer", "t.parquet", "-o", "p.csv", "--explain")
    assert code == 3
    assert "--explain: 'ridge.mercer' holds a KernelRidge" in capsys.readouterr().err


def test_no_classes_of_other_packages_are_trusted(folder, capsys, monkeypatch):
    (folder / "their_kernel.py").write_text(
        "from mercer.kernels import Kernel\n\n\nclass Theirs(Kernel):\n"
        "    def block(self, X, Z):\n        return X @ Z.T\n"
    )
    monkeypatch.syspath_prepend(folder)
    theirs = import_module("their_kernel").Theirs()
    mercer.save(mercer.KernelRidge(kernel=theirs).fit([[1.0], [2.0]], [1.0, 2.0]), "their.mercer")
    (folder / "rows.csv").write_text("x\n1\n2\n")
    code, said = printed(capsys, "predict", "their.mercer", "rows.csv", "-o", "out.csv")
    assert code == 3
    assert "their_kernel.Theirs" in said
    assert not (folder / "out.csv").exists()
