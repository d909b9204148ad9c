"""Edit distance between small graphs: directions and loops, limits, what is refused, and that it
makes no kernel."""

import math
import os
import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import cases
from mercer import KNeighborsClassifier
from mercer.distances import GraphEdit, KernelDistance
from mercer.kernels import FromDistance, WeisfeilerLehman, check_mercer
from mercer.samples import graphs_of
from oracles import least_edit, marked_edges

networkx = pytest.importorskip("networkx")


def random_graphs(count, n, directed, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        size = int(rng.integers(1, n + 1))
        ends = [(u, v) for u in range(size) for v in range(size) if directed or u <= v]
        edges = [ends[i] for i in np.flatnonzero(rng.random(len(ends)) < 0.4)]
        labels, marks = (rng.integers(0, 2, k).tolist() for k in (size, len(edges)))
        found.append((size, edges, labels, marks))
    return found


def joined(graphs, directed):
    """All graphs as arrays, which can say that edges have directions."""
    starts = np.cumsum([0, *[n for n, *_ in graphs]])
    edges = [(u + s, v + s) for (_, ends, *_), s in zip(graphs, starts) for u, v in ends]
    labels, marks = ([label for graph in graphs for label in graph[k]] for k in (2, 3))
    sizes = [n for n, *_ in graphs]
    return graphs_of(sizes, edges, labels, edge_labels=marks, directed=directed)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("costs", [(), (0.6, 0.5, 0.2, 3.0)])
def test_equals_the_best_of_all_maps(directed, costs):
    rho = GraphEdit(*costs)
    graphs = random_graphs(7, 4, directed)
    marked = [marked_edges(graph, directed) for graph in graphs]
    expected = [[least_edit(rho, a, b) for b in marked] for a in marked]
    assert_allclose(rho(joined(graphs, directed)), expected, rtol=1e-12)
    assert np.ptp(expected) > 2


def test_a_loop_belongs_to_its_node():
    first = (2, [(0, 0), (1, 1)], ["A", "B"], ["x", "y"])
    other = (2, [(0, 0), (1, 1)], ["A", "B"], ["y", "x"])
    assert GraphEdit(edge_relabel=0.5)([first], [other]) == 1.0
    single = [(1, [(0, 0)], ["A"], [mark]) for mark in "xy"]
    assert GraphEdit()(single)[0, 1] == 1.0
    path = (2, [(0, 0), (0, 1)], ["A", "A"], ["x", "x"])
    assert GraphEdit()([path], [(2, [(0, 1)], ["A", "A"], ["x"])]) == 1.0


def test_isomorphic_graphs_are_at_distance_0():
    n, edges, labels = 6, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)], list("CCOCNC")
    order = np.random.default_rng(0).permutation(n)
    graph = networkx.Graph([(int(order[u]), int(order[v])) for u, v in edges])
    graph.add_node(int(order[5]))
    networkx.set_node_attributes(graph, {int(order[v]): labels[v] for v in range(n)}, "label")
    assert GraphEdit()([(n, edges, labels)], [graph]) == 0
    graph.remove_edge(int(order[2]), int(order[3]))
    assert GraphEdit(edge_cost=0.25)([(n, edges, labels)], [graph]) == 0.25


def test_within_a_limit():
    rho = GraphEdit(0.7, 0.4, 2.0, 0.3)
    X = rho.encode(cases.small_graphs())
    D = rho.block(X, X)
    for limit in (0.0, 1.5, float(D[0, 3]), 30.0):
        found = rho.within(X, X, limit)
        near = limit >= D
        assert near.any()
        assert_allclose(found[near], D[near])
        assert (found[~near] > limit).all()
    assert rho.block(X.astype(np.float32), X.astype(np.float32)).dtype == np.float32


def test_costs_beyond_float32_are_infinite_there():
    rho = GraphEdit(node_cost=1e39, edge_cost=1e39)
    X = rho.encode(cases.small_graphs()[:4]).astype(np.float32)
    D = rho.block(X, X)
    assert set(np.unique(D)) == {0.0, np.inf}


