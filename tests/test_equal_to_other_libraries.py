"""Rows of docs/coming_from that say which call of another library has the same numbers.

`CLAIMS` has their and our side of a row as the page has them, and a function that computes both.
Where the library is not installed, the row is left out here; each page has a note of what it was
compared with. Pages with values alone in their examples are run as examples.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import MultipleKernelClassifier
from mercer.distances import DTW, Edit, JaroWinkler, Minkowski, Mixed, SoftDTW
from mercer.kernels import (
    RBF,
    AllSubsequences,
    Centred,
    FixedLengthSubsequences,
    GlobalAlignment,
    Matern,
    Polynomial,
    RationalQuadratic,
    ShortestPath,
    Spectrum,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
)
from mercer.search import BruteForce

FOLDER = Path(__file__).parents[1] / "docs" / "coming_from"
RNG = np.random.default_rng(0)
SERIES = RNG.normal(size=(5, 20)).cumsum(axis=1)
ROWS = RNG.normal(size=(40, 3))
WORDS = ["anna", "hanna", "otto", "anne", "ottilie"]
STRINGS = ["abacb", "bcab", "aabbc", "cab"]


def graphs():
    """Connected graphs with labels, in GraKeL's form."""
    found = []
    for n in (4, 5, 6, 8):
        edges = {(i, i + 1) for i in range(n - 1)} | {(0, n - 1), (1, n - 2)}
        both = edges | {(j, i) for i, j in edges}
        found.append([both, {i: "CNO"[RNG.integers(3)] for i in range(n)}])
    return found


GRAPHS = graphs()


def matrices():
    return [RBF(0.5)(ROWS[:, [j]]) for j in range(3)]


def weights(theirs, ours):
    """Weights of kernels by a learner of MKLpy and by a method of ours, each with the sum 1."""
    svm, algorithms = pytest.importorskip("sklearn.svm"), pytest.importorskip("MKLpy.algorithms")
    y = np.where(ROWS[:, 0] * ROWS[:, 1] + ROWS[:, 2] > 0, 1, -1)
    theirs = getattr(algorithms, theirs)(learner=svm.SVC(kernel="precomputed"))
    theirs = np.asarray(theirs.fit(matrices(), y).solution.weights)
    ours = MultipleKernelClassifier("precomputed", **ours).fit(matrices(), y).weights_
    return theirs / theirs.sum(), ours / ours.sum()


def squares(module):
    index = module.IndexFlatL2(3)
    index.add(ROWS.astype(np.float32))
    return index


def frame():
    pd = pytest.importorskip("pandas")
    letters = pd.Series(list("xyz" * 13 + "x"), dtype=object)
    return pd.DataFrame({"a": ROWS[:, 0], "b": letters, "c": ROWS[:, 1]})


