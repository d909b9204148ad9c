"""The one tile scheduler: tasks on a thread pool, BLAS limited to one thread meanwhile.

Results are consumed in the order of the tasks, so that sums are the same whatever the number of
threads, and at most a few are in flight, so that memory stays bounded.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

from mercer.distances.abandoned import Abandonment

__all__ = ["blas_limit", "count_jobs", "ordered_map"]


@cache
def _blas():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def blas_limit(n: int):
    """A context with one BLAS thread where n x n matrices are too small to share the work.

    Below about 1,000 rows the threads of a factorisation wait for each other longer than they
    compute, and much longer when other processes use the cores.
    """
    return _blas().limit(limits=1, user_api="blas") if n < 1000 else nullcontext()


def count_jobs(n_jobs: int | None) -> int:
    """Threads for ``n_jobs`` as scikit-learn reads it; None means all the cores we may use."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        cores = os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs=0: give the number of threads, or -1 for all cores.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def ordered_map(
    task: Callable[[Any], Any],
    items: Iterable,
    n_jobs: int | None,
    stop: Callable[[], Any] | None = None,
) -> Iterator:
    """Yield task(item) in order, computed by ``n_jobs`` threads; at most 2 n_jobs are in flight.

    When the map is abandoned, ``stop`` is called before it waits for the tasks that run; without
    it they are told to give up (see `mercer.distances.abandoned`).
    """
    jobs = count_jobs(n_jobs)
    if jobs == 1:
        yield from map(task, items)
        return
    with _blas().limit(limits=1, user_api="blas"), _threads(jobs) as pool:
        flying: deque = deque()
        abandonment = Abandonment()
        try:
            for item in items:
                flying.append(pool.submit(abandonment.run, task, item))
                if len(flying) >= 2 * jobs:
                    yield flying[0].result()
                    flying.popleft()
            while flying:
                yield flying[0].result()
                flying.popleft()
        finally:
            for future in flying:
                future.cancel()
            if flying:
                (stop or abandonment.set)()
            wait(flying)  # what still runs may write to arrays of the caller


_pools: dict[int, ThreadPoolExecutor] = {}
_here = threading.local()


@contextmanager
def _threads(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """A pool that is kept for the next call, since threads are slow to start.

    A task that asks for threads itself gets a pool of its own: waiting for threads that wait for
    it, it would wait for ever.
    """
    if getattr(_here, "works", False):
        with ThreadPoolExecutor(jobs, initializer=_mark) as pool:
            yield pool
        return
    if jobs not in _pools:
        _pools[jobs] = ThreadPoolExecutor(jobs, "mercer", initializer=_mark)
    yield _pools[jobs]


def _mark() -> None:
    _here.works = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork
