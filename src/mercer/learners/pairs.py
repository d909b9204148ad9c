"""Several classes from machines for two: one against one, or one against the rest.

With k classes there are k (k - 1) / 2 pairs in the order (0, 1), (0, 2), ... (1, 2), ...; the first
class of a pair is its positive one.
"""

from __future__ import annotations

import threading
from itertools import combinations

import numpy as np

from mercer.gram import GramOperator
from mercer.gram.build import fill
from mercer.gram.pair import PairGram
from mercer.gram.schedule import count_jobs, ordered_map

__all__ = ["PairGrams", "all_pairs", "by_pair", "votes"]


def all_pairs(k: int) -> list[tuple[int, int]]:
    """The pairs of k classes, in order."""
    return list(combinations(range(k), 2))


class PairGrams:
    """Gram matrices of pairs of classes, with what they share computed once.

    The rows of a class against the class itself stand in all its pairs: where pairs are small
    they are held, n² / k values for k classes, and each pair computes only its rows of one class
    against those of the other. So each value of K is computed once in all, and K is never held.

    Parameters
    ----------
    K : GramOperator of shape (n, n)
    codes : ndarray of shape (n,), int
        The class of each row.
    small : int
        Rows up to which a pair's matrix is held.
    memory : int
        Bytes for what is held: the parts that are shared, and in each thread those of a pair.
    n_jobs : int or None
    """

    def __init__(
        self, K: GramOperator, codes: np.ndarray, small: int, memory: int, n_jobs: int | None = None
    ):
        self.K, self.small, self.here = K, small, threading.local()
        self.rows = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        self.own: dict[int, np.ndarray] = {}
        sizes = sorted(len(rows) for rows in self.rows)
        shared = [c for c, rows in enumerate(self.rows) if len(rows) + sizes[0] <= small]
        self.largest = min(small, sizes[-1] + sizes[-2])  # rows of a pair that is held
        numbers = sum(len(self.rows[c]) ** 2 for c in shared)
        jobs = count_jobs(n_jobs)
        numbers += jobs * 2 * self.largest**2
        if len(sizes) > 2 and numbers * np.dtype(K.dtype).itemsize <= memory:
            outer, inner = (jobs, 1) if len(shared) >= jobs else (1, jobs)  # threads
            parts = ordered_map(lambda c: fill(K.part(self.rows[c]), inner), shared, outer)
            self.own = dict(zip(shared, parts))

    def _room(self) -> np.ndarray:
        """Memory for rows of K, the same for all pairs of a thread: fresh memory is slow."""
        if not hasattr(self.here, "room"):
            self.here.room = np.empty(self.largest**2, self.K.dtype)
        return self.here.room

    def rows_of(self, first: int, second: int) -> np.ndarray:
        """The rows of a pair, those of the first class first; of two classes all, in order."""
        if len(self.rows) == 2:
            return np.arange(self.K.shape[0])
        return np.concatenate([self.rows[first], self.rows[second]])

    def of(self, first: int, second: int) -> tuple[np.ndarray, GramOperator]:
        """The rows of a pair and K between them, which a thread may use until it asks for the
        next pair."""
        rows = self.rows_of(first, second)
        if len(self.rows) == 2:
            return rows, self.K
        a, b = self.rows[first], self.rows[second]
        if len(rows) > self.small or first not in self.own or second not in self.own:
            return rows, self.K.part(rows)
        own = self.own[first], self.own[second]
        return rows, PairGram(own[0], self.K.block(a, b), own[1], self._room())

    def by_class(self, coefs: list[np.ndarray]) -> np.ndarray:
        """scikit-learn's layout of the pairs' β: row r of column i belongs to the pair of i's class
        with the r-th of the other classes; (k - 1, n)."""
        if len(coefs) == 1:
            return coefs[0][None]
        dual = np.zeros((len(self.rows) - 1, self.K.shape[0]))
        for (first, second), coef in zip(all_pairs(len(self.rows)), coefs):
            a, b = self.rows[first], self.rows[second]
            dual[second - 1, a], dual[first, b] = coef[: len(a)], coef[len(a) :]
        return dual


def votes(values: np.ndarray, k: int) -> np.ndarray:
    """Votes of the pairs for each class, plus less than half a vote by the sum of distances."""
    counts, sums = np.zeros((len(values), k)), np.zeros((len(values), k))
    for column, (first, second) in enumerate(all_pairs(k)):
        f = values[:, column]
        counts[:, first] += f >= 0
        counts[:, second] += f < 0
        sums[:, first] += f
        sums[:, second] -= f
    return counts + sums / (3 * (np.abs(sums) + 1))  # scikit-learn's one-vs-rest decision function


def by_pair(dual_coef: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """β (rows, pairs) of scikit-learn's layout, which `PairGrams.by_class` gives."""
    pairs, members = all_pairs(k), [np.flatnonzero(codes == c) for c in range(k)]
    beta = np.zeros((len(codes), len(pairs)))
    for column, (first, second) in enumerate(pairs):
        a, b = members[first], members[second]
        beta[a, column], beta[b, column] = dual_coef[second - 1, a], dual_coef[first, b]
    return beta
