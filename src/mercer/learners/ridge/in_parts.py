"""Ridge regression of low rank on rows that come in chunks of a stream, or in parts.

Centres are drawn from all rows, so that they do not depend on the parts. All rows then become the
normal equations of the features that the centres have: sums over the parts.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from mercer.gram import LowRankGram
from mercer.learners.base import (
    LIMITS,
    CentreFit,
    ClassTotals,
    Limits,
    PartFit,
    Survey,
    check_targets,
    check_weights,
    is_auto,
    require_targets,
    unit_of,
)
from mercer.learners.ridge.penalty import PENALTIES, check_penalty
from mercer.learners.ridge.process import low_rank_root
from mercer.samples import Samples, SamplesLike
from mercer.solvers import Result
from mercer.solvers.ridge import RidgeSums, SummedFactor, products_serve
from mercer.streams import Chunk, Chunks
from mercer.threads import blas_limit


class RidgeParts(CentreFit, PartFit):
    """Abstract: the fit of a ridge learner of low rank in parts.

    Attributes
    ----------
    unit : float
        What targets are divided by.
    flat : bool
        Whether the targets are of shape (n,).
    outputs : int
        Targets of a row, as numbers.
    penalty : float or ndarray
        NaN where the rows choose it.
    """

    limits: ClassVar[Limits] = LIMITS["ridge"]
    numeric: ClassVar[bool] = True
    unit: float
    flat: bool
    outputs: int
    penalty: Any

    def open(self, chunks: Chunks) -> None:
        surveys: list[Survey] = []

        def see(chunk: Chunk) -> None:
            require_targets(chunk.y, type(self.learner).__name__)
            found = self.survey(chunk.X, chunk.y, chunk.weights)
            surveys[:] = [surveys[0] + found if surveys else found]

        X, y, w, rows, total = self.draw(chunks, see)
        self.learn(surveys[0], X, y, w, rows, total)

    def sample(self, survey: Survey) -> np.ndarray:
        self.rows = self.numbers(survey.rows)
        return self.rows

    def begin(
        self, survey: Survey, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        self.learn(survey, X, y, sample_weight, self.rows)
        if not is_auto(self.learner.alpha):
            least = float(np.min(self.penalty))
            self.products = products_serve(self.L, survey.weight, least)

    def learn(
        self, survey: Survey, X: SamplesLike, y: Any, weights: ArrayLike | None, *rows: Any
    ) -> None:
        """Choose centres among drawn rows; ``rows`` are as in `choose`."""
        learner = self.learner
        training = learner.make_training(X, y, weights, numeric=self.numeric)
        learner.check_low_rank()
        self.choose(training, *rows)
        learner.solver_ = "low_rank"
        outputs = self.outputs = len(survey.totals)
        self.unit, self.flat = unit_of(np.array([survey.largest])), survey.flat
        self.penalty = np.nan
        if not is_auto(learner.alpha):
            self.penalty = check_penalty(learner.alpha, np.empty((0, outputs)))

    def empty(self) -> RidgeSums:
        return RidgeSums(len(self.L), self.outputs)

    def solve(self, sums: RidgeSums) -> tuple[Result, SummedFactor]:
        """Store the coefficients of all targets at the centres; "auto" takes the penalty of
        generalised cross-validation."""
        learner, rank = self.learner, len(self.L)
        sums, penalty = sums.whitened(self.L) if self.products else sums, self.penalty
        with blas_limit(rank):
            lift = LowRankGram(np.arange(rank), self.L, F=np.empty((0, rank), self.L.dtype))
            factor = sums.factorise(lift)
            if is_auto(learner.alpha):
                tried = PENALTIES * sums.weight
                # below, rounding decides
                tried = tried[tried > min(factor.pairs.noise, tried[-1] / 2)]
                penalty = learner.alpha_ = float(tried[np.argmin(factor.cross_validation(tried))])
            result = factor.solve(penalty)
            if learner.uncertainty:
                every = np.unique(penalty)
                roots = [low_rank_root(factor.pairs, lift.lift, p) for p in every]
                learner.roots_ = np.stack(roots)
        dtype = learner.X_fit_.dtype
        learner.dual_coef_ = (self.unit * result.coef).astype(dtype, copy=False)
        learner.n_iter_, learner.residual_ = result.iterations, result.gap
        return result, factor


class RidgeRegressionParts(RidgeParts):
    """The fit of a `KernelRidge`."""

    def survey(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Survey:
        rows = np.empty((len(y), 0))
        y = check_targets(rows, y, type(self.learner).__name__)
        return Survey.of(y, check_weights(rows, sample_weight))

    def beside(
        self, X: Samples, y: ArrayLike, weights: ArrayLike | None
    ) -> tuple[np.ndarray | None, ...]:
        y = check_targets(X, y, type(self.learner).__name__)
        Y = y.reshape(len(y), -1).astype(np.float64)
        if Y.shape[1] != self.outputs:
            raise ValueError(
                f"y has {Y.shape[1]} targets, and the first rows {self.outputs}: give as many in "
                "each part."
            )
        return Y / self.unit, check_weights(X, weights)

    def finish(self, total: RidgeSums) -> Any:
        # minimise Σ w (y - F β)² + λ ‖β‖²   =>   (FᵀWF + λ) β = FᵀWy
        result, _ = self.solve(total)
        if self.flat:
            self.learner.dual_coef_ = self.learner.dual_coef_[:, 0]
        result.conclude()
        return self.learner


class RidgeClassificationParts(RidgeParts):
    """The fit of a `KernelRidgeClassifier` to one label for each row."""

    numeric: ClassVar[bool] = False
    factors: np.ndarray | None  # of the weights of the rows of each class

    def __init__(self, learner: Any):
        super().__init__(learner)
        learner.check_alpha()

    def survey(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Survey:
        w = check_weights(np.empty((len(y), 0)), sample_weight)
        totals = ClassTotals(type(self.learner).__name__)
        totals.add(len(y), y, w)
        return Survey.of(np.zeros(len(y)), w, totals)

    def learn(self, survey: Survey, *drawn: Any) -> None:
        super().learn(survey, *drawn)
        totals: ClassTotals = survey.more
        classes, weight = totals.classes(), self.learner.class_weight
        self.learner.learn_classes(classes)
        self.factors = None if weight is None else totals.factors(weight)
        self.outputs = 1 if len(classes) == 2 else len(classes)

    def beside(
        self, X: Samples, y: ArrayLike, weights: ArrayLike | None
    ) -> tuple[np.ndarray | None, ...]:
        learner, w = self.learner, check_weights(X, weights)
        y = column_or_1d(check_targets(X, y, type(learner).__name__, numeric=False))
        if self.factors is not None:
            w = self.factors[np.searchsorted(learner.classes_, y)] * (1.0 if w is None else w)
        return learner.indicators(y), w

    def finish(self, total: RidgeSums) -> Any:
        learner, b = self.learner, np.zeros(self.outputs)
        if learner.fit_intercept and is_auto(learner.alpha):
            b = total.totals / total.weight
            result, _ = self.solve(total.centred(b))
        elif learner.fit_intercept:
            result, factor = self.solve(total.with_ones())
            b = learner.find_intercepts(factor.residual_sums(result))
        else:
            result, _ = self.solve(total)
        learner.keep_intercepts(b)
        result.conclude()
        return learner
