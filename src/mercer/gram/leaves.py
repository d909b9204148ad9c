"""A balanced tree over the rows of a Gram matrix, which cuts it into leaves of similar rows.

The rows of a part are ordered along the direction in which the low-rank features φ of some of them
vary most, and cut in the middle: parts have equal numbers of rows, whatever the data are. A new
sample needs its similarities to the centres alone to find its leaf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.utils import check_random_state

from mercer.gram.low_rank import LowRankGram
from mercer.threads import raise_if_stopped

JUDGED = 300  # rows of a part, whose first principal component is where it is cut


@dataclass(frozen=True)
class Leaves:
    """A complete binary tree; node t has the children 2 t + 1 and 2 t + 2.

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
        """The rows of a leaf, ascending."""
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


def grow_leaves(low: LowRankGram, leaf_rows: int, random_state: int | None = None) -> Leaves:
    """Halve the rows of a Gram matrix until no part has more than ``leaf_rows``.

    O(n m log(n / leaf_rows)) operations for m centres.

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
