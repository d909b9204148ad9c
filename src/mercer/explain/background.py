"""The background that explanations compare with: a few weighted rows that stand for all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from mercer.explain.exact import Separated, product_of, separated_summands
from mercer.samples import Categories, EncodedColumns, Samples
from mercer.streams import take_rows

ROWS = 100  # that stand for all
CHOSEN_AMONG = 2000  # rows, of more a random part
PAIRS = 4e7  # of rows and players that are compared at a fit, about .3 s
MATRIX = 4 * 8  # bytes of all matrices for each pair of the rows that are chosen among
GROUPS, LEAST = 5, 10  # parts of a background whose differences tell its error, and rows for them
TINY = 1e-6  # added to the diagonal, and least share of a row that is kept


class Background(NamedTuple):
    """Rows that stand for all rows.

    Attributes
    ----------
    rows : encoded rows, or rows as a model reads them
    weights : ndarray of shape (rows,)
        Their shares in means over the background.
    nearer : float
        By how much the background is nearer to all rows than a fifth of it: the root mean square
        of what the values beside each fifth differ by, times this, is the standard error.
    """

    rows: Any
    weights: np.ndarray
    nearer: float

    @classmethod
    def drawn(cls, rows: Any, count: int) -> Background:
        """Rows of equal weights, as if they had been drawn at random."""
        return cls(rows, np.full(count, 1 / count), 1 / np.sqrt(GROUPS - 1))

    @property
    def groups(self) -> list[np.ndarray]:
        """Parts of the rows, in which every fifth row is, so that each stands for all."""
        count = len(self.weights)
        groups = GROUPS if count >= LEAST else 1
        return [np.arange(g, count, groups) for g in range(groups)]

    @property
    def shares(self) -> np.ndarray:
        """The shares of the groups in means."""
        return np.array([self.weights[group].sum() for group in self.groups])

    def mean(self, values: np.ndarray) -> np.ndarray:
        """The mean of what is known of each row, (rows, ...)."""
        return np.tensordot(self.weights, values, 1)

    def within(self, group: np.ndarray) -> np.ndarray:
        """The shares of the rows of a group in its mean."""
        return self.weights[group] / self.weights[group].sum()

    def combined(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of values beside each group (groups, ...), and its standard error."""
        mean = np.tensordot(self.shares, values, 1)
        if len(values) == 1:
            return mean, np.full_like(mean, np.nan)
        return mean, self.nearer * np.sqrt(np.mean((values - mean) ** 2, axis=0))


def standing(
    f: Separated | None, X: Any, encoded: Samples, random: Any, most: int = CHOSEN_AMONG
) -> Background:
    r"""Up to 100 of the rows of X, with weights, whose means are nearest to those of all rows.

    Of each set of players at once: with the kernel :math:`\prod_p (1 + k_p) / 2` of the term with
    most players, whose mean embedding bounds the error of all 2^d marginal means. The next row is
    the one that brings the mean of those that are chosen nearest to the mean of all; then their
    weights are those of the nearest mean, none below 0. O(n² d) operations for n = ``most`` rows,
    of more a random part; without a separated sum ``f`` rows are drawn.

    References
    ----------
    Chen, Welling & Smola, "Super-samples from kernel herding", UAI 2010.
    Huszár & Duvenaud, "Optimally-weighted herding is Bayesian quadrature", UAI 2012.
    """
    order = random.permutation(len(X))
    if f is None or len(X) <= ROWS:
        chosen = np.sort(order[:ROWS])
        return Background.drawn(some_of(X, chosen), len(chosen))
    among = np.sort(order[:most])
    K = _alike(f, encoded[among])
    mean, chosen, total = K.mean(axis=1, dtype=np.float64), [], np.zeros(len(among))
    for taken in range(ROWS):
        score = mean - total / (taken + 1)
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        total += K[chosen[-1]]
    weights = _nearest(K[np.ix_(chosen, chosen)].astype(np.float64), mean[chosen])
    kept = np.array(chosen)[weights > TINY]
    weights = weights[weights > TINY] / weights[weights > TINY].sum()
    found = Background(some_of(X, among[kept]), weights, 1.0)
    whole = float(K.mean(dtype=np.float64))

    def far(part: np.ndarray, w: np.ndarray) -> float:
        """The squared distance of a weighted mean to the mean of all rows."""
        rows = kept[part]
        return max(w @ K[np.ix_(rows, rows)] @ w - 2 * w @ mean[rows] + whole, 0.0)

    apart = np.mean([far(group, found.within(group)) for group in found.groups])
    own = far(np.arange(len(kept)), weights)
    return found._replace(nearer=float(np.sqrt(own / apart)) if apart > 0 else 0.0)


def kept_rows(
    summands: Sequence[Any], columns: Mapping[Any, Sequence], M: EncodedColumns, seed: int,
    memory: int,
) -> Background:  # fmt: skip
    """Rows of an encoded table that stand for all, for a model to keep.

    ``summands`` and ``columns`` are those of `separated_summands`.

    Of a table of objects, whose kernels may take long, they are drawn at random. The matrices that
    choose take at most an eighth of ``memory``, in bytes.
    """
    random = np.random.default_rng(seed)
    most = int(min(CHOSEN_AMONG, np.sqrt(PAIRS / len(columns)), np.sqrt(memory / (8 * MATRIX))))
    if most > ROWS and all(isinstance(column, Categories) for column in M.objects.values()):
        separated, _ = separated_summands(summands, columns)
        if separated:
            return standing(separated[0], M, separated[0].sum.encode(M), random, most)
    return standing(None, M, M, random)


def some_of(rows: Any, numbers: np.ndarray) -> Any:
    """Some rows, of an encoded table or in a user's form."""
    return rows[numbers] if isinstance(rows, EncodedColumns) else take_rows(rows, numbers)


def _alike(f: Separated, X: Samples) -> np.ndarray:
    """K of the kernel that compares rows by each set of players, (n, n), float32."""
    term = max(f.terms, key=lambda term: len(term.factors))
    K = np.ones((X.shape[0], X.shape[0]), np.float32)
    for kernels in term.factors.values():
        k = product_of(kernels, X, X).astype(np.float32, copy=False)
        size = np.sqrt(np.abs(np.diagonal(k)))
        size[size == 0] = 1
        K *= (1 + k / size[:, None] / size) / 2
    return K


def _nearest(K: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The w >= 0 of the sum 1 for which w'Kw - 2w'z is least."""
    L = np.linalg.cholesky(K + TINY * len(K) * np.eye(len(K)))
    weights, _ = nnls(L.T, np.linalg.solve(L, z))
    return weights / weights.sum()
