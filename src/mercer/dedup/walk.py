"""The walk: documents in the order of preference, each kept or removed for one that is kept.

So each removed document reaches the threshold with one that is kept, its partner. In a
chain, where A is like B and B like C, but A not like C, the second link does not remove C unless
B is kept: clusters are stars.

Documents that share a key are in one bucket, and buckets are found by sorting. A key and the number
of its document are packed into one number of 64 bits, so that sorting these numbers alone brings
equal keys together. The document's number replaces the key's lowest bits: a few documents with
different keys may share a bucket, which costs only a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer import _native
from mercer.dedup.signing import Signs


class Members(NamedTuple):
    """Documents that are in a bucket with others: document ``rows[k]`` is in ``buckets[k]``."""

    rows: np.ndarray  # int64
    buckets: np.ndarray  # int64, from 0
    count: int  # of buckets


def packed(keys: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Keys whose lowest bits are the numbers of their rows, below n."""
    bits = np.uint64(max(n - 1, 1).bit_length())
    return (keys >> bits << bits) | rows.astype(np.uint64)


def together(pairs: np.ndarray, n: int) -> Members:
    """The buckets of at least two documents, from packed and sorted keys."""
    bits = np.uint64(max(n - 1, 1).bit_length())
    top = pairs >> bits
    same = np.zeros(len(pairs) + 1, bool)  # as the one before
    same[1:-1] = top[1:] == top[:-1]
    chosen = np.flatnonzero(same[1:] | same[:-1])
    buckets = np.cumsum(~same[chosen]) - 1
    rows = (pairs[chosen] & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    return Members(rows, buckets, int(buckets[-1]) + 1 if len(buckets) else 0)


def meeting(keys: Iterable[np.ndarray], rows: np.ndarray, n: int) -> Members:
    """The buckets of all bands; each array of keys is that of one band, for all rows."""
    found = []
    for key in keys:
        pairs = packed(key[rows], rows, n)
        pairs.sort()
        found.append(together(pairs, n))
    return joined(found)


def joined(found: list[Members]) -> Members:
    """The buckets of several bands."""
    offsets = np.cumsum([0, *(part.count for part in found)])
    rows = np.concatenate([part.rows for part in found])
    buckets = np.concatenate([part.buckets + s for part, s in zip(found, offsets)])
    return Members(rows, buckets, int(offsets[-1]))


def by_row(members: Members, order: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The buckets of each row of ``order``, all in one array; and where each row starts."""
    place = np.empty(n, np.int64)
    place[order] = np.arange(len(order))
    ones = np.ones(len(members.rows), np.int8)
    shape = (len(order), max(members.count, 1))
    table = sp.csr_array((ones, (place[members.rows], members.buckets)), shape=shape)
    return table.indptr.astype(np.int64), table.indices.astype(np.int64)


class ShingleSets(NamedTuple):
    """The shingles of documents: those of document d are values[begins[d] : ends[d]]."""

    values: np.ndarray
    begins: np.ndarray
    ends: np.ndarray


class Verdicts(NamedTuple):
    """What the walk decided on each document."""

    partners: np.ndarray  # (n,), int64: the document that stays instead; -1 for kept ones
    similarities: np.ndarray  # (n,): Jaccard's index with the partner; 0 for kept ones
    compared: int  # pairs of which the index was computed
    full: int  # buckets that had no room for one more document that is kept


@dataclass(frozen=True)
class Rules:
    """How the walk decides."""

    threshold: float
    most_kept: int = 100  # documents that are kept in one bucket, and compared with the others
    within: bool = True  # whether new documents are compared with each other


def preferred(signs: Signs, fixed: int, values: np.ndarray | None) -> np.ndarray:
    """All documents, the most preferred first.

    The first ``fixed`` come first. Then those with the largest values, and of these the one with
    the least content hash, so that the order in which documents were given decides only between
    equal texts. ``values=None`` prefers what was given first.
    """
    n = len(signs)
    earlier = np.lexsort((np.arange(fixed), signs.contents[:fixed]))
    if values is None:
        return np.concatenate([earlier, np.arange(fixed, n)])
    later = np.lexsort((np.arange(n - fixed), signs.contents[fixed:], -values))
    return np.concatenate([earlier, later + fixed])


def ranks(order: np.ndarray) -> np.ndarray:
    """The place of each document in an order."""
    out = np.empty(len(order), np.int64)
    out[order] = np.arange(len(order))
    return out


def equal_documents(signs: Signs, rank: np.ndarray) -> np.ndarray:
    """The most preferred document with the same shingles in the same order, for each; (n,)."""
    n = len(signs)
    first = np.arange(n)
    pairs = packed(signs.digests[:, 0], first, n)
    pairs.sort()
    rows = together(pairs, n).rows
    rows = rows[signs.counts[rows] > 0]
    if not len(rows):
        return first
    digests = signs.digests[rows]
    order = np.lexsort((rank[rows], digests[:, 1], digests[:, 0]))
    rows, digests = rows[order], digests[order]
    begins = np.ones(len(rows), bool)
    begins[1:] = (digests[1:] != digests[:-1]).any(axis=1)
    first[rows] = rows[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return first


class WalkCandidates(NamedTuple):
    """The documents that are compared with others, the most preferred first."""

    rows: np.ndarray
    places: np.ndarray
    buckets: np.ndarray
    count: int
    fixed: int


def candidates(members: Members, rank: np.ndarray, fixed: int, rules: Rules) -> WalkCandidates:
    """The documents in buckets in which one can remove another."""
    new = members.rows >= fixed
    useful = np.bincount(members.buckets[new], minlength=members.count)  # that may be removed
    old = np.zeros(len(useful), bool)
    old[members.buckets[~new]] = True
    wanted = old & (useful > 0)
    if rules.within:
        wanted |= useful > 1
    chosen = wanted[members.buckets]
    numbers = np.cumsum(wanted) - 1
    members = Members(members.rows[chosen], numbers[members.buckets[chosen]], int(wanted.sum()))
    found = np.zeros(len(rank), bool)
    found[members.rows] = True
    rows = np.flatnonzero(found)
    rows = rows[np.argsort(rank[rows])]
    places, buckets = by_row(members, rows, len(rank))
    return WalkCandidates(rows, places, buckets, members.count, int((rows < fixed).sum()))


def walk(chosen: WalkCandidates, sets: ShingleSets, rules: Rules, n: int) -> Verdicts:
    """Decide on the candidates, whose sets are given in their order; all others are kept."""
    found, similar = np.empty(len(chosen.rows), np.int64), np.empty(len(chosen.rows))
    compared, full = _native.walk_documents(
        *sets, chosen.places, chosen.buckets, chosen.count, float(rules.threshold),
        rules.most_kept, chosen.fixed, rules.within, found, similar,
    )  # fmt: skip
    partners, similarities = np.full(n, -1), np.zeros(n)
    removed = found >= 0
    partners[chosen.rows[removed]] = chosen.rows[found[removed]]
    similarities[chosen.rows[removed]] = similar[removed]
    return Verdicts(partners, similarities, compared, full)


def with_equals(verdicts: Verdicts, first: np.ndarray, fixed: int, rules: Rules) -> Verdicts:
    """The same for documents equal to another: they share its verdict or are removed for it."""
    partners, similarities = verdicts.partners.copy(), verdicts.similarities.copy()
    rows = np.flatnonzero(first != np.arange(len(first)))
    rows = rows[rows >= fixed]
    twins = first[rows]
    gone = partners[twins] >= 0
    stays = ~gone & (rules.within | (twins < fixed))
    partners[rows[gone]] = partners[twins[gone]]
    similarities[rows[gone]] = similarities[twins[gone]]
    partners[rows[stays]], similarities[rows[stays]] = twins[stays], 1.0
    return verdicts._replace(partners=partners, similarities=similarities)


def decide(
    signs: Signs, fixed: int, values: np.ndarray | None, rules: Rules,
    sets: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], open_: np.ndarray | None = None,
) -> Verdicts:  # fmt: skip
    """Decide on all documents; ``sets`` makes the shingles of those that are compared, all in one
    array, and says where each document starts. Those that are not ``open_`` are left out, and
    their verdicts have no meaning."""
    n = len(signs)
    rank = ranks(preferred(signs, fixed, values))
    first = equal_documents(signs, rank)
    alone = (first == np.arange(n)) & (signs.counts > 0)
    rows = np.flatnonzero(alone if open_ is None else alone & open_)
    chosen = candidates(meeting(signs.keys, rows, n), rank, fixed, rules)
    shingles, starts = sets(chosen.rows)
    verdicts = walk(chosen, ShingleSets(shingles, starts[:-1], starts[1:]), rules, n)
    return with_equals(verdicts, first, fixed, rules)
