"""What a person reads on the screen of ``mercer fit``: the bar, the table of models, the score."""

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.runner import command
from mercer.cli.screen import SearchBar, leaderboard_note, leaderboard_table, score_text
from mercer.cli.terminal import Terminal

RANDOM = np.random.default_rng(0)
SEARCHING = {
    "trial": "gaussian of levels", "done": 3, "of": 12,
    "leaderboard": [{"baseline": False, "name": "gaussian", "score": 0.5}],
}  # fmt: skip


def said(capsys, *arguments):
    code, printed = command(*arguments), capsys.readouterr()
    assert code == 0, printed.err
    return " ".join(printed.out.split())


def test_the_bar_has_a_line_of_its_own_and_nothing_is_cut(monkeypatch):
    screen = Terminal()
    screen.width, bar = 80, SearchBar(screen, 1e6, "r2")
    bar.event = SEARCHING
    lines = ["".join(part.text for part in each) for each in screen.render_lines(bar._draw())]
    assert "tried" not in lines[0]
    text = " ".join(" ".join(lines[1:]).split())
    assert text.startswith("3 of 12 tried, at most ")
    assert "now: gaussian of levels best so far: gaussian, r2 0.5000" in text
    bar.event = {"trial": "score", "done": 1, "of": 1, "leaderboard": []}
    lines = ["".join(part.text for part in each) for each in screen.render_lines(bar._draw())]
    assert "tried" not in " ".join(lines)


def test_a_log_file_tells_how_far_a_fit_is():
    screen = Terminal()
    screen.file = io.StringIO()
    bar = SearchBar(screen, 1000, "r2")
    for trial in ("first", "second"):
        bar(SEARCHING | {"trial": trial})
    assert screen.file.getvalue() == "[   0 s] 3 of 12 tried, now: first\n"
    assert not screen.is_terminal


def test_scores_are_written_alike():
    assert [score_text(v, "r2") for v in (0.97536, -7.3e-5, 9e-5, None, -1e7)] == [
        "0.9754", "-0.0001", "0.0001", "–", "-10 million",
    ]  # fmt: skip
    assert score_text(-1e-5, "r2") == "0.0000"
    assert score_text(3.2e-5, "rmse") == "0.000032"


def test_the_order_of_the_models_is_said():
    assert "more rows come first" not in leaderboard_note([{"rows": 5}, {"rows": 5}])
    assert "more rows come first" in leaderboard_note([{"rows": 5}, {"rows": 9}])