def test_large_graphs_are_refused():
    ring = (9, [(i, (i + 1) % 9) for i in range(9)])
    message = r"X\[1\] has 9 nodes, .* max_nodes=8, .* grows exponentially: give KernelDistance"
    with pytest.raises(ValueError, match=message):
        GraphEdit()([(1, []), ring])
    assert GraphEdit(max_nodes=9)([(1, []), ring])[0, 1] == 17
    assert KernelDistance(WeisfeilerLehman().normalised())([(1, []), ring]).shape == (2, 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"node_cost": 0}, "node_cost=0: give a finite number > 0"),
        ({"edge_cost": np.inf}, "edge_cost=inf: give a finite number > 0"),
        ({"node_relabel": -0.5}, "node_relabel=-0.5: give a finite number >= 0"),
        ({"edge_relabel": "x"}, "edge_relabel='x': give a finite number >= 0"),
        ({"max_steps": 0}, "max_steps=0: give a whole number >= 1"),
        ({"max_nodes": 0}, "max_nodes=0: give a whole number >= 1"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        GraphEdit(**params)(cases.small_graphs())


ODD = [(1, 1, 2, 1), (1, 1, 3, 1), (1, 3, 2, 5), (0.3, 1, 4, 0), (1e-9, 3e-9, 2e-9, 1e-9)]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("costs", [*ODD, *np.random.default_rng(5).exponential(1, (6, 4)).tolist()])
def test_any_costs_make_a_distance(directed, costs):
    """Relabelling may cost more than deleting and inserting."""
    rho = GraphEdit(*costs)
    graphs = random_graphs(9, 4, directed, int(1e6 * costs[0]) % 97)
    marked = [marked_edges(graph, directed) for graph in graphs]
    X = joined(graphs, directed)
    D = rho(X)
    expected = [[least_edit(rho, a, b) for b in marked] for a in marked]
    assert_allclose(D, expected, rtol=1e-9)
    assert_array_equal(rho(X, X[np.arange(9)]), D)  # each pair, in both orders
    through = (D[:, :, None] + D[None]).min(axis=1)
    assert (through * (1 + 1e-9) >= D).all()


def test_a_deleted_node_is_better_than_a_new_label():
    one, other = ((2, [(0, 1)], labels) for labels in (["O", "O"], ["O", "C"]))
    assert GraphEdit(1, 1, 2)([one], [other]) == GraphEdit(1, 1, 2)([other], [one]) == 2


def test_bounds_of_a_search_that_ends_early():
    graphs = random_graphs(6, 9, False, 3)
    exact = GraphEdit(max_nodes=9)(graphs)
    short = GraphEdit(max_nodes=9, max_steps=2)
    lower, upper = short.interval(graphs)
    assert (lower <= exact).all()
    assert (exact <= upper).all()
    assert (lower < upper).any()
    assert_array_equal(upper, upper.T)
    with pytest.warns(UserWarning, match=r"max_steps=2 ended .* upper bounds, .* raise max_steps"):
        assert_array_equal(short(graphs), upper)
    lower, upper = GraphEdit(max_nodes=9).interval(graphs[:2], graphs)
    assert_array_equal(lower, upper)
    assert_allclose(lower, exact[:2])


def test_the_default_of_steps_is_enough_for_eight_nodes():
    """The worst case leaves out no partial map: all those of the first k < 8 nodes."""
    partial = sum(math.comb(k, j) * math.perm(8, j) for k in range(8) for j in range(k + 1))
    assert partial < GraphEdit().max_steps


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_its_exponential_is_no_kernel(power):
    graphs = random_graphs(20, 3, False)
    kernel = FromDistance(GraphEdit(), 0.05, power)
    assert kernel.positive_definite is not True
    check = check_mercer(kernel, graphs)
    assert check.symmetric
    assert not check.positive_definite
    assert check.eigenvalues[-1] < -0.003


@pytest.mark.skipif(os.name == "nt", reason="Windows has no os.kill of one signal")
@pytest.mark.parametrize("learner", [False, True])
def test_ctrl_c_ends_the_search_of_one_pair(learner):
    """Two random graphs of 16 nodes, whose search takes hours."""
    rng = np.random.default_rng(1)
    pairs = [(u, v) for u in range(16) for v in range(u)]
    one, two = ([(16, [pairs[i] for i in rng.permutation(120)[:48]])] for _ in range(2))
    rho = GraphEdit(max_nodes=16, max_steps=2**62)
    model = KNeighborsClassifier(1, metric=rho, n_jobs=2).fit(one, [0])
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.predict(two) if learner else rho(one, two)
    timer.join()
