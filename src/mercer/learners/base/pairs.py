"""Predict several classes with machines for two classes, one machine for each pair of classes.

With k classes there are k (k - 1) / 2 pairs in the order (0, 1), (0, 2), ... (1, 2), ...; the first
class of a pair is the positive class.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

LARGEST = 1e290  # largest value that is used, so that sums do not overflow


def all_pairs(k: int) -> list[tuple[int, int]]:
    """The pairs of k classes, in order."""
    return list(combinations(range(k), 2))


def votes(values: np.ndarray, k: int) -> np.ndarray:
    """Votes of the pairs for each class, plus less than half a vote for the sum of distances."""
    values = np.clip(values.astype(float, copy=False), -LARGEST, LARGEST)
    counts, sums = np.zeros((len(values), k)), np.zeros((len(values), k))
    ends = np.cumsum([0, *range(k - 1, 0, -1)])  # of the pairs with the same first class
    for first, (begin, end) in enumerate(pairwise(ends)):
        f = values[:, begin:end]
        counts[:, first] += (f >= 0).sum(axis=1)
        counts[:, first + 1 :] += f < 0
        sums[:, first] += f.sum(axis=1)
        sums[:, first + 1 :] -= f
    return counts + sums / (3 * (np.abs(sums) + 1))  # scikit-learn's one-vs-rest decision function


def by_pair(dual_coef: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """β of shape (rows, pairs) from scikit-learn's layout; the inverse of `by_class`."""
    pairs, members = all_pairs(k), [np.flatnonzero(codes == c) for c in range(k)]
    beta = np.zeros((len(codes), len(pairs)))
    for column, (first, second) in enumerate(pairs):
        a, b = members[first], members[second]
        beta[a, column], beta[b, column] = dual_coef[second - 1, a], dual_coef[first, b]
    return beta


def by_class(coefs: list[np.ndarray], codes: np.ndarray, k: int) -> np.ndarray:
    """The pairs' β in scikit-learn's layout, of shape (k - 1, rows).

    Entry (r, i) belongs to the pair of row i's class and the r-th of the other classes.
    """
    if len(coefs) == 1:
        return coefs[0][None]
    dual, members = np.zeros((k - 1, len(codes))), [np.flatnonzero(codes == c) for c in range(k)]
    for (first, second), coef in zip(all_pairs(k), coefs):
        a, b = members[first], members[second]
        dual[second - 1, a], dual[first, b] = coef[: len(a)], coef[len(a) :]
    return dual
