"""Predictions on standard output, and one JSON object in place of the screen."""

import io
import json

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import command, fitted_file, printed

N = 60
SIZE = np.random.default_rng(0).normal(size=N)
TABLE = pl.DataFrame({"size": SIZE, "y": np.where(SIZE > 0, "yes", "no")})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    TABLE.write_csv(folder / "t.csv")
    return fitted_file(folder, folder / "t.csv", "y")


@pytest.fixture(autouse=True)
def table(folder):
    TABLE.write_csv(folder / "t.csv")


def test_predictions_on_standard_output(model, capsysbinary):
    assert command("predict", model, "t.csv", "-o", "-", "--explain") == 0
    said = capsysbinary.readouterr()
    frame = pl.read_csv(io.BytesIO(said.out))
    assert frame.columns[:3] == ["prediction", "proba_no", "proba_yes"]
    assert frame.height == N
    assert b"60 predictions are on standard output." in said.err
    assert command("predict", model, "t.csv", "-o", "p.csv", "--explain") == 0
    assert pl.read_csv("p.csv").equals(frame)


def test_both_on_standard_output_are_refused(model, capsys):
    code, said = printed(capsys, "predict", model, "t.csv", "-o", "-", "--json")
    assert (code, "--output - and --json would both be printed" in said) == (2, True)


def facts(capsys, *arguments):
    assert command(*arguments, "--json") == 0
    said = capsys.readouterr()
    assert not said.err
    return json.loads(said.out)


def test_each_command_prints_one_object(model, capsys):
    predicted = facts(capsys, "predict", model, "t.csv", "-o", "p.csv")
    assert predicted == {"rows": N, "output": "p.csv", "notices": []}
    reported = facts(capsys, "report", model, "t.csv")
    assert (reported["target"], reported["rows"], reported["report"]) == ("y", N, "report.html")
    assert 0.5 < reported["score"]["value"] <= 1
    assert reported["verdict"]
    found = facts(capsys, "neighbors", "t.csv", "-k", 2)
    assert (found["neighbours"], found["compared"]) == (2 * N, ["size", "y"])
    drawn = facts(capsys, "map", "t.csv")
    assert (drawn["rows"], drawn["of"], drawn["output"]) == (N, N, "map.html")
    assert facts(capsys, "check", "t.csv")["rows"] == N
