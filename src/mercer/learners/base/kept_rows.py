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


def join_rows(A: Any, B: Any) -> Any:
    """The rows of A, then those of B.

    Examples
    --------
    >>> join_rows(["a"], ("b", "c"))
    ['a', 'b', 'c']
    >>> join_rows(np.eye(2), np.ones((1, 2)))
    array([[1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    if sp.issparse(A) or sp.issparse(B):
        return sp.csr_array(sp.vstack([A, B]))
    if is_frame(A) and is_frame(B):
        import narwhals as nw

        parts = [nw.from_native(part, eager_only=True) for part in (A, B)]
        return nw.concat(parts).to_native()
    if all(hasattr(rows, "dtype") and np.ndim(rows) > 1 for rows in (A, B)):
        return np.concatenate([np.asarray(A), np.asarray(B)])
    return [*A, *B]
