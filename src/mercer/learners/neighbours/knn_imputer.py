"""Missing cells of a table of any columns, filled from the rows that are the nearest."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from importlib import import_module
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.distances import Minkowski
from mercer.estimator import estimator
from mercer.gram import PlaceOfLearner
from mercer.learners.base import check_count
from mercer.persistence import KeepsRecords, fields, unread
from mercer.samples import (
    SamplesLike,
    as_cells,
    frame_of,
    is_frame,
    is_number,
    known_form,
)
from mercer.tables import Column, ReadTable, infer_columns, level_texts, missing_values
from mercer.threads import fitting, ordered_map

BINS, LEVELS = 5, 20  # of a column whose relevance is measured: parts of numbers, most levels
LEAST = 0.02  # the weight of a column that tells nothing of another one
GRID = 2.0**30  # distances are rounded to its parts, so that equal ones are equal
NEAREST = 1e-9  # added to distances whose reciprocals are weights
STRIP, ARRAYS = 256, 6  # rows that are filled at a time, at most, and numbers for each pair


@estimator
@fields(_cells=unread)
class KNNImputer(OneToOneFeatureMixin, KeepsRecords, TransformerMixin, BaseEstimator):
    r"""Fill missing cells of a table from the rows that are the nearest, column by column.

    A cell of column c is filled from the k nearest rows that have a value in it, by the distance

    .. math:: \rho_c(x, z) = \sum_j w_{cj} \rho_j(x_j, z_j), \qquad
        w_{cj} \propto 0.02 + V_{cj}^2

    where :math:`\rho_j` is the difference of ranks, from 0 to 1, of numbers and dates, and 1 for
    other values that are not equal. :math:`V_{cj}`, from 0 to 1, is how much column j tells of
    column c. Numbers become a mean of the neighbours' values, all other cells the value with most
    votes.

    Parameters
    ----------
    n_neighbors : int >= 1, default=10
        k. All rows that are as near as the last of these count as well.
    weights : {"distance", "uniform"}, default="distance"
        Whether a neighbour counts :math:`1 / \rho_c`, or all alike.

    Attributes
    ----------
    columns_ : list of Column
        How each column was read.
    relevance_ : ndarray of shape (n_columns, n_columns)
        The weights :math:`w_{cj}`, with the sum 1 in each row.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A row that is filled does not depend on the others that are filled with it. Where a value is
    missing in one of two rows, the mean of :math:`\rho_j` over all rows stands for it: so a row of
    which little is known gets what is usual. :math:`V_{cj}` is Cramér's V without its bias, of
    fifths of the numbers and of the 20 most frequent levels. Columns that tell rows apart and
    nothing else, or are constant, are not compared. O(n d) operations for each missing cell.

    The result has the form of X: a data frame of the same library with the same types of columns,
    or a dense array. Whole numbers are rounded. A column without any value stays as it is.

    Warns
    -----
    UserWarning
        A column has no value at all.

    References
    ----------
    Troyanskaya et al., "Missing value estimation methods for DNA microarrays", Bioinformatics 17,
    2001; Gower, "A general coefficient of similarity and some of its properties", Biometrics 27,
    1971; Bergsma, "A bias-correction for Cramér's V and Tschuprow's T", Journal of the Korean
    Statistical Society 42, 2013.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer import KNNImputer
    >>> table = pd.DataFrame({"animal": ["cat", "cat", "cat", "dog", "dog", "dog"] * 2,
    ...                       "kg": [4.0, 5.0, None, 20.0, 30.0, 25.0] * 2})
    >>> KNNImputer(2).fit(table).transform(table.iloc[2:3])
      animal   kg
    2    cat  4.5
    """

    n_neighbors: int = 10
    _: KW_ONLY
    weights: str = "distance"
    memory: int | float | str | None = None
    n_jobs: int | None = None

    place = PlaceOfLearner()
    records: ClassVar[dict[str, type]] = {"columns_": Column}

    def __sklearn_is_fitted__(self) -> bool:
        return "relevance_" in vars(self)

    @fitting
    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Keep the rows of a table X; y is not used."""
        check_count("n_neighbors", self.n_neighbors, optional=False)
        if self.weights not in ("distance", "uniform"):
            raise ValueError(f'weights={self.weights!r}: give "distance" or "uniform".')
        table = ReadTable.of(X)
        validate_data(self, known_form(X), skip_check_array=True, reset=True)
        self.columns_ = infer_columns(table.columns)
        own = own_columns(X, table)
        self._scales, self._levels, self._cells, self._means = [], [], [], []
        for column, values, cells in zip(self.columns_, table.columns.values(), own):
            known = ~missing_values(values)
            numbers = numbers_of(column, values)
            self._scales.append(np.sort(numbers[~np.isnan(numbers)]))
            mean = values.dtype.kind == "f" and all(map(is_number, cells[known]))
            self._means.append(mean)
            if mean and (column.of.ordered or not column.used):  # nobody asks for its levels
                known[:] = False
            levels, first = np.unique(_texts(values[known]), return_index=True)
            self._levels.append(levels)
            self._cells.append(cells[known][first])
        self._ranks, self._codes = self._read(table)
        self._values = np.column_stack(
            [
                values if mean else np.zeros(len(table))
                for values, mean in zip(table.columns.values(), self._means)
            ]
        ).astype(np.float64)
        self._usual = self._mean_distances()
        self.relevance_ = self._relevance()
        empty = [str(column.name) for column in self.columns_ if not column.known]
        if empty:
            warnings.warn(
                f"No value is known in {', '.join(empty[:5])}, which stays as it is: leave it out.",
                UserWarning,
                stacklevel=3,
            )
        return self

    def _read(self, table: ReadTable) -> tuple[np.ndarray, np.ndarray]:
        """Ranks from 0 to 1 of columns with an order, and the codes of the levels, (n, columns).

        A missing value is NaN or -1; a level that is new has a code of its own.
        """
        ranks, codes = np.full(table.shape, np.nan), np.full(table.shape, -1.0)
        for j, (column, values) in enumerate(zip(self.columns_, table.columns.values())):
            scale, levels = self._scales[j], self._levels[j]
            if len(scale):
                numbers = numbers_of(column, values)
                below, upto = (np.searchsorted(scale, numbers, side) for side in ("left", "right"))
                ranks[:, j] = np.where(np.isnan(numbers), np.nan, (below + upto) / 2 / len(scale))
            known = np.flatnonzero(~missing_values(values))
            codes[known, j] = 0.0
            if len(levels) and len(known):
                texts = _texts(values[known])
                places = np.searchsorted(levels, texts)
                found = levels[np.minimum(places, len(levels) - 1)] == texts
                codes[known, j] = np.where(found, places, len(levels))
        return ranks, codes

    @property
    def _ordered(self) -> np.ndarray:
        """Which columns are compared by their ranks."""
        return np.array([column.used and column.of.ordered for column in self.columns_])

    def _mean_distances(self) -> np.ndarray:
        """The mean difference of two rows in each column."""
        usual = np.zeros(len(self.columns_))
        for j, ordered in enumerate(self._ordered):
            if ordered:
                u = np.sort(self._ranks[~np.isnan(self._ranks[:, j]), j])
                m = len(u)
                usual[j] = 2 * ((2 * np.arange(1, m + 1) - m - 1) @ u) / max(m, 1) ** 2
            else:
                codes = self._codes[self._codes[:, j] >= 0, j].astype(np.int64)
                shares = np.bincount(codes) / max(len(codes), 1)
                usual[j] = 1 - (shares**2).sum() if len(codes) else 0.0
        return usual

    def _relevance(self) -> np.ndarray:
        """The weight of each column j for the cells of each column c, (columns, columns)."""
        used = np.array([column.used for column in self.columns_])
        squares = association(
            [
                _parts(self._ranks[:, j]) if ordered else _frequent(self._codes[:, j])
                for j, ordered in enumerate(self._ordered)
            ]
        )
        weights = (LEAST + squares) * used
        np.fill_diagonal(weights, 0)
        total = weights.sum(axis=1, keepdims=True)
        return weights / np.where(total > 0, total, 1)

    def transform(self, X: SamplesLike) -> Any:
        """X with its missing cells filled, in the same form."""
        check_is_fitted(self)
        table = ReadTable.of(X)
        validate_data(self, known_form(X), skip_check_array=True, reset=False)
        ranks, codes = self._read(table)
        filled: dict[int, tuple[np.ndarray, list]] = {}
        for c, values in enumerate(table.columns.values()):
            rows = np.flatnonzero(missing_values(values))
            if len(rows) and self.columns_[c].known:
                filled[c] = rows, self._filled(c, ranks[rows], codes[rows])
        return with_cells(X, table, filled)

    def _filled(self, c: int, ranks: np.ndarray, codes: np.ndarray) -> list:
        """The cells of column c in rows of which the others are these."""
        donors = np.flatnonzero(self._codes[:, c] >= 0)
        n, k = len(donors), min(int(self.n_neighbors), len(donors))
        if self._means[c]:
            answers: Any = self._values[donors, c][:, None]
        else:
            places = np.arange(n), self._codes[donors, c].astype(np.int64)
            answers = sp.csr_array((np.ones(n), places), shape=(n, len(self._levels[c])))
        distances = self._distances(c, donors)
        step = max(1, min(STRIP, self.place.budget(ARRAYS * 8 * n * STRIP) // (ARRAYS * 8 * n)))

        def strip(start: int) -> list:
            rows = slice(start, start + step)
            D = distances(ranks[rows], codes[rows])
            farthest = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
            W = np.where(farthest >= D, 1.0, 0.0)
            if self.weights == "distance":
                W /= D + NEAREST
            sums = sp.csr_array(W) @ answers
            if self._means[c]:
                return (sums[:, 0] / W.sum(axis=1)).tolist()
            return self._cells[c][sums.toarray().argmax(axis=1)].tolist()

        parts = ordered_map(strip, range(0, len(ranks), step), self.n_jobs)
        return [cell for part in parts for cell in part]

    def _distances(self, c: int, donors: np.ndarray) -> Any:
        """A function of ranks and codes of rows: their distances from the donors of column c."""
        w, usual, ordered = self.relevance_[c], self._usual, self._ordered
        by_rank, by_code = np.flatnonzero(ordered & (w > 0)), np.flatnonzero(~ordered & (w > 0))

        def sides(ranks: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """What is known, and how far it is from a cell that is read as missing: 0 or -1."""
            known = np.where(ordered, ~np.isnan(ranks), codes >= 0).astype(np.float64)
            return known, np.where(ordered, np.nan_to_num(ranks), known)

        theirs = self._ranks[donors], self._codes[donors]
        known_there, far_there = sides(*theirs)
        there = np.hstack([known_there, 1 - known_there, far_there]).T
        held = []
        for distance, places, which in (
            (Minkowski(1.0, w[by_rank]), by_rank, 0),
            (Minkowski(0.0, w[by_code]), by_code, 1),
        ):
            if len(places):
                cells = np.ascontiguousarray(np.nan_to_num(theirs[which][:, places]))
                held.append((distance, places, which, distance.prepare(cells)))

        def distances(ranks: np.ndarray, codes: np.ndarray) -> np.ndarray:
            known, far = sides(ranks, codes)
            # what stands for missing cells is taken away, and the mean distance stands for it
            here = np.hstack([w * usual * known, w * far, w * (1 - known)])
            D = (w @ usual) - here @ there
            for distance, places, which, prepared in held:
                cells = np.ascontiguousarray(np.nan_to_num((ranks, codes)[which][:, places]))
                D += distance.block(distance.prepare(cells, prepared), prepared)
            return np.maximum(np.rint(D * GRID) / GRID, 0)

        return distances

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        reads = tags.input_tags
        reads.allow_nan = reads.categorical = reads.string = reads.sparse = True
        return tags


def numbers_of(column: Column, values: np.ndarray) -> np.ndarray:
    """The numbers or dates of a column that has an order, as floats with NaN; else only NaN."""
    return column.of.numbers(values, column) if column.of.ordered else np.full(len(values), np.nan)


def _texts(values: np.ndarray) -> np.ndarray:
    return np.array(level_texts(values), dtype=np.str_)


def _same_columns(X: SamplesLike, table: ReadTable) -> bool:
    """Whether the columns of X are those of the table, which an image in a cell has for pixels."""
    return tuple(getattr(X, "shape", ())) == table.shape


def own_columns(X: SamplesLike, table: ReadTable) -> list[np.ndarray]:
    """The cells of each column as the user gave them."""
    same = _same_columns(X, table)
    if same and is_frame(X):
        return [as_cells(series.to_list()) for series in frame_of(X).iter_columns()]
    if same and isinstance(X, np.ndarray):
        return [as_cells(column.tolist()) for column in np.asarray(X).T]
    return [as_cells(values.tolist()) for values in table.columns.values()]


def with_cells(X: SamplesLike, table: ReadTable, filled: dict[int, tuple[np.ndarray, list]]) -> Any:
    """X with other cells in some rows of some columns, by their numbers, in the form of X."""
    same = _same_columns(X, table)
    if same and is_frame(X):
        frame = frame_of(X)
        columns = list(frame.iter_columns())  # names may be numbers
        for c, (rows, cells) in filled.items():
            series = columns[c]
            if series.dtype.is_integer():
                cells = [round(cell) for cell in cells]
            columns[c] = _replaced(series, rows, cells)
        return frame.with_columns(*(columns[c] for c in filled)).to_native()
    if same and isinstance(X, np.ndarray):
        found = np.array(X)
    else:
        found = np.column_stack(list(table.columns.values()))
    for c, (rows, cells) in filled.items():
        found[rows, c] = cells
    return found


def _replaced(series: Any, rows: np.ndarray, cells: list) -> Any:
    """A series of narwhals with other cells in some rows, of the same type."""
    if series.implementation.is_pandas_like():  # it keeps its index
        return series.scatter(rows.tolist(), cells)
    column, whole = series.to_native(), series.to_list()
    for row, cell in zip(rows.tolist(), cells):
        whole[row] = cell
    if series.implementation.is_polars():
        column = type(column)(series.name, whole, dtype=column.dtype)
    else:
        pa = import_module("pyarrow")
        column = pa.chunked_array([pa.array(whole, column.type)])
    return nw.from_native(column, series_only=True).alias(series.name)


def _parts(ranks: np.ndarray) -> np.ndarray:
    """Which fifth of its column each number is in; -1 where it is missing."""
    known = ~np.isnan(ranks)
    found = np.full(len(ranks), -1)
    ends = np.unique(np.quantile(ranks[known], np.arange(1, BINS) / BINS)) if known.any() else []
    found[known] = np.searchsorted(ends, ranks[known], side="right")
    return found


def _frequent(codes: np.ndarray) -> np.ndarray:
    """The most frequent levels from 0 on, and one number for all others; -1 stays."""
    codes = codes.astype(np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=1)
    place = np.empty(len(counts), np.int64)
    place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.where(codes >= 0, np.minimum(place[codes], LEVELS), -1)


def association(columns: list[np.ndarray]) -> np.ndarray:
    """Squares of Cramér's V of each pair of columns of levels, without bias, (columns, columns).

    The levels of a column are numbers from 0; -1 means a missing one.

    Examples
    --------
    >>> a, b = np.arange(400) % 2, np.arange(400) // 2 % 2
    >>> association([a, a, b]).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    counts = [int(column.max(initial=-1)) + 1 or 1 for column in columns]
    starts = np.concatenate(([0], np.cumsum(counts)))
    of = np.repeat(np.arange(len(columns)), counts)
    known = np.column_stack([column >= 0 for column in columns])
    places = np.column_stack(columns) + starts[:-1]
    rows = np.concatenate(([0], np.cumsum(known.sum(axis=1))))
    H = sp.csr_array((np.ones(rows[-1]), places[known], rows), shape=(len(known), starts[-1]))
    N = (H.T @ H).toarray()  # rows that have level l of one column and level m of another one
    first = starts[:-1]
    R = np.add.reduceat(N, first, axis=1)  # rows that have level l, and any of column b
    with np.errstate(divide="ignore", invalid="ignore"):
        Q = np.nan_to_num(N**2 / (R[:, of] * R[:, of].T))
    chi = np.add.reduceat(np.add.reduceat(Q, first, axis=0), first, axis=1) - 1
    levels = np.add.reduceat((R > 0).astype(np.float64), first, axis=0)  # of a, in rows with b
    n = np.add.reduceat(R, first, axis=0)
    by_chance = (levels - 1) * (levels.T - 1) / np.maximum(n - 1, 1)
    most = np.minimum(levels, levels.T) - 1
    return np.where(most > 0, np.clip((chi - by_chance) / np.maximum(most, 1), 0, 1), 0.0)
