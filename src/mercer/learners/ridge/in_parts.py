"""Ridge regression of low rank on rows that come in chunks of a stream, or in parts.

Centres are drawn from all rows, so that they do not depend on the parts. All rows then become the
normal equations of the features that the centres have: sums over the parts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from mercer.distances import float_range
from mercer.gram import LowRankGram
from mercer.learners.base import (
    LIMITS,
    ClassTotals,
    PartFit,
    Survey,
    Training,
    centre_features,
    check_count,
    check_targets,
    check_weights,
    draw_for_centres,
    encode_like_fitted,
    is_auto,
    keep_centres,
    numbers_for_centres,
    unit_of,
)
from mercer.learners.ridge.penalty import PENALTIES, check_penalty
from mercer.learners.ridge.process import low_rank_root
from mercer.persistence import fields
from mercer.samples import Samples
from mercer.solvers import Result
from mercer.solvers.ridge import RidgeSums, SummedFactor, products_serve
from mercer.streams import Chunk, Chunks, Drawn, Keeper, count_rows, told
from mercer.threads import blas_limit, raise_if_stopped

BLOCK = 2**13  # rows whose features are computed at a time


@fields()
class Sums:
    """What a reading of a stream has found, and what it goes on with.

    Attributes
    ----------
    ridge : RidgeSums
    L : ndarray of shape (rank, rank)
        K between the centres is L Lᵀ.
    unit : float
        What targets are divided by.
    flat : bool
        Whether the targets are of shape (n,).
    """

    def __init__(self, ridge: RidgeSums, L: np.ndarray, unit: float, flat: bool):
        self.ridge, self.L, self.unit, self.flat = ridge, L, unit, flat


class Solved(NamedTuple):
    """A solution from sums, and what it was found by."""

    result: Result
    factor: SummedFactor


def draw_centres(learner: Any, chunks: Chunks, see: Callable[[Chunk], None]) -> Drawn:
    """Rows of all the stream, among which centres are chosen; ``see`` looks at each chunk."""
    check_count("rank", learner.rank)
    if learner.solver not in ("auto", "low_rank"):
        raise ValueError(
            f'solver={learner.solver!r}: a fit in chunks is of low rank: give solver="low_rank".'
        )
    return draw_for_centres(learner, chunks, LIMITS["ridge"], see)


def begin_sums(learner: Any, training: Training, drawn: Drawn) -> LowRankGram:
    """Choose centres among the drawn rows, and keep them on the learner."""
    learner.check_low_rank()
    low = keep_centres(learner, training, drawn.rows, LIMITS["ridge"])
    learner.solver_ = "low_rank"
    learner.gram_ = f"low rank, {drawn.total:,} rows in chunks, rank {low.rank}"
    return low


def add_rows(
    learner: Any,
    keeper: Keeper,
    sums: Sums,
    targets: Callable[[np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray | None]],
) -> None:
    """Read the stream, or the rest of it, into the sums.

    ``targets`` makes the targets (n, outputs) and the weights of a block of its y and weights.
    """
    with blas_limit(len(sums.L)):
        for block in keeper.blocks(BLOCK, sums):
            raise_if_stopped()
            with told(f"the block from row {block.start:,} of the stream"):
                X = encode_like_fitted(learner, learner.kernel_, block.X)
                X = float_range(X, learner.X_fit_)
                y = check_targets(X, block.y, type(learner).__name__, numeric=False)
                Y, w = targets(y, check_weights(X, block.weights))
            for rows, F in centre_features(learner, sums.L, X):
                sums.ridge.add(F, Y[rows], None if w is None else w[rows])


def solve_sums(learner: Any, sums: Sums, penalty: Any, ridge: RidgeSums | None = None) -> Solved:
    """Solve for ``dual_coef_``; "auto" takes the penalty of generalised cross-validation."""
    ridge = sums.ridge if ridge is None else ridge
    rank = len(sums.L)
    with blas_limit(rank):
        lift = LowRankGram(np.arange(rank), sums.L, F=np.empty((0, rank), sums.L.dtype))
        factor = ridge.factorise(lift)
        if is_auto(learner.alpha):
            tried = PENALTIES * ridge.weight
            tried = tried[tried > min(factor.pairs.noise, tried[-1] / 2)]  # below, rounding decides
            penalty = learner.alpha_ = float(tried[np.argmin(factor.cross_validation(tried))])
        result = factor.solve(penalty)
        if learner.uncertainty:
            every = np.unique(penalty)
            learner.roots_ = np.stack([low_rank_root(factor.pairs, lift.lift, p) for p in every])
    learner.dual_coef_ = (sums.unit * result.coef).astype(learner.X_fit_.dtype, copy=False)
    learner.n_iter_, learner.residual_ = result.iterations, result.gap
    return Solved(result, factor)


class Largest:
    """Looks at the chunks of a reading for the size of their targets."""

    def __init__(self, reader: str):
        self.reader, self.size = reader, np.zeros(1)

    def __call__(self, chunk: Chunk) -> None:
        y = check_targets(np.empty((count_rows(chunk.X), 0)), chunk.y, self.reader)
        self.size = np.maximum(self.size, np.abs(y).max(initial=0))

    @property
    def unit(self) -> float:
        """What targets are divided by, so that floats hold their squares."""
        return unit_of(self.size)


class RidgeParts(PartFit):
    """Abstract: the fit of a ridge learner of low rank in parts."""

    root: np.ndarray
    products: bool  # whether sums are those of K itself, and not of F = K L⁻ᵀ
    unit: float

    def sample(self, survey: Survey) -> np.ndarray:
        self.rows = numbers_for_centres(self.learner, survey.rows, LIMITS["ridge"])
        return self.rows

    def begin(self, survey: Survey, X: Any, y: Any, sample_weight: Any = None) -> None:
        learner = self.learner
        if learner.solver not in ("auto", "low_rank"):
            raise ValueError(
                f"solver={learner.solver!r} is for rows that lie together: rows in parts have "
                'solver="low_rank".'
            )
        if is_auto(learner.alpha):
            raise ValueError(
                'alpha="auto" leaves out single rows, which rows in parts do not: give a number, '
                "and search for it by KernelSearchCV."
            )
        numeric = isinstance(self, RegressionParts)
        training = learner.make_training(X, y, sample_weight, numeric=numeric)
        learner.check_low_rank()
        self.root = keep_centres(learner, training, self.rows, LIMITS["ridge"]).L
        penalty = check_penalty(learner.alpha, np.empty((0, len(survey.totals))))
        self.products = products_serve(self.root, survey.weight, float(np.min(penalty)))
        self.unit = unit_of(np.array([survey.largest]))
        self.start(survey)

    def start(self, survey: Survey) -> None:
        """Learn from the survey what targets are."""

    @abstractmethod
    def targets(self, y: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, Any]:
        """Targets (n, outputs) and weights of the normal equations."""

    def sums(self, X: Any, y: Any, sample_weight: Any = None) -> RidgeSums:
        learner = self.learner
        encoded = float_range(encode_like_fitted(learner, learner.kernel_, X), learner.X_fit_)
        numeric = isinstance(self, RegressionParts)
        y = check_targets(encoded, y, type(learner).__name__, numeric=numeric)
        Y, w = self.targets(y, check_weights(encoded, sample_weight))
        found = RidgeSums(len(self.root), Y.shape[1])
        with np.errstate(all="ignore"):
            L = None if self.products else self.root
            for rows, F in centre_features(learner, L, encoded):
                found.add(F, Y[rows] / self.unit, None if w is None else w[rows])
        return found

    def solve(self, sums: RidgeSums) -> tuple[Any, np.ndarray]:
        """Store the coefficients of all targets at the centres; the result, and Σ w (y - f)."""
        learner = self.learner
        if self.products:
            sums = sums.whitened(self.root)
        penalty = check_penalty(learner.alpha, np.empty((0, len(sums.totals))))
        with np.errstate(all="ignore"):
            result, factor = solve_sums(learner, Sums(sums, self.root, self.unit, False), penalty)
        learner.solver_, learner.n_iter_ = "low_rank", 1
        return result, self.unit * factor.residual_sums(result)


class RegressionParts(RidgeParts):
    """The fit of a `KernelRidge`."""

    def survey(self, X: Samples, y: Any, sample_weight: ArrayLike | None = None) -> Survey:
        rows = np.empty((len(y), 0))
        y = check_targets(rows, y, type(self.learner).__name__)
        return Survey.of(y, check_weights(rows, sample_weight))

    def start(self, survey: Survey) -> None:
        self.flat, self.outputs = survey.flat, len(survey.totals)

    def targets(self, y: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, Any]:
        Y = y.reshape(len(y), -1)
        if Y.shape[1] != self.outputs:
            raise ValueError(f"y has {Y.shape[1]} targets, and the first rows {self.outputs}.")
        return Y, w

    def finish(self, sums: RidgeSums) -> Any:
        result, _ = self.solve(sums)
        if self.flat:
            self.learner.dual_coef_ = self.learner.dual_coef_[:, 0]
        result.conclude()
        return self.learner


class ClassificationParts(RidgeParts):
    """The fit of a `KernelRidgeClassifier` to one label for each row."""

    def survey(self, X: Samples, y: Any, sample_weight: ArrayLike | None = None) -> Survey:
        w = check_weights(np.empty((len(y), 0)), sample_weight)
        totals = ClassTotals(type(self.learner).__name__)
        totals.add(len(y), y, w)
        return Survey.of(np.zeros(len(y)), w, totals)

    def start(self, survey: Survey) -> None:
        totals: ClassTotals = survey.more
        self.classes, self.factors = totals.classes(), None
        self.learner.learn_classes(self.classes)
        if self.learner.class_weight is not None:
            self.factors = totals.factors(self.learner.class_weight)

    def targets(self, y: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, Any]:
        y = column_or_1d(y)
        if self.factors is not None:
            w = self.factors[np.searchsorted(self.classes, y)] * (1.0 if w is None else w)
        Y = self.learner.indicators(y)
        return np.column_stack([Y, np.ones(len(Y))]), w

    def finish(self, sums: RidgeSums) -> Any:
        result, left = self.solve(sums)
        self.learner.fit_intercepts(left)
        result.conclude()
        return self.learner
