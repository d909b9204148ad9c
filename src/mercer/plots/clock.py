"""The time that a report, or a part of it, may take."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

PILOT = 100  # rows whose matrix is timed before a larger one is computed


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


def affordable_rows(matrix: Callable[[int], Any], most: int, clock: Clock) -> int:
    """The most rows for which ``matrix(rows)``, whose time grows with their square, is in time."""
    if clock.limit is None or most <= PILOT:
        return most
    begun = clock.spent()
    matrix(PILOT)
    seconds = max(clock.spent() - begun, 1e-6)
    return int(np.clip(PILOT * np.sqrt(clock.left() / seconds), PILOT, most))
