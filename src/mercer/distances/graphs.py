"""The edit distance between small graphs, by a native search for the best map of their nodes.

kernels/graph_counts.py has comparisons of graphs that take linear time.
"""

from __future__ import annotations

import warnings

import numpy as np

from mercer import _native
from mercer.distances.base import Distance
from mercer.distances.comparison import Meaning
from mercer.estimator import estimator
from mercer.samples import Graphs, SamplesLike, is_number, is_whole
from mercer.threads import raise_if_stopped

COSTS = ("node_cost", "edge_cost", "node_relabel", "edge_relabel")
NONE = np.empty(0, np.uint64)


@estimator
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
        Graphs with more nodes are refused, since the time of an exact search grows exponentially.
    max_steps : int >= 1, default=1_000_000
        The search for a pair of graphs ends after so many partial maps of nodes, which take
        :math:`O(n^3)` operations each. Graphs of up to 8 nodes never need the default.

    See Also
    --------
    mercer.kernels.WeisfeilerLehman : Compares large graphs; its distance is
        ``KernelDistance(WeisfeilerLehman())``.

    Raises
    ------
    ValueError
        A graph has more than ``max_nodes`` nodes; the message names it.

    Warns
    -----
    UserWarning
        ``max_steps`` ended the search of some pairs. Their values are the least cost that was
        found, an upper bound of the distance; `interval` returns the lower bound too.

    Notes
    -----
    It is a metric between graphs up to the order of their nodes: 0 says that they are isomorphic,
    if both relabellings cost something. It is no distance of a Hilbert space: exp(-γ ρ) and
    exp(-γ ρ²) are in general not positive semidefinite, and `check_mercer` tests them on a sample.

    The search decides about one node after another, and leaves out every partial map that cannot be
    completed at less than the best cost so far. What the other nodes cost at least is the solution
    of an assignment problem, in which a pair of nodes costs its labels, its edges to the nodes that
    are decided, and half of what its other edges cost at least. It is exact unless there is the
    warning above; upper bounds are symmetric too, but may violate the triangle inequality.
    Attributes of nodes are not read. A loop counts as an edge.

    References
    ----------
    Sanfeliu & Fu, "A distance measure between attributed relational graphs for pattern
    recognition", IEEE Trans. SMC 13, 1983.
    Abu-Aisheh, Raveaux, Ramel & Martineau, "An exact graph edit distance algorithm for solving
    pattern recognition problems", ICPRAM 2015.
    Riesen & Bunke, "Approximate graph edit distance computation by means of bipartite graph
    matching", Image and Vision Computing 27, 2009: the assignment problem.

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
    pair_rows = 1

    node_cost: float = 1.0
    edge_cost: float = 1.0
    node_relabel: float = 1.0
    edge_relabel: float = 1.0
    max_nodes: int = 8
    max_steps: int = 1_000_000

    def validate(self) -> None:
        for name in COSTS:
            value = getattr(self, name)
            least = 0 if name.endswith("relabel") else np.nextafter(0, 1)
            if not (is_number(value) and least <= value < np.inf):
                raise ValueError(
                    f"{name}={value!r}: give a finite number {'>=' if least == 0 else '>'} 0."
                )
        for name in ("max_nodes", "max_steps"):
            value = getattr(self, name)
            if not (is_whole(value) and 1 <= value < 2**63):
                raise ValueError(f"{name}={value!r}: give a whole number >= 1.")

    def check(self, X: Graphs, like: Graphs | None = None) -> None:
        large = np.flatnonzero(X.sizes > self.max_nodes)
        if len(large):
            i = int(large[0])
            raise ValueError(
                f"X[{i}] has {X.sizes[i]} nodes, but GraphEdit compares graphs of at most "
                f"max_nodes={self.max_nodes}, since its time grows exponentially: give "
                "KernelDistance(WeisfeilerLehman().normalised()) for larger graphs, or raise "
                "max_nodes: a search that max_steps ends returns an upper bound."
            )

    def pair_cost(self, X: Graphs) -> float:
        return 1e6

    def block(self, X: Graphs, Z: Graphs) -> np.ndarray:
        return self.within(X, Z, np.inf)

    def within(self, X: Graphs, Z: Graphs, limit: float) -> np.ndarray:
        lower, upper = self._search(X, Z, limit)
        ended = (lower < upper) & (lower <= limit)
        if ended.any():
            warnings.warn(
                f"GraphEdit: max_steps={self.max_steps} ended the search for {ended.sum()} of "
                f"{ended.size} pairs of graphs. Their values are upper bounds, above a lower bound "
                f"by up to {(upper - lower)[ended].max():.3g}: raise max_steps, or look at "
                "GraphEdit.interval(X), which returns both bounds.",
                stacklevel=2,
            )
        with np.errstate(over="ignore"):  # what is beyond float32 is infinite there
            return upper.astype(np.result_type(X.dtype, Z.dtype), copy=False)

    def interval(
        self, X: SamplesLike, Z: SamplesLike | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the distances between raw graphs.

        Parameters
        ----------
        X, Z : lists of n and m graphs
            Without Z, the graphs of X are compared with each other.

        Returns
        -------
        lower, upper : ndarrays of shape (n, m), float64
            Equal where the search ended before ``max_steps``.

        Examples
        --------
        Two rings of 12 nodes, one of them in two parts:

        >>> one = (12, [(i, (i + 1) % 12) for i in range(12)])
        >>> two = (12, [(i, i - 5 if i % 6 == 5 else i + 1) for i in range(12)])
        >>> lower, upper = GraphEdit(max_nodes=12, max_steps=20).interval([one], [two])
        >>> float(lower[0, 0]), float(upper[0, 0])
        (0.0, 4.0)
        """
        self.validate()
        training = self.encode(X if Z is None else Z)
        new = training if Z is None or Z is X else self.encode(X, like=training)
        return self._search(new, training, np.inf)

    def _search(self, X: Graphs, Z: Graphs, limit: float) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the distance of each pair, equal where the search came to an end."""
        same = X is Z
        marked = X.edge_labels is not None and Z.edge_labels is not None
        both = (*_lists(X, marked), *_lists(Z, marked))
        # in units of the largest cost no sum overflows, and costs of any size are searched alike
        costs = np.array([float(getattr(self, name)) for name in COSTS])
        unit = costs.max()
        lower, upper = np.zeros((2, len(X), len(Z)))
        for i in range(len(X)):
            _native.graph_edits(
                *both, i, i + 1 if same else 0, *(costs / unit).tolist(), X.directed,
                int(self.max_steps), float(limit) / unit, lower[i], upper[i],
                raise_if_stopped,
            )  # fmt: skip
        if same:
            lower, upper = lower + lower.T, upper + upper.T
        return lower * unit, upper * unit


def _lists(X: Graphs, marked: bool) -> tuple:
    """What the native search reads: nodes, edges, and the labels of both."""
    labels = np.zeros(len(X.degrees), np.uint64) if X.node_labels is None else X.node_labels
    lists = (X.node_starts, X.row_starts, X.neighbours, labels)
    return (*map(np.ascontiguousarray, lists), X.edge_labels if marked else NONE)
