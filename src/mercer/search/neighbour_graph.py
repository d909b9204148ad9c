"""The graph of the nearest neighbours of all rows, which maps, clusters and searches read."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.distances import Distance, KernelDistance, in_float64
from mercer.estimator import estimator
from mercer.kernels import Kernel
from mercer.persistence import fields, floats, number, whole
from mercer.samples import Samples, SamplesLike, check_count, is_number, kind_named
from mercer.search.brute import kth_distances
from mercer.search.choose import fit_index
from mercer.search.index import Index

JUDGED = 200  # rows of which the recall is measured
EDGES = ("found", "either", "both")


def _columns(graph: NeighbourGraph) -> int:
    return graph.distances_.shape[1]


@estimator
@fields(
    distances_=floats(2),
    indices_=whole(
        lambda graph: len(graph.distances_),
        least=-1,
        axes=2,
        length=lambda graph: len(graph.distances_),
    ),
    n_neighbors_=number(_columns),
)
class NeighbourGraph(BaseEstimator):
    r"""The k nearest neighbours of each row, under any distance or kernel.

    .. math:: d(x_i, x_{i_1}) \le \ldots \le d(x_i, x_{i_k})
              \le d(x_i, x_j) \text{ for all other } j \ne i

    A fitted graph stands wherever a sparse matrix of known distances does: give it as X, with
    ``metric="precomputed"``, to `NearestNeighbors`, `NeighbourEmbedding`, `HDBSCAN` and the other
    learners that search. So neighbours are searched for once. With ``metric="graph"`` it stands for
    its rows under its distance: where a learner needs more than the neighbours, such as `HDBSCAN`
    to join parts of the graph, it computes this.

    Parameters
    ----------
    distance : Distance or Kernel
        A kernel stands for the distance in its feature space.
    n_neighbors : int >= 1, default=15
        Neighbours of a row, which is none of its own; at most all others, with a warning.
    algorithm : str or Index, default="auto"
        The same as in `mercer.search.fit_index`: "auto" takes an exact index.
    memory : int, str or None
        Budget in bytes or as "4GB" for the search; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores.

    Attributes
    ----------
    distances_ : ndarray of shape (n, k)
        Ascending in each row.
    indices_ : ndarray of shape (n, k), int64
        Equally near rows are in the order of their index. An index that is not exact may find fewer
        than k: the distance is then infinite and the index -1.
    n_neighbors_ : int
    n_parts_ : int
        Parts of the graph between which there is no edge.
    recall_ : float
        1 for an exact index; else as `recall` measures it on 200 rows.
    algorithm_ : str
        Name of the search algorithm.
    index_ : Index
        The index, which finds neighbours of new rows.
    distance_ : Distance
        The distance, bound to the rows.
    X_fit_ : encoded samples; vectors in float64
    n_samples_fit_ : int

    Raises
    ------
    ValueError
        There are fewer than two rows, or what the index refuses.

    Warns
    -----
    UserWarning
        There are no more rows than neighbours.

    See Also
    --------
    mercer.NearestNeighbors : Neighbours of new rows, and those within a radius.

    Notes
    -----
    The time is that of the index: O(n log n) distances by a tree in few dimensions, and O(n²) by
    brute force. The graph takes 16 n k bytes, and 12 n k as a sparse matrix in float32.

    References
    ----------
    Eppstein, Paterson & Yao, "On nearest-neighbor graphs", Discrete & Computational Geometry 17,
    1997.

    Examples
    --------
    >>> from mercer import HDBSCAN, NeighbourEmbedding
    >>> from mercer.distances import Edit
    >>> from mercer.search import NeighbourGraph
    >>> names = ["anna", "hanna", "hannah", "otto", "lotto", "motto"]
    >>> graph = NeighbourGraph(Edit(), 2).fit(names)
    >>> graph.indices_[0].tolist(), graph.n_parts_, graph.recall_
    ([1, 2], 2, 1.0)
    >>> model = NeighbourEmbedding(2, metric="precomputed", random_state=0).fit(graph)
    >>> model.embedding_.shape
    (6, 2)
    >>> HDBSCAN(2, metric="graph").fit(graph).labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """

    distance: Distance | Kernel
    n_neighbors: int = 15
    algorithm: str | Index = "auto"
    memory: int | float | str | None = None
    n_jobs: int | None = None

    distances_: np.ndarray = field(init=False)
    indices_: np.ndarray = field(init=False)

    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Find the neighbours of samples X; y is not used."""
        check_count("n_neighbors", self.n_neighbors, optional=False)
        given: Any = self.distance
        distance = KernelDistance(given) if isinstance(given, Kernel) else given
        if not isinstance(distance, Distance):
            raise TypeError(
                f"distance={given!r}: give a distance of mercer.distances, such as Minkowski(2) or "
                "Edit(), or a kernel."
            )
        distance.validate()
        rows = in_float64(distance.encode(X))  # as the learners that read it do
        n = rows.shape[0]
        if n < 2:
            raise ValueError(f"n_samples={n}: a graph of neighbours needs 2 rows or more.")
        k = min(int(self.n_neighbors), n - 1)
        if k < self.n_neighbors:
            warnings.warn(
                f"n_neighbors={self.n_neighbors}, but there are {n} rows: all others are the "
                f"neighbours of each, which are {k}.",
                UserWarning,
                stacklevel=2,
            )
        distance = distance.bind(rows)
        index, name = fit_index(
            rows, distance, self.algorithm, memory=self.memory, n_jobs=self.n_jobs, bound=True
        )
        distances, indices = index.query(k=k)
        self.distance_, self.X_fit_, self.n_samples_fit_ = distance, rows, n
        self.index_, self.algorithm_, self.n_neighbors_ = index, name, k
        self.distances_, self.indices_ = distances, indices
        self.n_parts_ = int(connected_components(self.to_sparse(), directed=False)[0])
        self.recall_ = 1.0 if index.exact else self.recall(min(JUDGED, n))
        return self

    def recall(self, rows: int = JUDGED) -> float:
        """The share of the neighbours that are no farther than the true k-th one.

        Parameters
        ----------
        rows : int >= 1, default=200
            Rows that are compared with all others, drawn by a seed of their own.
        """
        check_is_fitted(self)
        check_count("rows", rows, optional=False)
        X: Any = self.X_fit_
        if self.distance_.known(X, X) is not None:  # nothing else is known
            return 1.0
        n, k = self.n_samples_fit_, self.n_neighbors_
        some = np.sort(np.random.default_rng(0).permutation(n)[: int(rows)])
        farthest = kth_distances(X, self.distance_, some, k, self.memory, self.n_jobs)
        return float((self.distances_[some] <= farthest).mean())

    def to_sparse(self, edges: str = "found", *, radius: float = np.inf) -> sp.csr_array:
        """The distances as sparse rows, (n, n); one of length 0 is stored, too.

        Parameters
        ----------
        edges : {"found", "either", "both"}, default="found"
            Whether row i has an edge to j if j is a neighbour of i; if one of them is a neighbour
            of the other; or if each is. The last two are symmetric.
        radius : float >= 0, default=inf
            Longer edges are left out.

        Examples
        --------
        >>> from mercer.distances import Minkowski
        >>> graph = NeighbourGraph(Minkowski(), 1).fit([[0.0], [2.0], [3.0], [9.0]])
        >>> graph.to_sparse("either", radius=2).toarray()
        array([[0., 2., 0., 0.],
               [2., 0., 1., 0.],
               [0., 1., 0., 0.],
               [0., 0., 0., 0.]])
        """
        check_is_fitted(self)
        if not isinstance(edges, str) or edges not in EDGES:
            raise ValueError(f'edges={edges!r}: give one of "found", "either" or "both".')
        if not (is_number(radius) and radius >= 0):
            raise ValueError(f"radius={radius!r}: give a number >= 0.")
        kept = (self.indices_ >= 0) & (self.distances_ <= radius)
        i, j = np.nonzero(kept)
        far, j = self.distances_[i, j], self.indices_[i, j]
        n = len(self.indices_)
        if edges != "found":
            # both ways of a pair in the order of its length, which tiles may round otherwise
            i, j, far = np.append(i, j), np.append(j, i), np.append(far, far)
            order = np.lexsort((far, j, i))
            i, j, far = i[order], j[order], far[order]
            first = np.ones(len(i), bool)
            first[1:] = (i[1:] != i[:-1]) | (j[1:] != j[:-1])
            if edges == "both":
                first &= ~np.append(first[1:], True)
            i, j, far = i[first], j[first], far[first]
        starts = np.concatenate(([0], np.cumsum(np.bincount(i, minlength=n))))
        # as csgraph of SciPy 1.16 wants them
        whole_numbers = np.int32 if len(far) < 2**31 else np.int64
        columns = j.astype(whole_numbers), starts.astype(whole_numbers)
        graph = sp.csr_array((far, *columns), shape=(n, n))
        graph.sort_indices()
        return graph


def _of_graph(X: Samples) -> sp.csr_array | None:
    """The distances that a graph of neighbours holds; None for all else."""
    return X.to_sparse() if isinstance(X, NeighbourGraph) else None


kind_named("precomputed").forms += (_of_graph,)
