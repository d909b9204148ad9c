"""Kernels that count what graphs have in common: labels, and neighbourhoods of nodes.

`GraphCounts` is the product of two lists of counts, each under a number of 64 bits that says what
was counted. The numbers depend on nothing but the graph, so nothing has to be learnt, new graphs
change no feature of others, and what only new graphs have matches nothing. Two different things
have the same number with a chance of about D² / 2^65, if there are D of them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.distances import KernelDistance, Meaning, mirrored
from mercer.kernels.base import Kernel
from mercer.persistence import fields, whole
from mercer.samples import Graphs, Prepared, Ragged, is_whole, mixed

STRIP = 2**14  # graphs whose counts are made at a time, where counts need not be kept
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
NONE32, NONE64 = np.empty(0, np.int32), np.empty(0, np.uint64)
NOWHERE = np.empty(0, np.int64)


@fields(values=whole(axes=2))
class Counts(Ragged):
    """What was counted in each graph: pairs (number, how often), ascending, as uint64."""


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


class GraphCounts(OnGraphs):
    """Abstract: Σ over numbers c of count_c(G) count_c(H). Define ``counts``."""

    vocabulary: Any

    @property
    def large_tiles(self) -> bool:
        return True

    @abstractmethod
    def counts(self, X: Graphs) -> Counts:
        """What each graph has, and how often."""

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((X, self.counts(X)))

    def block(self, X: Any, Z: Any) -> np.ndarray:
        same = X is Z
        A, B = self.sides(X, Z)
        ours = by_key(A.parts[1])
        theirs = ours if same else by_key(B.parts[1])
        K = np.zeros((A.shape[0], B.shape[0]))
        _native.kmer_join(*ours, *theirs, 1.0, same, K)
        K = mirrored(K) if same else K
        return K.astype(np.result_type(A.dtype, B.dtype), copy=False)

    def diag(self, X: Any) -> np.ndarray:
        X = self.prepare(X)
        found = X.parts[1]
        squares = np.square(found.values[:, 1].astype(np.float64))
        owners = np.repeat(np.arange(len(found)), found.lengths)
        return np.bincount(owners, squares, len(found)).astype(X.dtype, copy=False)

    def columns_of(self, X: Any) -> np.ndarray:
        """The numbers of all that raw or encoded graphs have, ascending: a ``vocabulary``."""
        X = self.encode(X)
        parts = [self.counts(X[s : s + STRIP]).values[:, 0] for s in range(0, len(X), STRIP)]
        return np.unique(np.concatenate(parts))

    def features(self, X: Graphs, width: int | None = None) -> sp.csr_array:
        """Counts, sparse, (n, p): one column for each number of the vocabulary, in order.

        With a ``width``, numbers are folded into so many columns, each with a sign, so that there
        is no vocabulary: products of features are right in the mean. Graphs are counted in strips.
        """
        known = None
        if width is None:
            given: Any = X if self.vocabulary is None else self.vocabulary
            numbers = isinstance(given, np.ndarray) and given.dtype == np.uint64
            known = np.unique(given) if numbers else self.columns_of(given)
            size = len(known)
        elif is_whole(width) and 1 <= width < 2**31:
            size = int(width)
        else:
            raise ValueError(f"width={width!r}: give an integer >= 1, or None.")
        parts = [
            self._columns(X[s : s + STRIP], known, size, X.dtype) for s in range(0, len(X), STRIP)
        ]
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.nnz for part in parts)])
        starts = [part.indptr[:-1] + end for part, end in zip(parts, ends)]
        index = np.int32 if ends[-1] < 2**31 else np.int64
        indptr = np.concatenate([*starts, ends[-1:]]).astype(index)
        data = np.concatenate([part.data for part in parts])
        indices = np.concatenate([part.indices for part in parts]).astype(index, copy=False)
        return sp.csr_array((data, indices, indptr), (len(X), size))

    def _columns(self, X: Graphs, known: np.ndarray | None, size: int, dtype: Any) -> sp.csr_array:
        found = self.counts(X)
        keys, counts = found.values[:, 0], found.values[:, 1].astype(dtype)
        rows = np.repeat(np.arange(len(X), dtype=np.int32), found.lengths)
        if known is None:
            at = (keys % np.uint64(size)).astype(np.int32)
            counts *= np.where(mixed(keys) >> np.uint64(63), -1, 1).astype(dtype)
        else:
            at = np.minimum(np.searchsorted(known, keys), max(size - 1, 0))
            hit = known[at] == keys if size else np.zeros(len(at), bool)
            rows, at, counts = rows[hit], at[hit].astype(np.int32), counts[hit]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(X)))))
        F = sp.csr_array((counts, at, indptr.astype(np.int32)), (len(X), size))
        F.sum_duplicates()
        return F


class VertexHistogram(GraphCounts):
    r"""Vertex histogram kernel :math:`k(G, H) = \sum_c n_c(G) \, n_c(H)`, where :math:`n_c` counts
    the nodes with the label c.

    Parameters
    ----------
    vocabulary : graphs or array of uint64, optional
        The graphs whose labels are the columns of ``features``, or what ``columns_of`` returns for
        them. None means the graphs that ``features`` is called with.

    Notes
    -----
    It is positive semidefinite. Nodes without labels all have the same one. It takes n operations
    for a graph of n nodes, and one for each pair of graphs and label that they share.

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


