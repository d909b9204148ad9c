r"""Sums over windows, :math:`\sum_j K(\rho(x_i, z_j) / h) V_j`, for all rows x_i and widths h.

Tiles of distances stream by, and nothing of the size of the matrix is kept. A window that never
ends, such as the Gaussian, is measured from the nearest row, so that the sum of a far row is not 0
by underflow: the factor that is taken out stays known as a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer import _native
from mercer.distances import Distance
from mercer.distances.tiles import tile_edge
from mercer.gram import memory_budget
from mercer.learners.windows import WINDOWS
from mercer.search import Index
from mercer.threads import count_jobs, ordered_map, raise_if_stopped

__all__ = [
    "NEAREST",
    "SHAPES",
    "Shape",
    "Sums",
    "candidate_widths",
    "full_totals",
    "neighbour_totals",
    "typical_distance",
    "window_totals",
]

TRIED = 24  # widths of a choice
SOME = 512  # rows whose distances give the scale
EDGE, LEAST = 512, 16  # rows of a square tile, at most and at least


class Shape(NamedTuple):
    """A window K(u), u >= 0.

    Attributes
    ----------
    values : callable or None
        K, which is 0 beyond u = 1; None: K(u) = exp(-rate · u ** power).
    power, rate : float
    """

    values: Callable[[np.ndarray], np.ndarray] | None
    power: float = 2.0
    rate: float = 0.0


#: the windows of Parzen's method
SHAPES = {
    name: Shape(None, 2.0, 0.5) if name == "gaussian" else Shape(values)
    for name, values in WINDOWS.items()
}

#: with a width of 1, only the nearest rows count, all alike
NEAREST = Shape(None, 1.0, 1e30)


class Sums(NamedTuple):
    """Sums for G widths and n rows.

    Attributes
    ----------
    values : ndarray of shape (G, n, c)
        :math:`\\sum_j K(ρ_{ij} / h) V_j`, divided by exp(log_scale).
    squares : ndarray of shape (G, n, s)
        :math:`\\sum_j K(ρ_{ij} / h)^2 Q_j`, divided by exp(2 log_scale).
    log_scale : ndarray of shape (G, n)
    """

    values: np.ndarray
    squares: np.ndarray
    log_scale: np.ndarray


def window_totals(
    distance: Distance,
    X: Any,
    Z: Any,
    V: np.ndarray,
    shape: Shape,
    widths: np.ndarray,
    *,
    Q: np.ndarray | None = None,
    left_out: np.ndarray | None = None,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
) -> Sums:
    """Sums over the windows around each row of X.

    Parameters
    ----------
    distance : Distance
        Bound.
    X, Z : encoded samples, n and m
    V : ndarray of shape (m, c)
    shape : Shape
    widths : ndarray of shape (G,)
        > 0, in descending order.
    Q : ndarray of shape (m, s), optional
        What the squares of the window are multiplied with.
    left_out : ndarray of shape (n,), optional
        For X that is Z: the share of its own V that each row does not see, in [0, 1].
    memory, n_jobs

    Notes
    -----
    O(n m (G + c)) operations beside the distances. If the widths of a window without end are such
    that each exponent is twice the one before (:math:`h_{g+1} = h_g 2^{-1 / power}`), there is one
    exponential for each pair, and squares for the other widths.
    """
    widths = np.asarray(widths, np.float64)
    Q = np.zeros((len(V), 0)) if Q is None else Q
    jobs = count_jobs(n_jobs)
    itemsize = max(X.dtype.itemsize, Z.dtype.itemsize)
    room = memory_budget(memory, 8 * jobs * itemsize * EDGE**2) / (8 * jobs * itemsize)
    edge = tile_edge((X.shape[0], Z.shape[0]), distance.pair_cost(X))
    step = int(np.clip(np.sqrt(room), LEAST, edge))
    A, B = distance.sides(X, Z)
    n, m = X.shape[0], Z.shape[0]

    def strip(start: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = slice(start, min(start + step, n))
        state = _State(shape, widths, rows.stop - start, V.shape[1], Q.shape[1])
        if left_out is not None:
            rest = (1 - left_out[rows])[:, None]
            state.begin(rest * V[rows], rest * Q[rows])
        x = A[rows]
        for first in range(0, m, step):
            raise_if_stopped()
            columns = slice(first, min(first + step, m))
            own = left_out is not None and first == start
            D = distance.raw(x, x if own else B[columns])
            state.add(D, distance.exponent, V[columns], Q[columns], own)
        return state.values, state.squares, state.log_scale()

    G = len(widths)
    sums = Sums(np.empty((G, n, V.shape[1])), np.empty((G, n, Q.shape[1])), np.empty((G, n)))
    starts = range(0, n, step)
    for start, parts in zip(starts, ordered_map(strip, starts, n_jobs), strict=True):
        for whole, part in zip(sums, parts, strict=True):
            whole[:, start : start + step] = part
    return sums


def full_totals(
    distance: Distance,
    X: Any,
    Z: Any,
    V: np.ndarray,
    shape: Shape,
    widths: np.ndarray,
    *,
    Q: np.ndarray | None = None,
    left_out: np.ndarray | None = None,
    memory: int | float | str | None = None,
    n_jobs: int | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The values and squares of `window_totals` for each width, up to a factor for each row; where
    a window is empty, over the nearest rows, all alike. The first column of V is positive."""
    options: Any = {"Q": Q, "memory": memory, "n_jobs": n_jobs}
    sums = window_totals(distance, X, Z, V, shape, widths, left_out=left_out, **options)
    found = list(zip(sums.values, sums.squares, strict=True))
    empty = np.flatnonzero((sums.values[:, :, 0] == 0).any(axis=0))
    if len(empty):
        if left_out is None:
            near = window_totals(distance, X[empty], Z, V, NEAREST, np.ones(1), **options)
        else:
            near = window_totals(
                distance, X, Z, V, NEAREST, np.ones(1), left_out=left_out, **options
            )
            near = Sums(*(part[:, empty] for part in near))
        for values, squares in found:
            none = values[empty, 0] == 0
            values[empty[none]] = near.values[0, none]
            squares[empty[none]] = near.squares[0, none]
    return found


