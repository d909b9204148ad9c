"""Kernels that count what graphs have in common: labels, and neighbourhoods of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import KernelDistance, Meaning
from mercer.kernels.base import Kernel
from mercer.kernels.key_counts import Counts, KeyCounter, KeyCounts
from mercer.samples import Graphs, check_count, mixed

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NONE32, NONE64 = np.empty(0, np.int32), np.empty(0, np.uint64)
NOWHERE = np.empty(0, np.int64)


class OnGraphs(Kernel):
    """Abstract: a kernel on graphs."""

    kind = "graphs"

    def check(self, X: Graphs, like: Graphs | None = None) -> None:
        if like is None or X is like:
            return
        for name, said in (("node_labels", "labels of nodes"), ("edge_labels", "labels of edges")):
            if getattr(like, name) is not None and getattr(X, name) is None:
                raise ValueError(
                    f"X has no {said}, but the graphs it is compared with have them: give graphs "
                    "of one form."
                )
        if X.directed != like.directed and len(X.neighbours) and len(like.neighbours):
            one, other = ("directed", "not") if X.directed else ("undirected", "directed")
            raise ValueError(
                f"X are {one} graphs, but those they are compared with are {other}: give graphs "
                "of one form."
            )


class GraphCounts(KeyCounts, OnGraphs):
    """Abstract: Σ over numbers c of count_c(G) count_c(H). Define ``counts``."""


class VertexHistogram(GraphCounts):
    r"""Vertex histogram kernel

    .. math:: k(G, H) = \sum_c n_c(G) \, n_c(H) ,

    where :math:`n_c` counts the nodes with the label c.

    Parameters
    ----------
    vocabulary : graphs or array of shape (p,), uint64, optional
        The graphs whose labels are the columns of ``features``, or what ``columns_of`` returns for
        them. None means the graphs that ``features`` is called with.

    Notes
    -----
    It is positive semidefinite. Nodes without labels all have the same one. It takes n operations
    for a graph of n nodes, and one for each pair of graphs and label that they share.

    References
    ----------
    Kriege, Johansson & Morris, "A survey on graph kernels", Applied Network Science 5, 2020.

    Examples
    --------
    >>> X = [(3, [(0, 1)], ["C", "C", "O"]), (2, [], ["C", "N"])]
    >>> VertexHistogram()(X)
    array([[5., 2.],
           [2., 2.]])
    """

    meaning = Meaning("Σ_c n_c(x) n_c(z)", "how many labels of nodes two graphs share")

    def __init__(self, vocabulary: Any = None):
        self.vocabulary = vocabulary

    def counts(self, X: Graphs) -> Counts:
        return counted(X, labels_of(X)[None, :])


class NodeColours(GraphCounts):
    """Abstract: counts of the colours that nodes have after some rounds."""

    def __init__(self, rounds: int = 5, vocabulary: Any = None):
        self.rounds = rounds
        self.vocabulary = vocabulary

    def validate(self) -> None:
        check_count("rounds", self.rounds, 0, optional=False)


class WeisfeilerLehman(NodeColours):
    r"""Weisfeiler-Lehman subtree kernel

    .. math:: k(G, H) = \sum_{t=0}^{h} \sum_c n_c^t(G) \, n_c^t(H) .

    In round 0 the colour c of a node is its label. In each round, a node gets a new colour, which
    tells its own colour and those of its neighbours. :math:`n_c^t` counts the nodes with the colour
    c after round t: nodes whose neighbourhoods look alike up to t steps away.

    Parameters
    ----------
    rounds : int >= 0, default=5
        h. With more rounds, larger neighbourhoods have to be equal.
    vocabulary : graphs or array of shape (p,), uint64, optional
        The graphs whose colours are the columns of ``features``, or what ``columns_of`` returns
        for them. None means the graphs that ``features`` is called with.

    See Also
    --------
    WLOptimalAssignment : The same colours, matched one to one.

    Notes
    -----
    It is positive semidefinite. Labels of edges are read where there are some, and directed edges
    on both sides. A loop makes a node a neighbour of itself. Nodes without labels all have the same
    one, so that round 1 counts degrees.

    Colours are hashes of 64 bits, which are summed over neighbours: O(h (n + m)) operations for n
    nodes and m edges, without sorting, and nothing is learnt from the training sample. A block
    takes one operation for each pair of graphs and colour that they share.

    After some rounds most colours are in one graph alone, and normalised values of different graphs
    are near 0. Use fewer rounds then, or `WLOptimalAssignment`.

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn & Borgwardt, "Weisfeiler-Lehman graph kernels",
    JMLR 12, 2011.

    Examples
    --------
    A path and a triangle, all nodes alike: in round 1 both have nodes of two neighbours.

    >>> X = [(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (2, 0)])]
    >>> WeisfeilerLehman(1)(X)
    array([[14., 12.],
           [12., 18.]])
    """

    meaning = Meaning(
        "Σ_t Σ_c n_c(x) n_c(z), t from 0 to {rounds}",
        "how many neighbourhoods of up to {rounds} steps two graphs share",
    )

    def counts(self, X: Graphs) -> Counts:
        return counted(X, colours(X, int(self.rounds)))


class WLOptimalAssignment(NodeColours):
    r"""Weisfeiler-Lehman optimal assignment kernel

    .. math:: k(G, H) = \sum_{t=0}^{h} \sum_c \min(n_c^t(G), n_c^t(H)) ,

    with the colours of `WeisfeilerLehman`.

    It is the largest sum of similarities when nodes are matched one to one, where two nodes are as
    similar as rounds in which they have the same colour.

    Parameters
    ----------
    rounds : int >= 0, default=5
        h, the number of rounds.
    vocabulary : graphs or array of shape (p,), uint64, optional
        It is as in `WeisfeilerLehman`.

    Notes
    -----
    It is positive semidefinite: there is a feature for each colour c and number j, which is 1 if
    j nodes or more have the colour. It costs as much as `WeisfeilerLehman`, and frequent colours
    count less.

    References
    ----------
    Kriege, Giscard & Wilson, "On valid optimal assignment kernels and applications to graph
    classification", NIPS 2016.

    Examples
    --------
    >>> X = [(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (2, 0)])]
    >>> WLOptimalAssignment(1)(X)
    array([[6., 4.],
           [4., 6.]])
    """

    meaning = Meaning(
        "Σ_t Σ_c min(n_c(x), n_c(z)), t from 0 to {rounds}",
        "how well nodes of two graphs can be matched, by neighbourhoods of up to {rounds} steps",
    )

    def counts(self, X: Graphs) -> Counts:
        found = counted(X, colours(X, int(self.rounds)))
        times = found.values[:, 1].astype(np.int64)
        ends = np.cumsum(times)
        place = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - times, times)
        keys = mixed(np.repeat(found.values[:, 0], times) + place.astype(np.uint64) * GOLDEN)
        starts = np.concatenate(([0], ends))[found.starts]
        # distinct in each graph, so that their order does not matter
        return Counts(np.stack([keys, np.ones_like(keys)], axis=1), starts)


def labels_of(X: Graphs) -> np.ndarray:
    """The label of each node as a number; 0 if nodes have none."""
    return np.zeros(len(X.degrees), np.uint64) if X.node_labels is None else X.node_labels


def colours(X: Graphs, rounds: int) -> np.ndarray:
    """The colours of all nodes after 0, 1 ... rounds, (rounds + 1, N)."""
    out = np.empty((rounds + 1, len(X.degrees)), np.uint64)
    out[0] = labels_of(X)
    marks = NONE64 if X.edge_labels is None else X.edge_labels
    back = (NOWHERE, NONE32, NONE64)
    if X.directed:
        back_starts, back_to, order = X.backwards()
        back = (back_starts, back_to, marks[order] if len(marks) else NONE64)
    _native.wl_colours(*arrays(X), marks, *back, out)
    return out


def counted(X: Graphs, keys: np.ndarray) -> Counts:
    """Numbers of nodes, (k, N), counted in each graph."""
    starts, pairs = _native.count_keys(X.node_starts, np.ascontiguousarray(keys))
    return Counts(pairs.reshape(-1, 2), starts)


def arrays(X: Graphs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What native loops read."""
    return tuple(map(np.ascontiguousarray, (X.node_starts, X.row_starts, X.neighbours)))  # type: ignore


def label_counter(X: Graphs) -> KeyCounter:
    """Counts of the neighbourhoods of one step that training graphs have, as a simple baseline."""
    return KeyCounter(WeisfeilerLehman(1), X)


def graph_kernel() -> Kernel:
    """The kernel that suits graphs first."""
    return WeisfeilerLehman(3).normalised()


def graph_distance() -> KernelDistance:
    """The distance in its feature space."""
    return KernelDistance(graph_kernel())
