"""The model of Fellegi and Sunter over all pairs of records, learnt without labels.

Random pairs agree by chance (u); matches agree mostly (m); and there are classes of pairs that have
something in common, most of them no matches, as the members of a household. The shares of the
classes and their frequencies of levels are those that make the levels of all pairs most probable,
found by EM on the different patterns of levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer import _native
from mercer.link.kinds import DIFFER, ELSEWHERE, EQUAL, GONE

TOLD = 7  # levels that tell something: all but that of missing values
START = np.array([0.03, 0.01, 0.01, 0.03, 0.08, 0.82, 0.02, 1.0])  # of matches
RELATIVES_SEED = 0
FLOOR = 0.5  # columns agree in at least this share of the matches: errors are the exception
#: of the pairs each column speaks for a match, where classes are joined to the matches: of all of
#: these; in parts of what it does in the matches; of the class alone, in this share of the columns
JOINED, OWN, ALONE, COLUMNS = 0.7, 0.85, 0.5, 0.75
STARTS, TRIED = 5, 10**6  # of EM, and about how many pairs they are tried on
ROUNDS, CLOSE = 200, 1e-5  # of EM, and when shares stay as they are
SMOOTH, SMOOTH_U = 0.3, 5.0  # pairs that are added to each level
SOME = 0.1  # of the pairs of a class that is split agree in a column, or do not
LEAST = 1e-12
CUT = 6.0  # bits by which the frequency of a value counts more or less
MOST_BITS = 500.0


class Mixture(NamedTuple):
    """Classes of pairs.

    Attributes
    ----------
    tables : ndarray of shape (classes, d, 8)
        How often the pairs of a class show each level of each column. The first class is that of
        matches, the last that of random pairs.
    shares : ndarray of shape (classes,)
        The share of each class among all pairs.
    matches : ndarray of shape (classes,), bool
        Which classes are taken for matches.
    rounds : int
        Rounds of EM.
    """

    tables: np.ndarray
    shares: np.ndarray
    matches: np.ndarray
    rounds: int

    @property
    def u(self) -> np.ndarray:
        return self.tables[-1]

    @property
    def prior(self) -> float:
        """The share of the matches among all pairs."""
        return float(self.shares[self.matches].sum())

    @property
    def m(self) -> np.ndarray:
        """How often matches show each level, (d, 8)."""
        share = self.shares[self.matches] / self.prior
        return (share[:, None, None] * self.tables[self.matches]).sum(axis=0)

    @property
    def weights(self) -> np.ndarray:
        """Bits that each level speaks for a match, (d, 8): log2 m / u."""
        weights = np.log2(np.maximum(self.m, LEAST) / np.maximum(self.u, LEAST))
        weights[:, GONE] = 0
        return weights

    def posterior(self, levels: np.ndarray) -> np.ndarray:
        """The probability of each class for each pattern of levels, (patterns, classes)."""
        return _expect(levels, np.zeros(len(levels)), self.tables, self.shares)[0]

    def odds(self, levels: np.ndarray) -> np.ndarray:
        """Bits that patterns of levels speak for a match, with the prior."""
        post = self.posterior(levels)
        p, q = post[:, self.matches].sum(axis=1), post[:, ~self.matches].sum(axis=1)
        return np.log2(np.maximum(p, 1e-300)) - np.log2(np.maximum(q, 1e-300))


class Patterns(NamedTuple):
    """The different patterns of the levels of pairs.

    Attributes
    ----------
    levels : ndarray of shape (patterns, d)
        In order, so that sums over them do not depend on the order of the pairs.
    counts : ndarray of shape (patterns,)
        How many pairs have each.
    place : ndarray of shape (pairs,)
        Which one each pair has.
    """

    levels: np.ndarray
    counts: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, levels: np.ndarray) -> Patterns:
        place = np.empty(len(levels), np.int32)
        some = levels[_native.link_patterns(levels, place)]
        order = np.lexsort(some.T[::-1])
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        place = rank[place]
        counts = np.bincount(place, minlength=len(order)).astype(float)
        return cls(np.ascontiguousarray(some[order]), counts, place)

    def some(self, most: int) -> tuple[Patterns, float]:
        """About so many of the pairs, and their share; ``place`` is not of them."""
        share = min(1.0, most / max(self.counts.sum(), 1))
        if share == 1:
            return self, 1.0
        rng = np.random.default_rng(RELATIVES_SEED)
        counts = rng.binomial(self.counts.astype(np.int64), share).astype(float)
        kept = counts > 0
        return Patterns(self.levels[kept], counts[kept], self.place), share


def _expect(
    levels: np.ndarray, counts: np.ndarray, tables: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The expectation step: posterior probabilities (P, c), and the sums of levels (c, d, 8)."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(tables, 1e-300))
        starts = np.log(np.maximum(shares, 1e-300))
    logs[:, :, GONE] = 0
    post = np.empty((len(levels), len(shares)))
    sums = np.empty(tables.shape)
    _native.link_expect(levels, counts, starts, logs, post, sums)
    return post, sums


def _normalised(table: np.ndarray) -> np.ndarray:
    table = table.copy()
    table[..., :TOLD] /= np.maximum(table[..., :TOLD].sum(axis=-1, keepdims=True), LEAST)
    table[..., GONE] = 1
    return table


def learn_mixture(
    patterns: Patterns,
    u: np.ndarray,
    total: float,
    prior: float,
    relatives: int,
    begin: Mixture | None = None,
) -> Mixture:
    """EM over all pairs: those in the patterns, and all others, which are no matches.

    ``total`` is the number of all pairs, ``prior`` the share of matches to begin with. Of some
    starts the one is taken that ends with the greatest likelihood; ``begin`` is the end of one for
    nearly the same pairs.
    """
    if begin is not None:
        return _ascend(patterns, np.array([*begin.tables[:-1], u]), begin.shares, total)[0]
    rng = np.random.default_rng(RELATIVES_SEED)
    order = np.lexsort(u.T[::-1])  # the names of columns change nothing
    first = _normalised((u > 0) * START)
    some, share = patterns.some(TRIED)
    best, most = None, -np.inf
    for _ in range(STARTS if relatives else 1):
        mixes = np.empty((relatives, len(u)))
        mixes[:, order] = rng.uniform(0.1, 0.9, mixes.shape)
        tables = [_normalised(mix[:, None] * first + (1 - mix[:, None]) * u) for mix in mixes]
        shares = np.array([prior, *[prior / 2] * relatives, 0.0])
        shares[-1] = 1 - shares.sum()
        found, likelihood = _ascend(some, np.array([first, *tables, u]), shares, total * share)
        if likelihood > most:
            best, most = found, likelihood
    assert best is not None
    return best if share == 1 else _ascend(patterns, best.tables, best.shares, total)[0]


def split_class(mixture: Mixture, c: int, patterns: Patterns, total: float) -> Mixture:
    """EM with class c as two: in the columns in which some of its pairs agree, one is as matches
    are, and one as random pairs."""
    own, u = mixture.tables[c], mixture.u
    agree = agreement(own, u)
    some = ((agree > SOME) & (agree < 1 - SOME))[:, None]
    halves = [np.where(some, mixture.m, own), np.where(some, u, own)]
    tables = np.insert(np.delete(mixture.tables, c, axis=0), 1, halves, axis=0)
    shares = np.insert(np.delete(mixture.shares, c), 1, [mixture.shares[c] / 2] * 2)
    return _ascend(patterns, tables, shares, total)[0]


def _ascend(
    patterns: Patterns, whole: np.ndarray, shares: np.ndarray, total: float
) -> tuple[Mixture, float]:
    """EM from one start, and the logarithm of the likelihood."""
    levels, counts, u = patterns.levels, patterns.counts, whole[-1]
    possible = (u > 0).astype(float)
    smooth = np.array([SMOOTH * possible, *[SMOOTH_U * u] * (len(whole) - 2)])
    rounds, last = 0, shares
    for rounds in range(1, ROUNDS + 1):
        post, sums = _expect(levels, counts, whole, shares)
        learnt = sums[:-1] + smooth
        whole[:-1] = _normalised(learnt)
        whole[0] = _agreeing(whole[0])
        shares = np.maximum((post[:, :-1] * counts[:, None]).sum(axis=0) / total, 1e-15)
        shares = np.append(shares, max(1 - shares.sum(), LEAST))
        if rounds > 1 and abs(shares - last)[:-1].max() < CLOSE * shares[:-1].max():
            break
        last = shares
    logs = np.log(np.maximum(whole, 1e-300))
    logs[:, :, GONE] = 0
    each = np.log(shares) + sum(logs[:, k, levels[:, k]].T for k in range(len(u)))
    likelihood = counts @ np.logaddexp.reduce(each, axis=1)
    likelihood += (total - counts.sum()) * np.log(shares[-1])
    return Mixture(whole, shares, _match_classes(whole, shares), rounds), likelihood


def _agreeing(table: np.ndarray) -> np.ndarray:
    """Matches agree in each column at least as often as not."""
    agree = table[:, 3:TOLD].sum(axis=1)
    low = (agree < FLOOR) & (agree > 0)
    table[low, 3:TOLD] *= (FLOOR / agree[low])[:, None]
    table[low, :3] *= ((1 - FLOOR) / np.maximum(1 - agree[low], LEAST))[:, None]
    return table


def agreement(table: np.ndarray, u: np.ndarray) -> np.ndarray:
    """How often each column speaks for a match: by levels that are more frequent than by chance."""
    good = (table > 1.5 * u) & (np.arange(8) > DIFFER) & (np.arange(8) < GONE)
    return (table * good).sum(axis=1)


def _match_classes(tables: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Matches, and relatives that with them agree in each column more often than not: these are
    matches with more errors."""
    u, taken = tables[-1], [0]
    before = agreement(tables[0], u)
    order = sorted(range(1, len(tables) - 1), key=lambda c: -agreement(tables[c], u).min())
    for c in order:
        own = agreement(tables[c], u)
        if (own >= ALONE).mean() < COLUMNS:  # of few pairs the matches take no notice
            continue
        union = [*taken, c]
        share = shares[union] / shares[union].sum()
        pooled = (share[:, None, None] * tables[union]).sum(axis=0)
        if (agreement(pooled, u) >= np.minimum(JOINED, OWN * before)).all():
            taken = union
    return np.isin(np.arange(len(tables)), taken)


