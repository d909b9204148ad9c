"""Kernels that count k-mers that are equal in most places: mismatch and gapped k-mer kernels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.distances import Meaning
from mercer.kernels.kmer_counts import Counted, Pattern, Windows, columns, count, numbered
from mercer.kernels.kmers import Counting, check_length
from mercer.samples import Prepared, Samples, Strings

NUCLEOTIDES = "ACGT"  # in this order x and 3 - x are complements
SEVERAL = "NRYSWKMBDHV-.*"  # IUPAC's letters for several of them, gaps and ends


class GappedKmer(Counting):
    r"""Gapped k-mer kernel: number of pairs of windows of l symbols that agree in k chosen places,
    :math:`k(s, t) = \sum_{a \in s} \sum_{b \in t} \binom{l - h(a, b)}{k}`, where h is the number of
    places in which two windows differ.

    Each feature is a choice of k of the l places, with a symbol for each; it counts the windows
    that have these symbols in these places.

    Parameters
    ----------
    l : int >= 1, default=10
        Length of the windows.
    k : int in [1, l], default=6
        Number of places that are compared.
    both_strands : bool, default=False
        Whether DNA or RNA is read along both strands: each sequence is counted together with its
        reverse complement. Case is ignored, and U is T. A window with another letter of IUPAC for
        nucleotides, such as N, or with a gap is left out; other symbols are refused. (LS-GKM reads
        N as A.)
    vocabulary : samples, optional
        The strings whose gapped k-mers are the columns of ``features``. None means the strings
        that ``features`` is called with.

    Raises
    ------
    ValueError
        If ``both_strands`` is True and a symbol is not a nucleotide; the message names the symbol.

    Notes
    -----
    ``GappedKmer(...).normalised()`` is equal to the kernel of gkm-SVM, and to that of LS-GKM with
    ``-t 0`` and ``-d`` at least l - k. Without the norm, LS-GKM gives half of k(s, t) for both
    strands, because it reads both strands of only one of the two sequences.
    The C(l, k) choices of places are counted one after the other (Blakely et al. 2020), each like a
    spectrum kernel: by sorting, and one operation for each pair of strings that share a feature.
    For long windows with k near l / 2 there are many choices: C(10, 6) = 210, C(20, 10) = 184,756.

    References
    ----------
    Ghandi, Lee, Mohammad-Noori & Beer, "Enhanced regulatory sequence prediction using gapped k-mer
    features", PLoS Computational Biology 10, 2014. Blakely et al., "FastSK: fast sequence analysis
    with gapped string kernels", Bioinformatics 36, 2020.

    Examples
    --------
    >>> GappedKmer(3, 2)(["GATTACA", "GATCACA"])
    array([[15., 10.],
           [10., 17.]])
    """

    meaning = Meaning(
        "Σᵤ #ᵤ(x) #ᵤ(z), u of {k} of {l} symbols",
        "how many patterns two strings share, of {k} symbols at fixed places among {l}",
    )

    def __init__(self, l: int = 10, k: int = 6, both_strands: bool = False, vocabulary: Any = None):
        self.l = l
        self.k = k
        self.both_strands = both_strands
        self.vocabulary = vocabulary

    def validate(self) -> None:
        check_length(self.l, "l", "GappedKmer")
        check_length(self.k, "k", "GappedKmer")
        if self.k > self.l:
            raise ValueError(
                f"k={self.k!r} places cannot be chosen of l={self.l!r}: give 1 <= k <= l."
            )

    def patterns(self, X: Strings) -> Iterator[Pattern]:
        for positions in combinations(range(self.l), self.k):
            yield Pattern(self.l, positions)

    def check(self, X: Strings, like: Samples | None = None) -> None:
        if self.both_strands:
            _nucleotides(X)

    def windows(self, X: Strings) -> Windows:
        if not self.both_strands:
            return super().windows(X)
        forward = _nucleotides(X)
        # backwards, the strings are also in reverse order
        values = np.where(forward < 4, 3 - forward, 4)[::-1].astype(np.uint8)
        starts = X.starts[-1] - X.starts[::-1]
        n = len(X)
        both = Strings(
            np.concatenate([forward, values]),
            np.concatenate([X.starts, X.starts[-1] + starts[1:]]),
            [*NUCLEOTIDES, "N"], "text", 4,
        )[np.stack([np.arange(n), 2 * n - 1 - np.arange(n)], axis=1).ravel()]  # fmt: skip
        owners = np.repeat(np.arange(n, dtype=np.int32), 2)
        return Windows.of(both, 4, strict=True)._replace(owners=owners, size=n)

    def prepare(self, X: Strings, like: Samples | None = None) -> Prepared:
        prepared = super().prepare(X, like)
        if not self.both_strands or isinstance(X, Prepared):
            return prepared
        # If two windows agree in some places, their partners on the other strands agree in the
        # mirrored places. The sum over all choices has both, so one strand of X is enough.
        _, both = prepared.parts
        one = Windows.of(X, 4, strict=True)._replace(values=_nucleotides(X))
        return Prepared((X, Counted.within_memory(one), both))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        K = super().block(X, Z)
        return np.multiply(K, 2, out=K) if self.both_strands else K


def _nucleotides(X: Strings) -> np.ndarray:
    """The symbols as numbers 0 to 3, of which complements have the sum 3; 4 is none of them."""
    symbols = [chr(s) if X.form == "bytes" else s for s in X.alphabet]
    code_of = {letter: code for code, letter in enumerate(NUCLEOTIDES)}
    code_of |= {"U": code_of["T"]} | dict.fromkeys(SEVERAL, 4)
    code_of |= {letter.lower(): code for letter, code in code_of.items()}
    codes = np.array([code_of.get(s, 5) for s in symbols], np.uint8)[X.values]
    wrong = np.flatnonzero(codes == 5)
    if len(wrong):
        row = int(np.searchsorted(X.starts, wrong[0], "right")) - 1
        raise ValueError(
            f"X[{row}] holds {symbols[X.values[wrong[0]]]!r}, but GappedKmer(both_strands=True) "
            "reads only DNA or RNA: A, C, G, T, U, and letters such as N for several of them. "
            "Remove or replace other symbols, or give both_strands=False."
        )
    return codes


class Mismatch(Counting):
    r"""Mismatch kernel: feature u, of k symbols, counts the k-mers that differ from u in at most m
    places.

    :math:`k(s, t) = \sum_{a \in s} \sum_{b \in t} f(h(a, b))` over k-mers a and b, where h is the
    number of places in which they differ and f(h) is the number of u that differ from both in at
    most m places.

    Parameters
    ----------
    k : int >= 1, default=4
        Length of the k-mers.
    m : int in [0, k), default=1
        Number of places in which a k-mer may differ. With ``m=0`` this is the `Spectrum` kernel on
        known symbols.
    vocabulary : samples, optional
        The strings whose k-mers, and those within m of them, are the columns of ``features``.
        None means the strings that ``features`` is called with.

    Notes
    -----
    The symbols of u are those of the training sample: its alphabet, of a symbols, is part of the
    kernel. A k-mer with a symbol that is not in the training sample is left out.
    f(h) depends only on h, k, m and a. It is written as a sum of binomials C(k - h, j), the number
    of choices of j places in which two k-mers agree. So the kernel is a weighted sum of gapped
    k-mer kernels with j from k - 2m to k places, and is computed in the same way. Some weights are
    negative; the terms are whole numbers, exact up to 2^53.
    ``features`` has Σ_i C(k, i) (a - 1)^i entries, i from 0 to m, for each different k-mer.

    References
    ----------
    Leslie, Eskin, Cohen, Weston & Noble, "Mismatch string kernels for discriminative protein
    classification", Bioinformatics 20, 2004.

    Examples
    --------
    >>> Mismatch(2, 1)(["abba", "baab"])
    array([[21., 20.],
           [20., 21.]])
    """

    meaning = Meaning(
        "Σᵤ #ᵤ(x) #ᵤ(z), u of {k} symbols, up to {m} wrong",
        "how many substrings of {k} symbols two strings share if up to {m} symbols may differ",
    )

    def __init__(self, k: int = 4, m: int = 1, vocabulary: Any = None):
        self.k = k
        self.m = m
        self.vocabulary = vocabulary

    def validate(self) -> None:
        check_length(self.k, "k", "Mismatch")
        if not (isinstance(self.m, (int, np.integer)) and 0 <= self.m < self.k):
            raise ValueError(f"m={self.m!r}: Mismatch needs an integer, 0 <= m < k={self.k}.")

    def windows(self, X: Strings) -> Windows:
        return Windows.of(X, X.known, strict=True)

    def patterns(self, X: Strings) -> Iterator[Pattern]:
        for j, weight in enumerate(_place_weights(self.k, self.m, X.known)):
            for positions in combinations(range(self.k), j) if weight else ():
                yield Pattern(self.k, positions, weight)

    def features(self, X: Strings) -> sp.csr_array:
        """Counts of the k-mers within m of each u, sparse, (n, p).

        There is one column for each u within m of a k-mer of the vocabulary, in the order of its
        alphabet.
        """
        windows, known = self.windows(X), self.windows(self.known_strings(X))
        whole = Pattern(self.k, tuple(range(self.k)))
        numbers, known_numbers = numbered(whole, windows, known)[0]
        kmers, number = np.unique(numbers, return_inverse=True)
        counts = sp.csr_array(
            (np.ones(len(number)), (windows.rows(whole), number)), (windows.size, len(kmers))
        )
        near = self._neighbourhoods(windows, numbers)
        near_known = self._neighbourhoods(known, known_numbers)
        ours, theirs = count(whole, near, near_known)
        return sp.csr_array(counts @ columns(ours, theirs.keys, 1.0, np.float64), dtype=X.dtype)

    def _neighbourhoods(self, windows: Windows, numbers: np.ndarray) -> Windows:
        """All u within m of each different k-mer; they belong to the row of that k-mer."""
        _, first = np.unique(numbers, return_index=True)
        whole = Pattern(self.k, tuple(range(self.k)))
        places = windows.places(self.k)[windows.kept(whole)][first]
        kmers = windows.values[places[:, None] + np.arange(self.k)].astype(np.int32)
        steps = []  # what is added, modulo the number of symbols, to get from a k-mer to each u
        for i in range(self.m + 1):
            for positions in combinations(range(self.k), i):
                for changes in product(range(1, windows.base), repeat=i):
                    step = np.zeros(self.k, np.int32)
                    step[list(positions)] = changes
                    steps.append(step)
        near = (kmers[:, None] + np.array(steps)) % max(windows.base, 1)
        owners = np.repeat(np.arange(len(kmers), dtype=np.int32), len(steps))
        starts = np.arange(len(owners) + 1) * self.k
        return Windows(near.ravel().astype(np.int32), starts, owners, len(kmers), windows.base)


def _common_neighbours(k: int, m: int, a: int, h: int) -> int:
    """f(h): how many strings of length k differ in at most m places from both of two strings.

    There are a symbols, and the two strings differ in h places. In i of these places the string is
    equal to the first, in j to the second, and in the rest to neither of them; in r of the places
    where the two agree, it differs from both.
    """
    total = 0
    for i in range(h + 1):
        for j in range(h - i + 1):
            rest = h - i - j
            ways = factorial(h) // (factorial(i) * factorial(j) * factorial(rest)) * (a - 2) ** rest
            free = m - h + min(i, j)
            total += ways * sum(comb(k - h, r) * (a - 1) ** r for r in range(min(free, k - h) + 1))
    return total


def _place_weights(k: int, m: int, a: int) -> list[int]:
    """The weights c_0 .. c_k with f(h) = Σ_j c_j C(k - h, j) for every h.

    f(h) = 0 for h > 2m, so c_j = 0 for j < k - 2m.
    """
    c = [0] * (k + 1)
    for agree in range(k + 1):  # places in which two strings agree
        below = sum(c[j] * comb(agree, j) for j in range(agree))
        c[agree] = _common_neighbours(k, m, a, k - agree) - below
    return c
