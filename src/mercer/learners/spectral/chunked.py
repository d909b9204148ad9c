"""Principal components of a stream, in two readings: centres are drawn from all rows, and then the
features that the centres have of all rows become their covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from mercer.gram import LowRankGram, refuse_overflow
from mercer.learners.base import (
    LIMITS,
    centre_features,
    draw_for_centres,
    encode_like_fitted,
    keep_centres,
)
from mercer.learners.spectral.components import Components, components_of_features
from mercer.persistence import fields
from mercer.samples import float_range
from mercer.solvers import Eigenpairs
from mercer.streams import Chunks, Keeper, told
from mercer.threads import raise_if_stopped

BLOCK = 2**13  # rows that are encoded at a time


@fields()
class Scatter:
    """What is known of the rows that were read.

    Attributes
    ----------
    L : ndarray of shape (rank, rank)
        K between the centres is L Lᵀ.
    near : ndarray of shape (rank,)
        About the mean of the features F: sums are of F less it, so that few digits are lost.
    sums : ndarray of shape (rank,)
    squares : ndarray of shape (rank, rank)
    trace : float
        The sum of k(x, x).
    rows : int
    """

    sums: Any
    squares: Any
    trace: Any
    rows: Any

    def __init__(self, L: np.ndarray, near: np.ndarray):
        rank = len(L)
        self.L, self.near = L, near
        self.sums, self.squares = np.zeros(rank), np.zeros((rank, rank))
        self.trace, self.rows = 0.0, 0

    def add(self, F: np.ndarray, diagonal: np.ndarray) -> None:
        """Add rows, with their features (n, rank) and k(x, x)."""
        C = F - self.near.astype(F.dtype)
        self.sums += C.sum(axis=0, dtype=np.float64)
        self.squares += C.T @ C
        self.trace += float(diagonal.sum(dtype=np.float64))
        self.rows += len(F)

    def components(self, count: int) -> Components:
        """The components of all rows."""
        rest = self.sums / self.rows
        A = self.squares - np.outer(self.sums, rest)
        refuse_overflow(A)
        values, Q = scipy.linalg.eigh(A, overwrite_a=True, check_finite=False)
        pairs = Eigenpairs(Q[:, ::-1], values=values[::-1], solver="LAPACK")
        low = LowRankGram(np.arange(len(self.L)), self.L, F=self.L)
        return components_of_features(low, pairs, self.near + rest, self.rows, count)


def begin_scatter(learner: Any, chunks: Chunks) -> Scatter:
    """The first reading: the centres, which the learner keeps."""
    limits = LIMITS["components"]
    drawn = draw_for_centres(learner, chunks, limits)
    if drawn.weights is not None:
        raise ValueError("weights are given, and KernelPCA has none: leave them out of the stream.")
    training = learner.make_training(drawn.X, targets=False)
    low = keep_centres(learner, training, drawn.rows, limits)
    learner.solver_ = "low_rank"
    learner.gram_ = f"low rank, {drawn.total:,} rows in chunks, rank {low.rank}"
    total = np.zeros(low.rank)
    for _, F in low.strips():
        total += F.sum(axis=0, dtype=np.float64)
    return Scatter(low.L, total / low.shape[0])


def add_scatter(learner: Any, keeper: Keeper, scatter: Scatter) -> None:
    """Read the stream, or the rest of it, into the sums."""
    for block in keeper.blocks(BLOCK, scatter):
        raise_if_stopped()
        with told(f"the block from row {block.start:,} of the stream"):
            X = encode_like_fitted(learner, learner.kernel_, block.X)
            X = float_range(X, learner.X_fit_)
        diagonal = learner.kernel_.diag(X)
        for rows, F in centre_features(learner, scatter.L, X):
            scatter.add(F, diagonal[rows])
