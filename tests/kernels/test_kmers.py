"""Kernels on k-mers: values of other programs, any alphabet and length, new symbols, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import mercer
import oracles
from lanes import examples
from mercer.gram import Place, gram
from mercer.kernels import (
    GappedKmer,
    Mismatch,
    Normalised,
    Spectrum,
    WeightedDegree,
    kmer_counts,
    mismatches,
)

DNA = ["GATTACAGATTACA", "TACAGATTACCATG", "CCCCGATTTTGATG", "GATTACCGATTACG"]

# kernlab 0.9.32 (R 4.2.2), stringdot(normalized=FALSE); it ends strings with a symbol of its own
KERNLAB = [
    ("spectrum, length=3", Spectrum(3),
     [[23, 14, 6, 16], [14, 15, 5, 11], [6, 5, 19, 8], [16, 11, 8, 21]]),
    ("boundrange, length=3", Spectrum(3, shortest=1),
     [[110, 92, 67, 89], [92, 92, 69, 81], [67, 69, 106, 78], [89, 81, 78, 98]]),
]  # fmt: skip

# normalizer=None; its spectrum kernel is the sum over lengths 1 to `order`, and its weights of
# degrees are D - d + 1, ours times D (D + 1) / 2
STRKERNELS = [
    ("SpectrumStringKernel(order=3)", Spectrum(3, shortest=1),
     [[107, 91, 66, 88], [91, 89, 66, 79], [66, 66, 103, 76], [88, 79, 76, 95]]),
    ("WeightedDegreeStringKernel(degree=4)", 10 * WeightedDegree(4),
     [[130, 12, 8, 100], [12, 130, 54, 16], [8, 54, 130, 12], [100, 16, 12, 130]]),
]  # fmt: skip

# MismatchKernel(l=4, k, m).get_kernel(preprocess(DNA), normalize=False)
STRKERNEL = [
    ("k=4, m=1", Mismatch(4, 1),
     [[259, 185, 100, 188], [185, 191, 89, 143], [100, 89, 223, 128], [188, 143, 128, 241]]),
    ("k=5, m=2", Mismatch(5, 2),
     [[2236, 1672, 1146, 1732], [1672, 1812, 1152, 1490], [1146, 1152, 2100, 1290],
      [1732, 1490, 1290, 2040]]),
]  # fmt: skip

# gkmmatrix -t 0, normalised, printed to six digits
LSGKM = [
    ("-l 6 -k 4 -d 2", GappedKmer(6, 4, both_strands=True),
     [[1], [0.622497, 1], [0.07396, 0.0666667, 1], [0.563588, 0.490272, 0.187077, 1]]),
    ("-l 10 -k 6 -d 4", GappedKmer(10, 6, both_strands=True),
     [[1], [0.280952, 1], [0, 0.00856328, 1], [0.346502, 0.113279, 0.00760818, 1]]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kernel", "expected"), KERNLAB)
def test_values_of_kernlab(call, kernel, expected):
    assert_array_equal(kernel([s + "\n" for s in DNA]), expected)


@pytest.mark.parametrize(("call", "kernel", "expected"), STRKERNELS)
def test_values_of_strkernels_0_2_15(call, kernel, expected):
    assert_allclose(kernel(DNA), expected, rtol=1e-14)


@pytest.mark.parametrize(("call", "kernel", "expected"), STRKERNEL)
def test_values_of_strkernel_0_2(call, kernel, expected):
    assert_array_equal(kernel(DNA), expected)


@pytest.mark.parametrize(("call", "kernel", "expected"), LSGKM)
def test_values_of_lsgkm(call, kernel, expected):
    """LS-GKM's own functions at commit 03d354c; gkmmatrix was run on these four sequences."""
    K = kernel.normalised()(DNA)
    for i, row in enumerate(expected):
        assert_allclose(K[i, : i + 1], row, atol=6e-7)


# --- any strings -------------------------------------------------------------------------------

STRINGS = st.lists(st.text("ab\0é😀", max_size=9), min_size=1, max_size=5)
LENGTHS = st.integers(1, 6)


def agrees_with_its_oracle(kernel, X, Z, S):
    encoded = kernel.encode(S)
    kernel = kernel.bind(encoded)
    A = kernel.encode(X, like=encoded)
    B = kernel.encode(Z, like=A)  # new symbols of A have codes too
    expected = oracles.block(oracles.kernel, kernel, X, Z, S)
    assert_allclose(kernel.block(A, B), expected, rtol=1e-12, atol=1e-12)
    own = oracles.block(oracles.kernel, kernel, X, X, S)
    assert_allclose(kernel.block(A, A), own, rtol=1e-12, atol=1e-12)
    assert_allclose(kernel.diag(A), own.diagonal(), rtol=1e-12, atol=1e-12)


