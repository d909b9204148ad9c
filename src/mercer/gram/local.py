"""A Gram matrix that is exact for rows of one leaf, and of low rank for rows of different ones.

With the low-rank factor F and the leaves of a tree it is K̂ = F Fᵀ + B, where the block of each leaf
in B is that of K - F Fᵀ. As these blocks are positive semidefinite, K̂ is, and its diagonal is that
of K. For Gaussian processes this is the "partially independent conditional" approximation (Snelson
& Ghahramani, "Local and global sparse Gaussian process approximations", AISTATS 2007).

For a new sample x in leaf b a machine with coefficients a is, with the features φ of the centres,

    f(x) = φ(x)ᵀ Fᵀ a + Σ_{i in b} (k(x, x_i) - φ(x)ᵀ φ(x_i)) a_i
         = Σ_{i in b} a_i k(x, x_i) + Σ_z c_bz k(x, z),

a sum over the rows of the leaf and the centres z; `leaf_coefficients` are c.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state

from mercer.estimator import Seed
from mercer.gram.low_rank import LowRankGram
from mercer.gram.operator import GramOperator, Rows
from mercer.gram.place import Place
from mercer.threads import raise_if_stopped

# A balanced tree over the rows of a Gram matrix, which cuts it into leaves of similar rows.
#
# The rows of a part are ordered along the direction in which the low-rank features φ of some of
# them vary most, and cut in the middle: parts have equal numbers of rows, whatever the data are. A
# new sample needs its similarities to the centres alone to find its leaf.


JUDGED = 300  # rows of a part, whose first principal component is where it is cut


@dataclass(frozen=True)
class Leaves:
    r"""A complete binary tree; node t has the children 2 t + 1 and 2 t + 2.

    .. math:: \mathrm{child}(x) = 2 t + 1 + [\varphi(x)^\top r_t > c_t]

    A new sample with the kernel values φ(x) at the centres goes down from node t by the
    coefficients :math:`r_t` and the cut :math:`c_t`.

    Attributes
    ----------
    order : ndarray of shape (n,)
        The rows, leaf by leaf.
    starts : ndarray of shape (leaves + 1,)
        Where the rows of each leaf begin in ``order``.
    routes : ndarray of shape (centres, leaves - 1)
        Coefficients, at the centres, of the score by which each inner node divides its rows.
    cuts : ndarray of shape (leaves - 1,)
        Samples with a larger score go to the second child.

    Examples
    --------
    >>> leaves = Leaves(np.array([2, 0, 1]), np.array([0, 1, 3]), np.ones((1, 1)), np.zeros(1))
    >>> leaves.count, leaves.rows(1)
    (2, array([0, 1]))
    """

    order: np.ndarray
    starts: np.ndarray
    routes: np.ndarray
    cuts: np.ndarray

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @property
    def largest(self) -> int:
        """Most rows of a leaf."""
        return int(np.diff(self.starts).max())

    def rows(self, leaf: int) -> np.ndarray:
        """The rows of a leaf, ascending, (rows,)."""
        return np.sort(self.order[self.starts[leaf] : self.starts[leaf + 1]])

    def parts(self) -> Iterator[np.ndarray]:
        """The rows of one leaf after the other."""
        return map(self.rows, range(self.count))

    def numbers(self) -> np.ndarray:
        """The leaf of each row, (n,)."""
        leaves = np.empty(len(self.order), np.intp)
        leaves[self.order] = np.repeat(np.arange(self.count), np.diff(self.starts))
        return leaves

    def find(self, scores: np.ndarray) -> np.ndarray:
        """The leaves of samples, (k,), from K @ ``routes`` with K between them and the centres."""
        node = np.zeros(len(scores), np.intp)
        while node.min(initial=self.count) < self.count - 1:
            right = scores[np.arange(len(scores)), node] > self.cuts[node]
            node = 2 * node + 1 + right
        return node - (self.count - 1)


def grow_leaves(low: LowRankGram, leaf_rows: int, random_state: Seed = None) -> Leaves:
    r"""Halve the rows of a Gram matrix until no part has more than ``leaf_rows``.

    .. math:: u = \mathrm{argmax}_{\|u\| = 1} \sum_i \langle u, f_i - \bar f \rangle^2

    The rows of a part, with features :math:`f_i` of shape (m,), are divided at the median of
    :math:`\langle u, f_i \rangle`; u is found from some of the rows.

    O(n m log(n / leaf_rows)) operations for m centres.

    References
    ----------
    Boley, "Principal direction divisive partitioning", Data Mining and Knowledge Discovery 2,
    1998.

    Examples
    --------
    >>> from mercer.gram import DenseGram, pivoted_cholesky
    >>> X = np.array([[0.0], [9.0], [1.0], [8.0]])
    >>> K = DenseGram(np.exp(-((X - X.T) ** 2)), symmetric=True)
    >>> leaves = grow_leaves(pivoted_cholesky(K, 4, random_state=0), 2, random_state=0)
    >>> sorted(leaves.rows(leaf).tolist() for leaf in range(leaves.count))
    [[0, 2], [1, 3]]
    """
    random = check_random_state(random_state)
    n, depth = low.shape[0], 0
    while n > leaf_rows << depth:
        depth += 1
    order, nodes = np.arange(n), 2**depth - 1
    routes, cuts = np.zeros((low.rank, nodes)), np.zeros(nodes)
    starts = np.array([0, n])
    for level in range(depth):
        middles = (starts[:-1] + starts[1:]) // 2
        for number, (start, middle, end) in enumerate(zip(starts, middles, starts[1:])):
            raise_if_stopped()
            node, rows = 2**level - 1 + number, order[start:end]
            direction = _direction(low.factor(_some(rows, random)))
            scores = _scores(low, rows, direction)
            sorting = np.argsort(scores, kind="stable")
            order[start:end] = rows[sorting]
            cuts[node] = scores[sorting[middle - start - 1 : middle - start + 1]].mean()
            routes[:, node] = low.lift(direction)
        starts = np.sort(np.concatenate([starts, middles]))
    return Leaves(order, starts, routes, cuts)


def _some(rows: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    if len(rows) <= JUDGED:
        return rows
    return rows[np.sort(random.choice(len(rows), JUDGED, replace=False))]


def _direction(F: np.ndarray) -> np.ndarray:
    """The first principal component of some features, (m,)."""
    centred = F.astype(np.float64) - F.mean(axis=0, dtype=np.float64)
    last = len(F) - 1
    _, v = scipy.linalg.eigh(centred @ centred.T, subset_by_index=(last, last))
    direction = centred.T @ v[:, 0]
    length = np.linalg.norm(direction)
    return direction / length if length > 0 else direction


def _scores(low: LowRankGram, rows: np.ndarray, direction: np.ndarray) -> np.ndarray:
    step = 4 * JUDGED
    parts = [low.factor(rows[s : s + step]) @ direction for s in range(0, len(rows), step)]
    return np.concatenate(parts)


class LocalGram(GramOperator):
    r"""A matrix of shape (n, n), exact for rows of one leaf, and of low rank for rows of different
    ones:

    .. math:: \hat K_{ij} = K_{ij} \text{ in one leaf}, \qquad
              \hat K_{ij} = (F F^\top)_{ij} \text{ between leaves}

    F is the factor of ``low``.

    Parameters
    ----------
    low : LowRankGram
        The low-rank part, which also knows the matrix that it approximates.
    leaves : Leaves
        The leaves of the same rows.

    References
    ----------
    Snelson & Ghahramani, "Local and global sparse Gaussian process approximations", AISTATS 2007.

    Examples
    --------
    >>> from mercer.gram import DenseGram, grow_leaves, pivoted_cholesky
    >>> X = np.array([[0.0], [9.0], [1.0], [8.0]])
    >>> K = DenseGram(np.exp(-np.abs(X - X.T) / 9), symmetric=True)
    >>> low = pivoted_cholesky(K, 1, random_state=0)
    >>> leaves = grow_leaves(low, 2, random_state=0)
    >>> values, leaf = LocalGram(low, leaves).dense(), leaves.numbers()
    >>> bool(np.allclose(values[leaf[:, None] == leaf], K.dense()[leaf[:, None] == leaf]))
    True
    """

    symmetric = True
    nature = "local"

    def __init__(self, low: LowRankGram, leaves: Leaves):
        if low.K is None:
            raise ValueError("low does not know the matrix that it approximates: give one with K.")
        self.low, self.leaves, self.exact = low, leaves, low.K
        self.shape, self.dtype, self.centres = low.shape, low.dtype, low.centres
        self.place = low.place

    def residual(self, leaf: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """K - F Fᵀ of the rows of one leaf, (size, size), and their F, (size, m)."""
        rows = self.leaves.rows(leaf)
        F = self.low.factor(rows).astype(dtype, copy=False)
        return self.exact.block(rows, rows) - F @ F.T, F

    def some(self, most: int) -> tuple[LocalGram, np.ndarray]:
        """The matrix of at most ``most`` leaves, spread over the tree, and their rows."""
        count = self.leaves.count
        numbers = np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
        parts = [self.leaves.rows(number) for number in numbers]
        rows, starts = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
        routes, cuts = self.leaves.routes[:, :0], self.leaves.cuts[:0]
        low = LowRankGram(
            self.low.centres, self.low.L, self.low.factor(rows), self.exact.part(rows)
        )  # fmt: skip
        return LocalGram(low, Leaves(np.arange(len(rows)), starts, routes, cuts)), rows

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        everything, leaves = np.arange(self.shape[0]), self.leaves.numbers()
        i, j = everything[i], everything[j]
        out = self.low.block(i, j)
        for leaf in np.intersect1d(leaves[i], leaves[j]):
            mine, theirs = np.flatnonzero(leaves[i] == leaf), np.flatnonzero(leaves[j] == leaf)
            out[np.ix_(mine, theirs)] = self.exact.block(i[mine], j[theirs])
        return out

    def diag(self) -> np.ndarray:
        return self.exact.diag()

    def describe(self) -> str:
        return f"{super().describe()}, rank {self.low.rank}, {self.leaves.count} leaves"


LEAF_ROWS = 2000  # most rows of a leaf, within which a local machine is exact
SQUARES = 4  # matrices of the size of a leaf, for each thread
FEWEST = 2  # rows of a leaf


def local_gram(low: LowRankGram, leaf_rows: int | None, random_state: Seed) -> LocalGram:
    """K̂, whose leaves have at most ``leaf_rows``; None means 2000, or fewer if memory is short."""
    size = np.dtype(low.dtype).itemsize
    most = affordable_leaf(low.place, size)
    if leaf_rows is None:
        leaf_rows = min(most, LEAF_ROWS)
    leaf = min(leaf_rows, low.shape[0])
    if leaf > most:
        what = f"leaves of {leaf_rows:,} rows"
        low.place.refuse(2 * SQUARES * size * leaf**2, what, ", or a smaller leaf_rows=")
    return LocalGram(low, grow_leaves(low, leaf_rows, random_state))


def affordable_leaf(place: Place, size: int) -> int:
    """Most rows of a leaf that half of the memory has room for, of entries of ``size`` bytes."""
    return max(FEWEST, int(np.sqrt(place.budget() / 2 / (SQUARES * size))))


def leaf_jobs(K: LocalGram) -> int:
    """Threads that work on leaves at the same time: as many as memory allows."""
    each = SQUARES * np.dtype(K.dtype).itemsize * K.leaves.largest**2
    return int(np.clip(K.place.budget() / 2 / each, 1, K.place.jobs))


def leaf_coefficients(K: LocalGram, coef: np.ndarray) -> np.ndarray:
    """c of each leaf, (leaves, centres, ...): that of Fᵀ a less what its own rows add to it."""
    parts = [K.low.factor(rows).T @ coef[rows].astype(K.dtype) for rows in K.leaves.parts()]
    own = np.stack(parts).astype(np.float64)
    if len(own) == 1:
        return np.zeros_like(own)  # rounding would be left
    return np.stack([K.low.lift(rest) for rest in own.sum(axis=0) - own])
