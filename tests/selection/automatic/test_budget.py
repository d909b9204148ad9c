"""Budgets of time."""

import time

import pytest

from mercer.durations import seconds
from mercer.machines.candidates import Recipe
from mercer.selection.automatic import KernelClassifier, score_held_out
from mercer.threads import clock as clocks
from mercer.threads.clock import Clock
from selection.automatic.small_searches import RING, TABLE, search_of


@pytest.mark.parametrize(
    ("text", "value"),
    [(90, 90), (0.5, 0.5), ("90", 90), ("120s", 120), ("5min", 300), ("5 m", 300), ("1.5h", 5400),
     (".5s", 0.5)],
)  # fmt: skip
def test_times_as_users_write_them(text, value):
    assert seconds(text) == value


@pytest.mark.parametrize("text", [0, -1, "", "soon", "5 days", "-5s", "1.2.3s", None, True, []])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="give a positive number of seconds"):
        seconds(text)


def test_a_budget_runs_from_its_making(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])
    clock = Clock(10)
    now[0] = 107.0
    assert (clock.spent(), clock.left()) == (7, 3)
    now[0] = 112.0
    assert clock.left() == 0
    assert not Clock().limited
    assert clock.limited
    assert Clock().left() == float("inf")


def test_a_budget_may_have_started_earlier():
    assert 4 < Clock(10, time.monotonic() - 5).left() <= 5


@pytest.mark.parametrize(("slow", "fits"), [(0.0, 5 + 1), (1.5, 2)])
def test_a_simple_model_that_takes_long_is_left_out_of_search_and_score(monkeypatch, slow, fits):
    now, tried = [0.0], []

    def tick():
        now[0] += 0.01  # so that there is an end for what is learnt until the time is over
        return now[0]

    def fit(self, *args):
        if self.machine == "linear":
            tried.append(self)
            now[0] += slow
        return fitted(self, *args)

    fitted = Recipe.fit
    monkeypatch.setattr(Recipe, "fit", fit)
    monkeypatch.setattr(clocks, "monotonic", tick)
    model = KernelClassifier(time=3, only="kernels").fit(TABLE[:200], RING[:200])
    known = {row["name"] for row in model.leaderboard_}
    score = score_held_out(model, (TABLE[:200], RING[:200]), (TABLE[200:], RING[200:]))
    assert len(tried) == fits
    assert ("linear (spline)" in known) == ("linear (spline)" in score.baselines) == (slow == 0)
    assert "trivial" in score.versus
    assert any("'linear (spline)' took too long" in each for each in model.notices_) == (slow > 0)


def test_what_was_done_before_takes_no_time_from_the_simple_models(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])
    search = search_of(KernelClassifier(trials=1).fit(TABLE, RING), RING, seconds=10)
    now[0] = 5.0  # as after a fit to all rows of a large table
    search.run(1)
    names = {row.name for row in search.state.board.rows}
    assert {"trivial", "linear (spline)"} <= names
