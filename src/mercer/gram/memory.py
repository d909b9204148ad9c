"""The memory budget: what ``memory=`` means, and how much this process may take."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["available_memory", "memory_budget"]

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
         "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip


def memory_budget(memory: int | float | str | None = None) -> int:
    """Bytes for ``memory``: a number of bytes, "4GB", "500 MB", or None for half of what is free.

    Examples
    --------
    >>> memory_budget("4GB"), memory_budget("512MiB")
    (4000000000, 536870912)
    """
    if memory is None:
        return available_memory() // 2
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?i?)b?\s*", memory.lower())
        if not match:
            raise ValueError(f'memory={memory!r}: give bytes or a text such as "4GB".')
        memory = float(match[1]) * UNITS[match[2]]
    if not memory > 0:
        raise ValueError(f"memory={memory!r}: give a positive number of bytes.")
    return int(memory)


def available_memory() -> int:
    """Bytes that this process may still take: what is free, within the cgroup's limit."""
    import psutil

    free = psutil.virtual_memory().available
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),  # cgroup v2
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            free = min(free, int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # no such cgroup, or its limit is "max"
            continue
    return max(free, 0)
