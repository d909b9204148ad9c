"""The kernel of additive models: a sum of centred kernels of columns and of pairs of columns.

Its parts are functions of the levels of one column, and of two columns on a coarse grid of their
levels. A level is a bin of numbers, a category, or "missing". The kernel is centred, so that a
function of one column has mean 0 over the rows; its leading eigenfunctions are the columns of Φ,
K̃ ≈ Φ Φᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh

from mercer import _native
from mercer.distances import Meaning, dense_rows
from mercer.estimator import estimator
from mercer.kernels.additive.bins import MOST, TableBins
from mercer.kernels.base import OfFeatures
from mercer.persistence import fields, whole
from mercer.samples import Samples, float_array, is_number, is_whole

LEAST = 1e-9  # eigenvalue, in parts of the largest, that is not rounding


def laplacian(positions: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-γ |t - t'|) between the positions of levels, (levels, levels).

    Levels whose position is NaN, as those of categories or of missing values are like no other.

    Examples
    --------
    >>> laplacian(np.array([0.0, 1.0, np.nan]), 1.0).round(2)
    array([[1.  , 0.37, 0.  ],
           [0.37, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    gaps = np.abs(positions[:, None] - positions)
    K = np.where(np.isnan(gaps), 0.0, np.exp(-gamma * gaps))
    np.fill_diagonal(K, 1.0)
    return K


def level_functions(K: np.ndarray, shares: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Φ of shape (levels, r), and its r <= ``most`` eigenvalues, the largest first.

    With :math:`\tilde K = H K H^\top`, :math:`H = I - 1 p^\top` and
    :math:`\sqrt p \tilde K \sqrt p = U μ U^\top` it is :math:`Φ = \tilde K \sqrt p \, U μ^{-1/2}`.
    Levels without rows that are like no other have the value 0.

    Examples
    --------
    >>> Phi, values = level_functions(np.eye(2), np.array([0.5, 0.5]), 5)
    >>> np.abs(Phi).round(2), values.round(2)
    (array([[0.71],
           [0.71]]), array([0.5]))
    """
    p = shares / shares.sum()
    mean = K @ p
    centred = K - mean[:, None] - mean + p @ mean
    root = np.sqrt(p)
    values, U = eigh(root[:, None] * centred * root)
    kept = np.flatnonzero(values > LEAST * max(values[-1], LEAST))[::-1][:most]
    Phi = centred @ (root[:, None] * U[:, kept]) / np.sqrt(values[kept])
    alone = (p == 0) & (np.count_nonzero(K, axis=1) == 1)
    Phi[alone] = 0
    return Phi, values[kept]


GAMMA = 2.0  # of the kernel of each side of a pair
SIDE = 10  # leading functions of a column of numbers, whose products are those of a pair
FITTED = 64  # levels of a column on the grid
#: Leading products of a pair: of numbers, and for each level of a category. Categories have no
#: smooth functions: of fifty levels of one size, ten functions would be any ten of the levels.
PAIR_FUNCTIONS, EACH_LEVEL, MOST_LEVELS = 60, 6, 50


@fields(group=whole(lambda column: len(column.functions)))
@dataclass(frozen=True, eq=False)
class CoarseColumn:
    """A column on the grid of pairs.

    Attributes
    ----------
    group : ndarray of uint8 of shape (levels,)
        Which of its coarse levels each level belongs to.
    functions : ndarray of shape (coarse levels, r)
    values : ndarray of shape (r,)
        The eigenvalues of the functions.
    """

    group: np.ndarray
    functions: np.ndarray
    values: np.ndarray


