"""Several classes from machines for two: one against one, or one against the rest.

With k classes there are k (k - 1) / 2 pairs in the order (0, 1), (0, 2), ... (1, 2), ...; the first
class of a pair is its positive one.
"""

from __future__ import annotations

import threading
from itertools import combinations

import numpy as np

from mercer.gram import DenseGram, GramOperator
from mercer.gram.build import fill

__all__ = ["PairGrams", "all_pairs", "by_class", "by_pair", "votes"]


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
        Bytes for the parts that are shared.
    n_jobs : int or None
    """

    def __init__(
        self, K: GramOperator, codes: np.ndarray, small: int, memory: int, n_jobs: int | None = None
    ):
        self.K, self.small, self.here = K, small, threading.local()
        self.rows = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        self.own: dict[int, np.ndarray] = {}
        sizes = sorted(len(rows) for rows in self.rows)
        numbers = sum(size**2 for size in sizes if size < small)
        if len(sizes) > 2 and numbers * np.dtype(K.dtype).itemsize <= memory:
            self.own = {
                c: fill(K.part(rows), n_jobs) for c, rows in enumerate(self.rows)
                if len(rows) + sizes[0] <= small
            }  # fmt: skip

    def _square(self, n: int, dtype: np.dtype) -> np.ndarray:
        """Room for a matrix, the same for all pairs of a thread: fresh memory is slow."""
        if not hasattr(self.here, "room"):
            self.here.room = np.empty(self.small**2, dtype)
        return self.here.room[: n * n].reshape(n, n)

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
        across = self.K.block(a, b)
        K = self._square(len(rows), across.dtype)
        K[: len(a), : len(a)], K[len(a) :, len(a) :] = self.own[first], self.own[second]
        K[: len(a), len(a) :], K[len(a) :, : len(a)] = across, across.T
        return rows, DenseGram(K, symmetric=True)


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


def by_class(beta: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """scikit-learn's layout of β (support vectors, pairs): row r of a support vector of class c
    belongs to the pair of c with the r-th of the other classes; (k - 1, support vectors)."""
    out = np.zeros((k - 1, len(codes)))
    for column, (first, second) in enumerate(all_pairs(k)):
        out[second - 1, codes == first] = beta[codes == first, column]
        out[first, codes == second] = beta[codes == second, column]
    return out


def by_pair(dual_coef: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """β (support vectors, pairs) of scikit-learn's layout: what `by_class` made of it."""
    pairs = all_pairs(k)
    beta = np.zeros((len(codes), len(pairs)))
    for column, (first, second) in enumerate(pairs):
        beta[codes == first, column] = dual_coef[second - 1, codes == first]
        beta[codes == second, column] = dual_coef[first, codes == second]
    return beta
