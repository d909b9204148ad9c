r"""Sums over windows, :math:`\sum_j K(\rho(x_i, z_j) / h) V_j`, for all rows x_i and widths h.

Tiles of distances stream by, and nothing of the size of the matrix is kept. A window that never
ends, such as the Gaussian, is measured from the nearest row, so that the sum of a far row is not 0
by underflow: the factor that is taken out stays known as a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer import _native
from mercer.distances import Distance, tile_edge
from mercer.gram import Place
from mercer.samples import Samples
from mercer.search import Index
from mercer.threads import ordered_map, raise_if_stopped

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: K(u) for u >= 0, with ∫ K(|u|) du = 1; all except `ENDLESS` are 0 beyond u = 1
WINDOWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rectangular": lambda u: 0.5 * (u <= 1),
    "triangular": lambda u: np.maximum(1 - u, 0),
    "epanechnikov": lambda u: 0.75 * np.maximum(1 - u * u, 0),
    "quartic": lambda u: 15 / 16 * np.maximum(1 - u * u, 0) ** 2,
    "gaussian": lambda u: np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi),
    "exponential": lambda u: 0.5 * np.exp(-u),
    "tricube": lambda u: 70 / 81 * np.maximum(1 - u**3, 0) ** 3,
}

ENDLESS = ("gaussian", "exponential")  # K(u) > 0 for all u


def window(name: str, distances: ArrayLike, width: Any) -> np.ndarray:
    """K(ρ / h) for distances ρ and widths h that broadcast against them.

    At a width of 0, only rows at distance 0 count.

    Raises
    ------
    ValueError
        The name is unknown.

    Examples
    --------
    >>> window("triangular", [0.0, 1.0, 4.0], 2.0)
    array([1. , 0.5, 0. ])
    """
    if name not in WINDOWS:
        raise ValueError(f"window={name!r}: give one of {', '.join(map(repr, WINDOWS))}.")
    distances = np.asarray(distances)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = distances / width
        if not np.all(width):  # of a width of 0
            u = np.where(distances > 0, u, 0)
    # where u would overflow, K is 0 anyway
    return WINDOWS[name](np.fmin(u, 1000)).astype(u.dtype, copy=False)


TRIED = 24  # widths of a choice
SOME = 512  # rows whose distances give the scale
ROWS = 4096  # rows whose neighbours are summed at a time
FAR = 1e270  # power of a width of a window without end, so that its rate is a finite number > 0
EDGE, LEAST = 512, 16  # rows of a square tile, at most and at least


class WindowShape(NamedTuple):
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
    **{name: WindowShape(values) for name, values in WINDOWS.items()},
    "gaussian": WindowShape(None, 2.0, 0.5),
    "exponential": WindowShape(None, 1.0, 1.0),
}

#: with a width of 1, only the nearest rows count, all equally
NEAREST = WindowShape(None, 1.0, 1e30)


#: takes the sums of V with K and of Q with K², (n, c) and (n, s), their log scales (n,), and which
#: rows of X they belong to; returns the result for each row, (n,) or (n, r). The sums are
#: divided by exp(log scale), and by exp(2 log scale).
Reduce = Callable[[np.ndarray, np.ndarray, np.ndarray, slice], np.ndarray]


def window_totals(
    distance: Distance,
    X: Any,
    Z: Samples,
    V: np.ndarray,
    shape: WindowShape,
    widths: np.ndarray,
    reduce: Reduce,
    *,
    Q: np.ndarray | None = None,
    left_out: np.ndarray | None = None,
    nearest: bool = True,
    place: Place,
) -> np.ndarray:
    """What ``reduce`` makes of the sums over the windows around each row of X, (G, n) or (G, n, r).

    Parameters
    ----------
    distance : Distance
        Bound.
    X, Z : encoded samples, n and m
    V : ndarray of shape (m, c)
        The first column is positive.
    shape : WindowShape
    widths : ndarray of shape (G,)
        > 0, in descending order.
    reduce : callable
    Q : ndarray of shape (m, s), optional
        What the squares of the window are multiplied with.
    left_out : ndarray of shape (n,), optional
        Only if X is Z: the share of its own V that each row does not see, in [0, 1].
    nearest : bool
        Whether the nearest rows, which count equally, replace a window that is empty.
    place : Place
        Memory and threads.

    Notes
    -----
    O(n m (G + c)) operations in addition to the distances. If the widths of a window without end
    are such that each exponent is twice the one before (:math:`h_{g+1} = h_g 2^{-1 / power}`),
    there is one exponential for each pair, and squares for the other widths.
    """
    widths = np.asarray(widths, np.float64)
    Q = np.zeros((len(V), 0)) if Q is None else Q
    n, m = X.shape[0], Z.shape[0]
    jobs, size = place.jobs, max(X.dtype.itemsize, Z.dtype.itemsize)
    room = place.budget(8 * jobs * size * EDGE**2) / (8 * jobs * size)
    edge = tile_edge((n, m), distance.pair_cost(X))
    # a tile and the sums of its rows fit
    sums = 4 * len(widths) * (V.shape[1] + Q.shape[1])
    step = int(np.clip(min(np.sqrt(room), room / sums), LEAST, edge))
    A, B = distance.sides(X, Z)

    def total(shape: WindowShape, widths: np.ndarray, rows: np.ndarray) -> _State:
        """The sums of some rows."""
        state = _State(shape, widths, len(rows), V.shape[1], Q.shape[1])
        whole = len(rows) and len(rows) == rows[-1] - rows[0] + 1
        x = A[rows[0] : rows[-1] + 1] if whole else A[rows]
        if left_out is not None:
            rest = (1 - left_out[rows])[:, None]
            state.begin(rest * V[rows], rest * Q[rows])
        for first in range(0, m, step):
            raise_if_stopped()
            columns = slice(first, min(first + step, m))
            own = None
            if left_out is not None:
                here = (rows >= first) & (rows < columns.stop)
                own = np.flatnonzero(here), rows[here] - first
            D = distance.raw(x, B[columns])
            state.add(D, distance.exponent, V[columns], Q[columns], own)
        return state

    def strip(start: int) -> np.ndarray:
        rows = np.arange(start, min(start + step, n))
        state = total(shape, widths, rows)
        values, squares, log_scale = state.values, state.squares, state.log_scale()
        empty = values[:, :, 0] == 0
        some = np.flatnonzero(empty.any(axis=0))
        if nearest and len(some):
            near = total(NEAREST, np.ones(1), rows[some])
            for g in range(len(widths)):
                none = empty[g, some]
                values[g, some[none]] = near.values[0, none]
                squares[g, some[none]] = near.squares[0, none]
        part = slice(start, start + len(rows))
        return np.stack([reduce(v, q, s, part) for v, q, s in zip(values, squares, log_scale)])

    return np.concatenate(list(ordered_map(strip, range(0, n, step), place.n_jobs)), axis=1)


def neighbour_totals(
    index: Index,
    X: Any,
    k: int,
    V: np.ndarray,
    shape: WindowShape,
    widths: np.ndarray | None,
    reduce: Reduce,
    Q: np.ndarray | None = None,
) -> np.ndarray:
    """The same over the k nearest rows alone.

    Parameters
    ----------
    index : Index
        Index of the rows of V.
    X : samples or None
        None means the training rows; no row is in its own window.
    widths : ndarray of shape (G,), or None
        None: the distance to the (k + 1)-th neighbour of each row.
    """
    found, neighbours = index.query(X, k + (widths is None))
    Q = np.zeros((len(V), 0)) if Q is None else Q
    results = []
    for start in range(0, len(found), ROWS):
        rows = slice(start, min(start + ROWS, len(found)))
        D, near = found[rows].astype(np.float64), neighbours[rows, :k]
        given = [D[:, k:]] if widths is None else list(widths)
        D, part = D[:, :k], []
        for width in given:
            K = window_values(shape, D, width)
            values, squares = np.zeros((len(D), V.shape[1])), np.zeros((len(D), Q.shape[1]))
            for j in range(k):  # not all at once: ROWS k c numbers
                values += K[:, j, None] * V[near[:, j]]
                squares += K[:, j, None] ** 2 * Q[near[:, j]]
            part.append(reduce(values, squares, np.zeros(len(D)), rows))
        results.append(np.stack(part))
    return np.concatenate(results, axis=1)


def candidate_widths(scale: float, power: float) -> np.ndarray:
    """Widths to choose from, descending from about a scale.

    The exponent of a window without end, of this power, doubles from one to the next. They are
    powers of 2^(1 / power), so that samples of nearly the same scale have the same candidates.
    """
    first = np.ceil(power * np.log2(scale)) if scale > 0 else 0.0
    return 2.0 ** ((first - np.arange(TRIED)) / power)


def typical_distance(distance: Distance, X: Samples) -> float:
    """The median of the positive distances between some rows; 0 if there are none."""
    some = X[:: max(1, X.shape[0] // SOME)]
    D = np.asarray(distance.block(some, some), np.float64)
    return float(np.median(D[D > 0])) if D.any() else 0.0


def window_values(shape: WindowShape, D: np.ndarray, width: Any) -> np.ndarray:
    """K(ρ / h) for distances (n, k), up to a factor for each row; ``width`` broadcasts.

    At h = 0 only rows at distance 0 count; where all windows are 0, the nearest rows count, all
    equally.
    """
    least = D.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if shape.values is None:
            P = D**shape.power - least**shape.power
            K = np.exp(-np.where(P > 0, shape.rate * P / np.asarray(width) ** shape.power, 0))
        else:
            K = np.asarray(shape.values(np.where(D > 0, D / width, 0)))
    empty = ~K.any(axis=1)
    K[empty] = D[empty] == least[empty]
    return K


class _State:
    """The sums of some rows, while tiles are added."""

    def __init__(self, shape: WindowShape, widths: np.ndarray, n: int, c: int, s: int):
        self.shape, self.widths = shape, widths
        G = len(widths)
        self.values, self.squares = np.zeros((G, n, c)), np.zeros((G, n, s))
        #: ρ ** power of the nearest row so far, from which a window without end is measured
        self.nearest = np.full(n, np.inf)
        with np.errstate(over="ignore", under="ignore"):
            self.rates = shape.rate / np.clip(widths**shape.power, 1 / FAR, FAR)
        doubled = np.isclose(self.rates[1:], 2 * self.rates[:-1], rtol=1e-12)
        self.chained = G > 1 and bool(doubled.all())

    def begin(self, V: np.ndarray, Q: np.ndarray) -> None:
        """Add what each row sees of itself, at distance 0."""
        seen = V.any(axis=1) | Q.any(axis=1)
        peak = 1.0 if self.shape.values is None else float(self.shape.values(np.zeros(1))[0])
        self.nearest[seen] = 0.0
        self.values += peak * V
        self.squares += peak**2 * Q

    def add(
        self, D: np.ndarray, exponent: float, V: np.ndarray, Q: np.ndarray, own: tuple | None
    ) -> None:
        """Add a tile of ρ ** exponent, which may be overwritten, without its entries ``own``."""
        if self.shape.values is None:
            self._add_endless(D, exponent, V, Q, own)
            return
        D = _power(D, 1 / exponent)
        for g, width in enumerate(self.widths):
            with np.errstate(over="ignore"):  # beyond u = 1 by far
                u = D / D.dtype.type(max(width, np.finfo(D.dtype).tiny))
                K = np.asarray(self.shape.values(u), np.float64)
            if own is not None:
                K[own] = 0
            self._collect(g, K, V, Q)

    def _add_endless(self, D, exponent, V, Q, own):
        """Add a tile of windows without an end, as multiples of the nearest row's weight."""
        P = _power(D, self.shape.power / exponent)
        if own is not None:
            P[own] = np.inf
        nearest = np.minimum(self.nearest, P.min(axis=1, initial=np.inf))
        known = np.isfinite(nearest)
        if not known.all():  # rows that have not met another row yet
            nearest, P = np.where(known, nearest, 0), np.where(known[:, None], P, 0)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            moved = np.where(np.isfinite(self.nearest), self.nearest - nearest, np.inf)
            moved[moved == 0] = 0
            for g, rate in enumerate(self.rates):
                shrink = np.where(moved > 0, np.exp(-rate * moved), 1.0)[:, None]
                self.values[g] *= shrink
                self.squares[g] *= shrink**2
        P -= nearest[:, None].astype(P.dtype)
        if own is not None:
            P[own] = 0
        absent = ~known
        K = P
        for g, rate in enumerate(self.rates):
            if g and self.chained:
                np.multiply(K, K, out=K)
            else:
                K = P if g == len(self.rates) - 1 or self.chained else P.copy()
                _native.exp_scaled(K, float(rate))
                if own is not None:
                    K[own] = 0
                K[absent] = 0
            self._collect(g, K, V, Q)
        self.nearest = np.where(known, nearest, self.nearest)

    def _collect(self, g: int, K: np.ndarray, V: np.ndarray, Q: np.ndarray) -> None:
        self.values[g] += K @ V.astype(K.dtype, copy=False)
        if Q.shape[1]:
            self.squares[g] += (K * K) @ Q.astype(K.dtype, copy=False)

    def log_scale(self) -> np.ndarray:
        """The log scale of each width and row."""
        if self.shape.values is not None:
            return np.zeros(self.values.shape[:2])
        nearest = np.where(np.isfinite(self.nearest), self.nearest, 0)
        with np.errstate(over="ignore"):
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


