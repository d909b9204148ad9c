"""What predictions rest on, as every learner tells it: the training rows, and the sum over them.

The last functions are of machines for two classes, one for each pair of classes. With k classes
there are k (k - 1) / 2 pairs in the order (0, 1), (0, 2), ... (1, 2), ...; the first class of a
pair is the positive class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.samples import SamplesLike, check_count


@dataclass(frozen=True)
class Reasons:
    """For each predicted row, the training rows that speak most for and against the prediction.

    Attributes
    ----------
    rows, against : ndarray of shape (n, most)
        Numbers of training rows, from 0, the largest share first; -1 where there are no more.
    shares, against_shares : ndarray of shape (n, most)
        Their parts of the sum of the absolute contributions of all stored rows, in [0, 1].
    kind : {"training rows", "support vectors", "centres"}
        What the machine has stored. Centres stand for the training rows around them.
    stored : int
        How many rows these are.
    """

    rows: np.ndarray
    shares: np.ndarray
    against: np.ndarray
    against_shares: np.ndarray
    kind: str
    stored: int

    def renumbered(self, numbers: np.ndarray) -> Reasons:
        """The same, where row i of the fit has the number ``numbers[i]``."""
        rows, against = (np.where(r >= 0, numbers[r], -1) for r in (self.rows, self.against))
        return replace(self, rows=rows, against=against)

    def texts(self) -> dict[str, list[str]]:
        """Columns of texts such as "row 17 (23%)", with rows counted from 1; "" for none.

        The columns are because_1, because_2, ... and not_like_1.
        """
        found = {
            f"because_{j + 1}": _written(self.rows[:, j], self.shares[:, j])
            for j in range(self.rows.shape[1])
        }
        return found | {"not_like_1": _written(self.against[:, 0], self.against_shares[:, 0])}


@dataclass(frozen=True)
class KernelSum:
    r"""A function :math:`f(x) = \sum_i k(x, x_i) c_i + b` of rows, which a fitted learner is.

    Attributes
    ----------
    kernel : Kernel
        Bound to the training samples.
    stored : encoded samples
        The m rows :math:`x_i`.
    coef : ndarray of shape (m, outputs)
        The numbers :math:`c_i`, float64.
    offset : ndarray of shape (outputs,)
        The numbers b.
    encode : callable
        New rows as the kernel compares them with those that are stored.
    """

    kernel: Kernel
    stored: Any
    coef: np.ndarray
    offset: np.ndarray
    encode: Callable[[Any], Any]

    @classmethod
    def of(
        cls, kernel: Kernel, stored: Any, coef: np.ndarray, offset: Any, encode: Callable
    ) -> KernelSum:
        """That of a learner's arrays, whose coefficients are (m,) or (m, outputs)."""
        coef = np.asarray(coef, np.float64)
        coef = coef[:, None] if coef.ndim == 1 else coef
        offset = np.broadcast_to(np.asarray(offset, np.float64), coef.shape[1])
        return cls(kernel, stored, coef, offset, encode)

    def times(self, weights: np.ndarray) -> KernelSum:
        """Its outputs times a matrix (outputs, new outputs), or times a number for each or all."""
        if weights.ndim == 2:
            return replace(self, coef=self.coef @ weights, offset=self.offset @ weights)
        return replace(self, coef=self.coef * weights, offset=self.offset * weights)

    def __call__(self, X: Any) -> np.ndarray:
        """f of new rows, (n, outputs)."""
        K = self.kernel.whole(self.encode(X), self.stored)
        return K.astype(np.float64, copy=False) @ self.coef + self.offset


