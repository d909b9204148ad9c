"""Support vector machines, with scikit-learn's parameters and fitted attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.gram import DenseGram, GramOperator, TiledGram
from mercer.gram.memory import memory_budget
from mercer.gram.precision import in_single_precision
from mercer.kernels import as_kernel
from mercer.learners.base import FitPath, KernelLearner, describe_gram
from mercer.learners.calibration import Calibration, calibrate
from mercer.solvers.result import Reason
from mercer.solvers.smo import (
    ROUNDED_ROWS,
    DualProblem,
    SmoResult,
    SmoSolver,
)

__all__ = ["SVC", "SVR"]

MOST_ROUNDS = 10_000  # of the solver, where max_iter is -1


class _SupportVectorMachine(KernelLearner, ABC):
    """Abstract: what SVC and SVR share: the solver, the support vectors, their attributes."""

    C: float
    gamma: float | str
    degree: int
    coef0: float
    tol: float
    max_iter: int
    _n_support: np.ndarray
    _path_parameter = "C"
    _path: WarmStarts | None

    def _new_path(self, models: list) -> WarmStarts:
        return WarmStarts()

    @abstractmethod
    def _pair_coef(self) -> np.ndarray:
        """β at the support vectors for each machine, (support vectors, machines)."""

    def _check_parameters(self) -> None:
        for name, low, strict in (("C", 0, True), ("tol", 0, True), ("epsilon", 0, False)):
            value: Any = getattr(self, name, 1.0)
            known = isinstance(value, (int, float, np.number))
            if not (known and (value > low or (value == low and not strict))):
                raise ValueError(
                    f"{name}={value!r}: must be a number {'>' if strict else '>='} {low}."
                )
        if np.isinf(self.C):
            raise ValueError(
                f"C={self.C!r}: must be finite. A large value such as 1e6 comes close to a hard "
                "margin."
            )
        if not (self.max_iter == -1 or self.max_iter >= 1):
            raise ValueError(f"max_iter={self.max_iter!r}: give -1 (no limit of yours) or >= 1.")

    def _samples_and_weights(self, X: Any, y: Any, sample_weight: Any):
        """Encoded rows of positive weight, their targets, weights and numbers in X."""
        X = self._encode_fit(X, y)
        y = self._check_targets(X, y, numeric=isinstance(self, SVR))
        y = column_or_1d(y, warn=True)
        w = self._check_weights(X, sample_weight)
        n = X.shape[0]
        if w is not None and self._weighted_scale():
            self.kernel_ = self._with_weighted_scale(X, w)
        self.shape_fit_ = tuple(X.shape)
        if self.kernel_ is not None and not self.kernel_.symmetric:
            raise TypeError(
                f"{self.kernel_!r} is not symmetric; {type(self).__name__} needs k(x, z) = k(z, x)."
            )
        kept = np.arange(n) if w is None else np.flatnonzero(w)
        if len(kept) < n:  # weight 0 equals absence
            X = X[np.ix_(kept, kept)] if self.kernel_ is None else X[kept]
            y = y[kept]
        return X, y, np.ones(len(kept)) if w is None else w[kept], kept

    def _weighted_scale(self) -> bool:
        return isinstance(self.kernel, str) and self.gamma == "scale"

    def _with_weighted_scale(self, X: Any, w: np.ndarray) -> Any:
        """The named kernel with γ = 1 / (d · var(X)), each row counted as often as it weighs."""
        A = X.toarray() if sp.issparse(X) else X
        mean = np.average(A, weights=w, axis=0).mean()
        variance = float(np.average((A - mean) ** 2, weights=w, axis=0).mean())
        gamma = 1 / (A.shape[1] * variance) if variance > 0 else 1.0
        given = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        return None if self.kernel_ is None else as_kernel(self.kernel, **given).bind(X)

    def _operator(self, X: Any, bounds: np.ndarray) -> GramOperator:
        """K for SMO, which asks for rows: they are computed as they are needed, and cached."""
        if self.kernel_ is None:
            X = np.ascontiguousarray(X)
        if self.kernel_ is None or self._path is not None:
            return self._gram(X)
        if X.shape[0] >= ROUNDED_ROWS:
            X = in_single_precision(self.kernel_, X, min(1e-5, self._solver().room(bounds)))
        K = TiledGram(self.kernel_, X, n_jobs=self.n_jobs)
        self.gram_ = describe_gram(K)
        return K

    def _solver(self) -> SmoSolver:
        return SmoSolver(
            tol=self.tol,
            max_rounds=MOST_ROUNDS if self.max_iter == -1 else self.max_iter,
            cache_bytes=int(0.8 * memory_budget(self.memory)),
            n_jobs=self.n_jobs,
            stop=None if self._path is None else self._path.stopped.is_set,
        )

    def _solve(self, K: GramOperator, problem: DualProblem, machine: int = 0) -> SmoResult:
        """The dual of one machine; along a path it starts from where the last one ended."""
        path = self._path
        start = None if path is None else path.start(machine, problem.C)
        result = self._solver().solve(K, problem, start)
        if path is not None:
            path.keep(machine, problem.C, result)
        return result

    def _store_certificate(self, results: list[SmoResult]) -> None:
        self.objective_ = float(sum(r.objective for r in results))
        self.dual_gap_ = float(max(r.gap for r in results))
        self.converged_ = all(r.converged for r in results)
        self.fit_status_ = 0 if self.converged_ else 1
        self.solver_ = "batch SMO"
        worst = max(results, key=lambda r: (not r.converged, r.gap))
        worst.warn_unless_converged("Batch SMO", "duality gap")

    def _store_support(self, X: Any, support: np.ndarray, kept: np.ndarray) -> None:
        self.support_ = kept[support].astype(np.int32)
        if self.kernel_ is None:
            self.support_vectors_ = np.empty((0, 0))
            self.X_fit_ = np.empty((self.shape_fit_[0], 0))  # K itself is not kept
        else:
            self.X_fit_ = self.support_vectors_ = X[support]

    def _values(self, X: Any, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """K(X, support) @ coef + intercept: predictions touch the support vectors alone."""
        check_is_fitted(self)
        if self.kernel_ is None:
            X = self._encode_new(X)
            return X[:, self.support_] @ coef.astype(X.dtype) + intercept.astype(X.dtype)
        X = self._encode_new(X)
        if not len(self.support_):
            return np.repeat(intercept[None].astype(X.dtype), X.shape[0], axis=0)
        K = TiledGram(self.kernel_, X, self.X_fit_, n_jobs=self.n_jobs)
        return K @ coef.astype(K.dtype) + intercept.astype(K.dtype)

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors of each class (SVC) or in all (SVR)."""
        check_is_fitted(self)
        return self._n_support

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for ``kernel="linear"`` alone."""
        if not self._is_linear():
            raise AttributeError('coef_ is only available with kernel="linear".')
        check_is_fitted(self)
        return np.asarray(self._pair_coef().T @ self.support_vectors_)


class WarmStarts(FitPath):
    """Machines that differ in C share K, and each starts from the dual variables of the last."""

    def __init__(self):
        super().__init__()
        self.last: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def start(self, machine: int, C: np.ndarray) -> np.ndarray | None:
        """The last dual variables of a machine, those at their bounds moved to the new ones."""
        if machine not in self.last:
            return None
        alpha, bounds = self.last[machine]
        return np.where(alpha >= bounds, C, np.minimum(alpha, C))

    def keep(self, machine: int, C: np.ndarray, result: SmoResult) -> None:
        self.interrupted |= result.reason is Reason.INTERRUPTED
        if result.alpha is not None:
            self.last[machine] = result.alpha, C


def _with_probability(learner: SVC) -> bool:
    if learner.probability is True:
        return True
    raise AttributeError("predict_proba is available when probability=True is given before fit.")


class SVC(ClassifierMixin, _SupportVectorMachine):
    r"""Support vector classification with any kernel.

    The dual of the soft margin: maximise
    :math:`\sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)` over
    :math:`0 \le \alpha_i \le C w_i`, :math:`\sum_i \alpha_i y_i = 0`; several classes one
    against one.

    Parameters
    ----------
    C : float > 0, default=1.0
        Penalty of an error; larger fits closer.
    kernel : str, Kernel, "precomputed" or callable, default="rbf"
        A kernel object of `mercer.kernels` may compare anything: categories, tables ...
    degree, gamma, coef0 : as in scikit-learn, for named kernels
        Given beside a kernel object they are an error.
    shrinking, cache_size : ignored
        Accepted, and change nothing here: ``memory`` is the budget of the cache.
    probability : bool, default=False
        Fit probabilities too, on the decision values of 5 folds: six times the work.
    tol : float, default=1e-3
        Largest violation of optimality.
    class_weight : dict or "balanced", optional
        Factor of C for each class.
    verbose : bool
        Accepted, and changes nothing here.
    max_iter : int, default=-1
        Rounds of the solver (working sets, not pairs as in LIBSVM); -1 is a limit of 10,000,
        which ordinary problems stay far below.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
        Break ties of votes by ``decision_function``; more than two classes, "ovr" only.
    random_state : int, RandomState or None
        Of the folds of ``probability=True``.
    memory : int, str or None
        Budget in bytes or as "4GB" for rows of K; None is half of what is free.
    n_jobs : int or None
        Threads; None means all cores.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, n_support_, class_weight_,
    shape_fit_, n_iter_, fit_status_, coef_ : as in scikit-learn
    objective_ : float
        The dual's value, summed over the pairs of classes.
    dual_gap_ : float
        Certificate: the primal's value lies within this of the dual's (the largest of all pairs).
        No bound where the kernel is not positive semidefinite.
    converged_ : bool
    solver_, gram_ : str
    kernel_ : Kernel
        Bound to the training sample.
    X_fit_ : samples
        The support vectors, encoded.

    Notes
    -----
    Weights mean repetition: weight 2 is the row twice, weight 0 no row.

    Examples
    --------
    >>> model = SVC().fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-0.5], [3.0]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=False,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        memory=None,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to samples X and class labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
            (n, n) for ``kernel="precomputed"``.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Raises
        ------
        ValueError
            A parameter is out of range, there is one class, or X, y, weights do not fit.
        """
        self._check_parameters()
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f'decision_function_shape={self.decision_function_shape!r}: give "ovr" or "ovo".'
            )
        X, y, w, kept = self._samples_and_weights(X, y, sample_weight)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity: class labels must be finite.")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has the one class {self.classes_[0]!r} (rows of weight 0 do not count); the "
                "number of classes has to be greater than one."
            )
        self.class_weight_ = self._class_weights(codes, w)
        bounds = self.C * w * self.class_weight_[codes]
        # pairs of classes share one matrix, where it fits the budget
        K = self._operator(X, bounds) if len(self.classes_) == 2 else self._gram(X)
        results, beta = self._solve_pairs(K, X, codes, bounds, warm=True)
        support = np.flatnonzero(np.any(beta != 0, axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        self._store_support(X, support, kept)
        self._store_certificate(results)
        self._n_support = np.bincount(codes[support], minlength=len(self.classes_)).astype(np.int32)
        self.n_iter_ = np.array([r.iterations for r in results], dtype=np.int32)
        self.intercept_ = np.array([r.intercept for r in results])
        self.dual_coef_ = self._by_class(beta[support], codes[support])
        if self.probability is True:
            self._fit_probabilities(K, X, codes, bounds)
        return self

    def _class_weights(self, codes: np.ndarray, w: np.ndarray) -> np.ndarray:
        k = len(self.classes_)
        if self.class_weight is None:
            return np.ones(k)
        if self.class_weight == "balanced":
            return w.sum() / (k * np.bincount(codes, w, k))
        if not isinstance(self.class_weight, dict):
            raise ValueError(f'class_weight={self.class_weight!r}: give a dict or "balanced".')
        unknown = [c for c in self.class_weight if c not in self.classes_.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight has the class {unknown[0]!r}, which y lacks: "
                f"{self.classes_.tolist()}."
            )
        weights = np.array([self.class_weight.get(c, 1.0) for c in self.classes_.tolist()], float)
        if not (weights > 0).all():
            raise ValueError(f"class_weight={self.class_weight!r}: weights must be > 0.")
        return weights

    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes_)), 2))

    def _solve_pairs(
        self,
        K: GramOperator,
        X: Any,
        codes: np.ndarray,
        bounds: np.ndarray,
        warm: bool = False,
    ) -> tuple[list[SmoResult], np.ndarray]:
        """One machine for each pair of classes; their results, and β of shape (n, pairs)."""
        pairs = self._pairs()
        beta = np.zeros((len(codes), len(pairs)))
        results, solver = [], self._solver()
        for column, (first, second) in enumerate(pairs):
            # Two classes: positive is the second, as in scikit-learn; else the first of the pair.
            positive = second if len(self.classes_) == 2 else first
            rows = np.flatnonzero((codes == first) | (codes == second))
            labels = np.where(codes[rows] == positive, 1.0, -1.0)
            part = K if len(rows) == len(codes) else self._restrict(K, X, rows)
            problem = DualProblem.classification(labels, bounds[rows])
            result = self._solve(part, problem, column) if warm else solver.solve(part, problem)
            beta[rows, column] = result.coef
            results.append(result)
        return results, beta

    def _restrict(self, K: GramOperator, X: Any, rows: np.ndarray) -> GramOperator:
        """K between some of the rows."""
        if isinstance(K, DenseGram):
            return DenseGram(np.ascontiguousarray(K.block(rows, rows)), symmetric=True)
        return TiledGram(self.kernel_, X[rows], n_jobs=self.n_jobs)

    def _by_class(self, beta: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """scikit-learn's layout: row r of a support vector of class c belongs to the pair of c
        with the r-th of the other classes; shape (classes - 1, support vectors)."""
        out = np.zeros((len(self.classes_) - 1, len(codes)))
        for column, (first, second) in enumerate(self._pairs()):
            out[second - 1, codes == first] = beta[codes == first, column]
            out[first, codes == second] = beta[codes == second, column]
        return out

    def _pair_coef(self) -> np.ndarray:
        """β at the support vectors for each pair, (support vectors, pairs)."""
        codes = np.repeat(np.arange(len(self.classes_)), self._n_support)
        beta = np.zeros((len(codes), len(self.intercept_)))
        for column, (first, second) in enumerate(self._pairs()):
            beta[codes == first, column] = self.dual_coef_[second - 1, codes == first]
            beta[codes == second, column] = self.dual_coef_[first, codes == second]
        return beta

    def _pair_values(self, X: Any) -> np.ndarray:
        """f of each pair, (n, pairs)."""
        check_is_fitted(self)
        return self._values(X, self._pair_coef(), self.intercept_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance, (n,), positive for ``classes_[1]``; for more classes votes refined by
        distances (n, classes), or with "ovo" the pairs' values (n, pairs)."""
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return values if self.decision_function_shape == "ovo" else _votes(values, self._pairs())

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row, (n,): by votes of the pairs, ties to the first class."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(int)]
        votes = _votes(values, self._pairs())
        if not self.break_ties:  # the fractions break ties; without them votes are integers
            votes = np.round(votes)
        return self.classes_[votes.argmax(axis=1)]

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """One score a class, from which probabilities are calibrated: (n, classes)."""
        if len(self.classes_) == 2:
            return np.stack([-values[:, 0], values[:, 0]], axis=1)
        return _votes(values, self._pairs())

    def _fit_probabilities(self, K, X, codes, bounds) -> None:
        """Calibrate on the decision values of 5 folds, each predicted by the others."""
        scores = np.zeros((len(codes), len(self.classes_)))
        folds = int(min(5, np.bincount(codes).min()))
        if folds < 2:
            raise ValueError(
                "probability=True needs two rows of each class; class "
                f"{self.classes_[np.bincount(codes).argmin()]!r} has one."
            )
        split = StratifiedKFold(folds, shuffle=True, random_state=self.random_state)
        for train, test in split.split(codes, codes):
            part = self._restrict(K, X, train)
            X_train = None if self.kernel_ is None else X[train]
            results, beta = self._solve_pairs(part, X_train, codes[train], bounds[train])
            b = np.array([r.intercept for r in results])
            scores[test] = self._scores(K.block(test, train) @ beta + b)
        calibration = calibrate(scores, codes, with_bias=len(self.classes_) > 2)
        self.calibration_slope_, self.calibration_bias_ = calibration.slope, calibration.bias

    @available_if(_with_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class in the order of ``classes_``, (n, classes).

        For two classes the larger one is that of ``predict``; for more it is so up to ties of
        the votes and the shifts of calibration.
        """
        values = self._pair_values(X)
        return Calibration(self.calibration_slope_, self.calibration_bias_)(self._scores(values))

    @available_if(_with_probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of ``predict_proba``."""
        return np.log(self.predict_proba(X))


def _votes(values: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Votes of the pairs for each class, plus less than half a vote by the sum of distances."""
    k = max(second for _, second in pairs) + 1
    votes, sums = np.zeros((len(values), k)), np.zeros((len(values), k))
    for column, (first, second) in enumerate(pairs):
        f = values[:, column]
        votes[:, first] += f >= 0
        votes[:, second] += f < 0
        sums[:, first] += f
        sums[:, second] -= f
    return votes + sums / (3 * (np.abs(sums) + 1))  # scikit-learn's one-vs-rest decision function


class SVR(RegressorMixin, _SupportVectorMachine):
    r"""ε-insensitive support vector regression with any kernel.

    Minimise :math:`\tfrac12 \|w\|^2 + C \sum_i w_i \max(0, |y_i - f(x_i)| - \varepsilon)`.

    Parameters
    ----------
    epsilon : float >= 0, default=0.1
        Half the width of the tube in which errors cost nothing, in the units of y.
    kernel, degree, gamma, coef0, tol, C, shrinking, cache_size, verbose, max_iter, memory, n_jobs
        As in `SVC`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, shape_fit_, n_iter_,
    fit_status_, coef_ : as in scikit-learn
    objective_, dual_gap_, converged_, solver_, gram_, kernel_, X_fit_ : as in `SVC`

    Examples
    --------
    >>> model = SVR(C=10, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.predict([[1.0]]).round(1).tolist()
    [1.0]
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        memory=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Fit to samples X and numbers y.

        Parameters
        ----------
        X : array-like, sparse matrix or samples of the kernel's kind
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        self._check_parameters()
        X, y, w, kept = self._samples_and_weights(X, y, sample_weight)
        K = self._operator(X, self.C * w)
        problem = DualProblem.regression(y.astype(np.float64), self.C * w, float(self.epsilon))
        result = self._solve(K, problem)
        support = np.flatnonzero(result.coef)
        self._store_support(X, support, kept)
        self._store_certificate([result])
        self._n_support = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = result.iterations
        self.intercept_ = np.array([result.intercept])
        self.dual_coef_ = result.coef[support][None]
        return self

    def _pair_coef(self) -> np.ndarray:
        return self.dual_coef_.T

    def predict(self, X: Any) -> np.ndarray:
        """Predicted number of each row, (n,)."""
        check_is_fitted(self)
        return self._values(X, self.dual_coef_.T, self.intercept_)[:, 0]
