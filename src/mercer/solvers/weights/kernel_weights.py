"""Weights of kernels: by their centred alignment with the target, alone or together; by the margin
that each has between two hulls (EasyMKL); or without targets, where each row is rebuilt from its
neighbours.

For fixed neighbours that is a quadratic program over the simplex. Zhuang, Wang, Hoi & Lan (ACML
2011) do not divide by the number k of neighbours: then k neighbours with values near 1 are k
times too much, and kernels with values near 0 are the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.gram import CombinedGram, GramOperator, Place, ShiftedGram
from mercer.solvers.result import Reason, Result
from mercer.solvers.smo import DualProblem, SmoResult, SmoSolver, solve_to_gap
from mercer.solvers.weights.kernel_products import STRIP, entries, inner_products
from mercer.solvers.weights.nonnegative import nonnegative_minimum
from mercer.threads import ordered_map, raise_if_stopped


@dataclass(frozen=True)
class AlignmentWeights:
    r"""Weights of the sum with the largest alignment to the targets:

    .. math:: \max_{\mu \ge 0}
              \frac{\langle K^c_\mu, Y Y^\top \rangle}{\|K^c_\mu\| \, \|Y Y^\top\|}, \qquad
              K_\mu = \sum_t \mu_t K_t

    The matrices have the shape (n, n), and :math:`K^c` is the centred one.

    Parameters
    ----------
    together : bool, default=True
        True: the maximum over all sums (ALIGNF), which takes the products of all pairs of matrices.
        False: each weight is the alignment of its own matrix (ALIGN).
    memory, n_jobs
        The same as for `mercer.gram.gram`.

    References
    ----------
    Cortes, Mohri & Rostamizadeh, "Algorithms for learning kernels based on centered alignment",
    JMLR 13, 2012, sections 3.1 and 3.2.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> y = np.array([[1.0], [-1.0], [1.0]])
    >>> K = [DenseGram(y @ y.T, symmetric=True), DenseGram(np.ones((3, 3)), symmetric=True)]
    >>> AlignmentWeights().solve(K, y).coef
    array([1., 0.])
    """

    together: bool = True
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def solve(
        self, grams: Sequence[GramOperator], Y: np.ndarray, weights: np.ndarray | None = None
    ) -> Result:
        """The weights for operators (n, n) and targets or indicators of classes Y (n, c).

        Returns
        -------
        Result
            ``coef`` are the weights, with the sum 1, or all 0 if no matrix is aligned with Y.
            ``objective`` is minus the alignment of the sum, and ``gap`` the KKT violation of the
            weights. Without ``together`` there is neither.
        """
        found = inner_products(
            grams, Y, weights, pairs=self.together, memory=self.memory, n_jobs=self.n_jobs
        )
        squares = found.grams.diagonal() if self.together else found.grams
        norms = np.sqrt(np.maximum(squares, 0.0))
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        cosines = found.target * scale / (found.norm or 1.0)
        if not self.together:
            return Result(_shares(np.maximum(cosines, 0)), solver="The alignment")
        # min ½ vᵀMv - vᵀa over v >= 0, whose direction is the maximum (proposition 3.2 there);
        # for matrices of norm 1, of which the weights are then those divided by their norms
        M = found.grams * scale[:, None] * scale
        known = np.flatnonzero(norms)
        result = Result(np.zeros(len(norms)))
        mu, alignment = np.zeros(len(norms)), 0.0
        if len(known):
            result = nonnegative_minimum(M[np.ix_(known, known)], cosines[known])
            mu[known] = result.coef
            square = float(mu @ M @ mu)
            alignment = float(mu @ cosines) / np.sqrt(square) if square > 0 else 0.0
        converged = result.reason is Reason.CONVERGED
        return Result(
            _shares(mu * scale), objective=-alignment, gap=result.gap,
            iterations=result.iterations, converged=converged, reason=result.reason,
            solver="The alignment", certificate="KKT violation",
        )  # fmt: skip


def _shares(mu: np.ndarray) -> np.ndarray:
    total = mu.sum()
    return mu / total if total > 0 else mu


ZERO = 1e-12  # a value so small compared with K is 0: the hulls of the classes meet


@dataclass(frozen=True)
class EasyWeights:
    r"""EasyMKL: weights from the distribution with the least margin.

    .. math:: \mu_t \propto \gamma^\top Y K_t Y \gamma, \qquad
              \gamma = \mathrm{argmin} \,
              \gamma^\top Y [(1 - \lambda) \sum_t K_t + \lambda W^{-1}] Y \gamma

    γ >= 0, of shape (n,), has the sum 1 in each of two classes.

    Parameters
    ----------
    lam : float in [0, 1], default=0.1
        λ: 0 is the hard margin between the classes, 1 the distance between their means.
    tol : float, default=1e-4
        The duality gap, relative to the value, at which it stops.
    memory, n_jobs
        The same as for `mercer.gram.gram`.

    Notes
    -----
    It is a ν-machine on the sum of all matrices, solved by `SmoSolver`, and a product of each
    :math:`K_t` between its support vectors: two passes over the matrices.

    References
    ----------
    Aiolli & Donini, "EasyMKL: a scalable multiple kernel learning algorithm", Neurocomputing 169,
    2015.

    Examples
    --------
    >>> from mercer.gram import DenseGram
    >>> y = np.array([1.0, -1.0, 1.0])
    >>> K = [DenseGram(np.outer(y, y), symmetric=True), DenseGram(np.eye(3), symmetric=True)]
    >>> EasyWeights(0.0).solve(K, [y]).coef.round(4)
    array([0.7273, 0.2727])
    """

    lam: float = 0.1
    tol: float = 1e-4
    memory: int | float | str | None = None
    n_jobs: int | None = None

    def solve(
        self,
        grams: Sequence[GramOperator],
        labels: Sequence[np.ndarray],
        weights: np.ndarray | None = None,
    ) -> Result:
        """The weights for operators (n, n) and the labels of each machine, (n,): 1, -1 or 0.

        Rows of label 0 have no part in a machine. The weights are the mean over the machines.

        Returns
        -------
        Result
            ``coef`` are the weights, with the sum 1, or all 0 if no matrix separates anything;
            ``objective`` is the value and ``gap`` its duality gap, summed over the machines.
        """
        n = grams[0].shape[0]
        w = np.ones(n) if weights is None else weights
        place = Place(self.memory, self.n_jobs)
        K = CombinedGram(grams, np.full(len(grams), 1 - self.lam), place)
        if len(labels) > 1 or not np.all(labels[0]):
            K = K.held()  # several machines read it; a single one of all rows keeps it shifted
        total, found = np.zeros(len(grams)), []
        peaks = np.array([float(np.abs(k.diag()).max()) for k in grams])
        for y in labels:
            rows = np.flatnonzero(y)
            part = K if len(rows) == n else K.part(rows)
            result = self._separated(part, y[rows], w[rows])
            found.append(result)
            support = np.flatnonzero(result.coef)
            beta = result.coef[support]
            margins = [float(beta @ (k.part(rows[support]) @ beta)) for k in grams]
            margins = np.where(margins > ZERO * peaks, margins, 0.0)
            if margins.sum() > 0:
                total += margins / margins.sum()
        converged = all(result.converged for result in found)
        return Result(
            total / (total.sum() or 1.0),
            objective=-2 * sum(result.objective for result in found),
            gap=2 * sum(result.gap for result in found),
            iterations=sum(result.iterations for result in found),
            converged=converged,
            reason=Reason.CONVERGED if converged else Reason.STALLED,
            solver="EasyMKL", certificate="duality gap",
        )  # fmt: skip

    def _separated(self, K: GramOperator, y: np.ndarray, w: np.ndarray) -> SmoResult:
        """γ of one machine; ``coef`` is Y γ."""
        shifted = ShiftedGram(K, self.lam / w).held()
        problem = replace(DualProblem.classification(y, np.ones(len(y))), p=np.zeros(len(y)),
                          sums=(1.0, 1.0))  # fmt: skip
        peak = float(np.abs(shifted.diag()).max()) or 1.0
        cache = K.place.budget(32 * len(y) ** 2) // 4
        solver = SmoSolver(
            tol=self.tol * peak / 10, cache_bytes=cache, n_jobs=self.n_jobs, rounded=False
        )
        result = solve_to_gap(solver, shifted, problem, None, self.tol)
        enough = max(self.tol * abs(result.objective), ZERO * peak)
        return replace(result, converged=result.gap <= enough)


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
