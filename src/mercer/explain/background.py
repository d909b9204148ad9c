"""The background that explanations compare with: a few rows that stand for all training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.explain.exact import Background, Separated, product_of
from mercer.kernels import NotSeparable
from mercer.learners.base import KernelSum
from mercer.samples import Categories, EncodedColumns, Samples

ROWS = 100  # that stand for all
CHOSEN_AMONG = 2000  # rows, of more a random part
PAIRS = 4e7  # of rows and players that are compared at a fit, about .3 s
MATRIX = 4 * 8  # bytes of all matrices for each pair of the rows that are chosen among
GROUPS, LEAST = 5, 10  # parts of a background whose differences tell its error, and rows for them


def herded(f: Separated, X: Samples, count: int) -> np.ndarray:
    r"""The numbers of ``count`` rows of X whose means are nearest to those of all rows.

    Of each set of players at once: with the kernel :math:`\prod_p (1 + k_p) / 2` of the term with
    most players, whose mean embedding bounds the error of all 2^d marginal means. The next row is
    the one that brings the mean of those that are chosen nearest to the mean of all (Chen, Welling
    & Smola, "Super-samples from kernel herding", UAI 2010). O(n² d) operations.
    """
    n = X.shape[0]
    if n <= count:
        return np.arange(n)
    term = max(f.terms, key=lambda term: len(term.factors))
    K = np.ones((n, n), np.float32)
    for kernels in term.factors.values():
        k = product_of(kernels, X, X).astype(np.float32, copy=False)
        size = np.sqrt(np.abs(np.diagonal(k)))
        size[size == 0] = 1
        K *= (1 + k / size[:, None] / size) / 2
    mean, chosen, total = K.mean(axis=1, dtype=np.float64), [], np.zeros(n)
    for taken in range(count):
        score = mean - total / (taken + 1)
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        total += K[chosen[-1]]
    return np.array(chosen)


def kept_rows(
    summands: Sequence[Any], owner: Mapping[int, int], M: EncodedColumns, seed: int, memory: int
) -> EncodedColumns:
    """Up to 100 rows of an encoded table that stand for all, for a model to keep.

    Of a table of objects, whose kernels may take long, they are drawn at random. The matrices that
    choose take at most an eighth of ``memory``, in bytes.
    """
    order = np.random.default_rng(seed).permutation(len(M))
    quick = all(isinstance(column, Categories) for column in M.objects.values())
    if len(M) <= ROWS or not quick:
        return M[np.sort(order[:ROWS])]
    players = max(owner.values()) + 1
    most = int(min(CHOSEN_AMONG, np.sqrt(PAIRS / players), np.sqrt(memory / (8 * MATRIX))))
    some = M[np.sort(order[:most])]
    for summand in summands:
        if isinstance(summand, KernelSum):
            try:
                return some[herded(Separated.of(summand, owner), summand.encode(some), ROWS)]
            except NotSeparable:
                continue
    return M[np.sort(order[:ROWS])]


def grouped(rows: Any, count: int) -> Background:
    """Chosen rows in groups, in which every fifth of them is, so that each stands for all."""
    groups = GROUPS if count >= LEAST else 1
    return Background(rows, [np.arange(g, count, groups) for g in range(groups)])


def combined(values: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of values against each group (groups, ...), and its standard error."""
    mean = np.tensordot(shares, values, 1)
    if len(shares) == 1:
        return mean, np.full_like(mean, np.nan)
    spread = ((values - mean) ** 2).sum(axis=0) / (len(shares) * (len(shares) - 1))
    return mean, np.sqrt(spread)
