"""The kernel of additive models: a sum of centred kernels of columns and of pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.distances import Meaning, dense_rows
from mercer.kernels.additive.bins import MOST, TableBins
from mercer.kernels.additive.grids import (
    FITTED,
    PairFunctions,
    coarse_column,
    laplacian,
    level_functions,
    pair_functions,
)
from mercer.kernels.base import Kernel
from mercer.persistence import fields
from mercer.samples import Prepared, Samples, float_array, is_number, is_whole


@fields()
class AdditiveParts:
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
        return f"AdditiveParts({len(self.functions)} columns, {len(self.pairs)} pairs)"

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


class Additive(Kernel):
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
    parts : AdditiveParts, optional
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

    def __init__(
        self,
        pairs: Sequence = (),
        gamma: float = 1.0,
        weights: Any = 1.0,
        pair_weights: Any = 1.0,
        categories: Sequence = (),
        functions: int = 32,
        parts: AdditiveParts | None = None,
    ):
        self.pairs = pairs
        self.gamma = gamma
        self.weights = weights
        self.pair_weights = pair_weights
        self.categories = categories
        self.functions = functions
        self.parts = parts

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
        if not (self.parts is None or isinstance(self.parts, AdditiveParts)):
            raise TypeError(f"parts={self.parts!r}: give None, to learn them, or AdditiveParts.")
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
        bound = self.copied(parts=AdditiveParts(bins, functions, centred))
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

    def prepare(self, X: Samples, like: Prepared | None = None) -> Prepared:
        return X if isinstance(X, Prepared) else Prepared((self.features(X),))

    def block(self, X: Prepared, Z: Prepared) -> np.ndarray:
        X, Z = self.sides(X, Z)
        return X.parts[0] @ Z.parts[0].T

    def diag(self, X: Prepared) -> np.ndarray:
        F = self.prepare(X).parts[0]
        return np.einsum("ij,ij->i", F, F)
