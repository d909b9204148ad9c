"""How users write times. Nothing is loaded for it, so that a command can read them at once."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

UNITS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


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
