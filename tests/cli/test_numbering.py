"""A row number names the row of the user's file, whatever was left out before the fit."""

import json
import re

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command
from mercer.cli.tables import read_table

N = 90
RANDOM = np.random.default_rng(3)
# the rows of a file differ in size by more than the kernel reaches, so each is its own reason
SIZE = RANDOM.permutation(N).astype(float)


def table(y, **more):
    return pl.DataFrame({"size": SIZE, "other": RANDOM.normal(size=N), "y": y, **more})


NUMBERS = pl.Series([None if i % 3 == 0 else v**1.5 for i, v in enumerate(SIZE)])
CLASSES = pl.Series(
    ["" if i % 3 == 0 else "big" if v > N / 2 else "small" for i, v in enumerate(SIZE)]
)


@pytest.mark.spread(1)
@pytest.mark.parametrize("y", [NUMBERS, CLASSES], ids=["numbers", "classes"])
@pytest.mark.parametrize("options", [(), ("--weight", "w"), ("--test", "held.csv")])
@pytest.mark.usefixtures("no_report")
def test_reasons_are_rows_of_the_file(y, options, capsys):
    weight = pl.Series([0 if i % 7 == 1 else 1 for i in range(N)])
    frame = table(y, w=weight) if "--weight" in options else table(y)
    frame.write_csv("t.csv")
    frame[60:].write_csv("held.csv")
    assert command("fit", "t.csv", "--target", "y", "--trials", 1, "--quiet", *options) == 0
    learnt = [i for i in range(N) if i % 3 and not ("--weight" in options and i % 7 == 1)]
    frame[learnt].write_csv("learnt.csv")
    assert command("predict", "model.mercer", "learnt.csv", "-o", "p.csv", "--explain") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "rows of the training table, counted from 1 without the header" in said
    texts = pl.concat([read_table("p.csv")[c] for c in ("because_1", "because_2", "because_3")])
    named = texts.drop_nulls().str.extract(r"^row (\d+) \(").cast(int).to_numpy() - 1
    assert len(named) > len(learnt)
    assert set(named.tolist()) <= set(learnt)
    model = mercer.load("model.mercer")
    expected = np.array(learnt)[model.stored_rows_]
    assert set(named.tolist()) <= set(expected.tolist())


def test_reasons_of_a_model_without_a_second_fit_are_rows_of_the_file(monkeypatch):
    """Where time is short, the model knows only the rows that were not held out."""
    monkeypatch.setattr(
        "mercer.cli.fit._refit", lambda model, _, split, *__: (model, split.X_train)
    )
    table(NUMBERS).write_csv("t.csv")
    assert command("fit", "t.csv", "--target", "y", "--trials", 1, "--quiet") == 0
    assert command("predict", "model.mercer", "t.csv", "-o", "p.csv", "--explain") == 0
    first = read_table("p.csv")["because_1"].str.extract(r"^row (\d+) \(").cast(int).to_numpy() - 1
    assert {i % 3 for i in first.tolist()} == {1, 2}
    held = read_report("model.html")
    assert not set(first.tolist()) & {row["row"] for row in held["worst"]}


def test_row_numbers_in_reports_are_those_of_the_file(capsys):
    frame = table(NUMBERS)
    frame.write_csv("t.csv")
    assert command("fit", "t.csv", "--target", "y", "--trials", 1, "--quiet") == 0
    assert command("report", "model.mercer", "t.csv", "--target", "y") == 0
    for name in ("model.html", "report.html"):
        numbers = read_report(name)
        assert numbers["worst"]
        for row in numbers["worst"]:
            assert float(row["truth"]) == pytest.approx(frame["y"][row["row"]], rel=8e-3)
        for row in (numbers.get("suspicion") or {"rows": []})["rows"]:
            assert float(row["given"]) == pytest.approx(frame["y"][row["row"]], rel=8e-3)


def test_a_test_table_has_its_own_numbers():
    frame = table(NUMBERS)
    frame[:60].write_csv("t.csv")
    frame[60:].write_csv("held.csv")
    options = ("--test", "held.csv", "--trials", 1, "--quiet")
    assert command("fit", "t.csv", "--target", "y", *options) == 0
    for row in read_report("model.html")["worst"]:
        assert float(row["truth"]) == pytest.approx(frame["y"][60 + row["row"]], rel=8e-3)


def read_report(name):
    with open(name, encoding="utf-8") as file:
        return json.loads(re.search(r'id="mercer-report">(.*)</script>', file.read())[1])
