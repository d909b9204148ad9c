"""Kernel ridge regression, and classification by regression on class indicators.

Three solvers give the same machine: Cholesky where K fits, conjugate gradients where only its
products do, and a low-rank factor where there are too many rows for either. The penalty may be
chosen by the leave-one-out error, which has a closed form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.gram import GramOperator, memory_budget
from mercer.learners.base import FitPath, KernelLearner, Training
from mercer.learners.classes import weigh_classes
from mercer.learners.limits import LIMITS
from mercer.solvers import CholeskySolver, ConjugateGradientSolver, LowRankRidge, Result, RidgePath
from mercer.solvers.result import worst
from mercer.solvers.ridge_sweep import RidgeSweep
from mercer.threads import blas_limit

__all__ = ["KernelRidge", "KernelRidgeClassifier"]

SOLVERS = ("auto", "cholesky", "conjugate_gradient", "low_rank")
FACTORISATIONS = 8  # for more penalties than that, one eigendecomposition is cheaper
PENALTIES = np.logspace(-8, 1, 19)  # that alpha="auto" chooses from, relative to the rows


class _Ridge(KernelLearner):
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
    ) -> tuple[Result, np.ndarray]:
        """Solve for ``dual_coef_``, and say how in ``solver_``, ``gram_`` and ``n_iter_``.

        Returns the result, and Σ w (y - f) / λ of each target, which an intercept is made of.
        """
        self._check_solver()
        vars(self).pop("left_out_", None)
        penalty = self._check_penalty(y)
        # minimise Σ w (y - K a)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y
        n = training.X.shape[0]
        with blas_limit(n):
            if isinstance(penalty, str):
                result, sums = self._solve_by_leave_one_out(training, y)
            elif LIMITS["ridge"].exact(self._solver_for(penalty), n):
                result, sums = self._solve_exactly(training, y, penalty, fit_path)
            else:
                result, sums = self._solve_low_rank(training, y, penalty, fit_path)
        self.dual_coef_ = result.coef.astype(training.X.dtype, copy=False)
        self.n_iter_ = result.iterations
        self.residual_ = result.gap
        return result, sums

    def _solve_exactly(
        self, training: Training, y: np.ndarray, penalty: Any, fit_path: FitPath | None
    ) -> tuple[Result, np.ndarray]:
        """Coefficients of all rows, and residual sums."""
        K, w = self._gram(training.X, fit_path), training.weights
        self._keep_support(training.X)
        # without a dense K nothing else is sound for an indefinite kernel (and it says why not)
        by_factor = "dense" in K.cheap or self._indefinite()
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = "cholesky" if by_factor else "conjugate_gradient"
        if self.solver_ == "conjugate_gradient":
            self._refuse_indefinite("conjugate_gradient")
            limit = 1000 if self.max_iter is None else self.max_iter
            result = ConjugateGradientSolver(
                penalty, self.tol, limit, self.rank, self.random_state, self.n_jobs
            ).solve(K, y, w)
        elif isinstance(fit_path, PenaltyPath) and self.kernel_.positive_definite is True:
            result = fit_path.solve(K, y, w, penalty)
        else:
            result = _solve_densely(K, y, w, penalty)
        return result, result.coef.sum(axis=0)  # λ W⁻¹ a = y - K a

    def _solve_low_rank(
        self, training: Training, y: np.ndarray, penalty: Any, fit_path: FitPath | None
    ) -> tuple[Result, np.ndarray]:
        """Coefficients at the centres, which are all that predictions need; residual sums."""
        K = self._low_rank_gram(training.X, LIMITS["ridge"].rank, fit_path=fit_path)
        self._keep_support(training.X[K.centres])
        self.solver_ = "low_rank"
        system = LowRankRidge(K, training.weights)
        result = _per_penalty(system.solve, y, penalty)
        return result, system.residual_sums(y, result.coef)

    def _solve_by_leave_one_out(
        self, training: Training, y: np.ndarray
    ) -> tuple[Result, np.ndarray]:
        """The same for the penalty of the least squared leave-one-out error, ``alpha_``."""
        X, w, n = training.X, training.weights, training.X.shape[0]
        limits, budget = LIMITS["leave one out"], memory_budget(self.memory)
        if limits.exact(self.solver, n) and 16 * n * n <= budget:
            system: Any = RidgePath(self._gram(X), w)
            self._keep_support(X)
            self.solver_ = "eigenpairs"
        else:
            # the normal equations hold a few rank x rank matrices in float64
            most = max(1, int(np.sqrt(budget / 64)))
            K = self._low_rank_gram(X, min(limits.rank, most))
            system = LowRankRidge(K, w)
            self._keep_support(X[K.centres])
            self.solver_ = "low_rank"
        tried = _affordable(PENALTIES, y, budget) * (n if w is None else w.sum())
        tried = tried[tried > min(system.noise, tried[-1] / 2)]  # below, rounding decides
        left_out = system.leave_one_out(y, tried)
        squares = np.square(left_out - y).reshape(len(tried), n, -1).sum(axis=2)
        errors = squares.mean(axis=1) if w is None else squares @ w
        best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
        self.alpha_, self.left_out_ = float(tried[best]), left_out[best]
        result = system.solve(y, self.alpha_)
        if self.solver_ == "low_rank":
            return result, system.residual_sums(y, result.coef)
        return result, result.coef.sum(axis=0)

    def _evaluate(self, X: Any) -> Any:
        """f at new samples, (n,) or (n, outputs)."""
        return self.cross_gram(X) @ self.dual_coef_

    def _check_solver(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: give one of {list(SOLVERS)}.")
        if self.solver == "low_rank":
            self._refuse_indefinite("low_rank")

    def _solver_for(self, penalty: Any) -> str:
        """``solver``, exact for kernels of which no part is sound."""
        return "cholesky" if self.solver == "auto" and self._indefinite() else self.solver

    def _check_penalty(self, y: np.ndarray) -> float | np.ndarray | str:
        """alpha as a number, as one for each column of y, or "auto"."""
        if isinstance(self.alpha, str):
            if self.alpha != "auto":
                raise ValueError(f'alpha={self.alpha!r}: give a penalty >= 0, or "auto".')
            self._refuse_indefinite("alpha")
            return self.alpha
        penalty = np.asarray(self.alpha, dtype=np.float64)
        outputs = 1 if y.ndim == 1 else y.shape[1]
        if penalty.ndim > 1 or (penalty.ndim == 1 and len(penalty) not in (1, outputs)):
            raise ValueError(
                f"alpha has shape {penalty.shape}, but y has {outputs} targets: give a number, or "
                "one for each target."
            )
        if not ((penalty >= 0) & np.isfinite(penalty)).all():
            raise ValueError(f"alpha={self.alpha!r}: give a finite penalty >= 0.")
        return float(penalty.flat[0]) if penalty.size == 1 else penalty

    def _indefinite(self) -> bool:
        return self.kernel_.positive_definite is False

    def _refuse_indefinite(self, name: str) -> None:
        if self._indefinite():
            given = 'alpha="auto"' if name == "alpha" else f"solver={name!r}"
            raise ValueError(
                f"{given} needs a positive semidefinite kernel, which {self.kernel_!r} "
                'is not: use solver="cholesky" and a number for alpha.'
            )


class PenaltyPath(FitPath):
    """Fits that differ in λ share K, and one sweep over their penalties.

    Parameters
    ----------
    values : list
        Of ``alpha``; those that are no numbers >= 0 are solved on their own, or refused.
    """

    def __init__(self, values: list):
        super().__init__()
        numbers = [v for v in values if isinstance(v, (int, float, np.number))]
        self.penalties = [float(v) for v in numbers if 0 <= v < np.inf]
        self.results: dict[float, Result] = {}

    def solve(self, K: GramOperator, y, w, penalty) -> Result:
        """The solution for one penalty; the first call solves for all of them."""
        if penalty not in self.penalties:
            return _solve_densely(K, y, w, penalty)
        if not self.results:
            self.results = dict(zip(self.penalties, RidgeSweep().solve(K, y, self.penalties, w)))
        return self.results[penalty]


def _solve_densely(K, y, w, penalty) -> Result:
    if np.size(np.unique(penalty)) > FACTORISATIONS:
        return _per_penalty(RidgePath(K, w).solve, y, penalty)
    return _per_penalty(lambda y, λ: CholeskySolver(λ).solve(K, y, w), y, penalty)


def _per_penalty(solve, y: np.ndarray, penalty: float | np.ndarray) -> Result:
    """solve(y, λ), for all targets that share λ at once."""
    if isinstance(penalty, float):
        return solve(y, penalty)
    parts = [(penalty == λ, solve(y[:, penalty == λ], λ)) for λ in np.unique(penalty)]
    coef = np.empty((len(parts[0][1].coef), y.shape[1]))
    for columns, part in parts:
        coef[:, columns] = part.coef
    last = worst([part for _, part in parts])
    return replace(last, coef=coef, objective=sum(part.objective for _, part in parts))


def _affordable(penalties: np.ndarray, y: np.ndarray, budget: int) -> np.ndarray:
    """As many of the penalties, spread over their range, as outputs for all rows can be held."""
    most = max(2, int(budget / 4 / (8 * y.size)))
    if len(penalties) <= most:
        return penalties
    return penalties[np.unique(np.linspace(0, len(penalties) - 1, most).round().astype(int))]


class KernelRidge(MultiOutputMixin, RegressorMixin, _Ridge):
    r"""Kernel ridge regression: :math:`f(x) = \sum_i α_i k(x, x_i)` with

    .. math:: α = \arg\min \sum_i w_i (y_i - f(x_i))^2 + λ α^\top K α
                = (K + λ W^{-1})^{-1} y.

    The parameters of scikit-learn's KernelRidge mean what they mean there.

    Parameters
    ----------
    alpha : float >= 0, array of shape (n_targets,) or "auto", default=1
        λ, or one for each target. "auto" chooses, for all targets, the one of 19 penalties from
        1e-8 n to 10 n with the least squared leave-one-out error, which costs about one fit.
    kernel : kernel object, name, "precomputed" or callable, default="linear"
        A callable takes two rows and returns a number.
    gamma : float > 0, optional
        Of a named kernel; None means 1 / n_features. Beside a kernel object it is an error.
    degree : float, default=3
        Of the polynomial kernel.
    coef0 : float, default=1
        Of the polynomial and sigmoid kernels.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    solver : {"auto", "cholesky", "conjugate_gradient", "low_rank"}, default="auto"
        "cholesky" is exact and holds K; "conjugate_gradient" is exact to ``tol`` and holds n · 10
        √n numbers; "low_rank" restricts f to ``rank`` centres and holds n · rank numbers. "auto"
        takes the first that suits: up to 20,000 rows Cholesky where K fits ``memory``, else
        conjugate gradients; beyond, low rank.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients stop.
    max_iter : int, optional
        Of conjugate gradients; None means 1000.
    rank : int, optional
        Centres of the low-rank machine (None: 2000) or of the preconditioner (None: 10 √n).
    memory : int, str or None
        Budget in bytes or as "4GB"; None means half of what is free.
    n_jobs : int or None
        Threads; None means all cores.
    random_state : int, RandomState or None
        Of the centres.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        α, of the rows of positive weight; with ``solver_ == "low_rank"`` at the centres alone.
    X_fit_ : encoded samples
        That ``dual_coef_`` belongs to: the training samples, or the centres.
    kernel_ : Kernel
        As bound to the training samples.
    alpha_ : float
        With ``alpha="auto"``, the penalty that was chosen.
    left_out_ : ndarray of the shape of y
        With ``alpha="auto"``, for each row of positive weight the prediction of the fit without it.
    solver_, gram_ : str
        The solver, and the Gram matrix that it was given, in words.
    residual_ : float
        Certificate: backward error (Cholesky) or relative residual (the others).
    n_iter_ : int

    Notes
    -----
    Weights mean repetition: weight 2 is the row twice, weight 0 its absence. A singular system
    (alpha=0 and duplicate rows, say) gets the solution of minimum norm and a ConvergenceWarning.
    There is no intercept: centre y, or add a constant kernel. Leave-one-out predictions for a
    whole path of λ: `mercer.solvers.RidgePath`. Fits that differ in alpha alone share their work by
    ``path = model.new_path(alphas)`` and ``fit(X, y, fit_path=path)``, which `KernelSearchCV` does.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 4.0])
    >>> model = KernelRidge(alpha=0.01, kernel="poly", degree=2, gamma=1.0).fit(X, y)
    >>> model.predict([[3.0]]).round(1), model.solver_
    (array([9.]), 'cholesky')
    """

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params=None,
        solver="auto",
        tol=1e-6,
        max_iter=None,
        rank=None,
        memory=None,
        n_jobs=None,
        random_state=None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, fit_path: FitPath | None = None
    ) -> Self:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0; ``fit_path`` is shared by
        fits that differ in alpha (see `new_path`).
        """
        training = self._training(X, y, sample_weight, fit_path=fit_path)
        result, _ = self._fit_dual(training, training.y, fit_path)
        result.conclude()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f at the rows of X, of shape (n,) or (n, n_targets)."""
        return self._evaluate(X)


class KernelRidgeClassifier(ClassifierMixin, _Ridge):
    """Classification by kernel ridge regression on targets +1 (the class) and -1 (the others).

    Two classes give one regression, more give one for each class; the class of the largest
    output wins. The counterpart of scikit-learn's RidgeClassifier, and far cheaper to fit than a
    support vector machine: all classes share one factorisation.

    Parameters
    ----------
    alpha, kernel, gamma, degree, coef0, kernel_params, solver, tol, max_iter, rank, memory, \
