"""The result of `mercer.deduplicate`: the documents kept, and the one kept for each removed one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.dedup.signing import Bands


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Near-duplicates among n documents, and the documents that were kept.

    Attributes
    ----------
    partners : ndarray of shape (n,), int64
        For a document that is removed, the number of the one that stays instead: one of the same
        documents, or one of ``against`` where ``earlier`` is true. For a document that is kept, its
        own number.
    similarities : ndarray of shape (n,)
        How similar each document is to its partner: the threshold or more; 1 where it is kept.
    earlier : ndarray of shape (n,), bool
        Whether the partner is one of ``against``.
    empty : ndarray
        The documents without a single shingle, which are all kept.
    threshold : float
        The least similarity of a document that is removed.
    bands : Bands or None
        The hash functions that found candidates; None if all pairs were compared.
    compared : int
        Pairs whose similarity was computed.
    full_buckets : int
        Buckets in which more documents are kept than ``most_kept``. Pairs may have been missed
        there; with 0 none were missed for this reason.
    """

    partners: np.ndarray
    similarities: np.ndarray
    earlier: np.ndarray
    empty: np.ndarray
    threshold: float
    bands: Bands | None
    compared: int
    full_buckets: int

    @property
    def kept(self) -> np.ndarray:
        """The numbers of the documents that are kept, ascending."""
        return np.flatnonzero(self._stays)

    @property
    def removed(self) -> np.ndarray:
        """The numbers of the documents that are removed, ascending."""
        return np.flatnonzero(~self._stays)

    @property
    def clusters(self) -> np.ndarray:
        """The cluster of each document, (n,): a kept document and those removed for it.

        The clusters of documents that are kept are numbered from 0, in their order; after them come
        those of documents of ``against``.
        """
        n = len(self.partners)
        return np.unique(self.partners + n * self.earlier, return_inverse=True)[1]

    @property
    def pairs(self) -> np.ndarray:
        """One record for each removed document: removed, kept, earlier, similarity."""
        rows = self.removed
        columns = [rows, self.partners[rows], self.earlier[rows], self.similarities[rows]]
        kinds = [("removed", "i8"), ("kept", "i8"), ("earlier", "?"), ("similarity", "f8")]
        records = np.empty(len(rows), kinds)
        for (name, _), column in zip(kinds, columns):
            records[name] = column
        return records

    @property
    def _stays(self) -> np.ndarray:
        return (self.partners == np.arange(len(self.partners))) & ~self.earlier

    def __repr__(self) -> str:
        n, kept = len(self.partners), int(self._stays.sum())
        said = f"{kept:,} of {n:,} documents kept, threshold {self.threshold:g}"
        if len(self.empty):
            said += f", {len(self.empty):,} empty"
        if self.full_buckets:
            said += f", {self.full_buckets:,} full buckets"
        return f"<Duplicates: {said}>"
