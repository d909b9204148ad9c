"""Kernels on subsequences: exact values at every size, scaling, limits, and values of peers."""

import math
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from mercer import _native
from mercer.gram import Place, TiledGram, gram
from mercer.kernels import (
    RBF,
    AllSubsequences,
    FixedLengthSubsequences,
    GapWeighted,
    Linear,
    TableKernel,
    subsequences,
)
from mercer.threads import Stop, ordered_map

DNA = ["ATCGAT", "ATGGCA", "GATTACA"]
WORDS = st.text("ab", max_size=40)


@pytest.fixture(params=_native.available_isas())
def isa(request):
    before = _native.isa()
    assert _native.use_isa(request.param)
    yield request.param
    _native.use_isa(before)


def some(rng, length, letters):
    return rng.integers(0, letters, length).tolist()


def relative_error(kernel, s, t, exact):
    """Of the scaled value beside an exact number of any size."""
    X = kernel.encode([s, t])
    (m,), (e,) = (part.ravel() for part in kernel.scaled_block(X[:1], X[1:]))
    assert 0.5 <= m < 1
    found = Fraction(float(m)) * Fraction(2) ** int(e)
    return float(abs(found - exact) / exact)


# --- all subsequences ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "m", "letters"),
    [(0, 0, 1), (0, 7, 2), (1, 1, 1), (5, 7, 2), (31, 33, 1), (32, 32, 2), (33, 31, 3), (64, 65, 1),
     (100, 100, 4), (128, 300, 4), (300, 600, 2), (600, 500, 400), (1000, 1000, 4), (1000, 1000, 1),
     (200, 3000, 1), (600, 600, 1), (1, 9000, 1), (9000, 3, 2)],
)  # fmt: skip
def test_values_of_any_size_beside_exact_numbers(isa, n, m, letters):
    rng = np.random.default_rng(n + m)
    s, t = some(rng, n, letters), some(rng, m, letters)
    exact = oracles.count_subsequences(s, t)
    assert relative_error(AllSubsequences(), s, t, exact) < 2e-15


@pytest.mark.parametrize("decay", [0.5, 0.1, 1e-3, 1e-200])
def test_decayed_values_of_any_size_beside_floats(isa, decay):
    rng = np.random.default_rng(0)
    s, t = some(rng, 150, 3), some(rng, 170, 3)
    exact = Fraction(oracles.count_subsequences(s, t, decay**2))
    assert relative_error(AllSubsequences(decay), s, t, exact) < 1e-13
    longer = [a for a in s for _ in range(4)], [a for a in t for _ in range(4)]
    exact = Fraction(oracles.count_subsequences(*longer, decay**2))
    assert relative_error(AllSubsequences(decay), *longer, exact) < 1e-13


def oracle_of_length(s, t, p):
    """Common subsequences of p symbols: K_p(i, j) by layers, with exact numbers."""
    below = [[1] * (len(t) + 1) for _ in range(len(s) + 1)]
    for _ in range(p):
        layer = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
        for i, a in enumerate(s):
            matched = 0
            for j, b in enumerate(t):
                matched += below[i][j] if a == b else 0
                layer[i + 1][j + 1] = layer[i][j + 1] + matched
        below = layer
    return below[-1][-1]


@pytest.mark.parametrize(("a", "b"), [(3, 50), (40, 3000), (1000, 1200), (31, 8000)])
def test_strings_that_break_one_exponent_for_a_row(isa, a, b):
    """The small values of a row carry the result, or the large ones are no part of it."""
    kernel = AllSubsequences()

    def blocks(*lengths):
        return [k % 2 for k, length in enumerate(lengths) for _ in range(length)]

    C = math.comb
    both = C(2 * a, a)
    for s, t, exact in [
        (blocks(a), blocks(a, a, b), C(2 * a + b, a)),
        (blocks(a, b), blocks(a, b), both * C(2 * b, b)),
        (blocks(a, b), blocks(0, b, a), both + C(2 * b, b) - 1),  # only a^i or b^j are common
        (blocks(b), blocks(0, a, b), C(2 * b, b)),
        (blocks(b), blocks(0, b), 1),
        (blocks(b, a), blocks(0, a), both),
    ]:
        for left, right in ((s, t), (t, s), (s[::-1], t[::-1])):
            assert relative_error(kernel, left, right, exact) < 1e-14


@pytest.mark.full
def test_a_hundred_thousand_symbols():
    """One letter: binomial coefficients. Random letters: a value recorded from a program of its own
    that keeps a long double and an exponent for every cell."""
    n = 100_000
    assert relative_error(AllSubsequences(), [0] * n, [0] * n, math.comb(2 * n, n)) < 1e-12
    assert relative_error(AllSubsequences(), [0], [0] * n, n + 1) < 1e-15
    state, letters = 12345, []
    for _ in range(2 * n):
        state = (state * 1664525 + 1013904223) % 2**32
        letters.append(state >> 24 & 3)
    exact = Fraction(RECORDED[0]) * Fraction(2) ** RECORDED[1]
    assert relative_error(AllSubsequences(), letters[:n], letters[n:], exact) < 1e-12