@given(STRINGS, STRINGS, STRINGS, LENGTHS, st.sampled_from([0.3, 1.0]))
def test_spectra_of_any_strings(X, Z, S, k, decay):
    agrees_with_its_oracle(Spectrum(k), X, Z, S)
    agrees_with_its_oracle(Spectrum(k, shortest=1, decay=decay), X, Z, S)


@given(STRINGS, STRINGS, STRINGS, LENGTHS, LENGTHS)
def test_gapped_kmers_of_any_strings(X, Z, S, l, k):
    agrees_with_its_oracle(GappedKmer(max(l, k), min(l, k)), X, Z, S)


@examples(40)
@given(STRINGS, STRINGS, STRINGS, st.integers(1, 4), st.integers(0, 3))
def test_mismatches_of_any_strings(X, Z, S, k, m):
    """Symbols that S lacks come too: k-mers that hold one are left out."""
    agrees_with_its_oracle(Mismatch(k, min(m, k - 1)), X, Z, S)


@given(STRINGS, STRINGS, st.integers(0, 9), st.integers(1, 12), st.integers(0, 12))
def test_weighted_degrees_of_any_strings(X, Z, length, degree, shift):
    X, Z = ([(s * 10)[:length].ljust(length, "a") for s in strings] for strings in (X, Z))
    agrees_with_its_oracle(WeightedDegree(degree, shift), X, Z, Z)


def test_windows_with_a_letter_for_several_nucleotides_count_nothing():
    kernel = GappedKmer(4, 3, both_strands=True)
    assert_array_equal(kernel(["ACGTTNACGG"], ["ACGTT", "NNNNNN"])[0, 1:], [0])
    for cut in "N-rR":
        whole, parts = kernel([f"ACGTT{cut}CCGAG"], DNA), kernel(["ACGTT", "CCGAG"], DNA)
        assert_array_equal(whole[0], parts.sum(axis=0))
    rna = [s.replace("T", "U") for s in DNA]
    assert_array_equal(kernel(rna, DNA), kernel(DNA))


@given(st.lists(st.text("ACGTUNacgtn-", max_size=12), min_size=1, max_size=4), LENGTHS, LENGTHS)
def test_both_strands_of_any_dna(X, l, k):
    kernel = GappedKmer(max(l, k), min(l, k), both_strands=True)
    agrees_with_its_oracle(kernel, X, X[::-1], X)
    agrees_with_its_oracle(kernel, [s.encode() for s in X], [s.encode() for s in X], [b"ACGT"])


def test_a_sequence_is_as_good_as_its_reverse_complement():
    kernel = GappedKmer(6, 4, both_strands=True)
    turned = [s[::-1].translate(str.maketrans("ACGT", "TGCA")) for s in DNA]
    assert_allclose(kernel(DNA, turned), kernel(DNA))


def test_special_cases_of_one_another():
    assert_array_equal(GappedKmer(4, 4)(DNA), Spectrum(4)(DNA))
    assert_array_equal(Mismatch(4, 0)(DNA), Spectrum(4)(DNA))
    assert_array_equal(Spectrum(1, shortest=1)(DNA), Spectrum(1)(DNA))
    assert_allclose(WeightedDegree(3, 0)(DNA), WeightedDegree(3)(DNA))
    two = Spectrum(2, shortest=1, decay=0.5)(DNA)
    assert_allclose(two, 0.25 * Spectrum(1)(DNA) + 0.0625 * Spectrum(2)(DNA))
    assert_allclose(Spectrum(4, shortest=3)(DNA), Spectrum(3)(DNA) + Spectrum(4)(DNA))


# --- k-mers that do not fit into 64 bits -------------------------------------------------------


