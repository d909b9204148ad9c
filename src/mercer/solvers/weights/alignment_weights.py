"""Weights of kernels by their centred alignment with the target, alone or together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer.gram import GramOperator
from mercer.solvers.result import Reason, Result
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
