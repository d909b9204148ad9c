"""Centres of learners of low rank whose rows come in chunks or in parts, and their features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from mercer.gram import LowRankGram, factor_rows
from mercer.learners.base.kernel_learner import KernelLearner, Training
from mercer.learners.base.limits import Limits
from mercer.streams import Chunk, Chunks, Drawn, draw_numbers, draw_rows
from mercer.threads import ordered_map, raise_if_stopped

FEWEST, DRAWN = 20_000, 10  # rows among which centres are chosen: so many, or so many for each
STRIP = 2**22  # numbers of K between rows and centres at a time


def rows_for_centres(learner: KernelLearner, limits: Limits) -> int:
    """Among how many rows centres are chosen, that the memory has room for."""
    rank = learner.rank or limits.rank
    most = factor_rows(rank, learner.place, 8)
    if most < rank and learner.rank is not None:
        what = f"more than {most} rows of a factor of rank {rank}, of which {rank} are needed"
        learner.place.refuse(2 * rank**2 * 8, what, ", or a smaller rank=")
    return max(1, min(max(FEWEST, DRAWN * rank), most))


def draw_for_centres(
    learner: KernelLearner,
    chunks: Chunks,
    limits: Limits,
    see: Callable[[Chunk], None] | None = None,
) -> Drawn:
    """Rows of all the stream, among which centres are chosen; ``see`` looks at each chunk."""
    name = type(learner).__name__
    chunks.refuse_once(f"{name}.fit_chunks draws centres from all rows, and then reads the rows")
    random = check_random_state(learner.random_state)
    return draw_rows(chunks, rows_for_centres(learner, limits), random, see)


def numbers_for_centres(learner: KernelLearner, rows: int, limits: Limits) -> np.ndarray:
    """The numbers of those rows, where it is known how many there are: as a stream draws them."""
    random = check_random_state(learner.random_state)
    return draw_numbers(rows, rows_for_centres(learner, limits), random)


def keep_centres(learner: Any, training: Training, rows: np.ndarray, limits: Limits) -> LowRankGram:
    """Choose centres among drawn rows, whose numbers are ``rows``, and keep them on the learner.

    Returns K between the drawn rows, of which L Lᵀ is K between the centres.
    """
    low = learner.make_low_rank_gram(training.X, limits.rank)
    learner.keep_support(training.X[low.centres])
    learner.centres_ = rows[training.rows[low.centres]]
    return low


def centre_features(
    learner: KernelLearner, L: np.ndarray | None, X: Any
) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows of the factor F = K L⁻ᵀ for K (n, m) between encoded samples X and the centres, or of K
    itself if L is None."""
    K = learner.gram_with_support(X)
    n, m = K.shape
    step = max(1, STRIP // m)

    def strip(s: int) -> tuple[slice, np.ndarray]:
        raise_if_stopped()
        rows = slice(s, min(s + step, n))
        C = K.block(rows, slice(None))
        if L is None:
            return rows, C
        return rows, solve_triangular(L, C.T, lower=True, check_finite=False).T

    yield from ordered_map(strip, range(0, n, step), K.n_jobs)
