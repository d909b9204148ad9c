"""Weights of kernels without targets: each row is rebuilt from its neighbours.

For fixed neighbours this is a quadratic program over the simplex. Zhuang, Wang, Hoi & Lan (ACML
2011) do not divide by the number k of neighbours: then k neighbours with values near 1 are k
times too much, and kernels with values near 0 are the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.gram import CombinedGram, GramOperator, Place
from mercer.solvers.result import Result
from mercer.solvers.weights.kernel_products import STRIP, entries
from mercer.solvers.weights.nonnegative import nonnegative_minimum
from mercer.threads import ordered_map, raise_if_stopped


@dataclass(frozen=True)
class NeighbourhoodWeights:
    r"""Weights of kernels without targets, for which neighbours rebuild each row best.

    The weights are the :math:`μ_t \ge 0` with the sum 1 that minimise

    .. math:: \tfrac12 μ^\top W μ + z^\top μ, \quad W_{st} = \sum_i q_{s,i}^\top P q_{t,i},
        \quad z_t = \sum_i (γ M_{:,i} - P_{:,i})^\top q_{t,i},

    where :math:`q_{t,i}` are the values of kernel t between row i and its k nearest rows, divided
    by k, P the inner products of the rows, and M their squared distances.

    Parameters
    ----------
    n_neighbors : int, default=10
        k, how many rows rebuild one: those nearest by M, without the row itself.
    distance_weight : float >= 0, default=0.1
        γ, the price of values that are large where neighbours are far.
    memory, n_jobs
        The same as for `mercer.gram.gram`.

    Notes
    -----
    Each matrix is computed once, and P three times: O(n² T) kernel values, O(n k²) numbers in
    memory for k neighbours. The program is convex, because W is positive semidefinite.

    References
    ----------
    Zhuang, Wang, Hoi & Lan, "Unsupervised multiple kernel learning", ACML 2011; they do not divide
    by k.

    Examples
    --------
    >>> from mercer.gram import gram
    >>> from mercer.kernels import RBF
    >>> X = np.arange(12.0)[:, None]
    >>> K = [gram(RBF(gamma), X) for gamma in (0.01, 100.0)]
    >>> NeighbourhoodWeights(2).solve(K).coef.round(2)
    array([0.54, 0.46])
    """

    n_neighbors: int = 10
    distance_weight: float = 0.1
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def solve(
        self,
        grams: Sequence[GramOperator],
        products: GramOperator | None = None,
        weights: np.ndarray | None = None,
    ) -> Result:
        """The weights for operators (n, n).

        Parameters
        ----------
        grams : sequence of T GramOperator of shape (n, n)
        products : GramOperator of shape (n, n), optional
            P. None: the mean of all matrices, so that the geometry is that of their features.
        weights : ndarray of shape (n,), optional
            Factors of the terms of the sums, one for each row.

        Returns
        -------
        Result
            ``coef`` are the weights, ``objective`` is the value without its constant and ``gap`` is
            the duality gap of the program.
        """
        T, n = len(grams), grams[0].shape[0]
        P = products
        if P is None:
            P = CombinedGram(grams, np.full(T, 1 / T), Place(self.memory, self.n_jobs))
        P = P.held()
        w = np.ones(n) if weights is None else weights
        near, M = self._nearest(P)
        k = near.shape[1]
        rows, columns = np.repeat(np.arange(n), k), near.ravel()
        q = np.stack([entries(K, rows, columns, self.n_jobs) for K in grams]).astype(np.float64)
        q = q.reshape(T, n, k) / k
        own = entries(P, rows, columns, self.n_jobs).astype(np.float64).reshape(n, k)
        pairs = entries(P, np.repeat(columns, k), np.repeat(near, k, axis=0).ravel(), self.n_jobs)
        blocks = pairs.astype(np.float64).reshape(n, k, k)
        # q_sᵀP q_t of each row, for all kernels
        moved = np.einsum("ijl,til->tij", blocks, q) * w[None, :, None]
        W = moved.reshape(T, -1) @ q.reshape(T, -1).T
        z = np.einsum("ij,tij,i->t", self.distance_weight * M - own, q, w)
        return nonnegative_minimum((W + W.T) / 2, -z, simplex=True)

    def _nearest(self, P: GramOperator) -> tuple[np.ndarray, np.ndarray]:
        """The nearest other rows of each row, (n, k), and their squared distances."""
        n = P.shape[0]
        k = min(self.n_neighbors, n - 1)
        d = P.diag().astype(np.float64)

        def strip(s: int) -> tuple[np.ndarray, np.ndarray]:
            raise_if_stopped()
            rows = np.arange(s, min(s + STRIP, n))
            D = d[rows, None] + d - 2 * P.block(rows, slice(None))
            D[np.arange(len(rows)), rows] = np.inf
            # a copy, so that the columns of all other rows are freed
            nearest = np.argpartition(D, k - 1, axis=1)[:, :k].copy()
            return nearest, np.maximum(np.take_along_axis(D, nearest, axis=1), 0)

        found = list(ordered_map(strip, range(0, n, STRIP), self.n_jobs))
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])
