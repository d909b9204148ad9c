"""Samples that are graphs: nodes and edges, with labels or attributes or without.

graph_kind.py recognises and encodes graphs, and graph_forms.py reads those of users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.persistence import fields, floats, offsets, one_of, optional, whole
from mercer.samples.protocol import Encoded
from mercer.samples.ragged import hash_labels, items_of_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


def _inside(graphs: Graphs, values: object) -> None:
    """Neighbours are nodes of the same graph."""
    whole(length=lambda g: int(g.row_starts[-1]))(graphs, values)
    sizes = np.diff(graphs.node_starts)
    edges = np.diff(graphs.row_starts[graphs.node_starts])
    if (np.repeat(sizes, edges) <= values).any():
        raise ValueError("names a node that its graph does not have")


@fields(
    node_starts=offsets(lambda g: len(g.row_starts) - 1),
    row_starts=offsets(lambda g: len(g.neighbours)),
    neighbours=_inside,
    node_labels=optional(whole(length=lambda g: len(g.row_starts) - 1)),
    node_attributes=optional(floats(2, length=lambda g: len(g.row_starts) - 1)),
    edge_labels=optional(whole(length=lambda g: len(g.neighbours))),
    directed=one_of(True, False),
)
class Graphs(Encoded):
    """Graphs as the lists of neighbours of all their nodes, one after the other.

    Parameters
    ----------
    node_starts : ndarray of shape (n + 1,), int64
        The nodes of graph i are the numbers ``node_starts[i]`` to ``node_starts[i + 1] - 1``.
    row_starts : ndarray of shape (N + 1,), int64
        The neighbours of node v are ``neighbours[row_starts[v] : row_starts[v + 1]]``.
    neighbours : ndarray of shape (M,), int32
        Numbered from 0 within the graph, ascending. An edge between two nodes stands at both of
        them, and a loop once; in directed graphs an edge stands where it begins.
    node_labels : ndarray of shape (N,), uint64, optional
        A number for each label, the same in every process (`graphs_of`). None: no labels.
    node_attributes : ndarray of shape (N, d), float64, optional
    edge_labels : ndarray of shape (M,), uint64, optional
        None if no graph has an edge, too: those of graphs that are compared with them, or added to
        an index of them, are then not read.
    directed : bool, default=False
    dtype : floating dtype, default=float64

    Examples
    --------
    >>> from mercer.samples import graphs_of
    >>> X = graphs_of([2, 1], [(0, 1)], ["C", "O", "C"])
    >>> X.node_starts, X.neighbours, X.sizes
    (array([0, 2, 3]), array([1, 0], dtype=int32), array([2, 1]))
    """

    def __init__(
        self, node_starts: np.ndarray, row_starts: np.ndarray, neighbours: np.ndarray,
        node_labels: np.ndarray | None = None, node_attributes: np.ndarray | None = None,
        edge_labels: np.ndarray | None = None, directed: bool = False,
        dtype: DTypeLike = np.float64,
    ):  # fmt: skip
        super().__init__(dtype)
        self.node_starts, self.row_starts, self.neighbours = node_starts, row_starts, neighbours
        self.node_labels, self.node_attributes = node_labels, node_attributes
        self.edge_labels, self.directed = edge_labels, directed

    @property
    def shape(self) -> tuple[int]:
        return (len(self.node_starts) - 1,)

    @property
    def sizes(self) -> np.ndarray:
        """The number of nodes of each graph, (n,)."""
        return np.diff(self.node_starts)

    @property
    def degrees(self) -> np.ndarray:
        """The number of neighbours of each node, (N,)."""
        return np.diff(self.row_starts)

    @property
    def owners(self) -> np.ndarray:
        """The graph of each node, (N,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The two nodes of each entry of ``neighbours``, numbered on from graph to graph."""
        u = np.repeat(np.arange(len(self.degrees)), self.degrees)
        firsts = np.repeat(self.node_starts[:-1], self.sizes)
        return u, firsts[u] + self.neighbours

    def backwards(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where edges come from: starts and neighbours as above, and the entry of each edge."""
        u, v = self.ends()
        order = np.argsort(v, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(v, minlength=len(self.degrees)))))
        firsts = np.repeat(self.node_starts[:-1], self.sizes)
        return starts, (u - firsts[u])[order].astype(np.int32), order

    def undirected(self) -> Graphs:
        """The same graphs without directions and without labels of edges."""
        if not self.directed:
            return self
        u, v = self.ends()
        n = max(len(self.degrees), 1)
        keys = np.unique(np.minimum(u, v) * n + np.maximum(u, v))
        edges = np.stack([keys // n, keys % n], axis=1)
        return rows_of_neighbours(
            self.node_starts, edges, self.node_labels, self.node_attributes, None, False
        ).astype(self.dtype)

    def __getitem__(self, rows: Any) -> Graphs:
        """The graphs of a slice (without a copy if possible) or of an array of numbers."""
        chosen = np.arange(len(self))[rows]
        if isinstance(rows, slice) and rows.step in (None, 1):
            a = int(chosen[0]) if len(chosen) else 0
            nodes = self.node_starts[a : a + len(chosen) + 1]
            row_starts = self.row_starts[nodes[0] : nodes[-1] + 1]
            at: Any = slice(nodes[0], nodes[-1])
            edges: Any = slice(row_starts[0], row_starts[-1])
            node_starts, row_starts = nodes - nodes[0], row_starts - row_starts[0]
        else:
            at, node_starts = items_of_rows(self.node_starts, chosen)
            edges, row_starts = items_of_rows(self.row_starts, at)
        labels, attributes, marks = (
            None if part is None else part[chosen]
            for part, chosen in (
                (self.node_labels, at), (self.node_attributes, at), (self.edge_labels, edges),
            )
        )  # fmt: skip
        return self.replace(
            node_starts=node_starts, row_starts=row_starts, neighbours=self.neighbours[edges],
            node_labels=labels, node_attributes=attributes, edge_labels=marks,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Graphs({len(self)} graphs, {len(self.row_starts) - 1} nodes in all)"


def graphs_of(
    sizes: ArrayLike,
    edges: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    edge_labels: ArrayLike | None = None,
    attributes: ArrayLike | None = None,
    directed: bool = False,
) -> Graphs:
    """Many graphs from arrays of all their nodes and edges, numbered on from graph to graph.

    Collections of graphs are stored in this form; it has no Python object for each graph.

    Parameters
    ----------
    sizes : array of shape (n,), int
        How many nodes each graph has.
    edges : array of shape (m, 2), int
        The numbers of two nodes of one graph, from 0 to the sum of all sizes. An edge stands once,
        or all edges of the graph stand in both directions.
    labels : sequence of int, str, bytes or tuples of them, of length N, optional
    edge_labels : the same of length m, optional
    attributes : array of shape (N, d), optional
    directed : bool, default=False
        Whether an edge goes from its first node to its second one alone.

    Returns
    -------
    graphs : Graphs
        Samples that every comparison of graphs reads.

    Raises
    ------
    ValueError
        An edge leads out of its graph, or stands there twice; the message names graph and node.

    Examples
    --------
    A triangle and a path of two nodes:

    >>> X = graphs_of([3, 2], [(0, 1), (1, 2), (0, 2), (3, 4)], ["C", "C", "O", "C", "C"])
    >>> X.neighbours.tolist()
    [1, 2, 0, 2, 0, 1, 1, 0]
    >>> X[1:].sizes
    array([2])
    """
    sizes = np.asarray(sizes)
    if sizes.size == 0:
        raise ValueError("sizes is empty: give at least one graph.")
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError("sizes must be whole numbers >= 0, one for each graph.")
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    nodes = int(starts[-1])
    edges = np.asarray(edges)
    edges = np.empty((0, 2), np.int64) if edges.size == 0 else edges
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError("edges must be pairs of numbers of nodes, an array (m, 2) of integers.")
    if len(edges) and not (edges.min() >= 0 and edges.max() < nodes):
        raise ValueError(f"edges has numbers outside 0 to {nodes - 1}, the nodes of all graphs.")
    known = _labels(labels, nodes, "labels", "nodes")
    marks = _labels(edge_labels, len(edges), "edge_labels", "edges")
    if attributes is not None:
        attributes = finite_attributes(np.asarray(attributes, np.float64), "attributes")
        if len(attributes) != nodes:
            raise ValueError(f"attributes has {len(attributes)} rows for {nodes} nodes.")
    return rows_of_neighbours(starts, edges, known, attributes, marks, directed)


def _labels(labels: Any, count: int, name: str, noun: str) -> np.ndarray | None:
    """Hashes of labels, after a check that there is one for each node or edge."""
    if labels is None:
        return None
    if len(labels) != count:
        raise ValueError(f"{name} has {len(labels)} entries for {count} {noun}.")
    try:
        return hash_labels(labels)
    except TypeError as error:
        said, i = error.args
        raise TypeError(f"{name}[{i}]: {said}; give int, str, bytes or tuples of them.") from None


def finite_attributes(values: np.ndarray, name: str) -> np.ndarray:
    if values.ndim != 2:
        raise ValueError(f"{name} must have rows of numbers, one for each node.")
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        v, c = wrong[0].tolist()
        raise ValueError(f"{name}: node {v} has {values[v, c]} in column {c}: fill it in.")
    return values + 0.0


def rows_of_neighbours(
    starts: np.ndarray,
    edges: np.ndarray,
    labels: np.ndarray | None,
    attributes: np.ndarray | None,
    marks: np.ndarray | None,
    directed: bool,
) -> Graphs:
    """Graphs from pairs of nodes, which are numbered on from graph to graph."""
    nodes, u, v = int(starts[-1]), *edges.T.astype(np.int64)
    first = np.repeat(starts[:-1], np.diff(starts))  # of each node, the first one of its graph
    apart = np.flatnonzero(first[u] != first[v])
    if len(apart):
        raise ValueError(f"edges[{apart[0]}] joins nodes of two graphs.")
    given = u * nodes + v if directed else np.minimum(u, v) * nodes + np.maximum(u, v)
    keys = np.sort(given)
    copies = (keys[1:] == keys[:-1]).any()
    if copies or marks is not None:
        order = np.argsort(given, kind="stable")
        if copies:
            kept = _once(starts, order, keys, u, v, marks, directed)
            order, keys = order[kept], keys[kept]
        marks = None if marks is None else marks[order]
    del given, u, v  # a million graphs have tens of millions of edges
    if not directed:
        u, v = np.divmod(keys, max(nodes, 1))
        both = u != v
        keys = np.concatenate([keys, v[both] * nodes + u[both]])
        del u, v
        if marks is not None:
            marks = np.concatenate([marks, marks[both]])[np.argsort(keys, kind="stable")]
        keys.sort()
    u, v = np.divmod(keys, max(nodes, 1))
    del keys
    v -= first[u]
    row_starts = np.concatenate(([0], np.cumsum(np.bincount(u, minlength=nodes))))
    neighbours = v.astype(np.int32)
    return Graphs(
        starts, row_starts.astype(np.int64), neighbours, labels, attributes, marks, bool(directed)
    )


def _once(
    starts: np.ndarray, order: np.ndarray, keys: np.ndarray, u: np.ndarray, v: np.ndarray,
    marks: np.ndarray | None, directed: bool,
) -> np.ndarray:  # fmt: skip
    """Which of the sorted edges stay where all edges of a graph stand in both directions."""
    owners = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    later = np.concatenate(([False], keys[1:] == keys[:-1]))
    again = np.flatnonzero(later)
    first, second = order[again - 1], order[again]
    same = directed | (u[first] == u[second]) | (later[again - 1])
    graphs = owners[u[second]]
    # an edge that stands once in a graph whose other edges stand twice, loops aside
    straight = u != v
    pairs = np.bincount(graphs, minlength=len(starts) - 1)
    total = np.bincount(owners[u[straight]], minlength=len(starts) - 1)
    wrong = same | (2 * pairs != total)[graphs]
    if marks is not None:
        wrong |= marks[first] != marks[second]
    if wrong.any():
        k = second[int(wrong.argmax())]
        i = owners[u[k]]
        a, b = sorted((int(u[k] - starts[i]), int(v[k] - starts[i])))
        raise ValueError(
            f"X[{i}] has the edge between nodes {a} and {b} twice: give each edge once, or all "
            "edges of the graph in both directions, with the same label."
        )
    return ~later
