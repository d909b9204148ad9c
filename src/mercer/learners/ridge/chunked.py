"""Ridge regression of low rank on a stream, in two readings: centres are drawn from all rows, and
then all rows become the normal equations of the features that the centres have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.gram import LowRankGram
from mercer.learners.base import (
    LIMITS,
    Training,
    centre_features,
    check_count,
    check_targets,
    check_weights,
    draw_for_centres,
    encode_like_fitted,
    is_auto,
    keep_centres,
    unit_of,
)
from mercer.learners.ridge.penalty import PENALTIES
from mercer.learners.ridge.process import low_rank_root
from mercer.persistence import fields
from mercer.samples import float_range
from mercer.solvers import Result
from mercer.solvers.ridge import RidgeSums, SummedFactor
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