def largest_parts(
    parts: np.ndarray, stored: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and values of the largest positive parts of each row, (n, most)."""
    order = np.argsort(-parts, axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(parts, order, axis=1)
    rows = np.where(values > 0, stored[order], -1)
    lacking = ((0, 0), (0, most - rows.shape[1]))
    return np.pad(rows, lacking, constant_values=-1), np.pad(np.maximum(values, 0), lacking)


class MeansOfRows(ABC):
    """Abstract: what is predicted is a mean over the training rows ``rows_``."""

    rows_: np.ndarray

    @abstractmethod
    def some_shares(self, X: SamplesLike) -> Iterator[np.ndarray]:
        """The weights of all training rows, for some rows of X at a time."""

    def shares(self, X: SamplesLike) -> np.ndarray:
        """The weight of each training row in the mean at each row of X, (n, rows).

        The columns are the rows of ``rows_``; the weights of a row of X have the sum 1.
        """
        return np.concatenate(list(self.some_shares(X)))

    def reasons(self, X: SamplesLike, most: int = 3) -> Reasons:
        """The training rows that the prediction of each row of X is the mean of, with their shares.

        Parameters
        ----------
        X : samples
        most : int, default=3
            How many rows for the prediction, and how many of other classes.

        Returns
        -------
        reasons : Reasons
            ``rows`` and ``shares`` are the rows with the largest weights, for classes those of the
            predicted class; ``against`` are rows of other classes. Rows are counted from 0, in the
            order of the rows that were given to ``fit``.
        """
        check_count("most", most, optional=False)
        found = []
        for part in self.some_shares(X):
            signed = part * self.signs(part)
            sides = (largest_parts(side, self.rows_, most) for side in (signed, -signed))
            found.append([array for side in sides for array in side])
        rows, parts, against, against_parts = (np.concatenate(each) for each in zip(*found))
        return Reasons(rows, parts, against, against_parts, "training rows", len(self.rows_))

    def signs(self, shares: np.ndarray) -> Any:
        """1 for rows that speak for the prediction, -1 for those against it."""
        return 1.0


def _written(rows: np.ndarray, shares: np.ndarray) -> list[str]:
    return [
        f"row {row + 1} ({100 * share:.{0 if share >= 0.1 else 1}f}%)" if row >= 0 else ""
        for row, share in zip(rows.tolist(), shares.tolist())
    ]


LARGEST = 1e290  # largest value that is used, so that sums do not overflow


def all_pairs(k: int) -> list[tuple[int, int]]:
    """The pairs of k classes, in order."""
    return list(combinations(range(k), 2))


def votes(values: np.ndarray, k: int) -> np.ndarray:
    """Votes of the pairs for each class, plus less than half a vote for the sum of distances."""
    f = np.clip(values.astype(float, copy=False), -LARGEST, LARGEST)
    order, firsts, seconds = _by_second(k)
    counts, sums = np.zeros((len(f), k)), np.zeros((len(f), k))
    won, g = f >= 0, f[:, order]
    counts[:, :-1] = np.add.reduceat(won, firsts, axis=1, dtype=float)
    counts[:, 1:] += np.add.reduceat(g < 0, seconds, axis=1, dtype=float)
    sums[:, :-1] = np.add.reduceat(f, firsts, axis=1)
    sums[:, 1:] -= np.add.reduceat(g, seconds, axis=1)
    return counts + sums / (3 * (np.abs(sums) + 1))  # scikit-learn's one-vs-rest decision function


@lru_cache(maxsize=8)
def _by_second(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs of k classes ordered by their second class; where pairs of another first class
    begin, and in that order those of another second class."""
    pairs = np.array(all_pairs(k)).T
    order = np.argsort(pairs[1], kind="stable")
    ends = np.arange(k - 1)
    return order, np.searchsorted(pairs[0], ends), np.searchsorted(pairs[1][order], ends + 1)


@lru_cache(maxsize=8)
def _pairs_of(k: int) -> np.ndarray:
    """For each of k classes, the numbers of its pairs in the order of the other classes."""
    found = np.empty((k, k - 1), np.intp)
    for column, (first, second) in enumerate(all_pairs(k)):
        found[first, second - 1] = found[second, first] = column
    return found


def by_pair(dual_coef: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """β of shape (rows, pairs) from scikit-learn's layout; the inverse of `by_class`."""
    beta = np.zeros((len(codes), k * (k - 1) // 2))
    beta[np.arange(len(codes))[:, None], _pairs_of(k)[codes]] = dual_coef.T
    return beta


def by_class(coefs: list[np.ndarray], codes: np.ndarray, k: int) -> np.ndarray:
    """The pairs' β in scikit-learn's layout, of shape (k - 1, rows).

    Entry (r, i) belongs to the pair of row i's class and the r-th of the other classes.
    """
    if len(coefs) == 1:
        return coefs[0][None]
    dual, members = np.zeros((k - 1, len(codes))), [np.flatnonzero(codes == c) for c in range(k)]
    for (first, second), coef in zip(all_pairs(k), coefs):
        a, b = members[first], members[second]
        dual[second - 1, a], dual[first, b] = coef[: len(a)], coef[len(a) :]
    return dual
