"""A source for K = F Fᵀ, which needs no rows of K: products with F do."""

from __future__ import annotations

import numpy as np

from mercer.gram import FactoredGram
from mercer.solvers.rows.row_sources import RowSource


class FactorRows(RowSource):
    """K = F Fᵀ: the primal weights w = Fᵀ β are kept, and K β is one product with F.

    The blocks of working sets are computed, of at most ``cache_bytes``.
    """

    adds = False

    def __init__(self, K: FactoredGram, cache_bytes: int = 2**25):
        self.K = K
        fitting = np.sqrt(cache_bytes / np.dtype(K.dtype).itemsize)
        self.least_set = int(np.clip(fitting, 512, 2048))
        self.begin()

    def begin(self) -> None:
        self.w = np.zeros(self.K.rank)

    def block(self, rows: np.ndarray, place: np.ndarray) -> np.ndarray:
        chosen = rows[place]
        return np.ascontiguousarray(self.K.block(chosen, chosen))

    def add(self, rows, change, g, again=None) -> None:
        w = self.w + self.K.combine(rows, change)
        g[:] = self.K.project(w)  # computed new each time, so that rounding errors do not add up
        self.w = w
