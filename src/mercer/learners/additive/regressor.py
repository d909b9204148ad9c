"""Additive regression: a sum of functions of columns, from counts of binned rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin

from mercer.estimator import estimator
from mercer.kernels.additive import TableBins
from mercer.learners.additive.additive_learner import (
    BIN_ROWS,
    GAMMAS,
    ROUNDS,
    AdditiveLearner,
    CodedRows,
    WeightedTraining,
    counted_pairs,
)
from mercer.learners.additive.in_parts import AdditiveRegressionParts
from mercer.learners.additive.table_columns import TableColumns, checked_table
from mercer.learners.base import (
    FitsInParts,
    Regressor,
    check_squares,
    check_targets,
    finite_fit,
    finite_values,
    is_auto,
    join_rows,
    take_rows,
)
from mercer.persistence import fields
from mercer.samples import SamplesLike
from mercer.solvers import worst
from mercer.solvers.additive import (
    CountTables,
    EvidenceRidge,
    ExactSum,
    PartResult,
    RowDesign,
    RowRidge,
    column_parts,
)
from mercer.streams import Checkpoint, fit_stream, plain_columns
from mercer.threads import blas_limit, fitting, forget

TRIED = 8  # steps after which a kernel of columns is judged
SOLVERS = ("bins", "exact")
EXACT_ROWS = 20_000  # most rows of an exact fit: their numbers have codes of 16 bits
LITTLE = 1e-3  # what the first pairs leave, in parts of the targets, and no others are looked for
TO_PAIRS = 10  # steps with pairs, which begin at the penalties before


@fields()
class Stream:
    """What `partial_fit` keeps between its calls: the first rows, and then tables of all rows."""

    waiting: WeightedTraining | None
    tables: CountTables | None
    chunks: int

    def __init__(self):
        self.waiting = self.tables = None
        self.chunks = 0


@estimator
class AdditiveRegressor(MultiOutputMixin, Regressor, AdditiveLearner, FitsInParts):
    r"""Regression by a sum of functions of single columns and of some pairs of columns,

    .. math:: f(x) = c + \sum_j f_j(x_j) + \sum_{(j, k)} f_{jk}(x_j, x_k).

    Each function has a centred kernel and a penalty of its own. X is a table of numbers and
    categories; missing values are a level of their own.

    Parameters
    ----------
    solver : {"bins", "exact"}, default="bins"
        "exact" makes no bins, but takes the penalties that bins have: each different number of at
        most 20,000 rows has a value of its own. It fits functions of single columns alone.

    Attributes
    ----------
    intercept_ : float or ndarray of shape (n_targets,)
        c, the mean of the targets.
    noise_ : ndarray of shape (n_targets,)
        Variance of the noise.
    n_iter_ : int

    Notes
    -----
    Numbers are put into at most 255 bins of about equal weight (fewer with more than about 130
    columns), made of 100,000 rows at equal steps. Single columns need only the counts of rows by
    the bins of two columns: so a fit costs O(n d²) operations of about a nanosecond, and memory
    that does not depend on n beside the codes, which are a byte for each cell. Pairs are fitted on
    50,000 rows and then refined on all of them. Weights mean repetition.

    `partial_fit` reads a table in chunks and has the same answer for any chunks: the bins are those
    of the first 100,000 rows of the stream, and all else are counts and sums. It fits functions of
    single columns alone.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 3))
    >>> y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(scale=0.05, size=2000)
    >>> model = AdditiveRegressor().fit(X, y)
    >>> model.pairs_, bool(model.score(X, y) > 0.98)
    ([(1, 2)], True)
    >>> model.reasons([[0.5, 0.0, 0.0]], most=1).texts()["because_1"][0][:5]
    '0 (+0'
    """

    _: KW_ONLY
    solver: str = "bins"

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0.
        """
        forget(self)
        self._check_parameters()
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: give one of {SOLVERS}.")
        self._stream = None
        training = self._read_training(X, y, sample_weight, reset=True)
        exact = self.solver == "exact"
        if exact and len(training.y) > EXACT_ROWS:
            raise ValueError(
                f'solver="exact" is for at most {EXACT_ROWS:,} rows, and X has '
                f'{len(training.y):,}: give solver="bins".'
            )
        self._fit_rows(training, self._wants_pairs and not exact)
        if exact:
            self._leave_bins(training)
        return self

    def _leave_bins(self, training: WeightedTraining) -> None:
        """Solve again for all different numbers, with the penalties that the bins have."""
        rows, w = self._columns.read(training.table), training.all_weights
        every = TableBins.of(rows, w, EXACT_ROWS, set(self._columns.levels))
        codes = every.codes(rows)
        Y = training.y.reshape(len(training.y), -1) - np.atleast_1d(self.intercept_)
        places = [column.positions for column in every.columns]
        solver = ExactSum(self.gamma_)
        found = [
            solver.solve(list(codes), places, y, w, penalties)
            for y, penalties in zip(Y.T, self.penalties_)
        ]
        shapes = []
        for j, (shape, column) in enumerate(zip(self.shapes_, every.columns)):
            bin_of = np.append(np.searchsorted(shape.edges, column.centres), len(shape.counts) - 1)
            shapes.append(
                replace(
                    shape,
                    levels=column.centres.tolist() if shape.ordered else shape.levels,
                    values=np.column_stack([values[j] for values, _ in found]),
                    errors=shape.errors[bin_of],
                    counts=np.bincount(codes[j], w, column.size),
                    edges=column.edges,
                )
            )
        self.shapes_, self._bins = shapes, every
        worst([result for _, result in found]).conclude()

    def _read_training(
        self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> WeightedTraining:
        """The rows of a fit, after all checks."""
        table = checked_table(self, X, reset=reset)
        y = check_targets(table, y, type(self).__name__)
        check_squares(y)
        training = self._training(table, y, sample_weight)
        if reset:
            self._learn_columns(training.table)
            self._flat = y.ndim == 1
        return training

    def _fit_rows(self, training: WeightedTraining, pairs: bool) -> CountTables:
        tables, codes = self._first_tables(training)
        Y = self._less_offsets(training.y)
        self._solve(tables, (codes, Y, training.all_weights) if pairs else None)
        return tables

    def _first_tables(self, training: WeightedTraining) -> tuple[CountTables, np.ndarray]:
        """Bins of these rows, their tables, and their codes."""
        rows = self._begin(training)
        codes = self._bins.codes(rows, self.n_jobs)
        Y = self._less_offsets(training.y)
        tables = CountTables(self._bins.sizes, len(Y))
        tables.add(codes, Y, training.weights, self.n_jobs)
        return tables, codes

    def _begin(self, training: WeightedTraining, means: np.ndarray | None = None) -> np.ndarray:
        """Bins of these rows, and the means of the targets, which are subtracted; the rows read."""
        rows = self._columns.read(training.table)
        self._learn_bins(rows, training.weights)
        if means is None:
            Y = training.y.reshape(len(training.y), -1).astype(np.float64)
            means = np.average(Y, axis=0, weights=training.weights)
        self._offsets = means
        return rows

    def _less_offsets(self, y: np.ndarray) -> np.ndarray:
        """Targets (n_targets, n) as tables and solvers read them."""
        return (y.reshape(len(y), -1).astype(np.float64) - self._offsets).T

    def _solve(self, tables: CountTables, data: tuple | None = None) -> None:
        """Functions, penalties and shapes from the tables of all rows; with pairs, from ``data``
        too: the codes, targets and weights of the rows."""
        mean = tables.sums[0].sum(axis=1) / tables.rows
        with blas_limit(0):
            functions, results = self._solve_columns(tables)
        pairs = []
        if data is not None:
            codes, Y, w = data
            Y = Y - mean[:, None]
            design = RowDesign(codes, functions, (), self.n_jobs)
            design, results = self._solve_pairs(design, tables.counts, Y, w, results)
            pairs = counted_pairs(design, w)
        intercepts = self._offsets + mean
        self.intercept_ = float(intercepts[0]) if self._flat else intercepts
        self.penalties_ = np.array([r.penalties for r in results])
        self.noise_ = np.array([r.noise for r in results])
        self.n_iter_ = max(r.iterations for r in results)
        self._keep(tables.counts, functions, pairs, results, intercepts)
        worst(results).conclude()

    def _solve_columns(self, tables: CountTables) -> tuple[list[np.ndarray], list[PartResult]]:
        """The functions of all columns, with the width that has the most evidence."""
        n = tables.rows
        squares = tables.squares.sum(axis=1) - tables.sums[0].sum(axis=1) ** 2 / n
        solver = EvidenceRidge(None if is_auto(self.alpha) else float(self.alpha))
        gammas = GAMMAS if is_auto(self.gamma) else (float(self.gamma),)
        first = solver if len(gammas) == 1 else replace(solver, max_iter=TRIED)
        best: Any = None
        for gamma in gammas:
            functions = self._functions(tables.counts, gamma)
            parts = column_parts(functions)
            G, B = tables.gram(functions), tables.projected(functions)
            found = [first.solve(G, b, parts, s, n) for b, s in zip(B.T, squares)]
            evidence = sum(r.evidence for r in found)
            if best is None or evidence > best[0]:
                best, self.gamma_ = (evidence, functions, parts, G, B, found), gamma
        _, functions, parts, G, B, found = best
        if len(gammas) > 1:
            found = [
                solver.solve(G, b, parts, s, n, r.penalties) for b, s, r in zip(B.T, squares, found)
            ]
        return functions, found

    def _solve_pairs(
        self,
        design: RowDesign,
        counts: Sequence[np.ndarray],
        Y: np.ndarray,
        w: np.ndarray,
        results: list[PartResult],
    ) -> tuple[RowDesign, list[PartResult]]:
        """Add pairs by the residuals, and solve, until no pair explains more of them."""
        solver = RowRidge(
            EvidenceRidge(
                None if is_auto(self.alpha) else float(self.alpha), tol=0.2, max_iter=TO_PAIRS
            )
        )
        for attempt in range(ROUNDS):
            left = np.array([y - design.read(r.coef) for y, r in zip(Y, results)])
            if attempt and (left**2 @ w <= LITTLE * (Y**2 @ w)).all():
                break
            with blas_limit(0):
                wider = self._with_more_pairs(design, counts, w, left, np.ones_like(left))
            if wider is None:
                break
            more = np.ones(len(wider.pairs) - len(design.pairs))
            design = wider
            with blas_limit(design.width):
                prepared = solver.prepare(design, w)
                results = [
                    solver.solve(design, prepared, y, w, np.append(r.penalties, more))
                    for y, r in zip(Y, results)
                ]
        return design, results

    @fitting
    def partial_fit(
        self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to these rows as well as to those of earlier calls; see the notes of the class.

        A call after `fit` begins anew. Errors say which chunk they are in, and leave the model as
        it was.
        """
        stream: Stream | None = vars(self).get("_stream")
        if stream is None:
            forget(self)
            self._check_parameters()
            stream = Stream()
        try:
            more = self._read_training(X, y, sample_weight, reset=stream.chunks == 0)
        except ValueError as error:
            if stream.chunks:
                raise ValueError(f"chunk {stream.chunks} of the stream, from 0: {error}") from error
            raise
        self._stream = stream
        stream.chunks += 1
        if stream.tables is None:
            self._fit_first(stream, more)
        else:
            self._add(stream.tables, more)
            self._solve(stream.tables)
        return self

    def _fit_first(self, stream: Stream, more: WeightedTraining) -> None:
        """The rows up to now, or tables of all of them once there are enough for the bins."""
        held = more if stream.waiting is None else _joined(stream.waiting, more)
        stream.waiting = held._replace(table=plain_columns(held.table))
        n = len(held.y)
        first = _some(held, slice(0, BIN_ROWS)) if n > BIN_ROWS else held
        self._learn_columns(first.table)
        tables = self._fit_rows(first, pairs=False)
        if n >= BIN_ROWS:
            stream.tables, stream.waiting = tables, None
            if n > BIN_ROWS:
                self._add(tables, _some(held, slice(BIN_ROWS, n)))
                self._solve(tables)

    def _add(self, tables: CountTables, more: WeightedTraining) -> np.ndarray:
        """Add rows to the tables; returns their codes."""
        codes = self._bins.codes(self._columns.read(more.table), self.n_jobs)
        tables.add(codes, self._less_offsets(more.y), more.weights, self.n_jobs)
        return codes

    @finite_fit
    def fit_chunks(self, chunks: object, checkpoint: Checkpoint | str | Path | None = None) -> Self:
        """Fit to a stream, which may be larger than the memory. It is read once.

        The bins are those of the first 100,000 rows, so rows should not be sorted. Of all rows a
        byte for each cell is kept for pairs; if that is more than ``memory``, or with ``pairs=0``,
        single columns are fitted from counts alone, and memory does not depend on the number of
        rows. The answer does not depend on the size of the chunks.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Chunks with targets of shape (n,) or (n, n_targets) for n rows.
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on if it was killed, to the same last bit.
        """
        self._check_parameters()
        return fit_stream(self.part_fit(), chunks, checkpoint)

    # --- rows in parts -------------------------------------------------------------------------

    def part_fit(self) -> AdditiveRegressionParts:
        return AdditiveRegressionParts(self)

    @fitting
    def begin_rows(
        self,
        X: SamplesLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        columns: TableColumns | None = None,
        means: np.ndarray | None = None,
    ) -> Self:
        """Make the bins of these rows, by which `count_rows` counts these and others.

        ``columns`` are those of all rows, and ``means`` of all targets; None takes those of these
        rows.
        """
        self._check_parameters()
        self._stream = None
        training = self._read_training(X, y, sample_weight, reset=True)
        if columns is not None:
            self._columns = columns
        self._begin(training, means)
        return self

    def empty_tables(self) -> CountTables:
        """The tables of no rows, by the bins of `begin_rows`."""
        return CountTables(self._bins.sizes, len(self._offsets))

    def count_rows(
        self,
        tables: CountTables,
        X: SamplesLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[np.ndarray, WeightedTraining]:
        """Add rows to tables; returns their codes, and where their targets are."""
        training = self._read_training(X, y, sample_weight, reset=False)
        outputs = 1 if training.y.ndim == 1 else training.y.shape[1]
        if outputs != len(self._offsets):
            raise ValueError(f"y has {outputs} targets, and the first rows {len(self._offsets)}.")
        return self._add(tables, training), training

    @fitting
    def fit_counts(self, tables: CountTables, rows: CodedRows | None = None) -> Self:
        """Fit to tables of all rows; pairs of columns have functions where all codes are given."""
        data = None
        if rows is not None:
            codes, y, w = rows.joined()
            data = codes, self._less_offsets(y), w
        self._solve(tables, data)
        return self

    @finite_values
    def predict(self, X: SamplesLike) -> np.ndarray:
        """f at the rows of X, of shape (n,) or (n, n_targets)."""
        f = self._sum(X)
        return f[:, 0] if self._flat else f

    def _towards_answer(self, X: SamplesLike, parts: np.ndarray) -> np.ndarray:
        if parts.ndim == 3:
            raise ValueError(
                f"the model has {parts.shape[2]} targets: reasons are for one; see contributions."
            )
        return parts


def _some(training: WeightedTraining, rows: slice) -> WeightedTraining:
    w = training.weights
    numbers = np.arange(len(training.y))[rows]
    return WeightedTraining(
        take_rows(training.table, numbers), training.y[rows], None if w is None else w[rows]
    )


def _joined(a: WeightedTraining, b: WeightedTraining) -> WeightedTraining:
    plain = a.weights is None and b.weights is None
    w = None if plain else np.concatenate([a.all_weights, b.all_weights])
    return WeightedTraining(join_rows(a.table, b.table), np.concatenate([a.y, b.y]), w)
