"""Distances between time series, by alignments of their points; the loops are native.

A block of pairs is one list for the native loop, which puts pairs of similar lengths side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import _native
from mercer.distances.base import Distance, Rooted
from mercer.distances.comparison import Meaning
from mercer.samples import Prepared, Series, check_not_negative, check_positive, is_number, is_whole

DTW_KIND, ERP_KIND, MSM_KIND, TWED_KIND = range(4)  # of the native loop
ROUNDING = 1 - 1e-12  # a bound is a sum of other terms than the distance
LOCAL = ("plain", "halved", "third")  # similarities of points in the native loop


class Aligned(Distance):
    """Abstract: a distance between series, computed cell by cell. Define ``of_pairs``."""

    kind = "series"
    #: operations for one cell of a pair, relative to `DTW`
    cell: float = 1.0

    def pair_cost(self, X: Series) -> float:
        return self.cell * float(X.lengths.mean()) ** 2 * X.channels if len(X) else 0.0

    def block(self, X: Any, Z: Any) -> np.ndarray:
        return self.within(X, Z, np.inf)

    def within(self, X: Any, Z: Any, limit: float) -> np.ndarray:
        return by_listed_pairs(self, X, Z, limit)


class DTW(Rooted, Aligned):
    r"""Dynamic time warping: the root of the least sum of squared gaps along an alignment,

    .. math::
        \rho(x, z)^2 = R_{nm}, \quad
        R_{ij} = \|x_i - z_j\|^2 + \min(R_{i-1,j-1}, R_{i-1,j}, R_{i,j-1}).

    Parameters
    ----------
    window : int >= 0, float in (0, 1) or None, default=None
        How far an alignment may leave the diagonal: so many points of the shorter series, or this
        share of the points of the longer one, rounded down. Series whose lengths differ by more
        are at an infinite distance. None: there is no window.

    See Also
    --------
    mercer.search.BruteForce : Exact neighbours, most of which need no alignment.
    mercer.kernels.GlobalAlignment : A positive semidefinite kernel in its place.

    Notes
    -----
    It is no metric, and exp(-γ ρ) is in general not positive semidefinite: `check_mercer` tests it
    on a sample. ``raw``, the sum itself, is what aeon returns; tslearn and dtaidistance return its
    root, as ``block`` does. A pair takes n m d operations, or about 2 window n d, of which 8 or 4
    pairs at a time are computed where the processor has AVX-512 or AVX2.

    With more points in the window the distance gets smaller; window=0 is the Euclidean distance of
    series of one length. Subtract the mean of each series and divide by its standard deviation if
    level and scale tell nothing.

    References
    ----------
    Sakoe & Chiba, "Dynamic programming algorithm optimization for spoken word recognition", IEEE
    Trans. ASSP 26, 1978.

    Examples
    --------
    >>> DTW()([[0.0, 1.0, 2.0]], [[0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 4.0]])
    array([[0., 2.]])
    >>> DTW(window=0)([[0.0, 1.0, 2.0]], [[0.0, 0.0, 1.0, 2.0], [0.0, 1.0, 4.0]])
    array([[inf,  2.]])
    """

    meaning = Meaning(
        "dtw(x, z)", "the gap between two series after one is stretched to fit the other"
    )

    metric = False
    exponent = 2.0

    def __init__(self, window: float | None = None):
        self.window = window

    def validate(self) -> None:
        points = is_whole(self.window) and self.window >= 0
        share = is_number(self.window) and not is_whole(self.window) and 0 < self.window < 1
        if not (self.window is None or points or share):
            raise ValueError(
                f"window={self.window!r}: give a number of points, an integer >= 0, or a share of "
                "the longer series, a float in (0, 1), or None for no window."
            )

    def pair_cost(self, X: Series) -> float:
        points, share = _window(self.window)
        whole = super().pair_cost(X)
        if points < 0 or not len(X):
            return whole
        length = float(X.lengths.mean())
        return whole * min(1.0, (2 * max(points, share * length) + 1) / length)

    def raw(self, X: Series, Z: Series) -> np.ndarray:
        return self.within(X, Z, np.inf)

    def bounds(self, X: Any, Z: Any) -> np.ndarray:
        """Lower bounds, (n, m): Keogh & Ratanamahatana's for series of one length, from both sides,
        and the costs of the first and the last points for others."""
        out = np.empty((len(X), len(Z)))
        _native.warp_bounds(*_arrays(X), *_arrays(Z), *_window(self.window), out)
        out *= ROUNDING
        return out

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        return _pairs(X, Z, pairs, limits, DTW_KIND, window=self.window)


class ERP(Aligned):
    r"""Edit distance with real penalty: the least sum of gaps along an alignment, in which points
    may also be left out at the cost of their distance from a fixed value g,

    .. math::
        R_{ij} = \min(R_{i-1,j-1} + \|x_i - z_j\|, \; R_{i-1,j} + \|x_i - g\|, \;
        R_{i,j-1} + \|z_j - g\|).

    Parameters
    ----------
    gap : float, default=0.0
        The value g, in each channel: the level of series that were not shifted to 0.

    Notes
    -----
    The triangle inequality holds, and points equal to g count nothing. exp(-γ ρ) is in general not
    positive semidefinite: `check_mercer` tests it on a sample. A pair takes n m d operations.

    References
    ----------
    Chen & Ng, "On the marriage of Lp-norms and edit distance", VLDB 2004.

    Examples
    --------
    >>> ERP()([[1.0, 2.0]], [[1.0, 2.0, 0.5], [3.0, 2.0]])
    array([[0.5, 2. ]])
    """

    meaning = Meaning("erp(x, z)", "the least sum of changes and of points left out")

    metric = False  # x and x with a point of the gap value are at distance 0
    cell = 5.0

    def __init__(self, gap: float = 0.0):
        self.gap = gap

    def validate(self) -> None:
        if not (is_number(self.gap) and np.isfinite(self.gap)):
            raise ValueError(f"gap={self.gap!r}: give a finite number.")

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        return _pairs(X, Z, pairs, limits, ERP_KIND, float(self.gap))


class MSM(Aligned):
    r"""Move, split, merge: the least cost of turning one series into the other by moving points to
    other values, and by splitting and merging equal neighbours.

    Parameters
    ----------
    cost : float > 0, default=1.0
        The cost of each split and merge; that of a move is how far it goes. Try 0.01 to 100.

    Notes
    -----
    It is a metric; exp(-γ ρ) is in general not positive semidefinite. Of several channels it is
    the sum of their distances. A pair takes n m d operations.

    References
    ----------
    Stefan, Athitsos & Das, "The move-split-merge metric for time series", IEEE TKDE 25, 2013.

    Examples
    --------
    >>> MSM()([[1.0, 2.0]], [[1.0, 1.0, 2.0], [1.0, 2.5]])
    array([[1. , 0.5]])
    """

    meaning = Meaning("msm(x, z)", "the least cost of moving, splitting and merging points")

    cell = 4.0

    def __init__(self, cost: float = 1.0):
        self.cost = cost

    def validate(self) -> None:
        check_positive("cost", self.cost)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        D = np.zeros(len(pairs))
        for c in range(X.channels):
            D += _pairs(_channel(X, c), _channel(Z, c), pairs, limits, MSM_KIND, float(self.cost))
        return D


class TWED(Aligned):
    r"""Time warp edit distance: the least cost of matching and deleting points, where matches
    between different times cost more,

    .. math::
        R_{ij} = \min(&R_{i-1,j-1} + \|x_i - z_j\| + \|x_{i-1} - z_{j-1}\| + 2 \nu |i - j|, \\
        &R_{i-1,j} + \|x_i - x_{i-1}\| + \nu + \lambda, \;
        R_{i,j-1} + \|z_j - z_{j-1}\| + \nu + \lambda),

    with :math:`R_{00} = 0`, :math:`R_{i0} = R_{0j} = \infty` (so that :math:`x_1` and :math:`z_1`
    are always matched), and :math:`x_0 = z_0 = 0`.

    Parameters
    ----------
    stiffness : float > 0, default=0.001
        The cost ν of each step of time between matched points.
    penalty : float >= 0, default=1.0
        The cost λ of each deleted point.

    Notes
    -----
    It is a metric; exp(-γ ρ) is in general not positive semidefinite. Points are one unit of time
    apart. A pair takes n m d operations.

    References
    ----------
    Marteau, "Time warp edit distance with stiffness adjustment for time series matching", IEEE
    TPAMI 31, 2009.

    Examples
    --------
    >>> TWED(0.5)([[1.0, 2.0]], [[1.0, 2.0, 2.0], [1.0, 3.0]])
    array([[1.5, 1. ]])
    """

    meaning = Meaning("twed(x, z)", "the least cost of matching points at near times")

    cell = 10.0

    def __init__(self, stiffness: float = 0.001, penalty: float = 1.0):
        self.stiffness = stiffness
        self.penalty = penalty

    def validate(self) -> None:
        check_positive("stiffness", self.stiffness)
        check_not_negative("penalty", self.penalty)

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        return _pairs(X, Z, pairs, limits, TWED_KIND, float(self.stiffness), float(self.penalty))


class SoftDTW(Aligned):
    r"""The divergence of soft dynamic time warping,

    .. math::
        \rho(x, z) = s(x, z) - \tfrac12 s(x, x) - \tfrac12 s(z, z), \quad
        s(x, z) = -\gamma \log \sum_\pi e^{-c(\pi) / \gamma},

    where c(π) is the sum of squared gaps along an alignment π.

    Parameters
    ----------
    smoothing : float > 0, default=1.0
        γ, in the unit of a squared gap: the smaller, the nearer to the square of `DTW`.

    Notes
    -----
    It is at least 0, and 0 for equal series, which s, the soft-DTW itself, is not: s may be
    negative. It is no metric, and exp(-ρ) is in general not positive semidefinite. A pair takes
    n m d operations and n m exponentials.

    References
    ----------
    Cuturi & Blondel, "Soft-DTW: a differentiable loss function for time-series", ICML 2017;
    Blondel, Mensch & Vert, "Differentiable divergences between time series", AISTATS 2021.

    Examples
    --------
    >>> SoftDTW(0.1)([[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0], [0.0, 1.0, 4.0]]).round(3)
    array([[0., 4.]])
    """

    meaning = Meaning(
        "softdtw(x, z)", "the gap between two series, averaged over all ways to stretch them"
    )

    metric = False
    cell = 8.0

    def __init__(self, smoothing: float = 1.0):
        self.smoothing = smoothing

    def validate(self) -> None:
        check_positive("smoothing", self.smoothing)

    def prepare(self, X: Series, like: Prepared | None = None) -> Any:
        return X if isinstance(X, Prepared) else Prepared((X, self._sums(X, X, own_pairs(X))))

    def of_pairs(self, X: Any, Z: Any, pairs: np.ndarray, limits: np.ndarray) -> np.ndarray:
        X, Z = self.sides(X, Z)
        ((x, own_x), (z, own_z)), (i, j) = (X.parts, Z.parts), pairs.T
        return np.maximum(self._sums(x, z, pairs) - own_x[i] / 2 - own_z[j] / 2, 0)

    def _sums(self, X: Series, Z: Series, pairs: np.ndarray) -> np.ndarray:
        """s(x, z) of each pair."""
        return -self.smoothing * path_sums(X, Z, pairs, 1 / self.smoothing)


def path_sums(
    X: Series, Z: Series, pairs: np.ndarray, scale: float, local: str = "plain", reach: int = 0
) -> np.ndarray:
    """Logarithms of the sums over all alignments of the products of local similarities, one for
    each pair; -inf for 0.

    Of two points whose places are less than ``reach`` apart (0: any), ``plain`` is the similarity
    k = exp(-scale |x - z|²); ``halved`` is w k / (2 - w k), where w falls from 1 for equal places
    to 0 at the reach; and ``third`` is k / 3, where series of one length also have half the product
    of 2 k / (3 - k) over their places.
    """
    out = np.empty(len(pairs))
    where = *_arrays(X), *_arrays(Z), np.ascontiguousarray(pairs, np.int64)
    _native.path_sums(*where, scale, LOCAL.index(local), min(reach, 2**40), out)
    return out


def signature_sums(
    X: Series, Z: Series, pairs: np.ndarray, gamma: float, levels: int,
    halvings: tuple[int, int] = (0, 0),
) -> np.ndarray:  # fmt: skip
    """Signature kernels, one for each pair: see mercer.kernels.Signature.

    Steps are those of the points, or with gamma >= 0 those in the space of exp(-gamma |x - z|²).
    With ``levels=0`` all levels are summed, on a grid where each step of X and of Z is halved so
    many times.
    """
    out = np.empty(len(pairs))
    _native.signature_sums(*_arrays(X), *_arrays(Z), pairs, gamma, levels, *halvings, out)
    return out


def all_pairs(n: int, m: int) -> np.ndarray:
    """The numbers of rows and columns of all values of a matrix, (n m, 2)."""
    return np.indices((n, m)).reshape(2, -1).T.astype(np.int64, order="C")


def by_listed_pairs(distance: Distance, X: Any, Z: Any, limit: float = np.inf) -> np.ndarray:
    """`Distance.of_pairs` of all pairs, (n, m), each computed once if Z is X."""
    same = X is Z
    X, Z = distance.sides(X, Z)
    n, m = X.shape[0], Z.shape[0]
    dtype = np.result_type(X.dtype, Z.dtype)
    if not same:
        found = distance.of_pairs(X, Z, all_pairs(n, m), np.full(n * m, limit))
        return found.reshape(n, m).astype(dtype, copy=False)
    pairs = np.argwhere(np.tri(n, k=-1, dtype=bool))
    D = np.zeros((n, n), dtype)
    i, j = pairs.T
    D[i, j] = D[j, i] = distance.of_pairs(X, Z, pairs, np.full(len(pairs), limit))
    return D


def own_pairs(X: Series) -> np.ndarray:
    """Each series with itself."""
    return np.repeat(np.arange(len(X), dtype=np.int64), 2).reshape(-1, 2)


def _pairs(
    X: Series, Z: Series, pairs: np.ndarray, limits: np.ndarray, kind: int, first: float = 0.0,
    second: float = 0.0, window: float | None = None,
) -> np.ndarray:  # fmt: skip
    """The distance of each pair; any number above its limit where it exceeds this."""
    out = np.empty(len(pairs))
    where = *_arrays(X), *_arrays(Z), np.ascontiguousarray(pairs, np.int64)
    _native.warp_series(*where, kind, first, second, *_window(window), limits, out)
    return out


def _arrays(X: Series) -> tuple[np.ndarray, np.ndarray]:
    """Points and starts, as the native loops read them; those of files are views of other bytes."""
    return (
        np.require(X.values, np.float64, ["C", "A"]),
        np.require(X.starts, np.int64, ["C", "A"]),
    )


def _window(window: float | None) -> tuple[int, float]:
    """A window as points and a share, of which the larger counts; -1: there is none."""
    if window is None:
        return -1, 0.0
    return (min(int(window), 2**40), 0.0) if is_whole(window) else (0, float(window))


def _channel(X: Series, c: int) -> Series:
    return X if X.channels == 1 else Series(X.values[:, c : c + 1], X.starts, X.dtype)
