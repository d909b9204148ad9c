"""Known neighbours: those in a sparse matrix of distances.

`KnownNeighbours` does not search: it takes the nearest entries of each row of the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.samples import Samples
from mercer.search.index import Index
from mercer.search.rows import OrderedRows


class KnownNeighbours(Index):
    """An index that reads the neighbours of a sparse matrix of distances.

    Parameters
    ----------
    distance : Distance
        One that holds such a matrix (``Distance.known``), such as "precomputed" of the learners.
    memory, n_jobs
        Accepted as by every index, and not used: nothing is computed.

    Attributes
    ----------
    distance_ : Distance
    n_samples_fit_ : int

    Raises
    ------
    ValueError
        A sample is asked for more neighbours than its row of the matrix holds.

    Notes
    -----
    O(N log N) operations for the N distances that the rows of the queries hold. Rows farther away
    than those are not found by `query_radius`.

    Examples
    --------
    >>> from mercer import NearestNeighbors
    >>> graph = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0], [9.0]]).kneighbors_graph(
    ...     mode="distance")
    >>> model = NearestNeighbors(metric="precomputed").fit(graph)
    >>> model.algorithm_
    'known'
    >>> model.kneighbors(n_neighbors=1)[1].ravel()
    array([1, 0, 1, 2])
    """

    def _hold(self, X: Samples) -> None:
        self._training = OrderedRows(X)

    def _ask(self, Z: Samples | None) -> KnownSearch:
        X = self._training.X
        graph = self.distance_.known(X if Z is None else Z, X)
        if graph is None:  # of new samples all distances are known
            graph = _complete(self.distance_.block(Z, X))
        return KnownSearch(graph, Z is None)


def _complete(D: np.ndarray) -> sp.csr_array:
    """All numbers of a matrix as sparse rows, zeros too."""
    n, m = D.shape
    return sp.csr_array((D.ravel(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=D.shape)


class KnownSearch:
    """One question: the entries of some sparse rows, ascending by distance, then by index."""

    def __init__(self, graph: Any, among_themselves: bool):
        n, columns = graph.shape[0], graph.indices
        rows = np.repeat(np.arange(n), np.diff(graph.indptr))
        order = np.lexsort((columns, graph.data, rows))
        if among_themselves:
            order = order[(rows != columns)[order]]
        self.rows, self.indices = rows[order], columns[order].astype(np.int64)
        self.distances = graph.data[order]
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(self.rows, minlength=n))))

    def nearest(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        counts = np.diff(self.starts)
        if len(counts) and counts.min() < k:
            i = int(counts.argmin())
            raise ValueError(
                f"{k} neighbors are required, but row {i} of the sparse matrix has only "
                f"{counts[i]}: ask for fewer, or make the matrix with more neighbours of each row."
            )
        places = self.starts[:-1, None] + np.arange(k)
        return self.distances[places], self.indices[places]

    def within(self, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        near = np.flatnonzero(self.distances <= radius)
        near = near[np.lexsort((self.indices[near], self.rows[near]))]
        counts = np.bincount(self.rows[near], minlength=len(self.starts) - 1)
        starts = np.concatenate(([0], np.cumsum(counts)))
        return self.distances[near], self.indices[near], starts
