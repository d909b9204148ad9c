"""Gapped k-mers with filters, limits and weights, as LS-GKM has them, against their definitions."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mercer
import oracles
from lanes import examples
from mercer.kernels import RBF, GappedKmer, Layered, Spectrum, check_mercer

#: LS-GKM's -t 0, 1, 2 and 4
TYPES = [
    {}, {"filter": "full"}, {"filter": "truncated"}, {"filter": "truncated", "weights": "centre"},
]  # fmt: skip


def words(l, b=4):
    return np.array(list(itertools.product(range(b), repeat=l)))


def drawn(lengths, seed=0):
    """DNA with shared parts."""
    rng = np.random.default_rng(seed)
    X = ["".join(rng.choice(list("ACGT"), n)) for n in lengths]
    return [X[0], *(x + X[0][:12] for x in X[1:])]


def pairs_of_windows(kernel, s, t):
    """The definition: all windows of s with all windows of both strands of t."""
    g = kernel.window_values() * (np.arange(kernel.l + 1) <= kernel.most_mismatches)

    def windows(text):
        codes = np.array(["ACGT".index(c) for c in text])
        n = len(codes) - kernel.l + 1
        gaps = np.abs(np.arange(n) - n // 2)
        w = np.minimum(np.floor(kernel.peak * 2.0 ** (-gaps / kernel.half_life) + 1), kernel.peak)
        w = np.ones(n) if kernel.weights is None else w
        return np.lib.stride_tricks.sliding_window_view(codes, kernel.l), w

    (A, v), (B, w) = windows(s), windows(t)
    turned = 3 - B[:, ::-1]
    return sum(
        (g[(A[:, None] != other[None]).sum(-1)] * v[:, None] * w).sum() for other in (B, turned)
    )


@pytest.mark.parametrize("more", TYPES, ids=str)
@pytest.mark.parametrize(
    ("l", "k", "d"), [(10, 6, 4), (10, 6, 3), (11, 7, 3), (6, 4, 6), (5, 1, 0)]
)
def test_values_are_sums_over_pairs_of_windows(l, k, d, more):
    kernel = GappedKmer(l, k, True, mismatches=d, peak=20, half_life=7.5, **more)
    X = drawn((20, 33, 41, 18))
    expected = np.array([[pairs_of_windows(kernel, s, t) for t in X] for s in X])
    assert_allclose(kernel(X), 2 * expected, rtol=1e-9)
    roots = np.sqrt(expected.diagonal())
    normalised = expected / roots / roots[:, None]
    assert_allclose(kernel.normalised()(X), normalised, atol=1e-9)
    gkmrbf = Layered(RBF(1.0), base=kernel.normalised())  # -t 3 and -t 5, g = 2
    assert_allclose(gkmrbf(X), np.exp(2 * (normalised - 1)), atol=1e-9)
    short = [s.encode() for s in X]
    assert_allclose(kernel.normalised()(short[:2], short), normalised[:2], atol=1e-9)


@pytest.mark.parametrize(("l", "k", "b"), [(3, 2, 4), (4, 2, 3), (4, 4, 2), (4, 1, 2), (2, 1, 5)])
def test_filtered_values_are_products_of_estimated_counts(l, k, b):
    """The least-squares estimate of the counts of words, by the pseudo-inverse."""
    for filter in (None, "full", "truncated"):
        g = GappedKmer(l, k, mismatches=l, filter=filter).window_values(b)
        assert_allclose(g, oracles.window_values(l, k, b, filter), atol=1e-12)


def test_values_of_the_paper():
    """w(h) of l = 10, k = 6 in Ghandi et al. 2014, before truncation: a partition of unity."""
    g = GappedKmer(10, 6, mismatches=10, filter="full").window_values()
    counts = [np.prod(range(10 - h + 1, 11)) / np.prod(range(1, h + 1)) * 3**h for h in range(11)]
    assert_allclose(g @ counts, 1)
    truncated = GappedKmer(10, 6, mismatches=10, filter="truncated").window_values()
    assert (truncated >= 0).all()
    assert_array_equal(GappedKmer(10, 6).window_values(), [210, 84, 28, 7, 1, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("filter", [None, "full", "truncated"])
@pytest.mark.parametrize("d", range(5))
def test_it_knows_when_it_is_positive_semidefinite(filter, d):
    """On all words at once, where the eigenvalues are those of the definition."""
    l, k = 4, 2
    kernel = GappedKmer(l, k, True, mismatches=d, filter=filter)
    W = words(l)
    g = kernel.window_values() * (np.arange(l + 1) <= d)
    K = g[(W[:, None] != W[None]).sum(-1)]
    least = np.linalg.eigvalsh(K)[0]
    assert kernel.positive_definite == (least >= -1e-9 * g[0])
    plain = GappedKmer(l, k, mismatches=d, filter=filter)
    known = d >= (l if filter else l - k)
    assert plain.positive_definite is (True if known else None)
    if kernel.positive_definite:
        texts = ["".join("ACGT"[c] for c in word) for word in W]
        assert check_mercer(kernel, texts).positive_definite
        assert check_mercer(plain, texts[::3]).positive_definite


def test_defaults_of_lsgkm_are_not_always_definite():
    for l, k, d, definite in ((10, 6, 3, False), (11, 7, 3, False), (10, 6, 4, True)):
        kernel = GappedKmer(l, k, True, mismatches=d, filter="truncated")
        assert kernel.positive_definite is definite
        assert kernel.normalised().positive_definite is (definite or None)


def test_numpys_integers_do_not_overflow():
    more = {"both_strands": True, "filter": "truncated"}
    found = GappedKmer(np.int64(13), np.int64(7), **more).window_values(np.int64(4))
    assert_array_equal(found, GappedKmer(13, 7, **more).window_values())
    assert 0 < found[0] < 1


DNA_TEXTS = st.lists(st.text("ACGTNacgu-", max_size=10), min_size=1, max_size=4)


@examples(60)
@given(
    DNA_TEXTS, DNA_TEXTS, st.integers(1, 4), st.integers(1, 4), st.integers(0, 4), st.booleans(),
    st.sampled_from([None, "full", "truncated"]), st.sampled_from([None, "centre"]),
)  # fmt: skip
def test_any_dna(X, Z, l, k, d, both, filter, weights):
    l, k = max(l, k), min(l, k)
    kernel = GappedKmer(l, k, both, None, min(d, l), filter, weights, 1.5, 7)
    if not both:
        X, Z = (["".join(c for c in s.upper() if c in "ACGT") for s in each] for each in (X, Z))
    S = ["ACGT", *X, *Z]
    E = kernel.encode(S)
    A, B = kernel.encode(X, like=E), kernel.encode(Z, like=E)
    expected = oracles.block(oracles.kernel, kernel, X, Z, S)
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * max(1, np.abs(expected).max(initial=0))}
    assert_allclose(kernel.block(A, B), expected, **tolerance)
    own = oracles.block(oracles.kernel, kernel, X, X, S)
    assert_allclose(kernel.diag(A), own.diagonal(), **tolerance)


def test_weights_fall_from_the_middle_window():
    """One window of each sequence is alone of its kind, and k counts its weight."""
    kernel = GappedKmer(3, 3, weights="centre", half_life=2, peak=8)
    x = "AAAAAAACCCAAAAAAA"  # 15 windows, the middle one is CCC
    weights = [kernel(["A" * i + "CCC" + "A" * (14 - i)], ["CCC"])[0, 0] / 8 for i in range(15)]
    falling = [8, 6, 5, 3, 3, 2, 2, 1]  # floor(8 · 2^(-D/2) + 1), at most 8
    assert falling == [min(8, int(np.floor(8 * 2 ** (-D / 2) + 1))) for D in range(8)]
    assert weights == [*falling[:0:-1], *falling]
    flat = GappedKmer(3, 3, weights="centre", half_life=1e12, peak=1)
    assert_array_equal(flat([x, x[:8]]), Spectrum(3)([x, x[:8]]))
    both = GappedKmer(3, 2, True, weights="centre", half_life=2, peak=8)
    turned = x[::-1].translate(str.maketrans("ACGT", "TGCA"))
    assert_allclose(both([x], [turned]), both([x]))  # an odd number of windows


@pytest.mark.parametrize("more", TYPES, ids=str)
def test_rows_and_tiles_and_models(more, tmp_path, monkeypatch):
    from mercer.kernels import kmer_counts

    kernel = GappedKmer(6, 4, True, mismatches=2, half_life=5, **more)
    X = drawn(range(15, 45)) * 2
    E = kernel.encode(X)
    K = kernel.block(E, E)
    rows = np.array([7, 3, 30])
    assert_allclose(kernel.block(E[rows], E), K[rows], rtol=1e-12)
    A, B = kernel.sides(E, E)
    assert_allclose(kernel.block(A[10:20], B[:7]), K[10:20, :7], rtol=1e-12)
    for dense in (0, 2**40):
        monkeypatch.setattr(kmer_counts, "DENSE", dense)
        assert_allclose(kernel.block(E, E), K, rtol=1e-12)
    short = E.astype(np.float32)
    assert kernel.block(short, short).dtype == np.float32
    model = mercer.SVC(kernel=kernel.normalised()).fit(X, [0, 1] * 30)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_features_where_no_weight_is_negative():
    X = drawn((20, 30))
    for more in ({}, {"weights": "centre"}, {"mismatches": 6}, {"mismatches": 0}):
        for both in (False, True):
            kernel = GappedKmer(6, 4, both, **more)
            E = kernel.encode(X)
            F = kernel.features(E)
            assert_allclose((F @ F.T).toarray(), kernel.block(E, E), rtol=1e-12)
    for more in ({"mismatches": 1}, {"filter": "full"}, {"filter": "truncated"}):
        assert not hasattr(GappedKmer(6, 4, **more), "features")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mismatches", 7, "integer from 0 to l=6"), ("mismatches", -1, "integer from 0 to l=6"),
        ("mismatches", 1.5, "None for l - k"), ("mismatches", "3", "None for l - k"),
        ("filter", "trunc", "'full' or 'truncated' or None"), ("filter", 2, "'full' or"),
        ("weights", "center", "give 'centre' or None"), ("half_life", 0, "finite number > 0"),
        ("half_life", np.inf, "finite number > 0"), ("peak", 0, "integer >= 1"),
        ("peak", 2.5, "integer >= 1"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(name, value, message):
    with pytest.raises(
        (TypeError, ValueError), match=f"{re.escape(f'{name}={value!r}')}: .*{message}"
    ):
        GappedKmer(6, 4, **{name: value})(["ACGTACGT"])
