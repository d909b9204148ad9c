"""What counts as a number where a parameter is asked for: True and complex numbers do not."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_number", "is_whole"]


def is_number(value: Any) -> bool:
    """Whether ``value`` is one real number, of Python or NumPy; NaN and infinities count.

    Examples
    --------
    >>> is_number(2), is_number(np.float32(0.5)), is_number(True), is_number("2")
    (True, True, False, False)
    """
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number of Python or NumPy; 2.0 is none.

    Examples
    --------
    >>> is_whole(2), is_whole(np.int32(2)), is_whole(2.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
