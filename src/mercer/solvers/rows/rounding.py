"""Which matrices are small enough to be computed at once, and which may be rounded to float32."""

from __future__ import annotations

import numpy as np

from mercer.gram import GramOperator

SMALL = 2048  # with at most this many rows, all of K is computed, and the problem solved at once
ROUNDED_ROWS = 2000  # with this many or more, rows of K are kept in float32 if tol allows it


def is_small(K: GramOperator, cache_bytes: int) -> bool:
    """Whether all of K is computed at once, because this is faster than row by row."""
    n = K.shape[0]
    return K.symmetric and n <= SMALL and n * n * np.dtype(K.dtype).itemsize <= cache_bytes


def rounding_room(tol: float, C: np.ndarray) -> float:
    """The largest relative error of K's entries that optimality within ``tol`` allows.

    (f is a sum of entries with weights up to C.)
    """
    return tol / (10 * max(1.0, float(C.max(initial=0))))


def rounds_to_float32(diag: np.ndarray, room: float) -> bool:
    """Whether K with this diagonal is large, and ``room`` allows to round it to float32."""
    if len(diag) < ROUNDED_ROWS or diag.dtype == np.float32:
        return False
    rounding = float(np.finfo(np.float32).eps) / 2  # relative, at most
    return rounding * float(np.abs(diag).max()) <= room
