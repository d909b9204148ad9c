"""Samples that are objects of any type. They are not copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples.frames import as_objects, is_frame
from mercer.samples.vectors import encode_vectors

__all__ = ["Objects", "encode_objects"]


class Objects:
    """Any objects, one for each sample.

    Parameters
    ----------
    values : ndarray of shape (n,), object
    numbers : ndarray of shape (n,), int
        The place of each object in the data that the user gave, for error messages.
    dtype : floating dtype, default=float64
        The dtype in which comparisons are computed.
    """

    def __init__(self, values: np.ndarray, numbers: np.ndarray, dtype: Any = np.float64):
        self.values = values
        self.numbers = numbers
        self.precision = np.dtype(dtype).name  # model files hold names, not dtypes

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.precision)

    @property
    def shape(self) -> tuple[int]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def astype(self, dtype: Any) -> Objects:
        """The same rows, compared in another precision."""
        return Objects(self.values, self.numbers, dtype)

    def __getitem__(self, rows: Any) -> Objects:
        return Objects(self.values[rows], self.numbers[rows], self.dtype)

    def __repr__(self) -> str:
        return f"Objects({len(self)} rows)"


def encode_objects(X: Any, like: Any, reader: str) -> Any:
    """Encode a list, a column or a one-dimensional array as `Objects`.

    A matrix (an array, sparse rows, a data frame of several columns, or a list of lists of the same
    number of numbers) is encoded as vectors, its rows. But if the training samples are objects, a
    list is always a list of objects.
    """
    if _is_matrix(X) and not (isinstance(like, Objects) and isinstance(X, list)):
        return encode_vectors(X, like, reader)
    rows = as_objects(X, "objects", reader)
    values = np.empty(len(rows), object)
    values[:] = rows  # np.array would make a matrix if all tuples have the same length
    return Objects(values, np.arange(len(rows)))


def _is_matrix(X: Any) -> bool:
    if sp.issparse(X) or (is_frame(X) and X.shape[1] != 1):
        return True
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind != "O"
    if isinstance(X, list) and X and all(isinstance(row, list) for row in X):
        numbers = all(isinstance(v, (int, float, np.number)) for row in X for v in row)
        return numbers and len({len(row) for row in X}) == 1
    return hasattr(X, "__array__") and np.ndim(X) == 2 and not is_frame(X)
