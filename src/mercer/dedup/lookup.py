"""Lookups in an index: which of its documents share a key with new ones, and are similar."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mercer import _native
from mercer.dedup.segments import Segment, damaged
from mercer.dedup.signatures import Signatures


class Met(NamedTuple):
    """Pairs of new documents and rows of an index that share a key, each once."""

    #: by segment: the number of its first row, and pairs of documents and rows of the segment
    parts: list[tuple[Segment, int, np.ndarray, np.ndarray]]
    documents: np.ndarray  # those that share a key with any, ascending
    full: int  # keys that more rows share than are compared


class Found(NamedTuple):
    """Pairs of new documents and rows of an index that are similar, by document, then by row."""

    documents: np.ndarray
    rows: np.ndarray
    similarities: np.ndarray
    compared: int
    full: int

    def nearest(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The most similar row of each of n documents, the earliest of equal ones; or -1, and 0."""
        rows, similarities = np.full(n, -1), np.zeros(n)
        order = np.lexsort((self.rows, -self.similarities, self.documents))
        documents, first = np.unique(self.documents[order], return_index=True)
        rows[documents] = self.rows[order[first]]
        similarities[documents] = self.similarities[order[first]]
        return rows, similarities


def meet(
    segments: Iterable[tuple[Segment, int]], keys: np.ndarray, good: np.ndarray, most: int
) -> Met:
    """The rows that share a key with the documents numbered ``good``, whose keys are (bands, n).

    Of the rows of a segment that share one key, the first ``most`` are taken.
    """
    parts, full = [], 0
    for segment, start in segments:
        documents, rows, over = _meet(segment, keys, good, most)
        full += over
        if len(rows):
            parts.append((segment, start, documents, rows))
    found = np.unique(np.concatenate([good[:0], *(part[2] for part in parts)]))
    return Met(parts, found, full)


def _meet(
    segment: Segment, keys: np.ndarray, good: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, int]:
    n = segment.facts["documents"]
    held = segment.mapped("keys", (len(keys), -1))
    bits = np.uint64(max(n - 1, 1).bit_length())
    low = (np.uint64(1) << bits) - np.uint64(1)
    pairs, full = [np.zeros(0, np.int64)], 0
    for band, own in zip(held, keys):
        order = good[np.argsort(own[good], kind="stable")]  # neighbours are on the same page
        first = own[order] >> bits << bits
        begins = np.searchsorted(band, first)
        counts = np.searchsorted(band, first | low, side="right") - begins
        full += int((counts > most).sum())
        counts = np.clip(counts, 0, most)  # keys that were damaged do not ascend
        place = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        rows = (band[place] & low).astype(np.int64)
        if len(rows) and rows.max() >= n:
            raise damaged(segment.path, f"it has a row {rows.max()} of {n}")
        pairs.append(np.repeat(order, counts) * n + rows)
    documents, rows = np.divmod(np.unique(np.concatenate(pairs)), max(n, 1))
    return documents, rows, full


def similar(
    met: Met, values: np.ndarray, starts: np.ndarray, signatures: Signatures | None,
    threshold: float,
) -> Found:  # fmt: skip
    """The pairs of at least this similarity: exactly, or as signatures estimate it.

    ``values`` and ``starts`` are the shingles of ``met.documents``.
    """
    own = None if signatures is None else signatures.of(values, starts)
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for segment, start, documents, rows in met.parts:
        left = np.searchsorted(met.documents, documents)
        if signatures is None or own is None:
            J = _exact(segment, values, starts, left, rows)
        else:
            shape = segment.facts["documents"], signatures.width
            J = signatures.similarity(own, segment.mapped("signatures", shape), left, rows)
        near = threshold <= J
        found.append((documents[near], rows[near] + start, J[near]))
    documents, rows, J = map(np.concatenate, zip(*found))
    order = np.lexsort((rows, documents))
    compared = sum(len(part[3]) for part in met.parts)
    return Found(documents[order], rows[order], J[order], compared, met.full)


def _exact(
    segment: Segment, values: np.ndarray, starts: np.ndarray, left: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    theirs = segment.mapped("values", (-1,))
    places = segment.mapped("starts", (segment.facts["documents"] + 1,))
    out = np.empty(len(rows))
    try:
        _native.compare_documents(
            values, starts[left], starts[left + 1], theirs, places[rows], places[rows + 1], out
        )
    except ValueError as error:
        raise damaged(segment.path, str(error)) from error
    return out
