"""When a sketch solves a low-rank fit instead of its normal equations, and on which centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram import GramOperator, LowRankGram, Place, pivots_of_some

CENTRES, ROWS = 1000, 10  # centres, and rows for each of them, from which a sketch is faster
OUTPUTS = 8  # up to which it is
PIVOTED = 5  # random rows for each centre, of which it is one
SQUARES = 40  # bytes for each pair of centres: L, the sketch, its products and their factor


def sketch_pays(rank: int, y: np.ndarray, penalty: Any) -> bool:
    """Whether a fit of one penalty to all rows is faster by a sketch than by normal equations."""
    n = len(y)
    one = np.size(np.unique(penalty)) == 1
    return one and rank >= CENTRES and n >= ROWS * rank and y.size <= OUTPUTS * n


def sketch_bytes(rank: int, n: int, size: int) -> int:
    """What K between all rows and the centres, and the sketch, take of the memory."""
    return 2 * n * rank * size + SQUARES * rank**2


def centres_of_some(
    K: GramOperator, rank: int, random_state: Any, place: Place
) -> LowRankGram:  # fmt: skip
    """The pivots of some rows, with which K is approximated; refused if memory is short."""
    n = K.shape[0]
    needed = sketch_bytes(rank, n, np.dtype(K.dtype).itemsize)
    if not place.holds(needed):
        place.refuse(needed, f"a sketch of {rank:,} centres", ", or a smaller rank=")
    return pivots_of_some(K, rank, min(n, PIVOTED * rank), random_state)
