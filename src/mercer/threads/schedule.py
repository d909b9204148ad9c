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
from contextlib import contextmanager
from functools import cache
from itertools import chain, islice
from typing import Any

from mercer.threads.stop import Stop

__all__ = ["blas_limit", "count_jobs", "ordered_map"]


@cache
def _blas():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def blas_limit(n: int) -> Iterator[None]:
    """A context with one BLAS thread where n x n matrices are too small to share the work.

    Below about 1,000 rows the threads of a factorisation wait for each other longer than they
    compute, and much longer when other processes use the cores.
    """
    if n >= 1000 or getattr(_here, "limited", False):  # a limit takes time to set
        yield
        return
    with _blas().limit(limits=1, user_api="blas"):
        _here.limited = True
        try:
            yield
        finally:
            _here.limited = False


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


def ordered_map(task: Callable[[Any], Any], items: Iterable, n_jobs: int | None) -> Iterator:
    """Yield task(item) in order, computed by ``n_jobs`` threads; at most 2 n_jobs are in flight.

    Tasks run under a `Stop` of their own, which is set when the map is left before its end: those
    that still run are told to stop, and are waited for.
    """
    items = iter(items)
    first = list(islice(items, 2))  # a single task needs no thread
    jobs, share = (1, 1) if len(first) < 2 else _threads_here(count_jobs(n_jobs))
    if jobs == 1:
        yield from map(task, chain(first, items))
        return
    with _blas().limit(limits=1, user_api="blas"), _threads(jobs) as pool:
        flying: deque = deque()
        stop = Stop()

        def run(item: Any) -> Any:
            _here.share, _here.limited = share, True
            with stop:
                return task(item)

        try:
            for item in chain(first, items):
                flying.append(pool.submit(run, item))
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
                stop.set()
            wait(flying)  # what still runs may write to arrays of the caller


def _threads_here(wanted: int) -> tuple[int, int]:
    """How many threads a map may have that is started here, and how many each of its tasks.

    A task that starts a map of its own shares its threads with the tasks beside it: with as many
    tasks as cores, its map runs in its own thread.
    """
    own = getattr(_here, "share", None)
    jobs = wanted if own is None else min(wanted, own)
    return jobs, max(1, (count_jobs(None) if own is None else own) // jobs)


_pools: dict[int, ThreadPoolExecutor] = {}
_here = threading.local()


@contextmanager
def _threads(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """A pool that is kept for the next call, since threads are slow to start.

    A task that asks for threads itself gets a pool of its own: waiting for threads that wait for
    it, it would wait for ever.
    """
    if hasattr(_here, "share"):
        with ThreadPoolExecutor(jobs) as pool:
            yield pool
        return
    if jobs not in _pools:
        _pools[jobs] = ThreadPoolExecutor(jobs, "mercer")
    yield _pools[jobs]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork
