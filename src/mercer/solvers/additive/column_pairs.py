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
WORK = 4e8  # rows times pairs that are looked at for a choice
FALSE = 0.05  # the share of chosen pairs that may be useless


def score_pairs(
    codes: np.ndarray,
    coarse: Sequence[CoarseColumn],
    pairs: Sequence[tuple[int, int]],
    residuals: np.ndarray,
    weights: np.ndarray,
    noise: np.ndarray,
    n_jobs: int | None = None,
) -> dict[tuple[int, int], float]:
    r"""How sure it is that each pair of columns explains something that their sum does not.

    With u = Φᵀr, G = ΦᵀWΦ for the functions of a pair and the residuals r, the score is

    .. math:: u^\top (G + l)^{-1} u / σ^2 - \operatorname{tr} (G + l)^{-1} G,

    what a fit of r gains less what it would gain from noise: an estimate of the gain on new rows.
    It is given in standard deviations that noise would give, by Wilson and Hilferty's normal
    approximation, so that pairs with more functions have no advantage.

    Parameters
    ----------
    codes : ndarray of shape (columns, n), uint8
    coarse : sequence of CoarseColumn
    pairs : sequence of tuple
        The columns of each pair.
    residuals, weights : ndarray of shape (outputs, n)
        Residuals times the weights of their rows; the weights of squares.
    noise : ndarray of shape (outputs,)
        Variance of the residuals for weight 1.
    """
    n = codes.shape[1]
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
    # by noise alone Q is a sum of kept_i χ²: nearly a multiple of χ² with ν degrees of freedom,
    # whose cube root is nearly normal (Wilson and Hilferty, PNAS 17, 1931)
    Q = float((u**2 / shrunk).sum()) / noise
    size = float(kept.sum())
    freedom = size**2 / max(float((kept**2).sum()), np.finfo(float).tiny)
    if not freedom:
        return 0.0
    spread = 2 / (9 * freedom)
    return (np.cbrt(Q / size) - (1 - spread)) / np.sqrt(spread)


def choose_pairs(scores: dict[tuple[int, int], float], most: int) -> list[tuple[int, int]]:
    """The pairs with the largest scores, of those that noise would hardly reach.

    At most a twentieth of them is expected to be useless, by the rule of Benjamini and Hochberg
    ("Controlling the false discovery rate", Journal of the Royal Statistical Society B 57, 1995).

    Examples
    --------
    >>> choose_pairs({(0, 1): 40.0, (0, 2): 1.0, (1, 2): 90.0}, 5)
    [(1, 2), (0, 1)]
    """
    order = sorted(scores, key=lambda pair: (-scores[pair], pair))
    chance = norm.sf([scores[pair] for pair in order])
    allowed = FALSE * np.arange(1, len(order) + 1) / max(len(order), 1)
    sure = np.flatnonzero(chance <= allowed)
    return order[: min(most, sure[-1] + 1 if len(sure) else 0)]
