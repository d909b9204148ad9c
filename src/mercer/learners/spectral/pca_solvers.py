"""How kernel PCA finds its components: which of the solvers suits K, the memory and the count."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, cast

from mercer.estimator import estimator
from mercer.gram import FactoredGram, GramOperator, held_for_products, in_single_precision
from mercer.learners.base import LIMITS, SQUARES, KernelLearner, NamedKernel, is_value, solver_name
from mercer.learners.spectral.components import (
    Components,
    components_by_products,
    components_by_value,
    components_of_factor,
    components_of_low_rank,
    components_of_matrix,
)
from mercer.solvers import TopEigenSolver

SOLVERS = ("auto", "dense", "krylov", "arpack", "randomized", "low_rank")
ROUGH = 1e-3  # largest error of a kernel value in float32, which only has to give a good start
SMALL = 500  # rows, up to which the whole matrix is decomposed
FEW_FEATURES = 500  # columns of a factor, up to which it is decomposed
TOL, MOST = 1e-6, 300  # defaults of the Krylov method


@estimator
class ComponentLearner(NamedKernel, KernelLearner):
    """Abstract: components by the given ``eigen_solver``, or by one that suits."""

    _: KW_ONLY
    eigen_solver: Any = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: Any = "auto"
    rank: int | None = None

    _pairwise_callable = True

    def _components(self, X: Any, count: int) -> tuple[Components, Any]:
        """The components, and the samples that they are functions of."""
        if is_value(self.eigen_solver):
            self.solver_ = solver_name(self.eigen_solver)
            chosen = replace(self.eigen_solver, count=count)
            return components_by_value(self.make_gram(X), chosen), X
        n, limits = X.shape[0], LIMITS["components"]
        indefinite = self.kernel_.positive_definite is False
        solver = "krylov" if self.eigen_solver == "arpack" else self.eigen_solver
        if solver == "low_rank" or (solver == "auto" and n > limits.exact_rows and not indefinite):
            if indefinite:
                raise ValueError(
                    f'eigen_solver="low_rank" needs a positive semidefinite kernel, which '
                    f'{self.kernel_!r} is not: give eigen_solver="krylov".'
                )
            self.solver_ = "low_rank"
            low = self.make_low_rank_gram(X, limits.rank)
            return components_of_low_rank(low, count), X[low.centres]
        K = self.gram_between(X)
        self.gram_ = K.describe()
        if solver == "auto":
            solver = self._suited(K, count)
        self.solver_ = solver
        if solver == "primal":
            return components_of_factor(cast(FactoredGram, K), count), X
        if solver == "dense":
            if not K.fits(limits.matrices):
                other = ', or fewer n_components with "krylov"'
                K.refuse(limits.matrices, "all eigenpairs", other)
            return components_of_matrix(K.held(), count), X
        return self._by_products(X, K, count), X

    def _suited(self, K: GramOperator, count: int) -> str:
        """What "auto" means for K in full."""
        n, smallest = K.shape[0], K.shape[0]
        if "factor" in K.cheap:
            m = cast(FactoredGram, K).rank
            smallest = min(n, m)
            needed = SQUARES * m * m
            few = m <= FEW_FEATURES or 4 * count > smallest
            if m <= n and few and K.place.holds(needed):
                return "primal"
        many = n <= SMALL or 4 * count > smallest
        return "dense" if many and K.fits(LIMITS["components"].matrices) else "krylov"

    def _by_products(self, X: Any, K: GramOperator, count: int) -> Components:
        n, single = X.shape[0], None
        if self.solver_ == "krylov" and n > SMALL:  # most products in float32, where that will do
            rounded = in_single_precision(self.kernel_, X, ROUGH)
            if rounded is not X:
                single = self.gram_between(rounded)
                single = held_for_products(single)
        K = held_for_products(K) if single is None and "factor" not in K.cheap else K
        memory = (K if single is None else single).beside().memory  # of what the products read
        tol, most = self.tol or TOL, self.max_iter or MOST
        if self.solver_ == "randomized":
            power = 7 if count < 0.1 * n else 4
            power = power if self.iterated_power == "auto" else self.iterated_power
            tol, most = 0.0, 1 + power
        solver = TopEigenSolver(count, tol, most, memory, self.random_state)
        return components_by_products(K, solver, single)
