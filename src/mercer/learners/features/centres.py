"""Which rows of a sample become the centres of a low-rank approximation: four ways to draw them.

All of them look at some random rows, ten for each centre: more rows would hardly change the centres
(Epperly, Tropp & Webber 2024), and the work no longer grows with n.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from mercer.gram import GramOperator, pivoted_cholesky
from mercer.solvers.clusters import careful_seeds

#: chooses rows of K, at most so many
Choice = Callable[[GramOperator, int, np.random.RandomState], np.ndarray]

LOOKED_AT = 10  # rows for each centre


def uniform(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """Rows that are all as likely."""
    return random.permutation(K.shape[0])[:count]


def spread(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """The first centres of k-means, each far from those before (k-means++)."""
    diag = np.asarray(K.diag(), np.float64)

    def products(rows: np.ndarray) -> np.ndarray:
        return np.asarray(K.rows(rows), np.float64)

    return careful_seeds(diag, products, np.ones(len(diag)), count, random)[0]


def pivoted(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """Rows in proportion to what those before do not explain of them."""
    return pivoted_cholesky(K, count, random_state=random).centres


def by_leverage(K: GramOperator, count: int, random: np.random.RandomState) -> np.ndarray:
    """Rows in proportion to their leverage in ridge regression, with a penalty that suits.

    Musco & Musco, "Recursive sampling for the Nyström method", NIPS 2017, definition 1 and eq. 4:
    λ is the part of the trace beyond the first c directions, by c; here c is half of the centres,
    and a factor from pivots stands for K.
    """
    low = pivoted_cholesky(K, count, random_state=random)
    mu, Q = scipy.linalg.eigh(low.gathered(), check_finite=False)
    first = max(1, count // 2)
    rest = np.maximum(K.diag() - low.diag(), 0).astype(np.float64)
    penalty = (max(float(mu[:-first].sum()), 0.0) + float(rest.sum())) / first
    penalty = max(penalty, float(np.finfo(low.dtype).eps) * float(mu[-1]), np.finfo(float).tiny)
    scale = Q / np.sqrt(np.maximum(mu, 0) + penalty)
    explained = np.concatenate([np.square(F @ scale).sum(axis=1) for _, F in low.strips()])
    leverage = np.minimum(explained + rest / penalty, 1)
    count = min(count, int((leverage > 0).sum()))
    if not count:  # K = 0
        return np.zeros(1, np.intp)
    return random.choice(len(leverage), count, replace=False, p=leverage / leverage.sum())


CHOICES: dict[str, Choice] = {
    "pivoted": pivoted, "uniform": uniform, "k-means++": spread, "leverage": by_leverage,
}  # fmt: skip
