"""Linear support vector machines on vectors, with scikit-learn's parameters and attributes.

They need no kernel matrix: the weights themselves are what is solved for, in memory O(n + d)
beside the samples, dense or CSR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mercer.gram.schedule import count_jobs
from mercer.learners.base import FLOATS, ChecksTargets
from mercer.learners.classes import encode_classes, weigh_classes
from mercer.learners.machines import solve_all
from mercer.solvers.crammer_singer import ClassDual, ClassRows
from mercer.solvers.linear_dual import LinearDual, LinearResult
from mercer.solvers.linear_lasso import solve_lasso
from mercer.solvers.linear_rows import LinearRows
from mercer.solvers.linear_svm import LinearSolver
from mercer.solvers.result import Reason

__all__ = ["LinearSVC", "LinearSVR"]

Task = Callable[[Callable[[], bool]], LinearResult]


class _LinearMachine(ChecksTargets, BaseEstimator):
    """Abstract: what LinearSVC and LinearSVR share: samples, weights, the certificate."""

    C: float
    tol: float
    loss: str
    dual: bool | str
    fit_intercept: bool
    intercept_scaling: float
    max_iter: int
    verbose: int
    random_state: Any
    n_jobs: int | None

    def _check_parameters(self, **choices: tuple) -> None:
        """Numbers within their ranges, and each named argument one of its choices."""
        numbers = [("C", True), ("tol", True), ("intercept_scaling", True), ("epsilon", False)]
        for name, strict in numbers:
            value: Any = getattr(self, name, 1.0)
            known = isinstance(value, (int, float, np.number)) and np.isfinite(value)
            if not (known and (value > 0 or (value == 0 and not strict))):
                raise ValueError(
                    f"{name}={value!r}: must be a finite number {'>' if strict else '>='} 0."
                )
        if not (isinstance(self.max_iter, (int, np.integer)) and self.max_iter >= 0):
            raise ValueError(f"max_iter={self.max_iter!r}: give a whole number >= 0.")
        for name, values in {"dual": ("auto", True, False), **choices}.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: give one of {', '.join(map(repr, values))}."
                )

    def _samples(self, X: Any, y: Any, sample_weight: Any, *, numeric: bool):
        """Rows of positive weight, their targets and weights."""
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, order="C")
        y = column_or_1d(self._check_targets(X, y, numeric=numeric), warn=True)
        w = self._check_weights(X, sample_weight)
        if w is not None and not w.all():  # weight 0 equals absence
            kept = np.flatnonzero(w)
            X, y, w = X[kept], y[kept], w[kept]
        return X, y, np.ones(X.shape[0]) if w is None else w

    def _rows(self, X: Any, used: np.ndarray, machines: int) -> LinearRows:
        """The rows with positive C. Several machines share the threads, one has them all."""
        if not used.all():
            X = X[np.flatnonzero(used)]
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's entries stay as they are
            X.sum_duplicates()
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        return LinearRows(X, bias, self.n_jobs if machines == 1 else 1)

    def _solver(self, seed: int, stop: Callable[[], bool]) -> LinearSolver:
        methods = {True: "descent", False: "newton", "auto": "auto"}
        return LinearSolver(
            methods[self.dual], self.tol / 100, self.max_iter, seed,
            print if self.verbose else None, stop,
        )  # fmt: skip

    def _run(self, tasks: list[Task]) -> list[LinearResult]:
        """The machines, over threads."""
        return solve_all(tasks, min(count_jobs(self.n_jobs), len(tasks)))

    def _store(self, results: list[LinearResult], W: np.ndarray, dtype: Any) -> None:
        """Coefficients of the machines, (machines, d + 1), and the certificate."""
        self.coef_ = W[:, :-1].astype(dtype)
        scale = self.intercept_scaling if self.fit_intercept else 0.0
        self.intercept_ = (scale * W[:, -1]).astype(dtype)
        lengths = np.linalg.norm(W[:, :-1], axis=1)
        with np.errstate(divide="ignore"):
            margins = 1 / lengths
        self.margin_ = margins
        self.objective_ = float(sum(r.objective for r in results))
        self.dual_gap_ = float(sum(r.gap for r in results))
        self.converged_ = all(r.converged for r in results)
        self.n_iter_ = max(r.iterations for r in results)
        worst = max(results, key=lambda r: (not r.converged, r.gap))
        self.solver_ = worst.solver
        name = worst.solver[:1].upper() + worst.solver[1:] or "The solver"
        if self.dual not in ("auto", False) and worst.reason is Reason.LIMIT:
            name += ' (dual="auto" goes on with Newton steps)'
        worst.warn_unless_converged(name, "duality gap")

    def _values(self, X: Any) -> np.ndarray:
        """X coefᵀ + intercept, (n, machines)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        coef = self.coef_.reshape(len(self.intercept_), -1)
        return safe_sparse_dot(X, coef.T, dense_output=True) + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearSVC(ClassifierMixin, _LinearMachine):
    r"""Linear support vector classification, for many samples and many columns.

    For two classes, labelled y = ±1, minimise
    :math:`\tfrac12 |w|^2 + C \sum_i v_i \ell(1 - y_i (x_i w))` over w, with
    :math:`\ell(t) = \max(0, t)` or its square, and :math:`|w|_1` instead of
    :math:`\tfrac12 |w|^2` where ``penalty="l1"``; several classes one against the rest, or in one
    problem (``multi_class="crammer_singer"``).

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1" leaves few weights; with ``loss="squared_hinge"`` and ``dual`` not True.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    dual : {"auto", True, False}, default="auto"
        How it is solved; the solution is the same. True: coordinate descent on the dual. False:
        Newton's method on the primal, for the hinge loss too (scikit-learn has no such solver).
        "auto" takes what is cheap, and then the exact: leave it so.
    tol : float > 0, default=1e-4
        The duality gap at the end is at most tol / 100 of the objective: 1e-6, which is what
        LIBLINEAR leaves, where it converges, with the same tol.
    C : float > 0, default=1.0
        Weight of the losses.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer" minimises one loss over all classes, and has no use for ``penalty`` and
        ``loss``, as in scikit-learn.
    fit_intercept : bool, default=True
    intercept_scaling : float > 0, default=1
        The intercept is the weight of a constant column of this value, and is penalised as all
        weights are: the larger, the less.
    class_weight : dict or "balanced", optional
        Factor of C for each class; one against the rest, it is that of the one class alone, as in
        scikit-learn.
    verbose : int, default=0
        Print a line at each look at the gap.
    random_state : int, RandomState or None
        Order of the rows in coordinate descent.
    max_iter : int >= 0, default=1000
        Epochs of the descent and, counted apart, Newton steps, for each machine.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        In X's dtype.
    intercept_ : ndarray of shape (1,) or (classes,)
    classes_, n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    objective_ : float
        The minimised function's value, summed over the machines.
    dual_gap_ : float
        Certificate: ``objective_`` is at most this above the least value, and with the l2 penalty
        :math:`\tfrac12 |w - w^*|^2` is at most this, for all weights and intercepts (the latter
        over ``intercept_scaling``) together.
    margin_ : ndarray of shape (machines,)
        1 / ‖coef‖: how far the margin reaches on each side of the boundary.
    converged_ : bool
    solver_ : str

    Notes
    -----
    Weights mean repetition: weight 2 is the row twice, weight 0 no row. Unscaled columns and large
    C, on which LIBLINEAR stops at max_iter, are no obstacle while d, or the number of samples on
    the margin, is below some thousands. An epoch costs O(stored values); a Newton step that and
    the factorisation of a matrix of the smaller of these two orders.

    References
    ----------
    Fan et al., "LIBLINEAR: A Library for Large Linear Classification", JMLR 2008.
    Keerthi & DeCoste, "A Modified Finite Newton Method for Fast Solution of Large Scale Linear
    SVMs", JMLR 2005.

    Examples
    --------
    >>> model = LinearSVC().fit([[-1.0], [-2.0], [1.0], [2.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[-0.5], [3.0]]).tolist()
    ['no', 'yes']
    >>> model.dual_gap_ <= 1e-6 * model.objective_
    True
    """

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        n_jobs=None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit to samples X and class labels y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            float32 and float64 are taken as they are; CSR is not copied.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Raises
        ------
        ValueError
            A parameter is out of range, two of them exclude each other, there is one class, or X,
            y and weights do not fit.
        """
        self._check_parameters(
            penalty=("l2", "l1"),
            loss=("squared_hinge", "hinge"),
            multi_class=("ovr", "crammer_singer"),
        )
        whole = self.multi_class == "crammer_singer"
        if self.penalty == "l1" and not whole:
            if self.loss == "hinge":
                raise ValueError(
                    "penalty='l1' and loss='hinge' are not supported together: give "
                    'loss="squared_hinge" for few weights, or penalty="l2".'
                )
            if self.dual not in ("auto", False):
                raise ValueError(
                    "penalty='l1' is not supported with dual=True: give dual=\"auto\" or False."
                )
        X, y, w = self._samples(X, y, sample_weight, numeric=False)
        self.classes_, codes = encode_classes(y)
        weighted = w if self.class_weight is None else weigh_classes(self.class_weight, y, w)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        own, others = self.C * weighted, self.C * (weighted if len(self.classes_) == 2 else w)
        if whole:
            results, W = self._fit_together(X, codes, own, seed)
        else:
            results, W = self._fit_apart(X, codes, own, others, seed)
        self._store(results, W, X.dtype)
        return self

    def _fit_apart(self, X, codes, own, others, seed):
        """One machine, or one for each class, whose rows have their ``own`` C."""
        k = len(self.classes_)
        positive = [1] if k == 2 else range(k)
        used = (own > 0) | (others > 0)
        rows = self._rows(X, used, len(positive))
        codes, own, others = codes[used], own[used], others[used]

        def machine(m: int) -> Task:
            def solve(stop: Callable[[], bool]) -> LinearResult:
                y, C = np.where(codes == m, 1.0, -1.0), np.where(codes == m, own, others)
                return self._solve_one(rows, y, C, seed, stop)

            return solve

        results = self._run([machine(m) for m in positive])
        return results, np.stack([r.coef for r in results])

    def _solve_one(self, rows: LinearRows, y, C, seed: int, stop) -> LinearResult:
        if not C.all():  # a class of weight 0
            rows = LinearRows(rows.X[np.flatnonzero(C)], rows.bias, rows.n_jobs)
            y, C = y[C > 0], C[C > 0]
        solver = self._solver(seed, stop)
        if self.penalty == "l2":
            return solver.solve(rows, LinearDual.hinge(y, C, self.loss == "squared_hinge"))
        return solve_lasso(rows, y, C, solver)

    def _fit_together(self, X, codes, C, seed):
        """Crammer and Singer's machine; that of two classes is one vector, with twice the C."""
        k = len(self.classes_)
        rows = self._rows(X, C > 0, 1)
        codes, C = codes[C > 0], C[C > 0]
        if k == 2:
            dual = LinearDual.hinge(np.where(codes == 1, 1.0, -1.0), 2 * C, False)
            results = self._run([lambda stop: self._solver(seed, stop).solve(rows, dual)])
            # ½ |w_0|² + ½ |w_1|² = ¼ |w_1 - w_0|²: half of that machine's objective
            results = [r.scaled(0.5) for r in results]
            return results, results[0].coef[None]
        dual = ClassDual(codes, C, k)
        results = self._run([lambda stop: self._solver(seed, stop).solve(ClassRows(rows, k), dual)])
        return results, results[0].coef.reshape(k, -1)

    def decision_function(self, X: Any) -> np.ndarray:
        """x w + intercept: shape (n,) for two classes, (n, classes) for more.

        Positive values are on the side of ``classes_[1]``.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row of X, shape (n,)."""
        values = self.decision_function(X)
        codes = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]

    def sparsify(self) -> LinearSVC:
        """Keep ``coef_`` as a CSR matrix, which pays where most weights are 0 (penalty l1)."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> LinearSVC:
        """Keep ``coef_`` as an ndarray again."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self


