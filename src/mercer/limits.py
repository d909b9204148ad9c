"""How users write limits of time and memory. Nothing is loaded for it, which would take long."""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any

UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
         "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip


def seconds(time: float | str) -> float:
    """The number of seconds of a time such as 90, "120s", "5min" or "1h".

    Examples
    --------
    >>> seconds("5min"), seconds(90)
    (300.0, 90.0)
    """
    value: Any = time
    if isinstance(time, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|sec|m|min|h)?\s*", time.lower())
        value = float(match[1]) * UNITS[match[2] or "s"] if match else None
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0:
        raise ValueError(
            f'time={time!r}: give a positive number of seconds, or a text such as "120s", "5min".'
        )
    return float(value)


def memory_size(memory: int | float | str | None) -> int:
    """The number of bytes of a size such as "4GB", "512MiB" or 4e9.

    Examples
    --------
    >>> memory_size("4GB"), memory_size("512MiB")
    (4000000000, 536870912)
    """
    value = memory
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kmgt]?i?)b?\s*", memory.lower())
        if not match:
            raise ValueError(f'memory={memory!r}: give a number of bytes or a text such as "4GB".')
        value = float(match[1]) * BYTES[match[2]]
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ValueError(f"memory={memory!r}: give a positive number of bytes.")
    return int(float(value))
