"""Kernel logistic regression: classes with probabilities that mean what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer.gram import DenseGram
from mercer.gram.low_rank import low_rank_gram, pivoted_cholesky
from mercer.learners.base import KernelLearner, describe_gram
from mercer.learners.classes import weigh_classes
from mercer.solvers.low_rank_ridge import LowRankRidge
from mercer.solvers.newton import NewtonLogistic, probabilities
from mercer.solvers.ridge_path import RidgePath

__all__ = ["KernelLogisticRegression"]

SOLVERS = ("auto", "exact", "low_rank")
EXACT_ROWS = 3000  # beyond, an eigendecomposition takes long: low rank
RANK = 1000


class KernelLogisticRegression(ClassifierMixin, KernelLearner):
    r"""Logistic regression on :math:`f(x) = \sum_i α_i k(x, x_i) + b`, multinomial for k classes:

    .. math:: \min_{α, b}\; C \sum_i w_i \left(-\log p_{y_i}(x_i)\right) + \tfrac12 α^\top K α,
              \qquad p(x) = \mathrm{softmax}\, f(x).

    Parameters
    ----------
    C : float > 0, default=1.0
        Weight of the data against the penalty, as in scikit-learn's LogisticRegression.
    kernel : kernel object, name, "precomputed" or callable, default="rbf"
        A callable takes two arrays, as in SVC.
    gamma, degree, coef0
        Of named kernels, as in `KernelRidge`.
    kernel_params : dict, optional
        Further arguments of a callable kernel.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
        A factor of the row weights. Note that probabilities then answer for the weighted classes.
    solver : {"auto", "exact", "low_rank"}, default="auto"
        "exact" takes an eigendecomposition of K, "low_rank" restricts f to ``rank`` centres.
        "auto" is exact up to 3000 rows where K fits ``memory``.
    tol : float, default=1e-10
        On what a Newton step still promises, relative to the objective.
    max_iter : int, default=100
        Newton steps.
    rank : int, optional
        Centres; None means 1000.
    memory, n_jobs, random_state
        As in `KernelRidge`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n, outputs)
        One output for two classes, else one for each class.
    intercept_ : ndarray of shape (outputs,)
    X_fit_, kernel_, solver_, gram_, n_iter_
        As in `KernelRidge`.
    objective_ : float

    Examples
    --------
    >>> from mercer import KernelLogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = KernelLogisticRegression(C=10.0, kernel="rbf", gamma=0.5).fit(X, y)
    >>> model.predict_proba([[0.0], [1.5]]).round(2)
    array([[0.11, 0.89],
           [0.5 , 0.5 ]])
    """

    _path_parameter = "C"

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        fit_intercept=True,
        class_weight=None,
        solver="auto",
        tol=1e-10,
        max_iter=100,
        rank=None,
        memory=None,
        n_jobs=None,
        random_state=None,
    ):
        self.C = C
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit to samples X (n) and classes y (n); weights mean repetition."""
        self._check_parameters()
        X = self._encode_fit(X, y)
        y = self._check_targets(X, y, numeric=False)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        w = self._check_weights(X, sample_weight)
        self._bind_present(X, y, w)
        self.classes_, codes = self._classes(y, w)
        if self.class_weight is not None:
            w = weigh_classes(self.class_weight, y, w)
        Y = (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64)
        Y = Y[:, 1:] if len(self.classes_) == 2 else Y
        solver = NewtonLogistic(1 / self.C, self.tol, self.max_iter, self.fit_intercept)
        n = X.shape[0]
        if self.solver == "low_rank" or (self.solver == "auto" and n > EXACT_ROWS):
            result, dtype = self._fit_low_rank(solver, X, Y, w), X.dtype
        else:
            result, dtype = self._fit_exact(solver, X, Y, w), X.dtype
        self.intercept_ = np.asarray(result.intercept)
        self.dual_coef_ = self.dual_coef_.astype(dtype, copy=False)
        self.n_iter_, self.objective_ = result.iterations, self.C * result.objective
        return self

    def decision_function(self, X: Any) -> Any:
        """f at the rows of X: (n,), positive for ``classes_[1]``; or (n, n_classes)."""
        f = self._outputs(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (n, n_classes)."""
        p = probabilities(self._outputs(X))
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        f = self._outputs(X)
        best = (f[:, 0] > 0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)
        return self.classes_[best]

    def _fit_exact(self, solver, X, Y, w):
        K = self._gram(X)
        path = RidgePath(K)
        held = path.eigenvalues > path.noise
        T = path.Q[:, held] * np.sqrt(path.eigenvalues[held])  # K = T Tᵀ
        result = self._newton(solver, T, Y, w)
        f = T @ result.coef.astype(T.dtype) + result.intercept
        # at the optimum B = Tᵀ α with λ α = w (y - p): exactly 0 for a row of weight 0
        residual = Y - probabilities(np.asarray(f, dtype=np.float64))
        self.dual_coef_ = (residual if w is None else w[:, None] * residual) / solver.penalty
        self.solver_ = "exact"
        return result

    def _fit_low_rank(self, solver, X, Y, w):
        kept = np.arange(X.shape[0]) if w is None or w.all() else np.flatnonzero(w)
        Y, w = Y[kept], None if w is None else w[kept]
        rank = min(self.rank or RANK, len(kept))
        if self.kernel_ is None:
            K = DenseGram(X[np.ix_(kept, kept)], symmetric=True)
            low = pivoted_cholesky(K, rank, random_state=self.random_state, n_jobs=self.n_jobs)
        else:
            low = low_rank_gram(
                self.kernel_, X[kept], rank, memory=self.memory,
                random_state=self.random_state, n_jobs=self.n_jobs,
            )  # fmt: skip
        Q = LowRankRidge(low).Q.astype(low.dtype)  # F Q has orthogonal columns
        T = np.concatenate([F @ Q for _, F in low.strips()])
        result = self._newton(solver, T, Y, w)
        coef = low.lift(Q.astype(np.float64) @ result.coef)
        self.gram_ = f"{describe_gram(low)}, rank {low.rank}"
        self.solver_ = "low_rank"
        if self.kernel_ is not None:
            self.X_fit_ = X[kept[low.centres]]
            self.dual_coef_ = coef
        else:
            self.dual_coef_ = np.zeros((X.shape[0], coef.shape[1]))
            self.dual_coef_[kept[low.centres]] = coef
        return result

    def _newton(self, solver, T, Y, w):
        result = solver.solve(T, Y, w)
        result.warn_unless_converged("NewtonLogistic", "relative decrement")
        return result

    def _outputs(self, X: Any) -> np.ndarray:
        X = self._encode_new(X)
        return np.asarray(self._gram(X, self.X_fit_) @ self.dual_coef_ + self.intercept_)

    def _classes(self, y: np.ndarray, w: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The classes of the rows of positive weight, and codes (0 for an absent class)."""
        classes = np.unique(y if w is None else y[w > 0])
        if len(classes) < 2:
            raise ValueError(
                f"y has one class, {classes[0]!r}, among the rows of positive weight: a "
                "classifier needs at least two."
            )
        return classes, np.searchsorted(classes, np.where(np.isin(y, classes), y, classes[0]))

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: give one of {list(SOLVERS)}.")
        if not (np.isscalar(self.C) and 0 < self.C < np.inf):  # type: ignore[operator]
            raise ValueError(f"C={self.C!r}: give a finite number > 0.")
