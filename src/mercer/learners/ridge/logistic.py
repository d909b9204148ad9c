"""Kernel logistic regression: classes with probabilities that mean what they say."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import column_or_1d

from mercer.estimator import estimator
from mercer.gram import FeatureGram, GramOperator, LowRankGram
from mercer.learners.base import (
    LIMITS,
    CentreFit,
    ClassTotals,
    FitPath,
    KernelLearner,
    KernelSum,
    Limits,
    OutputClassifier,
    check_count,
    check_flag,
    check_positive,
    check_solver,
    check_targets,
    check_weights,
    encode_classes,
    finite_fit,
    finite_values,
    is_value,
    solver_name,
    weigh_classes,
)
from mercer.persistence import fields
from mercer.samples import Samples, SamplesLike
from mercer.solvers import EigenSolver, LowRankSolver, NewtonLogistic, Result
from mercer.solvers.ridge import LogisticPasses, LogisticProgress, LogisticTotal, probabilities
from mercer.streams import Chunks, count_rows, fit_stream
from mercer.threads import blas_limit

SOLVERS = ("auto", "exact", "low_rank")


@estimator
class KernelLogisticRegression(OutputClassifier, KernelLearner):
    r"""Logistic regression on :math:`f(x) = \sum_i α_i k(x, x_i) + b`, multinomial for k classes:

    .. math:: \min_{α, b}\; C \sum_i w_i \left(-\log p_{y_i}(x_i)\right) + \tfrac12 α^\top K α,
              \qquad p(x) = \mathrm{softmax}\, f(x).

    Parameters
    ----------
    C : float > 0, default=1.0
        Weight of the data against the penalty, as in scikit-learn's LogisticRegression.
    class_weight : dict or "balanced", optional
        A factor of the row weights. Note that the probabilities are then those of the weighted
        classes.
    solver : {"auto", "exact", "low_rank"} or solver value, default="auto"
        "exact" takes an eigendecomposition of K, "low_rank" restricts f to ``rank`` centres.
        "auto" is exact up to 3000 rows where four matrices of the size of K fit ``memory``.
        A value solves as `mercer.solvers.NewtonLogistic` does, on the factor that "auto" takes; C
        and ``fit_intercept`` replace its fields.
    tol : float, default=1e-10
        Stop if a Newton step would improve the objective by less, relative to its value.
    max_iter : int, default=100
        Most Newton steps.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n, outputs)
        One output for two classes, else one for each class.
    intercept_ : ndarray of shape (outputs,)
    X_fit_, solver_, gram_, n_iter_
        The same as in `KernelRidge`.
    objective_ : float
    centres_ : ndarray of shape (m,)
        Row numbers of the centres in the stream; only after ``fit_chunks``.

    References
    ----------
    Zhu & Hastie, "Kernel logistic regression and the import vector machine", Journal of
    Computational and Graphical Statistics 14, 2005.

    Examples
    --------
    >>> from mercer import KernelLogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = KernelLogisticRegression(C=10.0, kernel="rbf", gamma=0.5).fit(X, y)
    >>> model.predict_proba([[0.0], [1.5]]).round(2)
    array([[0.11, 0.89],
           [0.5 , 0.5 ]])
    """

    C: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    class_weight: Any = None
    solver: Any = "auto"
    tol: float = 1e-10
    max_iter: int = 100
    rank: int | None = None

    fitted_by = "dual_coef_"
    path_parameter = "C"

    @finite_fit
    def fit(
        self,
        X: SamplesLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        fit_path: FitPath | None = None,
    ) -> Self:
        """Fit to samples X (n) and classes y (n); weights mean repetition.

        ``fit_path`` is shared by fits that differ in C (see `new_path`).
        """
        self._check_parameters()
        training = self.make_training(X, y, sample_weight, numeric=False, fit_path=fit_path)
        training = training._replace(y=column_or_1d(training.y, warn=True))
        self.classes_, codes = encode_classes(training.y)
        if self.class_weight is not None:
            training = training.weighed(
                weigh_classes(self.class_weight, training.y, training.weights)
            )
            codes = np.searchsorted(self.classes_, training.y)
        Y = (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64)
        Y = Y[:, 1:] if len(self.classes_) == 2 else Y
        solver: Any = NewtonLogistic(tol=self.tol, max_iter=self.max_iter)
        if is_value(self.solver):
            solver = self.solver
        solver = replace(solver, penalty=1 / self.C, fit_intercept=self.fit_intercept)
        with blas_limit(training.X.shape[0]):
            K = self._exact_gram(training, fit_path)
            if K is not None:
                result, coef = self._solve_exactly(K, solver, training, Y, fit_path)
            else:
                result, coef = self._solve_low_rank(solver, training, Y, fit_path)
        self.solver_ = "low_rank" if K is None else "exact"
        if is_value(self.solver):
            self.solver_ = solver_name(self.solver)
        self.intercept_ = np.asarray(result.intercept)
        self.dual_coef_ = coef.astype(training.X.dtype, copy=False)
        self.n_iter_, self.objective_ = result.iterations, self.C * result.objective
        result.conclude()
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any, checkpoint: Any = None) -> Self:
        """Fit to a stream of samples with one class for each, by a machine of low rank.

        The stream is read once for its classes and for rows among which centres are chosen (20,000,
        or 10 for each of ``rank``), and again for each Newton step: about ten times in all, so it
        must be one that can begin anew. The machine is that of ``solver="low_rank"`` with these
        centres, within ``tol``, and does not depend on the size of the chunks. Memory does not
        depend on the number of rows; it is O((outputs rank)²).

        Parameters
        ----------
        chunks : Chunks, or what it takes
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on, after its last whole reading, if it was killed.

        Raises
        ------
        MemoryError
            The Newton matrix of all classes needs more than ``memory``.

        Examples
        --------
        >>> from mercer import Chunks
        >>> x = np.linspace(0, 6, 1000)[:, None]
        >>> chunks = Chunks(x, np.where(np.sin(x[:, 0]) > 0, "up", "down"), rows=100)
        >>> model = KernelLogisticRegression(100.0, kernel="rbf", rank=30, random_state=0)
        >>> model.fit_chunks(chunks).predict([[1.5], [4.5]]).tolist()
        ['up', 'down']
        """
        self._check_parameters()
        return fit_stream(LogisticFit(self), chunks, checkpoint)

    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (n, n_classes)."""
        p = probabilities(self._outputs(X))
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p

    def _exact_gram(self, training, fit_path) -> GramOperator | None:
        """K in memory, or None if the fit is of low rank."""
        limits = LIMITS["logistic"]
        solver = "auto" if is_value(self.solver) else self.solver
        if not limits.exact(solver, training.X.shape[0]):
            return None
        K = self.make_gram(training.X, fit_path, matrices=limits.matrices)
        if K.fits(limits.matrices):
            return K
        if self.solver == "exact":
            what, other = "an eigendecomposition", ', or solver="low_rank"'
            K.refuse(limits.matrices, what, other)
        K.concede(limits.matrices, "an exact fit", 'solver="low_rank"')
        return None

    def _solve_exactly(self, K, solver, training, Y, fit_path) -> tuple[Result, np.ndarray]:
        """The solution with all of K, and its dual coefficients."""
        self.keep_support(training.X)
        w = training.weights

        def factor() -> FeatureGram:
            """K = T Tᵀ."""
            return EigenSolver().factorise(K).features()

        low = factor() if fit_path is None else fit_path.shared(factor, "factor")
        result = solver.solve(low, Y, w)
        f = low.F @ result.coef.astype(low.dtype) + result.intercept
        # at the optimum B = Tᵀ α with λ α = w (y - p)
        residual = Y - probabilities(np.asarray(f, dtype=np.float64))
        return result, (residual if w is None else w[:, None] * residual) / solver.penalty

    def _solve_low_rank(self, solver, training, Y, fit_path) -> tuple[Result, np.ndarray]:
        """The solution with K of low rank, and its dual coefficients."""
        rank = LIMITS["logistic"].rank
        K = self.make_low_rank_gram(training.X, rank, held=1, fit_path=fit_path)
        self.keep_support(training.X[K.centres])
        factor = LowRankSolver().factorise(K)
        result = solver.solve(factor.features(), Y, training.weights)
        return result, factor.lift(result.coef)

    def kernel_sum(self) -> KernelSum:
        self.check_fitted()
        return KernelSum.of(
            self.kernel_, self.X_fit_, self.dual_coef_, self.intercept_, self.encode_new
        )

    @finite_values
    def _outputs(self, X: SamplesLike) -> np.ndarray:
        return np.asarray(self.cross_gram(X) @ self.dual_coef_ + self.intercept_)

    def _check_parameters(self) -> None:
        """Refuse parameters out of their ranges."""
        check_solver(self.solver, SOLVERS, ["penalty", "fit_intercept"])
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter, optional=False)
        check_count("rank", self.rank)
        check_flag("fit_intercept", self.fit_intercept)


