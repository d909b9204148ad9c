"""The edit distance between small graphs; networkx searches for the best map of their nodes.

kernels/graph_counts.py has comparisons of graphs that take linear time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.meaning import Meaning
from mercer.samples import Graphs, Prepared, is_number, is_whole
from mercer.threads import raise_if_stopped

ROUNDED_UP = 1 + 1e-12  # sums of costs in another order than those of the limit
COSTS = ("node_cost", "edge_cost", "node_relabel", "edge_relabel")


class GraphEdit(Distance):
    r"""Graph edit distance: the least cost of turning one graph into the other by inserting,
    deleting and relabelling nodes and edges,

    .. math::
        \rho(G, H) = \min_\pi \; &c_n \bigl(|V_G| + |V_H| - 2 |\pi|\bigr)
        + c_e \bigl(|E_G| + |E_H| - 2 |E_\pi|\bigr) \\
        &+ r_n \, |\{v : l(v) \ne l(\pi v)\}| + r_e \, |\{e \in E_\pi : l(e) \ne l(\pi e)\}|,

    over the one-to-one maps π of some nodes of G to some of H, where :math:`E_\pi` are the edges
    that π takes to edges. Instead of a relabelled node or edge there may be a deleted and an
    inserted one.

    Parameters
    ----------
    node_cost : float > 0, default=1.0
        The cost :math:`c_n` of a node that is inserted or deleted.
    edge_cost : float > 0, default=1.0
        The cost :math:`c_e` of an edge that is inserted or deleted.
    node_relabel : float >= 0, default=1.0
        The cost :math:`r_n` of another label of a node. 0: labels are not read.
    edge_relabel : float >= 0, default=1.0
        The cost :math:`r_e` of another label of an edge.
    max_nodes : int >= 1, default=8
        Graphs with more nodes are refused, since a pair of them may take hours.

    See Also
    --------
    mercer.kernels.WeisfeilerLehman : Compares large graphs; its distance is
        ``KernelDistance(WeisfeilerLehman())``.

    Raises
    ------
    ImportError
        networkx is not installed: ``pip install "mercer[objects]"``.
    ValueError
        A graph has more than ``max_nodes`` nodes; the message names it.

    Notes
    -----
    It is a metric between graphs up to the order of their nodes: 0 says that they are isomorphic,
    if both relabellings cost something. It is no distance of a Hilbert space: exp(-γ ρ) and
    exp(-γ ρ²) are in general not positive semidefinite, and `check_mercer` tests them on a sample.

    The search is exact, and takes time that grows exponentially with the nodes: about
    :math:`n!` maps in the worst case, of which most are left out. Labels and cheap pairs shorten
    it. Attributes of nodes are not read. A loop counts as an edge.

    References
    ----------
    Sanfeliu & Fu, "A distance measure between attributed relational graphs for pattern
    recognition", IEEE Trans. SMC 13, 1983.
    Abu-Aisheh, Raveaux, Ramel & Martineau, "An exact graph edit distance algorithm for solving
    pattern recognition problems", ICPRAM 2015.
    Hagberg, Schult & Swart, "Exploring network structure, dynamics, and function using NetworkX",
    SciPy 2008.

    Examples
    --------
    A triangle, a path of its nodes, and the path with another label at its end:

    >>> triangle = (3, [(0, 1), (1, 2), (0, 2)], ["C", "C", "O"])
    >>> path = (3, [(0, 1), (1, 2)], ["C", "C", "O"])
    >>> other = (3, [(0, 1), (1, 2)], ["C", "C", "N"])
    >>> GraphEdit()([triangle, path, other])
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """

    meaning = Meaning(
        "ged(x, z)", "the least number of nodes and edges to insert, delete or relabel"
    )
    kind = "graphs"

    def __init__(
        self,
        node_cost: float = 1.0,
        edge_cost: float = 1.0,
        node_relabel: float = 1.0,
        edge_relabel: float = 1.0,
        max_nodes: int = 8,
    ):
        self.node_cost = node_cost
        self.edge_cost = edge_cost
        self.node_relabel = node_relabel
        self.edge_relabel = edge_relabel
        self.max_nodes = max_nodes

    def validate(self) -> None:
        for name in COSTS:
            value = getattr(self, name)
            least = 0 if name.endswith("relabel") else np.nextafter(0, 1)
            if not (is_number(value) and least <= value < np.inf):
                raise ValueError(
                    f"{name}={value!r}: give a finite number {'>=' if least == 0 else '>'} 0."
                )
        if not (is_whole(self.max_nodes) and self.max_nodes >= 1):
            raise ValueError(f"max_nodes={self.max_nodes!r}: give a whole number >= 1.")

    def check(self, X: Graphs, like: Any = None) -> None:
        large = np.flatnonzero(X.sizes > self.max_nodes)
        if len(large):
            i = int(large[0])
            raise ValueError(
                f"X[{i}] has {X.sizes[i]} nodes, but GraphEdit compares graphs of at most "
                f"max_nodes={self.max_nodes}, since its time grows exponentially: give "
                "KernelDistance(WeisfeilerLehman().normalised()) for larger graphs, or raise "
                "max_nodes if you can wait."
            )

    def pair_cost(self, X: Graphs) -> float:
        return 1e6

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((X, _as_networkx(X)))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return self.within(X, Z, np.inf)

    def within(self, X: Any, Z: Any, limit: float) -> np.ndarray:
        same = X is Z
        X, Z = self.sides(X, Z)
        D = np.zeros(X.shape + Z.shape, np.result_type(X.dtype, Z.dtype))
        search = _searcher(self, limit)
        for i, x in enumerate(X.parts[1]):
            raise_if_stopped()
            first = i + 1 if same else 0
            D[i, first:] = [search(x, z) for z in Z.parts[1][first:]]
        return D + D.T if same else D


def _searcher(costs: GraphEdit, limit: float) -> Any:
    """A function of two graphs, which returns their distance, or infinity if it is above the
    limit."""
    graph_edit_distance = _networkx().graph_edit_distance
    node, edge = float(costs.node_cost), float(costs.edge_cost)
    relabelled, relinked = float(costs.node_relabel), float(costs.edge_relabel)

    def swap(x: dict, z: dict) -> float:
        # networkx takes the loop of one node for that of another: here they belong to their nodes
        loops = edge * ((x["loop"] is None) != (z["loop"] is None))
        if x["loop"] is not None and z["loop"] is not None:
            loops = min(relinked, 2 * edge) * (x["loop"] != z["loop"])
        return relabelled * (x["label"] != z["label"]) + loops

    def alone(x: dict) -> float:
        return node + edge * (x["loop"] is not None)

    options = {
        "node_subst_cost": swap, "node_del_cost": alone, "node_ins_cost": alone,
        "edge_subst_cost": lambda x, z: relinked * (x["label"] != z["label"]),
        "edge_del_cost": lambda x: edge, "edge_ins_cost": lambda x: edge,
    }  # fmt: skip
    if limit < np.inf:
        options["upper_bound"] = limit * ROUNDED_UP

    def search(x: Any, z: Any) -> float:
        found = graph_edit_distance(x, z, **options)
        return np.inf if found is None else float(found)

    return search


def _as_networkx(X: Graphs) -> np.ndarray:
    """The graphs as objects of networkx, whose nodes hold their labels and those of their loops."""
    make = _networkx().DiGraph if X.directed else _networkx().Graph
    out = np.empty(len(X), object)
    for i in range(len(X)):
        graph = X[i : i + 1]
        n = len(graph.degrees)
        labels = np.zeros(n, int) if graph.node_labels is None else graph.node_labels
        u, v = graph.ends()
        marks = np.zeros(len(u), int) if graph.edge_labels is None else graph.edge_labels
        edges = list(zip(u.tolist(), v.tolist(), marks.tolist()))
        loops = {a: mark for a, b, mark in edges if a == b}
        out[i] = make()
        out[i].add_nodes_from(
            (a, {"label": label, "loop": loops.get(a)}) for a, label in enumerate(labels.tolist())
        )
        out[i].add_edges_from((a, b, {"label": mark}) for a, b, mark in edges if a != b)
    return out


def _networkx() -> Any:
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise ImportError(
            f"GraphEdit needs networkx ({error.name} is not installed): run "
            'pip install "mercer[objects]".'
        ) from error
    return networkx
