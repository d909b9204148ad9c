"""For tests of the search: a clock of its own, and rungs that are small."""

import pytest

from mercer.learners.base.limits import LIMITS, Limits
from mercer.selection.automatic import budget
from mercer.selection.automatic.schedule import finals
from mercer.selection.automatic.schedule import rungs as rungs_of_search
from mercer.selection.automatic.trials import trials


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when a trial is reported: ``clock.tick`` seconds each time."""

    class Clock:
        now, tick = 0.0, 1.0

        def __call__(self, event=None):
            self.now += self.tick

    clock = Clock()
    monkeypatch.setattr(budget, "monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def rungs(monkeypatch):
    """Two rungs, for tables that are small."""
    monkeypatch.setattr(rungs_of_search, "ONE_RUNG_ROWS", 100)
    monkeypatch.setattr(rungs_of_search, "SMALL_ROWS", 90)
    monkeypatch.setattr(trials, "SMALL_ROWS", 90)
    monkeypatch.setattr(rungs_of_search, "RUNGS", ((120, 30), (200, 60)))
    monkeypatch.setattr(rungs_of_search, "ALL_ROWS", 100)
    monkeypatch.setattr(rungs_of_search, "LEARNING_ROWS", 50)
    monkeypatch.setattr(rungs_of_search, "SPARED_ROWS", 50)
    monkeypatch.setitem(LIMITS, "leave one out", Limits(100, 80))
    monkeypatch.setattr(finals, "SMALLEST_RANK", 20)
    monkeypatch.setattr(finals, "EXACT_ROWS", 100)