RECORDED = "0.87612797114058048092", 116751


def test_ten_thousand_symbols_beside_long_doubles():
    if np.finfo(np.longdouble).maxexp < 16000:
        pytest.skip("long doubles have no wider range here")
    rng = np.random.default_rng(0)
    s, t = rng.integers(0, 4, 10_000), rng.integers(0, 4, 9_000)
    K = np.ones(len(t) + 1, np.longdouble)
    matches = [t == a for a in range(4)]
    for a in s:
        K[1:] += np.cumsum(np.where(matches[a], K[:-1], 0))
    mantissa, exponent = np.frexp(K[-1])
    X = AllSubsequences().encode([s, t])
    m, e = AllSubsequences().scaled_block(X[:1], X[1:])
    assert e[0, 0] == exponent
    assert abs(m[0, 0] / mantissa - 1) < 1e-13


@given(WORDS, WORDS)
def test_any_two_words(s, t):
    kernel = AllSubsequences()
    exact = oracles.count_subsequences(s, t)
    assert kernel([s], [t])[0, 0] == pytest.approx(exact, rel=1e-14)
    assert_array_equal(kernel([s], [t]), kernel([t], [s]))
    assert_allclose(kernel([s[::-1]], [t[::-1]]), exact, rtol=1e-14)
    counted = [FixedLengthSubsequences(p)([s], [t])[0, 0] for p in range(1, len(s) + 1)]
    assert 1 + sum(counted) == pytest.approx(exact, rel=1e-12)
    assert FixedLengthSubsequences(len(s) + 1)([s], [t])[0, 0] == 0


@given(st.lists(st.text("abc", max_size=12), min_size=1, max_size=5), st.floats(0.05, 1))
def test_gram_matrices_of_any_words(X, decay):
    for kernel in (AllSubsequences(decay), GapWeighted(2, decay), GapWeighted(3, decay, True)):
        K = kernel.normalised()(X)
        assert (K >= 0).all()
        assert (K <= 1 + 1e-12).all()
        assert np.linalg.eigvalsh(K)[0] > -1e-12
        expected = oracles.block(oracles.kernel, kernel, X, X, X)
        assert_allclose(kernel(X), expected, rtol=1e-12)


def test_log_is_the_logarithm_and_needs_scaled_values():
    kernel = AllSubsequences(0.7)
    assert_allclose(np.exp(kernel.log(DNA)), kernel(DNA), rtol=1e-13)
    assert_allclose(np.exp(kernel.log(DNA[:1], DNA)), kernel(DNA[:1], DNA), rtol=1e-13)
    long = ["ACGT" * 1000]
    assert AllSubsequences().log(long)[0, 0] > 3000
    assert AllSubsequences()(long)[0, 0] == np.inf
    assert GapWeighted(3).log(["a"], ["b"])[0, 0] == -np.inf
    assert not hasattr(Linear(), "log")


def test_normalised_values_of_long_strings():
    """k(s, t) = binomial(a + b, a) of one letter."""
    a, b = 3000, 5000
    exact = math.comb(a + b, a) / math.isqrt(math.comb(2 * a, a) * math.comb(2 * b, b) << 200)
    kernel, X = AllSubsequences().normalised(), ["x" * a, "x" * b]
    with pytest.warns(UserWarning, match="numerically the identity"):
        K = kernel(X)
    assert_allclose(K, [[1, exact * 2.0**100], [exact * 2.0**100, 1]], rtol=1e-12)
    assert_allclose(kernel.log(X[:1], X[1:]), np.log(K[:1, 1:]))


# --- subsequences of p symbols ------------------------------------------------------------------


def test_values_of_peers():
    """strkernels 0.2.15, SubsequenceStringKernel(maxlen=3, ssk_lambda=.5): the sum over lengths.
    Length 3 alone: Lodhi's kernel, by enumeration."""
    summed = GapWeighted(3, 0.5, up_to=True).normalised()(DNA)
    assert_allclose(
        summed,
        [[1, 0.8125841, 0.91161824], [0.8125841, 1, 0.77943407], [0.91161824, 0.77943407, 1]],
        rtol=1e-7,
    )
    assert_allclose(GapWeighted(3, 0.5).normalised()(DNA[:2])[0, 1], 0.20847901, rtol=1e-7)
    # Lodhi et al. 2002, section 3: K_2(car, cat) = λ^4, K_2(cat, cat) = 2 λ^4 + λ^6
    assert_allclose(GapWeighted(2, 0.5)(["cat"], ["car", "cat"]), [[2**-4, 2**-3 + 2**-6]])


