"""What ridge regression and the classifier by regression share: (K + λ W⁻¹) a = y, solved.

Three solvers give the same machine: Cholesky where K fits, conjugate gradients where only its
products do, and a low-rank factor where there are too many rows for either. The penalty may be
chosen by the leave-one-out error, which has a closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram import memory_budget
from mercer.learners.base import FitPath, KernelLearner, Training
from mercer.learners.finite import finite_values
from mercer.learners.limits import LIMITS
from mercer.learners.parameters import check_count, check_positive
from mercer.learners.ridge_penalty import (
    PenaltyPath,
    check_penalty,
    least_left_out,
    solve_densely,
    unit_of,
)
from mercer.solvers import (
    ConjugateGradientSolver,
    EigenSolver,
    LowRankSolver,
    NystroemPreconditioner,
    Result,
)
from mercer.threads import blas_limit

__all__ = ["RidgeLearner"]

SOLVERS = ("auto", "cholesky", "conjugate_gradient", "low_rank")


class RidgeLearner(KernelLearner):
    """Abstract: (K + λ W⁻¹) a = y by the solver that is asked for or fits."""

    alpha: Any
    solver: str
    tol: float
    max_iter: int | None
    dual_coef_: Any
    _pairwise_callable = True
    path_parameter = "alpha"

    def new_path(self, values: list) -> PenaltyPath:
        return PenaltyPath(values)

    def _fit_dual(
        self, training: Training, y: np.ndarray, fit_path: FitPath | None
    ) -> tuple[Result, Any]:
        """Solve for ``dual_coef_``, and say how in ``solver_``, ``gram_`` and ``n_iter_``.

        Returns the result, and Σ w (y - f) / λ of each target, which an intercept is made of (None
        with ``alpha="auto"``).
        """
        self._check_solver()
        for name in ("alpha_", "left_out_", "centres_"):  # of an earlier fit
            vars(self).pop(name, None)
        choose = isinstance(self.alpha, str) and self.alpha == "auto"
        penalty = np.nan if choose else check_penalty(self.alpha, y)
        n, unit = training.X.shape[0], unit_of(y)
        y = y / unit
        # of an indefinite kernel a low-rank part is not sound: all rows, however many
        solver = "cholesky" if self.solver == "auto" and self._indefinite() else self.solver
        with blas_limit(n):
            if choose:
                result, sums = self._solve_by_leave_one_out(training, y), None
            elif LIMITS["ridge"].exact(solver, n):
                result, sums = self._solve_exactly(training, y, penalty, fit_path)
            else:
                result, sums = self._solve_low_rank(training, y, penalty, fit_path)
        if choose:
            self.left_out_ = self.left_out_ * unit
        self.dual_coef_ = (unit * result.coef).astype(training.X.dtype, copy=False)
        self.n_iter_ = result.iterations
        self.residual_ = result.gap
        return result, None if sums is None else unit * sums

    def _solve_exactly(
        self, training: Training, y: np.ndarray, penalty: Any, fit_path: FitPath | None
    ) -> tuple[Result, np.ndarray]:
        """Coefficients of all rows, and residual sums."""
        w, matrices = training.weights, LIMITS["ridge"].matrices
        if training.X.dtype != np.float64:
            matrices += 1  # a nearly singular K of float32 is factorised in float64
        K = self.make_gram(training.X, fit_path, matrices=matrices)
        self.keep_support(training.X)
        held, indefinite = self.fits(K, matrices), self._indefinite()
        memory = self.memory_beside(K) if held else self.memory
        self.solver_ = self.solver
        if self.solver == "auto":  # of an indefinite kernel nothing but a factorisation is sound
            self.solver_ = "cholesky" if held or indefinite else "conjugate_gradient"
        if self.solver_ == "conjugate_gradient":
            self._refuse_indefinite("conjugate_gradient")
            limit = 1000 if self.max_iter is None else self.max_iter
            nystroem = NystroemPreconditioner(self.rank, self.random_state, self.n_jobs, memory)
            result = ConjugateGradientSolver(penalty, self.tol, limit, nystroem).solve(K, y, w)
        elif not held:
            other = "" if indefinite else ', or solver="conjugate_gradient"'
            self.refuse_memory(K, matrices, "a Cholesky factorisation", other)
        elif isinstance(fit_path, PenaltyPath) and self.kernel_.positive_definite is True:
            result = fit_path.solve(K, y, w, penalty, memory)
        else:
            result = solve_densely(K, y, w, penalty, memory)
        return result, result.coef.sum(axis=0)  # λ W⁻¹ a = y - K a

    def _solve_low_rank(
        self, training: Training, y: np.ndarray, penalty: Any, fit_path: FitPath | None
    ) -> tuple[Result, np.ndarray]:
        """Coefficients at the centres, which are all that predictions need; residual sums."""
        K = self.make_low_rank_gram(training.X, LIMITS["ridge"].rank, fit_path=fit_path)
        self.keep_support(training.X[K.centres])
        self.centres_ = np.asarray(K.centres)
        self.solver_ = "low_rank"
        factor = LowRankSolver().factorise(K, training.weights)
        result = factor.solve(y, penalty)
        return result, factor.residual_sums(y, result.coef)

    def _solve_by_leave_one_out(self, training: Training, y: np.ndarray) -> Result:
        """The solution for the penalty of the least squared leave-one-out error, ``alpha_``."""
        self._refuse_indefinite("alpha")
        X, w, n = training.X, training.weights, training.X.shape[0]
        limits, factor, budget = LIMITS["leave one out"], None, memory_budget(self.memory)
        if limits.exact(self.solver, n):
            K = self.make_gram(X, matrices=limits.matrices)
            if self.fits(K, limits.matrices):
                factor = EigenSolver(memory=self.memory_beside(K)).factorise(K, w)
                self.keep_support(X)
                self.solver_ = "eigenpairs"
            elif self.solver != "auto":
                what, other = 'alpha="auto" by eigenpairs', ', or solver="low_rank"'
                self.refuse_memory(K, limits.matrices, what, other)
        if factor is None:
            low = self.make_low_rank_gram(X, limits.rank)
            factor = LowRankSolver().factorise(low, w)
            self.keep_support(X[low.centres])
            self.centres_ = np.asarray(low.centres)
            self.solver_ = "low_rank"
        self.alpha_, self.left_out_ = least_left_out(factor, y, w, budget)
        return factor.solve(y, self.alpha_)

    @finite_values
    def _evaluate(self, X: Any) -> Any:
        """f at new samples, (n,) or (n, outputs)."""
        return self.cross_gram(X) @ self.dual_coef_

    def __sklearn_is_fitted__(self) -> bool:
        return "dual_coef_" in vars(self)  # which is stored after the samples

    def _check_solver(self) -> None:
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_count("rank", self.rank)
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: give one of {list(SOLVERS)}.")
        if self.solver == "low_rank":
            self._refuse_indefinite("low_rank")

    def _indefinite(self) -> bool:
        return self.kernel_.positive_definite is False

    def _refuse_indefinite(self, name: str) -> None:
        if self._indefinite():
            given = 'alpha="auto"' if name == "alpha" else f"solver={name!r}"
            raise ValueError(
                f"{given} needs a positive semidefinite kernel, which {self.kernel_!r} "
                'is not: use solver="cholesky" and a number for alpha.'
            )
