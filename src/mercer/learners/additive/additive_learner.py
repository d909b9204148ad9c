"""What additive learners share: a table becomes codes, and shapes of its columns predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.estimator import estimator
from mercer.gram import PlaceOfLearner
from mercer.kernels.additive import (
    FITTED,
    MOST,
    Additive,
    LearntAdditive,
    PairFunctions,
    TableBins,
    coarse_column,
    laplacian,
    level_functions,
    pair_functions,
)
from mercer.learners.additive.shapes import ColumnReasons, Shape, Surface, joined_levels
from mercer.learners.additive.table_columns import TableColumns, checked_table
from mercer.learners.base import (
    check_count,
    check_not_negative,
    check_positive,
    check_weights,
    is_auto,
    take_rows,
)
from mercer.persistence import fields
from mercer.samples import SamplesLike, is_whole
from mercer.solvers.additive import SCORED, PartResult, RowDesign, choose_pairs, score_pairs
from mercer.threads import ordered_map

GAMMAS = (1.0, 10.0)  # of single columns, one of which suits nearly all tables
FLAT, FUNCTIONS = 2.0, (32, 64)  # most functions of a column, up to this γ and beyond
ALL_FUNCTIONS = 20  # times as many of all columns, unless each would have fewer than 8
LEAST_FUNCTIONS, MOST_FUNCTIONS = 8, 3000
#: Functions that pairs with categories of many levels have beside those of others, for each row,
#: and between which numbers: the time of a fit grows with the cube of all.
EACH_ROW, BETWEEN = 0.25, (300, 900)
ROUNDS = 3  # of adding pairs by what the ones before have left
BIN_ROWS = 100_000  # rows of which the bins are made
TABLES = 2**29  # bytes of the tables of all pairs of columns
PART = 2**16  # rows of a prediction at a time
ROW_BYTES = 64  # of a row with pairs, beside its codes: targets, residuals, weights


@fields()
class WeightedTraining(NamedTuple):
    """The rows of a fit that have a positive weight."""

    table: Any
    y: np.ndarray
    weights: np.ndarray | None

    @property
    def all_weights(self) -> np.ndarray:
        return np.ones(len(self.y)) if self.weights is None else self.weights


@fields()
class CodedRows:
    """Rows of a stream, of which a byte for each cell is kept, with their targets and weights."""

    codes: list[np.ndarray]
    y: list[np.ndarray]
    weights: list[np.ndarray]

    def __init__(self):
        self.codes, self.y, self.weights = [], [], []

    def add(self, codes: np.ndarray, training: WeightedTraining) -> None:
        """Add rows: codes (columns, n), and where their targets and weights are."""
        self.codes.append(codes)
        self.y.append(training.y)
        self.weights.append(training.all_weights)

    def extend(self, other: CodedRows) -> None:
        """Add the rows of another."""
        self.codes += other.codes
        self.y += other.y
        self.weights += other.weights

    def __add__(self, other: CodedRows) -> CodedRows:
        """These rows, and then those."""
        both = CodedRows()
        both.extend(self)
        both.extend(other)
        return both

    @property
    def count(self) -> int:
        """How many rows."""
        return sum(map(len, self.weights))

    def joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes, targets and weights of all rows."""
        codes = np.concatenate(self.codes, axis=1)
        return codes, np.concatenate(self.y), np.concatenate(self.weights)


def coded_bytes(rows: int, columns: int, pairs: int) -> int:
    """What a fit to the codes of so many rows takes, with so many pairs of columns."""
    return 2 * rows * columns + rows * (2 * pairs + ROW_BYTES)


