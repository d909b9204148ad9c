"""What loading the libraries takes: addresses, and seconds. Users learn both before it begins.

A limit such as that of ``ulimit -v`` counts addresses, also those that are never used. Libraries
whose threads find none left wait for ever, abort, or fail to load.
"""

from __future__ import annotations

import os
import warnings
from math import ceil
from time import monotonic
from typing import Any

LIBRARIES = 1_750_000_000  # bytes of addresses that a fit to a small table takes, as measured
THREADS = 100_000_000  # and for each core, whose threads reserve some
LOADS = 2  # least --time, in units of what loading takes: the search and the report take as long
#: all libraries take at least so many times as long as numpy, also on a slow machine: 21 to 28
PARTS = 20


def check_room() -> None:
    """Refuse a limit of this process that leaves too few addresses."""
    try:
        import resource as limits
    except ModuleNotFoundError:  # Windows has no such limit
        return
    resource: Any = limits
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    wanted = LIBRARIES + THREADS * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < wanted:
        raise MemoryError(
            f"this process may use {limit / 1e9:.2g} GB of addresses (ulimit -v), of which loading "
            f"the libraries alone takes about {wanted / 1e9:.2g} GB. Give it more, or no limit; "
            "--memory limits what a fit uses."
        )


def foreseen() -> float:
    """The seconds that loading the libraries will take at least; 0 where they are loaded."""
    began = monotonic()
    import numpy  # noqa: F401

    return PARTS * (monotonic() - began)


def is_short(limit: float, loading: float, tense: str) -> bool:
    """Warn of a ``--time`` that loading mostly uses up; says whether this one is."""
    short = limit < LOADS * loading
    if short:
        warnings.warn(
            f"--time {limit:.3g}s: loading the libraries alone {tense} {loading:.2g} s, so that "
            f"this fit takes longer. Give --time {ceil(LOADS * loading)}s or more.",
            stacklevel=3,
        )
    return short
