"""Rows of raw samples that a learner of streams keeps, to encode them again with new ones.

Encoded strings, sets and tables of two calls cannot be joined, because symbols that the first
samples lack have other codes in each call. Raw samples can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from mercer.samples import is_frame


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, a list, a column or a data frame.

    Examples
    --------
    >>> take_rows(["a", "b", "c"], np.array([0, 2]))
    ['a', 'c']
    """
    return X[rows] if isinstance(X, np.ndarray) or sp.issparse(X) else _safe_indexing(X, rows)


def join_rows(*parts: Any) -> Any:
    """The rows of the first part, then those of the next, and so on.

    Examples
    --------
    >>> join_rows(["a"], ("b", "c"))
    ['a', 'b', 'c']
    >>> join_rows(np.eye(2), np.ones((1, 2)))
    array([[1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    if len(parts) == 1:
        return parts[0]
    if any(map(sp.issparse, parts)):
        return sp.csr_array(sp.vstack(parts))
    if all(map(is_frame, parts)):
        import narwhals as nw

        frames = [nw.from_native(part, eager_only=True) for part in parts]
        return nw.concat(frames).to_native()
    if all(hasattr(rows, "dtype") and np.ndim(rows) > 1 for rows in parts):
        return np.concatenate([np.asarray(part) for part in parts])
    return [row for part in parts for row in part]


def row_range(X: Any, start: int, stop: int) -> Any:
    """The rows from ``start`` up to ``stop``; of an array they are no copies.

    Examples
    --------
    >>> row_range(["a", "b", "c"], 1, 3)
    ['b', 'c']
    """
    if start == 0 and stop >= count_rows(X):
        return X
    if is_frame(X):
        import narwhals as nw

        return nw.from_native(X, eager_only=True)[start:stop].to_native()
    return X[start:stop]


def count_rows(X: Any) -> int:
    """How many rows an array, a list, a column or a data frame has.

    Examples
    --------
    >>> count_rows(["a", "b"]), count_rows(np.ones((3, 2)))
    (2, 3)
    """
    return X.shape[0] if hasattr(X, "shape") else len(X)
