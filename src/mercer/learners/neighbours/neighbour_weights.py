"""How much each neighbour of a query counts: equally, by rank, by distance or by a window.

`Neighbourhoods` are the nearest rows that a search found, and how many times each of them counts.
`Weighing` makes weights of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.learners.base import is_auto
from mercer.learners.windows import ENDLESS, WINDOWS, window
from mercer.samples import is_number

NAMES = ("uniform", "distance", "rank")


class Neighbourhoods(NamedTuple):
    """The nearest rows of some queries.

    Attributes
    ----------
    distances : ndarray of shape (n, m)
        Ascending in each row.
    indices : ndarray of shape (n, m)
    counts : ndarray of shape (n, m) or None
        How many times each row counts; None means once each.
    """

    distances: np.ndarray
    indices: np.ndarray
    counts: np.ndarray | None

    def of(self, rows: slice | np.ndarray) -> Neighbourhoods:
        """The same for some of the queries."""
        counts = None if self.counts is None else self.counts[rows]
        return Neighbourhoods(self.distances[rows], self.indices[rows], counts)


class Weighing(NamedTuple):
    """A rule that gives weights to the k nearest of a query.

    Attributes
    ----------
    weights : {"uniform", "distance", "rank"}, a window's name or callable
    width : float or None
        Width of a window; None means the distance to the (k + 1)-th neighbour.
    """

    weights: str | Callable
    width: float | None = None

    @property
    def adaptive(self) -> bool:
        """Whether it needs the (k + 1)-th neighbour, too."""
        return self.weights in WINDOWS and self.width is None

    @property
    def independent(self) -> bool:
        """Whether the weight of a neighbour does not depend on k."""
        return not self.adaptive and self.weights != "rank"

    def reach(self, found: Neighbourhoods) -> int:
        """How many of the nearest may have a weight that is not 0; at least one."""
        m = found.distances.shape[1]
        if self.weights not in WINDOWS or self.weights in ENDLESS or self.width is None:
            return m
        nearest = found.distances.min(axis=0)
        return max(1, int(np.searchsorted(nearest, self.width, side="right")))

    def __call__(self, found: Neighbourhoods, k: int) -> np.ndarray:
        """Weights of the nearest, (n, m) or (n, k), which are 0 for rows beyond the k-th.

        Where all of them are 0, the weight of the nearest is 1.
        """
        if found.counts is None:
            D = found.distances[:, : k + self.adaptive].astype(np.float64, copy=False)
            farther = D[:, k] if self.adaptive else None
            D = D[:, :k]
            before, counted = np.arange(D.shape[1])[None, :], None
        else:
            # a row of weight 2 is two neighbours, and may be the k-th and the (k + 1)-th
            D = found.distances.astype(np.float64)
            after = np.cumsum(found.counts, axis=1)
            before = after - found.counts
            counted = np.clip(k - before, 0, found.counts)
            farther = D[np.arange(len(D)), (after > k).argmax(axis=1)] if self.adaptive else None
        W = self._weights(D, farther, before, counted, k)
        some = np.flatnonzero(~(W[:, 0] > 0))  # mostly the nearest counts
        nobody = some[~(W[some] > 0).any(axis=1)]
        if len(nobody):
            W[nobody] = 0
            W[nobody, 0] = 1 if found.counts is None else found.counts[nobody, 0] > 0
        return W

    def _weights(
        self, D: np.ndarray, farther: Any, before: np.ndarray, counted: np.ndarray | None, k: int
    ) -> np.ndarray:
        """``counted`` is how many times each row counts; None means once."""
        if self.weights == "uniform":
            return np.ones(D.shape) if counted is None else counted
        if self.weights == "rank":  # the sum of (k + 1 - i) / k over its places, before < i <= last
            last = before + (1 if counted is None else counted)
            W = (last * (2 * k + 1 - last) - before * (2 * k + 1 - before)) / (2 * k)
            return np.broadcast_to(np.where(last > before, W, 0), D.shape).copy()
        if self.weights == "distance":
            # 1 / d, in units of the nearest; rows at distance 0 leave nothing to the others
            with np.errstate(divide="ignore", invalid="ignore"):
                W = np.where(D[:, :1] > 0, D[:, :1] / D, D == 0)
        elif callable(self.weights):
            W = infinite_alone(called(self.weights, D))
        else:
            W = window(self.weights, D, self.width if farther is None else farther[:, None])
        return W if counted is None else W * counted


def check_weighing(weights: Any, width: Any, n_neighbors: Any) -> None:
    """Raise an error if ``weights``, ``width`` and ``n_neighbors`` do not go together."""
    known = callable(weights) or (isinstance(weights, str) and weights in (*NAMES, *WINDOWS))
    if not (known or weights is None):
        names = ", ".join(map(repr, (*NAMES, *WINDOWS)))
        raise ValueError(f"weights={weights!r}: give one of {names}, or a function of distances.")
    windowed = isinstance(weights, str) and weights in WINDOWS
    if width is not None and not windowed:
        raise ValueError(
            f"width={width!r} belongs to a window, but weights={weights!r}: leave width out, or "
            f"give weights as one of {', '.join(map(repr, WINDOWS))}."
        )
    if not (width is None or is_auto(width) or (is_number(width) and 0 < width < np.inf)):
        raise ValueError(f'width={width!r}: give a finite number > 0, "auto" or None.')
    if n_neighbors is None and width is None:
        raise ValueError(
            "n_neighbors=None means all rows, which needs a window of a known width: give "
            f'weights="gaussian", say, and width, instead of weights={weights!r} and width=None.'
        )


def called(function: Callable, D: np.ndarray) -> np.ndarray:
    """Weights by a user's function of the distances.

    Infinite ones, as of 1 / d at distance 0, leave nothing to the others of their row.
    """
    with np.errstate(divide="ignore", over="ignore"):
        W = np.asarray(function(D.copy()))
    if W.shape != D.shape or W.dtype.kind not in "biuf":
        raise ValueError(
            f"weights returned shape {W.shape} of {W.dtype} for distances of shape {D.shape}: give "
            "one number for each."
        )
    if not (W >= 0).all():
        raise ValueError(
            "weights returned a negative number or NaN: give numbers >= 0, such as 1 / (d + 1)."
        )
    return W.astype(np.float64)


def infinite_alone(W: np.ndarray) -> np.ndarray:
    """Weights (n, k) where infinite ones are 1, and leave nothing to the others of their row."""
    infinite = np.isinf(W)
    return np.where(infinite.any(axis=1, keepdims=True), infinite, W)
