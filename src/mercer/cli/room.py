"""Whether this process has room for the libraries, which end it without a word where they have not.

A limit such as that of ``ulimit -v`` counts addresses, also those that are never used. Libraries
whose threads find none left wait for ever, abort, or fail to load.
"""

from __future__ import annotations

import os
from typing import Any

LIBRARIES = 1_750_000_000  # bytes of addresses that a fit to a small table takes, as measured
THREADS = 100_000_000  # and for each core, whose threads reserve some


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
