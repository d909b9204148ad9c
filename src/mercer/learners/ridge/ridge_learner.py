"""What ridge regression and the classifier by regression share: (K + λ W⁻¹) a = y, solved.

Three solvers give the same machine: Cholesky where K fits, conjugate gradients where only its
products do, and a low-rank factor where there are too many rows for either. A fourth one is exact
inside leaves of similar rows. The penalty may be chosen by the leave-one-out error, which has a
closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, field, replace
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.utils import check_random_state

from mercer.estimator import estimator
from mercer.gram import GramOperator, Leaves, LocalGram, leaf_coefficients, leaf_jobs, local_gram
from mercer.learners.base import (
    LIMITS,
    PENALTY_ROWS,
    FitPath,
    KernelLearner,
    KernelSum,
    Training,
    check_count,
    check_positive,
    check_solver,
    finite_values,
    is_auto,
    is_value,
    solver_name,
    unit_of,
)
from mercer.learners.ridge.penalty import (
    PenaltyPath,
    centres_of_some,
    check_penalty,
    least_left_out,
    mixed_outputs,
    sketch_bytes,
    sketch_pays,
    solve_by_value,
    solve_densely,
    without_copies,
)
from mercer.learners.ridge.process import low_rank_root
from mercer.samples import SamplesLike
from mercer.solvers import (
    ConjugateGradientSolver,
    EigenFactor,
    EigenSolver,
    LocalSolver,
    LowRankFactor,
    LowRankSolver,
    NystroemPreconditioner,
    Result,
    SketchedSolver,
)
from mercer.solvers.ridge import rounding_of
from mercer.threads import blas_limit

SOLVERS = ("auto", "cholesky", "conjugate_gradient", "low_rank", "local")
SOMETIMES = (  # attributes
    "alpha_", "left_out_", "missed_", "centres_", "leaves_", "leaf_coef_", "roots_", "weights_",
)  # fmt: skip
JUDGED_LEAVES, STEPS = 2, 4  # leaves that judge it then, and the most factors of √10
STRIP = 2**16  # samples that look for their leaves at a time


class Expansion(NamedTuple):
    """f at some samples: K @ coef, with K between them and some of the stored samples."""

    rows: np.ndarray
    stored: np.ndarray
    K: GramOperator
    coef: np.ndarray


@estimator
class RidgeLearner(KernelLearner):
    """Abstract: (K + λ W⁻¹) a = y, by the given solver or by one that suits.

    Parameters
    ----------
    alpha : float >= 0, array of shape (n_targets,) or "auto"
        λ, or one for each target. "auto" chooses, for all targets, the one of 19 penalties from
        1e-8 n to 10 n with the least squared leave-one-out error, which costs about one fit.
    kernel : kernel object, name, "precomputed" or callable
        A callable takes two rows and returns a number.
    solver : {"auto", "cholesky", "conjugate_gradient", "low_rank", "local"} or solver value
        "cholesky" is exact and holds K and its factor; "conjugate_gradient" is exact to ``tol`` and
        holds n · 10 √n numbers, or as many as fit ``memory``; "low_rank" restricts f to ``rank``
        centres and holds n · rank numbers; "local" is exact for rows of one leaf of a tree and of
        low rank between the leaves (see the notes), and holds 2 n · rank numbers. "auto" means
        Cholesky up to 20,000 rows if both matrices fit ``memory``, otherwise conjugate gradients;
        and low rank for more rows; conjugate gradients for any number of nodes of a large graph.
        A named solver raises MemoryError if it does not fit ``memory``; the message says how many
        bytes it needs.
        A value, such as ``mercer.solvers.ConjugateGradientSolver(tol=1e-9)`` or one of your own,
        solves for all rows: ``alpha`` replaces its ``penalty``, its other fields stay as they are,
        and ``tol``, ``max_iter`` and ``rank`` are not read. ``mercer.solvers.SketchedSolver()``
        solves for ``rank`` centres, chosen from 5 · rank rows; "low_rank" is the same from 1,000
        centres, 10 rows for each of them and up to 8 targets on.
    tol : float
        Relative residual at which conjugate gradients stop.
    max_iter : int, optional
        Most steps of conjugate gradients; None means 1000.
    rank : int, optional
        Centres of the low-rank machine (None: 2000), of the local one (None: 500) or of the
        preconditioner (None: 10 √n), fewer by default where ``memory`` holds fewer.
    leaf_rows : int >= 2, optional
        Most rows of a leaf of the local machine; None means 2000, or fewer if ``memory`` is
        too small.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        α, of the rows of positive weight; with ``solver_ == "low_rank"`` at the centres alone.
    leaves_ : Leaves
        The tree, which says which rows are in which leaf; only with ``solver_ == "local"``.
    leaf_coef_ : ndarray of shape (leaves, rank) or (leaves, rank, n_targets)
        Coefficients of each leaf at the centres, in addition to those of its own rows; only with
        ``solver_ == "local"``.
    X_fit_ : encoded samples
        The samples that ``dual_coef_`` belongs to: the training samples, or the centres; with
        ``alpha="auto"`` and leaves, copies count as one.
    centres_ : ndarray of shape (rank,)
        Numbers of the centres among the rows of positive weight, or with leaves among ``X_fit_``;
        only with ``solver_`` "low_rank" or "local".
    alpha_ : float
        The penalty that was chosen; only with ``alpha="auto"``.
    left_out_ : ndarray of the shape of y, or of ``decision_function``
        Prediction for each row of positive weight by the fit without it; only with
        ``alpha="auto"``.
    weights_ : ndarray of shape (n,)
        The weights of the rows, where some are not 1.
    solver_, gram_ : str
        Descriptions of the solver and of the Gram matrix.
    residual_ : float
        Certificate: backward error (Cholesky) or relative residual (the others).
    n_iter_ : int
    """

    alpha: Any = 1.0
    _: KW_ONLY
    kernel: Any = "linear"
    solver: Any = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    rank: int | None = None
    leaf_rows: int | None = None

    dual_coef_: Any = field(init=False)
    leaf_coef_: np.ndarray = field(init=False)
    leaves_: Leaves = field(init=False)
    _pairwise_callable = True
    path_parameter = "alpha"
    #: whether a low-rank fit keeps what the variance of its process needs
    uncertainty = False
    fitted_by = "dual_coef_"

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
        for name in SOMETIMES:  # of an earlier fit
            vars(self).pop(name, None)
        choose = is_auto(self.alpha)
        penalty = np.nan if choose else check_penalty(self.alpha, y)
        n, unit = training.X.shape[0], unit_of(y)
        if training.weights is not None:
            self.weights_ = training.weights
        y = y / unit
        # of an indefinite kernel a low-rank part is not sound: all rows, however many
        solver = "cholesky" if self.solver == "auto" and self._indefinite() else self.solver
        with blas_limit(n):
            if choose:
                result, sums = self._solve_by_leave_one_out(training, y), None
            elif solver == "local":
                result = self._solve_locally(training, y, penalty, fit_path)
                sums = result.coef.sum(axis=0)
            elif self._sketches(training, y, penalty, fit_path) and not self._multiplies(training):
                result, sums = self._solve_by_sketch(training, y, penalty)
            elif LIMITS["ridge"].exact(solver, n) or self._multiplies(training):
                result, sums = self._solve_exactly(training, y, penalty, fit_path)
            else:
                result, sums = self._solve_low_rank(training, y, penalty, fit_path)
        if choose:
            self.left_out_ = self.left_out_ * unit
        if self.solver_ == "local":
            self.leaf_coef_ = (unit * self.leaf_coef_).astype(training.X.dtype, copy=False)
        self.dual_coef_ = (unit * result.coef).astype(training.X.dtype, copy=False)
        self.n_iter_ = result.iterations
        self.residual_ = result.gap
        return result, None if sums is None else unit * sums

    def _multiplies(self, training: Training) -> bool:
        """Whether "auto" means products with K, since its rows are not cheap."""
        return self.solver == "auto" and "rows" not in self.gram_between(training.X).cheap

    def _solve_exactly(
        self,
        training: Training,
        y: np.ndarray,
        penalty: float | np.ndarray,
        fit_path: FitPath | None,
    ) -> tuple[Result, np.ndarray]:
        """Coefficients of all rows, and residual sums."""
        w, matrices = training.weights, LIMITS["ridge"].matrices
        if training.X.dtype != np.float64:
            matrices += 1  # a nearly singular K of float32 is factorised in float64
        by_products = self.solver in ("auto", "conjugate_gradient") and not self._indefinite()
        K = self.make_gram(training.X, fit_path, matrices=matrices, multiplied=by_products)
        self.keep_support(training.X)
        held, indefinite = K.fits(matrices), self._indefinite()
        self.solver_ = solver_name(self.solver)
        if self.solver == "auto":  # of an indefinite kernel nothing but a factorisation is sound
            dense = held and "rows" in K.cheap
            self.solver_ = "cholesky" if dense or indefinite else "conjugate_gradient"
        if is_value(self.solver):
            result = solve_by_value(self.solver, K, y, w, penalty)
        elif self.solver_ == "conjugate_gradient":
            self._refuse_indefinite("conjugate_gradient")
            limit = 1000 if self.max_iter is None else self.max_iter
            nystroem = NystroemPreconditioner(self.rank, self.random_state)
            result = ConjugateGradientSolver(penalty, self.tol, limit, nystroem).solve(K, y, w)
        elif not held:
            other = "" if indefinite else ', or solver="conjugate_gradient"'
            K.refuse(matrices, "a Cholesky factorisation", other)
        elif isinstance(fit_path, PenaltyPath) and self.kernel_.positive_definite is True:
            result = fit_path.solve(K, y, w, penalty)
        else:
            result = solve_densely(K, y, w, penalty)
        return result, result.coef.sum(axis=0)  # λ W⁻¹ a = y - K a

    def _solve_low_rank(
        self,
        training: Training,
        y: np.ndarray,
        penalty: float | np.ndarray,
        fit_path: FitPath | None,
    ) -> tuple[Result, np.ndarray]:
        """Coefficients at the centres, which are all that predictions need; residual sums."""
        K = self.make_low_rank_gram(training.X, LIMITS["ridge"].rank, fit_path=fit_path)
        self.keep_support(training.X[K.centres])
        self.centres_ = np.asarray(K.centres)
        self.solver_ = "low_rank"
        factor = LowRankSolver().factorise(K, training.weights)
        result = factor.solve(y, penalty)
        self._keep_roots(factor, penalty)
        return result, factor.residual_sums(y, result.coef)

    def _sketches(
        self,
        training: Training,
        y: np.ndarray,
        penalty: float | np.ndarray,
        fit_path: FitPath | None,
    ) -> bool:
        """Whether the centres are solved for by a sketch: if asked for, or if that is faster."""
        if isinstance(self.solver, SketchedSolver):
            self._refuse_indefinite("SketchedSolver")
            return True
        n, limits = len(y), LIMITS["ridge"]
        if limits.exact(self.solver, n) or self.uncertainty or fit_path is not None:
            return False
        rank = min(self.rank or limits.rank, n)
        needed = sketch_bytes(rank, n, training.X.dtype.itemsize)
        return sketch_pays(rank, y, penalty) and self.place.holds(needed)

    def _solve_by_sketch(
        self, training: Training, y: np.ndarray, penalty: float | np.ndarray
    ) -> tuple[Result, np.ndarray]:
        """Solve as `_solve_low_rank` does, without a factor of all rows."""
        rank = min(self.rank or LIMITS["ridge"].rank, len(y))
        every = self.gram_between(training.X)
        K = centres_of_some(every, rank, self.random_state, self.place)
        self.gram_ = K.describe()
        self.keep_support(training.X[K.centres])
        self.centres_ = np.asarray(K.centres)
        self.solver_ = "low_rank"
        solver = self.solver if is_value(self.solver) else SketchedSolver()
        factor = replace(solver, penalty=penalty).factorise(K, training.weights)
        result = factor.solve(y, penalty)
        return result, factor.residual_sums(y, result.coef)

    def _solve_by_leave_one_out(self, training: Training, y: np.ndarray) -> Result:
        """The solution for the penalty of the least squared leave-one-out error, ``alpha_``.

        A row is left out with all its copies: a copy that stays would tell the answer.
        """
        self._refuse_indefinite("alpha")
        if self.solver == "local":
            return self._solve_locally(training, y)
        rows, copies, w = without_copies(training, y)
        every, X, y = training, training.X[rows], y[rows]
        n = X.shape[0]
        limits, factor, budget = LIMITS["leave one out"], None, self.place.budget()
        if limits.exact(self.solver, n):
            K = self.make_gram(X, matrices=limits.matrices)
            if K.fits(limits.matrices):
                factor = EigenSolver().factorise(K, w)
                self.keep_support(every.X)
                self.solver_ = "eigenpairs"
            elif self.solver != "auto":
                what, other = 'alpha="auto" by eigenpairs', ', or solver="low_rank"'
                K.refuse(limits.matrices, what, other)
            else:
                K.concede(limits.matrices, 'alpha="auto" by eigenpairs', 'solver="low_rank"')
        if factor is None:
            low = self.make_low_rank_gram(X, limits.rank)
            factor = LowRankSolver().factorise(low, w)
            self.keep_support(X[low.centres])
            self.centres_ = np.arange(len(every.y))[rows][low.centres]
            self.solver_ = "low_rank"
        self.alpha_, left_out = least_left_out(factor, y, w, budget)
        self._keep_roots(factor, self.alpha_)
        self.left_out_ = left_out[copies]
        result = factor.solve(y, self.alpha_)
        if self.solver_ == "low_rank" or w is None:
            return result
        shares = every.all_weights / w[copies]  # each copy has its part of the coefficient
        return replace(result, coef=(result.coef[copies].T * shares).T)

    def _solve_locally(
        self,
        training: Training,
        y: np.ndarray,
        penalty: float | np.ndarray | None = None,
        fit_path: FitPath | None = None,
    ) -> Result:
        """Coefficients of all rows, and of the centres for each leaf; None chooses the penalty."""
        rows, copies, w = slice(None), slice(None), training.weights
        if penalty is None:
            rows, copies, w = without_copies(training, y)
            training = training._replace(X=training.X[rows], weights=w)
        X, y = training.X, y[rows]
        low = self.make_low_rank_gram(X, LIMITS["local ridge"].rank, held=2, fit_path=fit_path)

        def made() -> LocalGram:
            return local_gram(low, self.leaf_rows, self.random_state)

        K = made() if fit_path is None else fit_path.shared(made, "local")
        self.keep_support(X)
        self.centres_, self.leaves_ = np.asarray(K.centres), K.leaves
        self.solver_, self.gram_ = "local", K.describe()
        jobs = leaf_jobs(K)
        if penalty is None:
            self.alpha_ = self._penalty_of_leaves(K, training, y, jobs)
            solved = LocalSolver(self.alpha_, jobs).solve_and_leave_out(K, y, w)
            if not solved[0].converged:  # the rounding of K is larger in some other leaf
                self.alpha_ *= 10
                solved = LocalSolver(self.alpha_, jobs).solve_and_leave_out(K, y, w)
            result, left_out = solved
            self.left_out_ = left_out[copies]
        else:
            result = LocalSolver(penalty, jobs).solve(K, y, w)
        self.leaf_coef_ = leaf_coefficients(K, result.coef)
        return result

    def _keep_roots(self, factor: EigenFactor | LowRankFactor, penalty: float | np.ndarray) -> None:
        """Keep the variance of a process of low rank, for each λ."""
        if self.uncertainty and self.solver_ == "low_rank":
            low = cast(LowRankFactor, factor)
            roots = [low_rank_root(low.pairs, low.K.lift, each) for each in np.unique(penalty)]
            self.roots_ = np.stack(roots)

    def _change_outputs(self, change: Callable[[np.ndarray], np.ndarray]) -> None:
        """Change the coefficients, whose last axis is that of the outputs."""
        self.dual_coef_ = change(self.dual_coef_)
        if self.solver_ == "local":
            self.leaf_coef_ = change(self.leaf_coef_)

    def _penalty_of_leaves(self, K: LocalGram, training: Training, y: np.ndarray, jobs) -> float:
        """The λ of the least squared leave-one-out error in some leaves.

        1,400 rows choose where to begin. As the noise of a Gaussian process λ would not change with
        the number of rows; for a kernel that is rougher than the target it grows.
        """
        some, rows = K.some(JUDGED_LEAVES)
        w = None if training.weights is None else training.weights[rows]
        judged = mixed_outputs(y[rows])
        share = np.ones(len(rows)) if w is None else w

        @cache
        def error(step: int) -> float:
            penalty = begin * np.sqrt(10.0) ** step
            if penalty < least:
                return np.inf  # it cannot be told from none
            solved, left_out = LocalSolver(penalty, jobs).solve_and_leave_out(some, judged, w)
            if not solved.converged:
                return np.inf
            squares = np.square(left_out - judged).reshape(len(rows), -1).sum(axis=1)
            return float(squares @ share)

        least = rounding_of(K, training.weights)
        begin, best = max(self._penalty_of_few(training, y), least), 0
        for direction in (1, -1):
            while abs(best) < STEPS and error(best + direction) < error(best):
                best += direction
        return float(begin * np.sqrt(10.0) ** best)

    def _penalty_of_few(self, training: Training, y: np.ndarray) -> float:
        """The λ that 1,400 rows choose among many, or fewer if memory is short."""
        n, one = training.X.shape[0], LIMITS["leave one out"].matrices * 8
        most = int(min(PENALTY_ROWS, np.sqrt(self.place.budget(one * n**2) / one)))
        some = np.sort(check_random_state(self.random_state).permutation(n)[: max(most, 2)])
        w = None if training.weights is None else training.weights[some]
        K = self.gram_between(training.X[some]).held()
        factor = EigenSolver().factorise(K, w)
        return least_left_out(factor, y[some], w, self.place.budget())[0]

    def kernel_sum(self) -> KernelSum:
        self.check_fitted()
        if self.solver_ == "local" and self.leaves_.count > 1:
            raise TypeError("The fits of different leaves are no single sum over stored rows.")
        return KernelSum.of(self.kernel_, self.X_fit_, self.dual_coef_, 0.0, self.encode_new)

    def expansions(self, X: Any) -> Iterator[Expansion]:
        """f at new samples as sums over stored ones; each sample is in one of the parts.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            Not yet encoded.
        """
        X = self.encode_new(X)

        def cross(rows: np.ndarray, stored: np.ndarray) -> GramOperator:
            return self.gram_between(X[rows], self.X_fit_[stored])

        everything, stored = np.arange(X.shape[0]), np.arange(self.X_fit_.shape[0])
        if self.solver_ != "local" or self.leaves_.count == 1:
            K = self.gram_with_support(X)
            yield Expansion(everything, stored, K, self.dual_coef_)
            return
        leaves, centres = self.leaves_, self.centres_
        for s in range(0, len(everything), STRIP):
            strip = everything[s : s + STRIP]
            found = leaves.find(cross(strip, centres) @ leaves.routes)
            for leaf in np.unique(found):
                rows, own = strip[found == leaf], leaves.rows(leaf)
                coef = np.concatenate([self.leaf_coef_[leaf], self.dual_coef_[own]])
                stored = np.concatenate([centres, own])
                yield Expansion(rows, stored, cross(rows, stored), coef)

    @finite_values
    def _evaluate(self, X: SamplesLike) -> Any:
        """f at new samples, (n,) or (n, outputs)."""
        parts = [(part.rows, part.K @ part.coef) for part in self.expansions(X)]
        if len(parts) == 1:
            return parts[0][1]
        rows = np.concatenate([rows for rows, _ in parts])
        return np.concatenate([values for _, values in parts])[np.argsort(rows)]

    def check_low_rank(self) -> None:
        """Raise ValueError if parameters, or the kernel, do not suit a fit of low rank."""
        self._check_solver()
        self._refuse_indefinite("low_rank")

    def _check_solver(self) -> None:
        """Refuse parameters of the solver out of their ranges."""
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_count("rank", self.rank)
        check_count("leaf_rows", self.leaf_rows, 2)
        check_solver(self.solver, SOLVERS, ["penalty"])
        if self.solver in ("low_rank", "local"):
            self._refuse_indefinite(self.solver)
        if is_value(self.solver) and is_auto(self.alpha):
            raise ValueError(
                f'alpha="auto" chooses the penalty by a factorisation, which '
                f"solver={self.solver!r} is not: give a number for alpha, or search with "
                'KernelSearchCV, or give solver="auto".'
            )

    def _indefinite(self) -> bool:
        return self.kernel_.positive_definite is False

    def _refuse_indefinite(self, name: str) -> None:
        """Refuse a kernel that is not positive semidefinite."""
        if self._indefinite():
            given = 'alpha="auto"' if name == "alpha" else f"solver={name!r}"
            raise ValueError(
                f"{given} needs a positive semidefinite kernel, which {self.kernel_!r} "
                'is not: use solver="cholesky" and a number for alpha.'
            )
