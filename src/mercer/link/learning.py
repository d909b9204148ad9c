"""What is learnt from the levels of candidates: columns that tell nothing, u from random pairs,
classes of pairs by EM, values that stand for each other, and examples of each class."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mercer.link.candidates import Pass
from mercer.link.columns import learn_aliases
from mercer.link.kinds import GONE
from mercer.link.model import (
    Mixture,
    Patterns,
    agreement,
    learn_mixture,
    random_table,
    split_class,
)
from mercer.link.records import Comparer, Records
from mercer.link.stages import Candidates

RANDOM_PAIRS = 300_000
SEED = 0xA11
START = 4  # one of so many records of the smaller table has a match, to begin with
SURE, CLOSE = 7.0, 3  # bits of all other columns; levels at which values are different
EXAMPLES = 3  # pairs of each class
IDLE = 0.01  # of the candidates agree in a column at least a little, or it is left out
MORE = 0.1  # of the pairs that do not agree by chance do so in matches, at least
#: a class is one of matches if so large a share of its columns agree mostly; and if its pairs join
#: two records that both have another match, of at least this probability, less than so many times
#: as often as random pairs do; or if matches link more than this share of its pairs, and so many
THIRD, MATCHED, TAKEN, LINKED, ENOUGH = 1 / 3, 0.9, 0.5, 0.2, 5
#: beyond so many times the partners that records have in matches such a class is split; beyond so
#: many it is none of matches
CROWDED = 1.15, 1.4


class LevelWeight(NamedTuple):
    r"""How often a level is seen in matches and in random pairs, and its weight in bits:

    .. math:: w = \log_2 \frac{m}{u}

    m and u are the probabilities of the level in matches and in random pairs.

    References
    ----------
    Fellegi & Sunter, "A theory for record linkage", Journal of the American Statistical
    Association 64, 1969.

    Examples
    --------
    >>> found = LevelWeight("name", "equal", m=0.8, u=0.1, weight=3.0)
    >>> round(float(np.log2(found.m / found.u)), 6) == found.weight
    True
    """

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

    Examples
    --------
    >>> found = PairClass(40.0, True, {"name": 0.9, "street": 0.2}, np.array([[3, 7]]))
    >>> [name for name, share in found.agreement.items() if share > 0.5]
    ['name']
    """

    pairs: float
    matches: bool
    agreement: dict[str, float]
    examples: np.ndarray


class Evidence(NamedTuple):
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


class Compared(NamedTuple):
    """Records, the passes by their columns, and the levels of the candidates, (pairs, d)."""

    records: Records
    passes: list[Pass]
    comparer: Comparer
    levels: np.ndarray

    def without(
        self, names: Collection[str], reason: str, left: np.ndarray, right: np.ndarray
    ) -> Compared:
        """The same without some columns, for one reason."""
        if not names:
            return self
        before, place = self.records.specs, {s.name: k for k, s in enumerate(self.records.specs)}
        used = np.array([spec.name not in names for spec in before])
        records = self.records.keep(used, reason)
        stay = [place[spec.name] for spec in records.specs]
        numbers = {old: new for new, old in enumerate(stay)}
        passes = [
            one._replace(views=tuple((numbers[k], label) for k, label in one.views))
            for one in self.passes
            if all(k in numbers for k, _ in one.views)
        ]
        comparer = Comparer(records, self.comparer.n_jobs)
        if records.specs == [before[k] for k in stay]:
            levels = np.ascontiguousarray(self.levels[:, stay])
        else:  # values may stand in a column that is left out
            levels = comparer.levels(left, right)
        return Compared(records, passes, comparer, levels)


def compared_columns(
    records: Records,
    ranks: np.ndarray,
    comparer: Comparer,
    candidates: Candidates,
    relatives: int,
) -> Compared:
    """The levels of the candidates, without columns in which hardly any of them agrees, and those
    that were joined by their values and agree by chance."""
    passes, left, right, levels, _ = candidates
    found = Compared(records, passes, comparer, levels)
    idle = [
        spec.name for spec, level in zip(records.specs, levels.T)
        if not spec.source and len(level) and not _agrees(level)
    ]  # fmt: skip
    found = found.without(idle, "none of the pairs that were compared agrees", left, right)
    joined = [spec.name for spec in found.records.checked().specs if spec.by_values]
    strange = disagreeing(joined, found.records, found.comparer, found.levels, ranks, relatives)
    reason = "the column with its values in the second table agrees by chance alone"
    found = found.without(strange, reason, left, right)
    found.records.checked()
    return found


def _agrees(level: np.ndarray) -> bool:
    known = level != GONE
    return not known.any() or (known & (level > 0)).sum() >= IDLE * known.sum()


