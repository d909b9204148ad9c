"""Encoded samples one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples.categories import Categories
from mercer.samples.objects import Objects
from mercer.samples.ragged import Ragged
from mercer.samples.table import Table

__all__ = ["joined"]


def joined(X: Any, more: Any) -> Any:
    """The rows of X, then those of ``more``, which were encoded like X; in the precision of X.

    Examples
    --------
    >>> from mercer.samples import as_samples
    >>> X = as_samples(["ab", "c"], "strings")
    >>> joined(X, as_samples(["cd"], "strings", like=X)).values
    array([0, 1, 2, 2, 3], dtype=uint8)
    """
    if isinstance(X, Table):
        return Table(X.groups, [joined(a, b) for a, b in zip(X.parts, more.parts, strict=True)])
    if isinstance(X, Ragged):
        # the new rows know all symbols; those of X have the same codes
        values = np.concatenate([X.values, more.values])
        starts = np.concatenate([X.starts, X.starts[-1] + more.starts[1:]])
        return more._with(values, starts, X.dtype)
    if isinstance(X, Categories):
        return Categories(np.concatenate([X.codes, more.codes]), more.levels, X.dtype, X.known)
    if isinstance(X, Objects):
        numbers = np.concatenate([X.numbers, more.numbers + len(X)])
        return Objects(np.concatenate([X.values, more.values]), numbers, X.dtype)
    if sp.issparse(X) or sp.issparse(more):
        return sp.csr_array(sp.vstack([X, more])).astype(X.dtype)
    if isinstance(X, np.ndarray):
        return np.concatenate([X, more.astype(X.dtype, copy=False)])
    raise TypeError(
        f"{type(X).__name__} cannot be given more rows: fit again with all rows together."
    )
