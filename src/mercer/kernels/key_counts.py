"""Kernels that count what two samples have in common, each thing under a number.

`KeyCounts` is the product of two lists of counts, each under a number of 64 bits that says what
was counted. The numbers depend on nothing but the sample, so nothing has to be learnt, new samples
change no feature of others, and what only new samples have matches nothing. Two different things
have the same number with a chance of about D² / 2^65, if there are D of them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer import _native
from mercer.distances import mirrored
from mercer.kernels.base import Kernel
from mercer.samples import Counts, Prepared, Samples, SamplesLike, is_whole, mixed

STRIP = 2**14  # samples whose counts are made at a time, where counts need not be kept


class KeyCounts(Kernel):
    """Abstract: Σ over numbers c of f_c(x) f_c(z). Define ``counts``."""

    vocabulary: Any

    @property
    def large_tiles(self) -> bool:
        return True

    @abstractmethod
    def counts(self, X: SamplesLike) -> Counts:
        """What each sample has, and how often."""

    def amounts(self, found: Counts) -> np.ndarray:
        """f_c for each entry, (total,); by default how often it was counted."""
        return found.values[:, 1].astype(np.float64)

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((X, self.counts(X)))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        same = X is Z
        A, B = self.sides(X, Z)
        ours = self._by_key(A.parts[1])
        theirs = ours if same else self._by_key(B.parts[1])
        K = np.zeros((A.shape[0], B.shape[0]))
        _native.kmer_join(*ours, *theirs, 1.0, same, K)
        K = mirrored(K) if same else K
        return K.astype(np.result_type(A.dtype, B.dtype), copy=False)

    def diag(self, X: Prepared) -> np.ndarray:
        X = self.prepare(X)
        found = X.parts[1]
        squares = np.square(self.amounts(found))
        owners = np.repeat(np.arange(len(found)), found.lengths)
        return np.bincount(owners, squares, len(found)).astype(X.dtype, copy=False)

    def columns_of(self, X: Any) -> np.ndarray:
        """The numbers (p,) of all that raw or encoded samples have, ascending: a ``vocabulary``."""
        X = self.encode(X)
        parts = [self.counts(X[s : s + STRIP]).values[:, 0] for s in range(0, len(X), STRIP)]
        return np.unique(np.concatenate(parts))

    def features(self, X: Any, width: int | None = None) -> sp.csr_array:
        """Counts, sparse, (n, p): one column for each number of the vocabulary, in order.

        With a ``width``, numbers are folded into so many columns, each with a sign, so that there
        is no vocabulary: products of features are right in the mean. Samples are counted in strips.
        """
        known = None
        if width is None:
            given: Any = X if self.vocabulary is None else self.vocabulary
            numbers = isinstance(given, np.ndarray) and given.dtype == np.uint64
            known = np.unique(given) if numbers else self.columns_of(given)
            size = len(known)
        elif is_whole(width) and 1 <= width < 2**31:
            size = int(width)
        else:
            raise ValueError(f"width={width!r}: give an integer >= 1, or None.")
        parts = [
            self._columns(X[s : s + STRIP], known, size, X.dtype) for s in range(0, len(X), STRIP)
        ]
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.nnz for part in parts)])
        starts = [part.indptr[:-1] + end for part, end in zip(parts, ends)]
        index = np.int32 if ends[-1] < 2**31 else np.int64
        indptr = np.concatenate([*starts, ends[-1:]]).astype(index)
        data = np.concatenate([part.data for part in parts])
        indices = np.concatenate([part.indices for part in parts]).astype(index, copy=False)
        return sp.csr_array((data, indices, indptr), (len(X), size))

    def _columns(
        self, X: Any, known: np.ndarray | None, size: int, dtype: DTypeLike
    ) -> sp.csr_array:
        """Counts as columns: of known keys, or of all keys in as many columns as are wanted."""
        found = self.counts(X)
        keys, counts = found.values[:, 0], self.amounts(found).astype(dtype)
        rows = np.repeat(np.arange(len(X), dtype=np.int32), found.lengths)
        if known is None:
            at = (keys % np.uint64(size)).astype(np.int32)
            counts *= np.where(mixed(keys) >> np.uint64(63), -1, 1).astype(dtype)
        else:
            at = np.minimum(np.searchsorted(known, keys), max(size - 1, 0))
            hit = known[at] == keys if size else np.zeros(len(at), bool)
            rows, at, counts = rows[hit], at[hit].astype(np.int32), counts[hit]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(X)))))
        F = sp.csr_array((counts, at, indptr.astype(np.int32)), (len(X), size))
        F.sum_duplicates()
        return F

    def _by_key(self, found: Counts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers, rows and f_c, sorted by numbers and then by rows."""
        total = len(found.values)
        keys, rows, places = np.empty(total, np.uint64), np.empty(total, np.int32), np.empty(total)
        entries = np.stack([found.values[:, 0], np.arange(total, dtype=np.uint64)], axis=1)
        _native.sort_keys(np.ascontiguousarray(found.starts), entries, keys, rows, places)
        return keys, rows, self.amounts(found)[places.astype(np.int64)]


class KeyCounter:
    """Counts of what training samples have, as a simple baseline."""

    def __init__(self, kernel: KeyCounts, X: Samples):
        self.kernel = kernel.copied(vocabulary=kernel.columns_of(X))

    def features(self, X: Samples) -> sp.csr_array:
        return self.kernel.features(X)
