"""Graphs: what they are read from, which are refused, and arrays of many."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import cases
from mercer.kernels import WeisfeilerLehman
from mercer.samples import (
    as_samples,
    graphs_of,
    joined,
    kind_named,
    kind_of,
    kind_that_holds,
    row_numbers,
)


def encoded(X, like=None):
    return as_samples(X, "graphs", like=like, reader="WeisfeilerLehman")


#: of 1, "1", b"1" and (1,): saved models hold such numbers
KNOWN = [16490336266968443936, 6064584127301525897, 15779520396620607129, 7752569067750618784]
EDGES = [(0, 1), (1, 2), (2, 0), (2, 3)]
LABELS = ["C", "C", "O", "N"]
A = np.zeros((4, 4), int)
for u, v in EDGES:
    A[u, v] = A[v, u] = 1
BOTH = {(u, v) for u, v in EDGES} | {(v, u) for u, v in EDGES}


class Networkx:
    """What is read of a graph of networkx."""

    def __init__(self, edges, data, directed=False):
        self.nodes, self._edges, self.adj = Nodes(data), edges, {}
        self.directed = directed

    def is_directed(self):
        return self.directed

    def edges(self, data):
        return [(u, v, dict(rest[0]) if rest else {}) for u, v, *rest in self._edges]


class Nodes(dict):
    def __call__(self, data):
        return self.items()


class Igraph:
    """What is read of a graph of igraph."""

    def __init__(self, n, edges, labels):
        self.n, self._edges = n, edges
        self.vs = [SimpleNamespace(attributes=lambda c=c: {"label": c}) for c in labels]
        self.es = [SimpleNamespace(attributes=dict) for _ in edges]

    def get_edgelist(self):
        return self._edges

    def vcount(self):
        return self.n

    def is_directed(self):
        return False


class Rustworkx:
    """What is read of a graph of rustworkx, whose numbers of nodes may have gaps."""

    def __init__(self, numbers, edges, labels):
        self.numbers, self.list, self.labels = numbers, edges, labels

    def node_indices(self):
        return self.numbers

    def num_nodes(self):
        return len(self.numbers)

    def edge_list(self):
        return self.list

    def nodes(self):
        return self.labels

    def edges(self):
        return [1.5] * len(self.list)


FORMS = {
    "tuple": (4, EDGES, LABELS),
    "array": (4, np.array(EDGES), np.array(LABELS)),
    "both directions": (4, sorted(BOTH), LABELS),
    "edges and labels": (EDGES, LABELS),
    "GraKeL's set": [BOTH, dict(enumerate(LABELS))],
    "GraKeL's triple": [BOTH, dict(enumerate(LABELS)), None],
    "GraKeL's matrix": [A, dict(enumerate(LABELS))],
    "GraKeL's lists": [{0: [1, 2], 1: [0, 2], 2: [0, 1, 3], 3: [2]}, dict(enumerate(LABELS))],
    "sparse and labels": (sp.csr_array(A), LABELS),
    "networkx": Networkx([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")],
                         {name: {"label": c} for name, c in zip("abcd", LABELS)}),
    "igraph": Igraph(4, EDGES, LABELS),
    "rustworkx": Rustworkx([0, 2, 3, 7], [(0, 2), (2, 3), (3, 0), (3, 7)], LABELS),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_read_alike(form):
    wanted = encoded([FORMS["tuple"]])
    found = encoded([FORMS[form]])
    for name in ("node_starts", "row_starts", "neighbours", "node_labels"):
        assert_array_equal(getattr(found, name), getattr(wanted, name))
    assert kind_of(found).name == "graphs"
    assert kind_that_holds(FORMS[form]).name == "graphs"


@pytest.mark.parametrize("form", [A, sp.csr_array(A), sp.coo_matrix(A), sp.csc_array(A != 0)])
def test_matrices_are_graphs_without_labels(form):
    found = encoded([form, form])
    assert found.node_labels is None
    assert_array_equal(found.neighbours[:8], encoded([(4, EDGES)]).neighbours)


@pytest.mark.parametrize("library", ["networkx", "igraph", "rustworkx"])
def test_graphs_of_the_libraries_themselves(library):
    module = pytest.importorskip(library)
    if library == "networkx":
        graph = module.Graph(EDGES)
        for v, label in enumerate(LABELS):
            graph.nodes[v]["label"] = label
            graph.nodes[v]["attributes"] = [v, 1.0]
        turned = module.DiGraph(EDGES)
    elif library == "igraph":
        graph = module.Graph(4, EDGES)
        graph.vs["label"] = LABELS
        turned = module.Graph(4, EDGES, directed=True)
    else:
        graph, turned = module.PyGraph(), module.PyDiGraph()
        graph.add_nodes_from(LABELS)
        graph.add_edges_from_no_data(EDGES)
        turned.add_nodes_from([None] * 4)
        turned.add_edges_from_no_data(EDGES)
    found = encoded([graph])
    wanted = encoded([FORMS["tuple"]])
    assert_array_equal(found.neighbours, wanted.neighbours)
    assert_array_equal(found.node_labels, wanted.node_labels)
    assert encoded([turned]).directed
    assert_array_equal(encoded([turned]).degrees, [1, 1, 2, 0])
    with pytest.raises(TypeError, match="Give a list of graphs"):
        encoded(graph)


def test_columns_of_graphs_are_read():
    column = pd.Series([FORMS["tuple"], FORMS["networkx"]])
    assert len(encoded(column)) == 2
    assert len(encoded(pd.DataFrame({"molecule": column}))) == 2


def test_labels_are_told_apart_by_type_and_content_in_every_process():
    labels = [1, "1", b"1", (1,), ("1",), 2**70, -1, "", "é\ud800"]
    found = encoded([(9, [], labels)]).node_labels
    assert len(set(found.tolist())) == 9
    assert found[:4].tolist() == KNOWN
    again = encoded([(2, [], [np.int32(1), np.str_("1")])]).node_labels
    assert_array_equal(again[0], found[0])


def test_rows_are_chosen_and_joined():
    S = encoded(cases.graphs())
    for rows in (
        slice(2, 7),
        slice(0, 0),
        [9, 3, 3, 0],
        np.arange(len(S)) % 2 == 0,
        slice(9, 2, -3),
    ):
        chosen = S[rows]
        numbers = np.arange(len(S))[rows]
        if len(numbers):
            wanted = encoded([cases.graphs()[i] for i in numbers], like=S)
            for name in ("node_starts", "row_starts", "neighbours", "node_labels"):
                assert_array_equal(getattr(chosen, name), getattr(wanted, name))
        assert chosen.shape == (len(numbers),)
    both = joined(S[:4], S[4:])
    assert_array_equal(both.neighbours, S.neighbours)
    assert_array_equal(both.row_starts, S.row_starts)
    assert_array_equal(pickle.loads(pickle.dumps(S)).neighbours, S.neighbours)
    assert S.astype(np.float32).dtype == np.float32


def test_equal_graphs_have_equal_keys():
    keys = row_numbers(encoded([(2, [(0, 1)]), (2, [(1, 0)]), (2, []), (3, [(0, 1)])])).tolist()
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_arrays_of_many_graphs():
    X = graphs_of([3, 0, 2], [(0, 1), (4, 3)], list("CCOCN"), edge_labels=[1, 2])
    Y = encoded([(3, [(0, 1)], list("CCO"), [1]), (0, [], []), (2, [(0, 1)], list("CN"), [2])])
    for name in ("node_starts", "row_starts", "neighbours", "node_labels", "edge_labels"):
        assert_array_equal(getattr(X, name), getattr(Y, name))
    one_way = graphs_of([2], [(0, 1)], directed=True)
    assert_array_equal(one_way.degrees, [1, 0])
    starts, back, entries = one_way.backwards()
    assert (starts.tolist(), back.tolist(), entries.tolist()) == ([0, 0, 1], [0], [0])
    assert_array_equal(one_way.undirected().degrees, [1, 1])
    assert graphs_of([2], [], attributes=np.ones((2, 3))).node_attributes.shape == (2, 3)
    for arguments, words in [
        (([2, 2], [(1, 2)]), r"edges\[0\] joins nodes of two graphs"),
        (([2], [(0, 2)]), "outside 0 to 1"),
        (([2], [(0, 0.5)]), "pairs of numbers"),
        (([-1], []), "whole numbers >= 0"),
        (([], []), "sizes is empty"),
        (([2], [], ["C"]), "labels has 1 entries for 2 nodes"),
        (([1, 2], [(1, 2), (2, 1), (1, 2)]), r"X\[1\] has the edge between nodes 0 and 1 twice"),
    ]:
        with pytest.raises(ValueError, match=words):
            graphs_of(*arguments)
    with pytest.raises(TypeError, match=r"labels\[1\]: 1.5 is a float"):
        graphs_of([2], [], ["C", 1.5])
    with pytest.raises(ValueError, match="node 1 has nan in column 0"):
        graphs_of([2], [], attributes=[[1.0], [np.nan]])


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        ([], ValueError, "empty"),
        ((3, [(0, 1)]), TypeError, "Give a list of graphs"),
        (A, TypeError, "put a single graph into a list"),
        (sp.csr_array(A), TypeError, "put a single graph into a list"),
        ("abc", TypeError, "a single string"),
        ([(2, []), 5], TypeError, r"X\[1\] is 5"),
        ([(2, []), None], TypeError, r"X\[1\] is missing"),
        (["CCO"], TypeError, r"X\[0\] is a str"),
        ([(-1, [])], ValueError, "-1 nodes"),
        ([(2, [(0, 2)])], ValueError, r"X\[0\]: the edge \(0, 2\) leads to a node that is not"),
        ([(2, [(0, 1), (0, 1)])], ValueError, r"X\[0\] has the edge between nodes 0 and 1 twice"),
        ([(2, []), (3, [(0, 1), (1, 0), (1, 2)])], ValueError, r"X\[1\] has .* 0 and 1 twice"),
        ([(2, [(0, 0), (0, 0)])], ValueError, "nodes 0 and 0 twice"),
        ([(2, [], ["C"])], ValueError, "1 labels for 2 nodes"),
        ([(2, [], ["C", None])], ValueError, r"X\[0\]: node 1 has no label"),
        ([(2, [], ["C", 0.5])], TypeError, r"the label of node 1, 0.5 is a float"),
        ([(1, [], ["C"]), (1, [])], ValueError, r"X\[1\] has no labels of nodes, unlike X\[0\]"),
        ([np.array([[0, 1], [0, 0]])], ValueError, "not symmetric"),
        ([np.array([[0, 2], [2, 0]])], ValueError, r"holds 2, .* without weights"),
        ([np.zeros((2, 3))], ValueError, "square"),
        ([(3, [(0, 1, 1), (1, 2, 1)])], TypeError, r"X\[0\] is a tuple"),
        ([(3, [(0, 1), (1, 2, 1)])], TypeError, "its edges are no pairs"),
        ([[{(0, 1): 0.5}, {0: "C", 1: "C"}]], ValueError, "an edge of weight 0.5"),
        ([[{0: {1: 2.0}}, {0: "C", 1: "C"}]], ValueError, "an edge of weight 2.0"),
        ([[{(0, 1)}, {0: "C"}]], ValueError, "node 1 has an edge and no label"),
        ([Networkx([], {0: {"attributes": [1]}, 1: {"attributes": [1, 2]}})], ValueError,
         "node 1 has 2 attributes, but node 0 has 1"),
        ([Networkx([], {0: {"attributes": [1]}, 1: {}})], ValueError, "node 1 has no attributes"),
        ([Networkx([], {0: {"attributes": [1]}}), Networkx([], {0: {"attributes": [1, 2]}})],
         ValueError, r"X\[1\] has 2 attributes at each node, but X\[0\] has 1"),
        ([Networkx([(0, 1)], {0: {}, 1: {}}), Networkx([(0, 1)], {0: {}, 1: {}}, True)],
         ValueError, r"X\[1\] has directed edges, unlike X\[0\]"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_graphs_is_refused(X, error, words):
    with pytest.raises(error, match=words):
        encoded(X)


def test_new_graphs_have_what_the_training_graphs_have():
    training = encoded([(2, [(0, 1)], ["C", "O"])])
    with pytest.raises(ValueError, match=r"X\[0\] has no labels of nodes, but the graphs it is"):
        encoded([(2, [(0, 1)])], like=training)
    bare = encoded([(2, [(0, 1)])])
    assert encoded([(2, [(0, 1)], ["C", "O"])], like=bare).node_labels is None
    assert len(encoded([(0, [])], like=training).node_labels) == 0
    with pytest.raises(ValueError, match="X has no labels of nodes"):
        WeisfeilerLehman().encode(graphs_of([1], []), like=training)
    with pytest.raises(ValueError, match="X are directed graphs"):
        WeisfeilerLehman().encode(graphs_of([2], [(0, 1)], directed=True), like=bare)


def test_a_graph_in_words():
    kind = kind_of(encoded([(1, [])]))
    assert kind.text((3, [(0, 0), (0, 1)])) == "3 nodes, 2 edges"
    assert kind.size((3, [])) == 3


def test_each_node_is_left_out_with_its_edges():
    graph = (3, [(0, 1), (1, 2)], ["C", "N", "O"], ["single", "double"])
    first, second, third = kind_named("graphs").without_each_node(graph)
    assert (first[0], first[1].tolist(), *first[2:]) == (2, [[0, 1]], ["N", "O"], ["double"])
    assert (second[0], second[1].tolist(), *second[2:]) == (2, [], ["C", "O"], [])
    assert (third[0], third[1].tolist(), *third[2:]) == (2, [[0, 1]], ["C", "N"], ["single"])
    assert kind_named("trees").without_each_node(("S", "a")) is None