#: page, module, their side, our side, both values
CLAIMS = [
    ("series", "tslearn.metrics", "cdist_dtw(X)", "DTW()(X)",
     lambda m: (m.cdist_dtw(SERIES), DTW()(SERIES))),
    ("series", "tslearn.metrics", "sakoe_chiba_radius=3", "DTW(window=3)",
     lambda m: (m.cdist_dtw(SERIES, global_constraint="sakoe_chiba", sakoe_chiba_radius=3),
                DTW(window=3)(SERIES))),
    ("series", "tslearn.metrics", "cdist_soft_dtw_normalized(X, gamma=g)", "SoftDTW(g)(X)",
     lambda m: (m.cdist_soft_dtw_normalized(SERIES, gamma=0.5), SoftDTW(0.5)(SERIES))),
    ("series", "tslearn.metrics", "cdist_gak(X, sigma=s)", "GlobalAlignment(s)(X)",
     lambda m: (m.cdist_gak(SERIES, sigma=5.0), GlobalAlignment(5.0)(SERIES))),
    ("graphs", "grakel", "WeisfeilerLehman(n_iter=5)", "WeisfeilerLehman(5)",
     lambda m: (m.WeisfeilerLehman(n_iter=5).fit_transform(GRAPHS), WeisfeilerLehman(5)(GRAPHS))),
    ("graphs", "grakel", "normalize=True", ".normalised()",
     lambda m: (m.WeisfeilerLehman(n_iter=5, normalize=True).fit_transform(GRAPHS),
                WeisfeilerLehman(5).normalised()(GRAPHS))),
    ("graphs", "grakel", "WeisfeilerLehmanOptimalAssignment(n_iter=5)", "WLOptimalAssignment(5)",
     lambda m: (m.WeisfeilerLehmanOptimalAssignment(n_iter=5).fit_transform(GRAPHS),
                WLOptimalAssignment(5)(GRAPHS))),
    ("graphs", "grakel", "ShortestPath()", "ShortestPath()",
     lambda m: (m.ShortestPath().fit_transform(GRAPHS), ShortestPath()(GRAPHS))),
    ("graphs", "grakel", "VertexHistogram()", "VertexHistogram()",
     lambda m: (m.VertexHistogram().fit_transform(GRAPHS), VertexHistogram()(GRAPHS))),
    ("rapidfuzz", "rapidfuzz", "process.cdist(a, b, scorer)", "Edit()(a, b)",
     lambda m: (m.process.cdist(WORDS, WORDS, scorer=m.distance.Levenshtein.distance),
                Edit()(WORDS))),
    ("rapidfuzz", "rapidfuzz", "JaroWinkler.distance", "JaroWinkler()",
     lambda m: (m.process.cdist(WORDS, WORDS, scorer=m.distance.JaroWinkler.distance),
                JaroWinkler()(WORDS))),
    ("faiss", "faiss", "IndexFlatL2(d)", "BruteForce(Minkowski()).fit(X)",
     lambda m: (squares(m).search(ROWS[:4].astype(np.float32), 3)[0],
                BruteForce(Minkowski()).fit(ROWS).query(ROWS[:4], k=3)[0] ** 2)),
    ("mklpy", "MKLpy.algorithms", "EasyMKL(lam=l)", 'method="easy", lam=l',
     lambda m: weights("EasyMKL", {"method": "easy", "lam": 0.1})),
    ("mklpy", "MKLpy.algorithms", "CKA()", 'method="alignf"',
     lambda m: weights("CKA", {"method": "alignf"})),
    ("mklpy", "MKLpy.metrics.pairwise", "homogeneous_polynomial_kernel(X, degree=p)",
     "Polynomial(p, 1.0, 0.0)",
     lambda m: (m.homogeneous_polynomial_kernel(ROWS, ROWS, degree=3),
                Polynomial(3, 1.0, 0.0)(ROWS))),
    ("mklpy", "MKLpy.metrics.pairwise", "spectrum_kernel(S, p=k)", "Spectrum(k)",
     lambda m: (m.spectrum_kernel(STRINGS, STRINGS, p=2), Spectrum(2)(STRINGS))),
    ("mklpy", "MKLpy.metrics.pairwise", "fixed_length_subsequences_kernel(S, p=k)",
     "FixedLengthSubsequences(k)",
     lambda m: (m.fixed_length_subsequences_kernel(STRINGS, STRINGS, p=2),
                FixedLengthSubsequences(2)(STRINGS))),
    ("mklpy", "MKLpy.metrics.pairwise", "all_subsequences_kernel(S)", "AllSubsequences()",
     lambda m: (m.all_subsequences_kernel(STRINGS, STRINGS), AllSubsequences()(STRINGS))),
    ("mklpy", "MKLpy.preprocessing", "kernel_normalization(K)", "k.normalised()",
     lambda m: (m.kernel_normalization(pytest.importorskip("torch").tensor(Polynomial()(ROWS))),
                Polynomial().normalised()(ROWS))),
    ("mklpy", "MKLpy.preprocessing", "kernel_centering(K)", "Centred(k)",
     lambda m: (m.kernel_centering(pytest.importorskip("torch").tensor(Polynomial()(ROWS))),
                Centred(Polynomial()).bind(ROWS)(ROWS))),
    ("scikit_learn", "sklearn.gaussian_process.kernels", "RBF(l)", "RBF(1 / (2 * l**2))",
     lambda m: (m.RBF(1.5)(ROWS), RBF(1 / (2 * 1.5**2))(ROWS))),
    ("scikit_learn", "sklearn.gaussian_process.kernels", "Matern(l, nu)", "Matern(nu, l)",
     lambda m: (m.Matern(2.0, nu=2.5)(ROWS), Matern(2.5, 2.0)(ROWS))),
    ("scikit_learn", "sklearn.gaussian_process.kernels", "RationalQuadratic", "RationalQuadratic",
     lambda m: (m.RationalQuadratic(2.0, 0.7)(ROWS), RationalQuadratic(0.7, 2.0)(ROWS))),
    ("scikit_learn", "sklearn.metrics.pairwise", 'pairwise_kernels(X, Z, "rbf")',
     "RBF(gamma)(X, Z)",
     lambda m: (m.pairwise_kernels(ROWS, ROWS[:3], "rbf", gamma=0.3), RBF(0.3)(ROWS, ROWS[:3]))),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:__array_wrap__", "ignore:The use of `x.T`")
@pytest.mark.parametrize(
    ("page", "module", "theirs", "ours", "both"), CLAIMS, ids=[claim[2] for claim in CLAIMS]
)
def test_both_sides_of_a_row_have_the_same_numbers(page, module, theirs, ours, both):
    text = (FOLDER / f"{page}.rst").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if theirs in line and ours in line]
    assert len([row for row in rows if not row.startswith((">>>", "..."))]) == 1
    first, second = both(pytest.importorskip(module))
    assert_allclose(np.asarray(first, float), second, rtol=1e-4, atol=1e-4)


def test_soft_dtw_without_its_normalisation_is_another_number():
    metrics = pytest.importorskip("tslearn.metrics")
    raw = metrics.cdist_soft_dtw(SERIES, gamma=0.5)
    assert raw[0, 0] < 0
    assert np.abs(raw - SoftDTW(0.5)(SERIES)).max() > 1


def test_gowers_distance_is_that_of_the_package_gower():
    gower = pytest.importorskip("gower")
    table = frame()
    assert_allclose(gower.gower_matrix(table), Mixed.gower(table)(table), atol=1e-6)


def test_estimates_of_minhash_have_the_error_of_datasketch():
    """The error of m hashes is about (J (1 - J) / m) ** 0.5 in both; the numbers differ."""
    datasketch = pytest.importorskip("datasketch")
    from mercer import MinHash

    A, B = set(range(60)), set(range(30, 90))
    theirs = [datasketch.MinHash(1024) for _ in range(2)]
    for sketch, items in zip(theirs, (A, B)):
        sketch.update_batch([str(item).encode() for item in items])
    S = MinHash(1024).fit_transform([A, B])
    assert abs(np.mean(S[0] == S[1]) - 1 / 3) < 0.05
    assert abs(theirs[0].jaccard(theirs[1]) - 1 / 3) < 0.05


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.rst")), ids=lambda path: path.stem)
def test_a_page_says_what_it_was_compared_with(path):
    if path.stem != "index":
        text = path.read_text(encoding="utf-8")
        assert re.search(r"compared with [\w-]+ [\d.]*\d|in Splink 5|\(commit \w+", text, re.I)
