"""Weights of kernels: by their centred alignment with the target, alone or together, or by the
margin that each has between two hulls (EasyMKL)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.gram import CombinedGram, GramOperator, Place, ShiftedGram
from mercer.solvers.result import Reason, Result
from mercer.solvers.smo import DualProblem, SmoResult, SmoSolver, solve_to_gap
from mercer.solvers.weights.kernel_products import inner_products
from mercer.solvers.weights.nonnegative import nonnegative_minimum


@dataclass(frozen=True)
class AlignmentWeights:
    r"""Weights :math:`\mu \ge 0` of the sum with the largest alignment
    :math:`\langle K^c_\mu, Y Y^\top \rangle / (\|K^c_\mu\| \|Y Y^\top\|)`.

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
    r"""EasyMKL: :math:`\mu_t \propto \gamma^\top Y K_t Y \gamma` for the distribution γ with the
    least :math:`\gamma^\top Y [(1 - \lambda) \sum_t K_t + \lambda W^{-1}] Y \gamma` and the sum 1
    in each of two classes.

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
