"""What predictions rest on, as every learner tells it: the training rows, and the sum over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.kernels import Kernel


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


def signed_reasons(signed: Iterable[np.ndarray], stored: np.ndarray, most: int) -> Reasons:
    """The reasons of means over training rows, from signed shares (n, rows) of some rows at a time;
    ``stored`` are the numbers of the training rows."""
    found = []
    for shares in signed:
        sides = (largest_parts(part, stored, most) for part in (shares, -shares))
        found.append([array for side in sides for array in side])
    rows, parts, against, against_parts = (np.concatenate(each) for each in zip(*found))
    return Reasons(rows, parts, against, against_parts, "training rows", len(stored))


def _written(rows: np.ndarray, shares: np.ndarray) -> list[str]:
    return [
        f"row {row + 1} ({100 * share:.{0 if share >= 0.1 else 1}f}%)" if row >= 0 else ""
        for row, share in zip(rows.tolist(), shares.tolist())
    ]
