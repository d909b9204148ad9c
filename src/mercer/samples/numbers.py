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


def check_positive(name: str, value: object, other: str = "") -> None:
    """Raise an error if a parameter is not a finite number > 0; ``other``: what else it may be."""
    if not (is_number(value) and 0 < value < np.inf):
        raise ValueError(f"{name}={value!r}: give a finite number > 0{other}.")


def check_not_negative(name: str, value: object, other: str = "") -> None:
    """Raise an error if a parameter is not a finite number >= 0; ``other``: what else it may be."""
    if not (is_number(value) and 0 <= value < np.inf):
        raise ValueError(f"{name}={value!r}: give a finite number >= 0{other}.")


def check_count(name: str, value: object, least: int = 1, *, optional: bool = True) -> None:
    """Raise an error if a parameter is not a whole number >= ``least``, or None if ``optional``."""
    if not ((optional and value is None) or (is_whole(value) and value >= least)):
        raise ValueError(
            f"{name}={value!r}: give a whole number >= {least}{', or None' if optional else ''}."
        )


def check_flag(name: str, value: object) -> None:
    """Raise an error if a parameter is not True or False."""
    if not (isinstance(value, (bool, np.bool_)) or value in (0, 1)):
        raise ValueError(f"{name}={value!r}: give True or False.")
