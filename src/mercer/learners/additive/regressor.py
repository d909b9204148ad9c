"""Additive regression: a sum of functions of single columns, from counts of binned rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer.estimator import estimator
from mercer.learners.additive.additive_learner import GAMMAS, AdditiveLearner
from mercer.learners.additive.table_columns import TableColumns, checked_table
from mercer.learners.base import check_targets, check_weights, finite_values, is_auto
from mercer.solvers.additive import CountTables, EvidenceRidge, PartResult, column_parts
from mercer.threads import blas_limit, fitting, forget

TRIED = 8  # steps after which a kernel of columns is judged


@estimator
class AdditiveRegressor(MultiOutputMixin, RegressorMixin, AdditiveLearner):
    r"""Regression by a sum of functions of single columns,

    .. math:: f(x) = c + \sum_j f_j(x_j).

    Attributes
    ----------
    intercept_ : float or ndarray of shape (n_targets,)
        c, the mean of the targets.
    shapes_ : list of ndarray of shape (levels, n_targets)
        The values of each function at the levels of its column; the last one is that of missing
        values. Each has the mean 0 over the training rows.
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a table X (n) and targets y of shape (n,) or (n, n_targets)."""
        forget(self)
        self._check_parameters()
        table = checked_table(self, X, reset=True)
        y = check_targets(table, y, type(self).__name__)
        w = check_weights(table, sample_weight)
        self._columns = TableColumns.of(table, self.categories)
        rows = self._columns.read(table)
        self._bins = self._make_bins(rows, w)
        self._flat, Y = y.ndim == 1, y.reshape(len(y), -1).astype(np.float64)
        self._offsets = np.average(Y, axis=0, weights=w)
        tables = CountTables(self._bins.sizes, Y.shape[1])
        tables.add(self._bins.codes(rows, self.n_jobs), (Y - self._offsets).T, w, self.n_jobs)
        with blas_limit(0):
            self._solve(tables)
        return self

    def _solve(self, tables: CountTables) -> None:
        """Functions, penalties and shapes from the tables of all rows."""
        n, total = tables.rows, tables.sums[0].sum(axis=1)
        squares = tables.squares.sum(axis=1) - total**2 / n
        solver = EvidenceRidge(None if is_auto(self.alpha) else float(self.alpha))
        gammas = GAMMAS if is_auto(self.gamma) else (float(self.gamma),)
        best: list[PartResult] = []
        for gamma in gammas:
            functions = self._functions(tables.counts, gamma)
            parts = column_parts(functions)
            G, B = tables.gram(functions), tables.projected(functions)
            first = solver if len(gammas) == 1 else replace(solver, max_iter=TRIED)
            found = [first.solve(G, b, parts, s, n) for b, s in zip(B.T, squares)]
            if not best or sum(r.evidence for r in found) > sum(r.evidence for r in best):
                best, self.gamma_, self._phi, system = found, gamma, functions, (G, B)
        if len(gammas) > 1:
            G, B = system
            parts = column_parts(self._phi)
            best = [
                solver.solve(G, b, parts, s, n, r.penalties) for b, s, r in zip(B.T, squares, best)
            ]
        parts = column_parts(self._phi)
        beta = np.column_stack([result.coef for result in best])
        self.shapes_ = [Phi @ beta[part] for Phi, part in zip(self._phi, parts)]
        self._intercepts = self._offsets + total / n
        self.intercept_ = float(self._intercepts[0]) if self._flat else self._intercepts
        self.n_iter_ = max(r.iterations for r in best)
        for r in best:
            r.conclude()

    @finite_values
    def predict(self, X: Any) -> np.ndarray:
        """f at the rows of X, of shape (n,) or (n, n_targets)."""
        f = self._read_shapes(self.read(X)).T
        return f[:, 0] if self._flat else f
