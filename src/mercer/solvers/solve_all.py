"""Several machines of one learner, solved over threads, that Ctrl-C stops without losing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mercer.solvers.result import Reason, Result
from mercer.threads import Stop, ordered_map, stopping

__all__ = ["solve_all"]

R = TypeVar("R", bound=Result)


def solve_all(tasks: Sequence[Callable[[], R]], jobs: int) -> list[R]:
    """The results of all tasks, ``jobs`` at a time.

    After Ctrl-C each task, begun or not, returns the best that it has; a task that met the
    interrupt itself says so by its result's reason.
    """
    results: dict[int, R] = {}

    def solve(m: int) -> None:
        results[m] = tasks[m]()
        if results[m].reason is Reason.INTERRUPTED and not stopping():
            raise KeyboardInterrupt

    try:
        # several at a time: to hand a task over costs a wait for Python's lock
        step = max(1, len(tasks) // (8 * jobs))
        parts = [range(s, min(s + step, len(tasks))) for s in range(0, len(tasks), step)]
        for _ in ordered_map(lambda part: [*map(solve, part)], parts, jobs):
            pass
    except KeyboardInterrupt:
        with Stop() as stop:
            stop.set()
            results |= {m: tasks[m]() for m in range(len(tasks)) if m not in results}
    return [results[m] for m in range(len(tasks))]
