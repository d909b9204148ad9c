"""Buckets: the documents that share a key, found by sorting.

A key and the number of its document are packed into one number of 64 bits, so that sorting these
numbers alone brings equal keys together. The document's number replaces the key's lowest bits: a
few documents with different keys may share a bucket, which costs only a comparison.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


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
