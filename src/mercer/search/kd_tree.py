"""Nearest neighbours among rows of numbers by a tree of boxes (k-d tree).

Each node is divided at the median of the column that spreads most, down to leaves of 16 rows. A
search visits the nearest box first, and skips boxes that are farther than the neighbours found
so far. The loops are native (src/native/kd_tree.cpp).
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer import _native
from mercer.distances import Coordinates, dense_rows
from mercer.estimator import documented
from mercer.gram import Place
from mercer.persistence import fields, floats, number, permutation, whole
from mercer.samples import Samples
from mercer.search.index import Index
from mercer.search.rows import OrderedRows
from mercer.search.vectors import NormedRows, Question, VectorRows, VectorSearch

LEAF = 16  # rows of a leaf, as in src/native/kd_tree.hpp
MANY = 2**12  # rows from which on queries are put in the order of their leaves, for the caches


@fields(
    leaves=floats(3),
    order=permutation(lambda tree: len(tree.order)),
    columns=whole(lambda tree: tree.leaves.shape[1], length=lambda tree: len(tree.leaves) - 1),
    bounds=floats(2, lambda tree: len(tree.leaves) - 1),
    box=floats(2, lambda tree: 2, lambda tree: tree.leaves.shape[1]),
    weights=floats(1, lambda tree: tree.leaves.shape[1]),
    p=number(),
)
class BoxTree(VectorRows):
    """Rows in the leaves of a tree of boxes; their distance has p >= 1.

    ``leaves`` (n_leaves, d, 16) are the rows of each leaf, column by column; the last leaf is
    filled up with its last row. ``order`` is the number of each row of the leaves; ``columns``,
    ``bounds`` and ``box`` are the column that each node divides, and how far its rows reach on
    either side, and the box of all rows. See src/native/kd_tree.hpp.
    """

    divisible = False

    def __init__(self, normed: NormedRows):
        rows = np.ascontiguousarray(normed.rows)
        self.p, self.weights, self.largest = normed.p, normed.weights, normed.largest
        n, d = rows.shape
        nodes = -(-n // LEAF) - 1
        self.order = np.empty(n, np.int64)
        self.columns = np.empty(nodes, np.int32)
        self.bounds = np.empty((nodes, 2), rows.dtype)
        # how much a spread counts: w_j |x_j - z_j|^p for the unit of this column
        scale = self.weights.astype(np.float64) ** (1 / self.p if np.isfinite(self.p) else 1)
        _native.kd_build(rows, scale, self.order, self.columns, self.bounds)
        self.box = np.stack([rows.min(axis=0), rows.max(axis=0)])
        places = np.append(self.order, np.full(-n % LEAF, self.order[-1]))
        self.leaves = np.empty((nodes + 1, d, LEAF), rows.dtype)
        step = max(1, 2**20 // (LEAF * d))  # leaves that are copied at a time
        for s in range(0, nodes + 1, step):
            part = rows[places[s * LEAF : (s + step) * LEAF]]
            self.leaves[s : s + step] = part.reshape(-1, LEAF, d).transpose(0, 2, 1)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.order), self.leaves.shape[1]

    @property
    def dtype(self) -> np.dtype:
        return self.leaves.dtype

    def astype(self, dtype: DTypeLike) -> BoxTree:
        if dtype == self.dtype:
            return self
        other = copy(self)
        for name in ("leaves", "bounds", "box", "weights"):
            setattr(other, name, getattr(self, name).astype(dtype))
        return other

    def only(self, kept: np.ndarray) -> BoxTree:
        """The tree with some of the rows, (n,) of bool; the others have the number -1."""
        other = copy(self)
        other.order = np.where(kept[self.order], self.order, -1)
        return other

    def rows(self) -> np.ndarray:
        """The rows in the order of the leaves, (n, d); a new array."""
        d = self.leaves.shape[1]
        return self.leaves.transpose(0, 2, 1).reshape(-1, d)[: len(self.order)]

    def order_of(self, queries: np.ndarray) -> np.ndarray | None:
        if len(self.order) < MANY or len(queries) < LEAF:
            return None
        leaf = np.empty(len(queries), np.int64)
        _native.kd_leaves(*self._tree(), np.ascontiguousarray(queries), leaf)
        return np.argsort(leaf, kind="stable")

    def nearest(
        self, asked: Question, part: slice, distances: np.ndarray, indices: np.ndarray
    ) -> None:
        self.visit(asked, distances, indices)

    def visit(self, asked: Question, distances: np.ndarray, indices: np.ndarray) -> int:
        """The same as `nearest`; also returns how many leaves were read."""
        return _native.kd_nearest(*self._tree(), *self._queries(asked), distances, indices)

    def within(
        self, asked: Question, part: slice, radius: float, found: tuple[np.ndarray, ...]
    ) -> int:
        return _native.kd_within(*self._tree(), *self._queries(asked), radius, *found)

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        leaves = len(self.leaves)
        first, behind = np.arange(1 - leaves, leaves), np.arange(2 - leaves, leaves + 1)
        level = np.array([[0, 0, leaves]])[: leaves - 1]  # node, first leaf, the one behind
        while len(level):
            node, a, b = level.T
            first[node], behind[node] = a, b
            middle = (a + b) // 2
            halves = [(node + 1, a, middle), (node + middle - a, middle, b)]
            level = np.concatenate([np.stack(half, axis=1) for half in halves])
            level = level[level[:, 2] - level[:, 1] > 1]
        return first * LEAF, np.minimum(behind * LEAF, len(self.order))

    def reach(self, asked: Question, edges: tuple[np.ndarray, ...]) -> None:
        _native.kd_reach(*self._tree(), *self._queries(asked), *edges)

    def _tree(self) -> tuple[np.ndarray, ...]:
        return self.leaves, self.order, self.columns, self.bounds, self.box

    def _queries(self, asked: Question) -> tuple:
        return asked.rows, asked.own, self.weights, self.p, asked.safe


@documented
class KDTree(Index):
    r"""An index of rows of numbers in a tree of boxes, for few columns.

    .. math:: d(z, B) = \left(\sum_j w_j \max(l_j - z_j, z_j - u_j, 0)^p\right)^{1/p}

    No row of a box B with the sides [l, u] is nearer than that: boxes farther away than the k
    nearest rows so far are passed over. Results have the shape (queries, k).

    Parameters
    ----------
    distance : Distance
        `mercer.distances.Minkowski` with p >= 1, with or without weights, or a distance that maps
        its rows to such ones (``Distance.coordinates``), such as Mahalanobis.

    Attributes
    ----------
    tree_ : BoxTree

    Raises
    ------
    ValueError
        The distance is none of these.

    See Also
    --------
    BruteForce : Faster from about 10 columns on; the results are the same to the last bit.
    MetricTree : For other metrics.

    Notes
    -----
    It takes O(d n log n) operations to build. With few columns a query takes about log n. With
    many, most boxes touch the ball of the neighbours, and a query takes longer than brute force:
    ``fit_index(..., "auto")`` finds out. The index holds the rows once, and 9 bytes beside each.
    Equally near rows are in the order of their index. Sparse rows are made dense.

    References
    ----------
    Friedman, Bentley & Finkel, "An algorithm for finding best matches in logarithmic expected
    time", ACM Transactions on Mathematical Software 3, 1977.

    Examples
    --------
    >>> from mercer.distances import Minkowski
    >>> index = KDTree(Minkowski(1)).fit([[0.0, 0.0], [1.0, 1.0], [5.0, 0.0]])
    >>> index.query([[1.0, 0.0]], k=2)
    (array([[1., 1.]]), array([[0, 1]]))
    """

    def _hold(self, X: Samples) -> None:
        self._training = OrderedRows(X[:0])  # new rows need as many columns
        self.tree_ = BoxTree(NormedRows(self._coordinates(X)))

    def _extend(self, X: Samples) -> None:
        self._rearrange(None, X)

    def _rearrange(self, kept: np.ndarray | None, more: Samples | None) -> None:
        tree, places = self.tree_, np.argsort(self.tree_.order)
        rows = tree.rows()[places if kept is None else places[kept]]
        if more is not None:
            rows = np.concatenate([rows, self._coordinates(more).rows.astype(tree.dtype)])
        self.tree_ = BoxTree(NormedRows(Coordinates(rows, tree.p, tree.weights)))

    def _ask(self, Z: Samples | None, allowed: np.ndarray | None = None) -> VectorSearch:
        """The search in the tree, of Z or of the training rows (None)."""
        tree = self.tree_
        source = tree if allowed is None else tree.only(allowed)
        if Z is None:
            queries = NormedRows(Coordinates(tree.rows(), tree.p, tree.weights))
            return VectorSearch(source, queries, tree.order, self.memory, self.n_jobs)
        queries = NormedRows(self._coordinates(Z))
        return VectorSearch(source, queries, None, self.memory, self.n_jobs)

    def _coordinates(self, X: Any) -> Coordinates:
        """Rows whose Minkowski distances are those that are asked for."""
        name, distance = type(self).__name__, self.distance_
        if sp.issparse(X):
            size, budget = X.dtype.itemsize * X.shape[0] * X.shape[1], Place(self.memory).budget()
            if size > budget:
                raise ValueError(
                    f"X has {X.shape} sparse rows, which {name} makes dense: they would take "
                    f"{size / 1e9:.3g} GB, beyond memory={self.memory!r} ({budget / 1e9:.3g} GB). "
                    "Use BruteForce, or MetricTree."
                )
            X = dense_rows(X)
        found = distance.coordinates(X)
        if found is None or found.p < 1:
            raise ValueError(
                f"distance={distance!r}: {name} needs Minkowski's distance with p >= 1 between "
                "rows of numbers. Use MetricTree for other metrics, or BruteForce for any distance."
            )
        return found
