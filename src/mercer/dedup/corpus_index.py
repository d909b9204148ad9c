"""`CorpusIndex`: earlier documents, in a folder that many processes may read.

The folder holds ``index.json``, which says how documents are read, and segments (segments.py), one
for each call of `append`. An index grows by a file that appears whole, so that a reader sees either
all documents of a call or none of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

import mercer
from mercer.dedup.segments import (
    BITS,
    FORMAT,
    HEADER_SIZE,
    Met,
    Segment,
    Signatures,
    SimilarPairs,
    damaged,
    meet,
    refuse_newer,
    similar,
    write_segment,
)
from mercer.dedup.signing import (
    SHINGLES,
    Bands,
    Shingles,
    Signer,
    Signs,
    Words,
    as_texts,
    check_threshold,
    choose_bands,
)
from mercer.dedup.walk import packed
from mercer.estimator import Seed
from mercer.persistence import ModelFileError, open_regular, read_json, reason, written_whole
from mercer.samples import check_count, is_whole

HEADER = "index.json"
MOST_HASHES = 4096
PAIRS = [("document", "i8"), ("row", "i8"), ("similarity", "f8")]


class CorpusIndex:
    r"""An index of documents on disk: near-duplicates of new documents among all earlier ones.

    .. math:: J(A, B) = \frac{|A \cap B|}{|A \cup B|} \ge t

    A and B are the sets of shingles of two documents, and t is the threshold.

    Make one by `create`, and open one that is there by `open`. Its documents are numbered from 0,
    in the order in which they were added. Several processes may read it while others append.

    Attributes
    ----------
    folder : Path
    threshold, recall : float
        Documents of at least this similarity are found with at least this probability.
    bands : Bands
        The hash functions that find candidates.
    shingles : Words, Characters or Fragments
    bits : int or None
        Bits of each hash of a signature; None if the shingles themselves are kept.

    See Also
    --------
    mercer.deduplicate : ``against=`` takes an index.
    mercer.LSHIndex : Neighbours of samples of any kind, in memory or in one file.

    Notes
    -----
    A document takes 8 bytes for each band. Beside that, 8 bytes are kept for each of its shingles,
    by which similarities are exact; or b h / 8 bytes with ``bits=b``, by which they are estimates
    of standard deviation :math:`\sqrt{m (1 - m) / h} / (1 - 2^{-b})`, for
    :math:`m = J + (1 - J) 2^{-b}`. A query of n documents looks up each of their keys by bisection
    in each segment, O(n b log N).

    References
    ----------
    Li & König, "b-bit minwise hashing", WWW 2010.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "news.index")
    >>> index = CorpusIndex.create(path, threshold=0.8)
    >>> index.append(["the cat sat on the mat in the sun and slept", "a recipe for bread"])
    array([0, 1])
    >>> index.query(["the cat sat on the mat in the sun and slept well", "a song"])
    array([(0, 0, 0.9)],
          dtype=[('document', '<i8'), ('row', '<i8'), ('similarity', '<f8')])
    >>> mercer.deduplicate(["a song", "a recipe for bread"], against=CorpusIndex.open(path)).kept
    array([0])
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path, facts: dict):
        self.folder, self._facts = folder, facts
        self.threshold, self.recall = float(facts["threshold"]), float(facts["recall"])
        self.bands = Bands(*facts["bands"])
        kind, size = facts["shingles"]
        self.shingles: Shingles = SHINGLES[kind](size)
        self.bits, self.seed = facts["bits"], facts["seed"]
        self.signer = Signer(self.shingles, self.bands, self.seed)
        self.signatures = (
            None if self.bits is None else Signatures(self.bits, facts["n_hashes"], self.seed)
        )

    # --- made, opened and extended ---------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike,
        *,
        threshold: float = 0.8,
        recall: float = 0.99,
        shingles: Shingles | None = None,
        bits: int | None = None,
        n_hashes: int = 128,
        random_state: Seed = 0,
    ) -> CorpusIndex:
        """Make an index without documents.

        Parameters
        ----------
        folder : str or path
            It is made if there is none. An index that is there is not replaced.
        threshold : float, 0 < threshold <= 1, default=0.8
            The least similarity that should be found.
        recall : float, 0 < recall < 1, default=0.99
            The probability that a pair just at the threshold is compared.
        shingles : Words, Characters or Fragments, optional
            What documents are sets of. Default: runs of 3 words.
        bits : {1, 2, 4, 8}, optional
            Keep so many bits of each hash in place of the shingles: a few hundred bytes a document
            in place of about a thousand, and similarities are estimates. None keeps the shingles.
        n_hashes : int, a multiple of 8, default=128
            Hashes of a signature; without meaning if ``bits`` is None.
        random_state : int, RandomState or None, default=0
            Seed for the hash functions.

        Raises
        ------
        FileExistsError
            The folder holds an index.
        """
        check_threshold(threshold, recall)
        chosen = Words() if shingles is None else shingles
        if not isinstance(chosen, Shingles):
            raise TypeError(f"shingles={chosen!r}: give Words(3) or Characters(5).")
        if bits is not None and (not is_whole(bits) or bits not in BITS):
            raise ValueError(f"bits={bits!r}: give 1, 2, 4 or 8, or None to keep the shingles.")
        if not (is_whole(n_hashes) and 8 <= n_hashes <= MOST_HASHES and n_hashes % 8 == 0):
            raise ValueError(
                f"n_hashes={n_hashes!r}: give a multiple of 8, from 8 to {MOST_HASHES}."
            )
        facts = {
            "format": FORMAT, "mercer": mercer.__version__, "threshold": float(threshold),
            "recall": float(recall), "bands": list(choose_bands(threshold, recall)),
            "shingles": [chosen.kind, int(chosen.size)],
            "bits": None if bits is None else int(bits), "n_hashes": int(n_hashes),
            "seed": int(check_random_state(random_state).randint(2**31)),
        }  # fmt: skip
        path = Path(folder) / HEADER
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with written_whole(path, replace=False) as file:
                file.write(json.dumps(facts, indent=1).encode())
        except FileExistsError:
            raise FileExistsError(
                f"{str(folder)!r} holds an index: open it by CorpusIndex.open, or give another "
                "folder."
            ) from None
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | os.PathLike) -> CorpusIndex:
        """Open an existing index. No code from the folder runs.

        Raises
        ------
        FileNotFoundError
            The folder holds no index.
        mercer.persistence.ModelFileError
            It is damaged, or was written in a format of another version.
        """
        path = Path(folder) / HEADER
        if not path.exists():
            raise FileNotFoundError(
                f"{str(folder)!r} holds no index of documents: it has no {HEADER}. Make one by "
                "CorpusIndex.create."
            )
        with open_regular(path) as file:
            try:
                facts = read_json(file.read(HEADER_SIZE))
                refuse_newer(facts, path)
                _check_facts(facts)
                return cls(Path(folder), facts)
            except ModelFileError:
                raise
            except Exception as error:  # a file may hold anything in place of numbers
                raise damaged(path, reason(error)) from error

    def append(self, docs: Any, n_jobs: int | None = None, job: str | None = None) -> np.ndarray:
        """Add n documents, in one file that appears whole; returns their numbers, (n,).

        Parameters
        ----------
        docs : list or column of str
        n_jobs : int, optional
            Threads that read documents.
        job : str, optional
            A name for this call. Another call with this name adds nothing and returns the
            numbers of the first one, so that work which was interrupted may be done again.
        """
        texts = as_texts("docs", docs)
        done = None if job is None else self._of_job(job)
        if done is None:
            signs = self.signer.sign(texts, n_jobs)
            done = self._add(signs, *self.shingles.sets(texts), job)
        start = self._starts()[done]
        return np.arange(start, start + self._segment(done).facts["documents"])

    def _add(self, signs: Signs, values: np.ndarray, starts: np.ndarray, job: str | None) -> int:
        """Write a segment; its number."""
        rows = np.flatnonzero(signs.counts > 0)
        keys = np.empty((self.bands.n_bands, len(rows)), np.uint64)
        for band, key in enumerate(signs.keys):
            keys[band] = np.sort(packed(key[rows], rows, len(signs)))
        arrays = {"keys": keys}
        if self.signatures is None:
            arrays |= {"values": values, "starts": starts}
        else:
            arrays["signatures"] = self.signatures.of(values, starts)
        facts = {"documents": len(signs), "job": job, "made": self._mark()}
        while True:
            number = self.segments
            try:
                write_segment(self._path(number), facts, arrays)
            except FileExistsError:  # another process was first
                continue
            return number

    # --- asked -----------------------------------------------------------------------------------

    def query(
        self, docs: Any, threshold: float | None = None, most: int = 100, n_jobs: int | None = None
    ) -> np.ndarray:
        """The documents of the index that are as similar as the threshold to some new documents.

        Parameters
        ----------
        docs : list or column of str
        threshold : float, optional
            That of the index or larger, which is the default.
        most : int >= 1, default=100
            The most documents of the index that are compared for one key of one segment, the
            earliest ones. It bounds the time where very many share a form.
        n_jobs : int, optional
            Threads that read documents.

        Returns
        -------
        pairs : structured ndarray of shape (pairs,)
            Fields ``document``, ``row`` and ``similarity``, in the order of documents and rows.
        """
        texts = as_texts("docs", docs)
        threshold = self.check_threshold(self.threshold if threshold is None else threshold)
        check_count("most", most, optional=False)
        found = self.found(self.signer.sign(texts, n_jobs), texts, threshold, int(most))
        pairs = np.empty(len(found.rows), PAIRS)
        for (name, _), column in zip(PAIRS, found[:3]):
            pairs[name] = column
        return pairs

    def found(self, signs: Signs, texts: list[str], threshold: float, most: int) -> SimilarPairs:
        """The same for texts that were signed."""
        met = self.meet(signs.keys, np.flatnonzero(signs.counts > 0), most)
        sets = self.shingles.sets([texts[i] for i in met.documents.tolist()])
        return self.similar(met, *sets, threshold)

    def meet(
        self, keys: np.ndarray, good: np.ndarray, most: int, segments: int | None = None
    ) -> Met:
        """The rows that share a key with some documents: those numbered ``good`` of ``keys``.

        Only the first ``segments`` are read, or all of them if it is None.
        """
        return meet(self._opened(segments), keys, good, most)

    def similar(
        self, met: Met, values: np.ndarray, starts: np.ndarray, threshold: float
    ) -> SimilarPairs:
        """Those of them that are similar enough; the shingles are those of ``met.documents``."""
        return similar(met, values, starts, self.signatures, threshold)

    # --- told ------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._starts()[-1]

    @property
    def n_bytes(self) -> int:
        """The size of all segments."""
        return sum(self._path(k).stat().st_size for k in range(self.segments))

    @property
    def segments(self) -> int:
        """How many segments there are."""
        count = 0
        while self._path(count).exists():
            count += 1
        return count

    def check(self) -> None:
        """Read the whole index and compare its checksums; ModelFileError if one is wrong."""
        for segment, _ in self._opened(None):
            segment.check()

    def __repr__(self) -> str:
        n = len(self)
        each = f", {self.n_bytes / n:,.0f} bytes each" if n else ""
        kept = "shingles" if self.bits is None else f"{self.bits} bits a hash"
        return f"<CorpusIndex: {n:,} documents{each}, threshold {self.threshold:g}, {kept}>"

    def check_threshold(self, threshold: float) -> float:
        """Refuse a threshold for which the index was not made."""
        check_threshold(threshold, self.recall)
        if threshold < self.threshold:
            raise ValueError(
                f"threshold={threshold!r}: the index was made for {self.threshold:g} and more; "
                "make one anew for less."
            )
        return float(threshold)

    # --- inside ----------------------------------------------------------------------------------

    def before(self, jobs: str) -> int:
        """How many segments precede those of jobs whose name begins so; all if there are none."""
        for number in range(count := self.segments):
            if str(self._segment(number).facts.get("job")).startswith(jobs):
                return number
        return count

    def _of_job(self, job: str) -> int | None:
        for number in range(self.segments):
            if self._segment(number).facts.get("job") == job:
                return number
        return None

    def _opened(self, count: int | None) -> Iterator[tuple[Segment, int]]:
        """Segments, and the number of the first document of each."""
        start = 0
        for number in range(self.segments if count is None else count):
            segment = self._segment(number)
            yield segment, start
            start += segment.facts["documents"]

    def _starts(self) -> list[int]:
        starts = [0]
        for number in range(self.segments):
            starts.append(starts[-1] + self._segment(number).facts["documents"])
        return starts

    def _segment(self, number: int) -> Segment:
        segment = Segment(self._path(number))
        n = segment.facts.get("documents")
        if type(n) is not int or not 0 <= n < 2**31 or segment.facts.get("made") != self._mark():
            raise damaged(segment.path, "it belongs to another index")
        return segment

    def _mark(self) -> list:
        """The facts that all segments of this index share."""
        names = ("bands", "shingles", "bits", "n_hashes", "seed")
        return [self._facts[name] for name in names]

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.segment"


def _check_facts(facts: dict) -> None:
    """Refuse a header that would ask for hash functions without end."""
    check_threshold(facts["threshold"], facts["recall"])
    r, b = facts["bands"]
    whole = (r, b, facts["n_hashes"], facts["seed"], facts["shingles"][1])
    if not all(type(number) is int and number >= 0 for number in whole):
        raise ValueError("its numbers are not whole")
    if not (1 <= r <= MOST_HASHES and 1 <= b <= MOST_HASHES and r * b <= 16 * MOST_HASHES):
        raise ValueError(f"it has {b} bands of {r} hashes")
    n, bits = facts["n_hashes"], facts["bits"]
    if bits is not None and (type(bits) is not int or bits not in BITS):
        raise ValueError(f"it has hashes of {bits} bits")
    if not 8 <= n <= MOST_HASHES or n % 8:
        raise ValueError(f"it has {n} hashes")
