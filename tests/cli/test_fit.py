"""The steps of a fit: in which order files are written, and what the seed decides."""

import json

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command
from mercer.machines.holdout import hold_out
from mercer.threads import Clock

N = 90
RANDOM = np.random.default_rng(0)
SIZE, WEIGHT = RANDOM.normal(size=(2, N)).round(3)
TABLE = pl.DataFrame({"size": SIZE, "weight": WEIGHT, "y": np.where(SIZE > 0, "yes", "no")})


@pytest.fixture
def folder(folder):
    TABLE.write_csv("t.csv")
    return folder


def fit(capsys, *options):
    """Exit code, standard output and standard error of a fit."""
    code = command("fit", "t.csv", "--target", "y", "--trials", 1, *options)
    return code, *capsys.readouterr()


def broken(*_, **__):
    raise ZeroDivisionError("no reason")


@pytest.mark.spread(1)
@pytest.mark.parametrize("step", ["report_data", "write_report"])
def test_a_report_that_fails_costs_no_model(step, folder, capsys, monkeypatch):
    monkeypatch.setattr(f"mercer.cli.fit.{step}", broken)
    code, out, err = fit(capsys)
    assert code == 6
    assert "the model is in model.mercer, but its report could not be written" in err
    assert "ZeroDivisionError: no reason (test_fit.py, line" in err
    assert "Traceback" not in err
    assert "Winner" in out
    assert "Report:" not in out
    assert sorted(path.name for path in folder.iterdir()) == ["model.mercer", "t.csv"]
    assert len(mercer.load("model.mercer").predict(TABLE)) == N
    code, out, _ = fit(capsys, "--json", "--force")
    assert code == 6
    assert json.loads(out)["report"] is None
    assert "ZeroDivisionError" in json.loads(out)["report_failed"]


def test_no_room_for_a_report_costs_no_model(folder, capsys, monkeypatch):
    def full(path, _):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("mercer.cli.fit.write_report", full)
    code, _, err = fit(capsys, "--quiet")
    assert code == 6
    assert "model.html: No space left on device" in err
    assert (folder / "model.mercer").exists()


def test_the_model_is_saved_before_anything_that_may_fail(folder, capsys, monkeypatch):
    monkeypatch.setattr("mercer.cli.fit.with_report", broken)
    assert fit(capsys)[0] == 1
    assert (folder / "model.mercer").exists()


@pytest.mark.full
def test_the_seed_decides_split_search_and_interval(folder, capsys):
    facts = {}
    for seed in (0, 1, 1):
        options = ("--seed", seed, "--metric", "log_loss", "--json", "--force")
        found = json.loads(fit(capsys, *options)[1])
        for row in (found, *found["leaderboard"]):
            row.pop("seconds")
        assert facts.setdefault(seed, found) == found
        assert f"; seed {seed}." in (folder / "model.html").read_text("utf-8")
        assert mercer.load("model.mercer").random_state == seed
        score, interval = score_by_hand(seed)
        assert found["score"]["value"] == pytest.approx(score)
        assert found["score"]["interval"] == pytest.approx(interval)
    assert facts[0]["score"] != facts[1]["score"]
    assert facts[0]["leaderboard"] != facts[1]["leaderboard"]


def score_by_hand(seed):
    """The log loss on the rows that a seed sets aside, and its bootstrap interval."""
    X, y = TABLE.drop("y"), TABLE["y"].to_numpy()
    train, held = hold_out(N, y, "classification", seed=seed)
    model = mercer.KernelClassifier(trials=1, metric="log_loss", random_state=seed)
    P = model.fit(X[train], y[train]).predict_proba(X[held])
    loss = -np.log(np.where(y[held] == model.classes_[1], P[:, 1], P[:, 0]))
    draw = np.random.default_rng(seed)
    again = [loss[draw.integers(0, len(loss), len(loss))].mean() for _ in range(500)]
    return loss.mean(), np.percentile(again, [2.5, 97.5])


def test_of_many_rows_a_smaller_part_is_held_out(folder, capsys, monkeypatch):
    monkeypatch.setattr("mercer.cli.problem.MOST_HELD", 9)
    score = json.loads(fit(capsys, "--json")[1])["score"]
    assert score["rows"] == 9


def test_rows_that_there_is_no_time_to_predict_are_not_scored(folder, capsys, monkeypatch):
    monkeypatch.setattr("mercer.cli.fit.affordable_rows", lambda *_, **__: 11)
    code, out, _ = fit(capsys)
    assert code == 0
    assert "on 11 rows held out" in out
    said = "There was no time to predict all 18 rows that were held out: the score is that of 11"
    page = (folder / "model.html").read_text("utf-8")
    assert said in " ".join(out.split())
    assert said in page
    assert "11 rows" in page


@pytest.mark.full
def test_fewer_rows_to_score_on_have_the_share_of_a_rare_class(folder, capsys, monkeypatch):
    rare = np.arange(300) % 30 == 0
    x = np.random.default_rng(0).normal(size=300) + 3 * rare
    pl.DataFrame({"x": x, "y": np.where(rare, "ill", "well")}).write_csv("rare.csv")
    monkeypatch.setattr("mercer.cli.fit.affordable_rows", lambda *_, **__: 30)
    given = ("fit", "rare.csv", "--target", "y", "--trials", 1, "-o", "rare.mercer")
    assert command(*given, "--json") == 0
    score = json.loads(capsys.readouterr().out)["score"]
    assert (score["metric"], score["rows"]) == ("average_precision", 30)
    assert score["value"] is not None


def test_a_simple_model_that_takes_long_on_all_rows_is_not_compared(folder, capsys, monkeypatch):
    within = Clock.within
    late = iter([False, True])
    monkeypatch.setattr(Clock, "within", lambda *args: None if next(late, False) else within(*args))
    code, out, _ = fit(capsys)
    assert code == 0
    assert "'linear (spline)' was not compared on the rows held out" in " ".join(out.split())
    assert "baseline trivial" in out
    assert "baseline linear" not in out.split("Winner")[1]
