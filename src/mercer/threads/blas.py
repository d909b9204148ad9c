"""How many threads the BLAS of this process uses, whichever of our threads ask for it.

BLAS has one number for the whole process. Two pieces of work that each set it and set it back, one
within the other's time, leave it wrong; so all limits that hold at a time are known here. The
smallest one counts, and the last to end restores what was there before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

__all__ = ["blas_threads", "paying_threads"]

MEASURED = (256, 512, 1024)  # rows of the matrices on which the threads are timed
HOPELESS, SHORT = 4, 0.01  # times as slow, and seconds, from which on larger ones are not tried

_lock = threading.Lock()
_limits: list[tuple[int, bool]] = []  # numbers, and whether they are upper limits only
_most = 1  # what BLAS used before the first of these; upper limits never raise it
_set: Any = None  # the limiter of threadpoolctl that holds now, which can restore the number


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
    limit = (number, not exactly)
    _change(limit, _limits.append)
    try:
        yield
    finally:
        _change(limit, _limits.remove)


@contextmanager
def paying_threads() -> Iterator[None]:
    """Context with one BLAS thread if several are slower now, as beside other processes.

    Threads of BLAS wait for each other without end where one of them has no core to run on; then
    factorisations take up to 20 times as long as in one thread. Takes about 0.03 s, and on a busy
    machine little more: it begins with small matrices, which tell as much.

    Examples
    --------
    >>> with paying_threads():
    ...     _ = np.linalg.cholesky(np.eye(2000))
    """
    with nullcontext() if _several_pay() else blas_threads(1):
        yield


def _several_pay() -> bool:
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


def _change(limit: tuple[int, bool], how: Any) -> None:
    global _set, _most
    with _lock:
        before = min(_limits, default=None)
        how(limit)
        after = min(_limits, default=None)
        if after == before:
            return
        if after is None:
            _set.restore_original_limits()
            _set = None
        elif _set is None:
            found = [each for each in _blas().lib_controllers if each.user_api == "blas"]
            _most = max((each.num_threads for each in found), default=1)
            _set = _blas().limit(limits=_threads_of(after), user_api="blas")
        else:
            # the new one starts from the number of the old one, which alone knows the first
            _blas().limit(limits=_threads_of(after), user_api="blas")
        # From version 3.8 on, threadpoolctl ignores other threads than the one that set a limit
        # first, until that one lets go. Here any thread may be the next.
        for library in _blas().lib_controllers:
            let_go = getattr(library, "clear_controlling_thread", None)
            if let_go is not None:
                let_go()


def _threads_of(limit: tuple[int, bool]) -> int:
    number, upper = limit
    return min(number, _most) if upper else number


def _after_fork() -> None:
    """No thread of the parent is there to end its limit, which stays: a child shares the cores."""
    global _lock, _set
    _lock, _set = threading.Lock(), None
    _limits.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