@estimator
class AdditiveLearner(BaseEstimator):
    """Abstract: a learner whose output is a sum of functions of columns and of pairs of columns.

    Parameters
    ----------
    pairs : int or list of pairs
        Most pairs of columns that get a function: those that explain more of what is left of the
        targets than noise would. What these leave is looked at twice more for others. Or the pairs
        themselves, as names of columns.
    alpha : float >= 0 or "auto"
        Penalty λ of each function. "auto" finds one for each of them by the marginal likelihood.
    gamma : float > 0 or "auto"
        γ of the kernel ``exp(-γ |t - t'|)`` of a column of numbers, whose values t lie between 0
        and 1. "auto" takes 1 or 10, by the marginal likelihood. Categories are alike if they are
        equal.
    categories : list, optional
        Names, or numbers in an array, of columns of numbers that are categories. Columns of other
        values are so in any case.

    Attributes
    ----------
    shapes_ : list of Shape
        The function of each column, as a table: ``column``, ``levels``, ``values``, ``errors``.
    pairs_ : list of tuple
        The columns of each pair that was chosen.
    surfaces_ : list of Surface
        The function of each pair, on a grid.
    gamma_ : float
        γ of the kernels of columns.
    penalties_ : ndarray of shape (outputs, functions)
        λ of each column and then of each pair.
    n_features_in_ : int
    """

    pairs: Any = 20
    _: KW_ONLY
    alpha: Any = "auto"
    gamma: Any = "auto"
    categories: Any = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    gamma_: float = field(init=False)
    penalties_: np.ndarray = field(init=False)

    def __sklearn_is_fitted__(self) -> bool:
        return "shapes_" in vars(self)

    place = PlaceOfLearner()

    # --- training ------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        if not is_auto(self.alpha):
            check_not_negative("alpha", self.alpha, ', or "auto"')
        if not is_auto(self.gamma):
            check_positive("gamma", self.gamma, ', or "auto"')
        if not isinstance(self.pairs, (list, tuple)):
            check_count("pairs", self.pairs, 0, optional=False)
        _ = self.place

    def _training(
        self, table: np.ndarray, y: np.ndarray, sample_weight: ArrayLike | None
    ) -> WeightedTraining:
        """The rows of a positive weight."""
        w = check_weights(table, sample_weight)
        if w is not None and not w.all():  # a row of weight 0 counts as absent
            kept = np.flatnonzero(w)
            return WeightedTraining(take_rows(table, kept), y[kept], w[kept])
        return WeightedTraining(table, y, w)

    def _learn_columns(self, table: np.ndarray) -> None:
        self._columns = TableColumns.of(table, self.categories)

    def _learn_bins(self, rows: np.ndarray, weights: np.ndarray | None) -> None:
        """Bins of rows at equal steps; fewer of many columns, so that their tables fit."""
        step = -(-len(rows) // BIN_ROWS)
        d = rows.shape[1]
        tables = max(1, d * (d - 1) // 2)
        budget = min(TABLES, self.place.budget(4 * TABLES) // 4)
        most = int(min(MOST, np.sqrt(budget / (8 * tables)) - 1))
        if most < 2:
            self.place.refuse(
                4 * 8 * 9 * tables, f"tables of {tables:,} pairs of {d:,} columns",
                ", or fewer columns",
            )  # fmt: skip
        some = None if weights is None else weights[::step]
        self._bins = TableBins.of(rows[::step], some, most, set(self._columns.levels))

    def _functions(self, counts: Sequence[np.ndarray], gamma: float) -> list[np.ndarray]:
        """Φ of each column, from the weight of its levels."""
        most = FUNCTIONS[gamma > FLAT]
        most = min(most, max(LEAST_FUNCTIONS, ALL_FUNCTIONS * most // len(counts)))
        most = max(1, min(most, MOST_FUNCTIONS // len(counts)))
        return [
            level_functions(laplacian(column.positions, gamma), shares, most)[0]
            for column, shares in zip(self._bins.columns, counts)
        ]

    def refuse_codes(self, rows: int) -> None:
        """Raise MemoryError if the codes of so many rows need more than ``memory``."""
        needed = coded_bytes(rows, len(self._columns.names), self._most_pairs)
        if needed > self.place.budget(needed):
            self.place.refuse(needed, "the codes of the rows", ", or pairs=0, or fewer rows")

    def affords_pairs(self, rows: int) -> bool:
        """Whether pairs are wanted and ``memory`` has room for the codes of so many rows; a warning
        says where it has none."""
        if not self._wants_pairs:
            return False
        needed = coded_bytes(rows, len(self._columns.names), self._most_pairs)
        if needed <= self.place.budget(needed):
            return True
        self.place.concede(needed, "functions of pairs of columns", "pairs=0")
        return False

    @property
    def _wants_pairs(self) -> bool:
        return self._most_pairs > 0 and len(self._columns.names) > 1

    @property
    def _most_pairs(self) -> int:
        return int(self.pairs) if is_whole(self.pairs) else len(self.pairs)

    def _with_more_pairs(
        self,
        design: RowDesign,
        counts: Sequence[np.ndarray],
        w: np.ndarray,
        residuals: np.ndarray,
        spreads: np.ndarray,
    ) -> RowDesign | None:
        """The design with the pairs that are given, or with those that explain most of the
        residuals; None if it has them all.

        ``w`` (n,) are the weights of the rows; ``residuals`` and ``spreads``, the weights of their
        squares for weight 1, are (outputs, n).
        """
        held = {pair.columns for pair in design.pairs}
        if is_whole(self.pairs):
            places = [column.positions for column in self._bins.columns]
            coarse = [coarse_column(t, c, SCORED) for t, c in zip(places, counts)]
            left = [p for p in combinations(range(len(places)), 2) if p not in held]
            scores = score_pairs(
                design.codes, coarse, left, w * residuals, w * spreads, w * residuals**2,
                self.n_jobs,
            )  # fmt: skip
            chosen = choose_pairs(scores, int(self.pairs) - len(held), among=len(left))
        else:
            chosen = [pair for pair in self._given_pairs() if pair not in held]
        if not chosen:
            return None
        made = self._pair_functions(chosen, counts)
        if is_whole(self.pairs):
            sums = np.cumsum([pair.more for pair in (*design.pairs, *made)])[len(held) :]
            most = np.clip(EACH_ROW * design.rows, *BETWEEN)
            made = [pair for pair, more in zip(made, sums) if not pair.more or more <= most]
        if not made:
            return None
        return design.with_pairs([pair.centred(pair.counts(design.codes, w)) for pair in made])

    def _pair_functions(
        self, pairs: Sequence[tuple[int, int]], counts: Sequence[np.ndarray]
    ) -> list[PairFunctions]:
        """The functions of pairs, on a coarse grid of each column."""
        places = [column.positions for column in self._bins.columns]
        used = {j for pair in pairs for j in pair}
        grid = {j: coarse_column(places[j], counts[j], FITTED) for j in used}
        return [pair_functions((j, k), grid[j], grid[k]) for j, k in pairs]

    def _given_pairs(self) -> list[tuple[int, int]]:
        """The pairs of columns that a user names, as numbers."""
        names = self._columns.names
        found = []
        for pair in self.pairs:
            known = isinstance(pair, (list, tuple)) and all(name in names for name in pair)
            if not known or len(pair) != 2:
                raise ValueError(
                    f"pairs has {pair!r}: give pairs of two of the columns {names[:20]}."
                )
            j, k = sorted(names.index(name) for name in pair)
            if j == k:
                raise ValueError(f"pairs has {pair!r}: give two different columns.")
            found.append((j, k))
        return list(dict.fromkeys(found))

    def _keep(
        self,
        counts: Sequence[np.ndarray],
        functions: Sequence[np.ndarray],
        pairs: Sequence[tuple[PairFunctions, np.ndarray]],
        results: Sequence[PartResult],
        intercepts: np.ndarray,
    ) -> None:
        """Store the shapes: the functions times their coefficients, of one result an output.

        ``counts`` and the second of ``pairs`` are the weights of the rows of each level and cell.
        """
        self._intercepts = intercepts
        beta = np.column_stack([result.coef for result in results])
        ends = np.cumsum([0, *(Phi.shape[1] for Phi in functions)])
        parts = [slice(a, b) for a, b in pairwise(ends)]
        shapes = []
        for j, (column, Phi) in enumerate(zip(self._bins.columns, functions)):
            variances = [
                np.einsum("lr,rs,ls->l", Phi, result.spreads[j], Phi) for result in results
            ]
            levels = self._columns.levels.get(j)
            shapes.append(
                Shape(
                    self._columns.names[j],
                    column.centres.tolist() if levels is None else levels,
                    levels is None,
                    Phi @ beta[parts[j]],
                    np.sqrt(np.maximum(np.column_stack(variances), 0)),
                    counts[j],
                    column.edges,
                )
            )
        surfaces, start = [], int(ends[-1])
        for pair, count in pairs:
            stop = start + pair.functions.shape[1]
            values = (pair.functions @ beta[start:stop]).reshape(*pair.shape, -1)
            j, k = pair.columns
            groups = (pair.sides[0].group, pair.sides[1].group)
            levels = tuple(joined_levels(shapes[i], group) for i, group in zip((j, k), groups))
            surfaces.append(
                Surface(
                    (shapes[j].column, shapes[k].column), (levels[0], levels[1]),
                    (shapes[j].ordered, shapes[k].ordered), groups, values,
                    count.reshape(pair.shape),
                )
            )  # fmt: skip
            start = stop
        self.surfaces_ = surfaces
        self.pairs_ = [surface.columns for surface in surfaces]
        self.shapes_ = shapes

    def kernel(self) -> Additive:
        r"""The kernel of the fit, for other learners: its bins, pairs, and weights 1 / λ.

        Ridge regression with it, ``KernelRidge(alpha=1, kernel=model.kernel())`` on targets of mean
        0, is the fit again. Of several outputs it has the geometric mean of the penalties. It reads
        arrays of numbers, with the columns of the fit in their order.

        Raises
        ------
        ValueError
            A column of the fit has texts, or the solver is "exact".

        Examples
        --------
        >>> from mercer import AdditiveRegressor, SVR
        >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
        >>> kernel = AdditiveRegressor().fit(X, X[:, 0] * X[:, 1]).kernel()
        >>> [tuple(pair) for pair in kernel.pairs]
        [(0, 1)]
        >>> SVR(kernel=kernel).fit(X, X[:, 0] * X[:, 1]).predict([[0.5, 0.5]]).round(1)
        array([0.2])
        """
        check_is_fitted(self)
        texts = [
            self._columns.names[j]
            for j, levels in self._columns.levels.items()
            if not all(isinstance(level, (int, float, np.number)) for level in levels)
        ]
        if texts:
            raise ValueError(
                f"column {texts[0]!r} has no numbers, and a kernel of vectors reads nothing else: "
                "leave it out, or give a `TableKernel` with `Match` on such columns."
            )
        if max(self._bins.sizes) > MOST + 1:
            raise ValueError('solver="exact" has no bins: fit with solver="bins".')
        counts = [shape.counts for shape in self.shapes_]
        number = {shape.column: j for j, shape in enumerate(self.shapes_)}
        pairs = [(number[a], number[b]) for a, b in self.pairs_]
        made = [
            pair.centred(surface.counts.ravel())
            for pair, surface in zip(self._pair_functions(pairs, counts), self.surfaces_)
        ]
        w = np.exp(-np.log(np.atleast_2d(self.penalties_)).mean(axis=0))
        d = len(counts)
        parts = LearntAdditive(self._bins, self._functions(counts, self.gamma_), made)
        return Additive(
            pairs, self.gamma_, w[:d], w[d:] if pairs else 1.0, sorted(self._columns.levels),
            parts=parts,
        )  # fmt: skip

    # --- new rows ------------------------------------------------------------------------------

    def _read(self, X: Any) -> np.ndarray:
        """Codes (columns, n) of new rows."""
        check_is_fitted(self)
        table = checked_table(self, X, reset=False)
        return self._bins.codes(self._columns.read(table), self.n_jobs)

    def _parts(self, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each shape and surface: the code of each row, and the values (outputs, levels)."""
        number = {shape.column: j for j, shape in enumerate(self.shapes_)}
        parts = [(row, shape.values.T) for row, shape in zip(codes, self.shapes_)]
        for surface in self.surfaces_:
            sides = [
                np.ascontiguousarray(group[codes[number[name]]])
                for name, group in zip(surface.columns, surface.groups)
            ]
            cells = np.empty(codes.shape[1], np.uint16)
            _native.pair_cells(*sides, surface.values.shape[1], cells)
            parts.append((cells, surface.values.reshape(-1, surface.values.shape[2]).T))
        return [(row, np.ascontiguousarray(values)) for row, values in parts]

    def _sum(self, X: SamplesLike) -> np.ndarray:
        """The sum of the functions and the intercept, (n, outputs)."""
        codes = self._read(X)
        n = codes.shape[1]
        outputs = np.repeat(self._intercepts[:, None], n, axis=1)

        def part(start: int) -> None:
            rows = slice(start, min(start + PART, n))
            for row, values in self._parts(codes[:, rows]):
                for out, table in zip(outputs, values):
                    _native.add_bin_reads(np.ascontiguousarray(row), table, out[rows])

        for _ in ordered_map(part, range(0, n, PART), self.n_jobs):
            pass
        return outputs.T

    def contributions(self, X: SamplesLike) -> np.ndarray:
        """What each column, and then each pair, adds to the output of each row.

        The array is (n, parts), or (n, parts, outputs) for several outputs; with the intercept the
        parts add up to the output.
        """
        codes = self._read(X)
        parts = [values[:, row].T for row, values in self._parts(codes)]
        stacked = np.stack(parts, axis=1)
        return stacked[:, :, 0] if stacked.shape[2] == 1 else stacked

    def reasons(self, X: SamplesLike, most: int = 3) -> ColumnReasons:
        """The columns and pairs that move the prediction of each row of X most.

        Parameters
        ----------
        X : table
        most : int, default=3
            How many of them.

        Returns
        -------
        reasons : ColumnReasons
            Its ``texts()`` are such as "age (+0.52)".
        """
        check_count("most", most, optional=False)
        parts = self._towards_answer(X, self.contributions(X))
        order = np.argsort(-np.abs(parts), axis=1, kind="stable")[:, :most]
        names = [part.name for part in (*self.shapes_, *self.surfaces_)]
        return ColumnReasons(names, order, np.take_along_axis(parts, order, axis=1))

    @abstractmethod
    def _towards_answer(self, X: SamplesLike, parts: np.ndarray) -> np.ndarray:
        """Contributions (n, parts) to the answer, of those to all outputs."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def counted_pairs(design: RowDesign, w: np.ndarray) -> list[tuple[PairFunctions, np.ndarray]]:
    """The pairs of a design, each with the weight of the rows in its cells."""
    return [(pair, pair.counts(design.codes, w)) for pair in design.pairs]