def coarse_column(positions: np.ndarray, counts: np.ndarray, most: int) -> CoarseColumn:
    """Join the levels of a column to at most ``most``: neighbours of about equal weight, or the
    rarest categories. The last level, which is that of missing values, stays alone.

    Examples
    --------
    >>> column = coarse_column(np.array([0, 0.3, 0.6, 1, np.nan]), np.array([1, 1, 2, 2, 0]), 3)
    >>> column.group
    array([0, 0, 1, 1, 2], dtype=uint8)
    """
    size = len(positions) - 1
    group = np.arange(size + 1)
    if size > most - 1 and np.isnan(positions[0]):
        rank = np.empty(size, np.intp)
        rank[np.argsort(-counts[:-1], kind="stable")] = np.arange(size)
        group[:-1] = np.minimum(rank, most - 2)
    elif size > most - 1:
        share = counts[:-1] / max(counts[:-1].sum(), np.finfo(float).tiny)
        middle = np.cumsum(share) - share / 2
        group[:-1] = np.unique((middle * (most - 1)).astype(np.intp), return_inverse=True)[1]
    group[-1] = group[:-1].max(initial=-1) + 1
    weight = np.bincount(group, counts)
    sums = np.bincount(group, np.nan_to_num(positions) * counts)
    plain = np.bincount(group, np.nan_to_num(positions)) / np.bincount(group)
    place = np.where(weight > 0, sums / np.where(weight > 0, weight, 1), plain)
    place[-1] = np.nan
    if np.isnan(positions[0]):
        place[:] = np.nan
    side = MOST_LEVELS if np.isnan(positions[0]) else SIDE
    functions, values = level_functions(laplacian(place, GAMMA), weight, side)
    return CoarseColumn(group.astype(np.uint8), functions, values)


@dataclass(frozen=True, eq=False)
class PairFunctions:
    """Functions of the cells of a grid of two columns.

    Attributes
    ----------
    columns : tuple of int
    sides : tuple of CoarseColumn
    functions : ndarray of shape (cells, r)
    """

    columns: tuple[int, int]
    sides: tuple[CoarseColumn, CoarseColumn]
    functions: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Levels of both columns on the grid."""
        return len(self.sides[0].functions), len(self.sides[1].functions)

    @property
    def more(self) -> int:
        """How many more functions it has than a pair of numbers."""
        return max(0, self.functions.shape[1] - PAIR_FUNCTIONS)

    def cells(self, codes: np.ndarray) -> np.ndarray:
        """The cell of each row, (n,), from the codes of all columns."""
        a, b = (
            np.ascontiguousarray(side.group[codes[j]]) for j, side in zip(self.columns, self.sides)
        )
        cells = np.empty(len(a), np.uint16)
        _native.pair_cells(a, b, self.shape[1], cells)
        return cells

    def counts(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The weight of the rows in each cell, (cells,)."""
        found = np.zeros(len(self.functions))
        _native.add_bin_sums(self.cells(codes), weights, found)
        return found

    def centred(self, counts: np.ndarray) -> PairFunctions:
        """The functions with mean 0 over rows, of which ``counts`` (cells,) are in each cell."""
        mean = counts @ self.functions / max(counts.sum(), np.finfo(float).tiny)
        return PairFunctions(self.columns, self.sides, self.functions - mean)


def pair_functions(
    columns: tuple[int, int], left: CoarseColumn, right: CoarseColumn, most: int | None = None
) -> PairFunctions:
    """The products of functions of two columns with the largest products of eigenvalues.

    If it is not said how many, there are 60, or 6 for each level of the larger category.
    """
    together = np.multiply.outer(left.values, right.values)
    if most is None:
        most = max(PAIR_FUNCTIONS, EACH_LEVEL * max(together.shape))
    order = np.argsort(-together, axis=None, kind="stable")[:most]
    a, b = np.unravel_index(order, together.shape)
    product = left.functions[:, None, a] * right.functions[None, :, b]
    cells = len(left.functions) * len(right.functions)
    return PairFunctions(columns, (left, right), product.reshape(cells, len(order)))


