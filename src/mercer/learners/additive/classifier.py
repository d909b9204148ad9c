"""Additive classification: log-odds that are a sum of functions of columns."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.utils import column_or_1d

from mercer.estimator import estimator
from mercer.learners.additive.additive_learner import (
    GAMMAS,
    ROUNDS,
    AdditiveLearner,
    CodedRows,
    WeightedTraining,
    counted_pairs,
)
from mercer.learners.additive.in_parts import AdditiveClassificationParts
from mercer.learners.additive.table_columns import TableColumns, checked_table
from mercer.learners.base import (
    FitsInParts,
    OutputClassifier,
    check_targets,
    encode_classes,
    finite_fit,
    finite_values,
    is_auto,
    weigh_classes,
)
from mercer.samples import Samples, SamplesLike
from mercer.solvers.additive import PartNewton, PartResult, RowDesign
from mercer.streams import Checkpoint, fit_stream
from mercer.threads import blas_limit, fitting, forget

JUDGED = 20_000  # rows on which a kernel of columns is judged
TRIED = 6  # Newton steps for it


@estimator
class AdditiveClassifier(OutputClassifier, AdditiveLearner, FitsInParts):
    r"""Classification by log-odds that are a sum of functions of columns and of some pairs,

    .. math:: \log \frac{p}{1 - p} = c + \sum_j f_j(x_j) + \sum_{(j, k)} f_{jk}(x_j, x_k);

    several classes have one such sum each, and p is their softmax. X is a table of numbers and
    categories; missing values are a level of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    intercept_ : ndarray of shape (outputs,)
        c; one for two classes, and else one for each class.
    n_iter_ : int
        Newton steps.

    Notes
    -----
    Bins are those of `AdditiveRegressor`. The penalised deviance is minimised by Newton's method,
    and after each step penalties follow the marginal likelihood (Laplace's approximation). A step
    costs O(n d²) operations; with pairs its matrix is that of 20,000 rows. Weights mean repetition.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2))
    >>> model = AdditiveClassifier().fit(X, X[:, 0] * X[:, 1] > 0)
    >>> model.pairs_, bool(model.score(X, X[:, 0] * X[:, 1] > 0) > 0.95)
    ([(0, 1)], True)
    """

    _: KW_ONLY
    class_weight: Any = None

    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table X (n) and classes y of shape (n,).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0.
        """
        forget(self)
        self._check_parameters()
        training = self._read_training(X, y, sample_weight, reset=True)
        encode_classes(training.y)  # they are classes
        codes = self._first_codes(training)
        self._fit_codes(codes, training.y, training.all_weights)
        return self

    @finite_fit
    def fit_chunks(self, chunks: object, checkpoint: Checkpoint | str | Path | None = None) -> Self:
        """Fit to a stream of rows with one class for each. It is read once.

        The bins are those of the first 100,000 rows, so rows should not be sorted. Of all rows a
        byte for each cell is kept, and some numbers for each row. The answer does not depend on the
        size of the chunks.

        Parameters
        ----------
        chunks : Chunks, or what it takes
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on if it was killed, to the same last bit.

        Raises
        ------
        MemoryError
            The codes of the rows need more than ``memory``.
        """
        self._check_parameters()
        return fit_stream(self.part_fit(), chunks, checkpoint)

    def _first_codes(self, training: WeightedTraining) -> np.ndarray:
        """Bins of these rows, and their codes."""
        self._learn_columns(training.table)
        rows = self._columns.read(training.table)
        self._learn_bins(rows, training.weights)
        return self._bins.codes(rows, self.n_jobs)

    # --- rows in parts -------------------------------------------------------------------------

    def part_fit(self) -> AdditiveClassificationParts:
        return AdditiveClassificationParts(self)

    def _read_training(
        self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> WeightedTraining:
        table = checked_table(self, X, reset=reset)
        y = check_targets(table, y, type(self).__name__, numeric=False)
        return self._training(table, column_or_1d(y, warn=True), sample_weight)

    @fitting
    def begin_rows(
        self,
        X: SamplesLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        columns: TableColumns | None = None,
    ) -> Self:
        """Make the bins of these rows, by which `code_rows` codes these and others.

        ``columns`` are those of all rows; None takes those of these rows.
        """
        self._check_parameters()
        training = self._read_training(X, y, sample_weight, reset=True)
        self._learn_columns(training.table)
        if columns is not None:
            self._columns = columns
        self._learn_bins(self._columns.read(training.table), training.weights)
        return self

    def code_rows(
        self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[np.ndarray, WeightedTraining]:
        """The codes of these rows, by the bins of `begin_rows`, and where their classes are."""
        training = self._read_training(X, y, sample_weight, reset=False)
        return self._bins.codes(self._columns.read(training.table), self.n_jobs), training

    @fitting
    def fit_coded(self, rows: CodedRows) -> Self:
        """Fit to the codes of all rows."""
        self._fit_codes(*rows.joined())
        return self

    def _fit_codes(self, codes: np.ndarray, y: np.ndarray, w: np.ndarray) -> None:
        """Fit to rows of codes (columns, n) with their classes and weights."""
        self.classes_, numbers = encode_classes(y)
        if self.class_weight is not None:
            w = weigh_classes(self.class_weight, y, w)
        Y = (numbers == np.arange(len(self.classes_))[:, None]).astype(np.float64)
        Y = Y[1:] if len(self.classes_) == 2 else Y
        counts = [np.bincount(row, w, size) for row, size in zip(codes, self._bins.sizes)]
        with blas_limit(0):
            functions, result = self._solve_columns(codes, counts, Y, w)
        design = RowDesign(codes, functions, (), self.n_jobs)
        if self._wants_pairs:
            design, result = self._solve_pairs(design, counts, Y, w, result)
        self.intercept_ = np.asarray(result.intercept)
        self.penalties_, self.n_iter_ = result.penalties, result.iterations
        each = len(design.parts)
        outputs = [
            replace(result, coef=beta, spreads=result.spreads[c * each : (c + 1) * each])
            for c, beta in enumerate(result.coef.T)
        ]
        self._keep(counts, functions, counted_pairs(design, w), outputs, self.intercept_)
        result.conclude()

    def _solve_pairs(
        self,
        design: RowDesign,
        counts: list[np.ndarray],
        Y: np.ndarray,
        w: np.ndarray,
        result: PartResult,
    ) -> tuple[RowDesign, PartResult]:
        """Add pairs by the residuals, and solve, until no pair explains more of them."""
        for _ in range(ROUNDS):
            p = probabilities(outputs_of(design, result))
            with blas_limit(0):
                wider = self._with_more_pairs(design, counts, w, Y - p, p * (1 - p))
            if wider is None:
                break
            more = np.ones((len(Y), len(wider.pairs) - len(design.pairs)))
            design = wider
            with blas_limit(design.width):
                start = np.hstack([result.penalties, more])
                result = self._solver.solve(design, Y, w, start)
        return design, result

    @property
    def _solver(self) -> PartNewton:
        return PartNewton(None if is_auto(self.alpha) else float(self.alpha))

    def _solve_columns(
        self, codes: np.ndarray, counts: list[np.ndarray], Y: np.ndarray, w: np.ndarray
    ) -> tuple[list[np.ndarray], PartResult]:
        """The functions of all columns, with the width that has the most evidence."""
        gammas = GAMMAS if is_auto(self.gamma) else (float(self.gamma),)
        tried: dict[float, PartResult | None] = dict.fromkeys(gammas)
        if len(gammas) > 1:
            step = -(-len(w) // JUDGED)
            solver = replace(self._solver, max_iter=TRIED)
            few = np.ascontiguousarray(codes[:, ::step])
            for gamma in gammas:
                design = RowDesign(few, self._functions(counts, gamma), (), self.n_jobs)
                tried[gamma] = solver.solve(design, np.ascontiguousarray(Y[:, ::step]), w[::step])
        self.gamma_ = max(tried, key=lambda gamma: getattr(tried[gamma], "evidence", 0.0))
        functions = self._functions(counts, self.gamma_)
        first = tried[self.gamma_]
        design = RowDesign(codes, functions, (), self.n_jobs)
        return functions, self._solver.solve(
            design, Y, w, None if first is None else first.penalties
        )

    @finite_values
    def _outputs(self, X: Samples) -> np.ndarray:
        return self._sum(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (n, n_classes)."""
        p = probabilities(self._outputs(X).T).T
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p

    def _towards_answer(self, X: Any, parts: np.ndarray) -> np.ndarray:
        """What parts add towards the class that is predicted."""
        f = self._outputs(X)
        if parts.ndim == 2:
            return np.where(f > 0, parts, -parts)
        best = f.argmax(axis=1)
        rows = np.arange(len(f))
        return parts[rows, :, best] - parts.mean(axis=2)


def outputs_of(design: RowDesign, result: PartResult) -> np.ndarray:
    """f at the rows, (outputs, n)."""
    read = [design.read(beta) for beta in result.coef.T]
    return np.array(read) + np.asarray(result.intercept)[:, None]


def probabilities(f: np.ndarray) -> np.ndarray:
    """p of outputs (outputs, n), in their shape: logistic for one output, softmax for several."""
    return expit(f) if len(f) == 1 else softmax(f, axis=0)
