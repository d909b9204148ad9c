"""The interface of a cluster: put, broadcast, map, reduce; optionally keep.

An engine is one file: on_dask.py is the only one that knows Dask, threads_here.py needs no cluster.
Each task can be run again at any time: each is a function of one partition and of
what was broadcast, and changes neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


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
    def broadcast(self, value: Any) -> Any:
        """A handle of a value that all tasks of a map may read."""

    @abstractmethod
    def map(self, function: Callable, parts: Sequence[Any], *shared: Any) -> list[Any]:
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
