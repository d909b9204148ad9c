"""Kernels that count k-mers that are equal in most places: mismatch and gapped k-mer kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from mercer.distances import Meaning
from mercer.estimator import estimator
from mercer.kernels.kmer_counts import KmerWindows, Pattern, columns, count, numbered
from mercer.kernels.kmers import Counting, check_length
from mercer.samples import Ragged, Samples, Strings, check_positive, is_whole

NUCLEOTIDES = "ACGT"  # in this order x and 3 - x are complements
SEVERAL = "NRYSWKMBDHV-.*"  # IUPAC's letters for several of them, gaps and ends


@estimator
class GappedKmer(Counting):
    r"""Gapped k-mer kernel: the sum over all pairs of windows of l symbols of a value g that
    depends on the number h of places in which the two windows differ

    .. math:: k(s, t) = \sum_{a \in s} \sum_{b \in t} w_a w_b \, g(h(a, b)) .

    With the default g(h) = :math:`\binom{l - h}{k}`, each feature is a choice of k of the l places,
    with a symbol for each; it counts the windows that have these symbols in these places.

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
    mismatches : int in [0, l], optional
        Windows that differ in more places than these do not count: g(h) = 0. None means l - k.
    filter : {None, "full", "truncated"}, default=None
        With a filter, k(s, t) is the inner product of *estimated* counts of windows, which are less
        noisy than the counts. The estimate is the orthogonal projection of the counts of all words
        of l symbols on the functions of at most k places. A word that differs from a window in h
        places gets :math:`w(h) = b^{-l} \sum_{j \le k} K_j(h)`, with the Krawtchouk polynomials
        K_j of b symbols. "full" has g = w. "truncated" sets w(h) to 0 from the first h on for which
        it is not positive, and g(h) is the sum of the products of both estimates over all words. b
        is 4 for both strands, and else the number of symbols of the training sample.
    weights : {None, "centre"}, default=None
        "centre" weighs windows by the distance D of their place to the middle window of the
        sequence: :math:`w = \min(M, \lfloor M \, 2^{-D / H} + 1 \rfloor)`. It suits peaks of
        ChIP-seq, whose binding site is near the middle. None means w = 1.
    half_life : float > 0, default=50
        H: the distance at which the weight is half.
    peak : int >= 1, default=50
        M: the weight of the middle window.

    Raises
    ------
    ValueError
        If ``both_strands`` is True and a symbol is not a nucleotide; the message names the symbol.

    See Also
    --------
    Layered : ``Layered(RBF(g / 2), base=GappedKmer(...).normalised())`` is gkmrbf, exp(g (k - 1)).

    Notes
    -----
    ``GappedKmer(l, k, both_strands=True, mismatches=d).normalised()`` is equal to LS-GKM's kernel
    with the same ``-l``, ``-k`` and ``-d`` and ``-t 0``; with ``filter="full"`` to ``-t 1``, with
    ``filter="truncated"`` to ``-t 2``, and with ``weights="centre"`` too to ``-t 4``, where ``-M``
    is ``peak`` and ``-H`` is ``half_life``. `Layered` makes ``-t 3`` and ``-t 5`` of them. Without
    the norm, LS-GKM gives half of k(s, t) for both strands, because it reads both strands of only
    one of the two sequences.

    g is written as :math:`\sum_j a_j \binom{l - h}{j}`. Each choice of j places is counted by
    itself (Blakely et al. 2020), like a spectrum kernel: by sorting, and one operation for each
    pair of strings that share a feature. Without filter, and with ``mismatches`` of at least l - k,
    only j = k is needed: C(10, 6) = 210 choices, C(20, 10) = 184,756. Otherwise j is at least
    l - ``mismatches``: 176 choices for l = 10 and 3 mismatches. Of both strands, a choice counts
    for its mirror image too.

    It is positive semidefinite if no g is cut off. If ``mismatches`` cut it off, it is so for both
    strands exactly if :math:`\sum_h g(h) K_h(j) \ge 0` for all j, which ``positive_definite``
    computes: true for l, k and mismatches of 10, 6, 4 and 11, 7, 4 with the truncated filter, not
    for 10, 6, 3 and 11, 7, 3 (LS-GKM's defaults).

    References
    ----------
    Ghandi, Lee, Mohammad-Noori & Beer, "Enhanced regulatory sequence prediction using gapped k-mer
    features", PLoS Computational Biology 10, 2014. Lee, "LS-GKM: a new gkm-SVM for large-scale
    datasets", Bioinformatics 32, 2016. Blakely et al., "FastSK: fast sequence analysis with gapped
    string kernels", Bioinformatics 36, 2020. Delsarte, "An algebraic approach to the association
    schemes of coding theory", 1973: Krawtchouk polynomials.

    Examples
    --------
    >>> GappedKmer(3, 2)(["GATTACA", "GATCACA"])
    array([[15., 10.],
           [10., 17.]])
    >>> lsgkm = GappedKmer(11, 7, both_strands=True, mismatches=3, filter="truncated")
    >>> lsgkm.normalised()(["GGATTACAGGATC", "GGATTTCAGGATC"]).round(3)
    array([[1.   , 0.275],
           [0.275, 1.   ]])
    """

    l: int = 10
    k: int = 6
    both_strands: bool = False
    vocabulary: Any = None
    mismatches: int | None = None
    filter: str | None = None
    weights: str | None = None
    half_life: float = 50
    peak: int = 50

    @property
    def meaning(self) -> Meaning:  # type: ignore[override]
        words = "how many patterns two strings share, of {k} symbols at fixed places among {l}"
        if self.filter is None and self.most_mismatches >= self.l - self.k:
            formula = "Σᵤ #ᵤ(x) #ᵤ(z), u of {k} of {l} symbols"
        else:
            formula = "Σ g(h), h mismatches of two windows of {l} symbols"
            words += f", of windows with up to {self.most_mismatches} mismatches"
        return Meaning(formula, words)

    def validate(self) -> None:
        check_length(self.l, "l", "GappedKmer")
        check_length(self.k, "k", "GappedKmer")
        if self.k > self.l:
            raise ValueError(
                f"k={self.k!r} places cannot be chosen of l={self.l!r}: give 1 <= k <= l."
            )
        if self.mismatches is not None and not (
            is_whole(self.mismatches) and 0 <= self.mismatches <= self.l
        ):
            raise ValueError(
                f"mismatches={self.mismatches!r}: give an integer from 0 to l={self.l}, or None "
                "for l - k."
            )
        for name, value, known in (
            ("filter", self.filter, ("full", "truncated")), ("weights", self.weights, ("centre",)),
        ):  # fmt: skip
            if value is not None and value not in known:
                raise ValueError(f"{name}={value!r}: give {' or '.join(map(repr, known))} or None.")
        check_positive("half_life", self.half_life)
        check_length(self.peak, "peak", "GappedKmer")

    @property
    def most_mismatches(self) -> int:
        """In how many places two windows that count may differ."""
        return self.l - self.k if self.mismatches is None else int(self.mismatches)

    @property
    def positive_definite(self) -> bool | None:  # type: ignore[override]
        if self.most_mismatches >= (self.l if self.filter else self.l - self.k):
            return True
        if not self.both_strands:
            return None  # it depends on the number of symbols
        g, _ = self._values(4)
        K = _krawtchouk(self.l, 4)
        return all(sum(value * x for value, x in zip(g, row)) >= 0 for row in K)

    def window_values(self, symbols: int = 4) -> np.ndarray:
        """g(h) for h = 0 to l mismatches, (l + 1,), of an alphabet of so many symbols."""
        g, divisor = self._values(symbols)
        return np.array([value / divisor for value in g])

    def _values(self, symbols: int) -> tuple[list[int], int]:
        """g(h) as whole numbers, and what they are divided by."""
        l, k = int(self.l), int(self.k)  # NumPy's integers would overflow
        g, divisor = _window_values(l, k, self.filter, int(symbols))
        return [v if h <= self.most_mismatches else 0 for h, v in enumerate(g)], divisor

    def patterns(self, X: Strings) -> Iterator[Pattern]:
        g, divisor = self._values(self.symbols(X))
        for j, weight in enumerate(_place_weights(g)):
            for positions in combinations(range(self.l), j) if weight else ():
                times = self._times(positions)
                if times:
                    yield Pattern(self.l, positions, times * weight / divisor)

    def _times(self, positions: tuple[int, ...]) -> int:
        """How many choices of places count as these do, which is 0 if others count for them.

        If two windows agree in some places, their partners on the other strands agree in the
        mirrored places.
        """
        mirrored = tuple(self.l - 1 - p for p in reversed(positions))
        return 1 if mirrored == positions or not self.both_strands else 2 * (positions < mirrored)

    def symbols(self, X: Strings) -> int:
        """The number of symbols in the alphabet."""
        return 4 if self.both_strands else max(X.known, 1)

    @available_if(lambda kernel: kernel.positive_places)
    def features(self, X: Strings) -> sp.csr_array:
        """Counts of the choices of places times the root of their weight, sparse, (n, p).

        There is one column for each gapped k-mer of the vocabulary, in the order of its alphabet.
        """
        return super().features(X)

    @property
    def positive_places(self) -> bool:
        """Whether g is a sum of binomials with positive weights, so that there are features."""
        return self.filter is None and (
            self.most_mismatches >= self.l - self.k or self.most_mismatches == 0
        )

    def check(self, X: Strings, like: Samples | None = None) -> None:
        if self.both_strands:
            _nucleotides(X)

    def windows(self, X: Strings) -> KmerWindows:
        if not self.both_strands:
            return super().windows(X)._replace(weights=self._weights(X))
        forward = _nucleotides(X)
        values = _strands(X, forward, np.where(forward < 4, 3 - forward, 4))
        both = Strings(values.values, values.starts, [*NUCLEOTIDES, "N"], "text", 4)
        owners = np.repeat(np.arange(len(X), dtype=np.int32), 2)
        windows = KmerWindows.of(both, 4, strict=True)
        return windows._replace(owners=owners, size=len(X), weights=self._weights(X, both=True))

    def symbols_read(self, X: Strings) -> np.ndarray:
        symbols = super().symbols_read(X)
        return _strands(X, symbols, symbols).values if self.both_strands else symbols

    def _weights(self, X: Strings, both: bool = False) -> np.ndarray | None:
        """The weight of the window that begins at each symbol of one strand or ``both``; None if
        all are 1."""
        if self.weights is None:
            return None
        lengths = np.repeat(X.lengths, X.lengths)
        place = np.arange(len(lengths)) - np.repeat(X.starts[:-1], X.lengths)
        windows = np.maximum(lengths - self.l + 1, 0)
        gaps = place - windows // 2
        if both:  # a window of the other strand has the weight of its partner
            gaps = _strands(X, gaps, gaps + windows - lengths).values
        weights = np.floor(self.peak * 2.0 ** (-np.abs(gaps) / self.half_life) + 1)
        return np.minimum(weights, self.peak)


def _strands(X: Strings, forward: np.ndarray, other: np.ndarray) -> Ragged:
    """Values of the symbols of each string, and then those of its other strand, from its end."""
    n, last = len(X), X.starts[-1]
    values = np.concatenate([forward, other[::-1].astype(forward.dtype)])
    starts = np.concatenate([X.starts, 2 * last - X.starts[-2::-1]])  # also in reverse order
    order = np.stack([np.arange(n), 2 * n - 1 - np.arange(n)], axis=1).ravel()
    return Ragged(values, starts)[order]


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


    .. math:: k(s, t) = \sum_{a \in s} \sum_{b \in t} f(h(a, b))

    over k-mers a and b, where h is the number of places in which they differ and f(h) is the number
    of u that differ from both in at most m places.

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

    def windows(self, X: Strings) -> KmerWindows:
        return KmerWindows.of(X, X.known, strict=True)

    def patterns(self, X: Strings) -> Iterator[Pattern]:
        f = [_common_neighbours(self.k, self.m, X.known, h) for h in range(self.k + 1)]
        for j, weight in enumerate(_place_weights(f)):
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

    def _neighbourhoods(self, windows: KmerWindows, numbers: np.ndarray) -> KmerWindows:
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
        return KmerWindows(near.ravel().astype(np.int32), starts, owners, len(kmers), windows.base)


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


def _place_weights(f: list[int]) -> list[int]:
    """The weights c_0 .. c_k with f(h) = Σ_j c_j C(k - h, j) for every h from 0 to k.

    If f(h) = 0 for h > d, c_j = 0 for j < k - d.
    """
    c: list[int] = []
    for agree, value in enumerate(reversed(f)):  # places in which two strings agree
        c.append(value - sum(c[j] * comb(agree, j) for j in range(agree)))
    return c


@cache
def _krawtchouk(l: int, b: int) -> list[list[int]]:
    """K_j(h) as the entry [h][j], 0 to l: the eigenvalues of the relation of words of l of b
    symbols that differ in j places (Delsarte 1973, section 4.2)."""
    return [
        [
            sum((-1) ** s * (b - 1) ** (j - s) * comb(h, s) * comb(l - h, j - s)
                for s in range(min(h, j) + 1))
            for j in range(l + 1)
        ]
        for h in range(l + 1)
    ]  # fmt: skip


@cache
def _window_values(l: int, k: int, filter: str | None, b: int) -> tuple[list[int], int]:
    """g(h) of `GappedKmer` as whole numbers, and what they are divided by."""
    if filter is None:
        return [comb(l - h, k) for h in range(l + 1)], 1
    K = _krawtchouk(l, b)
    w = [sum(row[: k + 1]) for row in K]  # times b^l
    if filter == "full":  # a projection: its square is itself
        return w, b**l
    end = next((h for h, value in enumerate(w) if value <= 0), l + 1)
    spectrum = [sum(w[h] * row[h] for h in range(end)) for row in K]  # the eigenvalues of w
    return [sum(e * e * x for e, x in zip(spectrum, row)) for row in K], b ** (3 * l)
