"""The distance that is given as a matrix of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from mercer.distances.base import Distance
from mercer.distances.meaning import Meaning
from mercer.samples import (
    MatrixRows,
    accepted,
    check_format,
    check_square,
    float_array,
    reading_numbers,
)

FLOATS: Any = [np.float64, np.float32]


class Precomputed(Distance):
    """A distance whose values are given; the same as ``metric="precomputed"`` of the learners.

    For ``fit``, X is the matrix D of the distances between all training samples, of shape (n, n).
    For new samples, X has their distances to all training samples, shape (m, n).

    A sparse matrix holds the distances to some neighbours of each sample, as
    ``kneighbors_graph(mode="distance")`` writes them. What it leaves out is farther away, and a
    stored 0 is the distance 0. It need not be symmetric. Searches read it; learners that compare
    all pairs refuse it.

    Raises
    ------
    ValueError
        The matrix is not square or (where it is dense) not symmetric in ``fit``, or has another
        width later, or holds NaN, infinities or negative numbers.

    Examples
    --------
    >>> from mercer import NearestNeighbors
    >>> D = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]])
    >>> NearestNeighbors(n_neighbors=1, metric=Precomputed()).fit(D).kneighbors()[1].ravel()
    array([1, 0, 1])
    """

    meaning = Meaning("D given as a matrix", "a number that was computed elsewhere")

    kind = "precomputed"
    metric = False  # it is not known
    reflexive = False

    def encode(self, X: Any, like: Any = None) -> MatrixRows:
        if isinstance(X, MatrixRows):
            return X
        shape = getattr(X, "shape", None) or float_array("X", X).shape
        if len(shape) == 2 and like is None and shape[0] != shape[1]:
            raise ValueError(
                f"X has shape {shape}: Precomputed matrix must be square in fit, with the distance "
                "of each training sample to each; give samples and another metric otherwise."
            )
        if len(shape) == 2 and like is not None and shape[1] != like.width:
            raise ValueError(
                f"X has shape {shape}, but X has to be (m, {like.width}): give the distances of m "
                f"new samples to all {like.width} training samples."
            )
        if sp.issparse(X):
            rows = _some_neighbours(X, like)
            least = rows.matrix.data.min(initial=0)
        else:
            X = accepted(X, self.reads, type(self).__name__)
            with reading_numbers(X, type(self).__name__):
                D = np.asarray(check_array(X, dtype=FLOATS, input_name="X"))
            if like is None:
                rows = MatrixRows.of(check_square(D, "distance"))
            else:
                rows = MatrixRows(D, np.arange(len(D)), None, like.width, D.dtype)
            least = D.min()
        if least < 0:
            i, j = (int(place[0]) for place in (rows.matrix == least).nonzero())
            raise ValueError(
                f"Negative values in data passed to a precomputed distance: X[{i}, {j}] = "
                f"{least:.6g}; give distances >= 0."
            )
        return rows

    def known(self, X: MatrixRows, Z: MatrixRows) -> sp.csr_array | None:
        if not sp.issparse(X.matrix):
            return None
        return X.matrix[X.rows][:, Z.columns]

    def block(self, X: MatrixRows, Z: MatrixRows) -> np.ndarray:
        if Z.columns is None or X.matrix is None:
            raise ValueError(
                "The distances between these samples are not known: the matrix holds those to the "
                "training samples; give another metric, and the samples."
            )
        if sp.issparse(X.matrix):
            raise ValueError(
                "X is a sparse matrix, which holds the distances to some neighbours, but all of "
                "them are needed here: give the full matrix, or the samples and a distance."
            )
        return X.matrix[np.ix_(X.rows, Z.columns)]


def _some_neighbours(X: Any, like: Any) -> MatrixRows:
    """Training samples from a square sparse matrix, or new samples from their rows."""
    check_format(X)
    csr: Any = "csr"
    graph: Any = sp.csr_array(check_array(X, accept_sparse=csr, dtype=FLOATS, input_name="X"))
    if not graph.has_canonical_format:  # entries given twice are added, as in scipy
        graph = graph.copy()
        graph.sum_duplicates()
    every = np.arange(graph.shape[0])
    return MatrixRows(graph, every, every if like is None else None, graph.shape[1], graph.dtype)
