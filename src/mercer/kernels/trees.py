"""Kernels on ordered trees with labels: equal subtrees, parts that keep productions, and parts of
any form.

A production is the label of a node with the labels of its children. Labels, productions and
subtrees are compared by numbers of 64 bits, as in key_counts.py.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from mercer import _native
from mercer.distances import KernelDistance, Meaning
from mercer.kernels.base import Kernel, Scaled, values
from mercer.kernels.key_counts import Counts, KeyCounter, KeyCounts
from mercer.persistence import fields, whole
from mercer.samples import Prepared, Ragged, Samples, Trees, check_positive

PRODUCTION, SUBTREE, SIZE, INNER = range(4)  # columns of what `nodes_of` returns


class Subtree(KeyCounts):
    r"""Subtree kernel

    .. math:: k(S, T) = \sum_c \lambda^{p(c)} \, n_c(S) \, n_c(T) ,

    where :math:`n_c` counts the nodes whose whole subtree is c, and :math:`p(c)` is how many nodes
    of c have children.

    Parameters
    ----------
    decay : float > 0, default=1.0
        λ. With less than 1, large subtrees count less.
    vocabulary : trees or array of shape (p,), uint64, optional
        The trees whose subtrees are the columns of ``features``, or what ``columns_of`` returns
        for them. None means the trees that ``features`` is called with.

    See Also
    --------
    SubsetTree : Parts that need not go down to the leaves.

    Notes
    -----
    It is positive semidefinite. Leaves are subtrees, too. It takes O(n log n) operations for a tree
    of n nodes, and one for each pair of trees and subtree that they share.

    References
    ----------
    Vishwanathan & Smola, "Fast kernels for string and tree matching", NIPS 2002.

    Examples
    --------
    Both have the subtrees (NP she) and she:

    >>> X = ["(S (NP she) (VP runs))", "(S (NP she) (VP sings))"]
    >>> Subtree()(X)
    array([[5., 2.],
           [2., 5.]])
    """

    kind = "trees"
    meaning = Meaning(
        "Σ_c λ^p(c) n_c(x) n_c(z), λ = {decay}", "how many whole subtrees two trees share"
    )

    def __init__(self, decay: float = 1.0, vocabulary: Any = None):
        self.decay = decay
        self.vocabulary = vocabulary

    def validate(self) -> None:
        check_positive("decay", self.decay)

    def counts(self, X: Trees) -> Counts:
        """Subtrees, how often each occurs, and how many of its nodes have children."""
        nodes = nodes_of(X)
        keys, inner, owners = nodes[:, SUBTREE], nodes[:, INNER], X.owners
        order = np.lexsort((keys, owners))
        keys, inner, owners = keys[order], inner[order], owners[order]
        first = np.ones(len(keys), bool)
        first[1:] = (keys[1:] != keys[:-1]) | (owners[1:] != owners[:-1])
        at = np.flatnonzero(first)
        times = np.diff(np.append(at, len(keys))).astype(np.uint64)
        starts = np.concatenate(([0], np.cumsum(np.bincount(owners[at], minlength=len(X)))))
        return Counts(np.stack([keys[at], times, inner[at]], axis=1), starts)

    def amounts(self, found: Counts) -> np.ndarray:
        with np.errstate(under="ignore", over="ignore"):
            weights = float(self.decay) ** (found.values[:, 2].astype(np.float64) / 2)
        return found.values[:, 1] * weights


@fields(values=whole(axes=2))
class TreeNodes(Ragged):
    """What pairs of trees are compared by: for each node a number that equal nodes share, its
    children, the nodes of its subtree, and the node that stands in its place when all of the tree
    are sorted by that number; (total, 4), uint64."""


class NodePairs(Kernel):
    """Abstract: Σ over pairs of nodes of Δ, which comes from those of their children. Define
    ``keys``, which only nodes with Δ > 0 share, and ``terms``."""

    kind = "trees"

    @abstractmethod
    def keys(self, X: Trees, nodes: np.ndarray) -> np.ndarray:
        """A number for each node, (nodes,); nodes with the largest one match nothing."""

    @abstractmethod
    def terms(self) -> tuple[bool, float, float]:
        """Whether parts of any form are counted, λ, and μ."""

    def pair_cost(self, X: Trees) -> float:
        sizes = X.parts[0].lengths if isinstance(X, Prepared) else X.lengths
        return float(sizes.mean()) ** 2 if len(sizes) else 0.0

    def prepare(self, X: Trees, like: Samples | None = None) -> Prepared:
        if isinstance(X, Prepared):
            return X
        nodes = nodes_of(X)
        keys = self.keys(X, nodes)
        order = np.lexsort((keys, X.owners)) - np.repeat(X.starts[:-1], X.lengths)
        found = [keys, X.values[:, 1], nodes[:, SIZE], order.astype(np.uint64)]
        return Prepared((X, TreeNodes(np.stack(found, axis=1), X.starts, X.dtype)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        return values(self.scaled_block(X, Z), np.result_type(X.dtype, Z.dtype))

    def diag(self, X: np.ndarray) -> np.ndarray:
        return values(self.scaled_diag(X), X.dtype)

    def scaled_block(self, X: Prepared, Z: Prepared) -> Scaled:
        """k(x, z) as (m, e), k = m 2^e; (n, m) each."""
        A, B = self.sides(X, Z)
        found = self._sums(A.parts[1], B.parts[1], X is Z, False)
        if X is Z:
            for each in found:
                low = np.tril_indices(len(each), -1)
                each[low] = each.T[low]
        return found

    def scaled_diag(self, X: Any) -> Scaled:
        """k(x, x) as (m, e); (n,) each."""
        nodes = self.prepare(X).parts[1]
        m, e = self._sums(nodes, nodes, True, True)
        return m[:, 0], e[:, 0]

    def _sums(self, A: TreeNodes, B: TreeNodes, same: bool, own: bool) -> Scaled:
        shape = (len(A), 1 if own else len(B))
        m, e = np.zeros(shape), np.zeros(shape, np.int64)
        sides = [np.ascontiguousarray(part) for X in (A, B) for part in (X.starts, X.values)]
        _native.tree_sums(*sides, *self.terms(), same, own, m, e)
        return m, e


class SubsetTree(NodePairs):
    r"""Subset-tree kernel: how many parts two trees share, where a part keeps all children of a
    node or none of them,

    .. math::
        k(S, T) = \sum_{s \in S} \sum_{t \in T} \Delta(s, t), \qquad
        \Delta(s, t) = \lambda \prod_j \bigl(1 + \Delta(s_j, t_j)\bigr)

    over the children :math:`s_j, t_j`, for nodes of the same production; otherwise, and for leaves,
    Δ = 0.

    Parameters
    ----------
    decay : float > 0, default=0.4
        λ: a part counts λ for each of its nodes whose children it keeps.

    See Also
    --------
    Subtree : Whole subtrees, with explicit features.
    PartialTree : Parts that may leave out single children.

    Notes
    -----
    It is positive semidefinite. Only pairs of nodes of the same production are formed, a few of a
    hundred in parses of sentences (Moschitti 2006); each takes as many operations as it has
    children. A tree of one node has no parts, and k = 0.

    Values of large trees can pass the range of floats. Then ``block`` gives infinities;
    ``scaled_block``, ``log`` and ``SubsetTree().normalised()`` have no such limit. Normalise it:
    else k(x, x) of large trees is far above all others.

    References
    ----------
    Collins & Duffy, "Convolution kernels for natural language", NIPS 2001; Moschitti, "Efficient
    convolution kernels for dependency and constituent syntactic trees", ECML 2006.

    Examples
    --------
    Both have (NP she) and (S NP VP), and these two together:

    >>> X = ["(S (NP she) (VP runs))", "(S (NP she) (VP sings))"]
    >>> SubsetTree(1.0)(X)
    array([[6., 3.],
           [3., 6.]])
    """

    meaning = Meaning(
        "Σ_st Δ(s, t), λ = {decay}", "how many parts of whole productions two trees share"
    )

    def __init__(self, decay: float = 0.4):
        self.decay = decay

    def validate(self) -> None:
        check_positive("decay", self.decay)

    def keys(self, X: Trees, nodes: np.ndarray) -> np.ndarray:
        return nodes[:, PRODUCTION]

    def terms(self) -> tuple[bool, float, float]:
        return False, float(self.decay), 1.0


class PartialTree(NodePairs):
    r"""Partial-tree kernel: how many parts two trees share, where a part may leave out children,

    .. math::
        k(S, T) = \sum_{s \in S} \sum_{t \in T} \Delta(s, t), \qquad
        \Delta(s, t) = \mu \Bigl(\lambda^2 + \sum_{I, J} \lambda^{d(I) + d(J)}
                       \prod_i \Delta(s_{I_i}, t_{J_i})\Bigr)

    over sequences I, J of as many children of s and of t, for nodes of the same label;
    :math:`d(I)` is the last place less the first one, plus 1. Otherwise Δ = 0.

    Parameters
    ----------
    decay : float > 0, default=0.4
        λ: children that are far apart count less.
    depth_decay : float > 0, default=0.4
        μ: a part counts μ for each of its nodes.

    See Also
    --------
    SubsetTree : Parts that keep productions, which is faster and suits parses of grammars.

    Notes
    -----
    It is positive semidefinite, and suits trees whose nodes have any number of children: dependency
    parses, documents, syntax trees of programs. A pair of nodes with a and b children takes O(a b)
    operations; only pairs of the same label are formed.

    Values of large trees can pass the range of floats, as in `SubsetTree`.

    References
    ----------
    Moschitti, "Efficient convolution kernels for dependency and constituent syntactic trees", ECML
    2006.

    Examples
    --------
    A, B, C, and A with B, with C, and with both:

    >>> PartialTree(1.0, 1.0)(["(A (B) (C))"])
    array([[6.]])
    """

    meaning = Meaning(
        "Σ_st Δ(s, t), λ = {decay}, μ = {depth_decay}", "how many parts two trees share"
    )

    def __init__(self, decay: float = 0.4, depth_decay: float = 0.4):
        self.decay = decay
        self.depth_decay = depth_decay

    def validate(self) -> None:
        check_positive("decay", self.decay)
        check_positive("depth_decay", self.depth_decay)

    def keys(self, X: Trees, nodes: np.ndarray) -> np.ndarray:
        return X.values[:, 0]

    def terms(self) -> tuple[bool, float, float]:
        return True, float(self.decay), float(self.depth_decay)


def nodes_of(X: Trees) -> np.ndarray:
    """For each node numbers for its production, the largest one for leaves, and for its subtree;
    the nodes of the subtree, and how many of them have children; (total, 4), uint64."""
    out = np.empty((len(X.values), 4), np.uint64)
    _native.tree_nodes(np.ascontiguousarray(X.starts), np.ascontiguousarray(X.values), out)
    return out


def subtree_counter(X: Trees) -> KeyCounter:
    """Counts of the subtrees that training trees have, as a simple baseline."""
    return KeyCounter(Subtree(), X)


def tree_kernel() -> Kernel:
    """The kernel that suits trees first."""
    return SubsetTree().normalised()


def subtree_kernel() -> Kernel:
    """The kernel that suits large collections of trees."""
    return Subtree().normalised()


def tree_distance() -> KernelDistance:
    """The distance in its feature space."""
    return KernelDistance(tree_kernel())
