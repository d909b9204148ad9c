"""Several machines of one learner, solved over threads, that Ctrl-C stops without losing them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from mercer.gram.schedule import ordered_map
from mercer.solvers.result import Reason, Result

__all__ = ["solve_all"]

Stop = Callable[[], bool]
R = TypeVar("R", bound=Result)


def solve_all(tasks: Sequence[Callable[[Stop], R]], jobs: int) -> list[R]:
    """The results of all tasks, ``jobs`` at a time.

    A task is given a function that says whether to stop. After Ctrl-C that is so, and each task,
    begun or not, returns the best that it has; a task that met the interrupt itself says so by its
    result's reason.
    """
    stopped, results = threading.Event(), {}

    def solve(m: int) -> None:
        results[m] = tasks[m](stopped.is_set)
        if results[m].reason is Reason.INTERRUPTED:
            stopped.set()

    try:
        # several at a time: to hand a task over costs a wait for Python's lock
        step = max(1, len(tasks) // (8 * jobs))
        parts = [range(s, min(s + step, len(tasks))) for s in range(0, len(tasks), step)]
        for _ in ordered_map(lambda part: [*map(solve, part)], parts, jobs, stopped.set):
            pass
    except KeyboardInterrupt:
        stopped.set()
        for m in range(len(tasks)):
            if m not in results:
                solve(m)
    return [results[m] for m in range(len(tasks))]
