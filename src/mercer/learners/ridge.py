"""Kernel ridge regression, and classification by regression on class indicators.

Three solvers give the same machine: Cholesky where K fits, conjugate gradients where only its
products do, and a low-rank factor where there are too many rows for either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.gram import DenseGram, GramOperator
from mercer.gram.low_rank import LowRankGram, low_rank_gram, pivoted_cholesky
from mercer.learners.base import FitPath, KernelLearner, describe_gram
from mercer.learners.classes import weigh_classes
from mercer.solvers import CholeskySolver, Result, RidgePath
from mercer.solvers.conjugate_gradient import ConjugateGradientSolver
from mercer.solvers.low_rank_ridge import LowRankRidge
from mercer.solvers.ridge_sweep import RidgeSweep

__all__ = ["KernelRidge", "KernelRidgeClassifier"]

SOLVERS = ("auto", "cholesky", "conjugate_gradient", "low_rank")
EXACT_ROWS = 20_000  # beyond, n³ / 3 operations take longer than minutes: low rank
RANK = 2000  # centres of the low-rank machine
FACTORISATIONS = 8  # for more penalties than that, one eigendecomposition is cheaper


class _Ridge(KernelLearner):
    """Abstract: (K + λ W⁻¹) a = y by the solver that is asked for or fits."""

    alpha: Any
    solver: str
    tol: float
    max_iter: int | None
    rank: int | None
    random_state: Any
    dual_coef_: Any
    _pairwise_callable = True
    _path_parameter = "alpha"
    _path: PenaltyPath | None

    def _new_path(self, models: list) -> PenaltyPath:
        return PenaltyPath([model.alpha for model in models])

    def _fit_dual(self, X: Any, y: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """Solve for ``dual_coef_``, and say how in ``solver_``, ``gram_`` and ``n_iter_``.

        Returns Σ w (y - f) / λ of each target, which an intercept is made of.
        """
        penalty = self._check_penalty(y)
        # minimise Σ w (y - K a)² + λ aᵀK a   =>   (K + λ W⁻¹) a = y
        if self._wants_low_rank(X.shape[0]):
            self.solver_, dtype = "low_rank", X.dtype
            result, sums = self._solve_low_rank(X, y, w, penalty)
        else:
            K = self._gram(X)
            dtype = K.dtype
            self.solver_ = self.solver if self.solver != "auto" else self._suitable(K)
            if self.solver_ == "cholesky" and self._path is not None:
                result = self._path.solve(self, K, y, w, penalty)
            elif self.solver_ == "cholesky":
                result = _solve_exactly(K, y, w, penalty)
            else:
                self._refuse_indefinite("conjugate_gradient")
                result = self._solve_by_products(K, y, w, penalty)
            sums = result.coef.sum(axis=0)  # λ W⁻¹ a = y - K a
        self.dual_coef_ = result.coef.astype(dtype, copy=False)
        self.n_iter_ = result.iterations
        self.residual_ = result.gap
        return sums

    def _wants_low_rank(self, n: int) -> bool:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: give one of {list(SOLVERS)}.")
        if self.solver == "low_rank":
            self._refuse_indefinite("low_rank")
        return self.solver == "low_rank" or (
            self.solver == "auto" and n > EXACT_ROWS and not self._indefinite()
        )

    def _suitable(self, K: GramOperator) -> str:
        """Cholesky where K is held, or where nothing else is sound (and then it says why not)."""
        return "cholesky" if "dense" in K.cheap or self._indefinite() else "conjugate_gradient"

    def _solve_by_products(self, K, y, w, penalty) -> Result:
        limit = 1000 if self.max_iter is None else self.max_iter
        result = ConjugateGradientSolver(
            penalty, self.tol, limit, self.rank, self.random_state, self.n_jobs
        ).solve(K, y, w)
        result.warn_unless_converged("ConjugateGradientSolver", "relative residual")
        return result

    def _solve_low_rank(self, X, y, w, penalty) -> tuple[Result, np.ndarray]:
        """Coefficients at the centres, which are all that predictions need; residual sums."""
        kept = slice(None) if w is None or w.all() else np.flatnonzero(w)
        y, w = y[kept], None if w is None else w[kept]
        rank = min(self.rank or RANK, len(y))
        if self.kernel_ is None:
            K = DenseGram(X if isinstance(kept, slice) else X[np.ix_(kept, kept)], symmetric=True)
            low = pivoted_cholesky(K, rank, random_state=self.random_state, n_jobs=self.n_jobs)
        else:
            low = low_rank_gram(
                self.kernel_, X[kept], rank, memory=self.memory,
                random_state=self.random_state, n_jobs=self.n_jobs,
            )  # fmt: skip
        self.gram_ = f"{describe_gram(low)}, rank {low.rank}"
        system = LowRankRidge(low, w)
        result = _per_penalty(system.solve, y, penalty)
        result.warn_unless_converged("LowRankRidge", "relative residual")
        return self._keep_centres(X, kept, low, result), system.residual_sums(y, result.coef)

    def _keep_centres(self, X, kept, low: LowRankGram, result: Result) -> Result:
        centres = low.centres if isinstance(kept, slice) else kept[low.centres]
        if self.kernel_ is not None:
            self.X_fit_ = X[centres]
            return result
        coef = np.zeros((X.shape[0], *result.coef.shape[1:]))  # K(x, X) has all n columns
        coef[centres] = result.coef
        return Result(coef, objective=result.objective, gap=result.gap)

    def _evaluate(self, X: Any) -> Any:
        """f at new samples, (n,) or (n, outputs)."""
        X = self._encode_new(X)
        return self._gram(X, self.X_fit_) @ self.dual_coef_

    def _check_penalty(self, y: np.ndarray) -> float | np.ndarray:
        """alpha as a number, or as one for each column of y."""
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
        return self.kernel_ is not None and self.kernel_.positive_definite is False

    def _refuse_indefinite(self, solver: str) -> None:
        if self._indefinite():
            raise ValueError(
                f"solver={solver!r} needs a positive semidefinite kernel, which {self.kernel_!r} "
                'is not: use solver="cholesky".'
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

    def solve(self, learner: _Ridge, K: GramOperator, y, w, penalty) -> Result:
        """The solution for one penalty; the first call solves for all of them."""
        certain = learner.kernel_ is not None and learner.kernel_.positive_definite is True
        if not certain or penalty not in self.penalties:
            return _solve_exactly(K, y, w, penalty)
        if not self.results:
            self.results = dict(zip(self.penalties, RidgeSweep().solve(K, y, self.penalties, w)))
        result = self.results[penalty]
        result.warn_unless_converged("CholeskySolver", "backward error")
        return result


def _solve_exactly(K, y, w, penalty) -> Result:
    if np.size(np.unique(penalty)) > FACTORISATIONS:
        result = _per_penalty(RidgePath(K, w).solve, y, penalty)
    else:
        result = _per_penalty(lambda y, λ: CholeskySolver(λ).solve(K, y, w), y, penalty)
    result.warn_unless_converged("CholeskySolver", "backward error")
    return result


def _per_penalty(solve, y: np.ndarray, penalty: float | np.ndarray) -> Result:
    """solve(y, λ), for all targets that share λ at once."""
    if isinstance(penalty, float):
        return solve(y, penalty)
    parts = [(penalty == λ, solve(y[:, penalty == λ], λ)) for λ in np.unique(penalty)]
    coef = np.empty((len(parts[0][1].coef), y.shape[1]))
    for columns, part in parts:
        coef[:, columns] = part.coef
    worst = max((part for _, part in parts), key=lambda part: (not part.converged, part.gap))
    objective = sum(part.objective for _, part in parts)
    return Result(coef, 0.0, objective, worst.gap, worst.iterations, worst.converged, worst.reason)


class KernelRidge(MultiOutputMixin, RegressorMixin, _Ridge):
    r"""Kernel ridge regression: :math:`f(x) = \sum_i α_i k(x, x_i)` with

    .. math:: α = \arg\min \sum_i w_i (y_i - f(x_i))^2 + λ α^\top K α
                = (K + λ W^{-1})^{-1} y.

    The parameters of scikit-learn's KernelRidge mean what they mean there.

    Parameters
    ----------
    alpha : float >= 0 or array of shape (n_targets,), default=1
        λ, or one for each target.
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
        α; with ``solver_ == "low_rank"`` at the centres alone.
    X_fit_ : encoded samples
        That ``dual_coef_`` belongs to: the training samples, or the centres.
    kernel_ : Kernel
        As bound to the training samples; None when precomputed.
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
    whole path of λ: `mercer.solvers.RidgePath`.

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
        alpha=1,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit to samples X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0.
        """
        X = self._encode_fit(X, y)
        y = self._check_targets(X, y)
        w = self._check_weights(X, sample_weight)
        self._bind_present(X, y, w)
        self._fit_dual(X, y, w)
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
    X_fit_, kernel_, solver_, gram_, residual_, n_iter_
        As in `KernelRidge`.

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
        alpha=1.0,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit to samples X (n) and classes y (n), or to (n, labels) indicators 0 and 1."""
        X = self._encode_fit(X, y)
        y = self._check_targets(X, y, numeric=False)
        check_classification_targets(y)
        if np.ndim(self.alpha):
            raise ValueError(f"alpha={self.alpha!r}: give a number; all classes share the penalty.")
        w = self._check_weights(X, sample_weight)
        self._bind_present(X, y, w)
        present = slice(None) if w is None else w > 0
        self._binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(y[present])
        multilabel = self._binarizer.y_type_.startswith("multilabel")
        if not multilabel:
            y = column_or_1d(y, warn=True)
        self.classes_ = self._binarizer.classes_
        if len(self.classes_) < 2 and not multilabel:
            raise ValueError(
                f"y has one class, {self.classes_[0]!r}, among the rows of positive weight: a "
                "classifier needs at least two."
            )
        if self.class_weight is not None:
            w = weigh_classes(self.class_weight, y, w)
        if not multilabel:  # absent rows may be of absent classes: their targets do not count
            y = np.where(True if w is None else w > 0, y, self.classes_[0])
        Y = np.asarray(self._binarizer.transform(y), dtype=np.float64)
        self._fit_targets(X, Y, w)
        return self

    def _fit_targets(self, X: Any, Y: np.ndarray, w: np.ndarray | None) -> None:
        """Set ``dual_coef_`` and ``intercept_`` for targets of shape (n, outputs)."""
        outputs = Y.shape[1]
        if self.fit_intercept:
            # a(y - b) = a(y) - b a(1), and an intercept makes the residuals λ W⁻¹ a sum to 0
            sums = self._fit_dual(X, np.column_stack([Y, np.ones(len(Y))]), w)
            b = sums[:-1] / sums[-1]
            a = self.dual_coef_
            self.dual_coef_ = a[:, :-1] - a[:, -1:] * b.astype(a.dtype)
        else:
            self._fit_dual(X, Y, w)
            b = np.zeros(outputs)
        self.intercept_ = b if outputs > 1 else float(b[0])
        if outputs == 1:
            self.dual_coef_ = self.dual_coef_[:, 0]

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
