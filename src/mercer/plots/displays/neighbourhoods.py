"""Draw which neighbourhoods of nodes speak for an answer of a model of graphs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

from mercer.kernels import WeisfeilerLehman, node_colours
from mercer.plots.classes import COLOURS, node_codes
from mercer.plots.displays.display import Display, answers
from mercer.plots.displays.graph import draw_nodes, small
from mercer.samples import Drawing, kind_named

FEWEST = 3  # least graphs that have a neighbourhood
SURE = 2.0  # standard errors below the mean loss, by which neighbourhoods are ordered
COVERED = 0.5  # a neighbourhood is left out if more of its nodes are in those that come first


@dataclass(frozen=True)
class Neighbourhood:
    """Nodes of one Weisfeiler-Lehman colour: their surroundings look alike up to some steps away.

    Attributes
    ----------
    words : str
        The label, and those of the nodes around, by steps.
    rounds : int
        Up to how many steps the surroundings look alike.
    loss : float
        What the answer loses without such a node: the mean over the graphs that have one.
    graphs : int
        How many graphs have one.
    example : Drawing
        One of these graphs.
    centre : int
        A node of this colour in it.
    near : list of int
        The nodes of the example that are no more than ``rounds`` steps away.
    """

    words: str
    rounds: int
    loss: float
    graphs: int
    example: Drawing
    centre: int
    near: list[int]


@dataclass(eq=False, repr=False)
class NeighbourhoodDisplay(Display):
    r"""The neighbourhoods of nodes that speak most for an answer of a model of graphs.

    Each node of each graph is left out once, and the model answers again: what the answer loses is
    the loss of the node. Nodes of one Weisfeiler-Lehman colour have surroundings that look alike up
    to t steps away (see `mercer.kernels.WeisfeilerLehman`). The loss of a colour is the mean over
    the graphs that have such nodes. Colours are ordered by this mean less two standard errors, so
    that those come first which speak for the answer in all graphs. The model itself is asked,
    whatever its kernel is, and nothing is fitted.

    Parameters
    ----------
    found : list of Neighbourhood
        The first one speaks most for the answer.
    answer : str
        What the answer is, such as ``"P(active)"``.

    Attributes
    ----------
    axes_, figure_
        The matplotlib objects that `plot` drew.

    Notes
    -----
    It takes as many predictions as the graphs have nodes. A neighbourhood is left out if it is in
    fewer than three graphs, and if more than half of its nodes are in one that comes before it.

    Examples
    --------
    >>> from mercer import SVC
    >>> chains = [(n, [(i, i + 1) for i in range(n - 1)]) for n in (3, 4, 5, 6)]
    >>> X = [(*g, ["C"] * g[0]) for g in chains]
    >>> X += [(*g, ["N"] + ["C"] * (g[0] - 1)) for g in chains]
    >>> model = SVC(kernel=WeisfeilerLehman(1).normalised()).fit(X, ["no"] * 4 + ["yes"] * 4)
    >>> display = NeighbourhoodDisplay.measured(model, X, of="yes")
    >>> display.found[0].words, display.found[0].graphs
    ('N', 4)
    """

    found: list[Neighbourhood]
    answer: str

    @classmethod
    def measured(
        cls, estimator: Any, graphs: Any, *, of: Any = None, rounds: int = 2, most: int = 4
    ) -> NeighbourhoodDisplay:
        """Find the neighbourhoods, without drawing.

        Parameters
        ----------
        estimator : fitted estimator that reads a list of graphs
        graphs : list of graphs
            Some tens of them are enough; without directions, and without attributes of nodes.
        of : label, optional
            The class whose answer it is. None means the one that is predicted for the first graph.
        rounds : int >= 0, default=2
            Most steps from a node to what is around it.
        most : int, default=4
            Most neighbourhoods that are found.
        """
        kind: Any = kind_named("graphs")
        rows = kind.rows(graphs, "NeighbourhoodDisplay")
        kernel = WeisfeilerLehman(rounds)
        kernel.validate()
        X = kernel.encode(rows)
        asked = [other for graph in rows for other in kind.without_each_node(graph)]
        values, answer = answers(estimator, [*rows, *asked], of)
        loss = np.repeat(values[: len(rows)], X.sizes) - values[len(rows) :]
        hues = node_colours(X, rounds)
        found = []
        for t, nodes in _foremost(hues, loss, X.owners, most, min(FEWEST, len(rows))):
            means = _means(loss[nodes], X.owners[nodes])
            node = int(nodes[np.argmin(X.sizes[X.owners[nodes]])])  # of the smallest graph
            i = int(X.owners[node])
            example, centre = small(kind.drawing(rows[i])), node - int(X.node_starts[i])
            near, words = _around(example, centre, t)
            mean = float(means.mean())
            found.append(Neighbourhood(words, t, mean, len(means), example, centre, near))
        return cls(found, answer)

    @classmethod
    def from_estimator(
        cls, estimator: Any, graphs: Any, *, axes: Any = None, **kwargs: Any
    ) -> NeighbourhoodDisplay:
        """Find the neighbourhoods and draw them. ``kwargs`` are passed to `measured`."""
        return cls.measured(estimator, graphs, **kwargs).plot(axes)

    def plot(self, axes: Any = None) -> NeighbourhoodDisplay:
        """Draw each neighbourhood in its own axes, within a graph that has it."""
        import matplotlib.pyplot as plt

        if axes is None:
            n = max(len(self.found), 1)
            axes = plt.subplots(1, n, figsize=(3.1 * n, 2.7), layout="constrained", squeeze=False)[
                1
            ]
        self.axes_ = np.asarray(axes).ravel()
        self.figure_ = self.axes_[0].figure
        for ax, each in zip(self.axes_, self.found):
            _, codes = node_codes(each.example)
            hues = [COLOURS[code] for code in codes]
            inside = set(each.near)
            shown = [hue if v in inside else "0.92" for v, hue in enumerate(hues)]
            draw_nodes(ax, each.example, c=shown)
            ax.scatter(*each.example.places[each.centre], s=420, facecolors="none",
                       edgecolors="#d55e00", linewidths=2, zorder=1)  # fmt: skip
            ax.set_title(f"{each.words}\n{each.loss:+.2g} in {each.graphs} graphs", fontsize=9)
        for ax in self.axes_[len(self.found) :]:
            ax.axis("off")
        self.figure_.suptitle(f"What speaks for {self.answer}", fontsize=10)
        return self


def _means(loss: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """The mean loss in each graph."""
    _, codes = np.unique(owners, return_inverse=True)
    return np.bincount(codes, loss) / np.bincount(codes)


def _foremost(
    hues: np.ndarray, loss: np.ndarray, owners: np.ndarray, most: int, fewest: int
) -> list[tuple[int, np.ndarray]]:
    """Rounds and nodes of the colours that speak for the answer most; of two with the same nodes,
    the one of fewer rounds."""
    tried = []
    for t, row in enumerate(hues):
        order = np.argsort(row, kind="stable")
        cuts = np.flatnonzero(np.diff(row[order])) + 1
        for nodes in np.split(order, cuts):
            means = _means(loss[nodes], owners[nodes])
            if len(means) < fewest:
                continue
            error = means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else 0.0
            least = float(means.mean() - SURE * error)
            if least > 0:
                tried.append((-round(least, 9), t, int(nodes[0]), nodes))
    found, covered = [], np.zeros(len(loss), bool)
    for _, t, _, nodes in sorted(tried, key=lambda each: each[:3]):
        if covered[nodes].mean() <= COVERED and len(found) < most:
            found.append((t, nodes))
            covered[nodes] = True
    return found


def _around(example: Drawing, centre: int, rounds: int) -> tuple[list[int], str]:
    """The nodes no more than some steps away, and the labels of the centre and of each step."""
    n = len(example.places)
    A = np.zeros((n, n))
    A[tuple(example.edges.T)] = 1
    steps = shortest_path(A, directed=False, unweighted=True)[centre]
    near = np.flatnonzero(steps <= rounds).tolist()
    labels = example.labels or ["node"] * n
    said = []
    for step in range(rounds + 1):
        found = Counter(labels[v] for v in near if steps[v] == step)
        said += [", ".join(f"{k} {x}" if k > 1 else x for x, k in sorted(found.items()))]
    return near, " – ".join(filter(None, said))
