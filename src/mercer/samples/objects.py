"""Samples that are kept as they are: objects of any type, and rows of a precomputed matrix, the
k of each pair."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer.persistence import fields, length_of, number, optional, whole
from mercer.samples.kind import Kind
from mercer.samples.numbers import float_array
from mercer.samples.protocol import Encoded, Samples, SamplesLike
from mercer.samples.raw_data import as_cells, as_objects, describe, is_frame, reading_numbers
from mercer.samples.table import Table
from mercer.samples.vectors import as_rows, encode_vectors, is_checked


@fields(values=length_of(lambda rows: len(rows.numbers)), numbers=whole())
class Objects(Encoded):
    """Any objects, one for each sample.

    Parameters
    ----------
    values : ndarray of shape (n,), object
    numbers : ndarray of shape (n,), int
        The place of each object in the data that the user gave, for error messages.
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> X = Objects(np.array([print, len], object), np.arange(2))
    >>> X[1:].values[0]([7, 8])
    2
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
    """Whether X is a matrix, whose rows would be no objects of their own."""
    if sp.issparse(X) or (is_frame(X) and X.shape[1] != 1):
        return True
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind != "O"
    if isinstance(X, list) and X and all(isinstance(row, list) for row in X):
        numbers = all(isinstance(v, (int, float, np.number)) for row in X for v in row)
        return numbers and len({len(row) for row in X}) == 1
    return hasattr(X, "__array__") and np.ndim(X) == 2 and not is_frame(X)


@fields(
    rows=whole(lambda found: None if found.matrix is None else found.matrix.shape[0]),
    columns=optional(whole(lambda found: found.width, length=len)),
    width=number(),
)
class MatrixRows(Encoded):
    """Some rows of a matrix that holds k between new samples and the training samples.

    Parameters
    ----------
    matrix : ndarray or sparse rows of shape (m, n), or None
        The values of k; sparse where only some of them are known. None if they are not needed any
        more, because predictions read only the matrix of new samples.
    rows : ndarray of shape (k,), int
        The row of each sample in the matrix.
    columns : ndarray of shape (k,), int, or None
        The column of each sample in this matrix and in matrices of other samples. None for samples
        that are not training samples.
    width : int
        The number n of training samples.
    dtype : floating dtype

    Examples
    --------
    >>> K = np.eye(4)
    >>> MatrixRows.of(K)[1:3]
    MatrixRows(2 rows of a matrix with 4 columns)
    """

    def __init__(
        self,
        matrix: Any,
        rows: np.ndarray,
        columns: np.ndarray | None,
        width: int,
        dtype: DTypeLike,
    ):
        super().__init__(dtype)
        self.matrix, self.rows, self.columns, self.width = matrix, rows, columns, width

    @classmethod
    def of(cls, K: np.ndarray) -> MatrixRows:
        """All rows of the square matrix of the training samples."""
        every = np.arange(len(K))
        return cls(K, every, every, len(K), K.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return (len(self.rows), self.width)

    def __getitem__(self, rows: Any) -> MatrixRows:
        chosen, columns = self.rows[rows], None
        if self.columns is not None:
            columns = chosen if self.columns is self.rows else self.columns[rows]
        return self.replace(rows=chosen, columns=columns)

    def without_values(self) -> MatrixRows:
        """The same rows without their values; only their columns in other matrices are kept."""
        return self.replace(matrix=None)

    def __repr__(self) -> str:
        return f"MatrixRows({len(self)} rows of a matrix with {self.width} columns)"


class PrecomputedKind(Kind):
    """Rows of a matrix that holds k, or the distance, of each pair."""

    name = "precomputed"
    looks = "the square matrix of k between all training samples"
    encoded = (MatrixRows,)
    pairwise = True
    counted = True
    tags: ClassVar = {"sparse": False, "pairwise": True}

    def rows(self, X: SamplesLike, reader: str) -> np.ndarray:
        X = as_rows(X)
        if sp.issparse(X):
            raise TypeError(
                "Sparse precomputed kernels are not supported: X is a sparse matrix. Give "
                "X.toarray()."
            )
        from sklearn.utils import check_array

        floats: Any = [np.float64, np.float32]
        with reading_numbers(X, reader):
            return np.asarray(check_array(X, dtype=floats, input_name="X"))

    def encode(self, X: SamplesLike, like: MatrixRows | None, reader: str) -> MatrixRows:
        """Training samples from a square matrix, or new samples from their rows."""
        X = as_rows(X)
        shape = getattr(X, "shape", ())
        if like is not None and len(shape) == 2 and shape[1] != like.width:
            raise ValueError(
                f"X has shape {shape}, but it must be (m, {like.width}): the precomputed kernel "
                f"between m new samples and all {like.width} training samples."
            )
        K = self.rows(X, reader)
        if like is None:
            return MatrixRows.of(check_square(K))
        return MatrixRows(K, np.arange(len(K)), None, like.width, K.dtype)


def encode_matrices(X: Any, width: int | None, reader: str) -> Table:
    """Rows of several precomputed matrices of the same samples, as the parts 0, 1 ... of a table.

    X is a list of matrices (n, n), or of (m, n) for new samples, or an array of shape (n, n, T).
    ``width`` is the number n of training samples; None means that X is of the training samples.
    """
    if isinstance(X, np.ndarray) and X.ndim == 3:
        X = np.moveaxis(X, -1, 0)
    several = isinstance(X, (list, tuple, np.ndarray))
    shapes = [getattr(K, "shape", ()) or float_array("X", K).shape for K in X] if several else []
    if not shapes or any(len(shape) != 2 for shape in shapes):
        raise ValueError(
            f"X has the shapes {shapes[:10]}: {reader} needs a list of precomputed matrices, or "
            "one array of shape (n, n, matrices)."
        )
    if len(set(shapes)) > 1:
        raise ValueError(
            f"X has matrices of the shapes {shapes[:10]}: all must be of the same samples."
        )
    none = np.empty(0, np.intp)
    like = None if width is None else MatrixRows(None, none, none, width, np.float64)
    parts = []
    for t, K in enumerate(X):
        try:
            parts.append(PrecomputedKind().encode(K, like, reader))
        except ValueError as error:
            raise ValueError(f"matrix {t}: {error}") from error
    return Table([(("precomputed",), (t,)) for t in range(len(parts))], parts)


def check_square(K: np.ndarray, what: str = "kernel") -> np.ndarray:
    """Raise an error if a precomputed matrix is not square, or not symmetric; return it."""
    (n, m), letter = K.shape, "K" if what == "kernel" else "D"
    if n != m:
        raise ValueError(
            f"X has shape {K.shape}; a precomputed {what} matrix must be square in fit: "
            f"{letter}[i, j] is that of x_i and x_j, for all training samples."
        )
    tol = 1e-5 if K.dtype == np.float32 else 1e-8
    size = max(float(np.abs(K[i : i + 256]).max()) for i in range(0, n, 256))
    for s in range(0, n, 256):  # in strips, so that no second large matrix is made
        gap = np.abs(K[s : s + 256] - K[:, s : s + 256].T)
        if gap.max() > tol * size:
            i, j = np.unravel_index(gap.argmax(), gap.shape)
            raise ValueError(
                f"X is a precomputed {what} matrix, but it is not symmetric: {letter}[{s + i}, {j}]"
                f" = {K[s + i, j]:.6g} and {letter}[{j}, {s + i}] = {K[j, s + i]:.6g}. Give a "
                f"symmetric matrix, for example ({letter} + {letter}.T) / 2."
            )
    return K
