"""One graph whose nodes are samples: the forms that are read, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels.laplacian_functions import largest_at_most
from mercer.persistence import check_fields
from mercer.samples import NodeGraph, graphs_of

EDGES = [(0, 1), (1, 2), (3, 1)]
A = np.zeros((5, 5))
for u, v in EDGES:
    A[u, v] = A[v, u] = 1


class Networkx:
    """What is read of a graph of networkx."""

    def __init__(self, edges, directed=False):
        self.adj = {}
        self.nodes, self.found, self.directed = Nodes("abcde"), edges, directed

    def edges(self, data):
        return [("abcde"[u], "abcde"[v], fields) for u, v, fields in self.found]

    def is_directed(self):
        return self.directed


class Nodes(list):
    def __call__(self, data):
        return [(node, {}) for node in self]


@pytest.mark.parametrize(
    "graph",
    [
        A,
        A.astype(bool),
        A.astype(np.float32),
        sp.csr_array(A),
        sp.coo_matrix(A),
        (5, EDGES),
        (5, [*EDGES, *[(v, u) for u, v in EDGES]]),
        (5, EDGES, list("abcde")),
        graphs_of([5], EDGES),
        Networkx([(u, v, {}) for u, v in EDGES]),
        A + np.diag([0, 0, 2.0, 0, 0]),  # loops are left out
    ],
    ids=lambda graph: type(graph).__name__,
)
def test_forms_of_one_graph(graph):
    found = NodeGraph.of(graph)
    assert_array_equal(found.weights.toarray(), A)
    assert NodeGraph.of(found) is found
    assert len(found) == 5
    assert repr(found) == "NodeGraph(5 nodes, 3 edges)"
    assert_array_equal(found.degrees, A.sum(axis=1))


def test_weights_are_read():
    weighed = Networkx([(0, 1, {"weight": 2}), (2, 1, {"weight": 0.5}), (3, 4, {}),
                        (0, 4, {"weight": 0})])  # fmt: skip
    W = NodeGraph.of(weighed).weights.toarray()
    assert W[0, 1] == W[1, 0] == 2
    assert (W[1, 2], W[3, 4], W[0, 4]) == (0.5, 1, 0)
    assert_array_equal(NodeGraph.of(W).weights.toarray(), W)
    with pytest.raises(TypeError, match="graph: edge 0 has the weight 'a': give a number"):
        NodeGraph.of(Networkx([(0, 1, {"weight": "a"})]))


@pytest.mark.parametrize(
    ("graph", "error", "said"),
    [
        (-A, ValueError, "the weight -1 between nodes 0 and 1"),
        (A * np.where(A == 1, np.nan, 1), ValueError, "the weight nan between nodes 0 and 1"),
        (np.where(A == 1, np.inf, 0), ValueError, "the weight inf between nodes 0 and 1"),
        (np.triu(A), ValueError, "not symmetric at nodes 0 and 1.*undirected"),
        (A[:3], ValueError, r"shape \(3, 5\)"),
        (np.zeros((0, 0)), ValueError, "no nodes"),
        ((0, []), ValueError, "no nodes"),
        ((3, [(0, 1), (0, 1)]), ValueError, "edge between nodes 0 and 1 twice"),
        ((3, [(0, 7)]), ValueError, r"the edge \(0, 7\) leads to a node that is not there"),
        (Networkx([(0, 1, {})], directed=True), ValueError, "graph is directed"),
        (graphs_of([2], [(0, 1)], directed=True), ValueError, "graph is directed"),
        (graphs_of([2, 1], [(0, 1)]), ValueError, "holds 2 graphs"),
        (A.astype(str), TypeError, "matrix of <U"),
        (None, TypeError, "graph is "),
        ("karate", TypeError, "graph is "),
        ([(0, 1)], TypeError, "graph is "),
        (np.ones(3), TypeError, "graph is "),
    ],
)
def test_other_graphs_are_refused(graph, error, said):
    with pytest.raises(error, match=said):
        NodeGraph.of(graph)


@pytest.mark.parametrize("form", ["plain", "normalised"])
def test_eigenpairs_are_kept_by_copies_and_not_by_files(form):
    graph = NodeGraph.of(A)
    values, vectors = graph.eigenpairs(form)
    own, shared = graph.laplacian(form)
    L = np.diag(own) - shared.toarray()
    assert_allclose(vectors * values @ vectors.T, L, atol=1e-14)
    assert copy.deepcopy(graph).eigenpairs(form)[0] is values
    other = pickle.loads(pickle.dumps(graph))
    assert_array_equal(other.weights.toarray(), A)
    assert other.eigenpairs(form)[0] is not values


def test_a_bound_of_the_largest_eigenvalue():
    rng = np.random.default_rng(0)
    for share in (0.02, 0.1, 0.5):
        M = np.triu(rng.random((60, 60)) * (rng.random((60, 60)) < share), 1)
        M, own = M + M.T, rng.random(60)
        wanted = np.linalg.eigvalsh(M + np.diag(own))[-1]
        assert wanted <= largest_at_most(own, sp.csr_array(M)) * (1 + 1e-12)
        assert largest_at_most(own, sp.csr_array(M)) < 1.2 * wanted
    assert largest_at_most(np.zeros(3), sp.csr_array((3, 3))) == 0
    star = np.zeros((50, 50))
    star[0, 1:] = star[1:, 0] = 1
    assert 7 - 1e-12 <= largest_at_most(np.zeros(50), sp.csr_array(star)) < 7.01


@pytest.mark.parametrize(
    "weights",
    [
        sp.csr_array(np.triu(A)),
        sp.csr_array(-A),
        sp.csr_array(A * np.float32(1), dtype=np.float32),
        sp.csr_array(np.where(A == 1, np.nan, 0)),
        sp.csr_array((0, 0)),
        sp.csr_array(A[:3]),
        sp.csc_array(A),
        A,
    ],
)
def test_files_with_wrong_weights_are_refused(weights):
    with pytest.raises(ValueError, match=r"NodeGraph\.weights"):
        check_fields([NodeGraph(weights)])
    check_fields([NodeGraph.of(A)])
