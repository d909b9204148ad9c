"""Tell work that takes long to stop: by hand, or when its time is over.

A `Stop` is a flag. It is set after Ctrl-C, after an error in another task, or when a search has
enough results; a `Deadline` is one that the time of a `Clock` sets. Work runs under a stop (``with
stop:``), and so does all work that it starts, also in other threads. Loops check the flag in one of
two ways. A solver that has a best solution so far calls `stopping` and returns this solution. A
computation that is useless before its end calls `raise_if_stopped` between its steps; a step should
take at most half a second. What it raises is a KeyboardInterrupt, as if the signal had come in this
work: no handler of errors takes it for a fault of the work, and a caller who pressed Ctrl-C sees
nothing else, however deep the work was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

import numpy as np

_here = threading.local()


class Stop:
    """A flag that tells work to stop; it also counts as set if the stop above it is set.

    The stop above is the stop of the thread that made this one, so nested work checks both.

    Examples
    --------
    >>> with Stop() as stop:
    ...     stop.set()
    ...     stopping()
    True
    >>> stopping()
    False
    """

    def __init__(self):
        self.above: Stop | None = getattr(_here, "stop", None)
        self.flag = False

    def set(self) -> None:
        """Ask the work to stop."""
        self.flag = True

    def is_set(self) -> bool:
        """Whether this flag, or one above it, is set."""
        return self.flag or (self.above is not None and self.above.is_set())

    def __enter__(self) -> Stop:
        before = getattr(_here, "stop", None)
        _entered().append(before)
        _here.stop = self
        return self

    def __exit__(self, *error: object) -> None:
        _here.stop = _entered().pop()


def _entered() -> list[Stop | None]:
    """The earlier stops of this thread, which it uses again when it leaves the newer ones."""
    if not hasattr(_here, "entered"):
        _here.entered = []
    return _here.entered


def stopping() -> bool:
    """Whether the work of this thread should stop and return its best result so far."""
    stop: Stop | None = getattr(_here, "stop", None)
    return stop is not None and stop.is_set()


def raise_if_stopped() -> None:
    """Raise KeyboardInterrupt if the work of this thread should stop."""
    if stopping():
        raise KeyboardInterrupt


PILOT = 100  # rows whose matrix is timed before a larger one is computed
GRACE = 2.0  # seconds by which a first step, which nothing has timed, may exceed its time

T = TypeVar("T")


class Clock:
    """Seconds since it was made, or ``started`` as `time.monotonic` told it, and until ``limit``.

    None or infinity means no limit.

    Examples
    --------
    >>> Clock().left(), Clock(-1.0).share(0.5).left()
    (inf, 0.0)
    """

    def __init__(self, limit: float | None = None, started: float | None = None):
        self.limit = np.inf if limit is None else limit
        self.started = monotonic() if started is None else started

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.limit < np.inf

    def spent(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.started

    def left(self) -> float:
        """Seconds until the limit, at least 0."""
        return max(self.limit - self.spent(), 0.0)

    def part(self, share: float, least: float) -> float:
        """Seconds: a share of the limit, or ``least`` where they are more."""
        return max(share * self.limit, least)

    def share(self, part: float) -> Clock:
        """A new clock for a part of the time that is left."""
        return Clock(part * self.left())

    def within(self, step: Callable[[Clock], T]) -> T | None:
        """What a step returns for this clock; None if it was stopped since its time is over.

        A step that nothing has timed may exceed it once, by at most two seconds.
        """
        deadline = Deadline(self, min(GRACE, self.limit))
        try:
            with deadline:
                return step(self)
        except KeyboardInterrupt:
            if not deadline.is_over() or Stop.is_set(deadline):  # Ctrl-C
                raise
            return None


class Deadline(Stop):
    """A stop that is set when the time of a clock and some ``more`` seconds are over."""

    def __init__(self, clock: Clock, more: float = 0.0):
        super().__init__()
        self.clock, self.more = clock, more

    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.clock.spent() > self.clock.limit + self.more

    def is_set(self) -> bool:
        return self.is_over() or super().is_set()


def affordable_rows(
    step: Callable[[int], Any], most: int, clock: Clock, power: int = 2, pilot: int = PILOT
) -> int:
    """The most rows for which ``step(rows)``, whose time grows with a power of them, is in time.

    It is tried with ``pilot`` rows.
    """
    if not clock.limited or most <= pilot:
        return most
    begun = clock.spent()
    step(pilot)
    seconds = max(clock.spent() - begun, 1e-6)
    return int(np.clip(pilot * (clock.left() / seconds) ** (1 / power), pilot, most))
