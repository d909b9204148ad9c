"""``--seed`` decides which rows are held out, the folds and the ends of the interval, no more."""

import json

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command
from mercer.cli import fit
from mercer.selection.automatic import KernelRegressor


@pytest.fixture
def folder(folder):
    rng = np.random.default_rng(0)
    x, z = rng.uniform(0, 6, size=(2, 120))
    table = pl.DataFrame({"x": x, "z": z, "y": np.sin(x) + 0.3 * rng.normal(size=120)})
    table[:80].write_csv("train.csv")
    table[80:].write_csv("test.csv")
    return folder


def fitted(capsys, *options, seed=None, code=0):
    """What --json tells of a fit, without times and names of files."""
    given = [] if seed is None else ["--seed", str(seed)]
    usual = ["fit", "train.csv", "--target", "y", "--json", "--force"]
    trials = [] if "--trials" in options else ["--trials", "1"]
    assert command(*usual, *trials, *options, *given) == code
    facts = json.loads(capsys.readouterr().out)
    for name in ("seconds", "command"):
        del facts[name]
    for row in facts["leaderboard"]:
        del row["seconds"]
    return facts


@pytest.mark.usefixtures("no_report")
def test_the_same_seed_gives_the_same(folder, capsys):
    one, two, default = (fitted(capsys, seed=s) for s in (3, 3, None))
    assert one == two
    assert fitted(capsys, seed=0) == default != one


@pytest.mark.usefixtures("no_report")
def test_another_seed_is_another_split_and_other_folds(folder, capsys):
    one, two = (fitted(capsys, "--trials", "2", seed=s) for s in (1, 2))
    assert one["score"]["value"] != two["score"]["value"]
    assert one["score"]["baselines"] != two["score"]["baselines"]
    for each in (one, two):  # and scores may stand in the notice of a simple model that is kept
        each["notices"] = [said for said in each["notices"] if "that is kept" not in said]
    same = ("task", "columns", "notices", "rows_without_target")
    assert [one[name] for name in same] == [two[name] for name in same]


@pytest.mark.usefixtures("no_report")
def test_with_a_test_table_the_score_keeps_its_value_and_its_interval_moves(folder, capsys):
    options = ("--test", "test.csv", "--metric", "rmse", "--trials", "1")
    one, two = (fitted(capsys, *options, seed=s) for s in (1, 2))
    assert one["leaderboard"] != two["leaderboard"]  # other folds
    assert one["winner"] == two["winner"]
    scores = one["score"], two["score"]
    np.testing.assert_allclose(*(score["value"] for score in scores), rtol=0.2)
    np.testing.assert_allclose(*(score["interval"] for score in scores), rtol=0.3)
    assert scores[0]["baselines"] == scores[1]["baselines"]
    ends = [np.divide(score["interval"], score["value"]) for score in scores]
    assert np.abs(ends[0] - ends[1]).max() > 2e-3  # other rows drawn, not the score's own change


def test_the_seed_is_that_of_the_model_and_of_the_report(folder, capsys):
    fitted(capsys, seed=7)
    assert mercer.load("model.mercer").random_state == 7
    assert "; seed 7." in (folder / "model.html").read_text()


def test_the_search_leaves_time_for_the_score_and_the_fit_to_all_rows(folder, monkeypatch, capsys):
    given = []

    def stop(model, *rows, **extras):
        given.append(model.time)
        raise KeyboardInterrupt

    monkeypatch.setattr(KernelRegressor, "fit_and_encode", stop)
    command("fit", "train.csv", "--target", "y", "--time", "100s", "--quiet")
    assert given == [pytest.approx(100 * fit.SEARCH_SHARE, abs=2)]  # less what reading took
    assert 50 <= given[0] <= 80
