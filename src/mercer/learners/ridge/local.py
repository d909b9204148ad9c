"""The local machine of ridge learners: exact inside leaves, of low rank between them.

For a new sample x in leaf b it is, with the features φ of the centres and the coefficients a,

    f(x) = φ(x)ᵀ Fᵀ a + Σ_{i in b} (k(x, x_i) - φ(x)ᵀ φ(x_i)) a_i
         = Σ_{i in b} a_i k(x, x_i) + Σ_z c_bz k(x, z),

a sum over the rows of the leaf and the centres z. Here is K̂, and c.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram import LocalGram, LowRankGram, Place, grow_leaves
from mercer.learners.base import LEAF_ROWS

SQUARES = 4  # matrices of the size of a leaf, for each thread
FEWEST = 2  # rows of a leaf


def local_gram(low: LowRankGram, leaf_rows: int | None, random_state: Any) -> LocalGram:
    """K̂, whose leaves have at most ``leaf_rows``; None means 2000, or fewer if memory is short."""
    size = np.dtype(low.dtype).itemsize
    most = affordable_leaf(low.place, size)
    if leaf_rows is None:
        leaf_rows = min(most, LEAF_ROWS)
    leaf = min(leaf_rows, low.shape[0])
    if leaf > most:
        what = f"leaves of {leaf_rows:,} rows"
        low.place.refuse(2 * SQUARES * size * leaf**2, what, ", or a smaller leaf_rows=")
    return LocalGram(low, grow_leaves(low, leaf_rows, random_state))


def affordable_leaf(place: Place, size: int) -> int:
    """Most rows of a leaf that half of the memory has room for, of entries of ``size`` bytes."""
    return max(FEWEST, int(np.sqrt(place.budget() / 2 / (SQUARES * size))))


def leaf_jobs(K: LocalGram) -> int:
    """Threads that work on leaves at the same time: as many as memory allows."""
    each = SQUARES * np.dtype(K.dtype).itemsize * K.leaves.largest**2
    return int(np.clip(K.place.budget() / 2 / each, 1, K.place.jobs))


def leaf_coefficients(K: LocalGram, coef: np.ndarray) -> np.ndarray:
    """c of each leaf, (leaves, centres, ...): that of Fᵀ a less what its own rows add to it."""
    parts = [K.low.factor(rows).T @ coef[rows].astype(K.dtype) for rows in K.leaves.parts()]
    own = np.stack(parts).astype(np.float64)
    if len(own) == 1:
        return np.zeros_like(own)  # rounding would be left
    return np.stack([K.low.lift(rest) for rest in own.sum(axis=0) - own])