class LinearSVR(RegressorMixin, _LinearMachine):
    r"""Linear support vector regression, for many samples and many columns.

    Minimise :math:`\tfrac12 |w|^2 + C \sum_i v_i \max(0, |y_i - x_i w| - ε)`, or the same with the
    square of each maximum, over w.

    Parameters
    ----------
    epsilon : float >= 0, default=0.0
        Errors up to ε, in the units of y, cost nothing.
    tol, C, fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, n_jobs
        As in `LinearSVC`.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        In X's dtype.
    intercept_ : ndarray of shape (1,)
    n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    objective_, dual_gap_, converged_, solver_ : as in `LinearSVC`
    margin_ : ndarray of shape (1,)
        1 / ‖coef‖.

    Notes
    -----
    Weights mean repetition: weight 2 is the row twice, weight 0 no row. Cost as `LinearSVC`.

    References
    ----------
    Ho & Lin, "Large-scale Linear Support Vector Regression", JMLR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> model = LinearSVR(C=100.0, epsilon=0.1).fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[10.0]]).round(1).tolist()
    [20.9]
    """

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        n_jobs=None,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to samples X and targets y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            float32 and float64 are taken as they are; CSR is not copied.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Raises
        ------
        ValueError
            A parameter is out of range, or X, y and weights do not fit.
        """
        self._check_parameters(loss=("epsilon_insensitive", "squared_epsilon_insensitive"))
        X, y, w = self._samples(X, y, sample_weight, numeric=True)
        rows = self._rows(X, w > 0, 1)
        squared = self.loss == "squared_epsilon_insensitive"
        dual = LinearDual.insensitive(y.astype(np.float64), self.C * w, self.epsilon, squared)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        results = self._run([lambda stop: self._solver(seed, stop).solve(rows, dual)])
        self._store(results, results[0].coef[None], X.dtype)
        self.coef_ = self.coef_[0]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """x w + intercept, shape (n,)."""
        return self._values(X)[:, 0]