class WeisfeilerLehman(GraphCounts):
    r"""Weisfeiler-Lehman subtree kernel
    :math:`k(G, H) = \sum_{t=0}^{h} \sum_c n_c^t(G) \, n_c^t(H)`.

    In round 0 the colour c of a node is its label. In each round, a node gets a new colour, which
    tells its own colour and those of its neighbours. :math:`n_c^t` counts the nodes with the colour
    c after round t: nodes whose neighbourhoods look alike up to t steps away.

    Parameters
    ----------
    rounds : int >= 0, default=5
        h. With more rounds, larger neighbourhoods have to be equal.
    vocabulary : graphs or array of uint64, optional
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

    def __init__(self, rounds: int = 5, vocabulary: Any = None):
        self.rounds = rounds
        self.vocabulary = vocabulary

    def validate(self) -> None:
        check_rounds(self.rounds, "rounds")

    def counts(self, X: Graphs) -> Counts:
        return counted(X, colours(X, int(self.rounds)))


class WLOptimalAssignment(GraphCounts):
    r"""Weisfeiler-Lehman optimal assignment kernel
    :math:`k(G, H) = \sum_{t=0}^{h} \sum_c \min(n_c^t(G), n_c^t(H))`, with the colours of
    `WeisfeilerLehman`.

    It is the largest sum of similarities when nodes are matched one to one, where two nodes are as
    similar as rounds in which they have the same colour.

    Parameters
    ----------
    rounds : int >= 0, default=5
        h, the number of rounds.
    vocabulary : graphs or array of uint64, optional
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

    def __init__(self, rounds: int = 5, vocabulary: Any = None):
        self.rounds = rounds
        self.vocabulary = vocabulary

    def validate(self) -> None:
        check_rounds(self.rounds, "rounds")

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


def by_key(found: Counts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, rows and counts, sorted by numbers and then by rows."""
    total = len(found.values)
    keys, rows, counts = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total)
    _native.sort_keys(
        np.ascontiguousarray(found.starts), np.ascontiguousarray(found.values), keys, rows, counts
    )
    return keys, rows, counts


def arrays(X: Graphs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What native loops read."""
    return tuple(map(np.ascontiguousarray, (X.node_starts, X.row_starts, X.neighbours)))  # type: ignore


def check_rounds(value: Any, name: str) -> None:
    """Raise an error if a number of rounds is not an integer >= 0."""
    if not (is_whole(value) and value >= 0):
        raise ValueError(f"{name}={value!r}: give an integer >= 0.")


class LabelCounter:
    """Counts of the neighbourhoods of one step that training graphs have, as a simple baseline."""

    def __init__(self, X: Graphs):
        kernel = WeisfeilerLehman(1)
        self.kernel = WeisfeilerLehman(1, kernel.columns_of(X))

    def features(self, X: Graphs) -> sp.csr_array:
        return self.kernel.features(X)


def graph_kernel() -> Kernel:
    """The kernel that suits graphs first."""
    return WeisfeilerLehman(3).normalised()


def graph_distance() -> KernelDistance:
    """The distance in its feature space."""
    return KernelDistance(graph_kernel())
