"""Window kernels K(u) of Parzen's method: how much a row at u widths away counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: K(u) for u >= 0, with ∫ K(|u|) du = 1; all except `ENDLESS` are 0 beyond u = 1
WINDOWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rectangular": lambda u: 0.5 * (u <= 1),
    "triangular": lambda u: np.maximum(1 - u, 0),
    "epanechnikov": lambda u: 0.75 * np.maximum(1 - u * u, 0),
    "quartic": lambda u: 15 / 16 * np.maximum(1 - u * u, 0) ** 2,
    "gaussian": lambda u: np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi),
    "exponential": lambda u: 0.5 * np.exp(-u),
    "tricube": lambda u: 70 / 81 * np.maximum(1 - u**3, 0) ** 3,
}

ENDLESS = ("gaussian", "exponential")  # K(u) > 0 for all u


def window(name: str, distances: Any, width: Any) -> np.ndarray:
    """K(ρ / h) for distances ρ and widths h that broadcast against them.

    At a width of 0, only rows at distance 0 count.

    Raises
    ------
    ValueError
        The name is unknown.

    Examples
    --------
    >>> window("triangular", [0.0, 1.0, 4.0], 2.0)
    array([1. , 0.5, 0. ])
    """
    if name not in WINDOWS:
        raise ValueError(f"window={name!r}: give one of {', '.join(map(repr, WINDOWS))}.")
    distances = np.asarray(distances)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = distances / width
        if not np.all(width):  # of a width of 0
            u = np.where(distances > 0, u, 0)
    # where u would overflow, K is 0 anyway
    return WINDOWS[name](np.fmin(u, 1000)).astype(u.dtype, copy=False)
