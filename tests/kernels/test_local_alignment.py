"""The local alignment kernel: its limit, its scores, long sequences, what it does not promise."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import cases
import mercer
import oracles
from lanes import examples
from mercer.gram import Place, gram
from mercer.kernels import LocalAlignment, check_mercer, repair
from mercer.kernels.local_alignment import LETTERS, _blosum62

PROTEINS = cases.proteins()


def smith_waterman(s, t, score, open, extend):
    """The score of the best local alignment (Gotoh 1982)."""
    M = np.zeros((len(s) + 1, len(t) + 1))
    X, Y = np.full(M.shape, -np.inf), np.full(M.shape, -np.inf)
    for i, a in enumerate(s, 1):
        for j, b in enumerate(t, 1):
            X[i, j] = max(M[i - 1, j] - open, X[i - 1, j] - extend)
            Y[i, j] = max(M[i, j - 1] - open, X[i, j - 1] - open, Y[i, j - 1] - extend)
            last = max(0, M[i - 1, j - 1], X[i - 1, j - 1], Y[i - 1, j - 1])
            M[i, j] = last + score(a, b)
    return max(0.0, M.max())


def score_of(a, b):
    return _blosum62()[LETTERS.index(a), LETTERS.index(b)]


def test_a_large_beta_gives_the_best_alignment():
    X = [text for text in PROTEINS if set(text) <= set(LETTERS)]
    K = LocalAlignment(beta=15.0)(X)
    best = [[smith_waterman(s, t, score_of, 11, 1) for t in X] for s in X]
    assert_allclose(K, best, atol=0.3)
    dna = ["GATTACA", "GATTTACA", "CCCC", "GATCA"]
    K = LocalAlignment((5, -4), 6, 2, beta=30.0)(dna)
    best = [
        [smith_waterman(s, t, lambda a, b: 5 if a == b else -4, 6, 2) for t in dna] for s in dna
    ]
    assert_allclose(K, best, atol=0.2)


def test_scores_of_blosum62():
    B = _blosum62()
    assert_array_equal(B, B.T)
    known = {"WW": 11, "CC": 9, "AA": 4, "IV": 3, "DE": 2, "GI": -4, "KR": 2, "XX": -1, "**": 1}
    for (a, b), score in known.items():
        assert score_of(a, b) == score
    assert B[:20, :20].trace() == 116


STRINGS = st.lists(st.text("ACW", max_size=7), min_size=1, max_size=4)


@examples(40)
@given(STRINGS, STRINGS, st.floats(0, 5), st.floats(0, 3), st.floats(0.01, 3))
def test_any_strings_and_costs(X, Z, open, extend, beta):
    pairs = {"AA": 4.0, "CC": 9.0, "WW": 11.0, "AC": 0.0, "WA": -3.0, "CW": -2.0}
    for kernel in (LocalAlignment("BLOSUM62", open, extend, beta),
                   LocalAlignment(pairs, open, extend, beta),
                   LocalAlignment((1.0, -0.5), open, extend, beta)):  # fmt: skip
        E = kernel.encode(Z)
        A = kernel.encode(X, like=E)
        expected = oracles.block(oracles.kernel, kernel, X, Z, Z)
        assert_allclose(kernel.block(A, E), expected, rtol=1e-10, atol=1e-10)
        own = oracles.block(oracles.kernel, kernel, X, X, Z).diagonal()
        assert_allclose(kernel.diag(A), own, rtol=1e-10, atol=1e-10)


def test_a_dict_of_all_pairs_is_the_same_as_its_name():
    pairs = {a + b: score_of(a, b) for a in LETTERS for b in LETTERS}
    X = [text for text in PROTEINS if set(text) <= set(LETTERS)]
    assert_allclose(LocalAlignment(pairs)(X), LocalAlignment()(X), rtol=1e-14)


def test_long_sequences_do_not_overflow():
    """The sum is about e^5800 for 1,000 letters; it is scaled on the way."""
    rng = np.random.default_rng(0)
    long = "".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 1000))
    kernel = LocalAlignment()
    K = kernel([long, long[:500], long[500:], "W" * 3000])
    assert np.isfinite(K).all()
    own = sum(score_of(c, c) for c in long)
    assert own <= K[0, 0] <= own + 200
    assert abs(K[0, 1] + K[0, 2] - K[0, 0]) < 60
    assert 33_000 <= K[3, 3] <= 34_000
    high = LocalAlignment(beta=18.0)(["W" * 900, "W" * 400])
    assert_allclose(high, [[9900, 4400], [4400, 4400]], rtol=1e-3)


def test_letters_that_are_none():
    kernel = LocalAlignment()
    assert_array_equal(
        kernel(["mkv", "MKV", "MKU"], ["MKV", "MKX"])[0], kernel(["MKV"], ["MKV", "MKX"])[0]
    )
    assert_array_equal(kernel(["MKU"], ["MKV"]), kernel(["MKX"], ["MKV"]))
    for wrong, shown in ((["MK", "M-K"], "'-'"), ([b"MK", b"M1K"], "'1'"), (["MK", "M K"], "' '")):
        with pytest.raises(ValueError, match=rf"X\[1\] holds {shown}, but LocalAlignment has no"):
            kernel(wrong)
    with pytest.raises(ValueError, match=r"X\[0\] holds 'T'"):
        LocalAlignment({"AA": 1.0})(["AT"])
    many = [[f"t{i}" for i in range(256)]]
    with pytest.raises(ValueError, match="up to 255 different symbols, but there are 256"):
        LocalAlignment((1.0, -1.0))(many)


def test_it_is_not_always_positive_semidefinite():
    """Its check: five eigenvalues in a hundred, which `repair` removes; learners take it anyway."""
    X = ["TT", "GCCAT", "ACCG", "T", "TAGGAGGC", "G", "CGTA", "CC", "CTGGAAA", "GCGCGT", "C", "AAA"]
    kernel = LocalAlignment((5, -4), 10, 1, 1.0)
    assert kernel.positive_definite is False
    assert kernel.normalised().positive_definite is None
    check = check_mercer(kernel, X)
    assert not check.positive_definite
    assert check.eigenvalues[-1] < -0.01 * check.eigenvalues[0]
    K = repair(kernel(X))
    assert np.linalg.eigvalsh(K)[0] > -1e-9 * np.abs(K).max()
    related = [text for text in PROTEINS if text]
    assert check_mercer(LocalAlignment().normalised(), related).positive_definite


def test_a_learner_tiles_and_a_model_file(tmp_path):
    rng = np.random.default_rng(0)
    families = [rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 40) for _ in range(2)]
    X = ["".join(np.where(rng.random(40) < 0.6, rng.permutation(f), f))[: rng.integers(25, 40)]
         for _ in range(30) for f in families]  # fmt: skip
    y = [0, 1] * 30
    model = mercer.SVC(kernel=LocalAlignment().normalised()).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) >= 0.95
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    kernel = LocalAlignment()
    E = kernel.encode(X)
    K = kernel.block(E, E)
    assert_allclose(gram(kernel, E, place=Place(n_jobs=2)).dense(), K, rtol=1e-12)
    assert_allclose(kernel.block(E[[7]], E), K[[7]], rtol=1e-12)
    short = E.astype(np.float32)
    assert kernel.block(short, short).dtype == np.float32


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"substitution": "PAM30"}, "substitution='PAM30': give 'BLOSUM62'"),
        ({"substitution": (5,)}, "substitution="), ({"substitution": (5, "x")}, "substitution="),
        ({"substitution": {}}, "substitution="), ({"substitution": {"ABC": 1}}, "pairs of symbols"),
        ({"substitution": {"AC": 1.0}}, "no score for 'A' and 'A'"),
        ({"substitution": {"AA": 1, "AC": 1, "CA": 2, "CC": 1}}, "two scores for 'C' and 'A'"),
        ({"substitution": (np.inf, 0)}, r"substitution=\(inf, 0\): give finite scores"),
        ({"beta": 50.0}, "beta=50.0: times the largest score, 11, it must be at most 200"),
        ({"beta": 0}, "beta=0"), ({"open": -1}, "open=-1"), ({"extend": np.nan}, "extend=nan"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        LocalAlignment(**given)(["ACW"])
