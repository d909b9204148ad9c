"""Kernels on graphs beyond the contract: new graphs, features, edge labels, directions, bounds."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment

import cases
import oracles
from mercer import SVC, LinearSVC
from mercer.kernels import (
    Graphlets,
    Propagation,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    WLOptimalAssignment,
    check_mercer,
    graph_counts,
    key_counts,
)
from mercer.samples import graphs_of

COUNTING = [VertexHistogram(), WeisfeilerLehman(3), WLOptimalAssignment(2), ShortestPath(),
            Propagation(2)]  # fmt: skip
ids = {"ids": lambda each: type(each).__name__}


def random_graph(n, seed, share=0.3, labels="CNO"):
    rng = np.random.default_rng(seed)
    edges = [e for e in itertools.combinations(range(n), 2) if rng.random() < share]
    return n, edges, rng.choice(list(labels), n).tolist()


GRAPHS = [random_graph(4 + i % 7, i) for i in range(30)]


@pytest.mark.parametrize("kernel", COUNTING, **ids)
def test_new_graphs_change_nothing_of_the_others(kernel):
    """Fit then transform is a part of the Gram matrix of all; k(x, x) counts unseen colours."""
    whole = kernel(GRAPHS)
    assert_array_equal(kernel(GRAPHS[20:], GRAPHS[:20]), whole[20:, :20])
    training = kernel.encode(GRAPHS[:20])
    new = kernel.encode(GRAPHS[20:], like=training)
    assert_array_equal(kernel.diag(new), whole.diagonal()[20:])


@pytest.mark.parametrize("kernel", COUNTING, **ids)
def test_features_have_the_columns_of_the_vocabulary(kernel):
    training, new = GRAPHS[:20], GRAPHS[20:]
    by_graphs = kernel.copied(vocabulary=training)
    by_numbers = kernel.copied(vocabulary=kernel.columns_of(training))
    F, G = (by_graphs.features(kernel.encode(X)) for X in (training, new))
    assert_allclose((G @ F.T).toarray(), kernel(new, training))
    assert sp.issparse(F)
    assert_array_equal(F.toarray(), by_numbers.features(kernel.encode(training)).toarray())
    assert_array_equal(G.toarray(), by_numbers.features(kernel.encode(new)).toarray())


@pytest.mark.parametrize("kernel", COUNTING, **ids)
def test_folded_features_are_right_in_the_mean(kernel, monkeypatch):
    X = kernel.encode(GRAPHS)
    F = kernel.features(X, width=2**20)
    assert F.shape == (30, 2**20)
    assert_allclose((F @ F.T).toarray(), kernel(GRAPHS), rtol=0.2, atol=3)
    monkeypatch.setattr(key_counts, "STRIP", 7)
    assert_array_equal(kernel.features(X, width=64).toarray(), folded(kernel, X))
    with pytest.raises(ValueError, match="width=0"):
        kernel.features(X, width=0)


def folded(kernel, X):
    return np.concatenate([kernel.features(X[i : i + 1], width=64).toarray() for i in range(30)])


def test_a_linear_machine_on_features_is_the_kernel_machine():
    y = np.array([len(edges) > n for n, edges, _ in GRAPHS])
    kernel = WeisfeilerLehman(2)
    F = kernel.features(kernel.encode(GRAPHS))
    linear = LinearSVC(C=1, loss="hinge", tol=1e-8).fit(F, y)
    assert (
        linear.predict(F) == SVC(kernel=kernel, C=1).fit(GRAPHS, y).predict(GRAPHS)
    ).mean() > 0.9


def test_assignment_is_the_best_matching_of_nodes():
    """Kriege 2016: two nodes are as similar as rounds in which they have the same colour."""
    kernel = WLOptimalAssignment(3)
    for g, h in itertools.combinations(GRAPHS[:8], 2):
        rounds = [graph_counts.colours(kernel.encode([x]), 3) for x in (g, h)]
        same = (rounds[0][:, :, None] == rounds[1][:, None]).sum(axis=0)
        i, j = linear_sum_assignment(-same)
        assert kernel([g], [h])[0, 0] == same[i, j].sum()


def test_labels_of_edges_and_directions_are_read():
    single, double = (2, [(0, 1)], None, [1]), (2, [(0, 1)], None, [2])
    K = WeisfeilerLehman(1)([single, double])
    assert_array_equal(K, [[8, 4], [4, 8]])
    chain = graphs_of([3, 3, 3], [(0, 1), (1, 2), (4, 3), (5, 4), (6, 7), (8, 7)], directed=True)
    K = WeisfeilerLehman(2).block(chain, chain)
    assert K[0, 1] == K[0, 0]  # numbered from the other end
    assert K[0, 2] < K[0, 0]  # both edges lead to the middle
    marked = graphs_of([2, 2], [(0, 1), (3, 2)], edge_labels=["a", "b"], directed=True)
    K = WeisfeilerLehman(1).block(marked, marked)
    assert_array_equal(K, [[6, 4], [4, 6]])
    lengths = ShortestPath().block(chain, chain)
    assert_array_equal(lengths, [[5, 5, 4], [5, 5, 4], [4, 4, 4]])
    assert_array_equal(Graphlets(3).features(chain), [[1, 0]] * 3)


def test_unseen_attributes_and_bins():
    rng = np.random.default_rng(0)
    sizes = np.full(10, 5)
    edges = [(5 * i + a, 5 * i + b) for i in range(10) for a, b in ((0, 1), (1, 2), (2, 3))]
    values = rng.normal(size=(50, 3))
    X = graphs_of(sizes, edges, attributes=values)
    for metric in ("l1", "l2"):
        kernel = Propagation(3, 0.5, metric)
        K = kernel.block(X, X)
        assert (np.linalg.eigvalsh(K) > -1e-9 * K.trace()).all()
        assert_array_equal(kernel.block(X[3:5], X[6:]), K[3:5, 6:])
        # more rounds only add, and other directions change the bins
        assert (Propagation(4, 0.5, metric).block(X, X) >= K).all()
        assert (Propagation(3, 0.5, metric, 1).block(X, X) != K).any()
        wide = Propagation(3, 1e9, metric).block(X, X)
        assert_array_equal(wide, np.full((10, 10), 100))
    with pytest.raises(ValueError, match=r"X has 2 attributes at each node, .* have 3"):
        kernel.encode(graphs_of([1], [], attributes=np.ones((1, 2))), like=X)
    with pytest.raises(ValueError, match="X has no attributes"):
        kernel.encode(graphs_of([1], []), like=X)


def test_walks_beyond_the_bound_are_refused():
    bound = RandomWalk().bind(RandomWalk().encode(GRAPHS)).decay / 0.9
    with pytest.raises(ValueError, match=r"is too large for X\[\d+\], .*: give less than"):
        RandomWalk(bound * 1.0001)(GRAPHS)
    assert check_mercer(RandomWalk(bound * 0.999), GRAPHS).positive_definite
    model = SVC(kernel=RandomWalk()).fit(GRAPHS, np.arange(30) % 2)
    clique = (12, list(itertools.combinations(range(12), 2)), ["C"] * 12)
    with pytest.raises(ValueError, match=r"too large for X\[1\], whose largest eigenvalue is 11"):
        model.predict([GRAPHS[0], clique])
    with pytest.raises(ValueError, match="learnt from the training sample"):
        RandomWalk().block(*[RandomWalk().encode(GRAPHS)] * 2)


@pytest.mark.parametrize("labels", [False, True])
def test_walks_equal_the_solution_of_the_product_graph(labels):
    kernel = RandomWalk(labels=labels)
    twin = oracles.block(oracles.kernel, kernel, GRAPHS[:12], GRAPHS[:12], GRAPHS[:12])
    assert_allclose(kernel(GRAPHS[:12]), twin, rtol=1e-12)
    long = RandomWalk(kernel.bind(kernel.encode(GRAPHS[:12])).decay, 400, labels)(GRAPHS[:12])
    assert_allclose(long, twin, rtol=1e-12)


def test_labels_of_edges_count_where_both_graphs_have_them():
    nodes, edges, labels = 3, [(0, 1), (1, 2)], ["C", "C", "O"]
    marked, plain = (nodes, edges, labels, ["s", "d"]), (nodes, edges, labels)
    other = (nodes, edges, labels, ["d", "s"])
    kernel = RandomWalk(0.1, labels=True)
    assert_allclose(kernel([marked], [plain]), kernel([plain], [plain]), rtol=1e-12)
    assert kernel([marked], [other]) < kernel([marked], [marked])


def test_walks_of_directed_graphs_follow_edges():
    X = graphs_of([3, 3], [(0, 1), (1, 2), (3, 4), (4, 5), (5, 3)], directed=True)
    chain, ring = np.eye(3, k=1), np.roll(np.eye(3), 1, axis=1)
    for steps in (None, 0, 1, 5):
        K = RandomWalk(0.5, steps).block(X, X)
        for (i, A), (j, B) in itertools.product(enumerate((chain, ring)), repeat=2):
            W, x = 0.5 * np.kron(A, B), np.ones(9)
            if steps is None:
                x = np.linalg.solve(np.eye(9) - W, x)
            for _ in range(steps or 0):
                x = 1 + W @ x
            assert_allclose(K[i, j], x.sum(), rtol=1e-12)
        assert_allclose(RandomWalk(0.5, steps).diag(X), K.diagonal(), rtol=1e-12)


def test_batches_of_one_size_and_single_precision(monkeypatch):
    from mercer.kernels import walks

    K = RandomWalk(0.02)(GRAPHS)
    monkeypatch.setattr(walks, "BATCH", 50)
    assert_allclose(RandomWalk(0.02)(GRAPHS), K, rtol=1e-12)
    X = RandomWalk().encode(GRAPHS).astype(np.float32)
    for kernel in (*COUNTING, Graphlets(), RandomWalk(0.02), RandomWalk(0.02, 2, True)):
        assert kernel.block(X, X).dtype == np.float32
        assert kernel.diag(X).dtype == np.float32


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (WeisfeilerLehman(-1), "rounds=-1"),
        (WeisfeilerLehman(1.5), "rounds=1.5"),
        (WLOptimalAssignment(True), "rounds=True"),
        (Graphlets(5), "size=5"),
        (Propagation(width=0), "width=0"),
        (Propagation(metric="tv"), "metric='tv'"),
        (Propagation(random_state=-1), "random_state=-1"),
        (RandomWalk(-0.1), "decay=-0.1"),
        (RandomWalk("best"), "decay='best'"),
        (RandomWalk(steps=-1), "steps=-1"),
        (RandomWalk(labels=1), "labels=1"),
    ],
)
def test_wrong_parameters_are_named(kernel, words):
    with pytest.raises((ValueError, TypeError), match=words):
        kernel(cases.graphs())
