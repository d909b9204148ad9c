"""--group, --time-column, --weight and --compress of mercer fit."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command

RNG = np.random.default_rng(0)
N = 200

pytestmark = pytest.mark.usefixtures("no_report")


@pytest.fixture
def folder(folder):
    place = np.repeat(np.arange(40), 5)
    x = RNG.normal(size=40)[place] + 0.01 * RNG.normal(size=N)
    table = {
        "x": x,
        "z": RNG.normal(size=N),
        "person": [f"p{k}" for k in place],
        "day": [f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}" for k in RNG.permutation(N)],
        "times": np.where(np.arange(N) < 20, 0.0, RNG.uniform(0.5, 2, N)),
        "gaps": [None if i == 1 else 1.5 * i for i in range(N)],
        "y": RNG.normal(size=40)[place],
    }
    pl.DataFrame(table).write_csv("t.csv")
    return folder


def fitted(capsys, *options):
    fit = ("fit", "t.csv", "--target", "y", "--trials", 1, "--force", "--json")
    code = command(*fit, *options)
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else None, said.err


@pytest.mark.full
def test_copies_within_groups_do_not_flatter_the_score(folder, capsys):
    _, deceived, _ = fitted(capsys, "--drop", "person", "--drop", "day", "--drop", "times")
    code, honest, _ = fitted(capsys, "--group", "person", "--drop", "day", "--drop", "times")
    assert code == 0
    assert deceived["score"]["value"] > 0.5 > honest["score"]["value"]
    assert deceived["score"]["groups"] is None
    assert 2 <= honest["score"]["groups"] <= honest["score"]["rows"] / 2
    assert "person" not in mercer.load("model.mercer").feature_names_in_
    assert "--group person" in honest["command"]


@pytest.mark.full
def test_the_latest_rows_are_held_out(folder, capsys):
    code, facts, _ = fitted(capsys, "--time-column", "day")
    assert code == 0
    assert facts["score"]["rows"] == 40
    assert "day" in mercer.load("model.mercer").feature_names_in_
    assert "--time-column day" in facts["command"]


@pytest.mark.full
def test_rows_of_weight_0_are_left_out(folder, capsys):
    code, facts, _ = fitted(capsys, "--weight", "times")
    assert code == 0
    rows = {row["rows"] for row in facts["leaderboard"]}
    assert rows == {144}  # 80% of the 180 rows that count
    assert "times" not in mercer.load("model.mercer").feature_names_in_


@pytest.mark.full
def test_a_compressed_model_says_what_it_lost(folder, capsys):
    code, facts, _ = fitted(capsys, "--compress", "30")
    assert code == 0
    (said,) = (notice for notice in facts["notices"] if "compressed" in notice)
    assert said.startswith("The machine was compressed to 30 centres. On the rows held out its r2")
    assert mercer.load("model.mercer").X_fit_.shape[0] == 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--group", "persn"), "Did you mean 'person'"),
        (("--group", "person", "--time-column", "day"), "are both given: give one of them"),
        (("--time-column", "person"), "which is neither a date nor a number"),
        (("--weight", "person"), "row 1 has 'p0'"),
        (("--weight", "gaps"), "row 2 has an empty cell; give numbers >= 0"),
        (("--time-column", "gaps"), "row 2 has an empty cell, which is neither a date"),
        (("--weight", "z"), "give numbers >= 0"),
        (("--compress", "0"), "give a number of centres"),
    ],
)
def test_what_cannot_be_is_refused(folder, capsys, options, message):
    code, facts, said = fitted(capsys, *options)
    assert code in (2, 3)
    assert facts is None
    assert message in " ".join(said.split())
    assert not (folder / "model.mercer").exists()


@pytest.mark.parametrize("kind", [pl.Duration("ms"), pl.List(pl.Int64), pl.Date])
def test_groups_of_any_kind(capsys, kind):
    numbers = pl.Series(np.arange(N) % 7)
    nested = kind == pl.List(pl.Int64)
    values = pl.Series([[n, 1] for n in numbers]) if nested else numbers.cast(kind)
    table = pl.DataFrame({"x": RNG.normal(size=N), "g": values, "y": RNG.normal(size=N)})
    table.write_parquet("t.parquet")
    fit = ("fit", "t.parquet", "--target", "y", "--group", "g", "--trials", 1, "--quiet")
    assert command(*fit) == 0, capsys.readouterr().err


def test_the_command_begins_without_its_extra():
    """`mercer` names the extra, which it could not if its first file imported what is in it."""
    code = "import sys, mercer.cli; assert not {'rich', 'cyclopts'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