def learn(
    records: Records,
    comparer: Comparer,
    levels: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    ranks: np.ndarray,
    relatives: int,
) -> Evidence:
    """Learn from the levels of candidates; ``comparer`` gets the aliases that are found."""

    def mixed(levels: np.ndarray, begin: Mixture | None = None) -> tuple[Patterns, Mixture]:
        patterns, u = Patterns.of(levels), _by_chance(records, comparer, ranks)
        found = learn_mixture(patterns, u, records.pairs, _start(records), relatives, begin)
        found, mixed = _with_more_matches(found, patterns, left, right, records)
        if len(mixed):  # of those who have moved, and their relatives
            found = split_class(found, int(mixed[0]), patterns, records.pairs)
            found, _ = _with_more_matches(found, patterns, left, right, records)
        return patterns, found

    patterns, mixture = mixed(levels)
    aliases = _aliases(records, mixture, left, right, patterns)
    if any(map(len, aliases)):
        comparer.aliases = aliases
        changed = comparer.of_aliases(levels, left, right)
        levels[changed] = comparer.levels(left[changed], right[changed])
        patterns, mixture = mixed(levels, mixture)
    examples = _examples(records, mixture, left, right, patterns)
    return Evidence(mixture, levels, patterns, aliases, examples)


def disagreeing(
    asked: Collection[str],
    records: Records,
    comparer: Comparer,
    levels: np.ndarray,
    ranks: np.ndarray,
    relatives: int,
) -> list[str]:
    """Columns in which the matches that other columns find agree as random pairs do.

    ``asked`` are columns that were joined because their values are the same, which they may be by
    chance, as places of birth and of residence. The others are those with a common name, if there
    are two; else all but one at a time, of which the worst goes first.
    """
    names = [spec.source or spec.name for spec in records.specs]
    u = _by_chance(records, comparer, ranks) if asked else np.empty(0)

    def more(name: str, base: Collection[str]) -> float:
        """How much more often the matches by ``base`` agree than by chance, as a share."""
        used = [k for k, own in enumerate(names) if own in base]
        patterns, start = Patterns.of(np.ascontiguousarray(levels[:, used])), _start(records)
        mixture = learn_mixture(patterns, u[used], records.pairs, start, relatives)
        post = mixture.posterior(patterns.levels)[:, mixture.matches].sum(axis=1)
        own = levels[(post > MATCHED)[patterns.place], names.index(name)]
        own, chance = own[own != GONE], u[names.index(name), CLOSE:GONE].sum()
        return ((own >= CLOSE).mean() - chance) / (1 - chance) if len(own) else 1.0

    common = {name for name in names if name not in asked}
    if len(common) > 1:
        return [name for name in asked if more(name, common) < MORE]
    left, found = dict.fromkeys(names), []
    while len(left) > 2:
        told = {name: more(name, {*left} - {name}) for name in left if name in asked}
        worst = min(told, key=lambda name: told[name], default="")
        if not told or told[worst] >= MORE:
            break
        found.append(worst)
        del left[worst]
    return found


def _start(records: Records) -> float:
    """The share of the matches among all pairs, to begin with."""
    smaller = min(records.first or records.n, (records.n - records.first) or records.n)
    return smaller / START / records.pairs


def _with_more_matches(
    mixture: Mixture, patterns: Patterns, left: np.ndarray, right: np.ndarray, records: Records
) -> tuple[Mixture, np.ndarray]:
    """Takes classes for matches that the matches of their records show to be so.

    Also returns those whose records have more partners than matches have.

    People who have moved agree in no part of the address and may form a class of their own, as the
    members of a household do who agree in nothing else. But two records that both have a match
    elsewhere are two things: so it is with relatives, whose records have matches as often as
    others, and several relatives at a time, and hardly ever with matches. Where no record has two
    matches, one of them has none. And where records have several, these link the two of a pair.
    """
    post = mixture.posterior(patterns.levels)
    sure = (post[:, mixture.matches].sum(axis=1) > MATCHED)[patterns.place]
    rows, ones = (left[sure], right[sure]), np.ones(sure.sum(), bool)
    cluster = connected_components(coo_array((ones, rows), (records.n, records.n)), False)[1]
    has = np.zeros(records.n, bool)
    has[left[sure]] = has[right[sure]] = True
    mine, theirs = (has[: records.first], has[records.first :]) if records.first else (has, has)
    p, q = mine.mean(), theirs.mean()
    usual = _partners(*rows, records)
    matches, mixed = mixture.matches.copy(), np.zeros_like(mixture.matches)
    for c in np.flatnonzero(~matches[:-1]):
        own = (post[:, c] > 0.5)[patterns.place]
        i, j, n = left[own], right[own], own.sum()
        both, either = (has[i] & has[j]).sum(), (has[i] | has[j]).sum()
        alone = _fewer(both, n * p * q) or _fewer(either, n * (p + q - p * q))
        linked = (cluster[i] == cluster[j]).sum() > max(LINKED * n, ENOUGH)
        agree = (agreement(mixture.tables[c], mixture.u) >= 0.5).mean() >= THIRD
        times = _partners(i, j, records) / max(usual, 1.0)
        matches[c] = agree and ((alone and times <= CROWDED[1]) or linked)
        mixed[c] = agree and alone and times > CROWDED[0]
    return mixture._replace(matches=matches), np.flatnonzero(mixed)


def _partners(left: np.ndarray, right: np.ndarray, records: Records) -> float:
    """How many partners the records of some pairs have, on average; of two tables, those of the
    table with the fewer records among them."""
    if not len(left):
        return 0.0
    if not records.first:
        return 2 * len(left) / len(np.unique([left, right]))
    return len(left) / min(len(np.unique(left)), len(np.unique(right)))


def _fewer(seen: float, expected: float) -> bool:
    """Whether something is seen much less often than expected, by two standard deviations."""
    return seen < min(TAKEN * expected, expected - 2 * np.sqrt(expected))


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
