"""What ``mercer predict`` writes: what the model says, or a form that no spreadsheet runs."""

import shutil
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


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table of classes and one of numbers, and the model of each, fitted once for all tests."""
    folder = tmp_path_factory.mktemp("fitted")
    TABLE.write_parquet(folder / "t.parquet")
    a, noise = np.random.default_rng(0).normal(size=(2, 80))
    pl.DataFrame({"a": a, "y": np.exp(a + 0.3 * noise)}).write_csv(folder / "n.csv")
    for table, model in (("t.parquet", "model.mercer"), ("n.csv", "numbers.mercer")):
        dropped = ("--drop", "=name") * (table == "t.parquet")
        fit = ("fit", folder / table, "--target", "y", "--trials", "1", "--quiet", *dropped)
        assert command(*fit, "-o", folder / model) == 0
    return folder


@pytest.fixture
def folder(folder, files):
    for name in ("t.parquet", "model.mercer"):
        shutil.copy(files / name, folder)
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


def test_explanations_by_columns_add_up(capsys):
    found, model = predict("p.csv", "--explain", "columns"), mercer.load("model.mercer")
    values = model.shapley_values(TABLE)
    assert found.columns[-len(values.feature_names) - 1 :] == [
        "base", *(f"adds_{name}" for name in values.feature_names),
    ]  # fmt: skip
    said = capsys.readouterr().out
    assert "adds_NAME is what the column NAME adds to the log-odds of the predicted class" in said
    P = found.select(f"proba_{c}" for c in model.classes_).to_numpy()
    logs = np.log(P)
    odds = logs - logs.mean(axis=1, keepdims=True)
    if len(model.classes_) == 2:
        odds = np.column_stack([logs[:, 0] - logs[:, 1], logs[:, 1] - logs[:, 0]])
    code = np.searchsorted(model.classes_, found["prediction"].to_numpy())
    total = found.select("base", *(c for c in found.columns if c[:5] == "adds_")).to_numpy()
    assert np.allclose(total.sum(axis=1), odds[np.arange(N), code], atol=1e-3)
    rows = predict("p.csv", "--explain", "rows")
    assert rows.equals(predict("p.csv", "--explain"))
    assert command("predict", "model.mercer", "t.parquet", "-o", "p.csv", "--explain=cells") == 2


def test_what_cannot_be_explained_is_said(capsys):
    X, y = TABLE.select("size").to_numpy(), TABLE["size"].to_numpy()
    mercer.save(mercer.KernelRidge(kernel="rbf").fit(X, y), "ridge.mercer")
    code = command("predict", "ridge.mercer", "t.parquet", "-o", "p.csv", "--explain")
    assert code == 3
    assert "--explain: 'ridge.mercer' holds a KernelRidge" in capsys.readouterr().err


@pytest.fixture
def numbers(folder, files):
    """A model of numbers, beside the one of classes."""
    for name in ("n.csv", "numbers.mercer"):
        shutil.copy(files / name, folder)
    return pl.read_csv("n.csv")


def test_intervals_and_quantiles_are_those_of_the_model(numbers):
    arguments = ("predict", "numbers.mercer", "n.csv", "-o", "p.parquet")
    assert command(*arguments, "--interval", "0.8", "--quantiles", "0.9, 0.5,.1") == 0
    found, model = pl.read_parquet("p.parquet"), mercer.load("numbers.mercer")
    names = ["prediction_low", "prediction_high", "quantile_0.9", "quantile_0.5", "quantile_0.1"]
    assert found.columns == ["prediction", *names]
    wanted = model.predict_quantiles(numbers, (0.1, 0.9, 0.9, 0.5, 0.1))
    np.testing.assert_allclose(found[names].to_numpy(), wanted, rtol=1e-9)
    assert found["prediction_low"].min() >= 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--interval", "90"), "--interval 90: give a number between 0 and 1, such as 0.9"),
        (("--interval", "nan"), "--interval nan: give a number between 0 and 1"),
        (("--quantiles", "0.1,5"), "--quantiles 0.1,5: '5' is no number between 0 and 1"),
        (("--quantiles", "a"), "--quantiles a: 'a' is no number between 0 and 1"),
        (("--quantiles", ""), "--quantiles : '' is no number between 0 and 1"),
    ],
)
def test_wrong_levels_are_refused(options, said, numbers, capsys):
    assert command("predict", "numbers.mercer", "n.csv", "-o", "p.csv", *options) != 0
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_models_without_intervals_are_refused(numbers, capsys):
    assert command("predict", "model.mercer", "t.parquet", "-o", "p.csv", "--interval", "0.9") != 0
    assert "a KernelClassifier, which predicts classes" in capsys.readouterr().err
    x = numbers["a"].to_numpy()[:, None]
    mercer.save(mercer.KernelRidge().fit(x, numbers["y"].to_numpy()), "ridge.mercer")
    assert command("predict", "ridge.mercer", "n.csv", "-o", "p.csv", "--quantiles", "0.5") != 0
    said = "--quantiles: 'ridge.mercer' holds a KernelRidge that does not know how far"
    assert said in capsys.readouterr().err


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
