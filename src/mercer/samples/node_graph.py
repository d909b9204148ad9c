"""One graph whose nodes are samples: `NodeGraph`, which kernels between nodes hold.

A sample is then the number of a node, and the graph says how alike two nodes are. graph_forms.py
reads what users give; `Graphs` are samples that are graphs as a whole.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from mercer.persistence import fields
from mercer.samples.graph_forms import holds_graph, parts_of
from mercer.samples.graphs import Graphs, rows_of_neighbours
from mercer.samples.raw_data import check_format, describe

LAPLACIANS = ("plain", "normalised")


class LaplacianParts(NamedTuple):
    """L = diag(own) - shared, (n,) and sparse (n, n), with a shared that is not negative."""

    own: np.ndarray
    shared: sp.csr_array


def _weights(graph: NodeGraph, value: Any) -> None:
    """Weights that a graph can have."""
    if not (sp.issparse(value) and value.format == "csr" and value.dtype == np.float64):
        raise ValueError("is no sparse matrix of float64 by rows")
    if value.shape[0] != value.shape[1] or not value.shape[0]:
        raise ValueError(f"has the shape {value.shape}")
    if not (np.isfinite(value.data).all() and (value.data > 0).all()):
        raise ValueError("has weights that are not > 0")
    if len((value - value.T).data.nonzero()[0]):
        raise ValueError("is not symmetric")


@fields(weights=_weights)
class NodeGraph:
    """An undirected graph with weights of its edges, whose nodes are samples.

    Parameters
    ----------
    weights : csr_array of shape (n, n)
        Symmetric, with weights > 0 and without loops; `NodeGraph.of` makes it of other forms.

    Notes
    -----
    What kernels compute of a graph once, its eigenvalues, is kept by it, and not written to files.
    A graph does not change, so that copies of a kernel share it: a search over parameters of a
    kernel takes apart one matrix.

    Examples
    --------
    >>> NodeGraph.of((4, [(0, 1), (1, 2)]))
    NodeGraph(4 nodes, 2 edges)
    """

    def __init__(self, weights: sp.csr_array):
        self.weights = weights

    @classmethod
    def of(cls, graph: Any) -> NodeGraph:
        """Read a graph in one of the forms that users have.

        Parameters
        ----------
        graph : graph
            A symmetric matrix of weights, sparse or not; a graph of networkx or igraph, of which
            the field "weight" of edges is read, or of rustworkx; a tuple ``(n, edges)``;
            `Graphs` of one graph; a `NodeGraph`, which is returned itself. Nodes are numbered in
            the order of the graph.

        Raises
        ------
        TypeError, ValueError
            It is no graph, has no nodes, is directed, or has a weight that is negative or not
            finite. The message names the edge.

        Notes
        -----
        Edges of weight 0 are none, and loops are left out, which change no Laplacian D - A.
        """
        if isinstance(graph, NodeGraph):
            return graph
        if isinstance(graph, Graphs):
            A = _of_graphs(graph)
        elif sp.issparse(graph) or (isinstance(graph, np.ndarray) and graph.ndim == 2):
            A = _of_matrix(graph)
        elif holds_graph(graph):
            A = _of_parts(graph)
        else:
            raise TypeError(
                f"graph is {describe(graph)}: give one graph, as a symmetric matrix of weights, a "
                "graph of networkx, igraph or rustworkx, or a tuple (n, edges)."
            )
        return cls(_checked(A))

    def __len__(self) -> int:
        return len(self.weights.indptr) - 1

    @property
    def degrees(self) -> np.ndarray:
        """The sum of the weights at each node, (n,)."""
        return np.asarray(self.weights.sum(axis=1)).ravel()

    def laplacian(self, form: str = "plain") -> LaplacianParts:
        r"""The Laplacian :math:`L = D - A`, or :math:`D^{-1/2} L D^{-1/2}` if "normalised".

        The row of a node without edges is 0 in both.
        """
        A, d = self.weights, self.degrees
        if form == "plain":
            return LaplacianParts(d, A)
        linked = d > 0
        root = np.zeros(len(d))
        root[linked] = 1 / np.sqrt(d[linked])
        return LaplacianParts(linked.astype(np.float64), scaled_rows(A, root))

    def eigenpairs(self, form: str = "plain") -> tuple[np.ndarray, np.ndarray]:
        """All eigenvalues (n,), ascending, and eigenvectors (n, n) of the Laplacian; kept."""
        if form not in self._known:
            own, shared = self.laplacian(form)
            L = -shared.toarray()
            L.flat[:: len(L) + 1] += own
            values, vectors = np.linalg.eigh(L)
            self._known[form] = np.maximum(values, 0), vectors
        return self._known[form]

    def __deepcopy__(self, memo: dict) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"weights": self.weights}

    @cached_property
    def _known(self) -> dict[str, Any]:
        """The decompositions that were asked for, by the form of the Laplacian."""
        return {}

    def __repr__(self) -> str:
        return f"NodeGraph({len(self)} nodes, {self.weights.nnz // 2} edges)"


def scaled_rows(A: sp.csr_array, s: np.ndarray) -> sp.csr_array:
    """diag(s) A diag(s) for a sparse A."""
    rows = np.repeat(s, np.diff(A.indptr))
    return sp.csr_array((A.data * rows * s[A.indices], A.indices, A.indptr), A.shape)


def _of_matrix(A: Any) -> sp.csr_array:
    """The weights of the edges in a symmetric matrix."""
    check_format(A, "graph")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"graph is a matrix of shape {A.shape}: a matrix of weights is square.")
    if A.dtype.kind not in "iufb":
        raise TypeError(f"graph is a matrix of {A.dtype}: give weights of edges.")
    A = sp.csr_array(A, dtype=np.float64, copy=True)
    A.sum_duplicates()
    A.eliminate_zeros()
    other = sp.coo_array(A != A.T)
    other.eliminate_zeros()
    if other.nnz and np.isfinite(A.data).all():
        u, v = sorted((int(other.coords[0][0]), int(other.coords[1][0])))
        raise ValueError(
            f"graph is not symmetric at nodes {u} and {v}: kernels between nodes are of undirected "
            "graphs. Give A + A.T, or np.maximum(A, A.T), to leave out directions."
        )
    return A


def _of_graphs(graph: Graphs) -> sp.csr_array:
    """The edges of the one encoded graph, of weight 1."""
    if len(graph) != 1:
        raise ValueError(f"graph holds {len(graph)} graphs: give one, whose nodes are samples.")
    if graph.directed:
        _refuse_directions()
    ones, n = np.ones(len(graph.neighbours)), int(graph.sizes[0])
    return sp.csr_array((ones, graph.neighbours, graph.row_starts), (n, n))


def _of_parts(graph: Any) -> sp.csr_array:
    """The edges of a graph of another form, with their weights."""
    parts = parts_of(graph, "graph")
    if parts.directed:
        _refuse_directions()
    weights = np.ones(len(parts.edges)) if parts.weights is None else parts.weights
    # weights go with their edges as labels do
    marks = np.ascontiguousarray(weights, np.float64).view(np.uint64)
    starts = np.array([0, parts.n])
    found = rows_of_neighbours(starts, parts.edges, None, None, marks, False)
    values = found.edge_labels.view(np.float64)  # type: ignore[union-attr]
    return sp.csr_array((values, found.neighbours, found.row_starts), (parts.n, parts.n))


def _checked(A: sp.csr_array) -> sp.csr_array:
    """Weights of an undirected graph without loops, or an error that names the edge."""
    n = len(A.indptr) - 1
    if not n:
        raise ValueError("graph has no nodes: give one with a node for each sample.")
    u = np.repeat(np.arange(n), np.diff(A.indptr))
    wrong = ~(np.isfinite(A.data) & (A.data >= 0))
    if wrong.any():
        k = int(wrong.argmax())
        raise ValueError(
            f"graph has the weight {A.data[k]:g} between nodes {u[k]} and {A.indices[k]}: weights "
            "are finite and >= 0."
        )
    kept = (u != A.indices) & (A.data > 0)
    coords = u[kept], A.indices[kept]
    A = sp.csr_array((A.data[kept], coords), (n, n))
    A.sort_indices()
    return A


def _refuse_directions() -> None:
    raise ValueError(
        "graph is directed: kernels between nodes are of undirected graphs. Leave out directions, "
        "such as by graph.to_undirected()."
    )
