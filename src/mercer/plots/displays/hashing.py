"""Draw what approximate search finds: the S-curve of a hashing index, and recall against time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.plots.displays.display import FLOATS, Display, display, one_for_each
from mercer.plots.marks import colour
from mercer.search import Index, LSHIndex

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#777777"


@display
class HashingDisplay(Display):
    r"""The S-curve of a hashing index: how often a pair is compared, over its distance.

    .. math:: P(d) = 1 - (1 - p(d)^r)^b

    Beside the curve stands p(d), the probability of a single hash function, and below it how the
    distances of pairs are distributed, if they are given.

    Parameters
    ----------
    distances : array-like of shape (n,)
        Ascending.
    collision, single : array-like of shape (n,)
        The probability of the index, and of one function.
    n_tables, n_hashes : int
        b and r.
    near, recall : float
        The distance at which pairs are found with this probability.
    pairs : array-like of shape (pairs,), optional
        Distances of pairs of the sample.

    References
    ----------
    Leskovec, Rajaraman & Ullman, "Mining of Massive Datasets", 3rd edition, 2020, section 3.4.

    Examples
    --------
    >>> from mercer import LSHIndex
    >>> from mercer.distances import Minkowski
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> display = HashingDisplay.from_index(LSHIndex(Minkowski(), near=1.0).fit(X))
    >>> bool(np.interp(display.near, display.distances, display.collision) > 0.94)
    True
    """

    distances: Any = field(metadata=FLOATS)
    collision: Any = field(metadata=FLOATS | one_for_each("distances"))
    single: Any = field(metadata=FLOATS | one_for_each("distances"))
    _: KW_ONLY
    n_tables: int
    n_hashes: int
    near: float
    recall: float
    pairs: Any = field(default=None, metadata=FLOATS)

    @classmethod
    def from_index(
        cls, index: LSHIndex, X: Any = None, most: float | None = None
    ) -> HashingDisplay:
        """The curve of a fitted index.

        Parameters
        ----------
        index : LSHIndex
        X : samples, optional
            Some rows, whose pairs are drawn below the curve.
        most : float, optional
            The right end. None: the largest distance of the pairs, or three times ``near_``.
        """
        pairs = None
        if X is not None:
            rows = index.distance_.encode(X)
            D = index.distance_.whole(rows, rows)
            pairs = D[np.triu_indices(len(D), 1)]
        if most is None:
            most = 3 * index.near_ if pairs is None else float(pairs.max(initial=index.near_))
        d = np.linspace(0, most or 1.0, 400)
        return cls(
            d, index.collision(d), index.family_.collision(d), n_tables=index.n_tables_,
            n_hashes=index.n_hashes_, near=index.near_, recall=float(index.recall), pairs=pairs,
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> HashingDisplay:
        """Draw ``curve_`` and ``single_``, that of one function."""
        ax = self._draw_on(ax)
        if self.pairs is not None:
            heights, edges = np.histogram(self.pairs, 60, (0, float(self.distances[-1])))
            ax.stairs(
                0.5 * heights / max(heights.max(), 1), edges, fill=True, color=GREY, alpha=0.3,
                label="distances of pairs",
            )  # fmt: skip
        label = "one function, p"
        (self.single_,) = ax.plot(self.distances, self.single, "--", color=GREY, label=label)
        powers = rf"$1 - (1 - p^{{{self.n_hashes}}})^{{{self.n_tables}}}$"
        look = {"color": colour(1), "label": f"compared, {powers}"}
        (self.curve_,) = ax.plot(self.distances, self.collision, **look)
        ax.plot([self.near, self.near, 0], [0, self.recall, self.recall], ":", color="black")
        ax.plot(
            [self.near], [self.recall], "o", color="black",
            label=f"{self.recall:.0%} at the distance {self.near:.3g}",
        )  # fmt: skip
        ax.set(xlabel="Distance", ylabel="Probability", ylim=(0, 1.03))
        ax.set_xlim(0, float(self.distances[-1]))
        ax.legend(frameon=False)
        return self


@display
class RecallTimeDisplay(Display):
    """Recall against queries per second, for indexes with several settings.

    Parameters
    ----------
    curves : mapping
        The name of each curve, and a list of pairs (recall, seconds for a query).
    k : int
        Neighbours of which the recall is a share.

    Examples
    --------
    >>> display = RecallTimeDisplay({"brute force": [(1.0, 1e-3)], "hashing": [(0.9, 1e-4)]}, k=10)
    >>> display.curves["hashing"]
    [(0.9, 0.0001)]
    """

    curves: Mapping[str, Sequence[tuple[float, float]]]
    k: int

    def __post_init__(self) -> None:
        self.curves = {name: sorted(points) for name, points in self.curves.items()}

    @classmethod
    def measured(
        cls,
        indexes: Mapping[str, Index | Sequence[Index]],
        Z: Any,
        k: int = 10,
        exact: Index | None = None,
        repeats: int = 3,
    ) -> RecallTimeDisplay:
        """Ask fitted indexes for the k nearest rows of each row of Z.

        Parameters
        ----------
        indexes : mapping
            The name of each curve, and one or more fitted indexes of the same rows.
        Z : samples
        k : int, default=10
        exact : Index, optional
            Whose answers are right; None: the first exact one.
        repeats : int, default=3
            How often each is asked; the shortest time counts.
        """
        lists = {n: [i] if isinstance(i, Index) else list(i) for n, i in indexes.items()}
        exact = exact or next((i for some in lists.values() for i in some if i.exact), None)
        if exact is None:
            raise ValueError("exact=None: give an exact index, such as a fitted BruteForce.")
        right = exact.query(Z, k)[0][:, -1:]
        curves: dict[str, list[tuple[float, float]]] = {}
        for name, some in lists.items():
            curves[name] = []
            for index in some:
                seconds, distances = [], np.empty(0)
                for _ in range(repeats):
                    began = time.perf_counter()
                    distances = index.query(Z, k)[0]
                    seconds.append((time.perf_counter() - began) / len(distances))
                # a row as near as the k-th one is right, whichever it is
                near = distances <= right * (1 + 1e-6) + 1e-12
                curves[name].append((float(near.mean()), min(seconds)))
        return cls(curves, k)

    def plot(self, ax: Axes | None = None) -> RecallTimeDisplay:
        """Draw ``lines_``, one for each name, with queries per second on a log scale."""
        ax, self.lines_ = self._draw_on(ax), []
        for c, (name, points) in enumerate(self.curves.items()):
            recall, seconds = np.transpose(points)
            look = {"color": colour(c), "label": name, "clip_on": False}
            self.lines_ += ax.semilogy(recall, 1 / seconds, "o-", **look)
        least = min(r for points in self.curves.values() for r, _ in points)
        ax.set_xlim(max(0.0, least - 0.05), 1.0)
        ax.set(xlabel=f"Recall of the {self.k} nearest", ylabel="Queries per second")
        ax.legend(frameon=False)
        return self
