"""A Gram matrix that is never stored whole: tiles are computed, used and forgotten."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.operator import GramOperator, Rows
from mercer.gram.schedule import ordered_map

__all__ = ["TiledGram"]

STRIP = 1024  # columns at least of a block of rows that one thread computes at a time
WIDE = 2**20  # numbers at most in such a block of more columns
WORK = 1e9  # operations of a tile where pairs are costly: some tenths of a second


class TiledGram(GramOperator):
    """K streamed in cache-sized tiles; of a symmetric K the upper triangle alone is computed."""

    def __init__(self, kernel: Any, X: Any, Z: Any = None, n_jobs: int | None = None):
        self.kernel, self.X = kernel, X
        self.Z = X if Z is None else Z
        self.symmetric = (Z is None or Z is X) and kernel.symmetric
        self.shape = (self.X.shape[0], self.Z.shape[0])
        self.cost = kernel.pair_cost(self.X)  # of one pair
        self.dtype = np.result_type(self.X.dtype, self.Z.dtype)
        self.n_jobs = n_jobs

    def edge(self, most: int | None = None) -> int:
        most = super().edge(most)
        # Of at least 8 rows, since normalised kernels need k(x, x) too for every row of a tile, and
        # of an eighth of all where these are few, so that threads can share the work.
        enough = np.sqrt(WORK / max(self.cost, WORK / most**2))
        if enough < most:
            enough = min(enough, max(self.shape) / 8)
        return min(most, max(8, int(enough)))

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        if self.symmetric and isinstance(i, slice) and isinstance(j, slice) and i == j:
            X = self.X[i]
            return self.kernel.block(X, X)  # the same samples: distances of 0 are exact
        return self.kernel.block(self.X[i], self.Z[j])

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> TiledGram:
        if j is None and self.Z is self.X:
            return TiledGram(self.kernel, self.X[i], n_jobs=self.n_jobs)
        return TiledGram(self.kernel, self.X[i], self.Z[i if j is None else j], self.n_jobs)

    def diag(self) -> np.ndarray:
        if self.Z is self.X:
            return self.kernel.diag(self.X)
        n = min(self.shape)
        return np.concatenate(
            [self.block(slice(s, s + 64), slice(s, s + 64)).diagonal() for s in range(0, n, 64)]
        )

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        """K[i], the columns shared among the threads."""
        X, m = self.X[i], self.shape[1]
        values = np.empty((X.shape[0], m), self.dtype) if out is None else out
        # wide strips, since threads that return to Python often wait for each other; the same
        # for any number of threads, so that the result is
        step = max(STRIP, min(WIDE // max(X.shape[0], 1), -(-m // 4)))
        costly = self.cost * X.shape[0]
        if costly * step > WORK:
            step = max(1, int(WORK / costly))

        def strip(s: int) -> None:
            values[:, s : s + step] = self.kernel.block(X, self.Z[s : s + step])

        for _ in ordered_map(strip, range(0, m, step), self.n_jobs):
            pass
        return values

    def __matmul__(self, V: Any) -> np.ndarray:
        n, m = self.shape
        V = np.asarray(V)
        if hasattr(self.kernel, "product"):  # looked up, in a search
            return self.kernel.product(self.X, self.Z, V)
        columns = V.reshape(m, -1)
        out = np.zeros((n, columns.shape[1]), dtype=np.float64)
        step = self.edge()

        def strip(s: int) -> np.ndarray:
            """Rows s.. of the product, from the tiles of one block row (and their mirrors)."""
            i = slice(s, min(s + step, n))
            part = np.zeros((n - s if self.symmetric else i.stop - s, columns.shape[1]))
            for t in range(s if self.symmetric else 0, m, step):
                j = slice(t, min(t + step, m))
                tile = self.block(i, j)
                part[: i.stop - s] += tile @ columns[j]
                if self.symmetric and t > s:
                    part[t - s : j.stop - s] += tile.T @ columns[i]
            return part

        starts = range(0, n, step)
        for s, part in zip(starts, ordered_map(strip, starts, self.n_jobs)):
            out[s : s + len(part)] += part
        return out.reshape(V.shape[:0] + (n, *V.shape[1:])).astype(np.result_type(self.dtype, V))