@fields()
class LearntAdditive:
    """What `Additive` learns from its training sample.

    Attributes
    ----------
    bins : TableBins
    functions : list of ndarray of shape (levels, r)
        The functions of each column.
    pairs : list of PairFunctions
    """

    def __init__(
        self, bins: TableBins, functions: Sequence[np.ndarray], pairs: Sequence[PairFunctions]
    ):
        self.bins, self.functions, self.pairs = bins, list(functions), list(pairs)

    def __repr__(self) -> str:
        return f"LearntAdditive({len(self.functions)} columns, {len(self.pairs)} pairs)"

    @property
    def width(self) -> int:
        """How many features there are."""
        return sum(Phi.shape[1] for Phi in (*self.functions, *(p.functions for p in self.pairs)))

    def features(self, rows: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Functions of rows (n, d), times the scale of each column and of each pair, (n, width)."""
        codes = self.bins.codes(rows, 1)
        levels = [*codes, *(pair.cells(codes) for pair in self.pairs)]
        tables = (*self.functions, *(pair.functions for pair in self.pairs))
        F = np.empty((len(rows), self.width), rows.dtype)
        start = 0
        for code, Phi, scale in zip(levels, tables, scales, strict=True):
            stop = start + Phi.shape[1]
            F[:, start:stop] = (scale * Phi).astype(rows.dtype)[code]
            start = stop
        return F


@estimator
class Additive(OfFeatures):
    r"""Sum of centred kernels of single columns and of pairs of columns,

    .. math:: k(x, z) = \sum_j w_j \tilde k_j(x_j, z_j)
        + \sum_{(j, l)} v_{jl} \tilde k_{jl}((x_j, x_l), (z_j, z_l)).

    Functions in its space are sums of functions of columns, whose mean over the training sample is
    0. It is what `AdditiveRegressor` is made of, for all other learners; the intercept is theirs.

    Parameters
    ----------
    pairs : list of pairs of int
        Numbers of the columns that have a function of both.
    gamma : float > 0, default=1.0
        γ of ``exp(-γ |t - t'|)``, the kernel of a column before it is centred. The place t of a
        number, between 0 and 1, is the mean of its rank and of its value.
    weights : float >= 0 or array of shape (d,), default=1.0
        w.
    pair_weights : float >= 0 or array of shape (pairs,), default=1.0
        v.
    categories : list of int
        Columns whose numbers are categories, which are alike if they are equal.
    functions : int >= 1, default=32
        Most functions of a column: the leading eigenfunctions of its centred kernel.
    parts : LearntAdditive, optional
        The bins and functions. None means that ``bind`` learns them from the training sample.

    See Also
    --------
    mercer.AdditiveRegressor : Finds pairs and weights; its `kernel()` is such a kernel.

    Notes
    -----
    The 255 bins of a column are those of the training sample, and a number beyond them is in the
    last one. The ``features`` are the values of all functions, 32 d and 60 for each pair; a block
    is a product of them, O(n m (d + pairs)) times that number. It is positive semidefinite.

    References
    ----------
    Durrande, Ginsbourger & Roustant, "Additive covariance kernels for high-dimensional Gaussian
    process modeling", Annales de la Faculté des Sciences de Toulouse 21, 2012.

    Examples
    --------
    >>> from mercer import SVR
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] * X[:, 2]
    >>> bool(SVR(kernel=Additive(pairs=[(1, 2)]), C=10).fit(X, y).score(X, y) > 0.97)
    True
    >>> kernel = Additive()
    >>> kernel.bind(X).features(X).shape
    (300, 96)
    """

    meaning = Meaning(
        "Σⱼ wⱼ kⱼ(xⱼ, zⱼ) + Σⱼₗ vⱼₗ kⱼₗ(xⱼ, xₗ, zⱼ, zₗ)",
        "a sum in which every column adds its own effect, and so do the pairs of columns that are "
        "named",
    )

    pairs: Sequence = ()
    gamma: float = 1.0
    weights: Any = 1.0
    pair_weights: Any = 1.0
    categories: Sequence = ()
    functions: int = 32
    parts: LearntAdditive | None = None

    def validate(self) -> None:
        if not (is_number(self.gamma) and 0 < self.gamma < np.inf):
            raise ValueError(f"gamma={self.gamma!r}: give a finite number > 0.")
        if not (is_whole(self.functions) and self.functions >= 1):
            raise ValueError(f"functions={self.functions!r}: give a whole number >= 1.")
        for name in ("weights", "pair_weights"):
            w = float_array(name, getattr(self, name))
            if w.ndim > 1 or not ((w >= 0) & np.isfinite(w)).all():
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: give a finite number >= 0, or one for each "
                    "column or pair; with a negative one this is not a kernel."
                )
        for name in ("pairs", "categories"):
            if not isinstance(getattr(self, name), (list, tuple, np.ndarray)):
                raise TypeError(f"{name}={getattr(self, name)!r}: give a list.")
        if not all(map(is_whole, self.categories)):
            raise ValueError(f"categories={self.categories!r}: give numbers of columns.")
        if not (self.parts is None or isinstance(self.parts, LearntAdditive)):
            raise TypeError(f"parts={self.parts!r}: give None, to learn them, or LearntAdditive.")
        for pair in self.pairs:
            two = isinstance(pair, (tuple, list, np.ndarray)) and len(pair) == 2
            if not (two and all(map(is_whole, pair)) and pair[0] != pair[1]):
                raise ValueError(
                    f"pairs has {pair!r}: give pairs of numbers of two different columns."
                )

    def bind(self, X: Samples, y: object = None, sample_weight: Any = None) -> Self:
        self.validate()
        if self.parts is not None:
            return self
        rows = dense_rows(X)
        d = rows.shape[1]
        used = {int(j) for j in (*self.categories, *(j for pair in self.pairs for j in pair))}
        if used and not (min(used) >= 0 and max(used) < d):
            raise ValueError(
                f"pairs and categories name columns {min(used)} to {max(used)}, but X has columns "
                f"0 to {d - 1}."
            )
        bins = TableBins.of(rows, sample_weight, MOST, {int(j) for j in self.categories})
        codes = bins.codes(rows)
        w = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        counts = [np.bincount(code, w, size) for code, size in zip(codes, bins.sizes)]
        places = [column.positions for column in bins.columns]
        functions = [
            level_functions(laplacian(t, self.gamma), count, int(self.functions))[0]
            for t, count in zip(places, counts)
        ]
        ordered = [tuple(sorted(map(int, pair))) for pair in self.pairs]
        grid = {j: coarse_column(places[j], counts[j], FITTED) for j in {*sum(ordered, ())}}
        made = [pair_functions((j, k), grid[j], grid[k]) for j, k in ordered]
        centred = [pair.centred(pair.counts(codes, w)) for pair in made]
        bound = self.copied(parts=LearntAdditive(bins, functions, centred))
        _ = bound._scales()
        return bound

    def unbound(self) -> Self:
        return self if self.parts is None else self.copied(parts=None)

    def _scales(self) -> np.ndarray:
        """√w of each column and √v of each pair."""
        if self.parts is None:
            raise ValueError("Additive has no bins yet: bind it to a sample by kernel.bind(X).")
        found = []
        for name, parts in (("weights", self.parts.functions), ("pair_weights", self.parts.pairs)):
            w = float_array(name, getattr(self, name))
            if w.ndim == 1 and len(w) != len(parts):
                what = "columns" if name == "weights" else "pairs"
                raise ValueError(
                    f"{name} has {len(w)} numbers, but there are {len(parts)} {what}: give one for "
                    "each, or one for all."
                )
            found.append(np.broadcast_to(w, len(parts)))
        return np.sqrt(np.concatenate(found))

    def features(self, X: Samples) -> np.ndarray:
        """The values of all functions, times √w: (n, features)."""
        scales = self._scales()
        assert self.parts is not None
        rows = np.ascontiguousarray(dense_rows(X))
        if rows.shape[1] != len(self.parts.functions):
            raise ValueError(
                f"X has {rows.shape[1]} columns, but the kernel is bound to "
                f"{len(self.parts.functions)}: give the same columns."
            )
        return self.parts.features(rows, scales)
