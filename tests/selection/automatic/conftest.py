"""For tests of the search: a clock of its own, and rungs that are small."""

from dataclasses import replace

import pytest

from mercer.learners.base.parameters import LIMITS, Limits
from mercer.learners.neighbourhoods import neighbourhood_machine
from mercer.machines.settings import REFERENCE, Speed
from mercer.selection.automatic import KernelClassifier, KernelRegressor
from mercer.solvers.neighbourhoods import training
from mercer.threads import clock as clocks


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when a trial is reported: ``clock.tick`` seconds each time."""

    class Clock:
        now, tick = 0.0, 1.0

        def __call__(self, event=None):
            self.now += self.tick

    clock = Clock()
    monkeypatch.setattr(clocks, "monotonic", lambda: clock.now)
    for module in (neighbourhood_machine, training):  # so that no network is cut
        monkeypatch.setattr(module, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(Speed, "measured", lambda: REFERENCE)
    return clock


@pytest.fixture
def sizes(monkeypatch):
    """Called with some of the sizes of a search, the automatic estimators have these."""

    def changed(**some):
        for kind in (KernelClassifier, KernelRegressor):
            monkeypatch.setattr(kind, "sizes", replace(kind.sizes, **some))

    return changed


@pytest.fixture
def rungs(monkeypatch, sizes):
    """Two rungs, for tables that are small."""
    monkeypatch.setitem(LIMITS, "leave one out", Limits(100, 80))
    sizes(
        small_rows=90, one_rung_rows=100, rungs=((120, 30), (200, 60)), all_rows=100,
        learning_rows=50, spared_rows=50, exact_rows=100,
    )  # fmt: skip
