"""Feature space as a matrix: scores of the training samples on all principal components.

With K̃ = T Tᵀ every linear method of statistics works on the rows of T as if they were the features
of the samples, and its coefficients on T become coefficients at the samples, by which new samples
are compared. All n components where K̃ can be decomposed, or those of a low-rank factor.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, cast

import numpy as np

from mercer.estimator import estimator
from mercer.gram import FactoredGram
from mercer.learners.base import (
    KernelLearner,
    Limits,
    NamedKernel,
    check_solver,
    is_value,
    solver_name,
)
from mercer.learners.spectral.components import (
    Components,
    components_by_value,
    components_of_factor,
    components_of_low_rank,
    components_of_matrix,
    low_rank_scores,
)

SOLVERS = ("auto", "exact", "low_rank")


class PrincipalFeatures(NamedTuple):
    """The training samples in feature space.

    Attributes
    ----------
    T : ndarray of shape (n, r)
        Scores; the columns are orthogonal and sum to 0.
    values : ndarray of shape (r,)
        Their squared norms, all > 0.
    components : Components
        The scores as functions of a sample.
    support : encoded samples
        The samples that they compare with.
    """

    T: np.ndarray
    values: np.ndarray
    components: Components
    support: Any

    def lift(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients at the support, and a constant, of the functions T beta; beta (r, c)."""
        return self.components.coef @ beta, self.components.offset @ beta


@estimator
class PrincipalLearner(NamedKernel, KernelLearner):
    """Abstract: a learner that works on principal features."""

    _: KW_ONLY
    solver: Any = "auto"
    rank: int | None = None

    _pairwise_callable = True

    def principal_features(self, X: Any, limits: Limits) -> PrincipalFeatures:
        """The features of encoded training samples; sets ``solver_`` and ``gram_``."""
        check_solver(self.solver, SOLVERS)
        found = self._exact(X, limits) if self.solver != "low_rank" else None
        if found is None:
            low = self.make_low_rank_gram(X, limits.rank, held=1)
            self.solver_, support = "low_rank", X[low.centres]
            found = components_of_low_rank(low, low.rank).positive()
            T = low_rank_scores(low, found)
        else:
            support = X
            T = found.vectors * np.sqrt(found.values)
        if found.lowest < 0:
            warnings.warn(
                f"The kernel is not positive semidefinite on these samples: K has eigenvalues down "
                f"to {found.lowest:.3g} where the largest is {found.values.max(initial=0):.3g}. "
                "Those below 0 are left out; mercer.kernels.repair shows another way.",
                stacklevel=5,
            )
        return PrincipalFeatures(T.astype(np.float64), found.values, found, support)

    def _exact(self, X: Any, limits: Limits) -> Components | None:
        """All components, or None where there are too many rows for that."""
        if is_value(self.solver):
            self.solver_ = solver_name(self.solver)
            return components_by_value(self.make_gram(X), self.solver).positive()
        n = X.shape[0]
        K = self.gram_between(X)
        self.gram_, self.solver_ = K.describe(), "exact"
        if "factor" in K.cheap and cast(FactoredGram, K).rank <= min(n, limits.rank):
            return components_of_factor(cast(FactoredGram, K), n).positive()
        if self.solver == "auto" and n > limits.exact_rows:
            return None
        if K.fits(limits.matrices):
            return components_of_matrix(K.held(), n).positive()
        if self.solver == "exact":
            K.refuse(limits.matrices, "an eigendecomposition", ', or solver="low_rank"')
        K.concede(limits.matrices, "an eigendecomposition", 'solver="low_rank"')
        return None
