"""The time budget of a fit: how much of it is left."""

from __future__ import annotations

from time import monotonic

import numpy as np

from mercer.threads import Stop


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
