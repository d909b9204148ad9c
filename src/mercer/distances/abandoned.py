"""How a comparison that lasts long hears that nobody waits for it any more.

The scheduler (mercer.gram.schedule) runs every task under an `Abandonment`, and sets it when Ctrl-C
or an error ends the map that the task belongs to. Loops that may last over a second call
`stop_if_abandoned` between native calls, which should last at most half a second each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Abandoned", "Abandonment", "stop_if_abandoned"]

_here = threading.local()


class Abandoned(Exception):
    """Raised in a task whose result nobody will read."""


class Abandonment:
    """A flag that tasks share; those of a map that a task started hear its own flag too."""

    def __init__(self):
        self.above: Abandonment | None = getattr(_here, "abandonment", None)
        self.flag = False

    def set(self) -> None:
        self.flag = True

    def is_set(self) -> bool:
        return self.flag or (self.above is not None and self.above.is_set())

    def run(self, task: Callable[[Any], Any], item: Any) -> Any:
        """task(item), which hears the flag."""
        before = getattr(_here, "abandonment", None)
        _here.abandonment = self
        try:
            return task(item)
        finally:
            _here.abandonment = before


def stop_if_abandoned() -> None:
    """Raise `Abandoned` in a task that was abandoned."""
    abandonment = getattr(_here, "abandonment", None)
    if abandonment is not None and abandonment.is_set():
        raise Abandoned
