"""A model of several targets, as the command fits it, predicts with it and reports on it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import mercer
from cli.runner import command, printed
from mercer.threads import Clock

N = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table with two targets, and the model that Python has saved."""
    folder = tmp_path_factory.mktemp("several")
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, N))
    table = pl.DataFrame({"x": x, "z": z, "low": x + 0.1 * z, "high, or": 10 * x * z})
    table.write_csv(folder / "t.csv")
    model = mercer.KernelRegressor(trials=1)
    model.fit(table.select("x", "z"), table.select("low", "high, or"))
    mercer.save(model, folder / "model.mercer")
    return folder


def test_each_target_has_columns_of_predictions(files):
    given = ("predict", files / "model.mercer", files / "t.csv")
    assert command(*given, "--interval", "0.8", "-o", "p.csv") == 0
    written = pl.read_csv("p.csv")
    assert written.columns == [
        "prediction_low", "prediction_high, or",
        "prediction_low_low", "prediction_high_low",
        "prediction_low_high, or", "prediction_high_high, or",
    ]  # fmt: skip
    table = pl.read_csv(files / "t.csv").select("x", "z")
    model = mercer.load(files / "model.mercer")
    np.testing.assert_allclose(written.to_numpy()[:, :2], model.predict(table), rtol=1e-6)
    ends = model.predict_interval(table, 0.8).reshape(N, 4)
    np.testing.assert_allclose(written.to_numpy()[:, 2:], ends, rtol=1e-6)


def test_columns_of_one_name_are_refused(capsys):
    table = pl.DataFrame({"x": np.arange(30.0), "low": np.arange(30.0) % 7})
    table = table.with_columns(low_low=pl.col("low") * pl.col("x"))
    model = mercer.KernelRegressor(trials=1).fit(table.select("x"), table.select("low", "low_low"))
    mercer.save(model, "m.mercer")
    table.write_csv("t.csv")
    code, said = printed(capsys, "predict", "m.mercer", "t.csv", "--interval", 0.5, "-o", "p.csv")
    assert code != 0
    assert "the columns low and low_low of the training table would share a column" in said


def test_reasons_are_refused(files, capsys):
    given = ("predict", files / "model.mercer", files / "t.csv")
    code, said = printed(capsys, *given, "--explain", "-o", "p.csv")
    assert code != 0
    assert "predicts low, high, or, and reasons are those of one target" in said


def test_a_report_is_of_the_target_that_is_named(files, capsys):
    given = ("report", files / "model.mercer", files / "t.csv", "-o", "r.html")
    code, said = printed(capsys, *given)
    assert code != 0
    assert "predicts low, high, or: give one of them with --target" in said
    code, said = printed(capsys, *given, "--target", "low")
    assert code == 0
    assert "R²" in said
    assert f"{N} of {N} rows were in the training table" in said


@pytest.fixture(scope="module")
def fitted(files):
    """What the command has written for the same table."""
    code = command(
        "fit", files / "t.csv", "--target", 'low,"high, or"', "--trials", "1", "--quiet",
        "-o", files / "both.mercer",
    )  # fmt: skip
    assert code == 0
    return files


def test_the_command_fits_several_targets(fitted):
    model = mercer.load(fitted / "both.mercer")
    assert model.targets_ == ["low", "high, or"]
    assert [str(column.name) for column in model.columns_] == ["x", "z"]
    assert {len(row["scores"]) for row in model.leaderboard_} == {2}
    assert command("predict", fitted / "both.mercer", fitted / "t.csv", "-o", "p.csv") == 0
    assert pl.read_csv("p.csv").columns == ["prediction_low", "prediction_high, or"]


def test_each_target_has_a_report(fitted):
    pages = sorted(page.name for page in fitted.glob("both*.html"))
    assert pages == ["both-1-low.html", "both-2-high_or.html"]
    for page, name in zip(pages, ("low", "high, or")):
        text = (fitted / page).read_text(encoding="utf-8")
        assert name in text
        assert "R²" in text


def test_the_screen_and_json_have_each_target(files, capsys):
    table = pl.read_csv(files / "t.csv").rename({"high, or": "high"})
    table = table.with_columns(low=pl.when(pl.int_range(N) > 2).then("low"))
    table.write_csv("u.csv")
    given = ("fit", "u.csv", "--target", "low,high", "--trials", 1, "-o", "u.mercer")
    code, said = printed(capsys, *given)
    assert code == 0
    assert "u.csv: 57 rows, 2 columns besides low,high." in said
    assert "3 rows without a low or a high are left out." in said
    assert "Task: regression, since there are 2 targets." in said
    assert "low: r2" in said
    assert "high: r2" in said
    assert "Report of high: u-2-high.html" in said
    code, said = printed(capsys, *given)
    assert code != 0
    assert "u.mercer: the file exists" in said
    assert command(*given, "--json", "--force") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["score"] is None
    assert [*facts["targets"]] == ["low", "high"]
    assert facts["targets"]["high"]["score"]["metric"] == "r2"
    assert facts["targets"]["high"]["report"] == "u-2-high.html"


