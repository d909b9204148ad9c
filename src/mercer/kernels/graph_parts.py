"""Kernels that count parts of graphs: shortest paths, small subgraphs, and attributes that spread
along edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances import Meaning
from mercer.estimator import estimator
from mercer.kernels.graph_counts import (
    GOLDEN,
    GraphCounts,
    OnGraphs,
    arrays,
    counted,
    labels_of,
)
from mercer.kernels.key_counts import Counts
from mercer.samples import (
    Graphs,
    Prepared,
    Samples,
    check_count,
    check_positive,
    is_whole,
    mixed,
)

METRICS = ("l1", "l2")


class ShortestPath(GraphCounts):
    r"""Shortest-path kernel

    .. math:: k(G, H) = \sum_{a, b, d} p_{abd}(G) \, p_{abd}(H) ,

    where :math:`p_{abd}` counts the ordered pairs of different nodes with labels a and b whose
    shortest path has d edges.

    Parameters
    ----------
    vocabulary : graphs or array of shape (p,), uint64, optional
        The graphs whose paths are the columns of ``features``, or what ``columns_of`` returns for
        them. None means the graphs that ``features`` is called with.

    Notes
    -----
    It is positive semidefinite. Pairs without a path are left out, and so are loops. In directed
    graphs paths follow the edges. It takes n (n + m) operations for a graph of n nodes and m edges;
    lengths are numbers of edges, and weights are not read.

    References
    ----------
    Borgwardt & Kriegel, "Shortest-path kernels on graphs", ICDM 2005.

    Examples
    --------
    A path of three nodes has four pairs at distance 1 and two at distance 2; a triangle has six
    pairs at distance 1.

    >>> X = [(3, [(0, 1), (1, 2)]), (3, [(0, 1), (1, 2), (2, 0)])]
    >>> ShortestPath()(X)
    array([[20., 24.],
           [24., 36.]])
    """

    meaning = Meaning(
        "Σ p_abd(x) p_abd(z), labels a, b, length d",
        "how many shortest paths of the same length and ends two graphs share",
    )

    def __init__(self, vocabulary: Any = None):
        self.vocabulary = vocabulary

    def counts(self, X: Graphs) -> Counts:
        starts, pairs = _native.path_counts(*arrays(X), np.ascontiguousarray(labels_of(X)))
        return Counts(pairs.reshape(-1, 2), starts)


class Graphlets(OnGraphs):
    r"""Graphlet kernel

    .. math:: k(G, H) = \sum_s f_s(G) \, f_s(H) ,

    where :math:`f_s` counts the sets of nodes that are joined as the connected graph s of 3 or 4
    nodes is.

    Parameters
    ----------
    size : {3, 4}, default=4
        The number of nodes: 3 for paths and triangles; 4 for stars, paths, triangles with a tail,
        cycles, diamonds and cliques, which are the columns of ``features`` in this order.

    Notes
    -----
    It is positive semidefinite. Counts are exact, from degrees, triangles and common neighbours: no
    subgraph is drawn at random. Labels, loops and directions of edges are not read. Normalise it:
    counts grow with a power of the size of a graph. A graph of degrees d takes about Σ d²
    operations, or Σ d³ where many triangles meet.

    References
    ----------
    Shervashidze, Vishwanathan, Petri, Mehlhorn & Borgwardt, "Efficient graphlet kernels for large
    graph comparison", AISTATS 2009.

    Examples
    --------
    >>> kernel = Graphlets(3)
    >>> kernel.features(kernel.encode([(4, [(0, 1), (1, 2), (2, 0), (2, 3)])]))
    array([[2., 1.]])
    """

    meaning = Meaning(
        "Σ_s f_s(x) f_s(z), s of {size} nodes", "how many small subgraphs of {size} nodes two "
        "graphs share",
    )  # fmt: skip

    def __init__(self, size: int = 4):
        self.size = size

    def validate(self) -> None:
        if not (is_whole(self.size) and self.size in (3, 4)):
            raise ValueError(f"size={self.size!r}: give 3 or 4.")

    def features(self, X: Graphs) -> np.ndarray:
        """How often each connected graph of the size occurs, (n, 2) or (n, 6)."""
        out = np.empty((len(X), 8))
        _native.graphlet_counts(*arrays(X.undirected()), out)
        found = out[:, :2] if self.size == 3 else out[:, 2:]
        return np.ascontiguousarray(found, X.dtype)

    def prepare(self, X: Any, like: Samples | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((X, self.features(X)))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return X.parts[1] @ Z.parts[1].T

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.square(self.prepare(X).parts[1]).sum(axis=1)


@estimator
class Propagation(GraphCounts):
    r"""Propagation kernel

    .. math:: k(G, H) = \sum_{t=0}^{T} \sum_b n_b^t(G) \, n_b^t(H) ,

    where :math:`n_b^t` counts the nodes whose attributes, averaged over neighbours t times, fall
    into the bin b.

    In each round attributes P become :math:`D^{-1} A P`, and the bin of a node is
    :math:`\lfloor (w^\top p + u) / \mathrm{width} \rfloor` for attributes p, a random direction
    w and a random shift u.

    Parameters
    ----------
    rounds : int >= 0, default=5
        T, how often attributes are averaged.
    width : float > 0, default=0.1
        The width of a bin, in the unit of the attributes.
    metric : {"l2", "l1"}, default="l2"
        Which distance of attributes the bins preserve: w is drawn from a Gaussian or from a Cauchy
        distribution.
    random_state : int >= 0, default=0
        Seed of the directions, which also depend on the number of attributes.
    vocabulary : graphs or array of shape (p,), uint64, optional
        The same as in `WeisfeilerLehman`.

    Notes
    -----
    It is positive semidefinite. Graphs without attributes are compared by their labels, each of
    which is a column of 0 and 1. Without labels all nodes are alike, and only the numbers of nodes
    count: label the nodes first, for example by their degrees. Nodes without neighbours keep their
    attributes. It takes O(T (m + n d)) operations for a graph of n nodes, m edges and d attributes.

    Scale attributes first. Try several widths: in wide bins all nodes are alike, and in narrow ones
    only copies are.

    References
    ----------
    Neumann, Garnett, Bauckhage & Kersting, "Propagation kernels: efficient graph kernels from
    propagated information", Machine Learning 102, 2016.

    Examples
    --------
    >>> X = [(2, [(0, 1)], ["C", "O"]), (2, [(0, 1)], ["C", "C"])]
    >>> Propagation(1)(X)
    array([[4., 4.],
           [4., 8.]])
    """

    meaning = Meaning(
        "Σ_t Σ_b n_b(x) n_b(z), t from 0 to {rounds}",
        "how many nodes have attributes alike, after they have spread along {rounds} edges or less",
    )

    rounds: int = 5
    width: float = 0.1
    metric: str = "l2"
    random_state: int = 0
    vocabulary: Any = None

    def validate(self) -> None:
        check_count("rounds", self.rounds, 0, optional=False)
        check_positive("width", self.width)
        if not (isinstance(self.metric, str) and self.metric in METRICS):
            raise ValueError(f'metric={self.metric!r}: give "l2" or "l1".')
        check_count("random_state", self.random_state, 0, optional=False)

    def check(self, X: Graphs, like: Graphs | None = None) -> None:
        super().check(X, like)
        a, b = (None if g is None else g.node_attributes for g in (X, like))
        if like is None or b is None:
            return
        if a is None or a.shape[1] != b.shape[1]:
            came = "no attributes" if a is None else f"{a.shape[1]} attributes at each node"
            raise ValueError(
                f"X has {came}, but the graphs it is compared with have {b.shape[1]}: give "
                "attributes of one width."
            )

    def counts(self, X: Graphs) -> Counts:
        degrees = np.maximum(X.degrees, 1)
        ones = np.ones(len(X.neighbours))
        nodes = len(degrees)
        mean = sp.csr_array((ones, X.ends()[1], X.row_starts), (nodes, nodes))
        alone = np.flatnonzero(X.degrees == 0)
        S, shifts = self._projected(X)
        keys = np.empty(S.shape[::-1], np.uint64)
        tags = np.arange(1, len(keys) + 1).astype(np.uint64) * GOLDEN
        for t in range(int(self.rounds) + 1):
            if t:
                still = S[alone]
                S = (mean @ S) / degrees[:, None]
                S[alone] = still
            bins = np.floor(S[:, t] / float(self.width) + shifts[t])
            # the number of a bin and a round; + 0 makes 0 of -0
            keys[t] = mixed(mixed((bins + 0.0).view(np.uint64)) + tags[t])
        return counted(X, keys)

    def _projected(self, X: Graphs) -> tuple[np.ndarray, np.ndarray]:
        """wᵀp of each node for the direction of each round, (N, rounds + 1), and the shifts."""
        # a generator for each round, so that more rounds change none of the first ones
        rounds = range(int(self.rounds) + 1)
        draws = [np.random.default_rng([int(self.random_state), t]) for t in rounds]
        shifts = np.array([rng.random() for rng in draws])
        if X.node_attributes is not None:
            d, normal = X.node_attributes.shape[1], self.metric == "l2"
            W = [(rng.standard_normal if normal else rng.standard_cauchy)(d) for rng in draws]
            return X.node_attributes @ np.stack(W, axis=1), shifts
        # p is 1 in the column of the label, so that wᵀp is what is drawn for the label
        distinct, places = np.unique(labels_of(X), return_inverse=True)
        seeds = np.array([rng.integers(0, 2**63) for rng in draws]).astype(np.uint64)
        u, v = (
            (mixed(distinct[:, None] + mixed(seeds + np.uint64(k))) >> np.uint64(11)) * 2.0**-53
            for k in (1, 2)
        )
        if self.metric == "l1":
            drawn = np.tan(np.pi * (u - 0.5))
        else:  # Box & Muller 1958
            drawn = np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * v)
        return drawn[places], shifts
