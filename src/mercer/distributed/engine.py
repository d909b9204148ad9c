"""The interface of a cluster: put, broadcast, map, reduce; optionally keep.

An engine is one class: on_dask.py is the only file that knows Dask, and `ThreadEngine` needs no
cluster. Each task can be run again at any time: each is a function of one partition and of what was
broadcast, and changes neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from mercer.threads import count_jobs, ordered_map


class ClusterLostError(ConnectionError):
    """The cluster has gone away, or has no worker left that can do a task."""


@dataclass(frozen=True)
class Partition:
    """Some rows of a table, with their targets and weights.

    Attributes
    ----------
    number : int
        Which one it is, from 0.
    X, y, weights : array, data frame, list or None
        None for what is not there or not read.

    Examples
    --------
    >>> part = Partition(0, X=[[1.0], [2.0]], y=[0, 1])
    >>> engine = ThreadEngine()
    >>> engine.reduce(list.__add__, engine.map(lambda part: part.y, engine.put([lambda: part])))
    [0, 1]
    """

    number: int
    X: Any
    y: Any = None
    weights: Any = None


class Engine(ABC):
    """Where partitions are stored and tasks run. Abstract: four methods.

    Partitions are handles, which mean what the engine likes. Results do not depend on where a task
    runs, or how often: sums are made in pairs of neighbours, in the order of the partitions.
    """

    #: tasks that it runs at a time
    tasks: int = 1

    @abstractmethod
    def put(self, sources: Sequence[Callable[[], Any]]) -> list[Any]:
        """Handles of the results of functions, which run where the rows are needed."""

    @abstractmethod
    def broadcast(self, value: object) -> Any:
        """A handle of a value that all tasks of a map may read."""

    @abstractmethod
    def map(self, function: Callable, parts: Sequence[Any], *shared: object) -> list[Any]:
        """Handles of ``function(part, *shared)`` for each handle; ``shared`` were broadcast."""

    def keep(self, parts: Sequence[Any]) -> list[Any]:
        """Handles of the same values, computed once for all reductions that read them, and kept
        where they were computed. An engine need not do that; a value that is lost is made anew."""
        return list(parts)

    @abstractmethod
    def reduce(self, function: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
        """The value of ``function`` over all parts, by a tree of pairs; it does the work.

        Raises
        ------
        ClusterLostError
            Too many workers have gone away in the middle.
        """


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

    def broadcast(self, value: object) -> Any:
        return value

    def map(self, function: Callable, parts: Sequence[Any], *shared: object) -> list[Any]:
        return [partial(_done, function, part, shared) for part in parts]

    def keep(self, parts: Sequence[Any]) -> list[Any]:
        return [cache(part) for part in parts]

    def reduce(self, function: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
        return in_pairs(function, ordered_map(lambda part: part(), parts, self.n_jobs))


def itself(value: object) -> Any:
    """What a source returns that has its value already: ``partial(itself, value)``."""
    return value


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