# Kernel logistic regression of low rank on a stream, which is read again for each Newton step.


MATRICES = 3  # of the size of the Newton matrix: itself, its factor, and a part that is added


@fields()
class LogisticFit(CentreFit):
    """The fit of a `KernelLogisticRegression` to a stream.

    Attributes
    ----------
    factors : ndarray of shape (classes,)
        What the weights of the rows of each class are multiplied by.
    progress : LogisticProgress
    """

    limits: ClassVar[Limits] = LIMITS["logistic"]
    between: ClassVar[bool] = True
    factors: np.ndarray
    progress: LogisticProgress

    @property
    def solver(self) -> LogisticPasses:
        learner = self.learner
        return LogisticPasses(1 / learner.C, learner.tol, learner.max_iter, learner.fit_intercept)

    def open(self, chunks: Chunks) -> None:
        """Learn the classes, and choose the centres, which the learner keeps."""
        learner = self.learner
        totals = ClassTotals(type(learner).__name__)
        drawn = self.draw(chunks, lambda c: totals.add(count_rows(c.X), c.y, c.weights))
        self.choose(learner.make_training(*drawn[:3], numeric=False), *drawn[3:])
        learner.classes_, rank = totals.classes(), len(self.L)
        outputs = 1 if len(learner.classes_) == 2 else len(learner.classes_)
        needed = MATRICES * 8 * (outputs * (rank + 1)) ** 2
        if needed > learner.place.budget(needed):
            what = f"the Newton matrices of {outputs} outputs of rank {rank}"
            learner.place.refuse(needed, what, ", or a smaller rank=")
        self.progress = LogisticProgress(rank, outputs)
        self.factors = totals.factors(learner.class_weight)

    def empty(self) -> LogisticTotal:
        return self.solver.empty(self.progress)

    def beside(
        self, X: Samples, y: ArrayLike, weights: ArrayLike | None
    ) -> tuple[np.ndarray | None, ...]:
        """Indicators of the classes, and weights."""
        learner = self.learner
        y = column_or_1d(check_targets(X, y, type(learner).__name__, numeric=False))
        codes = np.searchsorted(learner.classes_, y)
        w, factors = check_weights(X, weights), self.factors[codes]
        k = len(learner.classes_)
        Y = (codes[:, None] == np.arange(k)).astype(np.float64)
        return Y[:, 1:] if k == 2 else Y, factors if w is None else factors * w

    def finish(self, total: LogisticTotal) -> Any:
        learner, rank = self.learner, len(self.L)
        with blas_limit(rank):
            result = self.solver.finish(self.progress, total)
        if result is None:
            return None
        low = LowRankGram(np.arange(rank), self.L, F=np.empty((0, rank), self.L.dtype))
        learner.solver_, learner.intercept_ = "low_rank", np.asarray(result.intercept)
        learner.dual_coef_ = low.lift(result.coef).astype(learner.X_fit_.dtype, copy=False)
        learner.n_iter_, learner.objective_ = result.iterations, learner.C * result.objective
        result.conclude()
        return learner
