"""One pass over the documents: the keys of the bands of each, and the value that ranks it.

A band is a table of `mercer.LSHIndex`: documents of similarity J share its key, made of r min-wise
hashes, with the probability Jʳ, and at least one of b keys with 1 - (1 - Jʳ)ᵇ.

Documents are compared by their shingles, runs of words or characters: Jaccard's index of two is
that of their sets of shingles. Shingles are hashed to 64 bits: that two different ones have the
same hash happens about once in 10¹⁹ pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer import _native
from mercer.samples import check_count, describe, describe_entry, is_number, read
from mercer.search import Costs, MinHash, cheapest, s_curve
from mercer.threads import ordered_map


def check_threshold(threshold: float, recall: float) -> None:
    """Refuse a threshold or a recall that is not between 0 and 1."""
    if not (is_number(threshold) and 0 < threshold <= 1):
        raise ValueError(f"threshold={threshold!r}: give a number above 0 and up to 1.")
    if not (is_number(recall) and 0 < recall < 1):
        raise ValueError(f"recall={recall!r}: give a number between 0 and 1, such as 0.99.")


def as_texts(name: str, docs: Any) -> list[str]:
    """The documents as a list of their own."""
    if isinstance(docs, (str, bytes, dict, set, frozenset)) or docs is None:
        raise TypeError(f"{name} is {describe(docs)}: give a list or a column of texts.")
    listed = isinstance(docs, (list, tuple))  # which may be empty
    texts = list(docs) if listed else read(docs, "strings", reader=name)[1]
    if all(type(text) is str for text in texts):
        return texts
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"{name}[{i}] is {describe_entry(text)}, but documents are texts: give '' for a "
                "missing one, or similarity=kernel for samples of another kind."
            )
    return texts


@dataclass(frozen=True)
class Shingles:
    """Abstract: how a document becomes a set. Use `Words` or `Characters`."""

    size: int
    words: ClassVar[bool]

    def __post_init__(self) -> None:
        check_count("size", self.size, optional=False)

    def sets(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of each document, ascending, all in one array; and where each one starts."""
        return _native.shingle_documents(texts, self.words, self.size)


@dataclass(frozen=True)
class Words(Shingles):
    """Runs of words. Words end at spaces, tabs and ends of lines.

    A document of fewer words has one shingle, all of its words.

    Parameters
    ----------
    size : int >= 1, default=3
        Words of a shingle. With more of them a changed word changes more shingles.

    Examples
    --------
    >>> values, starts = Words(2).sets(["a rose is a rose is a rose", "a  rose"])
    >>> np.diff(starts)  # a rose, rose is, is a
    array([3, 1], dtype=int64)
    """

    size: int = 3
    words: ClassVar[bool] = True


@dataclass(frozen=True)
class Characters(Shingles):
    """Runs of characters, for texts without spaces between words, codes and short texts.

    A document of fewer characters has one shingle, all of it.

    Parameters
    ----------
    size : int >= 1, default=5
        Characters of a shingle.

    Examples
    --------
    >>> values, starts = Characters(3).sets(["GATTACA", "日本"])
    >>> np.diff(starts)
    array([5, 1], dtype=int64)
    """

    size: int = 5
    words: ClassVar[bool] = False


BLOCK = 4096  # documents that a thread reads at a time
MOST_BANDS = 256
#: nanoseconds of a hash function (for 120 shingles), a key that is sorted, and a comparison
HASH, KEY, PAIR = 3.6, 17.0, 700.0
ROWS = 10**6  # documents for which the bands are cheapest
#: similarities of documents as they come: one pair in 10,000 has a part in common
BACKGROUND = np.concatenate([np.full(9999, 0.03), [0.22]])


class Bands(NamedTuple):
    """b bands of r min-wise hashes each."""

    n_hashes: int  # r
    n_bands: int  # b

    def recall(self, similarity: np.ndarray | float) -> np.ndarray:
        """The probability that two documents of this similarity are compared, the S-curve."""
        return s_curve(np.asarray(similarity, np.float64), self.n_hashes, self.n_bands)


def choose_bands(threshold: float, recall: float) -> Bands:
    """The bands that find pairs at the threshold with this recall, and cost least.

    Examples
    --------
    >>> choose_bands(0.8, 0.99)
    Bands(n_hashes=6, n_bands=16)
    """
    costs = Costs(HASH, KEY, 0.0, PAIR, ROWS)
    found = cheapest(
        lambda distance: 1 - distance, np.array([1 - threshold]), 1 - BACKGROUND, recall, costs,
        MOST_BANDS,
    )  # fmt: skip
    if found is None:
        raise ValueError(
            f"{MOST_BANDS} bands cannot find pairs of similarity threshold={threshold:g} with "
            f"recall={recall:g}: give a larger threshold or a smaller recall."
        )
    return Bands(found.n_hashes, found.n_tables)


@dataclass(frozen=True)
class Signs:
    """The keys, digests, lengths and counts of n documents."""

    keys: np.ndarray  # (bands, n), uint64
    digests: np.ndarray  # (n, 2), uint64: equal ones have the same shingles in the same order
    contents: np.ndarray  # (n,), uint64: a hash of the text, which orders what else is equal
    lengths: np.ndarray  # (n,), int64: characters
    counts: np.ndarray  # (n,), int64: shingles, also those that come again; 0 is an empty document

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def joined(cls, parts: list[Signs]) -> Signs:
        """Several of them, one after the other."""
        arrays = {
            f.name: np.concatenate([getattr(p, f.name) for p in parts], axis=int(f.name == "keys"))
            for f in fields(cls)
        }
        return cls(**arrays)


class Signer:
    """Reads documents; the same seed, bands and shingles read the same everywhere."""

    def __init__(self, shingles: Shingles, bands: Bands, seed: int = 0):
        self.shingles, self.bands = shingles, bands
        self._minhash = MinHash(bands.n_hashes * bands.n_bands, random_state=seed).fit()

    def sign(self, texts: list[str], n_jobs: int | None = 1) -> Signs:
        """Read a list of texts, by blocks on several threads."""
        blocks = [texts[s : s + BLOCK] for s in range(0, max(len(texts), 1), BLOCK)]
        return Signs.joined(list(ordered_map(self._block, blocks, n_jobs)))

    def _block(self, texts: list[str]) -> Signs:
        n = len(texts)
        signs = Signs(
            np.empty((self.bands.n_bands, n), np.uint64), np.empty((n, 2), np.uint64),
            np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(n, np.int64),
        )  # fmt: skip
        _native.sign_documents(
            texts, self.shingles.words, self.shingles.size, self._minhash.factors_,
            self._minhash.shifts_, *(getattr(signs, f.name) for f in fields(Signs)),
        )  # fmt: skip
        return signs