@pytest.mark.usefixtures("no_report")
def test_rows_to_score_on_are_those_with_all_targets(files, capsys):
    table = pl.read_csv(files / "t.csv").rename({"high, or": "high"})
    table.write_csv("u.csv")
    table.with_columns(low=pl.when(pl.int_range(N) > 9).then("low")).write_csv("v.csv")
    given = ("fit", "u.csv", "--target", "low,high", "--trials", 1, "-o", "u.mercer")
    code, said = printed(capsys, *given, "--test", "v.csv")
    assert code == 0
    assert said.count("on the 50 rows of v.csv") == 2
    table.drop("high").write_csv("v.csv")
    code, said = printed(capsys, *given, "--test", "v.csv", "--force")
    assert code != 0
    assert "--target high: v.csv has no such column" in said


def test_a_column_that_reveals_a_target_is_named_with_it(files, capsys):
    table = pl.read_csv(files / "t.csv").with_columns(after=2 * pl.col("low"))
    table.write_csv("u.csv")
    given = ("fit", "u.csv", "--target", 'low,"high, or"', "--trials", 1, "-o", "u.mercer")
    said = printed(capsys, *given)[1]
    assert "after reveals low almost without error" in said
    assert "reveals the target" not in said
    parts = said[said.index("Winner: ") :]
    low, high = parts[parts.index("low:") :].split("high, or: r2")
    assert "after reveals low" in low
    assert "after reveals low" not in high
    page = Path("u-2-high_or.html").read_text(encoding="utf-8")
    assert "after reveals low" not in page
    assert "after reveals low" in Path("u-1-low.html").read_text(encoding="utf-8")


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_without_a_score_nothing_is_said_of_one(files, capsys, monkeypatch):
    pl.read_csv(files / "t.csv").head(40).write_csv("u.csv")  # 8 rows to score on are few
    given = ("fit", "u.csv", "--target", 'low,"high, or"', "--trials", 1, "-o", "u.mercer")
    monkeypatch.setattr("mercer.cli.fit.score_held_out", interrupt)
    code, said = printed(capsys, *given)
    assert code == 130
    assert "Interrupted: there is no score and no report." in said
    assert "to doubt this score" not in said
    assert mercer.load("u.mercer").targets_ == ["low", "high, or"]


def test_a_report_that_is_interrupted_is_named(files, capsys, monkeypatch):
    given = ("fit", files / "t.csv", "--target", 'low,"high, or"', "--trials", 1, "-o", "u.mercer")
    monkeypatch.setattr("mercer.cli.fit.write_report", interrupt)
    code, said = printed(capsys, *given)
    assert code == 130
    assert "there is no report of low; there is no report of high, or." in said


@pytest.mark.usefixtures("no_report")
def test_a_baseline_that_takes_long_is_named_for_its_target(files, capsys, monkeypatch):
    within, late = Clock.within, iter([False, False, False, True])
    monkeypatch.setattr(Clock, "within", lambda *args: None if next(late, False) else within(*args))
    given = ("fit", files / "t.csv", "--target", 'low,"high, or"', "--trials", 1, "-o", "u.mercer")
    said = printed(capsys, *given)[1]
    assert "'linear (spline)' was not compared on the rows held out for high, or: its fit" in said
    assert "for low: its fit" not in said


@pytest.mark.usefixtures("no_report")
@pytest.mark.spread(1)
@pytest.mark.parametrize("target", ['"low"', "low,low"])
def test_a_name_in_quotes_is_that_of_one_target(target, files, capsys):
    table = files / "t.csv"
    given = ("fit", table, "--target", target, "--test", table, "--trials", 1, "-o", "u.mercer")
    code, said = printed(capsys, *given)
    assert code == 0
    assert "t.csv: 60 rows, 3 columns besides low." in said
    assert mercer.load("u.mercer").file_target_ == "low"
    code, said = printed(capsys, "check", table, "--target", target)
    assert code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "low,none"], "--target none: t.csv has no such column"),
        (["--target", "low,z", "--task", "classification"], "fit a model for each column of cl"),
        (["--target", "low,z", "--metric", "accuracy"], "is for classes: give r2, rmse, mae"),
        (["--target", "low,z", "--compress", "10"], "leave it out, or fit a model for each"),
        (["--target", "low,word"], "--target word holds 'a', which is not a number"),
        (["--target", "low,z", "--group", "z"], "--group z: this is the target"),
        (["--target", '"low"', "--weight", "low"], "--weight low: this is the target"),
        (["--target", "low,z", "--drop", "low"], "--drop low: this is the target"),
        (["--target", ""], "--target : t.csv has no such column"),
        (["--target", "low\nz"], "t.csv has no such column"),
    ],
)
def test_what_does_not_suit_several_targets_is_refused(options, said, capsys):
    columns = {"low": np.arange(20) / 7, "z": np.arange(20) % 3 / 1.5, "x": np.arange(20) % 7}
    pl.DataFrame(columns).with_columns(word=pl.Series(["a", "b"] * 10)).write_csv("t.csv")
    code, all_said = printed(capsys, "fit", "t.csv", *options, "--trials", 1)
    assert code != 0
    assert said in all_said


def test_check_looks_at_one_target(files, capsys):
    code, said = printed(capsys, "check", files / "t.csv", "--target", 'low,"high, or"')
    assert code != 0
    assert "check looks at one target at a time: give one of low, high, or." in said
