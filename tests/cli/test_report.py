"""``mercer report`` and ``--no-rows``: a saved model on new rows, and a page without values."""

import html
import json
import re
import shutil

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command
from mercer.machines.holdout import hold_out

N = 120
RANDOM = np.random.default_rng(0)
SIZE = RANDOM.normal(size=N).round(6)
TABLE = pl.DataFrame({
    "size": SIZE, "place": RANDOM.choice(["inland", "seaside"], N),
    "y": np.where(SIZE + 0.3 * RANDOM.normal(size=N) > 0, "yes", "no"),
})  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table, its model and the report, which are made once for all tests."""
    folder = tmp_path_factory.mktemp("fitted")
    TABLE.write_csv(folder / "t.csv")
    fit(folder / "t.csv", "-o", folder / "model.mercer")
    return folder


@pytest.fixture
def folder(folder, files):
    shutil.copytree(files, folder, dirs_exist_ok=True)
    TABLE[:40].with_columns(y=pl.when(pl.col("size") > 1).then(None).otherwise("y")).write_csv(
        "new.csv"
    )
    return folder


def fit(table, *options):
    assert command("fit", table, "--target", "y", "--trials", "1", "--quiet", *options) == 0


def embedded(path):
    text = path.read_text("utf-8")
    return text, json.loads(re.search(r'id="mercer-report">(.*)</script>', text)[1])


@pytest.mark.full
def test_a_saved_model_is_scored_on_the_rows_that_have_a_target(folder, capsys):
    assert command("report", "model.mercer", "new.csv", "--target", "y") == 0
    out = capsys.readouterr().out
    new = pl.read_csv("new.csv").drop_nulls("y")
    accuracy = mercer.load("model.mercer").score(new.drop("y"), new["y"].to_numpy())
    text, numbers = embedded(folder / "report.html")
    assert numbers["score"]["value"] == accuracy
    assert numbers["dropped_rows"] == 40 - new.height
    assert f"{100 * accuracy:.1f}%" in out
    assert "Predicting y" in text
    assert command("report", "model.mercer", "new.csv", "--target", "y") == 4  # it is there


def test_a_model_knows_the_column_that_it_predicts(folder, capsys):
    assert command("report", "model.mercer", "new.csv") == 0
    assert "Predicting y" in embedded(folder / "report.html")[0]
    mercer.save(mercer.KernelClassifier(trials=1).fit(TABLE.drop("y"), TABLE["y"]), "own.mercer")
    assert command("report", "own.mercer", "new.csv", "-o", "own.html") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--target is missing, and the model does not know the name" in said


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [(("new.csv", "--target", "x"), 3, "--target x"),
     (("other.csv", "--target", "y"), 3, "holds 'maybe' there, which the model never predicts"),
     (("less.csv", "--target", "y"), 3, "less.csv: the column "),
     (("new.csv", "--target", "y", "-o", "r.pdf"), 2, "must end in .html")],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused(arguments, code, message, folder, capsys):
    TABLE.with_columns(y=pl.lit("maybe")).write_csv("other.csv")
    TABLE.drop("size").write_csv("less.csv")
    assert command("report", "model.mercer", *arguments) == code
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (folder / "report.html").exists()


def test_rows_in_the_report_are_those_of_the_table(folder):
    _, numbers = embedded(folder / "model.html")
    _, held = hold_out(N, TABLE["y"].to_numpy(), "classification", seed=0)
    assert numbers["worst"]
    for row in numbers["worst"]:
        assert row["row"] in held
        assert row["truth"] == TABLE["y"][row["row"]]


def test_no_rows_keeps_values_out_of_the_report(folder):
    assert "seaside" in (folder / "model.html").read_text("utf-8")
    fit("t.csv", "--no-rows", "--force")
    text, numbers = embedded(folder / "model.html")
    assert "seaside" not in text
    assert not [cell for cell in map(str, SIZE.tolist()) if cell in text]
    assert numbers["worst"][0]["cells"] == []
    assert numbers["embedding"] is None


@pytest.mark.full
def test_a_report_predicts_if_it_is_asked_to(folder, capsys):
    fit("t.csv", "--no-rows", "--force")
    assert "<script>" not in (folder / "model.html").read_text("utf-8")
    capsys.readouterr()
    given = ("fit", "t.csv", "--target", "y", "--trials", "1", "--force", "--what-if")
    assert command(*given) == 0
    text, numbers = embedded(folder / "model.html")
    said = " ".join(capsys.readouterr().out.split())
    assert numbers["what_if"]["predicts"]
    assert "The report predicts by itself. It holds training rows" in said
    assert 'id="live-form"' in text
    assert command(*given, "--no-rows") == 2
    assert "--no-rows keeps out" in " ".join(capsys.readouterr().err.split())


def test_rows_of_the_training_table_are_told(folder, capsys):
    capsys.readouterr()
    assert command("report", "model.mercer", "new.csv", "-o", "a.html") == 0
    out = " ".join(capsys.readouterr().out.split())
    rows = pl.read_csv("new.csv").drop_nulls("y").height
    assert f"{rows} of {rows} rows were in the training table" in out
    assert "Lost without a column, in percentage points of" in out
    TABLE.with_columns(size=pl.col("size") + 0.01).write_csv("other.csv")
    assert command("report", "model.mercer", "other.csv", "-o", "b.html", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["rows_in_training"] == 0
    assert facts["relevance"]["columns"][0] == "size"


@pytest.mark.spread(1)
@pytest.mark.parametrize(
    ("train", "new", "write"),
    [("t.tsv", "NEW.tsv", lambda table, path: table.write_csv(path, separator="\t")),
     ("t.parquet", "NEW.parquet", pl.DataFrame.write_parquet),
     ("t.jsonl", "NEW.jsonl", pl.DataFrame.write_ndjson)],
)  # fmt: skip
def test_what_to_do_next_is_the_same_on_the_screen_and_in_the_report(
    train, new, write, folder, capsys
):
    write(TABLE, train)
    assert command("fit", train, "--target", "y", "--trials", "1", "--force") == 0
    (shown,) = re.findall(r"Next: +(mercer predict .*?\.csv)\n", capsys.readouterr().out)
    assert shown == f"mercer predict model.mercer {new} -o predictions.csv"
    text = embedded(folder / "model.html")[0]
    first, _, code = map(html.unescape, re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)[-4:-1])
    assert first == shown
    write(TABLE.drop("y"), new)
    names = {}
    exec(code, names)
    assert names["new"].columns == ["size", "place"]
    assert command("report", "model.mercer", train, "-o", "again.html") == 0
    assert shown in html.unescape(embedded(folder / "again.html")[0])


def test_new_rows_write_their_classes_as_training_did(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    size = np.random.default_rng(0).normal(size=40)
    table = pl.DataFrame({"size": size, "ok": np.where(size > 0, "Yes", "no")})
    table.write_csv("own.csv")
    assert (
        command("fit", "own.csv", "--target", "ok", "--trials", 1, "--quiet", "-o", "own.mercer")
        == 0
    )
    table.with_columns(pl.col("ok").str.to_uppercase()).write_csv("new.csv")
    assert command("report", "own.mercer", "new.csv", "-o", "own-report.html") == 0
    assert "never had" not in capsys.readouterr().out
