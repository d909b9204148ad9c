"""Which pairs of columns need a function of both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.linalg import eigh

from mercer import _native
from mercer.kernels.additive import CoarseColumn, pair_functions
from mercer.threads import ordered_map

SCORED = 32  # levels of a column on the grid of a score
SCORED_FUNCTIONS = 60
PENALTY = 0.002  # of a score, in parts of the rows and of the noise
WORK = 4e8  # rows times pairs that are looked at for a choice
SURE = 3.0  # standard deviations of the score of a useless pair


def score_pairs(
    codes: np.ndarray,
    coarse: Sequence[CoarseColumn],
    residuals: np.ndarray,
    weights: np.ndarray,
    noise: np.ndarray,
    n_jobs: int | None = None,
) -> dict[tuple[int, int], float]:
    r"""How sure it is that each pair of columns explains something that their sum does not.

    With u = Φᵀr, G = ΦᵀWΦ for the functions of a pair and the residuals r, the score is

    .. math:: u^\top (G + l)^{-1} u / σ^2 - \operatorname{tr} (G + l)^{-1} G,

    what a fit of r gains less what it would gain from noise: an estimate of the gain on new rows.
    It is divided by its standard deviation for noise, so that pairs with more functions have no
    advantage.

    Parameters
    ----------
    codes : ndarray of shape (columns, n), uint8
    coarse : sequence of CoarseColumn
    residuals, weights : ndarray of shape (outputs, n)
        Residuals times the weights of their rows; the weights of squares.
    noise : ndarray of shape (outputs,)
        Variance of the residuals for weight 1.
    """
    d, n = codes.shape
    pairs = list(combinations(range(d), 2))
    step = max(1, int(len(pairs) * n // WORK))
    groups = [np.ascontiguousarray(c.group[row[::step]]) for c, row in zip(coarse, codes)]
    residuals = np.ascontiguousarray(residuals[:, ::step])
    weights = np.ascontiguousarray(weights[:, ::step])

    def score(pair: tuple[int, int]) -> float:
        j, k = pair
        made = pair_functions(pair, coarse[j], coarse[k], SCORED_FUNCTIONS)
        total = 0.0
        for r, w, variance in zip(residuals, weights, noise):
            sums, counts = np.zeros(made.shape), np.zeros(made.shape)
            _native.add_pair_table(groups[j], groups[k], r, sums)
            _native.add_pair_table(groups[j], groups[k], w, counts)
            total += _score(made.centred(counts.ravel()).functions, counts, sums, variance)
        return total / np.sqrt(len(noise))

    return dict(zip(pairs, ordered_map(score, pairs, n_jobs)))


def _score(Phi: np.ndarray, counts: np.ndarray, sums: np.ndarray, noise: float) -> float:
    G = Phi.T @ (counts.reshape(-1, 1) * Phi)
    if not noise > 0 or not G.size:
        return 0.0
    values, Q = eigh(G)
    values = values.clip(0)
    u = Q.T @ (Phi.T @ sums.ravel())
    shrunk = values + PENALTY * counts.sum()
    kept = values / shrunk
    gain = float((u**2 / shrunk).sum()) / noise - float(kept.sum())
    return gain / max(np.sqrt(2 * float((kept**2).sum())), np.finfo(float).tiny)


def choose_pairs(scores: dict[tuple[int, int], float], most: int) -> list[tuple[int, int]]:
    """The pairs with the largest scores, of those that noise would not reach.

    Examples
    --------
    >>> choose_pairs({(0, 1): 40.0, (0, 2): 1.0, (1, 2): 90.0}, 5)
    [(1, 2), (0, 1)]
    """
    sure = [pair for pair, score in scores.items() if score > SURE]
    return sorted(sure, key=lambda pair: (-scores[pair], pair))[:most]
