"""The scheduler: it runs tasks on a thread pool, and limits BLAS to one thread meanwhile.

Results are used in the order of the tasks, so that sums do not depend on the number of threads.
Only a few results wait at the same time, so that memory stays bounded. `fitting` allows one fit of
an object at a time, and limits BLAS to ``n_jobs`` threads during it.

BLAS has one number of threads for the whole process. Two pieces of work that each set it and set it
back, one within the other's time, leave it wrong; so all limits that hold at a time are known here.
The smallest one counts, and the last to end restores what was there before.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from numbers import Integral
from time import perf_counter
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from mercer.threads.clock import Stop

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


MEASURED = (256, 512, 1024)  # rows of the matrices on which the threads are timed
HOPELESS, SHORT = 4, 0.01  # times as slow, and seconds, from which on larger ones are not tried
TRUSTED = 50  # times as long as it took, a measurement counts: a 50th of the time at most

_blas_lock = threading.Lock()
_limits: list[_Limit] = []
_before: dict[Any, int] = {}  # libraries, and the threads they had before the first of these limits


@dataclass(eq=False)
class _Limit:
    """A number of threads that some work asked for."""

    number: int
    exactly: bool
    ended: bool = False


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def blas_threads(number: int, *, exactly: bool = False) -> Iterator[None]:
    """Context in which BLAS uses at most so many threads.

    Or exactly as many, also where a variable such as OPENBLAS_NUM_THREADS gave it fewer: sums of
    more threads round otherwise. The smallest number counts of those that hold at a time.

    Examples
    --------
    >>> import numpy as np
    >>> with blas_threads(1):
    ...     _ = np.eye(3) @ np.eye(3)  # in one thread
    """
    limit = _Limit(number, exactly)
    try:
        _limits.append(limit)
        _apply()
        yield
    finally:
        limit.ended = True  # first of all: Ctrl-C may come in any call
        try:
            _apply()
        except KeyboardInterrupt:
            _apply()
            raise


@contextmanager
def paying_threads() -> Iterator[None]:
    """Context with one BLAS thread if several are slower now, as beside other processes.

    Threads of BLAS wait for each other without end where one of them has no core to run on; then
    factorisations take up to 20 times as long as in one thread. Measuring takes about 0.03 s, and
    up to half a second on a busy machine, and is not done again for 50 times as long.

    Examples
    --------
    >>> with paying_threads():
    ...     _ = np.linalg.cholesky(np.eye(2000))
    """
    with nullcontext() if _several_pay() else blas_threads(1):
        yield


@dataclass
class _Verdict:
    """What the last measurement has shown, and until when it is taken as true."""

    several: bool = True
    until: float = 0.0


_verdict = _Verdict()


def _several_pay() -> bool:
    """Whether several threads pay, as measured now or a short time ago: measuring takes time."""
    began = perf_counter()
    if began >= _verdict.until:
        _verdict.several = _measured()
        ended = perf_counter()
        _verdict.until = ended + TRUSTED * (ended - began)
    return _verdict.several


def _measured() -> bool:
    """Whether several threads of BLAS are at least as fast here as one."""
    several, alone = 0.0, 0.0
    for rows in MEASURED:
        A = np.eye(rows, dtype=np.float32)

        def seconds(A: np.ndarray = A) -> float:
            start = perf_counter()
            np.linalg.cholesky(A)
            return perf_counter() - start

        with blas_threads(1):
            alone = min(seconds(), seconds())
        several = seconds()
        if several > max(HOPELESS * alone, SHORT):
            return False
    return several <= alone


def _apply() -> None:
    """Give BLAS the number of the limits that hold. Where it is cut, the next call mends it."""
    with _blas_lock:
        _limits[:] = [each for each in _limits if not each.ended]
        if _limits and not _before:
            libraries = (each for each in _blas().lib_controllers if each.user_api == "blas")
            _before.update([(each, each.num_threads) for each in libraries])
        exact = [each.number for each in _limits if each.exactly]
        every = [each.number for each in _limits]
        for library, before in _before.items():
            wanted = min([min(exact, default=before), *every])  # never raises the number
            if library.num_threads != wanted:
                library.set_num_threads(wanted)
            # From version 3.8 on, threadpoolctl ignores other threads than the one that set a
            # number first, until that one lets go. Here any thread may be the next.
            let_go = getattr(library, "clear_controlling_thread", None)
            if let_go is not None:
                let_go()
        if not _limits:
            _before.clear()


def _after_fork() -> None:
    """No thread of the parent is there to end its limit, which stays: a child shares the cores."""
    global _blas_lock
    _blas_lock = threading.Lock()
    _limits.clear()
    _before.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def blas_limit(n: int) -> AbstractContextManager[None]:
    """Context with one BLAS thread if n x n matrices are too small for several threads.

    Below about 1,000 rows the threads of a factorisation wait for each other longer than they
    compute. Where other processes use the cores they wait ten times as long, up to 1,500 rows and
    more.
    """
    limited = n >= 1500 or getattr(_here, "limited", False)  # setting a limit takes time
    return nullcontext() if limited else _one_blas_thread()


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Run the block with one thread of BLAS."""
    with blas_threads(1):
        _here.limited = True
        try:
            yield
        finally:
            _here.limited = False


