"""The engine that needs no cluster: threads of this process work on partitions in turn.

Only as many partitions as there are threads, a few sums, and what is kept are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from mercer.distributed.engine import Engine
from mercer.threads import count_jobs, ordered_map


class ThreadEngine(Engine):
    """Tasks as threads of this process.

    Parameters
    ----------
    n_jobs : int or None
        Threads; None means all cores.

    Examples
    --------
    >>> from operator import add
    >>> engine = ThreadEngine()
    >>> parts = engine.put([partial(range, 3), partial(range, 4)])
    >>> engine.reduce(add, engine.map(sum, parts))
    9
    """

    def __init__(self, n_jobs: int | None = None):
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        return f"ThreadEngine(n_jobs={self.n_jobs})"

    @property
    def tasks(self) -> int:  # type: ignore[override]
        return count_jobs(self.n_jobs)

    def put(self, sources: Sequence[Callable[[], Any]]) -> list[Any]:
        return list(sources)

    def broadcast(self, value: Any) -> Any:
        return value

    def map(self, function: Callable, parts: Sequence[Any], *shared: Any) -> list[Any]:
        return [partial(_done, function, part, shared) for part in parts]

    def keep(self, parts: Sequence[Any]) -> list[Any]:
        return [cache(part) for part in parts]

    def reduce(self, function: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
        return in_pairs(function, ordered_map(lambda part: part(), parts, self.n_jobs))


def _done(function: Callable, part: Callable[[], Any], shared: Sequence[Any]) -> Any:
    return function(part(), *shared)


def in_pairs(function: Callable[[Any, Any], Any], values: Iterator[Any]) -> Any:
    """The value of a tree of pairs of neighbours, with as few values at a time as it has levels.

    Examples
    --------
    >>> in_pairs(lambda a, b: f"({a}{b})", iter("abcde"))
    '(((ab)(cd))e)'
    """
    waiting: list[tuple[int, Any]] = []  # (level, value), the levels descend
    for value in values:
        level = 0
        while waiting and waiting[-1][0] == level:
            value, level = function(waiting.pop()[1], value), level + 1
        waiting.append((level, value))
    if not waiting:
        raise ValueError("there are no partitions: give at least one row.")
    total = waiting.pop()[1]
    while waiting:
        total = function(waiting.pop()[1], total)
    return total
