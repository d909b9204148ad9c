"""Kernel logistic regression of low rank on a stream, which is read again for each Newton step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer.gram import LowRankGram
from mercer.learners.base import (
    LIMITS,
    ClassTotals,
    centre_features,
    check_targets,
    check_weights,
    draw_for_centres,
    encode_like_fitted,
    keep_centres,
)
from mercer.persistence import fields
from mercer.samples import float_range
from mercer.solvers import Result
from mercer.solvers.ridge import LogisticPasses, LogisticProgress
from mercer.streams import Chunks, told
from mercer.threads import raise_if_stopped

BLOCK = 2**13  # rows that are encoded at a time
MATRICES = 3  # of the size of the Newton matrix: itself, its factor, and a part that is added


@fields()
class LogisticStream:
    """What is known between two readings.

    Attributes
    ----------
    L : ndarray of shape (rank, rank)
        K between the centres is L Lᵀ.
    factors : ndarray of shape (classes,)
        What the weights of the rows of each class are multiplied by.
    progress : LogisticProgress
    """

    def __init__(self, L: np.ndarray, factors: np.ndarray, progress: LogisticProgress):
        self.L, self.factors, self.progress = L, factors, progress

    def solve(
        self,
        learner: Any,
        chunks: Chunks,
        solver: LogisticPasses,
        keep: Callable[[], None],
    ) -> Result:
        """The solution for the features of the centres."""

        def read() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
            for block, _ in chunks.blocks(BLOCK):
                raise_if_stopped()
                with told(f"the block from row {block.start:,} of the stream"):
                    X = encode_like_fitted(learner, learner.kernel_, block.X)
                    X = float_range(X, learner.X_fit_)
                    Y, w = self._targets(learner, X, block.y, block.weights)
                for rows, F in centre_features(learner, self.L, X):
                    yield F, Y[rows], w[rows]

        return solver.solve(read, self.progress, keep)

    def lift(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of the features as coefficients at the centres."""
        rank = len(self.L)
        empty = np.empty((0, rank), self.L.dtype)
        return LowRankGram(np.arange(rank), self.L, F=empty).lift(coef)

    def _targets(
        self, learner: Any, X: Any, y: Any, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Indicators of the classes, and weights, of a block."""
        y = column_or_1d(check_targets(X, y, type(learner).__name__, numeric=False))
        codes = np.searchsorted(learner.classes_, y)
        w, factors = check_weights(X, weights), self.factors[codes]
        k = len(learner.classes_)
        Y = (codes[:, None] == np.arange(k)).astype(np.float64)
        return Y[:, 1:] if k == 2 else Y, factors if w is None else factors * w


def begin_stream(learner: Any, chunks: Chunks) -> LogisticStream:
    """The first reading: the classes, and the centres, which the learner keeps."""
    if learner.solver not in ("auto", "low_rank"):
        raise ValueError(
            f'solver={learner.solver!r}: a fit in chunks is of low rank: give solver="low_rank".'
        )
    limits = LIMITS["logistic"]
    totals = ClassTotals(type(learner).__name__)
    drawn = draw_for_centres(learner, chunks, limits, totals)
    training = learner.make_training(drawn.X, drawn.y, drawn.weights, numeric=False)
    low = keep_centres(learner, training, drawn.rows, limits)
    learner.gram_ = f"low rank, {drawn.total:,} rows in chunks, rank {low.rank}"
    learner.classes_ = totals.classes()
    outputs = 1 if len(learner.classes_) == 2 else len(learner.classes_)
    needed = MATRICES * 8 * (outputs * (low.rank + 1)) ** 2
    if needed > learner.place.budget(needed):
        what = f"the Newton matrices of {outputs} outputs of rank {low.rank}"
        learner.place.refuse(needed, what, ", or a smaller rank=")
    progress = LogisticProgress(low.rank, outputs)
    return LogisticStream(low.L, totals.factors(learner.class_weight), progress)
