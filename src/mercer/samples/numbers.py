"""Which values of parameters count as numbers: True and complex numbers do not."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np


def is_number(value: object) -> TypeGuard[float]:
    """Whether ``value`` is one real number, of Python or NumPy; NaN and infinities count.

    Examples
    --------
    >>> is_number(2), is_number(np.float32(0.5)), is_number(True), is_number("2")
    (True, True, False, False)
    """
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether ``value`` is a whole number of Python or NumPy; 2.0 is none.

    Examples
    --------
    >>> is_whole(2), is_whole(np.int32(2)), is_whole(2.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def float_array(name: str, values: object) -> np.ndarray:
    """``values`` as an array of float64; a TypeError names the parameter if they are no numbers.

    Examples
    --------
    >>> float_array("weights", [1, 2])
    array([1., 2.])
    >>> float_array("weights", "heavy")
    Traceback (most recent call last):
    TypeError: weights='heavy': give real numbers.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise TypeError(f"{name}={values!r}: give real numbers.")
