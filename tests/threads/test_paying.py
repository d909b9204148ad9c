"""Whether several threads of BLAS pay, which is measured now and then."""

import pytest

from mercer.threads import paying_threads, schedule


@pytest.fixture
def clock(monkeypatch):
    """A time that only measurements take, half a second each; and how many there were."""
    now = {"time": 100.0, "measured": 0}

    def measured():
        now["time"] += 0.5
        now["measured"] += 1
        return False

    monkeypatch.setattr(schedule, "_verdict", schedule._Verdict())
    monkeypatch.setattr(schedule, "perf_counter", lambda: now["time"])
    monkeypatch.setattr(schedule, "_measured", measured)
    return now


def test_steps_of_one_fit_share_a_measurement(clock):
    """On a busy machine each took as long as a step: 2 of 5 seconds in all."""
    for _ in range(8):
        with paying_threads():
            clock["time"] += 1
    assert clock["measured"] == 1


def test_a_later_fit_measures_again(clock):
    for _ in range(3):
        with paying_threads():
            clock["time"] += 30
    assert clock["measured"] == 3