n_jobs, random_state
        As in `KernelRidge`.
    fit_intercept : bool, default=True
        Add a constant to f that is not penalised.
    class_weight : dict or "balanced", optional
        Weight of each class, a factor of its rows' weights. "balanced" gives all classes the
        same total weight.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n,) or (n, n_classes)
    intercept_ : float or ndarray of shape (n_classes,)
    X_fit_, kernel_, solver_, gram_, residual_, n_iter_, alpha_, left_out_
        As in `KernelRidge`; with ``alpha="auto"`` the intercept is the mean of the targets.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], ["same", "other", "other", "same"]
    >>> model = KernelRidgeClassifier(alpha=0.1, kernel="rbf", gamma=1.0).fit(X, y)
    >>> model.predict([[0.1, 0.9], [0.9, 0.9]])
    array(['other', 'same'], dtype='<U5')
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params=None,
        fit_intercept=True,
        class_weight=None,
        solver="auto",
        tol=1e-6,
        max_iter=None,
        rank=None,
        memory=None,
        n_jobs=None,
        random_state=None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.rank = rank
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, fit_path: FitPath | None = None
    ) -> Self:
        """Fit to samples X (n) and classes y (n), or to (n, labels) indicators 0 and 1."""
        training = self._training(X, y, sample_weight, numeric=False, fit_path=fit_path)
        y, w = training.y, training.weights
        check_classification_targets(y)
        if np.ndim(self.alpha):
            raise ValueError(f"alpha={self.alpha!r}: give a number; all classes share the penalty.")
        self._binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(y)
        if not self._binarizer.y_type_.startswith("multilabel"):
            y = column_or_1d(y, warn=True)
            if len(self._binarizer.classes_) < 2:
                raise ValueError(
                    f"y has one class, {self._binarizer.classes_[0]!r}, among the rows of positive "
                    "weight: a classifier needs at least two."
                )
        self.classes_ = self._binarizer.classes_
        training = training._replace(y=y)
        if self.class_weight is not None:
            training = training.weighed(weigh_classes(self.class_weight, y, w))
        Y = np.asarray(self._binarizer.transform(training.y), dtype=np.float64)
        self._fit_targets(training, Y, fit_path).conclude()
        return self

    def _fit_targets(self, training: Training, Y: np.ndarray, fit_path: FitPath | None) -> Result:
        """Set ``dual_coef_`` and ``intercept_`` for targets of shape (n, outputs)."""
        outputs = Y.shape[1]
        if self.fit_intercept and self.alpha == "auto":
            b = np.average(Y, axis=0, weights=training.weights)
            result, _ = self._fit_dual(training, Y - b, fit_path)
            self.left_out_ += b
        elif self.fit_intercept:
            # a(y - b) = a(y) - b a(1), and an intercept makes the residuals λ W⁻¹ a sum to 0
            with_one = np.column_stack([Y, np.ones(len(Y))])
            result, sums = self._fit_dual(training, with_one, fit_path)
            b = sums[:-1] / sums[-1]
            a = self.dual_coef_
            self.dual_coef_ = a[:, :-1] - a[:, -1:] * b.astype(a.dtype)
        else:
            result, _ = self._fit_dual(training, Y, fit_path)
            b = np.zeros(outputs)
        self.intercept_ = b if outputs > 1 else float(b[0])
        if outputs == 1:
            self.dual_coef_ = self.dual_coef_[:, 0]
        return result

    def decision_function(self, X: Any) -> np.ndarray:
        """Outputs of the regressions: (n,), positive for ``classes_[1]``; or (n, n_classes)."""
        return self._evaluate(X) + self.intercept_

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; for indicators, (n, labels) of 0 and 1."""
        check_is_fitted(self)
        f = self.decision_function(X)
        if self._binarizer.y_type_.startswith("multilabel"):
            return np.asarray(self._binarizer.inverse_transform(np.where(f > 0, 1.0, -1.0)))
        best = (f > 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
