"""Budgets of time."""

import time

import numpy as np
import pytest

from mercer.machines import score_held_out
from mercer.machines.candidates import Candidate, Recipe, simple_candidates
from mercer.selection.automatic import KernelClassifier
from mercer.selection.automatic.kernel_machine import EARLY
from mercer.selection.automatic.trials import state, trials
from mercer.spoken import seconds
from mercer.threads import affordable_rows, clock as clocks, raise_if_stopped
from mercer.threads.clock import Clock
from selection.automatic.small_searches import RING, TABLE, fitted_once, search_of


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
    search = search_of(fitted_once(KernelClassifier), RING, seconds=10)
    now[0] = 5.0  # as after a fit to all rows of a large table
    search.run(1)
    names = {row.name for row in search.state.board.rows}
    assert {"trivial", "linear (spline)"} <= names


@pytest.mark.full
def test_a_first_candidate_that_takes_too_long_is_stopped_and_replayed(monkeypatch):
    now = [0.0]

    def fit(self, *args):
        if self.machine not in ("constant", "linear"):
            now[0] += 1.0
        return fitted(self, *args)

    fitted = Recipe.fit
    monkeypatch.setattr(Recipe, "fit", fit)
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])
    model = KernelClassifier(time=2).fit(TABLE, RING)
    assert model.seconds_ <= 4  # one of five fits may be late
    assert model.winner_name_ == "linear (spline)"
    assert [entry.get("final") for entry in model.schedule_] == [True]
    assert "took too long to be tried within the time" in str(model.notices_)
    again = KernelClassifier(replay=model.schedule_).fit(TABLE, RING)
    assert again.winner_name_ == model.winner_name_
    only = KernelClassifier(time=2, only="kernels").fit(TABLE, RING)
    assert only.schedule_[0]["rows"] == len(TABLE)  # a kernel machine is asked for


@pytest.mark.parametrize("late", ["", "ridge", "svc"])
def test_the_machine_of_the_start_is_kept_where_nothing_is_tried_in_time(monkeypatch, sizes, late):
    """It is stopped too, as the first candidate is."""
    now = [0.0]

    def fit(self, *args):
        if self.machine in (late, "constant"):
            for _ in range(8 * (self.machine == late)):
                now[0] += 1.0
                raise_if_stopped()
        return fitted(self, *args)

    fitted = Recipe.fit
    sizes(one_rung_rows=100)
    monkeypatch.setattr(Recipe, "fit", fit)
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])
    monkeypatch.setattr(trials, "candidates", lambda *_: [Candidate("gaussian", machine="svc")])
    monkeypatch.setattr(state, "simple_candidates", lambda *given: simple_candidates(*given)[:1])
    model = KernelClassifier(time=9, memory="1GB").fit(TABLE, RING)
    early = model.schedule_[-1].get("early", False)
    assert early == (late == "svc")
    assert (model.winner_name_ == EARLY.name) == early
    assert model.score(TABLE, RING) > 0.7
    assert model.seconds_ <= 9 + 2


@pytest.mark.parametrize(("left", "rows"), [(100, 2000), (3.9, 1000), (1.9, 500), (0.1, 500)])
def test_the_first_rung_has_as_few_rows_as_the_first_candidate_has_time_for(left, rows):
    search = search_of(fitted_once(KernelClassifier), np.resize(RING, 2000), seconds=left)
    search.forecast.expected = lambda candidate, rung: rung[0] / 1000
    search._shorten(Candidate("gaussian"))
    assert search.state.rungs.plan()[0][0] == rows


def test_rows_whose_time_grows_with_a_power_of_them(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])

    def step(rows):
        now[0] += 0.01 * rows

    assert affordable_rows(step, 5000, Clock(10.0), power=1) == 900
    assert affordable_rows(step, 5000, Clock(10.0)) == 300
    assert affordable_rows(step, 500, Clock(10.0), power=1) == 500
    assert affordable_rows(step, 5000, Clock(0.5), power=1) == 100
    assert affordable_rows(step, 5000, Clock()) == 5000


def test_a_step_exceeds_a_short_time_by_as_much_at_most(monkeypatch):
    """A part of a report that had a tenth of a second took two more."""
    now = [0.0]
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])

    def step(clock):
        for _ in range(50):
            now[0] += 0.1
            raise_if_stopped()
        return "done"

    for limit, spent in [(0.5, 1.0), (2.5, 4.5)]:
        now[0] = 0.0
        assert Clock(limit).within(step) is None
        assert now[0] == pytest.approx(spent, abs=0.11)
    assert Clock(6.0).within(step) == "done"


def test_a_constant_that_is_late_is_not_replaced_by_a_machine_of_its_name(monkeypatch, sizes):
    """Texts of 10,000 characters made it wait: 'trivial' was kernel ridge with 300 centres."""
    sizes(smallest_rank=30)
    now = [0.0]

    def fit(self, *args):
        last = self.machine == "constant" and len(args[3]) == len(RING)
        now[0] += 100.0 if last else float(self.machine != "constant")
        raise_if_stopped()
        return fitted(self, *args)

    fitted = Recipe.fit
    monkeypatch.setattr(Recipe, "fit", fit)
    monkeypatch.setattr(clocks, "monotonic", lambda: now[0])
    monkeypatch.setattr(state, "simple_candidates", lambda *given: simple_candidates(*given)[:1])
    model = KernelClassifier(time=2).fit(TABLE, RING)
    assert model.winner_name_ == "trivial"
    assert model.solver_ == "the shares of the classes"
    assert not any("time was over" in notice for notice in model.notices_)
