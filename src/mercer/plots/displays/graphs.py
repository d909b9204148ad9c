"""Draw graphs and trees, and which nodes and neighbourhoods speak for an answer of a model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

from mercer.kernels import WeisfeilerLehman, node_colours
from mercer.plots.displays.display import VECTOR, Panels, PartLosses, answers, display
from mercer.plots.marks import COLOURS, node_codes
from mercer.samples import Drawing, kind_named, kind_that_holds
from mercer.spoken import a_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

AREA = 170.0  # of a node among few, in square points
ROOM = 0.7  # around the nodes, in lengths of an edge
PALE = 1.4  # the ends of the scale are so far beyond the largest loss, so that letters are read


@display
class GraphDisplay(PartLosses):
    r"""One graph or tree, with its labels; or which nodes of a graph an answer rests on: what the
    answer loses where a node is left out.

    Each node v of a graph g is left out once, with its edges, and the model f answers again:

    .. math:: l_v = f(g) - f(g \setminus v)

    The model itself is asked, whatever it is, and nothing is fitted.

    Parameters
    ----------
    drawing : Drawing
        Places, edges and labels, as ``mercer.samples.Kind.drawing`` makes them.
    loss : array-like of shape (n,), optional
        What the answer loses without each node: positive where the node speaks for it, negative
        where against it. None means that colours are those of labels.
    answer : str
        What the answer is, such as ``"P(active)"``.
    full : float
        The answer for the graph as it is.

    Notes
    -----
    Two nodes that say the same have little loss each, since either is enough. Without a node a
    graph may fall apart, which a model may take for a sign too.

    References
    ----------
    Zeiler & Fergus, "Visualizing and understanding convolutional networks", ECCV 2014.

    Examples
    --------
    Only a nitrogen at the chain tells these graphs apart:

    >>> from mercer import SVC
    >>> from mercer.kernels import WeisfeilerLehman
    >>> chains = [(n, [(i, i + 1) for i in range(n - 1)]) for n in (3, 4, 5, 6)]
    >>> X = [(*g, ["C"] * g[0]) for g in chains]
    >>> X += [(*g, ["N"] + ["C"] * (g[0] - 1)) for g in chains]
    >>> model = SVC(kernel=WeisfeilerLehman(1).normalised()).fit(X, ["no"] * 4 + ["yes"] * 4)
    >>> loss, full, answer = GraphDisplay.losses(model, X[5])
    >>> answer, int(np.argmax(loss))
    ("value of 'yes'", 0)
    """

    drawing: Drawing
    loss: Any = field(default=None, metadata=VECTOR)
    answer: str = ""
    full: float = 0.0

    @classmethod
    def of(cls, item: Any, *, ax: Axes | None = None) -> GraphDisplay:
        """Draw one graph or tree, in any form that is recognised in a list.

        Raises
        ------
        TypeError, ValueError
            It is neither, or too large for a picture.
        """
        kind = kind_that_holds(item)
        drawing = None if kind is None else kind.drawing(item)
        if drawing is None:
            raise TypeError(f"item is {a_type(item)}: give one graph or one tree.")
        return cls(small(drawing)).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, graph: Any, *, of: object = None, ax: Axes | None = None
    ) -> GraphDisplay:
        """Leave out each node of one graph, and draw what the answer of a model loses.

        Parameters
        ----------
        estimator : fitted estimator that reads a list of graphs
        graph : one graph, in any form that is recognised in a list
        of : label, optional
            The class whose answer it is. None means the predicted one.
        """
        loss, full, answer = cls.losses(estimator, graph, of=of)
        kind: Any = kind_that_holds(graph)
        return cls(small(kind.drawing(graph)), loss, answer, full).plot(ax)

    @staticmethod
    def losses(
        estimator: BaseEstimator, graph: Any, *, of: object = None
    ) -> tuple[np.ndarray, float, str]:
        """The loss of each node (n,), the answer for the whole graph, and what it is.

        The answer is the probability of a class, if the model has probabilities, else its value of
        the decision function; of a regressor it is the prediction. Parameters are those of
        `from_estimator`.
        """
        kind = kind_that_holds(graph)
        others = None if kind is None else kind.without_each_node(graph)
        if others is None:
            raise TypeError(f"graph is {a_type(graph)}: give one graph.")
        values, answer = answers(estimator, [graph, *others], of)
        return values[0] - values[1:], float(values[0]), answer

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> GraphDisplay:
        """Draw it: ``image_`` are the nodes of a graph, and None for a tree. ``kwargs`` go to
        ``ax.scatter``."""
        ax, known = self._draw_on(ax), self.loss is not None
        options = self._colours(PALE) if known else {}
        self.image_ = draw_nodes(ax, self.drawing, **(options | kwargs))
        if known:
            self._draw_answer(self.image_)
        return self


def draw_nodes(ax: Axes, drawing: Drawing, **options: Any) -> Any:
    """Draw edges, and nodes with their labels; ``options`` are those of ``ax.scatter``.

    Without colours in ``options``, they are those of the labels. The words of a tree are drawn
    alone. Returns what ``ax.scatter`` does, or None for a tree.
    """
    P, few = drawing.places, len(drawing.places) <= 30
    for u, v in drawing.edges.tolist():
        if u == v:
            ax.plot(*(P[u] + [0, 0.18]), "o", ms=13, mfc="none", mec="0.6", zorder=0)
        elif drawing.directed:
            arrow = {"arrowstyle": "-|>", "color": "0.6", "shrinkA": 0, "shrinkB": 8}
            ax.annotate("", tuple(P[v]), tuple(P[u]), arrowprops=arrow)
        else:
            ax.plot(*P[[u, v]].T, color="0.6", linewidth=1.2, zorder=0)
    ax.set_aspect("auto" if drawing.written else "equal")
    ax.axis("off")
    if drawing.written:
        for place, word in zip(P, drawing.labels):
            room = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.5}
            ax.text(place[0], place[1], word, ha="center", va="center", bbox=room)
        ax.set_xlim(P[:, 0].min() - 4, P[:, 0].max() + 4)
        return None
    # a path is no line that is squeezed between its neighbours
    middle, (wide, high) = (P.min(axis=0) + P.max(axis=0)) / 2, np.ptp(P, axis=0) / 2
    high = max(high, wide / 2)
    ax.set_xlim(middle[0] - wide - ROOM, middle[0] + wide + ROOM)
    ax.set_ylim(middle[1] - high - ROOM, middle[1] + high + ROOM)
    names, codes = node_codes(drawing)
    colours = [COLOURS[code] for code in codes]
    look = {"s": AREA * min(1.0, 30 / max(len(P), 1)), "edgecolors": "0.25", "linewidths": 0.7}
    image = ax.scatter(*P.T, **({"c": colours, "zorder": 2} | look | options))
    written = few and max(map(len, names), default=9) <= 2  # as the signs of atoms are
    for place, label in zip(P, drawing.labels if written else []):
        ax.text(place[0], place[1], label, ha="center", va="center", fontsize=7.5, zorder=3)
    if names and not written and "c" not in options:
        handles = [ax.scatter([], [], c=COLOURS[i], label=name) for i, name in enumerate(names)]
        ax.legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return image


def small(drawing: Drawing) -> Drawing:
    if not len(drawing.places):
        raise ValueError(f"it has no nodes, or too many: {drawing.said}.")
    return drawing


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


@display
class NeighbourhoodDisplay(Panels):
    r"""The neighbourhoods of nodes that speak most for an answer of a model of graphs.

    Each node of each graph is left out once, and the model answers again: what the answer loses is
    the loss of the node. Nodes of one Weisfeiler-Lehman colour have surroundings that look alike up
    to t steps away (see `mercer.kernels.WeisfeilerLehman`). The loss of a colour c is the mean over
    the graphs G that have such nodes :math:`c_g`:

    .. math:: l_c = \frac{1}{|G|} \sum_{g \in G} \frac{1}{|c_g|} \sum_{v \in c_g}
              (f(g) - f(g \setminus v))

    Colours are ordered by this mean less two standard errors, so that those come first which speak
    for the answer in all graphs. The model itself is asked, whatever its kernel is, and nothing is
    fitted.

    Parameters
    ----------
    found : list of Neighbourhood
        The first one speaks most for the answer.
    answer : str
        What the answer is, such as ``"P(active)"``.

    Notes
    -----
    It takes as many predictions as the graphs have nodes. A neighbourhood is left out if it is in
    fewer than three graphs, and if more than half of its nodes are in one that comes before it.

    References
    ----------
    Zeiler & Fergus, "Visualizing and understanding convolutional networks", ECCV 2014; Shervashidze
    et al., "Weisfeiler-Lehman graph kernels", JMLR 12, 2011.

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
        cls,
        estimator: BaseEstimator,
        graphs: Any,
        *,
        of: object = None,
        rounds: int = 2,
        most: int = 4,
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
        cls, estimator: BaseEstimator, graphs: Any, *, axes: np.ndarray | None = None, **kwargs: Any
    ) -> NeighbourhoodDisplay:
        """Find the neighbourhoods and draw them. ``kwargs`` are passed to `measured`."""
        return cls.measured(estimator, graphs, **kwargs).plot(axes)

    def plot(self, axes: np.ndarray | None = None) -> NeighbourhoodDisplay:
        """Draw each neighbourhood in its own axes, within a graph that has it."""
        n = len(self.found)
        for ax, each in zip(self._draw_in(axes, n, n, (3.1, 2.7)), self.found):
            _, codes = node_codes(each.example)
            hues = [COLOURS[code] for code in codes]
            inside = set(each.near)
            shown = [hue if v in inside else "0.92" for v, hue in enumerate(hues)]
            draw_nodes(ax, each.example, c=shown)
            ax.scatter(*each.example.places[each.centre], s=420, facecolors="none",
                       edgecolors="#d55e00", linewidths=2, zorder=1)  # fmt: skip
            ax.set_title(f"{each.words}\n{each.loss:+.2g} in {each.graphs} graphs", fontsize=9)
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