@pytest.mark.parametrize("p", [1, 2, 5, 40])
@pytest.mark.parametrize(("n", "m"), [(33, 31), (64, 200), (7, 90)])
def test_lengths_beside_exact_numbers(isa, n, m, p):
    rng = np.random.default_rng(n)
    s, t = some(rng, n, 3), some(rng, m, 3)
    exact = float(oracle_of_length(s, t, p))
    assert_allclose(FixedLengthSubsequences(p)([s], [t]), exact, rtol=1e-13)


def test_gaps_longer_than_a_chunk_of_columns(isa):
    """One pair of symbols, far apart: its span is known."""
    for gap in (0, 1, 30, 31, 32, 63, 64, 65, 200):
        s, t = [0] + [1] * gap + [2], [0] + [3] * 40 + [2]
        expected = 0.9 ** (gap + 2 + 42)
        assert_allclose(GapWeighted(2, 0.9)([s], [t]), expected, rtol=1e-12)
        assert_allclose(GapWeighted(2, 0.9)([t], [s]), expected, rtol=1e-12)
        both = 0.9**2 * 2 + expected
        assert_allclose(GapWeighted(2, 0.9, up_to=True)([s], [t]), both, rtol=1e-12)


@pytest.mark.full
def test_factors_below_the_range_of_floats():
    """λ^2p vanishes, the normalised value does not."""
    s, t = "ab" * 400, "ab" * 390 + "c"
    kernel = GapWeighted(700, 0.4)
    assert kernel([s])[0, 0] == 0
    K = kernel.normalised()([s, t])
    assert_array_equal(K.diagonal(), 1)
    assert 0 < K[0, 1] < 1
    assert_array_equal(kernel.normalised().diag(kernel.encode([s, "a"])), [1, 0])


def test_values_beyond_floats_are_an_error_that_says_so():
    with pytest.raises(OverflowError, match=r"p=400\) of strings of 2,000 and 2,000 symbols"):
        FixedLengthSubsequences(400)(["a" * 2000])
    with pytest.raises(OverflowError, match="smaller decay"):
        GapWeighted(400, 1.0)(["a" * 2000])


def test_strings_that_have_no_subsequence():
    X = ["", "a", "ab"]
    assert_array_equal(AllSubsequences()(X), [[1, 1, 1], [1, 2, 2], [1, 2, 4]])
    assert_array_equal(GapWeighted(3)(X), 0)
    assert_array_equal(GapWeighted(3).normalised()(X), 0)
    assert_array_equal(FixedLengthSubsequences(2).normalised()(X), np.diag([0, 0, 1]))
    assert_array_equal(AllSubsequences()([""]), [[1]])
    assert_array_equal(GapWeighted(10**9)(X), 0)


@pytest.mark.parametrize("decay", [0, -0.5, 1.5, np.nan, np.inf, "x", None])
def test_decays_out_of_range(decay):
    for kernel in (AllSubsequences(decay), GapWeighted(2, decay)):
        with pytest.raises(ValueError, match=r"decay=.*needs a number in \(0, 1\]"):
            kernel(DNA)


@pytest.mark.parametrize("p", [0, -1, 1.5, np.nan, np.inf, "x", None])
def test_lengths_out_of_range(p):
    for kernel in (FixedLengthSubsequences(p), GapWeighted(p)):
        with pytest.raises(ValueError, match=r"p=.*needs an integer >= 1"):
            kernel(DNA)


# --- work -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [AllSubsequences(), GapWeighted(3, up_to=True)], ids=str)
def test_work_that_stops_at_every_strip_goes_on(monkeypatch, kernel):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), n)) for n in (70, 3, 0, 600, 33)]
    expected = kernel.log(X)
    monkeypatch.setattr(subsequences, "BUDGET", 1.0)
    assert_array_equal(kernel.log(X), expected)


def test_bytes_of_every_value_and_mixed_widths():
    every = bytes(range(256))
    assert AllSubsequences().log([every])[0, 0] == pytest.approx(256 * math.log(2), rel=1e-14)
    few = AllSubsequences().encode([b"\xfe\xff\x00"])
    many = AllSubsequences().encode([every, b"\xfe\xff"], like=few)
    assert_allclose(AllSubsequences().log([b"\xfe\xff"], [every])[0, 0], math.log(4))
    assert_allclose(AllSubsequences().block(few, many)[0, 1], 4)


