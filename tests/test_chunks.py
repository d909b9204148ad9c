"""Every loop over chunks runs more than once here, and gives what one chunk gives.

Other tests use small samples, which fit into one tile or strip of the usual size, so that an error
at the seam between two would be seen by users first. The sizes are module constants. Here they are
made small, and what is computed is compared with what was computed before. The last test fails if
a size is made small in no test.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cases
import mercer
import mercer.learners.perceptrons.perceptron
from mercer import search
from mercer.dedup import signing
from mercer.distances import Minkowski, comparison, products
from mercer.gram import DenseGram, TiledGram, build, gram, lapack, low_rank, operator
from mercer.gram.operator import MatrixPart
from mercer.kernels import (
    RBF,
    Centred,
    ExponentialPower,
    Kernel,
    Linear,
    Mismatch,
    Precomputed,
    RandomWalk,
    Spectrum,
    WeisfeilerLehman,
    key_counts,
    kmer_counts,
    transforms,
    walks,
)
from mercer.kernels.additive import bins
from mercer.learners.features import nystroem, random_features
from mercer.learners.neighbourhoods import answers
from mercer.learners.neighbours import local_process
from mercer.learners.perceptrons import kernel_perceptron
from mercer.learners.windows import learnt_width, window_learner
from mercer.search import files
from mercer.solvers import EigenSolver, smo
from mercer.solvers.additive import row_design
from mercer.solvers.linear import linear_rows
from mercer.solvers.ridge import eigenpairs
from mercer.solvers.ridge.ridge_system import RidgeSystem
from mercer.solvers.rows import by_operator, row_source

RNG = np.random.default_rng(0)
X, Z, V = RNG.normal(size=(90, 3)), RNG.normal(size=(41, 3)), RNG.normal(size=(90, 2))
ROOT = 1e-7  # of a squared distance that rounds to 1e-15 instead of 0


@pytest.fixture
def small(monkeypatch):
    """Sets sizes: small(module, EDGE=5)."""

    def set_sizes(module, **sizes):
        for name, size in sizes.items():
            assert getattr(module, name) > size
            monkeypatch.setattr(module, name, size)

    return set_sizes


# --- all kernels and distances ----------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("case", [*cases.KERNELS, *cases.DISTANCES], ids=cases.name)
def test_a_matrix_of_many_tiles_is_that_of_one(case, jobs, small):
    compared, samples = case
    A = compared.encode(samples)
    bound = compared.bind(A)
    few = A[1:8]
    square, rectangle = bound.whole(A, A, jobs), bound.whole(few, A, jobs)
    small(comparison, EDGE=3, LARGE=4)
    assert_allclose(bound.whole(A, A, jobs), square, rtol=1e-10, atol=ROOT)
    assert_allclose(bound.whole(few, A, jobs), rectangle, rtol=1e-10, atol=ROOT)


@pytest.mark.parametrize("case", cases.KERNELS, ids=cases.name)
def test_products_and_rows_of_many_tiles_are_those_of_one(case, small):
    kernel, samples = case
    A = kernel.encode(samples)
    n = A.shape[0]
    bound = kernel.bind(A)
    B, v, some = A[1:9], V[:n], [2, 0, 1]
    # a squared distance of 1e-16 has a fourth root of 1e-4
    atol = 1e-3 if isinstance(kernel, ExponentialPower) else ROOT
    wanted = [gram(bound, A), gram(bound, A, B), gram(bound, B, A)]
    wanted = [(K.dense(), K @ v[: K.shape[1]], K.rows(some), K.diag()) for K in wanted]
    small(operator, EDGE=4, STRIP=2)
    small(build, STRIP=3, WIDE=6)
    small(low_rank, PRODUCT=4)
    for K, (dense, product, rows, diagonal) in zip(
        (gram(bound, A), gram(bound, A, B), gram(bound, B, A)), wanted
    ):
        assert_allclose(K @ v[: K.shape[1]], product, rtol=1e-9, atol=atol)
        assert_allclose(K.rows(some), rows, rtol=1e-9, atol=atol)
        assert_allclose(K.rows(some), dense[some], rtol=1e-9, atol=atol)
        assert_allclose(K.diag(), diagonal, rtol=1e-9, atol=atol)
        assert_allclose(diagonal, dense.diagonal(), rtol=1e-9, atol=atol)


# --- single loops -----------------------------------------------------------------------------


def test_visits_of_few_samples_make_the_same_perceptron(small):
    rng = np.random.default_rng(4)
    A = rng.normal(size=(150, 3))
    y = np.where(A[:, 0] * A[:, 1] > 0, 1, -1)

    def fitted():
        model = mercer.KernelPerceptron(kernel="rbf", max_iter=4, tol=None, random_state=0)
        return model.fit(A, y).decision_function(A)

    wanted = fitted()
    small(smo.kernel_perceptron, BLOCK=7, SMALL=1)
    assert_allclose(fitted(), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("machine", [mercer.Perceptron, mercer.KernelPerceptron])
def test_votes_are_counted_by_strips(machine, small):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(60, 3))
    model = machine(combine="vote", max_iter=3, tol=None).fit(A, np.sign(A[:, 0] + 0.5 * A[:, 1]))
    wanted = model.decision_function(A)
    small(kernel_perceptron, STRIP=7)
    small(mercer.learners.perceptrons.perceptron, STRIP=7)
    assert_array_equal(model.decision_function(A), wanted)


def test_centred_means_of_many_strips(small):
    new = Centred(RBF(0.5)).bind(X)
    K, diagonal = new.block(Z, X), new.diag(Z)
    small(transforms, STRIP=7)
    again = Centred(RBF(0.5)).bind(X)
    assert_allclose(again.block(Z, X), K, rtol=1e-12)
    assert_allclose(again.diag(Z), diagonal, rtol=1e-12)
    assert_allclose(again.block(X, X).sum(axis=0), 0, atol=1e-12)


def test_graphs_are_counted_and_taken_apart_in_strips(small):
    kernel, walk = WeisfeilerLehman(2), RandomWalk(0.01)
    graphs = kernel.encode(cases.graphs())
    F, K = kernel.features(graphs), walk.block(graphs, graphs)
    small(key_counts, STRIP=3)
    small(walks, BATCH=40)
    assert_array_equal(kernel.features(graphs).toarray(), F.toarray())
    assert_allclose(walk.block(graphs, graphs), K, rtol=1e-12)


class PlainDot(Kernel):
    """Without a diagonal of its own."""

    def block(self, X, Z):
        return X @ Z.T


@pytest.mark.parametrize("n", [63, 64, 65, 128, 200])
def test_the_diagonal_of_many_strips(n):
    A = RNG.normal(size=(n, 2))
    assert_allclose(PlainDot().diag(A), (A**2).sum(axis=1))
    assert_allclose(TiledGram(PlainDot(), A, RNG.normal(size=(n + 3, 2))[:n]).diag().shape, n)
    B = RNG.normal(size=(n + 5, 2))
    assert_allclose(TiledGram(PlainDot(), A, B).diag(), (A * B[:n]).sum(axis=1))


@pytest.mark.parametrize("n", [127, 128, 129, 300])
def test_a_mirrored_matrix_of_many_squares(n):
    K = RNG.normal(size=(n, n))
    upper = np.triu(K)
    assert_array_equal(products.mirrored(K.copy()), upper + np.triu(K, 1).T)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_function_of_many_strips(small, jobs):
    small(products, STRIP=7 * 8 * 3)
    assert_array_equal(products.by_strips(X, np.square, np.float64, jobs), X**2)


@pytest.mark.parametrize("cost", [1.0, 1e9])
def test_rows_of_costly_pairs(small, cost):
    K = gram(RBF(0.5), X, Z)
    rows = K.rows([4, 2])
    K.cost = cost
    small(build, STRIP=5, WIDE=8, WORK=100.0)
    assert_allclose(K.rows([4, 2]), rows, rtol=1e-12)


def test_a_weighted_system_of_many_strips(small):
    K, w = gram(RBF(0.5), X), np.linspace(0.5, 2, len(X))
    whole = RidgeSystem(K, w).norm(0.1)
    narrow = DenseGram(K.dense().astype(np.float32))
    product = narrow.wide_product(X)
    small(operator, WIDENED=7)
    assert_allclose(RidgeSystem(K, w).norm(0.1), whole, rtol=1e-12)
    assert_allclose(narrow.wide_product(X), product, rtol=1e-12)


def test_leave_one_out_of_many_strips(small):
    factor, y = EigenSolver().factorise(gram(RBF(0.5), X)), X[:, 0]
    left_out = factor.leave_one_out(y, np.array([0.1, 1.0]))
    small(eigenpairs, STRIP=7)
    assert_allclose(factor.leave_one_out(y, np.array([0.1, 1.0])), left_out, rtol=1e-12)


def test_a_factor_of_many_strips(small):
    K = gram(RBF(0.5), X)
    one = low_rank.pivoted_cholesky(K, 20, random_state=0)
    product, diagonal = one @ V, one.diag()
    small(low_rank, STRIP=7)
    small(low_rank, PRODUCT=11)
    many = low_rank.pivoted_cholesky(K, 20, random_state=0)
    assert_array_equal(many.centres, one.centres)
    assert_allclose(many.F, one.F, atol=1e-12)
    lazy = low_rank.LowRankGram(one.centres, one.L, K=K)
    for factor in (many, lazy):
        assert_allclose(factor @ V, product, atol=1e-8)
        assert_allclose(factor.diag(), diagonal, atol=1e-8)
        assert_allclose(factor.project(one.L[0]), one.F @ one.L[0], atol=1e-8)
        assert_allclose(factor.combine(slice(None), V[:, 0]), one.F.T @ V[:, 0], atol=1e-8)


def test_features_of_many_strips(small):
    K = gram(Linear(), X)
    w, coef = RNG.normal(size=3), V[:, 0]
    wanted = X @ w, X.T @ coef
    small(low_rank, PRODUCT=7)
    K = gram(Linear(), X)
    assert len(list(K.strips())) == 13
    assert_allclose(K.project(w), wanted[0])
    assert_allclose(K.combine(np.arange(90), coef), wanted[1])


@pytest.mark.parametrize("runs", [0, 90])
def test_a_part_of_a_matrix_of_many_strips(small, monkeypatch, runs):
    K = RNG.normal(size=(90, 90))
    i, j = RNG.permutation(90)[:50], np.delete(np.arange(90), [3, 4, 40, 77])
    monkeypatch.setattr(operator, "RUNS", runs)
    small(operator, STRIP=7)
    part = MatrixPart(K, i, j)
    assert_array_equal(part.dense(), K[np.ix_(i, j)])
    assert_allclose(part @ V[: len(j)], K[np.ix_(i, j)] @ V[: len(j)])
    assert_array_equal(part.block(slice(3, 30), [5, 1]), K[np.ix_(i[3:30], j[[5, 1]])])


@pytest.mark.parametrize("place", [(0, 1), (300, 2), (599, 598), (255, 256)])
def test_an_asymmetry_is_found_in_whichever_strip(place):
    K = np.eye(600)
    K[place] = 0.5
    with pytest.raises(ValueError, match=r"not symmetric: K\[\d+, \d+\]") as error:
        Precomputed().encode(K)
    found = [int(number) for number in re.findall(r"K\[(\d+), (\d+)\]", str(error.value))[0]]
    assert sorted(found) == sorted(place)


def test_wide_products_of_many_strips():
    K = RNG.normal(size=(1100, 5)).astype(np.float32)
    v = RNG.normal(size=5)
    assert_allclose(DenseGram(K).wide_product(v), K.astype(np.float64) @ v, rtol=1e-14)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_condition_is_that_of_all_strips(small, jobs):
    A = np.asfortranarray(X @ X.T + np.eye(90))
    wanted = np.abs(A).sum(axis=0).max()
    small(lapack, STRIP=7)
    assert_allclose(lapack._largest_sum(A, jobs), wanted, rtol=1e-14)


@pytest.mark.parametrize("jobs", [1, 2])
def test_normal_equations_of_many_blocks(small, jobs):
    h = RNG.normal(size=90) * (RNG.uniform(size=90) > 0.3)
    small(linear_rows, GRAM_ROWS=7)
    rows = linear_rows.LinearRows(X, 1.0, jobs)
    A = np.c_[X, np.ones(90)]
    assert_allclose(np.tril(rows.gram(h)), np.tril(A.T @ (h[:, None] * A)))


@pytest.mark.parametrize("kernel", [Spectrum(5, shortest=1), Mismatch(4, 1)], ids=cases.name)
@pytest.mark.parametrize(("dense", "kept"), [(40, 2**27), (2**23, 300), (40, 300)])
def test_kmers_in_many_tables(monkeypatch, kernel, dense, kept):
    A = kernel.encode(cases.dna(40))
    K = kernel.block(A, A)
    monkeypatch.setattr(kmer_counts, "DENSE", dense)
    monkeypatch.setattr(kmer_counts, "KEPT", kept)
    assert_allclose(kernel.block(*kernel.sides(A, A)), K, rtol=1e-12)


def test_scattered_rows_of_many_strips(small):
    """A cache of few rows, whose free places are not next to each other."""
    n = 700
    A = RNG.normal(size=(n, 2))
    small(by_operator, TILE=256)
    small(by_operator, SMALL=10)
    K = gram(RBF(0.5), A)
    dense = K.dense()
    rows = row_source(K, 8 * 6 * n, 0.0, 1)
    for wanted in ([0, 1, 2, 3], [0, 2, 9, 8], [1, 9, 5, 699], [3, 4, 650, 0]):
        slots = rows.fetch(np.array(wanted))
        assert_allclose(rows.values[slots], dense[wanted], rtol=1e-12)


def test_files_written_and_read_in_many_steps(small, tmp_path):
    index = search.BruteForce(Minkowski()).fit(RNG.normal(size=(3000, 4)))
    wanted = index.query(Z @ np.eye(3, 4), 3)
    small(files, STEP=1000)
    index.save(tmp_path / "index.mercer")
    found = search.Index.load(tmp_path / "index.mercer", check=True).query(Z @ np.eye(3, 4), 3)
    for one, two in zip(found, wanted):
        assert_array_equal(one, two)


TARGET = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
WORDS = [" ".join(RNG.choice(list("abcd"), 5)) for _ in range(60)]


def fewer_documents():
    return mercer.deduplicate(WORDS, threshold=0.6).partners


@pytest.mark.parametrize(
    ("module", "size", "few", "answer"),
    [
        (row_design, "STRIP", 7, lambda: mercer.AdditiveRegressor(pairs=[(1, 2)]).fit(X, TARGET)
         .predict(Z)),
        (bins, "STRIP", 7, lambda: mercer.AdditiveRegressor(pairs=0).fit(X, TARGET).predict(Z)),
        (local_process, "STRIP", 7, lambda: mercer.NeighbourGaussianProcess(random_state=0)
         .fit(X, TARGET).predict(Z)),
        (nystroem, "STRIP", 50, lambda: mercer.Nystroem(
            RBF(0.5), n_components=9, random_state=0).fit_transform(X)),
        (random_features, "STRIP", 50, lambda: mercer.RandomFeatures(
            RBF(0.5), n_components=9, random_state=0).fit_transform(X)),
        (answers, "BLOCK", 500, lambda: mercer.NeighbourhoodMachineRegressor(
            steps=3, random_state=0).fit(X, TARGET).reasons(Z).rows),
        (answers, "PAIRS", 30, lambda: mercer.NeighbourhoodMachineRegressor(
            steps=3, n_neighbors=9, random_state=0).fit(X, TARGET).predict(Z)),
        (window_learner, "BLOCK", 500, lambda: mercer.NadarayaWatson().fit(X, TARGET).shares(Z)),
        (learnt_width, "STRIP", 7, lambda: mercer.NadarayaWatson("learnt").fit(X, TARGET)
         .predict(Z)),
        (signing, "BLOCK", 7, fewer_documents),
    ],
    ids=lambda given: getattr(given, "__name__", None),
)  # fmt: skip
def test_learners_of_many_strips(monkeypatch, module, size, few, answer):
    wanted = answer()
    assert getattr(module, size) > few
    monkeypatch.setattr(module, size, few)
    found = np.asarray(answer(), float)
    # conjugate gradients of the additive model stop at 1e-5, and so does the descent of widths
    near = 1e-3 if module in (row_design, learnt_width) else 1e-6
    assert_allclose(found, np.asarray(wanted, float), atol=near)


SIZES = re.compile("STRIP|STEP|EDGE|TILE|BLOCK|PANEL|PASSING|WIDE|GRAM_ROWS|DENSE|KEPT|BUDGET")
EXCEPTIONS = {
    "mercer.distances.products.BLOCK": "test_mapped_rows in tests/search/test_vectors.py has more",
    "mercer.search.rows.EDGE": "tiles_of in tests/search/test_brute.py sets it",
    "mercer.kernels.subsequences.STRIP": "the cost of a short string, by which no loop is cut",
}


def test_every_size_of_chunks_is_made_small_in_a_test():
    tests = "\n".join(p.read_text() for p in Path(__file__).parent.rglob("test_*.py"))
    texts = {str(p): p.read_text() for p in Path(mercer.__file__).parent.rglob("*.py")}
    for path, text in texts.items():
        module = "mercer" + path.rpartition("mercer")[2][:-3].replace("/", ".")
        for name in re.findall(r"^([A-Z_]+) = ", text, re.MULTILINE):
            if SIZES.fullmatch(name) and f"{module}.{name}" not in EXCEPTIONS:
                imported = rf"from {re.escape(module)} import .*\b{name}\b"
                holders = [p for p in texts if p == path or re.search(imported, texts[p])]
                used = "|".join(rf'\b{Path(p).stem}(, ".*?|, .*|\.){name}\b' for p in holders)
                assert re.search(used, tests), f"{module}.{name} is made small in no test"
