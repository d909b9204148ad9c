"""One pass over the documents: the keys of the bands of each, and the value that ranks it.

A band is a table of `mercer.LSHIndex`: documents of similarity J share its key, made of r min-wise
hashes, with the probability Jʳ, and at least one of b keys with 1 - (1 - Jʳ)ᵇ.

Documents are compared by their shingles, runs of words or characters or fragments of molecules:
Jaccard's index of two is that of their sets of shingles. Shingles are hashed to 64 bits: that two
different ones have the same hash happens about once in 10¹⁹ pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer import _native
from mercer.samples import (
    Fingerprint,
    as_samples,
    check_count,
    describe,
    describe_entry,
    is_number,
    read,
)
from mercer.search import MinHash, QueryCosts, cheapest, s_curve
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
    """Abstract: how a document becomes a set. Use `Words`, `Characters` or `Fragments`."""

    size: int
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        check_count("size", self.size, optional=False)

    def runs(self, texts: list[str]) -> tuple[list[str], bool, int]:
        """What is cut, whether into words, and how many of a run."""
        return texts, self.kind == "words", self.size

    def sets(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """The hashes of each document, ascending, all in one array; and where each one starts."""
        return _native.shingle_documents(*self.runs(texts))


@dataclass(frozen=True)
class Words(Shingles):
    r"""Runs of words. Words end at spaces, tabs and ends of lines.

    .. math:: J(A, B) = \frac{|A \cap B|}{|A \cup B|}

    A and B are the sets of shingles of two documents.

    A document of fewer words has one shingle, all of its words.

    Parameters
    ----------
    size : int >= 1, default=3
        Words of a shingle. With more of them a changed word changes more shingles.

    References
    ----------
    Broder, "On the resemblance and containment of documents", SEQUENCES 1997.

    Examples
    --------
    >>> values, starts = Words(2).sets(["a rose is a rose is a rose", "a  rose"])
    >>> np.diff(starts)  # a rose, rose is, is a
    array([3, 1], dtype=int64)
    """

    size: int = 3
    kind: ClassVar[str] = "words"


@dataclass(frozen=True)
class Characters(Shingles):
    r"""Runs of characters, for texts without spaces between words, codes and short texts.

    .. math:: J(A, B) = \frac{|A \cap B|}{|A \cup B|}

    A and B are the sets of shingles of two documents.

    A document of fewer characters has one shingle, all of it.

    Parameters
    ----------
    size : int >= 1, default=5
        Characters of a shingle.

    References
    ----------
    Broder, "On the resemblance and containment of documents", SEQUENCES 1997.

    Examples
    --------
    >>> values, starts = Characters(3).sets(["GATTACA", "日本"])
    >>> np.diff(starts)
    array([5, 1], dtype=int64)
    """

    size: int = 5
    kind: ClassVar[str] = "characters"


@dataclass(frozen=True)
class Fragments(Shingles):
    r"""Fragments of molecules, each as often as it occurs, where documents are SMILES or InChI.

    .. math:: J(x, x^\prime) = \frac{\sum_u \min(c_u, c^\prime_u)}{\sum_u \max(c_u, c^\prime_u)}

    A fragment u occurs :math:`c_u` times in one molecule and :math:`c^\prime_u` times in the
    other.

    Jaccard's index of two molecules is then their Tanimoto coefficient, that of
    `mercer.kernels.Morgan`: a fragment u that occurs :math:`c_u` times is the elements
    (u, 1), ..., (u, :math:`c_u`), of which two molecules share :math:`\sum_u \min(c_u, c'_u)`. A
    salt is its largest part, and mirror images are equal.

    Parameters
    ----------
    size : int >= 1, default=2
        Bonds from the centre of a fragment to its ends.

    Raises
    ------
    ValueError
        A document is no molecule.
    ImportError
        RDKit is not installed.

    References
    ----------
    Rogers & Hahn, "Extended-connectivity fingerprints", J. Chem. Inf. Model. 50, 2010.

    Examples
    --------
    >>> from mercer.dedup import Fragments, deduplicate
    >>> docs = ["CC(=O)Oc1ccccc1C(=O)O", "O=C(C)Oc1ccccc1C(O)=O", "CCO"]
    >>> deduplicate(docs, shingles=Fragments()).kept
    array([0, 2])
    """

    size: int = 2
    kind: ClassVar[str] = "fragments"

    def runs(self, texts: list[str]) -> tuple[list[str], bool, int]:
        """A document that has a word for each element."""
        fingerprint = Fingerprint("morgan", self.size)
        molecules = as_samples(texts, "molecules", reader="Fragments").found if texts else []
        fragments = [molecule.fragments(fingerprint).tolist() for molecule in molecules]
        documents = [
            " ".join(f"{u:x}.{i}" for u, count in found for i in range(count))
            for found in fragments
        ]
        return documents, True, 1


#: kind -> its class
SHINGLES: dict[str, type[Shingles]] = {made.kind: made for made in (Words, Characters, Fragments)}


BLOCK = 4096  # documents that a thread reads at a time
MOST_BANDS = 256
#: nanoseconds of a hash function (for 120 shingles), a key that is sorted, and a comparison
HASH, KEY, PAIR = 3.6, 17.0, 700.0
ROWS = 10**6  # documents for which the bands are cheapest
#: similarities of documents as they come: one pair in 10,000 has a part in common
BACKGROUND = np.concatenate([np.full(9999, 0.03), [0.22]])


class Bands(NamedTuple):
    r"""b bands of r min-wise hashes each.

    .. math:: P[\text{candidate}] = 1 - (1 - J^r)^b

    J is Jaccard's index of two documents.

    References
    ----------
    Broder, "On the resemblance and containment of documents", SEQUENCES 1997; Leskovec, Rajaraman
    & Ullman, "Mining of Massive Datasets", 3rd edition, 2020, section 3.4.

    Examples
    --------
    >>> Bands(n_hashes=6, n_bands=16).recall([0.5, 0.8]).round(3)
    array([0.223, 0.992])
    """

    n_hashes: int  # r
    n_bands: int  # b

    def recall(self, similarity: np.ndarray | float) -> np.ndarray:
        """The probability that two documents of this similarity are compared, of the same shape."""
        return s_curve(np.asarray(similarity, np.float64), self.n_hashes, self.n_bands)


def choose_bands(threshold: float, recall: float) -> Bands:
    """The bands that find pairs at the threshold with this recall, and cost least.

    Examples
    --------
    >>> choose_bands(0.8, 0.99)
    Bands(n_hashes=6, n_bands=16)
    """
    costs = QueryCosts(HASH, KEY, 0.0, PAIR, ROWS)
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
        """The signs of some texts."""
        runs = self.shingles.runs(texts)
        signs = self._signed(*runs)
        if runs[0] is texts:
            return signs
        own = self._signed(texts, True, 1)
        return replace(signs, contents=own.contents, lengths=own.lengths)

    def _signed(self, documents: list[str], words: bool, size: int) -> Signs:
        """The signs of documents whose shingles are runs of ``size`` words or characters."""
        n = len(documents)
        signs = Signs(
            np.empty((self.bands.n_bands, n), np.uint64), np.empty((n, 2), np.uint64),
            np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(n, np.int64),
        )  # fmt: skip
        _native.sign_documents(
            documents,
            words,
            size,
            self._minhash.factors_,
            self._minhash.shifts_,
            *(getattr(signs, f.name) for f in fields(Signs)),
        )
        return signs
