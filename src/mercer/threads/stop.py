"""How work that lasts long hears that it should stop.

A `Stop` is a flag that somebody may set: Ctrl-C, an error beside it, a search that has enough. Work
runs under one (``with stop:``), and what that work starts, also in other threads, hears it too.
Loops ask in one of two ways. A solver that has a best solution so far asks `stopping` and ends with
it. A computation whose half is worth nothing calls `raise_if_stopped` between steps, which should
last at most half a second each.
"""

from __future__ import annotations

import threading

__all__ = ["Stop", "Stopped", "raise_if_stopped", "stopping"]

_here = threading.local()


class Stopped(Exception):
    """Raised in work whose result nobody will read."""


class Stop:
    """A flag that work hears; it is set as well while the one above it is.

    The one above is that of the thread which made it, so that work within work hears both.

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
    """What this thread goes back to when it leaves the stops that it has entered."""
    if not hasattr(_here, "entered"):
        _here.entered = []
    return _here.entered


def stopping() -> bool:
    """Whether the work of this thread should stop and give the best that it has."""
    stop: Stop | None = getattr(_here, "stop", None)
    return stop is not None and stop.is_set()


def raise_if_stopped() -> None:
    """Raise `Stopped` where the work of this thread should stop."""
    if stopping():
        raise Stopped