@pytest.mark.parametrize("k", [31, 32, 33, 48, 49, 64, 65, 100, 200])
def test_long_kmers(k):
    """Beyond 64 bits k-mers are ranked; strings that differ in one place only share few."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 220)) for _ in range(3)]
    X += [X[0][:110] + "C" + X[0][111:], X[0][:k], X[0][: k - 1], X[0][:-1] + X[1][-1]]
    agrees_with_its_oracle(Spectrum(k), X, X[::-1], X)
    agrees_with_its_oracle(Spectrum(k), [[*s] for s in X], [[*s] for s in X[::-1]], [["C"]])


@pytest.mark.parametrize(("whole", "half"), [(4, 128), (2**5, 128), (2**8, 2**10)])
def test_ranks_in_many_parts(monkeypatch, whole, half):
    """As if numbers were short, so that every k-mer is numbered in several parts."""
    monkeypatch.setattr(kmer_counts, "WHOLE", whole)
    monkeypatch.setattr(kmer_counts, "HALF", half)
    monkeypatch.setattr(kmer_counts, "DENSE", 0)
    X = [*DNA, "", "GATTA", "TTTTTTTTTTTTTTTTTTTTT"]
    for kernel in (Spectrum(5), Spectrum(9), GappedKmer(6, 4), Mismatch(4, 1)):
        agrees_with_its_oracle(kernel, X, X[::-1], X)


def test_alphabets_of_many_tokens():
    rng = np.random.default_rng(0)
    many = [list(range(70_000)), list(range(69_990, 70_000)) * 3]
    X = [rng.integers(0, 4, 20).tolist() for _ in range(3)]
    agrees_with_its_oracle(Spectrum(5), X + [many[1]], X, many)
    assert_allclose(Spectrum(4)(many)[0, 1], 3 * 7)


def test_more_symbols_than_a_byte_holds_come_later():
    """Training strings are bytes, new ones are not: codes are widened."""
    X, Z = ["abcabc"], ["".join(map(chr, range(300, 700))) + "abca", "xaby\0zz"]
    Z = [s[:404].ljust(404, "-") for s in Z]
    agrees_with_its_oracle(Spectrum(3), X, Z, X)
    agrees_with_its_oracle(Mismatch(2, 1), X, Z, X)
    agrees_with_its_oracle(WeightedDegree(2, 1), [Z[1], "a" * 404], Z, ["b" * 404])


@pytest.mark.parametrize("dense", [0, 2**40])
@pytest.mark.parametrize(
    "kernel", [Spectrum(1), Spectrum(2), Spectrum(3, shortest=1), Mismatch(3, 1), GappedKmer(5, 2)]
)
def test_dense_counts_and_pairs_agree(monkeypatch, kernel, dense):
    monkeypatch.setattr(kmer_counts, "DENSE", dense)
    X = [s * 5 for s in DNA]
    agrees_with_its_oracle(kernel, X, X[:3], X)


# --- features ----------------------------------------------------------------------------------

FEATURED = [
    Spectrum(2), Spectrum(40), Spectrum(3, shortest=1, decay=0.5), Mismatch(3, 1), Mismatch(2, 1),
    GappedKmer(4, 2), GappedKmer(4, 3, both_strands=True), WeightedDegree(3),
]  # fmt: skip


@pytest.mark.parametrize("kernel", FEATURED, ids=repr)
def test_features_of_new_strings(kernel):
    """Columns are those of the vocabulary; k(x, z) = <φ(x), φ(z)> where z is of it."""
    X, Z = [*DNA, "TTTTTTTTTTTTTT", "CACACACACACACA"], ["GATTACATTTTTTT", "CCCCCCCCCCCCCC"]
    E = kernel.encode(X)
    assert kernel.bind(E) is kernel, "a model would carry its training strings"
    bound = clone(kernel).set_params(vocabulary=X)
    B = bound.encode(Z, like=E)
    F, G = bound.features(E), bound.features(B)
    assert_array_equal(kernel.features(E).toarray(), F.toarray())
    assert sp.issparse(F)
    assert F.shape[1] == G.shape[1]
    assert (F != 0).sum(axis=0).min(initial=1) >= 1, "a column that the vocabulary lacks"
    assert_allclose((G @ F.T).toarray(), bound.block(B, E), rtol=1e-12)
    rows = np.array([3, 0])
    assert_array_equal(bound.features(E[rows]).toarray(), F.toarray()[rows])
    assert bound.features(E.astype(np.float32)).dtype == np.float32


def test_columns_take_no_more_than_the_training_sample_has():
    X = ["".join(np.random.default_rng(i).choice(list("ACGT"), 100)) for i in range(20)]
    assert Spectrum(30).features(Spectrum(30).encode(X)).shape[1] <= 20 * 71


@pytest.mark.parametrize("kernel", FEATURED, ids=repr)
def test_features_of_nothing(kernel):
    E = kernel.encode(["", ""])
    F = kernel.bind(E).features(E)
    assert F.shape == (2, 0)
    assert (kernel.bind(E).block(E, E) == 0).all()


def test_lengths_beyond_all_strings_cost_nothing():
    words = ["ab", "b"]
    assert_array_equal(Spectrum(10**9, shortest=1)(words), Spectrum(2, shortest=1)(words))


def test_shifted_runs_have_no_features():
    assert not hasattr(WeightedDegree(3, 1), "features")


# --- edges -------------------------------------------------------------------------------------

SHORT = ["", "a", "ab", "abcdefg" * 3]


@pytest.mark.parametrize(
    "kernel", [Spectrum(3), GappedKmer(3, 2), Mismatch(3, 1)], ids=lambda k: type(k).__name__
)
def test_strings_shorter_than_the_window(kernel):
    for K in (kernel(SHORT), kernel.normalised()(SHORT)):
        assert (K[:3] == 0).all()
        assert K[3, 3] > 0
    assert_array_equal(Normalised(kernel).diag(kernel.encode(SHORT)), [0, 0, 0, 1])


def test_kmers_with_new_symbols_equal_each_other():
    X = Spectrum(2).encode(["abab"])
    Z = Spectrum(2).encode(["xyxy", "xyab"], like=X)
    assert_array_equal(Spectrum(2).block(Z, Z), [[5, 2], [2, 3]])
    assert_array_equal(Spectrum(2).block(Z, X), [[0], [2]])
    assert_array_equal(Mismatch(2, 1).block(Z, Z)[0], [0, 0])


@pytest.mark.parametrize("kernel", [*FEATURED, WeightedDegree(3, 2)], ids=repr)
def test_tiles_are_those_of_the_whole(kernel):
    """About the edge of a tile of the Gram matrix, 512 rows, by threads."""
    rng = np.random.default_rng(0)
    X = kernel.encode(["".join(rng.choice(list("ACGT"), 12)) for _ in range(519)])
    kernel = kernel.bind(X)
    K = kernel.block(X, X)
    assert_array_equal(K, K.T)
    assert_allclose(gram(kernel, X, place=Place(n_jobs=2)).dense(), K, rtol=1e-12)
    assert_allclose(kernel.block(X[:5], X[500:]), K[:5, 500:], rtol=1e-12)
    short = X.astype(np.float32)
    assert kernel.block(short, short).dtype == kernel.diag(short).dtype == np.float32
    assert_allclose(kernel.block(short, short), K, rtol=1e-6)


def test_one_long_string_among_short_ones():
    """Counts are whole numbers, and memory that of the symbols."""
    n = 2_000_000
    K = Spectrum(3)(["ACGT" * (n // 4), "ACG", "T" * 70_000])
    assert K[0, 0] == 2 * (n // 4) ** 2 + 2 * (n // 4 - 1) ** 2
    assert_array_equal(K[1:, 1:], [[1, 0], [0, 69_998**2]])
    assert K[0, 1] == n // 4
    W = WeightedDegree(2)(["ACGT" * (n // 4), "ACGA" * (n // 4)])
    assert_allclose(W[0], [(2 + 3 * (n - 1)) / 3, (n // 4) * (2 + 3 + 3) / 3])


def test_counts_beyond_single_precision():
    """Where the product of dense counts passes 2^24, it is not taken in float32."""
    X = ["a" * 5001, "a" * 4099 + "b" * 4099]
    assert_array_equal(Spectrum(1)(X), [[5001**2, 5001 * 4099], [5001 * 4099, 2 * 4099**2]])


def test_a_learner_and_a_model_file(tmp_path):
    y = [0, 1, 0, 1] * 3
    for kernel in (Spectrum(2), GappedKmer(4, 2, True), Mismatch(2, 1), WeightedDegree(2, 1)):
        model = mercer.SVC(kernel=kernel.normalised()).fit(DNA * 3, y)
        mercer.save(model, tmp_path / "model.mercer")
        again = mercer.load(tmp_path / "model.mercer")
        assert_array_equal(again.decision_function(DNA), model.decision_function(DNA))


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 2.0, 1.5, None, "3", True])
def test_lengths_that_are_none(value):
    for kernel, name in (
        (Spectrum(value), "k"), (Spectrum(value, shortest=1), "k"), (Mismatch(value, 0), "k"),
        (GappedKmer(value, 1), "l"), (GappedKmer(3, value), "k"),
        (WeightedDegree(value), "degree"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"{name}={value!r}: {type(kernel).__name__} needs"):
            kernel(DNA)


@pytest.mark.parametrize("value", [0, 0.0, -0.5, 1.1, np.nan, np.inf, "1", None])
def test_decays_that_are_none(value):
    with pytest.raises(ValueError, match=r"decay=.*needs 0 < decay <= 1"):
        Spectrum(2, shortest=1, decay=value)(DNA)


@pytest.mark.parametrize("value", [0, -1, 2.0, "1", True])
def test_shortest_lengths_that_are_none(value):
    with pytest.raises(ValueError, match=f"shortest={value!r}: Spectrum needs an integer >= 1"):
        Spectrum(3, shortest=value)(DNA)
    with pytest.raises(ValueError, match="shortest=4: is more than k=3"):
        Spectrum(3, shortest=4)(DNA)


def test_choices_that_are_none():
    with pytest.raises(ValueError, match=r"k=5 places cannot be chosen of l=4.*1 <= k <= l"):
        GappedKmer(4, 5)(DNA)
    for m in (-1, 4, 0.5, None):
        with pytest.raises(ValueError, match=rf"m={m!r}: .*0 <= m < k=4"):
            Mismatch(4, m)(DNA)
    for shift in (-1, 0.5, None, True):
        with pytest.raises(ValueError, match=rf"shift={shift!r}: .*integer >= 0"):
            WeightedDegree(4, shift)(DNA)


def test_strands_of_what_is_no_dna():
    kernel = GappedKmer(3, 2, both_strands=True)
    for X, symbol in (
        (["ACGT", "", "ACJT"], "'J'"), ([b"ACGT", b"", b"AC+T"], "'\\+'"),
        ([["A"], [], ["C", 7]], "7"), (["ACGT", "", "E"], "'E'"),
    ):  # fmt: skip
        message = rf"X\[2\] holds {symbol}, but .*A, C, G, T.*both_strands=False"
        with pytest.raises(ValueError, match=message):
            kernel(X)
        with pytest.raises(ValueError, match=message):
            (2.0 * kernel + kernel)(X)
        assert GappedKmer(3, 2)(X).shape == (3, 3)


def test_strings_of_several_lengths_have_no_places():
    kernel = WeightedDegree(2)
    message = r"X\[2\] has 3 symbols, but the first string has 2.*use Spectrum"
    with pytest.raises(ValueError, match=message):
        kernel(["ab", "cd", "efg"])
    with pytest.raises(ValueError, match=r"X\[1\] has 0 symbols, but the first string has 2"):
        kernel(["ab", "cd"], ["ab", ""])
    with pytest.raises(ValueError, match=r"X\[0\] has 5 symbols, but the first string has 2"):
        kernel.normalised()(["abcde"], ["ab"])
    plain = Spectrum().encode(["ab", "cd", "efg"])
    with pytest.raises(ValueError, match=message):
        kernel.block(plain, plain)


def test_the_weights_of_mismatches():
    """f(h), against counting all u."""
    import itertools

    for k, m, a in itertools.product((1, 2, 3, 4), (0, 1, 2, 3), (1, 2, 3)):
        for h in range(k + 1 if a > 1 else 1):
            s, t = [0] * k, [1] * h + [0] * (k - h)
            near = sum(
                max(sum(x != y for x, y in zip(u, s)), sum(x != y for x, y in zip(u, t))) <= m
                for u in itertools.product(range(a), repeat=k)
            )
            assert mismatches._common_neighbours(k, m, a, h) == near


def test_new_symbols_in_places_that_are_not_read():
    """A window with a symbol that the other side lacks counts where that symbol is not read."""
    kernel = GappedKmer(2, 1)
    A = kernel.encode(["ab", "bb"])
    B = kernel.encode(["ax", "xb", "xx"], like=A)
    assert_array_equal(kernel.block(A, B), [[1, 1, 0], [0, 1, 0]])
    assert_array_equal(kernel.block(B, A), kernel.block(A, B).T)
    assert_array_equal(Mismatch(2, 1).block(B, A), np.zeros((3, 2)))


@pytest.mark.parametrize(
    "kernel", [Spectrum(40), GappedKmer(60, 59), Spectrum(45, shortest=1)], ids=repr
)
def test_long_kmers_of_which_there_are_few(kernel):
    """More than 64 bits a k-mer: both sides are numbered together, whatever their number."""
    texts = ["ab" * 40, "ba" * 40, "ab" * 35, "b" * 80]
    X = kernel.encode(texts)
    K = kernel.block(X, X)
    assert_array_equal(kernel.block(X[[2, 0]], X), K[[2, 0]])
    A, B = kernel.sides(X, X)
    assert_array_equal(kernel.block(A[1:3], B[:2]), K[1:3, :2])
    assert_array_equal(kernel.diag(A), K.diagonal())
