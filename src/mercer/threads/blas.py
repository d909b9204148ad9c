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
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

MEASURED = (256, 512, 1024)  # rows of the matrices on which the threads are timed
HOPELESS, SHORT = 4, 0.01  # times as slow, and seconds, from which on larger ones are not tried
TRUSTED = 50  # times as long as it took, a measurement counts: a 50th of the time at most

_lock = threading.Lock()
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
    """As measured, or as told not long ago: what is measured often would take much of the time."""
    began = perf_counter()
    if began >= _verdict.until:
        _verdict.several = _measured()
        ended = perf_counter()
        _verdict.until = ended + TRUSTED * (ended - began)
    return _verdict.several


def _measured() -> bool:
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
    with _lock:
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
    global _lock
    _lock = threading.Lock()
    _limits.clear()
    _before.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
