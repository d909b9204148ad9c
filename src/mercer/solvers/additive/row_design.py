"""What a sum of functions of columns and of pairs reads of the rows, and which pairs need one.

`CountTables` holds counts of rows by the levels of one column and of two, and sums of the targets
by level. Each number is a sum in the order of the rows, so the tables are the same to the last bit
in any chunks and with any number of threads. Counts are whole numbers, exact up to 2^53, and so are
sums of whole weights. `RowDesign` has the functions at rows: products with Φ and Φᵀ by reads and
sums of codes. `choose_pairs` asks which pairs of columns need a function of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.stats import norm

from mercer import _native
from mercer.kernels.additive import CoarseColumn, PairFunctions, pair_functions
from mercer.persistence import fields
from mercer.threads import ordered_map

ROWS = 2**18  # rows at a time: their codes stay in the cache


@fields()
class CountTables:
    """Tables of rows that are given by the codes of their levels; ``a + b`` are those of both.

    Parameters
    ----------
    levels : sequence of int
        Number of levels of each column, at most 256.
    outputs : int
        Targets of each row.

    Attributes
    ----------
    counts : list of ndarray of shape (levels,)
        Weight of the rows of each level.
    sums, squares : list of ndarray of shape (outputs, levels)
        Weighted sums of the targets by level, and of their squares by level of column 0.
    pairs : dict
        The table (levels of j, levels of k) of each pair j < k.

    Examples
    --------
    >>> tables = CountTables([2, 2], 1)
    >>> codes = np.array([[0, 0, 1], [0, 1, 1]], np.uint8)
    >>> tables.add(codes, np.array([[1.0, 2.0, 3.0]]))
    >>> tables.counts[0], tables.sums[0], tables.pairs[0, 1]
    (array([2., 1.]), array([[3., 3.]]), array([[1., 1.],
           [0., 1.]]))
    """

    counts: list[np.ndarray]
    sums: list[np.ndarray]
    squares: np.ndarray
    packed: list[np.ndarray]  # the pairs, as files have them

    def __init__(self, levels: Sequence[int], outputs: int):
        self.levels = list(levels)
        d = len(self.levels)
        self.counts = [np.zeros(size) for size in levels]
        self.sums = [np.zeros((outputs, size)) for size in levels]
        self.squares = np.zeros((outputs, self.levels[0]))
        self.pairs = {
            (j, k): np.zeros((levels[j], levels[k])) for j in range(d) for k in range(j + 1, d)
        }

    @property
    def rows(self) -> float:
        """The weight of all rows."""
        return float(self.counts[0].sum())

    def add(
        self,
        codes: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        """Add rows: codes (columns, n), uint8; targets (outputs, n); weights (n,) or None for 1."""
        n = codes.shape[1]
        for start in range(0, n, ROWS):
            rows = slice(start, min(start + ROWS, n))
            self._add_block(
                np.ascontiguousarray(codes[:, rows]),
                np.ascontiguousarray(targets[:, rows]),
                None if weights is None else np.ascontiguousarray(weights[rows]),
                n_jobs,
            )

    def _add_block(self, codes, targets, weights, n_jobs) -> None:
        """Add the sums of some rows to the tables."""
        w = np.ones(codes.shape[1]) if weights is None else weights
        weighted = targets if weights is None else targets * w

        def column(j: int) -> None:
            _native.add_bin_sums(codes[j], w, self.counts[j])
            for values, sums in zip(weighted, self.sums[j]):
                _native.add_bin_sums(codes[j], values, sums)
            if j == 0:
                for values, squares in zip(weighted * targets, self.squares):
                    _native.add_bin_sums(codes[0], values, squares)
            for k in range(j + 1, len(codes)):
                _native.add_pair_table(codes[j], codes[k], weights, self.pairs[j, k])

        for _ in ordered_map(column, range(len(codes)), n_jobs):
            pass

    def __add__(self, other: CountTables) -> CountTables:
        """The tables of the rows of both, which have the same levels and targets."""
        both = CountTables.__new__(CountTables)
        both.levels = self.levels
        both.counts = [a + b for a, b in zip(self.counts, other.counts)]
        both.sums = [a + b for a, b in zip(self.sums, other.sums)]
        both.squares = self.squares + other.squares
        both.pairs = {pair: table + other.pairs[pair] for pair, table in self.pairs.items()}
        return both

    def __getstate__(self) -> dict[str, Any]:
        """The state has the tables as a list, since files have no pairs of numbers as keys; whole
        numbers are in as few bytes as hold them, since tables travel between processes."""
        state = {name: value for name, value in vars(self).items() if name != "pairs"}
        return state | {"packed": [packed(table) for table in self.pairs.values()]}

    @cached_property
    def pairs(self) -> dict[tuple[int, int], np.ndarray]:
        """The tables of pairs, from those in a file."""
        places = combinations(range(len(self.levels)), 2)
        tables = [table.astype(np.float64) for table in self.packed]
        del self.packed
        return dict(zip(places, tables, strict=True))

    def gram(self, functions: Sequence[np.ndarray]) -> np.ndarray:
        """G = Φᵀ Φ over all rows, from the functions (levels, r) of each column."""
        parts = column_parts(functions)
        G = np.empty((parts[-1].stop, parts[-1].stop))
        for j, (here, Phi) in enumerate(zip(parts, functions)):
            G[here, here] = Phi.T @ (self.counts[j][:, None] * Phi)
            for k in range(j + 1, len(parts)):
                block = Phi.T @ (self.pairs[j, k] @ functions[k])
                G[here, parts[k]], G[parts[k], here] = block, block.T
        return G

    def projected(self, functions: Sequence[np.ndarray]) -> np.ndarray:
        """b = Φᵀ y over all rows, (functions, outputs)."""
        return np.vstack([Phi.T @ sums.T for Phi, sums in zip(functions, self.sums)])


def packed(table: np.ndarray) -> np.ndarray:
    """The same numbers as bytes or other short whole numbers if they are such, and else themselves.

    Examples
    --------
    >>> packed(np.array([3.0, 255.0])).dtype, packed(np.array([3.0, 0.5])).dtype
    (dtype('uint8'), dtype('float64'))
    """
    largest = table.max(initial=0)
    for kind in (np.uint8, np.uint16, np.uint32):
        if largest <= np.iinfo(kind).max:
            short = table.astype(kind)
            return short if np.array_equal(short, table) else table
    return table


def column_parts(functions: Sequence[np.ndarray]) -> list[slice]:
    """Which functions, of all side by side, belong to each column.

    Examples
    --------
    >>> column_parts([np.zeros((4, 2)), np.zeros((3, 1))])
    [slice(0, 2, None), slice(2, 3, None)]
    """
    ends = np.cumsum([0, *(Phi.shape[1] for Phi in functions)]).tolist()
    return [slice(*each) for each in pairwise(ends)]


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
        """Φᵀ W Φ of all functions, by strips of rows."""
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


SCORED = 32  # levels of a column on the grid of a score
SCORED_FUNCTIONS = 60
PENALTY = 0.002  # of a score, in parts of the rows and of the noise
MANY, LEADING = 2000, 3  # more pairs are first compared by so many functions of each column
WORK = 4e8  # rows times pairs that are looked at for a choice
CHANCE = 0.05  # of choosing any useless pair


def score_pairs(
    codes: np.ndarray,
    coarse: Sequence[CoarseColumn],
    pairs: Sequence[tuple[int, int]],
    residuals: np.ndarray,
    weights: np.ndarray,
    squares: np.ndarray,
    n_jobs: int | None = None,
) -> dict[tuple[int, int], float]:
    r"""How sure it is that each pair of columns explains something that their sum does not.

    With u = Φᵀr, G = ΦᵀWΦ for the functions of a pair and the residuals r, a fit of r gains

    .. math:: Q = u^\top (G + l)^{-1} u.

    The score says how many standard deviations Q is above what noise would gain. This noise may
    have another size in each cell of the grid: residuals of a function of other columns do.

    Parameters
    ----------
    codes : ndarray of shape (columns, n), uint8
    coarse : sequence of CoarseColumn
    pairs : sequence of tuple
        The columns of each pair. Of more than 2,000, those are scored of which products of few
        functions say most.
    residuals, weights, squares : ndarray of shape (outputs, n)
        w r, the weights W, and w r², for rows of weight w.
    """
    n = codes.shape[1]
    step = max(1, int(min(len(pairs), MANY) * n // WORK))
    groups = [np.ascontiguousarray(c.group[row[::step]]) for c, row in zip(coarse, codes)]
    rows = [np.ascontiguousarray(part[:, ::step]) for part in (residuals, weights, squares)]
    if len(pairs) > MANY:
        pairs = _promising(groups, coarse, pairs, rows[0], rows[2])

    def score(pair: tuple[int, int]) -> float:
        j, k = pair
        made = pair_functions(pair, coarse[j], coarse[k], SCORED_FUNCTIONS)
        total = 0.0
        for output in zip(*rows):
            tables = np.zeros((3, *made.shape))
            for values, table in zip(output, tables):
                _native.add_pair_table(groups[j], groups[k], values, table)
            sums, counts, noise = tables.reshape(3, -1)
            total += _score(made.centred(counts).functions, sums, counts, noise)
        return total / np.sqrt(len(residuals))

    return dict(zip(pairs, ordered_map(score, pairs, n_jobs)))


def _score(Phi: np.ndarray, sums: np.ndarray, counts: np.ndarray, noise: np.ndarray) -> float:
    """How far the gain of a function of a pair is beyond what noise gives."""
    G = Phi.T @ (counts[:, None] * Phi)
    if not G.size:
        return 0.0
    values, Q = eigh(G)
    roots = np.sqrt(values.clip(0) + PENALTY * counts.sum())
    scaled = Phi @ (Q / roots)
    gain = float(((sums @ scaled) ** 2).sum())
    # By noise alone the gain is a sum of λ χ², with λ the eigenvalues of M: nearly a multiple of
    # χ², whose cube root is nearly normal (Wilson and Hilferty, PNAS 17, 1931).
    M = scaled.T @ (noise[:, None] * scaled)
    size = float(np.trace(M))
    if not size > 0:
        return 0.0
    spread = 2 / 9 * float((M**2).sum()) / size**2
    return float((np.cbrt(gain / size) - (1 - spread)) / np.sqrt(spread))


def _promising(
    groups: Sequence[np.ndarray],
    coarse: Sequence[CoarseColumn],
    pairs: Sequence[tuple[int, int]],
    residuals: np.ndarray,
    squares: np.ndarray,
) -> list[tuple[int, int]]:
    """The pairs with the largest Σ u² / v over products of the first functions of both columns."""
    d = len(coarse)
    F = np.zeros((groups[0].size, d, LEADING))
    for j, (group, column) in enumerate(zip(groups, coarse)):
        first = column.functions[:, :LEADING]
        F[:, j, : first.shape[1]] = first[group]
    F = F.reshape(len(F), -1)
    found = np.zeros((d, d))
    for r, square in zip(residuals, squares):
        u, v = F.T @ (r[:, None] * F), (F**2).T @ (square[:, None] * F**2)
        parts = np.divide(u**2, v, out=np.zeros_like(u), where=v > 0)
        found += parts.reshape(d, LEADING, d, LEADING).sum(axis=(1, 3))
    J, K = np.array(pairs).T
    best = np.argsort(-found[J, K], kind="stable")[:MANY]
    return [pairs[i] for i in np.sort(best)]


def choose_pairs(
    scores: dict[tuple[int, int], float], most: int, among: int
) -> list[tuple[int, int]]:
    """The pairs with the largest scores: those that the best of ``among`` useless pairs would reach
    once in twenty times, or less.

    Examples
    --------
    >>> choose_pairs({(0, 1): 40.0, (0, 2): 1.0, (1, 2): 90.0}, 5, among=3)
    [(1, 2), (0, 1)]
    """
    least = norm.isf(CHANCE / max(among, 1))
    sure = [pair for pair, score in scores.items() if score > least]
    return sorted(sure, key=lambda pair: (-scores[pair], pair))[:most]
