"""Values too large or small for floats, as pairs (m, e) of mantissa and exponent: m · 2^e."""

from __future__ import annotations

import numpy as np

LN2 = float(np.log(2))
Scaled = tuple[np.ndarray, np.ndarray]  # float64 and int64, of the same shape


def values(scaled: Scaled, dtype: np.dtype) -> np.ndarray:
    """m · 2^e in a dtype; a value outside its range becomes infinite or 0."""
    m, e = scaled
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(m, np.clip(e, -(2**30), 2**30).astype(np.int32)).astype(dtype, copy=False)


def logarithms(scaled: Scaled) -> np.ndarray:
    """log(abs(m · 2^e)); -inf for 0."""
    m, e = scaled
    with np.errstate(divide="ignore"):
        return np.log(np.abs(m)) + LN2 * e


def from_logs(logs: np.ndarray) -> Scaled:
    """exp(logs) as pairs (m, e), for logarithms of any size."""
    e = np.rint(np.asarray(logs, np.float64) / LN2)
    return np.exp(logs - LN2 * e), e.astype(np.int64)


def multiplied(scaled: Scaled, factor: np.ndarray) -> Scaled:
    """The pairs times plain numbers."""
    m, e = scaled
    m, shift = np.frexp(m * factor)
    return m, e + shift


def root(diag: Scaled) -> Scaled:
    """(r, h) with r · 2^-h = 1 / √(m · 2^e); r = 0 where m = 0.

    It takes no logarithm, because that would lose digits.
    """
    m, e = diag
    odd = e & 1
    m = np.ldexp(m, odd.astype(np.int32))
    return np.where(m > 0, 1 / np.sqrt(np.where(m > 0, m, 1)), 0), (e - odd) // 2
