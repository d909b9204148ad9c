"""Pairs of records with their weights and probabilities, and what follows: clusters, one to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mercer import _native
from mercer.link.kinds import EQUAL, Shares
from mercer.link.model import LEAST, Mixture, Patterns, by_frequency, probability
from mercer.link.records import Records
from mercer.persistence import fields, floats, whole
from mercer.tables import ReadTable

CERTAIN = 10.0  # bits: a pair counts no more in a cluster, so that one does not outvote many
ABSENT = -5.0  # bits of a pair that is no candidate


def _count(pairs: Pairs) -> int:
    return len(pairs.left)


@fields(
    left=whole(), right=whole(length=_count), probability=floats(1, _count),
    weight=floats(1, _count), weights=floats(2, _count),
    levels=whole(lambda pairs: 8, axes=2, length=_count),
)  # fmt: skip
@dataclass(eq=False)
class Pairs:
    r"""Pairs of records, each with the reasons for its probability.

    .. math:: w = \log_2 \frac{p}{1 - p} = w_0 + \sum_j w_j

    p is the probability of a pair, and :math:`w_j` what column j adds.

    Attributes
    ----------
    left, right : ndarray of shape (pairs,), int64
        The rows of the first table and of the second one, or of the one table.
    probability : ndarray of shape (pairs,)
        That the two are the same thing.
    weight : ndarray of shape (pairs,)
        The match weight: the odds of this probability in bits, log2 p / (1 - p).
    weights : ndarray of shape (pairs, d + 1)
        What each column adds to the match weight. The last one is what the classes of relatives
        take away; the rest of the match weight is the same for all pairs.
    levels : ndarray of shape (pairs, d), uint8
        How each column agrees: 0 differs, 1 to 4 alike, 5 equal, 6 the value stands in another
        column, 7 missing.

    References
    ----------
    Fellegi & Sunter, "A theory for record linkage", Journal of the American Statistical
    Association 64, 1969.

    Examples
    --------
    >>> bits = np.array([4.0, -1.0])
    >>> found = Pairs(
    ...     np.array([0, 1]), np.array([5, 3]), 1 / (1 + 2**-bits), bits,
    ...     np.array([[5.0, 0.0], [0.0, 0.0]]), np.array([[5], [0]], np.uint8),
    ... )
    >>> found.above(0.9).right
    array([5])
    """

    left: np.ndarray
    right: np.ndarray
    probability: np.ndarray
    weight: np.ndarray
    weights: np.ndarray
    levels: np.ndarray

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: np.ndarray) -> Pairs:
        """Some of the pairs, by their numbers or by a mask."""
        return Pairs(
            self.left[rows], self.right[rows], self.probability[rows], self.weight[rows],
            self.weights[rows], self.levels[rows],
        )  # fmt: skip

    def with_others(self, more: Pairs) -> Pairs:
        """These pairs and more of them, in the order of their rows."""
        both = Pairs(
            *(np.concatenate([a, b]) for a, b in zip(vars(self).values(), vars(more).values()))
        )
        return both[np.lexsort((both.right, both.left))]

    def above(self, threshold: float) -> Pairs:
        """The pairs that are matches with this probability at least."""
        return self[self.probability >= threshold]

    def one_to_one(self, n: int, m: int) -> Pairs:
        """The pairs in which each of n and m records is once at most, the surest first."""
        order = np.lexsort((self.right, self.left, -self.weight))
        keep = np.empty(len(self), np.uint8)
        _native.link_one_to_one(self.left[order], self.right[order], n, m, keep)
        return self[np.sort(order[keep.astype(bool)])]


def average_clusters(pairs: Pairs, n: int, shift: int, threshold: float) -> np.ndarray:
    """The cluster of each of n records, by average link of the match weights.

    The two clusters with the largest mean weight are joined, as long as it is above that of the
    threshold; a pair that is not listed weighs -5 bits. ``shift`` is added to the numbers on the
    right: so many records the first of two tables has. Clusters are numbered from 0 on, in the
    order of their first records.
    """
    left, right = pairs.left, pairs.right + shift
    level = np.log2(threshold) - np.log2(max(1 - threshold, 1e-12)) if threshold > 0 else -CERTAIN
    level = min(max(level, ABSENT + 1e-3), CERTAIN - 1e-3)
    weights = np.clip(pairs.weight, -CERTAIN, CERTAIN) - level
    known, both = np.unique(np.concatenate([left, right]), return_inverse=True)
    labels = np.empty(len(known), np.int64)
    _native.link_average(both[: len(left)], both[len(left) :], weights, ABSENT - level, labels)
    cluster = np.arange(n)
    cluster[known] = known[labels]
    return np.unique(cluster, return_inverse=True)[1]


# --- weights --------------------------------------------------------------------------------------

PROBABLE = 0.01  # probability of pairs that are kept
NEAR = -20.0  # bits from which on the frequencies of values are looked up


class PairWeights(NamedTuple):
    """What pairs are weighed by.

    Attributes
    ----------
    mixture : Mixture
    values : list of Shares or None
        How frequent the values of each column are, where that counts.
    scales : ndarray of shape (d + 2,)
        What labels have taught: factors of the columns and of the relatives, and bits that are
        added.
    """

    mixture: Mixture
    values: list[Shares | None]
    scales: np.ndarray

    def parts(
        self, records: Records, levels: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """What adds up to the match weights, without labels: the columns, relatives, the prior."""
        mixture, table = self.mixture, self.mixture.weights
        parts = np.zeros((len(left), len(records.columns) + 2))
        patterns = Patterns.of(levels)
        for k in range(len(records.columns)):
            parts[:, k] = table[k, levels[:, k]]
        prior = np.log2(max(mixture.prior, LEAST)) - np.log2(max(1 - mixture.prior, LEAST))
        parts[:, -1] = prior
        # what relatives take away: the odds with their classes, less those without
        parts[:, -2] = mixture.odds(patterns.levels)[patterns.place] - parts.sum(axis=1)
        for k, column in enumerate(records.columns):
            shares = self.values[k]
            if shares is None:
                continue
            equal = np.flatnonzero(levels[:, k] == EQUAL)
            codes = column.codes[left[equal]]
            own = shares.at(column.hashes)[codes] if len(equal) else np.zeros(0)
            parts[equal, k] += by_frequency(mixture.u[k], own, shares.other)
        return parts

    def scored(
        self,
        records: Records,
        levels: np.ndarray,
        left: np.ndarray,
        right: np.ndarray,
        patterns: Patterns | None = None,
        least: float = PROBABLE,
    ) -> Pairs:
        """Pairs with their probabilities, those that are not too small."""
        if patterns is not None:  # most pairs are far from a match
            near = (self.mixture.odds(patterns.levels) > NEAR)[patterns.place]
            levels, left, right = levels[near], left[near], right[near]
        parts = self.parts(records, levels, left, right)
        parts[:, :-1] *= self.scales[:-1]
        weight = parts.sum(axis=1) + self.scales[-1]
        p = probability(weight)
        keep = p >= least
        return Pairs(
            left[keep].astype(np.int64), right[keep].astype(np.int64) - records.first, p[keep],
            weight[keep], parts[keep, :-1], levels[keep],
        )  # fmt: skip


# --- pairs that are given ------------------------------------------------------------------------


def pairs_given(pairs: Any, tables: list[ReadTable]) -> np.ndarray:
    """Rows of pairs as whole numbers, each of a row that is there."""
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"pairs: shape {rows.shape} of {rows.dtype}; give an array of shape (k, 2) of whole "
            "numbers, the rows of the first table and of the second one."
        )
    for side, table in enumerate((tables[0], tables[-1])):
        wrong = np.flatnonzero((rows[:, side] < 0) | (rows[:, side] >= len(table)))
        if len(wrong):
            raise ValueError(
                f"pairs: {rows[wrong[0]].tolist()} names row {rows[wrong[0], side]} of table "
                f"{'AB'[side if len(tables) > 1 else 0]}, which has {len(table)} rows, from 0 on."
            )
    if len(tables) == 1 and (rows[:, 0] == rows[:, 1]).any():
        row = rows[rows[:, 0] == rows[:, 1]][0, 0]
        raise ValueError(f"pairs: row {row} stands beside itself; give two different rows.")
    return rows.astype(np.int64)


def contradictions(left: np.ndarray, right: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The numbers of the pairs that are no match, while others join their records."""
    n = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    joined = coo_array((np.ones(truth.sum()), (left[truth], right[truth])), shape=(n, n))
    group = connected_components(joined, directed=False)[1]
    return np.flatnonzero(~truth & (group[left] == group[right]))


def labelled_pairs(
    pairs: Any, labels: Any, tables: list[ReadTable]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Records of labelled pairs, each once, and whether they match."""
    if pairs is None and labels is None:
        return None
    if pairs is None or labels is None:
        raise ValueError("pairs and labels: give both of them, or none.")
    rows, truth = pairs_given(pairs, tables), np.asarray(labels).ravel()
    if len(truth) != len(rows):
        raise ValueError(f"labels: {len(truth)} for {len(rows)} pairs; give one for each pair.")
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("labels: give True or False, or 1 or 0, for each pair.")
    truth = truth.astype(bool)
    shift = len(tables[0]) if len(tables) > 1 else 0
    left, right = rows[:, 0], rows[:, 1] + shift
    left, right = np.minimum(left, right), np.maximum(left, right)
    n = sum(map(len, tables))
    wrong = contradictions(left, right, truth)
    if len(wrong):
        i, j = rows[wrong[0]]
        raise ValueError(
            f"labels: the pair ({i}, {j}) is no match, but others say that its records are the "
            f"same. {len(wrong)} of the labels contradict others: take out the wrong ones."
        )
    unique = np.unique(left * n + right, return_index=True)[1]
    return left[unique], right[unique], truth[unique]
