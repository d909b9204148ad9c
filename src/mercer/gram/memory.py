"""The memory budget: what ``memory=`` means, and how much memory this process may use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mercer.samples import is_number

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
         "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip


#: bytes that are always assumed to be free: to measure free memory takes a millisecond
FEW = 2**25


def memory_budget(memory: int | float | str | None = None, wanted: int | float = np.inf) -> int:
    """The number of bytes that ``memory`` means.

    Parameters
    ----------
    memory : int, float, str or None
        A number of bytes, or a text such as "4GB" or "500 MB"; None means half of the free memory.
    wanted : int or float
        The most bytes that the caller can use. If they are few and ``memory`` is None, free memory
        is not measured.

    Examples
    --------
    >>> memory_budget("4GB"), memory_budget("512MiB")
    (4000000000, 536870912)
    """
    if memory is None:
        return FEW if wanted <= FEW else available_memory() // 2
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kmgt]?i?)b?\s*", memory.lower())
        if not match:
            raise ValueError(f'memory={memory!r}: give a number of bytes or a text such as "4GB".')
        memory = float(match[1]) * UNITS[match[2]]
    if not (is_number(memory) and 0 < memory < np.inf):
        raise ValueError(f"memory={memory!r}: give a positive number of bytes.")
    return int(memory)


def in_megabytes(size: float) -> str:
    """Bytes as a text that ``memory=`` takes, rounded up.

    Examples
    --------
    >>> in_megabytes(1_500_000)
    '"2MB"'
    """
    return f'"{-(-int(size) // 10**6)}MB"'


def available_memory() -> int:
    """Bytes that this process may still use: free memory within the limits of its cgroups."""
    import psutil

    system = psutil.virtual_memory()
    free = system.available
    for folder, limit, used in _cgroups():
        try:
            most = int((folder / limit).read_text())
            if most >= system.total:  # no limit: what else it says takes long to read
                continue
            room = most - int((folder / used).read_text())
        except (OSError, ValueError):  # no such cgroup, or its limit is "max"
            continue
        free = min(free, room + _given_back(folder))
    return max(free, 0)


def _given_back(cgroup: Path) -> int:
    """Bytes of cached files of a cgroup, which the system frees when memory is short."""
    try:
        text = (cgroup / "memory.stat").read_text()
    except OSError:
        return 0
    found = dict(line.split() for line in text.splitlines() if len(line.split()) == 2)
    return int(found.get("total_inactive_file", found.get("inactive_file", 0)))


def _cgroups() -> Iterator[tuple[Path, str, str]]:
    """Yield each cgroup of this process and its parents, with the names of its two files.

    The limits of all of them apply. Lines of /proc/self/cgroup are number:controllers:path; in
    version 2 the number is 0 and controllers is empty (cgroups(7)).
    """
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            root, files = Path("/sys/fs/cgroup"), ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root = Path("/sys/fs/cgroup/memory")
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        own = root / path.lstrip("/")
        for folder in (own, *own.parents):
            yield folder, files[0], files[1]
            if folder == root:
                break
