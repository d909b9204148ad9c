"""Pictures of graphs and trees: where nodes stand, and what is said in place of large ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from mercer.plots.layout import graph_places, tree_drawing
from mercer.samples import Drawing, kind_named

GRAPHS, TREES = kind_named("graphs"), kind_named("trees")


def ring(n):
    return np.array([(i, (i + 1) % n) for i in range(n)])


def star(n):
    return np.array([(0, i) for i in range(1, n)])


def test_a_path_lies_with_steps_of_one():
    P = graph_places(6, ring(6)[:-1])
    assert_allclose(np.abs(np.diff(P[:, 0])), 1, atol=1e-3)
    assert_allclose(P[:, 1], 0, atol=0.1)


def test_a_ring_is_round():
    P = graph_places(8, ring(8))
    radius = np.linalg.norm(P, axis=1)
    assert_allclose(radius, radius[0], rtol=1e-2)
    sides = np.linalg.norm(P - np.roll(P, 1, axis=0), axis=1)
    assert_allclose(sides, sides[0], rtol=1e-2)


@pytest.mark.parametrize(
    ("n", "edges"),
    [
        (9, star(9)),  # leaves have the same neighbours
        (6, np.array([(i, j) for i in range(6) for j in range(i)])),
        (7, np.empty((0, 2), int)),
        (8, np.array([(0, 1), (1, 2), (3, 4), (4, 5), (5, 3)])),  # parts, and nodes alone
        (4, np.array([(0, 0), (0, 1), (1, 2), (2, 3)])),  # a loop
        (100, star(100)),
    ],
)
def test_no_two_nodes_stand_at_one_place(n, edges):
    P = graph_places(n, edges)
    assert np.isfinite(P).all()
    assert pdist(P).min() > (0.3 if n < 20 else 0.02)
    assert_allclose(P, graph_places(n, edges))


@pytest.mark.parametrize("n", [0, 1])
def test_graphs_of_no_more_than_one_node_have_places(n):
    assert graph_places(n, np.empty((0, 2), int)).shape == (n, 2)


class Networkx:
    """What is read of a graph of networkx."""

    def __init__(self):
        self.adj: dict = {}

    class Nodes(dict):
        def __call__(self, data):
            return self.items()

    nodes = Nodes(u={"label": "C"}, v={"label": ("O", 1)})

    @staticmethod
    def edges(data):
        return [("u", "v", {})]

    @staticmethod
    def is_directed():
        return True


def test_a_graph_is_drawn_with_its_own_labels():
    drawn = GRAPHS.drawing(
        (3, [(0, 1), (1, 0), (1, 2), (2, 1)], ["C", b"N", "a long name of a node"])
    )
    assert drawn.labels == ["C", "N", "a long name…"]
    assert drawn.edges.tolist() == [[0, 1], [1, 2]]  # once, though they stand there twice
    assert drawn.said == "3 nodes, 2 edges"
    directed = GRAPHS.drawing(Networkx())
    assert directed.labels == ["C", "('O', 1)"]
    assert directed.directed
    assert GRAPHS.drawing((2, [(0, 1)], None)).labels == []
    assert GRAPHS.drawing([np.array([[0, 1], [1, 0]]), {0: "x", 1: "y"}]).labels == ["x", "y"]


def test_large_graphs_and_trees_are_said():
    for drawn in (
        GRAPHS.drawing((101, [])),
        GRAPHS.drawing((30, [(i, j) for i in range(30) for j in range(i)])),
        TREES.drawing(("a", *["b"] * 100)),
        TREES.drawing("(a " * 60 + "b" + ")" * 60),
    ):
        assert len(drawn.places) == 0
        assert drawn.said.endswith(" to draw")
    assert GRAPHS.drawing((1234, [(0, 1)])).said == "1,234 nodes, 1 edges, too many to draw"
    assert len(TREES.drawing(()).places) == len(GRAPHS.drawing((0, ())).places) == 0


@pytest.mark.parametrize("leaves", [3, 30])
def test_words_of_a_tree_do_not_lie_on_each_other(leaves):
    drawn = TREES.drawing(("S", *[("part", "a word", "of it") for _ in range(leaves)]))
    half = np.array([len(word) / 2 for word in drawn.labels])
    for i in range(len(half)):
        for j in range(i):
            across, down = np.abs(drawn.places[i] - drawn.places[j])
            assert across > half[i] + half[j] or down > 2
    assert drawn.written
    assert [drawn.labels[u] for u, _ in drawn.edges[:3]] == ["S", "part", "part"]


def test_parents_stand_above_the_middle_of_their_children():
    drawn = tree_drawing(["S", "a", "b", "c", "d"], [2, 0, 2, 0, 0], "")
    x, y = drawn.places.T
    assert_allclose(x[2], (x[3] + x[4]) / 2)
    assert_allclose(x[0], (x[1] + x[2]) / 2)
    assert y[0] > y[1] == y[2] > y[3] == y[4]


def test_other_kinds_have_no_drawing():
    assert kind_named("strings").drawing("anna") is None
    assert isinstance(Drawing.none("much").places, np.ndarray)
