"""Kernels that count the contiguous k-mers of strings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from mercer.distances import Meaning
from mercer.estimator import estimator
from mercer.kernels.base import Kernel
from mercer.kernels.kmer_counts import (
    WHOLE,
    KmerCounts,
    KmerWindows,
    LazyKmers,
    Pattern,
    columns,
    count,
    numbered,
    products,
)
from mercer.persistence import fields
from mercer.samples import Prepared, Strings
from mercer.threads import raise_if_stopped

# Counts of k-mers as searches of texts weigh them: logarithms of counts, and rare k-mers more.


@fields()
class Rarity:
    """Inverse document frequencies of the k-mers of a training sample.

    Parameters
    ----------
    base : int
        Number of symbols of the training sample.
    keys, weights : list of ndarray
        The k-mers as ascending numbers, and their weights, for k = 1, 2, ...
    """

    def __init__(self, base: int, keys: list[np.ndarray], weights: list[np.ndarray]):
        self.base = base
        self.keys = keys
        self.weights = weights

    @classmethod
    def of(
        cls,
        windows: KmerWindows,
        patterns: Iterable[Pattern],
        reader: str,
        sample_weight: np.ndarray | None = None,
    ) -> Rarity:
        """log((1 + n) / (1 + rows that have the k-mer)) + 1, as scikit-learn has it.

        A row of weight w counts as w rows.
        """
        lengths = {len(pattern.positions): pattern for pattern in patterns}
        longest = max(lengths, default=0)
        if max(windows.base, 2) ** longest > WHOLE:
            raise ValueError(
                f"idf=True: {reader} needs a number below 2**64 for each substring of {longest} "
                f"symbols, but there are {windows.base} symbols. Give a smaller k, or idf=False."
            )
        times = np.ones(windows.size) if sample_weight is None else sample_weight
        keys = [np.empty(0, np.uint64)] * longest
        weights = [np.empty(0)] * longest
        for length, pattern in lengths.items():
            (found,) = count(pattern, windows)
            keys[length - 1], which = np.unique(found.keys, return_inverse=True)
            rows = np.bincount(which, times[found.rows], minlength=len(keys[length - 1]))
            weights[length - 1] = np.log((1 + times.sum()) / (1 + rows)) + 1
        return cls(windows.base, keys, weights)

    def __repr__(self) -> str:
        return f"Rarity({sum(map(len, self.keys))} substrings)"

    def of_counts(self, pattern: Pattern, counts: KmerCounts) -> np.ndarray:
        """The weight of each k-mer; 0 for those that are not in the training sample."""
        length = len(pattern.positions) - 1
        if length >= len(self.keys) or not len(self.keys[length]):
            return np.zeros(len(counts.keys))
        known = self.keys[length]
        places = np.minimum(np.searchsorted(known, counts.keys), len(known) - 1)
        return np.where(known[places] == counts.keys, self.weights[length][places], 0.0)


class Weighing(NamedTuple):
    """What becomes of counts: 1 + log(count) if ``sublinear``, times the ``rarity``."""

    sublinear: bool
    rarity: Rarity | None

    def __call__(self, pattern: Pattern, counts: KmerCounts) -> KmerCounts:
        values = 1 + np.log(counts.counts) if self.sublinear else counts.counts
        if self.rarity is None:
            return counts._replace(counts=values, largest=np.inf)
        weights = self.rarity.of_counts(pattern, counts)
        known = weights > 0
        return counts._replace(
            keys=counts.keys[known], rows=counts.rows[known], counts=(values * weights)[known],
            largest=np.inf,  # no whole numbers, which float32 would hold exactly
        )  # fmt: skip


class Counting(Kernel):
    """Abstract: Σ over patterns of weight · Σ_u count_u(s) count_u(t). Define ``patterns``.

    ``vocabulary`` is used only by ``features``. ``bind`` does not learn it: otherwise each model
    would store its training strings, and searches could not share work between folds.
    """

    kind = "strings"
    vocabulary: Strings | None
    #: what becomes of counts, see `Weighing`
    sublinear: bool = False
    idf: bool | Rarity = False

    @property
    def large_tiles(self) -> bool:
        return True

    @abstractmethod
    def patterns(self, X: Strings) -> Iterator[Pattern]:
        """The patterns that are counted in samples with the alphabet of X."""

    def windows(self, X: Strings) -> KmerWindows:
        """The windows that are counted."""
        return KmerWindows.of(X, self.idf.base if isinstance(self.idf, Rarity) else None)

    def bind(self, X: Strings, y: object = None, sample_weight: Any = None) -> Self:
        """A copy that knows how rare k-mers are in the training sample, if ``idf`` is True."""
        self.validate()
        if self.idf is not True:
            return self
        rarity = Rarity.of(self.windows(X), self.patterns(X), type(self).__name__, sample_weight)
        return self.copied(idf=rarity)

    def unbound(self) -> Self:
        """A copy that does not know yet how rare k-mers are."""
        return self.copied(idf=True) if isinstance(self.idf, Rarity) else self

    def check_weighing(self) -> None:
        """Raise an error if ``sublinear`` or ``idf`` is neither True nor False."""
        for name, value in (("sublinear", self.sublinear), ("idf", self.idf)):
            if not isinstance(value, (bool, np.bool_, Rarity)):
                raise ValueError(f"{name}={value!r}: give True or False.")

    def weighing(self) -> Weighing | None:
        """What becomes of counts; None if they stay as they are."""
        if self.idf is True:
            raise ValueError(
                f"{type(self).__name__}(idf=True) does not know yet which substrings are rare: "
                "bind it to the training sample."
            )
        rarity = self.idf or None
        return Weighing(bool(self.sublinear), rarity) if self.sublinear or rarity else None

    def prepare(self, X: Any, like: Any = None) -> Prepared:
        """The strings and their k-mers, which are counted when a block first needs them."""
        if isinstance(X, Prepared):
            return X
        windows = self.windows(X)
        if like is not None:  # k-mers with other symbols are in no string of the other side
            windows = windows._replace(base=like.parts[-1].windows.base)
        return Prepared((X, LazyKmers.within_memory(windows, self.weighing())))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        A, B = self.sides(X, Z)
        patterns, counted, others = self.patterns(A.parts[0]), A.parts[1], B.parts[-1]
        K = products(patterns, counted, others, A is B)
        return K.astype(np.result_type(A.dtype, B.dtype), copy=False)

    def diag(self, X: Prepared) -> np.ndarray:
        prepared = self.prepare(X)
        strings, counted = prepared.parts[0], prepared.parts[-1]
        if counted.windows.base < self.windows(strings[:0]).base:
            counted = self.prepare(strings).parts[-1]  # k(x, x) counts new symbols too
        total = np.zeros(len(strings))
        for pattern in self.patterns(strings):
            total += pattern.weight * counted.counts(pattern).squares()
        return total.astype(strings.dtype, copy=False)

    def symbols_read(self, X: Strings) -> np.ndarray:
        """The number of the symbol of X that each symbol of ``windows`` is, (symbols,)."""
        return np.arange(len(X.values))

    def symbol_parts(self, X: Strings, Z: Strings, coef: np.ndarray) -> list[np.ndarray]:
        if self.sublinear or self.idf:
            return super().symbol_parts(X, Z, coef)
        known = self.windows(Z)
        new = self.windows(X)._replace(base=known.base)  # others are in no string of Z
        parts = np.zeros((len(new.values), coef.shape[1]))
        for pattern in self.patterns(X):
            raise_if_stopped()
            (ours, theirs), _ = numbered(pattern, new, known)
            kmers, number = np.unique(ours, return_inverse=True)
            if not len(kmers):
                continue
            at = np.minimum(np.searchsorted(kmers, theirs), len(kmers) - 1)
            shared = kmers[at] == theirs
            at, rows = at[shared], known.rows(pattern)[shared]
            weights = pattern.weight * known.weights_of(pattern)[shared]
            sums = np.stack(
                [np.bincount(at, weights * c, len(kmers)) for c in coef[rows].T], axis=1
            )
            places = pattern.positions or range(pattern.window)
            share = sums[number] * (new.weights_of(pattern) / len(places))[:, None]
            starts = new.places(pattern.window)[new.kept(pattern)]
            for place in places:
                parts[starts + place] += share
        found = np.zeros((len(X.values), coef.shape[1]))
        np.add.at(found, self.symbols_read(X), parts)
        return np.split(found, X.starts[1:-1]) if len(X) else []

    def features(self, X: Strings) -> sp.csr_array:
        """Counts times the square root of the weight, sparse, (n, p).

        There is one column for each k-mer of the vocabulary, in the order of its alphabet. Without
        a vocabulary, a kernel that knows which k-mers are rare has a column for each k-mer that it
        knows. Other k-mers have no column, so products of features leave them out.
        """
        weigh = self.weighing()
        if self.vocabulary is None and weigh is not None and weigh.rarity is not None:
            return self._known_features(X, weigh, weigh.rarity)
        vocabulary = self.known_strings(X)
        windows, known = self.windows(X), self.windows(vocabulary)
        parts = []
        for pattern in self.patterns(vocabulary):
            scale = float(np.sqrt(pattern.weight))
            ours, theirs = count(pattern, windows, known)
            ours = ours if weigh is None else weigh(pattern, ours)
            parts.append(columns(ours, theirs.keys, scale, X.dtype))
        return sp.csr_array(sp.hstack(parts, format="csr"))

    def _known_features(self, X: Strings, weigh: Weighing, rarity: Rarity) -> sp.csr_array:
        """The features of the substrings that were met in training."""
        windows, longest = self.windows(X), int(X.lengths.max(initial=1))
        shares = {len(p.positions): p for p in self.patterns(X)}
        parts = []
        for length, keys in enumerate(rarity.keys, 1):
            if length in shares and length <= longest:
                pattern = shares[length]
                ours = weigh(pattern, *count(pattern, windows))
                parts.append(columns(ours, keys, float(np.sqrt(pattern.weight)), X.dtype))
            else:  # the rows are too short
                parts.append(sp.csr_array((len(X), len(keys)), dtype=X.dtype))
        return sp.csr_array(sp.hstack(parts, format="csr"))

    def known_strings(self, X: Strings) -> Strings:
        """The vocabulary in the codes of X; X itself if no vocabulary was given."""
        return X if self.vocabulary is None else self.encode(self.vocabulary, like=X)


@estimator
class Spectrum(Counting):
    r"""Spectrum kernel

    .. math:: k(s, t) = \sum_u \mathrm{count}_u(s)\,\mathrm{count}_u(t)

    over all strings u of k symbols; or blended, over all u of up to k symbols.

    Parameters
    ----------
    k : int >= 1, default=3
        Length of the substrings that are counted, of the longest ones if there are several lengths.
        They may overlap.
    vocabulary : samples, optional
        The strings whose k-mers are the columns of ``features``. None means the strings that
        ``features`` is called with.
    sublinear : bool, default=False
        Replace each count by 1 + log(count), so that a k-mer that is repeated in a text does not
        count as many times.
    idf : bool, default=False
        Multiply each count by the inverse document frequency
        :math:`\log \frac{1 + n}{1 + n_u} + 1`, where :math:`n_u` of the n training strings have
        u. Rare k-mers then count more, and k-mers that are not in the training sample do not count.
        ``bind`` learns the frequencies.
    shortest : int in [1, k], optional
        Length of the shortest substrings that are counted; None means k. With 1 it is the blended
        spectrum kernel :math:`\sum_{j=1}^{k} \lambda^{2j} k_j(s, t)`, where :math:`k_j` is the
        spectrum kernel of length j. It costs as much as these kernels together.
    decay : float in (0, 1], default=1.0
        λ, the factor for each symbol of a substring. Below 1, long substrings weigh less.

    Notes
    -----
    ``Spectrum(k, sublinear=True, idf=True).normalised()`` is the product of two rows of
    scikit-learn's ``TfidfVectorizer`` on n-grams of k characters, or of k words if strings are
    lists of words.

    A string shorter than k has no k-mer: its k(s, s) is 0, and so are its normalised values.
    k-mers with symbols that are not in the training sample are compared like all others.
    k-mers are sorted, which takes O((n + m) L) operations for strings of length L; then there is
    one operation for each pair of strings that share a k-mer. A block needs about 30 bytes for each
    symbol, or 60 if k-mers do not fit into 64 bits; counts are kept for later blocks, up to 128 MB.

    References
    ----------
    Leslie, Eskin & Noble, "The spectrum kernel: a string kernel for SVM protein classification",
    Pacific Symposium on Biocomputing, 2002.
    Shawe-Taylor & Cristianini, "Kernel Methods for Pattern Analysis", 2004, chapter 11: blended.

    Examples
    --------
    >>> Spectrum(2)(["banana", "ananas"])
    array([[9., 8.],
           [8., 9.]])
    >>> Spectrum(2, shortest=1)(["banana", "ananas"])
    array([[23., 21.],
           [21., 23.]])
    """

    k: int = 3
    vocabulary: Any = None
    sublinear: bool = False
    idf: bool = False
    shortest: int | None = None
    decay: float = 1.0

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        factor, lengths = "", "{k}"
        if self.shortest not in (None, self.k):
            factor, lengths = "λ^(2|u|) ", "{shortest} to {k}"
        return Meaning(
            f"Σᵤ {factor}#ᵤ(x) #ᵤ(z), u of {lengths} symbols",
            f"how many substrings of {lengths} symbols two strings share",
        )

    def validate(self) -> None:
        check_length(self.k, "k", "Spectrum")
        if self.shortest is not None:
            check_length(self.shortest, "shortest", "Spectrum")
            if self.shortest > self.k:
                raise ValueError(f"shortest={self.shortest!r}: is more than k={self.k!r}.")
        if not (isinstance(self.decay, Real) and 0 < self.decay <= 1):
            raise ValueError(f"decay={self.decay!r}: Spectrum needs 0 < decay <= 1.")
        self.check_weighing()

    def patterns(self, X: Strings) -> Iterator[Pattern]:
        shortest = self.k if self.shortest is None else self.shortest
        # no longer ones than the longest string has, but always one
        longest = max(min(self.k, int(X.lengths.max(initial=1))), shortest)
        for j in range(longest, shortest - 1, -1):
            yield Pattern(j, tuple(range(j)), float(self.decay) ** (2 * j))


def check_length(length: int, name: str, reader: str) -> None:
    """Raise an error if a number of symbols is not an integer >= 1."""
    if isinstance(length, bool) or not isinstance(length, Integral) or length < 1:
        raise ValueError(f"{name}={length!r}: {reader} needs an integer >= 1.")
