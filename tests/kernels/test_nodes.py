"""Kernels between nodes: small and large graphs agree, row sums, bounds, and learners on them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.sparse.linalg import expm_multiply
from sklearn.base import clone

import mercer
from mercer import SVC, KernelKMeans, KernelPCA, KernelRidge, KernelRidgeClassifier
from mercer.gram import MultipliedGram, combined, gram
from mercer.kernels import Diffusion, GramProducts, PStepWalk, RegularisedLaplacian, nodes
from mercer.samples import NodeGraph
from mercer.testing import GramContract

RNG = np.random.default_rng(0)


def network(n=80, seed=0, share=0.08):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.uniform(0.2, 2, (n, n)) * (rng.random((n, n)) < share), 1)
    A[5] = A[:, 5] = 0  # a node without edges
    return A + A.T


A = network()
GRAPH = NodeGraph.of(A)
EVERY = np.arange(80.0)[:, None]
FORMS = ("plain", "normalised")
KERNELS = [
    kernel
    for form in FORMS
    for kernel in (
        Diffusion(GRAPH, 0.7, form), Diffusion(GRAPH, 40.0, form), Diffusion(GRAPH, 0, form),
        RegularisedLaplacian(GRAPH, 2.0, form), RegularisedLaplacian(GRAPH, 300.0, form),
        RegularisedLaplacian(GRAPH, 0, form), PStepWalk(GRAPH, 1, laplacian=form),
        PStepWalk(GRAPH, 4, laplacian=form), PStepWalk(GRAPH, 3, 30.0, form),
    )
]  # fmt: skip


@pytest.fixture
def large(monkeypatch):
    """Small graphs are taken as if they were large."""
    monkeypatch.setattr(nodes, "SMALL", 1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_polynomials_are_the_functions_of_eigenvalues(kernel, monkeypatch):
    wanted = kernel(EVERY)
    monkeypatch.setattr(nodes, "SMALL", 1)
    assert_allclose(kernel(EVERY), wanted, atol=2e-14)
    X = kernel.encode(EVERY)
    K = gram(kernel, X, X[3:30])
    assert isinstance(K, MultipliedGram)
    V = RNG.normal(size=(27, 5))
    assert_allclose(K @ V, wanted[:, 3:30] @ V, atol=1e-13)
    assert_allclose(kernel.diag(X), wanted.diagonal(), atol=2e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_sum_to_one_and_lonely_nodes_are_alone(kernel):
    K = kernel(EVERY)
    assert_allclose(K[5], np.eye(80)[5], atol=1e-14)
    assert np.linalg.eigvalsh(K)[0] > -1e-14
    if kernel.laplacian == "plain":
        assert_allclose(K.sum(axis=1), 1, rtol=1e-12)
        assert K.min() > -1e-14


def test_diffusion_is_that_of_scipy(large):
    own, shared = GRAPH.laplacian()
    L = sp.diags_array(own) - shared
    V = RNG.normal(size=(80, 3))
    X = Diffusion(GRAPH, 3.0).encode(EVERY)
    assert_allclose(gram(Diffusion(GRAPH, 3.0), X) @ V, expm_multiply(-3.0 * L, V), atol=1e-12)
    assert_allclose(Diffusion(GRAPH, 3.0)(EVERY), expm(-3.0 * L.toarray()), atol=1e-13)


@pytest.mark.parametrize(
    "kernel", [Diffusion(GRAPH), RegularisedLaplacian(GRAPH), PStepWalk(GRAPH)]
)
class TestMultipliedGram(GramContract):
    @pytest.fixture(params=["all", "some", "float32", "held"])
    def pair(self, kernel, request, large, monkeypatch):
        if request.param != "held":
            monkeypatch.setattr(combined, "FEW", 0)
        monkeypatch.setattr(combined, "MOST", 3)
        X = kernel.encode(EVERY.astype(np.float32) if request.param == "float32" else EVERY)
        Z = kernel.encode(EVERY[[4, 70, 4, 5, 6, 7, 8, 11]]) if request.param == "some" else X
        K = gram(kernel, X, Z)
        assert isinstance(K, MultipliedGram)
        assert ("dense" in K.cheap) == (request.param == "held")
        return K, kernel.block(X, Z)


def test_products_of_a_users_own_matrix():
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    rows = np.array([1, 0, 1])
    K = MultipliedGram(GramProducts(lambda V: M @ V, 2, rows, rows, 8.0), np.float64)
    assert_allclose(K.dense(), M[rows][:, rows])
    assert_allclose(K.part(np.array([2, 1])).dense(), M[[1, 0]][:, [1, 0]])
    assert_allclose(K.part(np.array([1]), np.array([0, 2])).T.dense(), [[1.0], [1.0]])


# --- learners -----------------------------------------------------------------------------------


def two_parts(n=300, seed=1):
    """A graph of two parts with some edges between them, and the part of each node."""
    rng = np.random.default_rng(seed)
    side = np.arange(n) % 2
    share = np.where(side[:, None] == side, 0.05, 0.004)
    B = np.triu(rng.random((n, n)) < share, 1)
    return sp.csr_array(B | B.T).astype(float), side


PARTS, SIDE = two_parts()
X = np.arange(300)[:, None]
SOME = np.arange(0, 300, 7)
REST = np.setdiff1d(np.arange(300), SOME)


@pytest.mark.parametrize("kernel", [Diffusion(PARTS), RegularisedLaplacian(PARTS, 3.0)])
def test_conjugate_gradients_on_a_large_graph(kernel, monkeypatch):
    exact = KernelRidge(0.1, kernel=kernel).fit(X[SOME], SIDE[SOME])
    monkeypatch.setattr(nodes, "SMALL", 1)
    monkeypatch.setattr(combined, "FEW", 0)
    assert exact.solver_ == "cholesky"
    for solver in ("auto", "conjugate_gradient"):
        model = KernelRidge(0.1, kernel=kernel, tol=1e-10, solver=solver).fit(X[SOME], SIDE[SOME])
        assert model.solver_ == "conjugate_gradient"
        assert_allclose(model.dual_coef_, exact.dual_coef_, atol=1e-8)
        assert_allclose(model.predict(X[REST]), exact.predict(X[REST]), atol=1e-8)
    machine = KernelRidgeClassifier(0.1, kernel=kernel).fit(X[SOME], SIDE[SOME])
    assert machine.score(X[REST], SIDE[REST]) > 0.85


def test_more_rows_than_for_an_exact_fit_are_multiplied(large, monkeypatch):
    from mercer.learners import base

    monkeypatch.setattr(combined, "FEW", 0)
    limits = base.LIMITS["ridge"]._replace(exact_rows=10)
    monkeypatch.setitem(base.LIMITS, "ridge", limits)
    model = KernelRidge(0.1, kernel=Diffusion(PARTS)).fit(X[SOME], SIDE[SOME])
    assert model.solver_ == "conjugate_gradient"
    other = KernelRidge(0.1, kernel=Diffusion(PARTS), solver="low_rank", rank=20, random_state=0)
    assert other.fit(X[SOME], SIDE[SOME]).score(X[REST], SIDE[REST]) > 0.2


def test_components_and_clusters_on_a_large_graph(monkeypatch):
    kernel = Diffusion(PARTS)
    exact = KernelPCA(3, kernel=kernel).fit(X)
    labels = KernelKMeans(2, kernel=kernel, random_state=0).fit(X)
    monkeypatch.setattr(nodes, "SMALL", 1)
    monkeypatch.setattr(combined, "FEW", 0)
    model = KernelPCA(3, kernel=kernel, eigen_solver="krylov", random_state=0).fit(X)
    assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-5)
    found = KernelKMeans(2, kernel=kernel, random_state=0).fit(X)
    assert found.gram_.startswith("MultipliedGram")
    assert found.inertia_ == pytest.approx(labels.inertia_, rel=0.2)
    assert (found.predict(X) == found.labels_).all()
    assert max((found.labels_ == SIDE).mean(), (found.labels_ != SIDE).mean()) > 0.9


def test_support_vectors_on_few_nodes_of_a_large_graph(monkeypatch):
    kernel = RegularisedLaplacian(PARTS, 3.0)
    small = SVC(kernel=kernel).fit(X[SOME], SIDE[SOME])
    monkeypatch.setattr(nodes, "SMALL", 1)
    model = SVC(kernel=kernel).fit(X[SOME], SIDE[SOME])
    assert_allclose(model.decision_function(X), small.decision_function(X), atol=1e-3)
    monkeypatch.setattr(combined, "FEW", 0)
    with pytest.raises(TypeError, match=r"'rows'.*not cheap for MultipliedGram"):
        SVC(kernel=kernel).fit(X[SOME], SIDE[SOME])


def test_a_saved_model_has_the_graph(tmp_path):
    model = KernelRidge(0.1, kernel=Diffusion(PARTS)).fit(X[SOME], SIDE[SOME])
    mercer.save(model, tmp_path / "nodes.mercer")
    again = mercer.load(tmp_path / "nodes.mercer")
    assert_allclose(again.predict(X[REST]), model.predict(X[REST]))
    assert (tmp_path / "nodes.mercer").stat().st_size < 100_000  # no eigenvectors


def test_copies_share_what_is_known_of_the_graph():
    graph = NodeGraph.of(PARTS)
    kernel = Diffusion(graph)
    kernel(X[:3])
    assert clone(kernel).graph is graph
    assert clone(kernel).graph.eigenpairs()[0] is graph.eigenpairs()[0]
    summed = Diffusion(graph) + 2 * RegularisedLaplacian(graph)
    assert_allclose(summed(X[:9]), kernel(X[:9]) + 2 * RegularisedLaplacian(graph)(X[:9]))


@pytest.mark.parametrize("large_graph", [False, True])
@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([[0.5]], r"X\[0\] is 0.5, but the graph has the nodes 0 to 79"),
        ([[0], [80]], r"X\[1\] is 80"),
        ([[-1]], r"X\[0\] is -1"),
        ([[0, 1]], "X has 2 columns: a sample is the number of a node"),
        ([["a"]], "X holds the text 'a'"),
        ([[np.nan]], "NaN"),
    ],
)
def test_other_samples_are_refused(samples, said, large_graph, monkeypatch):
    if large_graph:
        monkeypatch.setattr(nodes, "SMALL", 1)
    with pytest.raises((ValueError, TypeError), match=said):
        Diffusion(GRAPH)(samples)
    if said.startswith(r"X\["):
        model = KernelRidge(kernel=Diffusion(GRAPH)).fit(EVERY[:5], np.ones(5))
        with pytest.raises(ValueError, match=said):
            model.predict(samples)


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (Diffusion(A, -1), "beta=-1"),
        (Diffusion(A, "1"), "beta='1'"),
        (Diffusion(A, np.inf), "beta=inf"),
        (Diffusion(A, laplacian="signed"), "laplacian='signed': give \"plain\""),
        (PStepWalk(A, 0), "steps=0"),
        (PStepWalk(A, 1.5), "steps=1.5"),
        (PStepWalk(A, shift=0), "shift=0"),
        (PStepWalk(A, 3, 2.0), "shift=2.0 is below .*the largest eigenvalue"),
        (PStepWalk(A, 3, 1.0, "normalised"), "shift=1.0 is below 2"),
    ],
)
@pytest.mark.parametrize("large_graph", [False, True])
def test_wrong_parameters(kernel, said, large_graph, monkeypatch):
    if large_graph:
        monkeypatch.setattr(nodes, "SMALL", 1)
    with pytest.raises((ValueError, TypeError), match=said):
        kernel(EVERY)


def test_a_beta_beyond_all_polynomials_is_refused(large):
    for kernel in (RegularisedLaplacian(A, 1e9), Diffusion(A, 1e9)):
        with pytest.raises(ValueError, match=r"beta=1e\+09 is too large for this graph"):
            kernel(EVERY)
    assert np.isfinite(PStepWalk(A, 50, 1e300)(EVERY)).all()
