"""Whether a time has room for loading the libraries, which is told before they are loaded.

The first of them is small, and takes a part of what all take that is nearly the same on a fast
machine, on a slow one, and beside other processes.
"""

from __future__ import annotations

import warnings
from math import ceil
from time import monotonic

LOADS = 2  # least --time, in units of what loading takes: the search and the report take as long
PARTS = 20  # all libraries take at least so many times as long as numpy: 21 to 28, as measured


def foreseen() -> float:
    """The seconds that loading the libraries will take at least; 0 where they are loaded."""
    began = monotonic()
    import numpy  # noqa: F401

    return PARTS * (monotonic() - began)


def is_short(limit: float, loading: float, tense: str) -> bool:
    """Warn of a ``--time`` in which little but loading has room; says whether it is one."""
    short = limit < LOADS * loading
    if short:
        warnings.warn(
            f"--time {limit:.3g}s: loading the libraries alone {tense} {loading:.2g} s, so that "
            f"this fit takes longer. Give --time {ceil(LOADS * loading)}s or more.",
            stacklevel=3,
        )
    return short
