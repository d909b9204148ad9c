"""The time budget of a fit: how users write it, and how much of it is left."""

from __future__ import annotations

import re
from time import monotonic
from typing import Any

import numpy as np

from mercer.threads import Stop

UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


class Budget:
    """A clock that starts when it is made, or ``started`` then, as `time.monotonic` told it.

    The limit is in seconds; infinite for a fit with a fixed number of trials or with a replay.
    """

    def __init__(self, limit: float = np.inf, started: float | None = None):
        self.limit = limit
        self.started = monotonic() if started is None else started

    def spent(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.started

    def left(self) -> float:
        """Seconds until the limit; negative after the limit."""
        return self.limit - self.spent()

    def part(self, share: float, least: float) -> float:
        """The part of the limit that is ``share``, or ``least`` seconds where they are more."""
        return max(share, least / self.limit)


class Deadline(Stop):
    """A stop that is set when the time of a budget is over.

    ``extra`` is the part of the limit by which it may be exceeded.
    """

    def __init__(self, budget: Budget, extra: float = 0.0):
        super().__init__()
        self.budget, self.extra = budget, extra

    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.budget.spent() > (1 + self.extra) * self.budget.limit

    def is_set(self) -> bool:
        return self.is_over() or super().is_set()


def seconds(time: float | str) -> float:
    """The number of seconds of a time such as 90, "120s", "5min" or "1h".

    Examples
    --------
    >>> seconds("5min"), seconds(90)
    (300.0, 90.0)
    """
    value: Any = time
    if isinstance(time, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|sec|m|min|h)?\s*", time.lower())
        value = float(match[1]) * UNITS[match[2] or "s"] if match else None
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise ValueError(
            f'time={time!r}: give a positive number of seconds, or a text such as "120s", "5min".'
        )
    return float(value)
