"""The time that a report, or a part of it, may take."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from mercer.threads import Stop

PILOT = 100  # rows whose matrix is timed before a larger one is computed
GRACE = 2.0  # seconds by which a first step, which nothing has timed, may exceed its time

T = TypeVar("T")


class Clock:
    """Seconds since it was made, and until ``limit``; None means no limit.

    Examples
    --------
    >>> Clock().left(), Clock(-1.0).share(0.5).left()
    (inf, 0.0)
    """

    def __init__(self, limit: float | None = None):
        self.limit = limit
        self.started = monotonic()

    def spent(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.started

    def left(self) -> float:
        """Seconds until the limit, at least 0."""
        return np.inf if self.limit is None else max(self.limit - self.spent(), 0.0)

    def share(self, part: float) -> Clock:
        """A new clock for a part of the time that is left."""
        return Clock(None if self.limit is None else part * self.left())

    def within(self, step: Callable[[Clock], T]) -> T | None:
        """What a step returns for this clock; None if it was stopped since its time is over."""
        late = _Late(self)
        try:
            with late:
                return step(self)
        except KeyboardInterrupt:
            if not late.is_over() or Stop.is_set(late):  # Ctrl-C
                raise
            return None


class _Late(Stop):
    """A stop that is set when the time of a clock, and a grace, are over."""

    def __init__(self, clock: Clock):
        super().__init__()
        self.clock = clock

    def is_over(self) -> bool:
        limit = self.clock.limit
        return limit is not None and self.clock.spent() > limit + GRACE

    def is_set(self) -> bool:
        return self.is_over() or super().is_set()


def affordable_rows(matrix: Callable[[int], Any], most: int, clock: Clock) -> int:
    """The most rows for which ``matrix(rows)``, whose time grows with their square, is in time."""
    if clock.limit is None or most <= PILOT:
        return most
    begun = clock.spent()
    matrix(PILOT)
    seconds = max(clock.spent() - begun, 1e-6)
    return int(np.clip(PILOT * np.sqrt(clock.left() / seconds), PILOT, most))
