"""What is learnt from the levels of candidates: u from random pairs, classes of pairs by EM, values
that stand for each other, and examples of each class."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.link.columns import learn_aliases
from mercer.link.model import Mixture, Patterns, learn_mixture, random_table
from mercer.link.records import Comparer, Records

RANDOM_PAIRS = 300_000
SEED = 0xA11
START = 4  # one of so many records of the smaller table has a match, to begin with
SURE, CLOSE = 7.0, 3  # bits of all other columns; levels at which values are different
EXAMPLES = 3  # pairs of each class


class LevelWeight(NamedTuple):
    """How often a level is seen in matches (m) and in random pairs (u), and its bits log2 m / u."""

    column: str
    level: str
    m: float
    u: float
    weight: float


class PairClass(NamedTuple):
    """A class of pairs.

    Attributes
    ----------
    pairs : float
        About how many pairs it has.
    matches : bool
        Whether they are taken for matches.
    agreement : dict
        The columns, and the share of the pairs that are nearly equal in each.
    examples : ndarray of shape (k, 2)
        Rows of some pairs that are most like it; none of random pairs.
    """

    pairs: float
    matches: bool
    agreement: dict[str, float]
    examples: np.ndarray


class Learnt(NamedTuple):
    """What the candidates have shown.

    Attributes
    ----------
    mixture : Mixture
    levels : ndarray of shape (pairs, d)
        Those of the candidates, with values that stand for each other.
    patterns : Patterns
    aliases : list of ndarray
        Values of each column that stand for each other.
    examples : list of ndarray of shape (k, 2)
        Rows of pairs of each class but that of random pairs.
    """

    mixture: Mixture
    levels: np.ndarray
    patterns: Patterns
    aliases: list[np.ndarray]
    examples: list[np.ndarray]


def learn(
    records: Records,
    comparer: Comparer,
    levels: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    ranks: np.ndarray,
    relatives: int,
) -> Learnt:
    """Learn from the levels of candidates; ``comparer`` gets the aliases that are found."""

    def mixed(levels: np.ndarray) -> tuple[Patterns, Mixture]:
        patterns, u = Patterns.of(levels), _by_chance(records, comparer, ranks)
        return patterns, learn_mixture(patterns, u, records.pairs, _start(records), relatives)

    patterns, mixture = mixed(levels)
    aliases = _aliases(records, mixture, left, right, patterns)
    if any(map(len, aliases)):
        comparer.aliases = aliases
        levels = comparer.levels(left, right)
        patterns, mixture = mixed(levels)
    examples = _examples(records, mixture, left, right, patterns)
    return Learnt(mixture, levels, patterns, aliases, examples)


def _start(records: Records) -> float:
    """The share of the matches among all pairs, to begin with."""
    smaller = min(records.first or records.n, (records.n - records.first) or records.n)
    return smaller / START / records.pairs


def _by_chance(records: Records, comparer: Comparer, ranks: np.ndarray) -> np.ndarray:
    """u: how often random pairs show each level, (d, 8)."""
    rng = np.random.default_rng(SEED)
    n, first = records.n, records.first
    if first:
        mine, theirs = ranks[ranks < first], ranks[ranks >= first]
        left = mine[rng.integers(0, first, RANDOM_PAIRS)]
        right = theirs[rng.integers(0, n - first, RANDOM_PAIRS)]
    else:
        left, right = (ranks[rng.integers(0, n, RANDOM_PAIRS)] for _ in range(2))
        left, right = left[left != right], right[left != right]
    equal = np.array([column.equal_by_chance() for column in records.columns])
    swaps = np.array([spec.partner != "" for spec in records.specs])
    levels_of = [column.kind.levels for column in records.columns]
    return random_table(comparer.levels(left, right), equal, levels_of, swaps)


def _aliases(
    records: Records,
    mixture: Mixture,
    left: np.ndarray,
    right: np.ndarray,
    patterns: Patterns,
) -> list[np.ndarray]:
    """Values of each column that stand for each other in matches that are sure without it."""
    odds, bits, found = mixture.odds(patterns.levels), mixture.weights, []
    for k, column in enumerate(records.columns):
        own = patterns.levels[:, k]
        sure = (own <= CLOSE) & (odds - bits[k, own] > SURE)
        pairs = np.flatnonzero(sure[patterns.place]) if column.kind.stands else np.empty(0, int)
        found.append(learn_aliases(column, pairs, left, right))
    return found


def _examples(
    records: Records, mixture: Mixture, left: np.ndarray, right: np.ndarray, patterns: Patterns
) -> list[np.ndarray]:
    """A pair of each of the most frequent patterns of each class."""
    post = mixture.posterior(patterns.levels) * patterns.counts[:, None]
    first = np.full(len(patterns.counts), -1)
    first[patterns.place[::-1]] = np.arange(len(left))[::-1]
    found = []
    for weights in post.T[:-1]:
        best = np.argsort(-weights, kind="stable")[:EXAMPLES]
        rows = first[best[weights[best] > 0.5]]
        pairs = np.column_stack([left[rows], right[rows]]).astype(np.int64)
        found.append(pairs - np.array([0, records.first]))
    return found
