"""Linear support vector classification, with scikit-learn's parameters and attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer.learners.classes import encode_classes, weigh_classes
from mercer.learners.linear_support_vectors import LinearMachine, Task
from mercer.solvers.crammer_singer import ClassDual, ClassRows
from mercer.solvers.linear_dual import LinearDual, LinearResult
from mercer.solvers.linear_lasso import solve_lasso
from mercer.solvers.linear_rows import LinearRows

__all__ = ["LinearSVC"]


class LinearSVC(ClassifierMixin, LinearMachine):
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
        self._conclude(results)
        return self

    def _fit_apart(self, X, codes, own, others, seed):
        """One machine, or one for each class, whose rows have their ``own`` C."""
        k = len(self.classes_)
        positive = [1] if k == 2 else range(k)
        used = (own > 0) | (others > 0)
        rows = self._rows(X, used, len(positive))
        codes, own, others = codes[used], own[used], others[used]

        def machine(m: int) -> Task:
            def solve() -> LinearResult:
                y, C = np.where(codes == m, 1.0, -1.0), np.where(codes == m, own, others)
                return self._solve_one(rows, y, C, seed)

            return solve

        results = self._run([machine(m) for m in positive])
        return results, np.stack([r.coef for r in results])

    def _solve_one(self, rows: LinearRows, y, C, seed: int) -> LinearResult:
        if not C.all():  # a class of weight 0
            rows = LinearRows(rows.X[np.flatnonzero(C)], rows.bias, rows.n_jobs)
            y, C = y[C > 0], C[C > 0]
        solver = self._solver(seed)
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
            results = self._run([lambda: self._solver(seed).solve(rows, dual)])
            # ½ |w_0|² + ½ |w_1|² = ¼ |w_1 - w_0|²: half of that machine's objective
            results = [r.scaled(0.5) for r in results]
            return results, results[0].coef[None]
        dual = ClassDual(codes, C, k)
        results = self._run([lambda: self._solver(seed).solve(ClassRows(rows, k), dual)])
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