def window_sums(
    distance: Distance,
    Z: Samples,
    X: Samples,
    T: np.ndarray,
    name: str,
    widths: Sequence[float],
    reduce: Callable[[np.ndarray, slice], np.ndarray],
    *,
    place: Place,
) -> np.ndarray:
    """What ``reduce`` makes of Σ_j K(ρ(z_i, x_j) / h) T[j], for each width h.

    Parameters
    ----------
    distance : Distance
        Bound.
    Z : encoded samples (q) or None
        None means the rows of X; no row counts for itself.
    X : encoded samples (n)
    T : ndarray of shape (n, columns)
    name : str
        Name of a window.
    widths : sequence of float
    reduce : callable
        Takes the sums of some queries, (widths, rows, columns), and which queries they are; returns
        an array whose second axis are these queries.
    place : Place
        Memory and threads.

    Returns
    -------
    ndarray
        The results, joined along the second axis.

    Notes
    -----
    q n distances, each computed once for all widths. Memory: some tiles for each thread.
    """
    n = X.shape[0]
    B = distance.prepare(X)
    A = B if Z is None else distance.prepare(Z, B)
    q = A.shape[0]
    room = place.budget() // (place.jobs * 40)
    edge = int(np.clip(np.sqrt(room), LEAST, EDGE))

    def strip(start: int) -> np.ndarray:
        rows = slice(start, min(start + edge, q))
        sums = np.zeros((len(widths), rows.stop - start, T.shape[1]))
        for s in range(0, n, edge):
            D = distance.block(A[rows], B[s : s + edge])
            if not np.isfinite(D).all():
                raise FloatingPointError("a distance is not finite")
            if Z is None and s == start:
                np.fill_diagonal(D, np.inf)
            for total, width in zip(sums, widths):
                total += window(name, D, width) @ T[s : s + edge]
        return reduce(sums, rows)

    return np.concatenate(list(ordered_map(strip, range(0, q, edge), place.n_jobs)), axis=1)
