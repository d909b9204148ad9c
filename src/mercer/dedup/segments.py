"""Segments: the files of an index on disk, each of which holds some documents as flat arrays.

A segment begins with eight bytes that mark its type, the length of its header, and the header as
JSON: the format, how many documents, and the name, type, shape, place and checksum of each array.
The arrays follow, each at a multiple of 64 bytes. They are mapped into memory: several processes
may read a segment at once, and the system reads only the pages that they use. A segment is written
whole or not at all and is never changed. Reading one runs no code.

`meet` and `similar` find which of its documents share a key with new ones, and are similar.
`Signatures` estimate Jaccard's index from a few bits a hash. Of each min-wise hash b bits are kept,
after its bits were mixed. They are equal where the hashes are, with the probability J, and by
chance otherwise, so that a share m of equal ones gives the estimate (m - 2⁻ᵇ) / (1 - 2⁻ᵇ). Source:
Li & König, "b-bit minwise hashing", WWW 2010, for sets that are small compared with all possible
items.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mercer
from mercer import _native
from mercer.persistence import ModelFileError, open_regular, read_json, reason, written_whole
from mercer.search import MinHash

BITS = (1, 2, 4, 8)
PAIRS = 2**16  # pairs of signatures that are compared at a time


class Signatures:
    """h min-wise hashes of b bits each.

    Their functions are not those of the bands: documents that share a band have equal hashes there
    more often than their similarity says.
    """

    def __init__(self, bits: int, n_hashes: int, seed: int):
        self.bits, self.n_hashes = bits, n_hashes
        self._minhash = MinHash(n_hashes, random_state=(seed + 2**31) % 2**32).fit()
        width = np.arange(256, dtype=np.uint8)
        fields = [width >> k & (2**bits - 1) for k in range(0, 8, bits)]
        differ = np.sum([field > 0 for field in fields], axis=0)
        self._different = np.asarray(differ, np.uint8)

    @property
    def width(self) -> int:
        """Bytes of a signature."""
        return self.n_hashes * self.bits // 8

    def of(self, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The signatures of sets of shingles, (n, width), uint8."""
        out = np.empty((len(starts) - 1, self.n_hashes), np.uint32)
        numbers = (values >> np.uint64(32)).astype(np.uint32)
        given = self._minhash.factors_, self._minhash.shifts_
        _native.least_hashes(numbers, starts, *given, out)
        # the lowest bits of a x + b are those of x in all functions: two shingles that agree in
        # them would do so everywhere. MurmurHash3 mixes the bits of a number so.
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            out ^= out >> np.uint32(shift)
            out *= np.uint32(factor)
        bits = (out >> np.uint32(32 - self.bits)).astype(np.uint8)
        shifts = np.arange(0, 8, self.bits, dtype=np.uint8)
        return np.bitwise_or.reduce(bits.reshape(-1, self.width, len(shifts)) << shifts, axis=2)

    def similarity(
        self, A: np.ndarray, B: np.ndarray, left: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Estimates of Jaccard's index for rows ``left`` of A and ``right`` of B."""
        out, chance = np.empty(len(left)), 0.5**self.bits
        for start in range(0, len(left), PAIRS):
            here = slice(start, start + PAIRS)
            differ = self._different[A[left[here]] ^ B[right[here]]].sum(axis=1, dtype=np.int64)
            share = 1 - differ / self.n_hashes
            out[here] = np.clip((share - chance) / (1 - chance), 0, 1)
        return out

    def deviation(self, similarity: float) -> float:
        """The standard deviation of an estimate."""
        chance = 0.5**self.bits
        share = similarity + (1 - similarity) * chance
        return float(np.sqrt(share * (1 - share) / self.n_hashes) / (1 - chance))


FORMAT = 2
MAGIC = b"MERCERDS"
ALIGNED = 64  # bytes
HEADER_SIZE = 2**16  # bytes of a header at most
STEP = 2**24  # bytes whose checksum is computed at a time
DTYPES = {"keys": "<u8", "values": "<u8", "starts": "<i8", "signatures": "|u1"}


def write_segment(path: Path, facts: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write a segment; FileExistsError if another process has written this one by then."""
    described, offset = [], 0
    for name, array in arrays.items():
        described.append({
            "name": name, "dtype": DTYPES[name], "shape": list(array.shape), "offset": offset,
            "checksum": checksum(array),
        })  # fmt: skip
        offset += array.nbytes + -array.nbytes % ALIGNED
    header = facts | {"format": FORMAT, "mercer": mercer.__version__, "arrays": described}
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 16) % ALIGNED)
    with written_whole(path, replace=False) as file:
        file.write(MAGIC + len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            file.write(b"\0" * (-array.nbytes % ALIGNED))


def checksum(array: np.ndarray) -> int:
    """That of the bytes of an array."""
    content, total = np.ascontiguousarray(array).reshape(-1).view(np.uint8), 0
    for start in range(0, len(content), STEP):
        total = zlib.crc32(content[start : start + STEP].data, total)
    return total


class Segment:
    """A segment that is read."""

    def __init__(self, path: Path):
        self.path = path
        with open_regular(path) as file:
            try:
                self.begin, self.facts = read_header(file.read(HEADER_SIZE + 16), path)
                self.size = os.fstat(file.fileno()).st_size
                self.arrays = {entry["name"]: self._entry(entry) for entry in self.facts["arrays"]}
            except ModelFileError:
                raise
            except Exception as error:  # a file may hold anything in place of numbers
                raise damaged(path, reason(error)) from error

    def mapped(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """An array of this shape, which stays in the file; -1 stands for any length."""
        if name not in self.arrays:
            raise damaged(self.path, f"it has no {name}")
        found, offset, _ = self.arrays[name]
        if len(found) != len(shape) or any(a not in (-1, b) for a, b in zip(shape, found)):
            raise damaged(self.path, f"{name} has shape {found}")
        if 0 in found:
            return np.empty(found, DTYPES[name])
        try:
            return np.asarray(np.memmap(self.path, DTYPES[name], "r", self.begin + offset, found))
        except ValueError as error:  # it became shorter since its header was read
            raise damaged(self.path, reason(error)) from error

    def check(self) -> None:
        """Read all arrays, and compare their checksums."""
        for name, (shape, _, wanted) in self.arrays.items():
            if checksum(self.mapped(name, shape)) != wanted:
                raise damaged(self.path, f"the checksum of {name} is another one")

    def _entry(self, entry: dict) -> tuple[tuple[int, ...], int, int]:
        """The shape, offset and checksum of an array as the header says them, after a check."""
        shape, offset, wanted = tuple(entry["shape"]), entry["offset"], entry["checksum"]
        numbers = (*shape, offset, wanted)
        if entry["dtype"] != DTYPES[entry["name"]] or not all(
            type(number) is int and number >= 0 for number in numbers
        ):
            raise ValueError(f"its array {entry['name']} is not described by whole numbers")
        end = self.begin + offset + math.prod(shape) * np.dtype(entry["dtype"]).itemsize
        if offset % ALIGNED or end > self.size:
            raise ValueError(f"{entry['name']} does not end in the file")
        return shape, offset, wanted


def read_header(content: bytes, path: Path) -> tuple[int, dict]:
    """Where the arrays begin, and what the header says."""
    if content[:8] != MAGIC:
        raise damaged(path, "it does not begin as a segment does")
    length = int.from_bytes(content[8:16], "little")
    if length > HEADER_SIZE or len(content) < 16 + length:
        raise damaged(path, "its header is cut off")
    header = read_json(content[16 : 16 + length])
    refuse_newer(header, path)
    return 16 + length, header


def refuse_newer(header: dict, path: Path) -> None:
    """Refuse a format that this version does not know."""
    found = header.get("format") if isinstance(header, dict) else None
    if type(found) is not int or found < 1:
        raise damaged(path, "its header gives no format")
    if found != FORMAT:
        version = str(header.get("mercer"))[:20]
        raise ModelFileError(
            f"{str(path)!r} was written by mercer {version if version.isprintable() else '?'} in "
            f"format {found}; this is mercer {mercer.__version__}, which reads format {FORMAT}. "
            "Upgrade: pip install --upgrade mercer; or make the index anew."
        )


def damaged(path: Path, why: str) -> ModelFileError:
    """The error for a file that is not as it was written."""
    return ModelFileError(
        f"{str(path)!r} is no part of an index of documents, or it is truncated or altered: {why}. "
        "Copy it again, or make the index anew."
    )


class Met(NamedTuple):
    """Pairs of new documents and rows of an index that share a key, each once."""

    #: by segment: the number of its first row, and pairs of documents and rows of the segment
    parts: list[tuple[Segment, int, np.ndarray, np.ndarray]]
    documents: np.ndarray  # those that share a key with any, ascending
    full: int  # keys that more rows share than are compared


class SimilarPairs(NamedTuple):
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

    Only the first ``most`` rows of a segment that share one key are taken.
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
    """Pairs of a document and a row that share a bucket, and how many buckets were too full."""
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
) -> SimilarPairs:  # fmt: skip
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
    return SimilarPairs(documents[order], rows[order], J[order], compared, met.full)


def _exact(
    segment: Segment, values: np.ndarray, starts: np.ndarray, left: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Jaccard's index of pairs of new documents and rows of a segment."""
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
