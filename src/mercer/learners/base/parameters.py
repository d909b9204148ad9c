"""Checks of the parameters that several learners have, so that an error names the parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer.samples import is_number, is_whole


def check_positive(name: str, value: Any, other: str = "") -> None:
    """Raise an error if a parameter is not a finite number > 0; ``other``: what else it may be."""
    if not (is_number(value) and 0 < value < np.inf):
        raise ValueError(f"{name}={value!r}: give a finite number > 0{other}.")


def check_not_negative(name: str, value: Any, other: str = "") -> None:
    """Raise an error if a parameter is not a finite number >= 0; ``other``: what else it may be."""
    if not (is_number(value) and 0 <= value < np.inf):
        raise ValueError(f"{name}={value!r}: give a finite number >= 0{other}.")


def is_auto(value: Any) -> bool:
    """Whether a parameter leaves the choice to the learner; arrays do not."""
    return isinstance(value, str) and value == "auto"


def check_count(name: str, value: Any, least: int = 1, *, optional: bool = True) -> None:
    """Raise an error if a parameter is not a whole number >= ``least``, or None if ``optional``."""
    if not ((optional and value is None) or (is_whole(value) and value >= least)):
        raise ValueError(
            f"{name}={value!r}: give a whole number >= {least}{', or None' if optional else ''}."
        )


def check_flag(name: str, value: Any) -> None:
    """Raise an error if a parameter is not True or False."""
    if not (isinstance(value, (bool, np.bool_)) or value in (0, 1)):
        raise ValueError(f"{name}={value!r}: give True or False.")


def drawn_seed(random_state: Any) -> int:
    """A seed for generators that take a whole number, drawn from ``random_state``."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_seed(value: Any) -> None:
    """Raise an error if ``random_state`` seeds no generator of random numbers."""
    try:
        check_random_state(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={value!r}: give a whole number from 0 to 2**32 - 1, a "
            "numpy.random.RandomState, or None."
        ) from None
