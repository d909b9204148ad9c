"""Distances between strings: the textbook recursion, hostile strings, cutoffs and keys."""

import numpy as np
import pytest
import rapidfuzz
import rapidfuzz.process
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from cases import VARIANTS
from lanes import examples
from mercer import _native
from mercer.distances import Edit, JaroWinkler, WeightedEdit, strings as string_pairs

ANY = st.text(st.sampled_from("ab\0é\ud800😀"), max_size=12)
LONG = st.builds("".join, st.lists(st.sampled_from(["a" * 20, "b", "ab"]), max_size=8))  # about 64
STRINGS = st.lists(ANY, min_size=1, max_size=4)
TOKENS = st.lists(st.lists(st.sampled_from(["to", "be", 1, ("a", 2)]), max_size=8), min_size=1)
DISTANCES = [
    *[Edit(variant, normalised) for variant in VARIANTS for normalised in (False, True)],
    JaroWinkler(),
    JaroWinkler(0.25),
    WeightedEdit(0.5, 0.75),
    WeightedEdit(1.5, 1.0, {"ab": 0.25, "é😀": 4.0}),
    WeightedEdit(1.0, 0.3, {"ab": 3.0}, normalised=True),
]


@pytest.mark.filterwarnings("ignore:X is .* lists of one")
@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@examples(40)
@given(old=STRINGS | TOKENS, new=STRINGS)
def test_values_are_those_of_the_recursion(distance, old, new):
    X = distance.encode(old)
    Z = distance.encode(new, like=X) if isinstance(old[0], str) else X
    new = new if Z is not X else old
    expected = oracles.block(oracles.distance, distance, old, new, old)
    assert_allclose(distance.block(X, Z), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.spread(6)
@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@examples(10)
@given(texts=st.lists(LONG, min_size=1, max_size=3))
def test_strings_about_the_width_of_a_word(distance, texts):
    expected = oracles.block(oracles.distance, distance, texts, texts, texts)
    assert_allclose(distance(texts), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@examples(30)
@given(texts=STRINGS, limit=st.sampled_from([0, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 10, 2**31, np.inf]))
def test_within_a_limit(distance, texts, limit):
    """Exact up to the limit; above it, anything that is too."""
    X = distance.encode(texts)
    for Y in (X, X.astype(np.float32)):
        D = distance.block(Y, Y)
        for limits in (limit, *D.ravel()[:3].tolist()):
            near = distance.within(Y, Y, limits)
            assert_array_equal(near <= limits, limits >= D)
            assert_array_equal(near[limits >= D], D[limits >= D])


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@given(STRINGS)
def test_keys_differ_by_no_more_than_the_distance(distance, texts):
    X = distance.encode(texts)
    keys = distance.key(X)
    if keys is None:
        assert not isinstance(distance, Edit) or distance.normalised
    else:
        assert (np.abs(keys[:, None] - keys) <= distance.block(X, X)).all()


@pytest.mark.parametrize("variant", ["levenshtein", "osa", "indel", "lcs"])
@examples(15)
@given(data=st.data())
def test_long_strings_of_any_characters(variant, data):
    """The native loop and RapidFuzz, on lengths about the multiples of 64 and many alphabets."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    symbols = data.draw(st.sampled_from([2, 8, 9, 17, 32, 33, 64, 65, 128, 129, 257, 2000]))
    alphabet = [chr(c) for c in rng.permutation(0x3000)[:symbols] + 0xC0]
    base = rng.choice(alphabet, 300)
    some = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 127, 128, 129, 192, 193, 300]
    lengths = rng.choice(some, 24)
    texts = ["".join(rng.choice(alphabet, n)) for n in lengths[:8]]
    for n in lengths[8:]:  # near to one another
        text = base[:n].copy()
        for _ in range(rng.integers(0, 9) if n else 0):
            i = rng.integers(0, n)
            text[i : i + 2] = text[i : i + 2][::-1]
            text[rng.integers(0, n)] = rng.choice(alphabet)
        texts.append("".join(text[rng.integers(0, 3) :]))
    old, new = texts[::2], texts[1::2]
    for normalised in (False, True):
        distance = Edit(variant, normalised)
        metric = getattr(rapidfuzz.distance, string_pairs.VARIANTS[variant])
        scorer = metric.normalized_distance if normalised else metric.distance
        for A, B in ((new, old), (old, old)):
            wanted = rapidfuzz.process.cdist(A, B, scorer=scorer, dtype=np.float64)
            assert_array_equal(distance(A, B), wanted)
            X = distance.encode(B)
            Z = X if A is B else distance.encode(A, like=X)
            for limit in (*np.quantile(wanted, [0, 0.1, 0.5, 0.9]), 0.5, 3, 1e9):
                near = distance.within(Z, X, limit)
                assert_array_equal(near[wanted <= limit], wanted[wanted <= limit])
                assert (near[wanted > limit] > limit).all()
    assert_array_equal(Edit(variant)(old), Edit(variant)(old, list(old)))


def test_which_strings_are_compared_by_the_native_loop(monkeypatch):
    """All but those of a huge alphabet, short ones by common symbols, and of other variants."""
    if _native.isa() == "portable":
        pytest.skip("without vectors RapidFuzz is faster")
    compared = []
    original = string_pairs.compared

    def watched(X, Z, *args, **options):
        compared.append(sorted(X.parts[0].lengths.tolist()))
        return original(X, Z, *args, **options)

    monkeypatch.setattr(string_pairs, "compared", watched)
    texts = ["a" * n for n in (3, 64, 65, 500)]
    for variant in ("levenshtein", "osa", "indel", "lcs"):
        D = Edit(variant)(texts)
        assert_array_equal(D, abs(np.subtract.outer(*[[3, 64, 65, 500]] * 2)))
    assert compared == [[3, 64]] * 2
    Edit("damerau")(texts)
    assert compared[2:] == [[3, 64, 65, 500]]
    tokens = [list(range(20_000)), list(range(1, 20_000))]  # a table of 50 MB
    assert Edit()(tokens)[0, 1] == 1
    assert compared[3:] == [[19_999, 20_000]]


@pytest.mark.parametrize("variant", ["levenshtein", "osa"])
def test_short_strings_beside_very_long_ones(variant):
    """Distances that 16 bits do not count."""
    texts = ["", "ab", "ba" * 8, "abc" * 10, "ab" * 35_000]
    scorer = getattr(rapidfuzz.distance, string_pairs.VARIANTS[variant]).distance
    expected = rapidfuzz.process.cdist(texts, texts, scorer=scorer)
    assert_array_equal(Edit(variant)(texts), expected)
    assert_array_equal(Edit(variant)(texts[:4], texts), expected[:4])


def test_known_values():
    assert Edit()(["kitten"], ["sitting"])[0, 0] == 3
    assert [Edit(v)(["ca"], ["abc"])[0, 0] for v in VARIANTS] == [3, 3, 3, 2, 2, 3]
    # Winkler 1990, table 3: MARTHA and MARHTA, DWAYNE and DUANE, DIXON and DICKSONX
    names = JaroWinkler()(["MARTHA", "DWAYNE", "DIXON"], ["MARHTA", "DUANE", "DICKSONX"])
    assert_allclose(1 - names.diagonal(), [0.961, 0.840, 0.813], atol=5e-4)


def test_symbols_beyond_the_surrogates_and_many_tokens():
    tokens = list(range(60_000))
    D = Edit()([tokens, tokens[:100]], [tokens[1:100], [*tokens[:50], "new", *tokens[51:100]]])
    assert_array_equal(D, [[59_901, 59_901], [1, 1]])


def test_two_symbols_are_equal_or_not_whatever_they_are():
    texts = ["a\0b", "ab", "a\ud800b", "a\udfffb", "aéb", "ae\u0301b"]
    D = Edit()(texts)
    assert_array_equal(D[0], [0, 1, 1, 1, 1, 2])
    as_bytes = Edit()([s.encode("utf-8", "surrogatepass") for s in texts])
    assert as_bytes[0, 4] == 2


def test_a_sum_of_costs_beyond_float32_is_infinite_there():
    X = WeightedEdit(1e39, 1e39).encode(["abc", ""]).astype(np.float32)
    assert_array_equal(WeightedEdit(1e39, 1e39).block(X, X), [[0, np.inf], [np.inf, 0]])


def test_float32_and_one_half_of_the_pairs():
    X = Edit().encode(["abc", "abd", ""]).astype(np.float32)
    D = Edit().block(X, X)
    assert D.dtype == np.float32
    assert_array_equal(D, Edit().block(X, X[:]))


@pytest.mark.parametrize(
    ("distance", "X", "error", "message"),
    [
        (Edit("levenstein"), ["a"], ValueError, r"variant='levenstein'.*'levenshtein', 'indel'"),
        (Edit(normalised="yes"), ["a"], TypeError, "normalised='yes'"),
        (WeightedEdit(0), ["a"], ValueError, r"gap=0: give a finite number > 0"),
        (WeightedEdit(replace=np.nan), ["a"], ValueError, r"replace=nan: give a finite"),
        (
            WeightedEdit(pairs={"ab": -1}),
            ["a"],
            ValueError,
            "in pairs=-1: give",
        ),
        (
            WeightedEdit(pairs={"aa": 1}),
            ["a"],
            ValueError,
            "'a'.: give two different",
        ),
        (WeightedEdit(pairs="ab"), ["a"], TypeError, "pairs='ab': give a dict"),
        (WeightedEdit(pairs=["ab"]), ["a"], ValueError, r"\['a'\]: give two different"),
        (WeightedEdit(normalised=2), ["a"], TypeError, "normalised=2"),
        (JaroWinkler(0.3), ["a"], ValueError, r"prefix_weight=0\.3: must be in"),
        (Edit(), "abc", TypeError, "a single string"),
        (Edit(), [1, 2], TypeError, r"X\[0\] is 1, but Edit compares strings"),
        (Edit(), ["a", None], TypeError, r"X\[1\] is missing"),
        (Edit(), ["a", b"a"], TypeError, "mixes str and bytes"),
        (JaroWinkler(), [], ValueError, "X is empty"),
    ],
)
def test_bad_input_is_refused(distance, X, error, message):
    with pytest.raises(error, match=message):
        distance(X)


def test_costs_of_one_are_those_of_the_edit_distance():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abc"), n)) for n in rng.integers(0, 90, 40)]
    assert_array_equal(WeightedEdit()(texts), Edit()(texts))
    assert_array_equal(WeightedEdit(1.0, 2.0)(texts), Edit("indel")(texts))
    assert_array_equal(WeightedEdit(1.0, 7.0)(texts), Edit("indel")(texts))
    other = ["".join(rng.choice(list("abcz"), n)) for n in rng.integers(0, 90, 30)]
    D = WeightedEdit(0.3, 0.7, {"az": 0.1})(texts, other)
    assert_array_equal(D, WeightedEdit(0.3, 0.7, {"za": 0.1})(other, texts).T)