def test_lines_that_the_leaderboard_leaves_out_are_counted(capsys):
    rows = [
        {"rank": rank, "name": f"model {rank}", "baseline": rank in (5, 6), "score": 0.5,
         "spread": None, "rows": 9, "seconds": 0.1}
        for rank in range(1, 9)
    ]  # fmt: skip
    Terminal().print(leaderboard_table(rows, "r2", most=3))
    lines = [" ".join(line.split()[:3]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert lines == [
        "1 model 1", "2 model 2", "3 model 3", "… 1 more", "5 baseline: model",
        "6 baseline: model", "… 2 more",
    ]  # fmt: skip


def test_few_positives_are_judged_and_shown_by_both_areas(capsys):
    X = RANDOM.normal(size=400)
    y = np.where(np.argsort(np.argsort(X + RANDOM.normal(size=400))) >= 380, "ill", "well")
    pl.DataFrame({"a": X, "y": y}).write_csv("t.csv")
    out = said(capsys, "fit", "t.csv", "--target", "y", "--trials", 1)
    assert "Judged by average_precision, since only 5% of the rows are ill" in out
    assert "roc_auc 0." in out
    assert "(by chance 0.5000)" in out
    out = said(capsys, "check", "t.csv", "--target", "y")
    assert "Judged by average_precision" in out
    assert "balanced_accuracy" not in out


def test_neighbours_of_one_kind_share_a_line_in_wide_tables(capsys):
    wide = {f"gene_{i}": RANDOM.normal(size=20).round(3) for i in range(90)}
    pl.DataFrame(wide | {"sex": ["f", "m"] * 10, "last": RANDOM.normal(size=20)}).write_csv("t.csv")
    out = said(capsys, "check", "t.csv")
    assert "gene_0 … gene_89 number 90 columns; the first: numbers, 20 different sex " in out
    assert "gene_1 " not in out
    assert " last number " in out


def test_what_speaks_against_a_score_is_said_again_beside_it(capsys):
    X = RANDOM.normal(size=120)
    pl.DataFrame({"a": X, "y": np.where(X > 0, "p", "q")}).write_csv("t.csv")
    out = said(capsys, "fit", "t.csv", "--target", "y", "--trials", 1)
    assert out.index("a reveals the target") < out.index("2 reasons to doubt this score")
    beside = out[out.index("2 reasons to doubt this score:") :]
    assert "• a reveals the target" in beside
    assert "These are few rows." in beside
    report = Path("model.html").read_text("utf-8")  # of few rows, too
    assert report.count('<li class="doubt">') == 2


def test_without_a_score_a_better_baseline_is_said(capsys):
    x = np.arange(12.0)
    pl.DataFrame({"x": x, "y": 2 * x + RANDOM.normal(size=12) / 9}).write_csv("t.csv")
    out = said(capsys, "fit", "t.csv", "--target", "y", "--trials", 1)
    assert ("a simpler model does as well" in out) == ("1 baseline: linear" in out)


def test_rows_of_the_test_table_that_were_learnt_have_a_fitting_remedy(capsys):
    table = pl.DataFrame({"a": RANDOM.normal(size=90), "y": RANDOM.normal(size=90)})
    table.write_csv("t.csv")
    table.head(30).write_csv("test.csv")
    out = said(capsys, "fit", "t.csv", "--target", "y", "--test", "test.csv", "--trials", 1)
    assert "leave them out of one table." in out
    assert "--group" not in out


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_dozen_rows_have_a_report_that_says_how_little_its_score_is_worth(task, folder, capsys):
    x = RANDOM.normal(size=12).round(3)
    y = ["yes", "no", "perhaps"] * 4 if task == "classification" else (2 * x).round(2)
    pl.DataFrame({"x": x, "y": y}).write_csv("dozen.csv")
    text = said(capsys, "fit", "dozen.csv", "--target", "y", "--trials", "2")
    assert "score on, so the score says little" in text
    assert "rows held out" in text
    assert "so the score says little" in (folder / "model.html").read_text()


def test_nine_rows_have_a_model_and_no_score(folder, capsys):
    pl.DataFrame({"x": range(9), "y": ["yes", "no", "no"] * 3}).write_csv("nine.csv")
    text = said(capsys, "fit", "nine.csv", "--target", "y", "--trials", "1")
    assert "Fewer than 10 rows: none are held out, and there is no score." in text
    assert (folder / "model.mercer").exists()
    assert not (folder / "model.html").exists()


def test_check_prints_few_lines_of_any_table_and_all_if_asked(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    columns = {
        f"day {i}": [f"0{1 + (r * i) % 9}/0{1 + r % 7}/2021" for r in range(40)] for i in range(9)
    }
    columns |= {f"x{i}": RANDOM.normal(size=40) for i in range(30)}
    columns |= {f"answer {i}": RANDOM.choice(["Yes", "yes", "no"], 40) for i in range(30)}
    pl.DataFrame(columns).write_csv("wide.csv")
    assert command("check", "wide.csv") == 0
    few = capsys.readouterr().out
    assert len(few.splitlines()) <= 40
    assert "and 6 more columns like these" in few
    assert "The same is so for answer 2, answer 3," in few
    assert command("check", "wide.csv", "--all") == 0
    assert len(capsys.readouterr().out.splitlines()) > 69