def neighbour_totals(
    index: Index,
    X: Any,
    k: int,
    V: np.ndarray,
    shape: Shape,
    widths: np.ndarray | None,
    Q: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same over the k nearest rows alone.

    Parameters
    ----------
    index : Index
        Of the rows of V.
    X : samples or None
        None: the training rows, none of which is in its own window.
    widths : ndarray of shape (G,), or None
        None: the distance to the (k + 1)-th neighbour of each row.
    """
    D, rows = index.query(X, k + (widths is None))
    D = D.astype(np.float64)
    given = [D[:, k:]] if widths is None else list(widths)
    D, rows = D[:, :k], rows[:, :k]
    Q = np.zeros((len(V), 0)) if Q is None else Q
    found = []
    for width in given:
        K = _of_nearest(shape, D, width)
        values, squares = np.zeros((len(D), V.shape[1])), np.zeros((len(D), Q.shape[1]))
        for j in range(k):  # not all at once: n k c numbers
            values += K[:, j, None] * V[rows[:, j]]
            squares += K[:, j, None] ** 2 * Q[rows[:, j]]
        found.append((values, squares))
    return found


def candidate_widths(scale: float, power: float) -> np.ndarray:
    """Widths to choose from, descending from about a scale.

    The exponent of a window without end, of this power, doubles from one to the next. They are
    powers of 2^(1 / power), so that samples of nearly the same scale have the same candidates.
    """
    first = np.ceil(power * np.log2(scale)) if scale > 0 else 0.0
    return 2.0 ** ((first - np.arange(TRIED)) / power)


def typical_distance(distance: Distance, X: Any) -> float:
    """The median of the positive distances between some rows; 0 if there are none."""
    some = X[:: max(1, X.shape[0] // SOME)]
    D = np.asarray(distance.block(some, some), np.float64)
    return float(np.median(D[D > 0])) if D.any() else 0.0


def _of_nearest(shape: Shape, D: np.ndarray, width: Any) -> np.ndarray:
    """K(ρ / h) of the nearest rows, (n, k), up to a factor for each row.

    At h = 0 only rows at distance 0 count; where all windows are 0, the nearest rows, all alike.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if shape.values is None:
            P = D**shape.power - D[:, :1] ** shape.power
            K = np.exp(-np.where(P > 0, shape.rate * P / np.asarray(width) ** shape.power, 0))
        else:
            K = np.asarray(shape.values(np.where(D > 0, D / width, 0)))
    empty = ~K.any(axis=1)
    K[empty] = D[empty] == D[empty, :1]
    return K


class _State:
    """The sums of some rows, while tiles are added."""

    def __init__(self, shape: Shape, widths: np.ndarray, n: int, c: int, s: int):
        self.shape, self.widths = shape, widths
        G = len(widths)
        self.values, self.squares = np.zeros((G, n, c)), np.zeros((G, n, s))
        #: ρ ** power of the nearest row so far, from which a window without end is measured
        self.nearest = np.full(n, np.inf)
        with np.errstate(over="ignore"):
            self.rates = shape.rate / widths**shape.power
        doubling = self.rates[1:] == 2 * self.rates[:-1]
        close = np.isclose(self.rates[1:], 2 * self.rates[:-1], rtol=1e-12)
        self.chained = G > 1 and bool((doubling | close).all())

    def begin(self, V: np.ndarray, Q: np.ndarray) -> None:
        """Add what each row sees of itself, at distance 0."""
        seen = V.any(axis=1) | Q.any(axis=1)
        peak = 1.0 if self.shape.values is None else float(self.shape.values(np.zeros(1))[0])
        self.nearest[seen] = 0.0
        self.values += peak * V
        self.squares += peak**2 * Q

    def add(self, D: np.ndarray, exponent: float, V: np.ndarray, Q: np.ndarray, own: bool) -> None:
        """Add a tile of ρ ** exponent, which may be overwritten; ``own``: without its diagonal."""
        if self.shape.values is None:
            self._add_endless(D, exponent, V, Q, own)
            return
        D = _power(D, 1 / exponent)
        for g, width in enumerate(self.widths):
            K = np.asarray(self.shape.values(D / D.dtype.type(width)), np.float64)
            if own:
                np.fill_diagonal(K, 0)
            self._collect(g, K, V, Q)

    def _add_endless(self, D, exponent, V, Q, own):
        P = _power(D, self.shape.power / exponent)
        if own:
            np.fill_diagonal(P, np.inf)
        nearest = np.minimum(self.nearest, P.min(axis=1, initial=np.inf))
        known = np.isfinite(nearest)
        if not known.all():  # rows that have seen no other yet
            nearest, P = np.where(known, nearest, 0), np.where(known[:, None], P, 0)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            moved = np.where(np.isfinite(self.nearest), self.nearest - nearest, np.inf)
            moved[moved == 0] = 0
            for g, rate in enumerate(self.rates):
                shrink = np.where(moved > 0, np.exp(-rate * moved), 1.0)[:, None]
                self.values[g] *= shrink
                self.squares[g] *= shrink**2
        P -= nearest[:, None].astype(P.dtype)
        if own:
            np.fill_diagonal(P, 0)
        absent = ~known
        K = P
        for g, rate in enumerate(self.rates):
            if g and self.chained:
                np.multiply(K, K, out=K)
            else:
                K = P if g == len(self.rates) - 1 or self.chained else P.copy()
                _native.exp_scaled(K, float(rate))
                if own:
                    np.fill_diagonal(K, 0)
                K[absent] = 0
            self._collect(g, K, V, Q)
        self.nearest = np.where(known, nearest, self.nearest)

    def _collect(self, g: int, K: np.ndarray, V: np.ndarray, Q: np.ndarray) -> None:
        self.values[g] += K @ V.astype(K.dtype, copy=False)
        if Q.shape[1]:
            self.squares[g] += (K * K) @ Q.astype(K.dtype, copy=False)

    def log_scale(self) -> np.ndarray:
        """Of each width and row."""
        if self.shape.values is not None:
            return np.zeros(self.values.shape[:2])
        nearest = np.where(np.isfinite(self.nearest), self.nearest, 0)
        return -np.outer(self.rates, nearest)


def _power(D: np.ndarray, power: float) -> np.ndarray:
    """D ** power, in place."""
    if power == 0.5:
        return np.sqrt(D, out=D)
    if power == 2:
        return np.multiply(D, D, out=D)
    if power != 1:
        D **= power
    return D
