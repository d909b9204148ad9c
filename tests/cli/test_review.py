"""``mercer check`` as a review, what ``mercer fit`` says of it, and options refused early."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command, printed
from mercer.cli.fit_options import FitOptions
from mercer.cli.problem import read_problem
from mercer.cli.terminal import Terminal
from mercer.machines.holdout import hold_out

N = 90
RANDOM = np.random.default_rng(0)
SIZE = RANDOM.normal(size=N).round(3)
TABLE = pl.DataFrame(
    {
        "row": np.arange(N),
        "size": SIZE,
        "price": [f"{i},{100 + i}" for i in range(N)],
        "other": [f"{i}.{100 + i}" for i in range(N)],
        "answer": [["Yes", "yes ", "no"][i % 3] for i in range(N)],
        "copy": np.where(SIZE > 0, "J", "N"),
        "y": np.where(SIZE + RANDOM.normal(size=N) / 5 > 0, "yes", "no"),
    }
).with_columns(y=pl.when(pl.col("row") == 7).then(pl.lit("null")).otherwise(pl.col("y")))


@pytest.fixture
def folder(folder):
    TABLE.write_csv("t.csv", separator=";")
    return folder


def options(**given):
    usual = {
        "train": Path("t.csv"), "target": "y", "test": None, "task": None, "metric": None,
        "time": None, "trials": 1, "memory": "1GB", "kind": [], "drop": [], "seed": 0,
        "output": Path("m.mercer"), "force": False, "json": False,
        "quiet": True,
    }  # fmt: skip
    return FitOptions(**{**usual, **given})


def test_the_screen_and_json_say_the_same(capsys):
    TABLE.head(4).write_csv("test.csv")
    check = ("check", "t.csv", "--target", "y", "--test", "test.csv")
    code, said = printed(capsys, *check)
    assert code == 0
    assert command(*check, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    kinds = [finding["kind"] for finding in facts["findings"]]
    assert kinds == ["variants", "shared"]
    for finding in facts["findings"]:
        assert finding["text"] in said
    assert sum(facts["target"]["classes"].values()) == N - 1
    assert facts["rows_without_target"] == 1
    assert facts["columns"][1]["values"] in said
    assert "1 row without a y is left out." in said
    assert f"yes {facts['target']['classes']['yes']} (" in said
    assert command("check", "t.csv", "--target", "size", "--json") == 0
    facts, size = json.loads(capsys.readouterr().out), TABLE["size"]
    assert facts["target"] == {"low": size.min(), "high": size.max(), "median": size.median()}


def test_check_and_fit_agree_on_every_column(capsys):
    """On the whole table, before the split: the counter is one, and commas stay commas."""
    assert command("check", "t.csv", "--target", "y", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    problem = read_problem(options(), Terminal(quiet=True))
    said = [(c["name"], c["kind"], c["reason"]) for c in facts["columns"]]
    assert said == [(c.name, c.kind, c.reason) for c in problem.columns]
    assert said[0][1:] == ("identifier", "counts the rows: integers from 0 that rise")
    train, _ = hold_out(len(problem.y), problem.y, "classification")
    model = mercer.KernelClassifier(trials=1, kind=problem.kinds)
    model.fit(problem.X[train], problem.y[train])
    assert model.columns_ == problem.columns
    mercer.save(model, "m.mercer")
    assert mercer.load("m.mercer").columns_ == problem.columns


def test_decimal_commas_of_training_are_those_of_prediction(capsys):
    european = TABLE.select(
        "y", a=pl.Series([f"{i * 7 % 90},{i:02d}" for i in range(N)]), size=pl.col("row") % 11
    )
    european.write_csv("t.csv", separator=";")
    problem = read_problem(options(), Terminal(quiet=True))
    assert problem.columns[0].decimal == ","
    assert problem.columns[0].high == 89.77
    assert "Numbers have decimal commas: a." in problem.notices
    model = mercer.KernelClassifier(trials=1, kind=problem.kinds).fit(problem.X, problem.y)
    mercer.save(model, "m.mercer")
    new = ["1.234", "2.345"]  # 1234 and 2345, since the training table has decimal commas
    pl.DataFrame({"a": new, "size": [0, 1]}).write_csv("new.csv", separator=";")
    code, said = printed(capsys, "predict", "m.mercer", "new.csv", "-o", "p.csv")
    assert code == 0
    assert "a: 2 of 2 values lie far from the training range 0 to 89.77, such as 1234." in said
    pl.DataFrame({"a": ["1.2", "2.3"], "size": [0, 1]}).write_csv("new.csv", separator=";")
    code, said = printed(capsys, "predict", "m.mercer", "new.csv", "-o", "p.csv", "--force")
    assert "Numbers have decimal points here, and had commas in training." in said
    pl.DataFrame({"a": ["1.2", "2,3"], "size": [0, 1]}).write_csv("new.csv", separator=";")
    code, said = printed(capsys, "predict", "m.mercer", "new.csv", "-o", "p.csv", "--force")
    assert "and had commas in training" not in said


@pytest.mark.parametrize(
    ("labels", "left_out", "classes"),
    [
        (["yes", "no", "None"], 20, ["no", "yes"]),
        (["yes", "no", "null"], 20, ["no", "yes"]),
        (["Mild", "Severe", "None"], 0, ["Mild", "None", "Severe"]),
        (["mild", "severe", "none"], 0, ["mild", "none", "severe"]),
        (["Mild", "Severe", "NaN"], 20, ["Mild", "Severe"]),
    ],
)
def test_no_label_is_no_class(labels, left_out, classes, folder):
    table = pl.DataFrame({"x": np.arange(60) % 17, "y": labels * 20})
    table.write_csv("t.csv")
    problem = read_problem(options(), Terminal(quiet=True))
    assert problem.dropped == left_out
    assert sorted(set(problem.y.tolist())) == classes


@pytest.mark.usefixtures("no_report")
def test_a_fit_shows_leaks_and_the_order_of_time(capsys):
    hours = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 4, 17), "1h", eager=True
    )
    table = TABLE.select("size", "copy", hour=hours, y=np.where(SIZE > 0, "yes", "no"))
    table.write_parquet("t.parquet")
    code, said = printed(
        capsys, "fit", "t.parquet", "--target", "y", "--trials", 1, "--json", "-o", "a.mercer"
    )
    assert code == 0
    for part in ("size reveals the target", "copy reveals the target", "in the order of hour"):
        assert part in said


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--metric", "best"), "--metric best: give one of accuracy, balanced_accuracy"),
        (("--metric", "f1", "--task", "regression"), "metric='f1': for regression give one of r2"),
        (("--kind", "a=colour"), "a='colour'; kinds are number, category"),
        (("--kind", "a"), "--kind a: write column=kind"),
        (("--time", "soon"), "time='soon'"),
        (("--memory", "much"), "memory='much'"),
        (("--seed", "-1"), "--seed -1"),
        (("--seed", "1.5"), "1.5: give a whole number"),
        (("--group", "a", "--time-column", "b"), "are both given"),
        (("--trials", "0"), "trials=0"),
        (("--time", "10s", "--trials", "3"), "--time and --trials are both given"),
        (("--sep", "ab"), "--sep ab: give one character"),
    ],
)
def test_wrong_options_are_refused_before_the_table_is_read(given, message, capsys, monkeypatch):
    monkeypatch.setattr("mercer.cli.problem.Tables", None)
    code, said = printed(capsys, "fit", "t.csv", "--target", "y", *given)
    assert code == 2
    assert message in said


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(capsys, monkeypatch, folder):
    (folder / "locked").mkdir()
    monkeypatch.setattr("mercer.cli.problem.Tables", None)
    monkeypatch.setattr("os.access", lambda path, mode: False)
    code, said = printed(capsys, "fit", "t.csv", "--target", "y", "-o", "locked/m.mercer")
    assert code == 4
    assert "locked: the folder cannot be written to." in said


def test_copies_on_both_sides_of_the_split_are_said(capsys):
    random = np.random.default_rng(0)
    table = pl.DataFrame({"a": random.normal(size=100), "y": random.normal(size=100)})
    few = table.with_columns(a=pl.Series([i % 4 for i in range(100)]))
    doubled = pl.concat([table, table])
    for frame, said in ((doubled, True), (table, False), (pl.concat([few, few]), False)):
        frame.write_csv("t.csv")
        assert command("fit", "t.csv", "--target", "y", "--trials", 1, "--force") == 0
        text = " ".join(capsys.readouterr().out.split())
        assert ("are equal to rows that the model learns from" in text) is said
        page = Path("model.html").read_text("utf-8")
        assert ("are equal to rows that the model learns from" in page) is said


def test_a_check_has_forty_lines_at_most_and_all_of_them_on_request(capsys, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    random, words = np.random.default_rng(0), np.array(["Yes", "yes ", "N/A", "no"])
    table = {}
    for j in range(30):
        table |= {f"number {j}": random.normal(size=40), f"word {j}": random.choice(words, 40),
                  f"id {j}": [f"x{i * 7 % 40}{j}" for i in range(40)],
                  f"date {j}": ["03/04/2021", "05/06/2021"] * 20,
                  f"size {j}": [f"{i % 7} mm" if i % 9 else "" for i in range(40)]}  # fmt: skip
    pl.DataFrame(table).write_csv("t.csv")
    assert command("check", "t.csv") == 0
    said = capsys.readouterr().out
    assert 20 < len(said.splitlines()) <= 40
    assert "give --all" in said
    every = printed(capsys, "check", "t.csv", "--all")[1]
    assert "give --all" not in every
    assert all(f"id {j} (" in " ".join(every.split()) for j in range(30))


@pytest.mark.usefixtures("no_report")
def test_fit_says_of_columns_what_check_finds(folder, capsys):
    """Both read the same record: a mark of missing values misleads a model too."""
    rows = (
        f"{-99 if i % 20 == 0 else 18 + i % 50},{('Yes', 'yes ', 'no')[i % 3]},{i % 7},{i % 2}\n"
        for i in range(200)
    )
    (folder / "t.csv").write_text("age,ok,zip code,y\n" + "".join(rows))
    assert command("check", "t.csv", "--target", "y", "--json") == 0
    found = [each["text"] for each in json.loads(capsys.readouterr().out)["findings"]]
    assert [text.split(":")[0] for text in found] == ["zip code", "ok", "age"]
    assert command("fit", "t.csv", "--target", "y", "--trials", 1, "--json") == 0
    assert set(found) <= set(json.loads(capsys.readouterr().out)["notices"])
    assert command("fit", "t.csv", "--target", "y", "--trials", 1, "--force") == 0
    screen = " ".join(capsys.readouterr().out.split())
    for text in found:
        assert " ".join(text.split()) in screen
