"""Kernels of strings, by counting the features of every string one by one."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import kernels as k
from mercer.distances import Edit

RNG = np.random.default_rng(0)
STRINGS = ["gattaca", "tagacat", "aaa", "", "acgt", "ct", "gattaca"]
STRINGS += ["".join(RNG.choice(list("abc"), n)) for n in (3, 6, 8)]


def inner(features):
    """The matrix of inner products of sparse features."""
    return np.array([[sum(v * b[u] for u, v in a.items()) for b in features] for a in features])


def occurrences(s, lengths):
    """Each subsequence of s with the positions of each of its occurrences."""
    for p in lengths:
        for places in itertools.combinations(range(len(s)), p):
            yield "".join(s[i] for i in places), places


def weighted(pairs):
    found = Counter()
    for feature, value in pairs:
        found[feature] += value
    return found


def windows(s, length):
    return [s[i : i + length] for i in range(len(s) - length + 1)]


def differing(a, b):
    return sum(x != y for x, y in zip(a, b))


def test_all_subsequences():
    """The feature u: the number of places i_1 < ... < i_|u| with s(i) = u, for all u, also ε."""
    maps = [Counter(u for u, _ in occurrences(s, range(len(s) + 1))) for s in STRINGS]
    assert_allclose(k.AllSubsequences()(STRINGS), inner(maps), rtol=1e-12)


def recurrence(s, t):
    """K(s, ε) = 1; K(sa, t) = K(s, t) + Σ over t_j = a of K(s, t[1..j-1]), in whole numbers."""
    row = [1] * (len(t) + 1)
    for a in s:
        new, total = [1], 0
        for j, b in enumerate(t):
            total += row[j] if a == b else 0
            new.append(row[j + 1] + total)
        row = new
    return row[-1]


def test_the_recurrence_of_all_subsequences():
    wanted = [[recurrence(s, t) for t in STRINGS] for s in STRINGS]
    assert_allclose(k.AllSubsequences()(STRINGS), wanted, rtol=1e-12)


def test_all_subsequences_of_strings_too_long_for_float64():
    """The normalised kernel, and its logarithm, where k itself has 1,000 bits and more."""
    s, t = ("".join(RNG.choice(list("ACGT"), n)) for n in (1000, 950))
    kss, kst, ktt = recurrence(s, s), recurrence(s, t), recurrence(t, t)
    assert kss > 2**1024
    # the root of a quotient of whole numbers, with more digits than float64 has
    root = math.isqrt(kst**2 * 2**4000 // (kss * ktt))
    wanted = float(Fraction(root, 2**2000))
    assert_allclose(k.AllSubsequences().normalised()([s], [t]), [[wanted]], rtol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_subsequences_of_a_fixed_length(p):
    maps = [Counter(u for u, _ in occurrences(s, [p])) for s in STRINGS]
    assert_allclose(k.FixedLengthSubsequences(p)(STRINGS), inner(maps), rtol=1e-12)


@pytest.mark.parametrize("decay", [0.3, 1.0])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_gap_weighted_subsequences(p, decay):
    """Σ λ^(i_p - i_1 + 1) over the occurrences of u."""

    def features(s, lengths):
        return weighted(
            (u, decay ** (places[-1] - places[0] + 1)) for u, places in occurrences(s, lengths)
        )

    maps = [features(s, [p]) for s in STRINGS]
    assert_allclose(k.GapWeighted(p, decay)(STRINGS), inner(maps), rtol=1e-12, atol=1e-14)
    sums = inner([features(s, range(1, p + 1)) for s in STRINGS])
    up_to = sum(inner([features(s, [q]) for s in STRINGS]) for q in range(1, p + 1))
    assert_allclose(sums, up_to, rtol=1e-12)  # strings of different lengths are different features
    assert_allclose(k.GapWeighted(p, decay, up_to=True)(STRINGS), up_to, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_spectrum(length):
    """The feature u: how often u stands in s without gaps."""
    maps = [Counter(windows(s, length)) for s in STRINGS]
    assert_allclose(k.Spectrum(length)(STRINGS), inner(maps))


def test_blended_spectrum():
    maps = [Counter(u for n in (1, 2, 3) for u in windows(s, n)) for s in STRINGS]
    assert_allclose(k.Spectrum(3, shortest=1)(STRINGS), inner(maps))


@pytest.mark.parametrize(("length", "m"), [(2, 1), (3, 1), (3, 2)])
def test_mismatch(length, m):
    """The feature u: windows of s that differ from u at m places at most, u over the alphabet."""
    alphabet = sorted(set("".join(STRINGS)))
    words = list(map("".join, itertools.product(alphabet, repeat=length)))
    maps = [
        Counter({u: sum(differing(u, w) <= m for w in windows(s, length)) for u in words})
        for s in STRINGS
    ]
    assert_allclose(k.Mismatch(length, m)(STRINGS), inner(maps))


@pytest.mark.parametrize(("l", "known"), [(3, 2), (4, 2), (3, 3)])
def test_gapped_kmers(l, known):
    """The feature (places, symbols): windows of length l with these symbols at these places."""
    maps = [
        Counter(
            (places, "".join(w[i] for i in places))
            for w in windows(s, l)
            for places in itertools.combinations(range(l), known)
        )
        for s in STRINGS
    ]
    assert_allclose(k.GappedKmer(l, known)(STRINGS), inner(maps))


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_weighted_degree(degree):
    """Words at the same place, of length q <= d with the weight 2 (d - q + 1) / (d (d + 1))."""
    strings = ["".join(RNG.choice(list("ab"), 9)) for _ in range(5)]

    def value(s, t):
        return sum(
            2 * (degree - q + 1) / (degree * (degree + 1))
            * sum(a == b for a, b in zip(windows(s, q), windows(t, q)))
            for q in range(1, degree + 1)
        )  # fmt: skip

    wanted = [[value(s, t) for t in strings] for s in strings]
    assert_allclose(k.WeightedDegree(degree)(strings), wanted, rtol=1e-12)


def edits(s, t, replace, swap=False):
    """Insertions, deletions, replacements at a price, and swaps of neighbours, by the table."""
    D = np.zeros((len(s) + 1, len(t) + 1))
    D[:, 0], D[0] = np.arange(len(s) + 1), np.arange(len(t) + 1)
    for i, j in itertools.product(range(1, len(s) + 1), range(1, len(t) + 1)):
        D[i, j] = min(
            D[i - 1, j] + 1,
            D[i, j - 1] + 1,
            D[i - 1, j - 1] + (0 if s[i - 1] == t[j - 1] else replace),
        )
        if swap and min(i, j) > 1 and s[i - 2 : i] == t[j - 2 : j][::-1]:
            D[i, j] = min(D[i, j], D[i - 2, j - 2] + 1)
    return D[-1, -1]


@pytest.mark.parametrize(
    ("variant", "rule"), [("levenshtein", (1,)), ("indel", (2,)), ("osa", (1, True))]
)
def test_edit_distance_and_its_exponential(variant, rule):
    wanted = np.array([[edits(s, t, *rule) for t in STRINGS] for s in STRINGS])
    assert_allclose(Edit(variant)(STRINGS), wanted)
    assert_allclose(k.EditRBF(0.2, variant)(STRINGS), np.exp(-0.2 * wanted), rtol=1e-12)


def test_normalised_string_kernels():
    for kernel in (k.AllSubsequences(), k.FixedLengthSubsequences(2), k.Spectrum(2)):
        K = kernel(STRINGS)
        root = np.sqrt(np.outer(K.diagonal(), K.diagonal()))
        wanted = np.divide(K, root, out=np.zeros_like(K), where=root > 0)
        found = kernel.normalised()(STRINGS)
        known = root > 0
        assert_allclose(found[known], wanted[known], rtol=1e-12)