def blas_share(n_jobs: int | None) -> AbstractContextManager[None]:
    """Context of work with ``n_jobs``, which BLAS keeps to as well.

    With a number of threads BLAS has exactly as many, but not more than there are cores: so the
    result is the same to the last bit in every process, also where joblib or a variable of the
    environment gave BLAS fewer. None leaves BLAS alone, as it is within `blas_limit`.
    """
    if n_jobs is None or getattr(_here, "limited", False):
        return nullcontext()
    return blas_threads(min(count_jobs(n_jobs), cores()), exactly=n_jobs > 0)


@contextmanager
def one_thread() -> Iterator[None]:
    """Context of a task beside others that use the other cores: maps, and BLAS, use one thread.

    Examples
    --------
    >>> with one_thread():
    ...     names = set(ordered_map(lambda _: threading.current_thread().name, range(9), None))
    >>> names == {threading.current_thread().name}
    True
    """
    before = getattr(_here, "share", None)
    with blas_threads(1):
        _here.share = 1
        try:
            yield
        finally:
            if before is None:
                del _here.share
            else:
                _here.share = before


def cores() -> int:
    """Number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def count_jobs(n_jobs: int | None) -> int:
    """Number of threads for ``n_jobs``, as in scikit-learn; None means all cores of the process.

    Where several workers of joblib share the cores (``GridSearchCV(n_jobs=4)``), None means this
    worker's share of them, from which negative numbers count back.
    """
    if n_jobs is None:
        return min(cores(), _share_of_worker() or cores())
    if not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs={n_jobs!r}: give the number of threads, or None for all cores.")
    if n_jobs == 0:
        raise ValueError("n_jobs=0: give the number of threads, or -1 for all cores.")
    return int(n_jobs) if n_jobs > 0 else max(1, count_jobs(None) + 1 + int(n_jobs))


def _share_of_worker() -> int | None:
    """Threads that joblib leaves to each of its workers; None outside of them."""
    if "joblib.parallel" not in sys.modules:
        return None
    from joblib.parallel import get_active_backend

    backend: Any = get_active_backend()[0]
    if not backend.nesting_level:
        return None
    # its processes are told their share of the cores in this variable; threads are told nothing
    process = multiprocessing.parent_process() is not None
    told = os.environ.get("OMP_NUM_THREADS", "") if process else ""
    return int(told) if told.isdecimal() and int(told) else 1


def ordered_map(task: Callable[[Any], Any], items: Iterable, n_jobs: int | None) -> Iterator:
    """Yield task(item) in order, computed by ``n_jobs`` threads, at most 2 n_jobs ahead.

    Tasks run under their own `Stop`, and under the caller's `numpy.errstate`. If the caller leaves
    the map before its end, the stop is set, and the map waits for the tasks that still run. Next
    to other items, ``zip(..., strict=True)`` takes it to its end.
    """
    items = iter(items)
    first = list(islice(items, 2))  # a single task needs no thread
    jobs, share = (1, 1) if len(first) < 2 else _threads_here(count_jobs(n_jobs))
    if jobs == 1:
        with blas_share(n_jobs):
            yield from map(task, chain(first, items))
        return
    with blas_threads(1), _threads(jobs) as pool:
        flying: deque = deque()
        stop = Stop()

        def run(item: object) -> Any:
            _here.share, _here.limited = share, True
            with stop:
                return task(item)

        try:
            for item in chain(first, items):
                flying.append(pool.submit(copy_context().run, run, item))
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
            wait(flying)  # running tasks may write to arrays of the caller


THREADED = 2**20  # bytes, which a core passes over in the time that a task needs to find a thread


def jobs_for(nbytes: int, n_jobs: int | None) -> int | None:
    """``n_jobs`` for one pass over so many bytes: 1 where a thread takes longer to be woken."""
    return 1 if nbytes <= THREADED else n_jobs


def jobs_here(n_jobs: int | None) -> int:
    """How many threads `ordered_map` with ``n_jobs`` would use in this thread."""
    return _threads_here(count_jobs(n_jobs))[0]


def _threads_here(wanted: int) -> tuple[int, int]:
    """How many threads a map that starts here may use, and how many each of its tasks may use.

    Tasks that start their own maps share the threads. With as many tasks as cores, the map of a
    task runs in the task's own thread.
    """
    own = getattr(_here, "share", None)
    jobs = wanted if own is None else min(wanted, own)
    return jobs, max(1, (count_jobs(None) if own is None else own) // jobs)


_pools: dict[int, ThreadPoolExecutor] = {}
_here = threading.local()


@contextmanager
def _threads(jobs: int) -> Iterator[ThreadPoolExecutor]:
    """A pool that is kept for the next call, because threads are slow to start.

    A task that itself needs threads gets a new pool. In the same pool it could wait for ever for
    threads that wait for it.
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


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=Any)

