"""The weighted sum of several Gram matrices of the same samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.distances import fill
from mercer.gram.operator import GramOperator, Rows
from mercer.gram.place import Place
from mercer.threads import ordered_map


class CombinedGram(GramOperator):
    r""":math:`K = \sum_t \mu_t K_t`, where no :math:`K_t` has to be in memory.

    Parameters
    ----------
    grams : sequence of GramOperator of shape (n, n), symmetric
    weights : ndarray of shape (len(grams),)
        :math:`\mu_t`; an operator of weight 0 is never read.
    place : Place, default=Place(memory=1)
        Memory and threads; if K needs at most half of the memory, K may be kept in it.

    Raises
    ------
    ValueError
        The operators differ in shape or are not symmetric, or there is not one weight for each.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> one = DenseGram(np.ones((2, 2)), symmetric=True)
    >>> CombinedGram([one, DenseGram(np.eye(2), symmetric=True)], np.array([2.0, 3.0])).dense()
    array([[5., 2.],
           [2., 5.]])
    """

    symmetric = True

    def __init__(
        self,
        grams: Sequence[GramOperator],
        weights: np.ndarray,
        place: Place = Place(memory=1),
    ):
        shapes = [K.shape for K in grams]
        if len(set(shapes)) != 1 or not all(K.symmetric for K in grams):
            raise ValueError(
                f"grams have the shapes {shapes[:10]}: give one or more symmetric operators of one "
                "shape."
            )
        self.weights = np.asarray(weights, np.float64)
        if self.weights.shape != (len(grams),):
            raise ValueError(
                f"weights has shape {self.weights.shape}: give one number for each of the "
                f"{len(grams)} operators."
            )
        self.shape, self.place = shapes[0], place
        self.dtype = np.result_type(*[K.dtype for K in grams])
        self.used = [(mu, K) for mu, K in zip(self.weights, grams) if mu]
        self._edge = min(K.edge() for K in grams)
        self._keep_if_it_fits()

    def edge(self) -> int:
        return self._edge

    def block(self, i: Rows, j: Rows) -> np.ndarray:
        rows, columns = (len(np.arange(self.shape[0])[part]) for part in (i, j))
        total = np.zeros((rows, columns), self.dtype)
        for mu, K in self.used:
            tile = K.block(i, j)
            tile *= mu
            total += tile
        return total

    def diag(self) -> np.ndarray:
        total = np.zeros(self.shape[0])
        for mu, K in self.used:
            total += mu * K.diag()
        return total.astype(self.dtype, copy=False)

    def rows(self, i: Rows, out: np.ndarray | None = None) -> np.ndarray:
        """K[i]; the threads share the columns."""
        n = self.shape[1]
        rows = np.arange(self.shape[0])[i]
        values = np.empty((len(rows), n), self.dtype) if out is None else out
        step = max(self._edge, -(-n // 16))

        def strip(s: int) -> None:
            values[:, s : s + step] = self.block(rows, slice(s, min(s + step, n)))

        for _ in ordered_map(strip, range(0, n, step), self.n_jobs):
            pass
        return values

    def part(self, i: np.ndarray, j: np.ndarray | None = None) -> GramOperator:
        if j is not None and j is not i:
            return super().part(i, j)
        parts = [K.part(i) for _, K in self.used]
        if not parts:
            return super().part(i)
        return CombinedGram(parts, np.array([mu for mu, _ in self.used]), self.place)

    def dense(self) -> np.ndarray:
        K = np.empty(self.shape, self.dtype)
        fill(lambda i, j: [self.block(i, j)], [K], self._edge, True, self.n_jobs)
        return K
