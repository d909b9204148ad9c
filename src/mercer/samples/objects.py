"""Samples that are objects of any type. They are not copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.persistence import fields, length_of, whole
from mercer.samples.kind import Kind
from mercer.samples.protocol import Encoded, Samples, SamplesLike
from mercer.samples.raw_data import as_cells, as_objects, describe, is_frame
from mercer.samples.vectors import encode_vectors, is_checked


@fields(values=length_of(lambda rows: len(rows.numbers)), numbers=whole())
class Objects(Encoded):
    """Any objects, one for each sample.

    Parameters
    ----------
    values : ndarray of shape (n,), object
    numbers : ndarray of shape (n,), int
        The place of each object in the data that the user gave, for error messages.
    dtype : floating dtype, default=float64
    """

    by_row = "values", "numbers"

    def __init__(self, values: np.ndarray, numbers: np.ndarray, dtype: DTypeLike = np.float64):
        super().__init__(dtype)
        self.values = values
        self.numbers = numbers

    @classmethod
    def of(cls, rows: list) -> Objects:
        """The objects of a list."""
        return cls(as_cells(rows), np.arange(len(rows)))

    def __repr__(self) -> str:
        return f"Objects({len(self)} rows)"


class ObjectsKind(Kind):
    """Objects of any type, or rows of a matrix, which are vectors."""

    name = "objects"
    looks = "a list of objects, one for each sample"
    encoded = (Objects,)
    coded = True

    def is_encoded(self, X: SamplesLike) -> bool:
        return super().is_encoded(X) or is_checked(X)

    def rows(self, X: Samples, reader: str) -> Any:
        """Rows of floats if X is a matrix, else a list."""
        if _is_matrix(X):
            return encode_vectors(X, None, reader)
        return as_objects(X, self.name, reader)

    def encode(self, X: SamplesLike, like: Samples | None, reader: str) -> Any:
        """Encode a list, a column or a one-dimensional array as `Objects`.

        A matrix (an array, sparse rows, a data frame of several columns, or a list of lists of the
        same number of numbers) is encoded as vectors, its rows. But if the training samples are
        objects, a list is always a list of objects.
        """
        if _is_matrix(X) and not (isinstance(like, Objects) and isinstance(X, list)):
            if isinstance(like, Objects):
                raise TypeError(
                    f"X is {describe(X)}, but the samples that {reader} compares it with are "
                    f"objects: give {self.looks}."
                )
            return encode_vectors(X, like, reader)
        return Objects.of(as_objects(X, self.name, reader))

    def joined(self, X: Objects, more: Objects) -> Objects:
        numbers = np.concatenate([X.numbers, more.numbers + len(X)])
        return X.replace(values=np.concatenate([X.values, more.values]), numbers=numbers)


def _is_matrix(X: Any) -> bool:
    if sp.issparse(X) or (is_frame(X) and X.shape[1] != 1):
        return True
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind != "O"
    if isinstance(X, list) and X and all(isinstance(row, list) for row in X):
        numbers = all(isinstance(v, (int, float, np.number)) for row in X for v in row)
        return numbers and len({len(row) for row in X}) == 1
    return hasattr(X, "__array__") and np.ndim(X) == 2 and not is_frame(X)
