"""Solve several machines of one learner in threads; after Ctrl-C their results are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from mercer.solvers.result import Reason, Result
from mercer.threads import Stop, ordered_map, stopping

R = TypeVar("R", bound=Result)


def solve_all(tasks: Sequence[Callable[[], R]], jobs: int) -> list[R]:
    """The results of all tasks, ``jobs`` at a time.

    After Ctrl-C each task, started or not, returns its best result so far, and at least one result
    has the reason ``INTERRUPTED``: also where the signal came between the tasks.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, if no solver had begun, or a task has no result without long work.
    """
    results: dict[int, R] = {}

    def solve(m: int) -> None:
        results[m] = tasks[m]()
        if results[m].reason is Reason.INTERRUPTED and not stopping():
            raise KeyboardInterrupt

    try:
        # several tasks at a time, because each transfer to a thread waits for Python's lock
        step = max(1, len(tasks) // (8 * jobs))
        parts = [range(s, min(s + step, len(tasks))) for s in range(0, len(tasks), step)]
        for _ in ordered_map(lambda part: [*map(solve, part)], parts, jobs):
            pass
    except KeyboardInterrupt:
        if not results:
            raise
        with Stop() as stop:
            stop.set()
            results |= {m: tasks[m]() for m in range(len(tasks)) if m not in results}
        results[0] = replace(results[0], reason=Reason.INTERRUPTED)
    return [results[m] for m in range(len(tasks))]
