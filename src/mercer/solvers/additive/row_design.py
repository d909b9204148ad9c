"""Functions of columns and of pairs at rows: products with Φ and Φᵀ by reads and sums of codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer import _native
from mercer.kernels.additive import PairFunctions
from mercer.solvers.additive.count_tables import column_parts
from mercer.threads import ordered_map

STRIP = 4096  # dense rows at a time
READ = 2**16  # rows of a read at a time


class RowDesign:
    """Φ of n rows, which are codes; it is never dense but for strips of rows.

    Parameters
    ----------
    codes : ndarray of shape (columns, n), uint8
    functions : sequence of ndarray of shape (levels, r)
        The functions of each column.
    pairs : sequence of PairFunctions
    n_jobs : int or None

    Attributes
    ----------
    parts : list of slice
        Which functions belong to each column, and then to each pair.
    """

    def __init__(
        self,
        codes: np.ndarray,
        functions: Sequence[np.ndarray],
        pairs: Sequence[PairFunctions] = (),
        n_jobs: int | None = None,
    ):
        self.codes, self.pairs, self.n_jobs = codes, list(pairs), n_jobs
        self.functions = [*functions, *(pair.functions for pair in pairs)]
        cells = list(ordered_map(lambda pair: pair.cells(codes), self.pairs, n_jobs))
        self._codes = [*codes, *cells]
        self.parts = column_parts(self.functions)
        self.width = self.parts[-1].stop

    @property
    def rows(self) -> int:
        return self.codes.shape[1]

    def with_pairs(self, more: Sequence[PairFunctions]) -> RowDesign:
        """The same rows, with more pairs."""
        columns = self.functions[: len(self.codes)]
        return RowDesign(self.codes, columns, [*self.pairs, *more], self.n_jobs)

    def some(self, most: int) -> RowDesign:
        """At most so many of the rows, at equal steps."""
        step = max(1, -(-self.rows // most))
        codes = np.ascontiguousarray(self.codes[:, ::step])
        return RowDesign(codes, self.functions[: len(codes)], self.pairs, self.n_jobs)

    def read(self, beta: np.ndarray) -> np.ndarray:
        """Φ β, (n,)."""
        tables = [Phi @ beta[part] for Phi, part in zip(self.functions, self.parts)]
        out = np.zeros(self.rows)

        def strip(start: int) -> None:
            rows = slice(start, start + READ)
            for codes, table in zip(self._codes, tables):
                _native.add_bin_reads(codes[rows], table, out[rows])

        for _ in ordered_map(strip, range(0, self.rows, READ), self.n_jobs):
            pass
        return out

    def sums(self, v: np.ndarray) -> np.ndarray:
        """Φᵀ v, (width,)."""
        v = np.ascontiguousarray(v)

        def part(i: int) -> np.ndarray:
            by_level = np.zeros(len(self.functions[i]))
            _native.add_bin_sums(self._codes[i], v, by_level)
            return self.functions[i].T @ by_level

        return np.concatenate(list(ordered_map(part, range(len(self.parts)), self.n_jobs)))

    def gram(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ΦᵀWΦ and ΦᵀW1: by tables of two columns, or by dense rows if there are pairs."""
        weights = np.ascontiguousarray(weights)
        if self.pairs:
            return self._dense_gram(weights), self.sums(weights)
        G = np.empty((self.width, self.width))

        def column(j: int) -> np.ndarray:
            here, Phi = self.parts[j], self.functions[j]
            counts = np.zeros(len(Phi))
            _native.add_bin_sums(self._codes[j], weights, counts)
            G[here, here] = Phi.T @ (counts[:, None] * Phi)
            for k in range(j + 1, len(self.parts)):
                table = np.zeros((len(Phi), len(self.functions[k])))
                _native.add_pair_table(self._codes[j], self._codes[k], weights, table)
                block = Phi.T @ (table @ self.functions[k])
                G[here, self.parts[k]], G[self.parts[k], here] = block, block.T
            return Phi.T @ counts

        means = list(ordered_map(column, range(len(self.parts)), self.n_jobs))
        return G, np.concatenate(means)

    def _dense_gram(self, weights: np.ndarray) -> np.ndarray:
        # of few rows in double precision, so that a weight is a repetition to the last digits
        kind = np.float32 if self.rows > STRIP else np.float64
        roots = np.sqrt(weights).astype(kind)
        tables = [Phi.astype(kind) for Phi in self.functions]

        def strip(start: int) -> np.ndarray:
            rows = slice(start, start + STRIP)
            F = np.hstack([table[codes[rows]] for table, codes in zip(tables, self._codes)])
            F *= roots[rows, None]
            return F.T @ F

        G = np.zeros((self.width, self.width))
        for part in ordered_map(strip, range(0, self.rows, STRIP), self.n_jobs):
            G += part
        return G