def test_new_symbols_widen_codes():
    tokens = [[str(k) for k in range(200)]]
    new = [[str(k) for k in range(150, 400)]]
    X = GapWeighted(1).encode(tokens)
    Z = GapWeighted(1).encode(new, like=X)
    assert (X.values.dtype, Z.values.dtype) == (np.uint8, np.int32)
    assert_allclose(GapWeighted(1, 1.0).block(X, Z), 50)
    assert_allclose(GapWeighted(1, 1.0).block(Z, X), 50)


def test_float32_samples_give_float32_values():
    for kernel in (AllSubsequences(), GapWeighted(2), FixedLengthSubsequences(2)):
        X = kernel.encode(DNA)
        short = X.astype(np.float32)
        assert kernel.block(short, short).dtype == kernel.diag(short).dtype == np.float32
        assert_allclose(kernel.block(short, short), kernel.block(X, X), rtol=1e-6)
    assert (
        AllSubsequences().block(*[AllSubsequences().encode(["a" * 90]).astype("f4")] * 2) == np.inf
    )


def test_a_huge_string_among_short_ones():
    X = ["ab" * 5_000_000, "ab", "a"]
    kernel = AllSubsequences()
    S = kernel.encode(X)
    K = kernel.block(S, S[1:])
    assert_allclose(K[1:], [[4, 2], [2, 2]])
    n = 5_000_000
    assert_allclose(K[0], [1 + 2 * n + n * (n + 1) // 2, 1 + n], rtol=1e-13)
    for refused in (lambda: kernel.block(S, S), lambda: kernel.diag(S), lambda: kernel.log(X)):
        with pytest.raises(ValueError, match=r"10,000,000 and 10,000,000 symbols.*hours.*Spectrum"):
            refused()


def test_a_gram_matrix_that_is_the_identity_is_named():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 600)) for _ in range(20)]
    X[1] = X[0]
    kernel = AllSubsequences().normalised()
    with pytest.warns(UserWarning, match=r"of 8 rows no two.*identity.*decay < 1.*Spectrum"):
        kernel.bind(kernel.encode(X))
    for quiet in (AllSubsequences(0.05).normalised(), GapWeighted(3).normalised()):
        quiet.bind(quiet.encode(X))
    words = ["one", "two", "six", "ten"]  # which share nothing of three letters
    GapWeighted(3).normalised().bind(GapWeighted(3).encode(words))


def test_costly_pairs_come_in_small_tiles():
    kernel = AllSubsequences().normalised()
    X = kernel.encode(["ACGT" * 500] * 100)
    assert kernel.pair_cost(X) > 2000**2
    assert TiledGram(kernel, X).edge() < 20
    assert TiledGram(RBF(), np.zeros((5000, 2), np.float32)).edge() == 512
    assert TiledGram(kernel, kernel.encode(["ACGT"] * 5000)).edge() >= 384
    frame = {"a": ["ACGT" * 500] * 3, "b": [1.0, 2.0, 3.0]}
    import pandas as pd

    table = TableKernel([(AllSubsequences(), ["a"]), (RBF(), ["b"])])
    assert table.pair_cost(table.encode(pd.DataFrame(frame))) == AllSubsequences().pair_cost(X)


def test_gram_matrices_by_tiles():
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(100, 900, 60)]
    kernel = AllSubsequences(0.3)
    expected = kernel(X).astype(float)
    for jobs in (1, 2):
        K = gram(kernel, kernel.encode(X), place=Place(n_jobs=jobs))
        assert_array_equal(K.dense(), expected)
        tiled = TiledGram(kernel, kernel.encode(X), place=Place(n_jobs=jobs))
        assert_array_equal(tiled.rows(np.array([3, 0])), expected[[3, 0]])
        assert_allclose(tiled @ np.eye(60), expected, rtol=1e-12)


def test_abandoned_tasks_stop_soon():
    """A pair that would take many seconds ends when the map that it belongs to does."""
    X = AllSubsequences().encode(["ab" * 500_000])
    running, ended = threading.Event(), []

    def task(k):
        if k == 0:
            running.wait(30)
            raise KeyboardInterrupt
        running.set()
        try:
            AllSubsequences().diag(X)
        except KeyboardInterrupt:
            ended.append(True)
            raise

    with pytest.raises(KeyboardInterrupt):
        list(ordered_map(task, range(2), 2))
    assert ended == [True]  # the pair was left, and not computed to its end


def test_tasks_hear_the_map_above_theirs():
    outer = Stop()
    with outer:
        inner = Stop()
    assert not inner.is_set()
    outer.set()
    assert inner.is_set()
    assert not Stop().is_set()


@pytest.mark.parametrize("up_to", [False, True])
@pytest.mark.parametrize("p", [10**30, 10**300])
def test_a_length_beyond_all_strings_and_exponents(p, up_to):
    K = GapWeighted(p, 0.1, up_to)(DNA)
    assert_array_equal(K, GapWeighted(8, 0.1, up_to)(DNA))
    assert up_to or not K.any()
