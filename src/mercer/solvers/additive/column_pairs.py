"""Which pairs of columns need a function of both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import eigh
from scipy.stats import norm

from mercer import _native
from mercer.kernels.additive import CoarseColumn, pair_functions
from mercer.threads import ordered_map

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
