"""What additive learners share: a table becomes codes, and shapes of its columns predictions."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer import _native
from mercer.estimator import estimator
from mercer.learners.additive.bins import MOST, TableBins
from mercer.learners.additive.table_columns import checked_table
from mercer.learners.base import Placed, check_not_negative, check_positive, is_auto
from mercer.solvers.additive import laplacian, level_functions
from mercer.threads import ordered_map

GAMMAS = (1.0, 10.0)  # of single columns, one of which suits nearly all tables
FLAT, FUNCTIONS = 2.0, (32, 64)  # most functions of a column, up to this γ and beyond
ALL_FUNCTIONS = 20  # times as many of all columns, unless each would have fewer than 8
LEAST_FUNCTIONS, MOST_FUNCTIONS = 8, 3000
BIN_ROWS = 100_000  # rows of which the bins are made
TABLES = 2**29  # bytes of the tables of all pairs of columns
PART = 2**16  # rows of a prediction at a time


@estimator
class AdditiveLearner(Placed, BaseEstimator):
    """Abstract: a learner whose output is a sum of functions of columns.

    Parameters
    ----------
    alpha : float >= 0 or "auto"
        Penalty λ of each function. "auto" finds one for each of them by the marginal likelihood.
    gamma : float > 0 or "auto"
        γ of the kernel exp(-γ |t - t'|) of a column of numbers, whose values t lie between 0 and 1.
        "auto" takes 1 or 10, by the marginal likelihood. Categories are alike if they are equal.
    categories : list, optional
        Names, or numbers in an array, of columns of numbers that are categories. Columns of other
        values are so in any case.
    """

    _: KW_ONLY
    alpha: Any = "auto"
    gamma: Any = "auto"
    categories: Any = None

    def read(self, X: Any) -> np.ndarray:
        """Codes (columns, n) of new rows."""
        check_is_fitted(self)
        table = checked_table(self, X, reset=False)
        return self._bins.codes(self._columns.read(table), self.n_jobs)

    def _check_parameters(self) -> None:
        if not is_auto(self.alpha):
            check_not_negative("alpha", self.alpha, ', or "auto"')
        if not is_auto(self.gamma):
            check_positive("gamma", self.gamma, ', or "auto"')
        _ = self.place

    def _make_bins(self, rows: np.ndarray, weights: np.ndarray | None) -> TableBins:
        """Bins of rows at equal steps."""
        step = -(-len(rows) // BIN_ROWS)
        d = rows.shape[1]
        pairs = max(1, d * (d - 1) // 2)
        budget = min(TABLES, self.place.budget() // 4)
        most = int(min(MOST, np.sqrt(budget / (8 * pairs)) - 1))
        if most < 2:
            raise MemoryError(
                f"X has {d:,} columns, and tables of all {pairs:,} pairs of them do not fit "
                f"{budget:,} bytes: give fewer columns, or more memory."
            )
        some = None if weights is None else weights[::step]
        return TableBins.of(rows[::step], some, most, set(self._columns.levels))

    def _functions(self, counts: list[np.ndarray], gamma: float) -> list[np.ndarray]:
        """Φ of each column, from the weight of its levels."""
        most = FUNCTIONS[gamma > FLAT]
        most = min(most, max(LEAST_FUNCTIONS, ALL_FUNCTIONS * most // len(counts)))
        most = max(1, min(most, MOST_FUNCTIONS // len(counts)))
        return [
            level_functions(laplacian(column.positions, gamma), shares, most)[0]
            for column, shares in zip(self._bins.columns, counts)
        ]

    def _read_shapes(self, codes: np.ndarray) -> np.ndarray:
        """The sum of the shapes and the intercept, (outputs, n)."""
        n = codes.shape[1]
        outputs = np.repeat(self._intercepts[:, None], n, axis=1)
        shapes = [np.ascontiguousarray(shape.T) for shape in self.shapes_]

        def part(start: int) -> None:
            rows = slice(start, start + PART)
            for column, shape in zip(codes, shapes):
                for out, values in zip(outputs, shape):
                    _native.add_bin_reads(column[rows], values, out[rows])

        for _ in ordered_map(part, range(0, n, PART), self.n_jobs):
            pass
        return outputs