_lock = threading.Lock()
_fitted_by: dict[int, int] = {}  # the thread that fits an object, by the object's id


def fitting(fit: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Decorate the ``fit`` of an estimator with a parameter ``n_jobs``.

    Two fits of one object at the same time would mix their results, so the second one raises
    RuntimeError. BLAS keeps to ``n_jobs`` as well: see `blas_share`.
    """

    @functools.wraps(fit)
    def alone(self: S, *arguments: P.args, **options: P.kwargs) -> R:
        with _claimed(self), blas_share(getattr(self, "n_jobs", None)):
            return fit(self, *arguments, **options)

    return alone


def forget(estimator: Any, kept: Collection[str] = ()) -> None:
    """Drop what an earlier fit found: mixed with a fit that was cut short it is not a model."""
    found = vars(estimator)
    for name in [n for n in found if n[-1] == "_" and n not in kept]:
        del found[name]


@contextmanager
def _claimed(estimator: BaseEstimator) -> Iterator[None]:
    """Refuse to fit an object that another thread fits."""
    me, key = threading.get_ident(), id(estimator)
    with _lock:
        other = _fitted_by.get(key)
        if other is None:
            _fitted_by[key] = me
    if other is not None and other != me:
        raise RuntimeError(
            f"{type(estimator).__name__} is being fitted by another thread: fit an object of its "
            "own in each thread, sklearn.base.clone(estimator)."
        )
    try:
        yield
    finally:
        if other is None:
            with _lock:
                del _fitted_by[key]
