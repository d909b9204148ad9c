"""Ridge regression of low rank on a stream, in two readings: centres are drawn from all rows, and
then all rows become the normal equations of the features that the centres have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from mercer.gram import LowRankGram, factor_rows
from mercer.learners.base import (
    LIMITS,
    check_count,
    check_labels,
    check_targets,
    check_weights,
    encode_like_fitted,
    is_auto,
    weigh_classes,
)
from mercer.learners.ridge.penalty import PENALTIES, unit_of
from mercer.learners.ridge.process import low_rank_root
from mercer.samples import float_range
from mercer.solvers import Result
from mercer.solvers.ridge import RidgeSums, SummedFactor
from mercer.streams import Chunk, Chunks, Drawn, Keeper, count_rows, draw_rows, told
from mercer.threads import blas_limit, raise_if_stopped

DRAWN = 10  # rows that are looked at for each centre
BLOCK = 2**13  # rows whose features are computed at a time


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


def rows_to_draw(learner: Any) -> int:
    """How many rows centres are chosen among, that the memory has room for."""
    rank = learner.rank or LIMITS["ridge"].rank
    most = factor_rows(rank, learner.place, 8)
    if most < rank and learner.rank is not None:
        what = f"more than {most} rows of a factor of rank {rank}, of which {rank} are needed"
        learner.place.refuse(2 * rank**2 * 8, what, ", or a smaller rank=")
    return max(1, min(DRAWN * rank, most))


def draw_centres(learner: Any, chunks: Chunks, see: Callable[[Chunk], None]) -> Drawn:
    """Rows of all the stream, among which centres are chosen; ``see`` looks at each chunk."""
    check_count("rank", learner.rank)
    if learner.solver not in ("auto", "low_rank"):
        raise ValueError(
            f'solver={learner.solver!r}: a fit in chunks is of low rank: give solver="low_rank".'
        )
    chunks.refuse_once(
        f"{type(learner).__name__}.fit_chunks draws centres from all rows, and then reads the rows"
    )
    random = check_random_state(learner.random_state)
    return draw_rows(chunks, rows_to_draw(learner), random, see)


def keep_centres(learner: Any, training: Any, drawn: Drawn) -> LowRankGram:
    """Choose centres among the drawn rows, and keep them on the learner."""
    learner.check_low_rank()
    low = learner.make_low_rank_gram(training.X, LIMITS["ridge"].rank)
    learner.keep_support(training.X[low.centres])
    learner.centres_ = drawn.rows[training.rows[low.centres]]
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
            C = learner.gram_with_support(X).dense()
            F = solve_triangular(sums.L, C.T, lower=True, check_finite=False).T
            sums.ridge.add(F, Y, w)


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


class ClassTotals:
    """Looks at the chunks of a reading for the classes, and for the weight of each."""

    def __init__(self, reader: str):
        self.reader = reader
        self.totals: dict[Any, float] = {}

    def __call__(self, chunk: Chunk) -> None:
        empty = np.empty((count_rows(chunk.X), 0))
        y = check_targets(empty, chunk.y, self.reader, numeric=False)
        if y.ndim != 1:
            raise ValueError(
                f"y has shape {y.shape}: a fit in chunks takes one class for each row."
            )
        found, numbers = np.unique(y, return_inverse=True)
        for label, total in zip(found.tolist(), np.bincount(numbers, chunk.weights).tolist()):
            if total > 0:
                self.totals[label] = self.totals.get(label, 0.0) + total

    def classes(self) -> np.ndarray:
        """The classes, in ascending order."""
        try:
            found = np.array(sorted(self.totals))
        except TypeError:
            raise ValueError(
                f"y has classes of different types, such as {list(self.totals)[:3]}: give numbers, "
                "or texts."
            ) from None
        check_labels(found)
        if len(found) < 2:
            raise ValueError(
                f"y has one class, {found.tolist()[0]!r}, among the rows of positive weight: a "
                "classifier needs at least two."
            )
        return found

    def factors(self, class_weight: Any) -> np.ndarray:
        """What the weights of the rows of each class are multiplied by."""
        classes = self.classes()
        totals = np.array([self.totals[label] for label in classes.tolist()])
        if class_weight is None:
            return np.ones(len(classes))
        return weigh_classes(class_weight, classes, totals) / totals