def by_frequency(u: np.ndarray, shares: np.ndarray, least: float) -> np.ndarray:
    """Bits that equal values weigh more, because few records have them.

    ``least`` is the share of one record: where values are equal by chance even less often, as
    those of identifiers, this cannot be seen.
    """
    return np.clip(np.log2(max(u[EQUAL], least) / np.maximum(shares, LEAST)), -CUT, CUT)


def random_table(
    levels: np.ndarray, equal: np.ndarray, levels_of: list[tuple[int, ...]], swaps: np.ndarray
) -> np.ndarray:
    """u: how often two random records show each level, (d, 8).

    ``levels`` (pairs, d) are those of random pairs, ``equal`` (d,) how often values are equal,
    which is exact, and ``levels_of`` the levels that a column can show. ``swaps`` (d,) says which
    columns' values may stand in another one.
    """
    u = np.zeros((levels.shape[1], 8))
    for k in range(levels.shape[1]):
        seen = np.bincount(levels[:, k], minlength=8)[:8].astype(float)
        may = [DIFFER, *levels_of[k], *([ELSEWHERE] if swaps[k] else [])]
        rest = seen[may] + 0.5
        u[k, may] = rest / rest.sum() * (1 - equal[k])
        u[k, EQUAL] = equal[k]
        u[k, GONE] = 1
    return u


