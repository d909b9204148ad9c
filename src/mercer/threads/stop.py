"""Tell work that takes long to stop.

A `Stop` is a flag. It is set after Ctrl-C, after an error in another task, or when a search has
enough results. Work runs under a stop (``with stop:``), and so does all work that it starts, also
in other threads. Loops check the flag in one of two ways. A solver that has a best solution so far
calls `stopping` and returns this solution. A computation that is useless before its end calls
`raise_if_stopped` between its steps; a step should take at most half a second. What it raises is a
KeyboardInterrupt, as if the signal had come in this work: no handler of errors takes it for a fault
of the work, and a caller who pressed Ctrl-C sees nothing else, however deep the work was.
"""

from __future__ import annotations

import threading

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
