"""GraphDisplay and NeighbourhoodDisplay: losses are those of answers for graphs without a node."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

from mercer import SVC
from mercer.kernels import WeisfeilerLehman
from mercer.plots import GraphDisplay, NeighbourhoodDisplay
from mercer.plots.displays.graphs import Neighbourhood
from mercer.plots.marks import COLOURS
from mercer.plots.report.data import node_drawing
from mercer.samples import kind_named

pytest.importorskip("matplotlib").use("agg")


class Bonds(BaseEstimator):
    """A made-up classifier, whose value is the number of bonds between N and O."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X):
        return np.where(self.decision_function(X) > 0, "yes", "no")

    def decision_function(self, X):
        return np.array([float(bonds(*graph[1:3])) for graph in X])


def bonds(edges, labels):
    return sum({labels[u], labels[v]} == {"N", "O"} for u, v in edges)


def chain(labels):
    return (len(labels), [(i, i + 1) for i in range(len(labels) - 1)], list(labels))


def test_only_nodes_of_the_bond_lose_something():
    loss, full, answer = GraphDisplay.losses(Bonds(), chain("CCNOCC"))
    assert_allclose(loss, [0, 0, 1, 1, 0, 0])
    assert (full, answer) == (1.0, "value of 'yes'")
    against, *_ = GraphDisplay.losses(Bonds(), chain("CCNOCC"), of="no")
    assert_allclose(against, -loss)


def test_a_real_model_is_asked_about_real_graphs():
    X = [chain("C" * n) for n in (3, 4, 5, 6)] + [chain("N" + "C" * n) for n in (2, 3, 4, 5)]
    model = SVC(kernel=WeisfeilerLehman(1).normalised()).fit(X, [0] * 4 + [1] * 4)
    loss, full, _ = GraphDisplay.losses(model, X[5])
    without = (3, [(0, 1), (1, 2)], ["C"] * 3)
    assert_allclose(loss[0], full - model.decision_function([without])[0])


def test_it_draws_losses_or_labels():
    display = GraphDisplay.from_estimator(Bonds(), chain("CNO"))
    assert_allclose(display.image_.get_array(), display.loss)
    assert display.ax_.get_title() == "value of 'yes' = 1"
    plain = GraphDisplay.of((3, [(0, 1), (2, 2)], ["carbon", "oxygen", "carbon"]))
    assert len(plain.image_.get_offsets()) == 3
    assert [t.get_text() for t in plain.ax_.get_legend().get_texts()] == ["carbon", "oxygen"]
    low, high = plain.ax_.get_ylim()
    assert high - low > 1  # a path is not squeezed
    tree = GraphDisplay.of(("S", ("NP", "she"), ("VP", "runs")))
    assert [text.get_text() for text in tree.ax_.texts] == ["S", "NP", "she", "VP", "runs"]


def test_nodes_without_labels_have_one_colour_in_all_pictures():
    from matplotlib.colors import to_rgba

    pair = (2, [(0, 1)])
    shown = GraphDisplay.of(pair).image_.get_facecolors()
    assert {tuple(colour) for colour in shown} == {to_rgba(COLOURS[1])}
    nodes = node_drawing(kind_named("graphs").drawing(pair))["nodes"]
    assert [colour for _, _, colour, _ in nodes] == [1, 1]
    example = kind_named("graphs").drawing(pair)
    found = [Neighbourhood("", 0, 1.0, 1, example, 0, [0, 1])]
    ax = NeighbourhoodDisplay(found, "").plot().axes_[0]
    assert {tuple(colour) for colour in ax.collections[0].get_facecolors()} == {to_rgba(COLOURS[1])}


def test_the_neighbourhood_of_the_bond_comes_first():
    graphs = [chain("C" * i + "NO" + "C" * (5 - i)) for i in range(6)]
    graphs += [chain("C" * i + "N" + "C" * (4 - i) + "O") for i in range(4)]
    display = NeighbourhoodDisplay.measured(Bonds(), graphs, of="yes")
    first = display.found[0]
    assert first.loss == 1.0
    assert {"N", "O"} <= set(first.words.replace(",", "").split())
    assert first.example.labels[first.centre] in "NO"
    assert first.graphs >= 3
    assert all(each.loss > 0 for each in display.found)
    # carbons lose nothing, and are not there as centres
    assert {each.example.labels[each.centre] for each in display.found} == {"N", "O"}
    display.plot()
    assert first.words in display.axes_[0].get_title()


def test_of_two_colours_of_the_same_nodes_the_smaller_neighbourhood_is_shown():
    """N is in bonds alone, so that its label says as much as its neighbours."""
    graphs = [chain("CC" + "NO" + "C" * i) for i in (1, 2, 3, 4)]
    found = NeighbourhoodDisplay.measured(Bonds(), graphs, of="yes").found
    assert {each.words for each in found} == {"N", "O"}
    assert {each.rounds for each in found} == {0}


def test_what_cannot_be_drawn_is_told():
    with pytest.raises(TypeError, match="give one graph or one tree"):
        GraphDisplay.of("anna")
    with pytest.raises(TypeError, match="graph is a str: give one graph"):
        GraphDisplay.from_estimator(Bonds(), "anna")
    with pytest.raises(ValueError, match="too many to draw"):
        GraphDisplay.of((200, [(0, 1)]))
    with pytest.raises(ValueError, match=r"of='red': give one of the classes \['no', 'yes'\]"):
        GraphDisplay.losses(Bonds(), chain("CNO"), of="red")
    with pytest.raises(TypeError, match=r"X\[1\] is a str, but NeighbourhoodDisplay"):
        NeighbourhoodDisplay.measured(Bonds(), [chain("CNO"), "anna"])
    with pytest.raises(ValueError, match="rounds=-1"):
        NeighbourhoodDisplay.measured(Bonds(), [chain("CNO")], rounds=-1)
