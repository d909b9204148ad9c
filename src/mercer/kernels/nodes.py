"""Kernels between the nodes of one graph: diffusion, regularised Laplacian, walks of p steps.

A sample is the number of a node; the kernel holds the graph. All of them are functions of the
Laplacian (laplacian_functions.py), which say how far something spreads from one node to another.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from mercer.distances import Meaning, dense_rows
from mercer.estimator import estimator
from mercer.kernels.base import GramProducts, Kernel
from mercer.kernels.laplacian_functions import (
    LaplacianFunction,
    MultipliedFunction,
    PowerFunction,
    SpectralFunction,
    exponential,
    inverse,
    largest_at_most,
)
from mercer.samples import (
    LAPLACIANS,
    NodeGraph,
    Prepared,
    Samples,
    check_count,
    check_not_negative,
    check_positive,
    in_one_column,
    is_number,
    known_form,
)

SMALL = 2000  # nodes, up to which the Laplacian is decomposed: 3 s on one core of an AMD EPYC


class OnNodes(Kernel):
    """Abstract: f(L)[i, j] for nodes i and j. Define ``values_of`` and ``function_of``."""

    graph: Any
    laplacian: str

    @abstractmethod
    def values_of(self, eigenvalues: np.ndarray) -> np.ndarray:
        """f of the eigenvalues of L, (n,)."""

    @abstractmethod
    def function_of(self, graph: NodeGraph) -> MultipliedFunction:
        """f(L) of a large graph."""

    def validate(self) -> None:
        if not (isinstance(self.laplacian, str) and self.laplacian in LAPLACIANS):
            raise ValueError(
                f'laplacian={self.laplacian!r}: give "plain" for D - A, or "normalised".'
            )
        NodeGraph.of(self.graph)

    def encode(self, X: Any, like: Any = None) -> Any:
        """Numbers of nodes need no second axis: a list of them is a column."""
        nodes = in_one_column(known_form(X)) or [None]
        return super().encode(np.reshape(nodes, (-1, 1)) if all(map(is_number, nodes)) else X, like)

    def bind(self, X: Samples, y: object = None, sample_weight: object = None) -> Self:
        self.validate()
        graph = NodeGraph.of(self.graph)
        _node_numbers(X, len(graph))
        return self if graph is self.graph else self.copied(graph=graph)

    def check(self, X: Samples, like: Samples | None = None) -> None:
        _node_numbers(X, len(NodeGraph.of(self.graph)))

    def pair_cost(self, X: Samples) -> float:
        graph = NodeGraph.of(self.graph)
        return 2.0 * len(graph) if len(graph) <= SMALL else 4.0 * graph.weights.nnz

    def prepare(self, X: Samples, like: Any = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        graph = NodeGraph.of(self.graph)
        rows = _node_numbers(X, len(graph))
        return Prepared((X, rows), self._function(graph) if like is None else like.common)

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        A, B = self.sides(X, Z)
        f: LaplacianFunction = B.common
        K = f.block(A.parts[1], B.parts[1])
        if A is B:
            K = (K + K.T) / 2
        return K.astype(np.result_type(A.dtype, B.dtype), copy=False)

    def diag(self, X: Any) -> np.ndarray:
        X = self.prepare(X)
        return X.common.diag(X.parts[1]).astype(X.dtype, copy=False)

    def products(self, X: Samples, Z: Samples) -> GramProducts | None:
        graph = NodeGraph.of(self.graph)
        if len(graph) <= SMALL:
            return None
        n, f = len(graph), self.function_of(graph)
        rows = _node_numbers(X, n)
        columns = rows if Z is X else _node_numbers(Z, n)
        return GramProducts(f.multiply, n, rows, columns, f.cost)

    def _function(self, graph: NodeGraph) -> LaplacianFunction:
        if len(graph) > SMALL:
            return self.function_of(graph)
        values, vectors = graph.eigenpairs(self.laplacian)
        return SpectralFunction(self.values_of(values), vectors)

    def _largest(self, graph: NodeGraph) -> float:
        """The largest eigenvalue of L, or somewhat more."""
        if self.laplacian == "normalised":
            return 2.0
        if len(graph) <= SMALL:
            return float(graph.eigenpairs()[0][-1])
        return largest_at_most(*graph.laplacian())  # that of D + A is not smaller


class OfTime(OnNodes):
    """Abstract: how far something spreads from a node in the time β."""

    free = ("beta",)

    def __init__(self, graph: Any, beta: float = 1.0, laplacian: str = "plain"):
        self.graph = graph
        self.beta = beta
        self.laplacian = laplacian

    def validate(self) -> None:
        super().validate()
        check_not_negative("beta", self.beta)


class Diffusion(OfTime):
    r"""Diffusion kernel between the nodes of one graph

    .. math:: k(i, j) = \exp(-\beta L)_{ij} ,

    where :math:`L = D - A` is the graph's Laplacian.

    It is the heat at node j after the time β, if a unit of it starts at node i and flows along the
    edges: large for nodes that many short ways connect.

    Parameters
    ----------
    graph : graph
        A symmetric matrix of weights >= 0, sparse or not; a graph of networkx, igraph or
        rustworkx, or a tuple ``(n, edges)``. `mercer.samples.NodeGraph.of` reads it, and may be
        given its result, which a search should have.
    beta : float >= 0, default=1.0
        β, the time. With 0 nodes are alike only to themselves; with a large one to all nodes of
        their part of the graph.
    laplacian : {"plain", "normalised"}, default="plain"
        "normalised" is :math:`D^{-1/2} L D^{-1/2}`, with which heat leaves nodes of many edges as
        slowly as others.

    Notes
    -----
    A sample is the number of a node, in the order of the graph: X is a list or a column of them.
    The kernel is positive semidefinite, and with the plain Laplacian its values are in [0, 1] and
    the row sums over all nodes are 1. A node without edges is like itself, 1, and like no other, 0.
    A new node makes a new graph, and a new fit.

    Up to 2,000 nodes L is decomposed once, for every β. Beyond, K is an operator that learners
    multiply by vectors: a product takes about 20 + 6 √(β ρ) steps, where ρ <= 2 max D is the
    largest eigenvalue of L, of one operation for each edge, and no matrix of nodes by nodes is
    made. Each single value of K takes as much as a product.

    References
    ----------
    Kondor & Lafferty, "Diffusion kernels on graphs and other discrete input spaces", ICML 2002.

    Examples
    --------
    Two triangles, and an edge between them:

    >>> graph = (6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])
    >>> Diffusion(graph)([[0], [1], [5]]).round(3)
    array([[0.335, 0.286, 0.031],
           [0.286, 0.335, 0.031],
           [0.031, 0.031, 0.335]])
    """

    meaning = Meaning(
        "exp(−β L)[x, z]", "how much of what starts at one node is at the other after a time"
    )

    def values_of(self, eigenvalues: np.ndarray) -> np.ndarray:
        return np.exp(-float(self.beta) * eigenvalues)

    def function_of(self, graph: NodeGraph) -> MultipliedFunction:
        own, shared = graph.laplacian(self.laplacian)
        return exponential(float(self.beta), self._largest(graph), own, shared)


class RegularisedLaplacian(OfTime):
    r"""Regularised Laplacian kernel between the nodes of one graph

    .. math:: k(i, j) = ((I + \beta L)^{-1})_{ij}

    with the graph's Laplacian :math:`L = D - A`.

    It is the chance that a random walk from node i stops at node j, if it goes on with a chance of
    β d / (1 + β d) at a node of degree d. It falls more slowly with the distance than `Diffusion`.

    Parameters
    ----------
    graph : graph
        It is as in `Diffusion`.
    beta : float >= 0, default=1.0
        β, how far to go.
    laplacian : {"plain", "normalised"}, default="plain"
        It is as in `Diffusion`.

    Notes
    -----
    A sample is the number of a node; see `Diffusion`. The kernel is positive semidefinite, and with
    the plain Laplacian its values are in [0, 1] and the row sums over all nodes are 1. A node
    without edges is like itself, 1, and like no other, 0.

    `KernelRidge` with it is the smoothest function on the graph near the targets: the norm of its
    space is :math:`|f|^2 + \beta f^\top L f`.

    Up to 2,000 nodes L is decomposed once. Beyond, K is an operator, a product with which takes
    about 26 √(1 + β d) steps at most, for the largest degree d, of one operation for each edge.

    References
    ----------
    Smola & Kondor, "Kernels and regularization on graphs", COLT 2003; Chebotarev & Shamis, "The
    matrix-forest theorem and measuring relations in small social groups", Automation and Remote
    Control 58, 1997.

    Examples
    --------
    >>> graph = (4, [(0, 1), (1, 2)])
    >>> RegularisedLaplacian(graph)([[0], [1], [2], [3]])
    array([[0.625, 0.25 , 0.125, 0.   ],
           [0.25 , 0.5  , 0.25 , 0.   ],
           [0.125, 0.25 , 0.625, 0.   ],
           [0.   , 0.   , 0.   , 1.   ]])
    """

    meaning = Meaning("(I + β L)⁻¹[x, z]", "how often a walk from one node stops at the other")

    def values_of(self, eigenvalues: np.ndarray) -> np.ndarray:
        return 1 / (1 + float(self.beta) * eigenvalues)

    def function_of(self, graph: NodeGraph) -> MultipliedFunction:
        own, shared = graph.laplacian(self.laplacian)
        return inverse(float(self.beta), own, shared)


@estimator
class PStepWalk(OnNodes):
    r"""p-step random walk kernel between the nodes of one graph

    .. math:: k(i, j) = ((I - L / a)^p)_{ij}

    with the graph's Laplacian :math:`L = D - A`.

    It is the chance that a lazy random walk from node i is at node j after p steps. Nodes that are
    more than p edges apart are not alike at all.

    Parameters
    ----------
    graph : graph
        It is as in `Diffusion`.
    steps : int >= 1, default=2
        p.
    shift : float > 0 or "auto", default="auto"
        a, at least the largest eigenvalue of L: with a larger one the walk is lazier. "auto" is the
        largest sum of the degrees of both ends of an edge, which is not less; 2 for the normalised
        Laplacian.
    laplacian : {"plain", "normalised"}, default="plain"
        It is as in `Diffusion`; Smola & Kondor have the normalised one.

    Raises
    ------
    ValueError
        ``shift`` is below the largest eigenvalue: an odd p would give no kernel.

    Notes
    -----
    A sample is the number of a node; see `Diffusion`. Smola & Kondor's :math:`(aI - L)^p` is
    :math:`a^p` times this kernel. It is positive semidefinite, and with the plain Laplacian the row
    sums over all nodes are 1. A node without edges is like itself, 1, and like no other, 0.

    A product with it takes p steps of one operation for each edge.

    References
    ----------
    Smola & Kondor, "Kernels and regularization on graphs", COLT 2003.

    Examples
    --------
    >>> PStepWalk((4, [(0, 1), (1, 2)]), shift=4)([[0], [1], [2], [3]])
    array([[0.625 , 0.3125, 0.0625, 0.    ],
           [0.3125, 0.375 , 0.3125, 0.    ],
           [0.0625, 0.3125, 0.625 , 0.    ],
           [0.    , 0.    , 0.    , 1.    ]])
    """

    meaning = Meaning(
        "((I − L / a)^{steps})[x, z]", "how often a walk of {steps} steps leads from node to node"
    )

    graph: Any
    steps: int = 2
    shift: float | str = "auto"
    laplacian: str = "plain"

    def validate(self) -> None:
        super().validate()
        check_count("steps", self.steps, optional=False)
        if isinstance(self.shift, str) and self.shift == "auto":
            return
        check_positive("shift", self.shift, ', or "auto"')

    def values_of(self, eigenvalues: np.ndarray) -> np.ndarray:
        return np.maximum(1 - eigenvalues / self._shift(NodeGraph.of(self.graph)), 0) ** self.steps

    def function_of(self, graph: NodeGraph) -> MultipliedFunction:
        a, (own, shared) = self._shift(graph), graph.laplacian(self.laplacian)
        return PowerFunction(1 - own / a, shared * (1 / a), int(self.steps))

    def _shift(self, graph: NodeGraph) -> float:
        """The number a of a - L, above the largest eigenvalue of L."""
        if not isinstance(self.shift, str):
            largest, a = self._largest(graph), float(self.shift)
            if a < largest * (1 - 1e-9):
                raise ValueError(
                    f"shift={self.shift!r} is below {largest:.6g}, the largest eigenvalue of the "
                    'graph\'s Laplacian or somewhat more: give a number that is not, or "auto".'
                )
            return a
        if self.laplacian == "normalised":
            return 2.0
        d, A = graph.degrees, graph.weights
        ends = np.repeat(d, np.diff(A.indptr)) + d[A.indices]
        return float(ends.max(initial=0)) or 1.0  # Anderson & Morley 1985


def _node_numbers(X: Samples, size: int) -> np.ndarray:
    """The nodes that encoded samples are, (n,), or an error that names the sample."""
    if X.shape[1] != 1:
        raise ValueError(
            f"X has {X.shape[1]} columns: a sample is the number of a node, so give one column of "
            "whole numbers."
        )
    values = np.asarray(dense_rows(X), np.float64)[:, 0]
    wrong = ~((values == np.floor(values)) & (values >= 0) & (values < size))
    if wrong.any():
        i = int(wrong.argmax())
        raise ValueError(
            f"X[{i}] is {values[i]:g}, but the graph has the nodes 0 to {size - 1}: give their "
            "numbers. A new node makes a new graph, which the kernel has to be given."
        )
    if X.dtype == np.float32 and size > 2**24:
        raise ValueError(
            f"X is float32, which cannot distinguish numbers of {size:,} nodes: give integers."
        )
    return values.astype(np.intp)
