"""Draw a graph or a tree, and which of its nodes speak for an answer of a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.plots.classes import COLOURS, node_codes
from mercer.plots.displays.display import VECTOR, Display, answers
from mercer.samples import Drawing, kind_that_holds
from mercer.spoken import a_type

AREA = 170.0  # of a node among few, in square points
ROOM = 0.7  # around the nodes, in lengths of an edge
PALE = 1.4  # the ends of the scale are so far beyond the largest loss, so that letters are read


@dataclass(eq=False, repr=False)
class GraphDisplay(Display):
    r"""One graph or tree, with its labels; or which nodes of a graph an answer rests on: what the
    answer loses where a node is left out.

    Each node is left out once, with its edges, and the model answers again. The model itself is
    asked, whatever it is, and nothing is fitted.

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

    Attributes
    ----------
    ax_, figure_, image_
        The matplotlib objects that `plot` drew; the image is None for a tree.

    Notes
    -----
    Two nodes that say the same have little loss each, since either is enough. Without a node a
    graph may fall apart, which a model may take for a sign too.

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
    def of(cls, item: Any, *, ax: Any = None) -> GraphDisplay:
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
        cls, estimator: Any, graph: Any, *, of: Any = None, ax: Any = None
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
    def losses(estimator: Any, graph: Any, *, of: Any = None) -> tuple[np.ndarray, float, str]:
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

    def plot(self, ax: Any = None, **kwargs: Any) -> GraphDisplay:
        """Draw it. ``kwargs`` are passed to ``ax.scatter``, which draws the nodes of a graph."""
        ax = self._draw_on(ax)
        options: dict[str, Any] = {}
        if self.loss is not None:
            most = float(np.abs(self.loss).max(initial=0)) or 1.0
            options = {
                "c": self.loss,
                "cmap": "coolwarm",
                "vmin": -PALE * most,
                "vmax": PALE * most,
            }
        self.image_ = draw_nodes(ax, self.drawing, **(options | kwargs))
        if self.loss is not None:
            self.figure_.colorbar(self.image_, ax=ax, label=f"loss of {self.answer}")
            ax.set_title(f"{self.answer} = {self.full:.3g}")
        return self


def draw_nodes(ax: Any, drawing: Drawing, **options: Any) -> Any:
    """Draw edges, and nodes with their labels; ``options`` are those of ``ax.scatter``.

    Without colours in ``options``, they are those of the labels. The words of a tree are drawn
    alone. Returns what ``ax.scatter`` does, or None for a tree.
    """
    P, few = drawing.places, len(drawing.places) <= 30
    for u, v in drawing.edges.tolist():
        if u == v:
            ax.plot(*(P[u] + [0, 0.18]), "o", ms=13, mfc="none", mec="0.6", zorder=0)
        elif drawing.directed:
            ax.annotate("", P[v], P[u], arrowprops={"arrowstyle": "-|>", "color": "0.6",
                                                    "shrinkA": 0, "shrinkB": 8})  # fmt: skip
        else:
            ax.plot(*P[[u, v]].T, color="0.6", linewidth=1.2, zorder=0)
    ax.set_aspect("auto" if drawing.written else "equal")
    ax.axis("off")
    if drawing.written:
        for place, word in zip(P, drawing.labels):
            room = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.5}
            ax.text(*place, word, ha="center", va="center", bbox=room)
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
        ax.text(*place, label, ha="center", va="center", fontsize=7.5, zorder=3)
    if names and not written and "c" not in options:
        handles = [ax.scatter([], [], c=COLOURS[i], label=name) for i, name in enumerate(names)]
        ax.legend(handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return image


def small(drawing: Drawing) -> Drawing:
    if not len(drawing.places):
        raise ValueError(f"it has no nodes, or too many: {drawing.said}.")
    return drawing