def probability(bits: np.ndarray) -> np.ndarray:
    """The probability of odds that are given in bits."""
    return 1 / (1 + np.exp2(-np.clip(bits, -MOST_BITS, MOST_BITS)))


# --- labels ---------------------------------------------------------------------------------------

SHRINK, SHRINK_BIAS = 20.0, 2.0  # how strongly the unlabelled weights are believed
NEWTON = 50


def learn_scales(parts: np.ndarray, matches: np.ndarray) -> tuple[np.ndarray, float]:
    """Factors of the columns' weights, and bits that are added, from labelled pairs.

    ``parts`` (labels, d) are the weights of the pairs, of which the prior is the last column, and
    whose sum is their match weight. Minimises the logistic loss of the labels, with a penalty on
    what the factors are more or less than 1 and the bits than 0: few labels change little.
    """
    base = parts.sum(axis=1) * np.log(2)
    design = np.column_stack([parts[:, :-1] / 4, np.ones(len(parts))]) * np.log(2)
    penalty = np.append(np.full(design.shape[1] - 1, SHRINK / 16), SHRINK_BIAS)
    change = np.zeros(design.shape[1])
    sign = np.where(matches, 1.0, 0.0)

    def loss(at: np.ndarray) -> float:
        z = base + design @ at
        return float((np.logaddexp(0, z) - sign * z).sum() + penalty @ at**2 / 2)

    for _ in range(NEWTON):
        z = base + design @ change
        p = 1 / (1 + np.exp(-np.clip(z, -500, 500)))
        gradient = design.T @ (p - sign) + penalty * change
        hessian = (design.T * (p * (1 - p))) @ design + np.diag(penalty)
        step, size = np.linalg.solve(hessian, gradient), 1.0
        while loss(change - size * step) > loss(change) and size > 1e-6:
            size /= 2
        change = change - size * step
        if abs(step).max() < 1e-9:
            break
    return 1 + change[:-1] / 4, float(change[-1])
