"""Linear support vector machines of classes and of numbers, with scikit-learn's parameters and
attributes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import (
    ClassTotals,
    OutputClassifier,
    Regressor,
    drawn_seed,
    encode_classes,
    finite_fit,
    unit_of,
    weigh_classes,
)
from mercer.learners.margin.linear_support_vectors import LinearFit, LinearSupportVectors, Solve
from mercer.samples import SamplesLike
from mercer.solvers.linear import (
    ClassDual,
    ClassRows,
    LinearDual,
    LinearResult,
    LinearRows,
    solve_lasso,
)
from mercer.streams import fit_stream
from mercer.threads import forget


@estimator
class LinearSVC(OutputClassifier, LinearSupportVectors):
    r"""Linear support vector classification, for many samples and many columns.

    For two classes, labelled y = ±1, minimise

    .. math:: \tfrac12 |w|^2 + C \sum_i v_i \ell(1 - y_i (x_i w))

    over w, with :math:`\ell(t) = \max(0, t)` or its square, and :math:`|w|_1` instead of
    :math:`\tfrac12 |w|^2` with ``penalty="l1"``. More than two classes are solved one against the
    rest, or in one problem (``multi_class="crammer_singer"``).

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1" gives few weights other than 0; it needs ``loss="squared_hinge"``, and ``dual`` must
        not be True.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer" minimises one loss over all classes and ignores ``penalty`` and ``loss``,
        as in scikit-learn.
    class_weight : dict or "balanced", optional
        Factor of C for each class. One against the rest, the rest always has factor 1, as in
        scikit-learn.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights of the columns, in the dtype of X.
    intercept_ : ndarray of shape (1,) or (classes,)
    classes_ : as in scikit-learn

    Notes
    -----
    Weights mean repetition: weight 2 counts the row twice, weight 0 leaves it out. Columns of
    different scales and a large C, with which LIBLINEAR stops at max_iter, are no problem while d,
    or the number of samples on the margin, is below a few thousand. An epoch costs O(stored
    values); a Newton step costs the same, plus the factorisation of a matrix whose order is the
    smaller of these two numbers.

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

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    multi_class: str = "ovr"
    intercept_scaling: float = 1
    class_weight: Any = None

    @finite_fit
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
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
        forget(self)
        X, y, w = self.read_rows(X, y, sample_weight, numeric=False)
        self.classes_, codes = encode_classes(y)
        weighted = w if self.class_weight is None else weigh_classes(self.class_weight, y, w)
        seed = drawn_seed(self.random_state)
        own, others = self.C * weighted, self.C * (weighted if len(self.classes_) == 2 else w)
        if whole:
            results, W = self._fit_together(X, codes, own, seed)
        else:
            results, W = self._fit_apart(X, codes, own, others, seed)
        self.store(results, W, X.dtype)
        self._conclude(results, X)
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any, checkpoint: Any = None) -> Self:
        """Fit to a stream of rows with one class for each, which may be larger than the memory.

        The solution is that of ``fit``, within ``tol``, and does not depend on the size of the
        chunks. The stream is read once for the classes, and again for each Newton step: about ten
        times in all, so it must be one that can begin anew. Memory is O(d²) for each machine. Only
        with the squared hinge loss, the l2 penalty and one machine against the rest: other fits
        need a number for each row, or are not sums over rows.

        Parameters
        ----------
        chunks : Chunks, or what it takes
            Fewer than 1,500 columns.
        checkpoint : Checkpoint or path, optional
            A file from which the same fit goes on, after its last whole reading, if it was killed.

        Examples
        --------
        >>> from mercer import Chunks
        >>> X = np.random.default_rng(0).normal(size=(1000, 3))
        >>> chunks = Chunks(X, np.where(X[:, 0] > X[:, 1], "left", "right"), rows=100)
        >>> LinearSVC().fit_chunks(chunks).predict([[1.0, 0.0, 0.0]]).tolist()
        ['left']
        """
        self._check_parameters(
            penalty=("l2",), loss=("squared_hinge", "hinge"), multi_class=("ovr",)
        )
        self._check_passes(self.loss, "squared_hinge")
        return fit_stream(ClassFit(self), chunks, checkpoint)

    def _fit_apart(self, X, codes, own, others, seed):
        """One machine, or one for each class: its rows have C ``own``, the rest ``others``."""
        k = len(self.classes_)
        positive = [1] if k == 2 else range(k)
        used = (own > 0) | (others > 0)
        rows = self._rows(X, used, len(positive))
        codes, own, others = codes[used], own[used], others[used]

        def machine(m: int) -> Solve:
            def solve() -> LinearResult:
                y, C = np.where(codes == m, 1.0, -1.0), np.where(codes == m, own, others)
                return self._solve_one(rows, y, C, seed)

            return solve

        results = self._run([machine(m) for m in positive])
        return results, np.stack([r.coef for r in results])

    def _solve_one(self, rows: LinearRows, y, C, seed: int) -> LinearResult:
        """The machine of two classes."""
        if not C.all():  # a class has weight 0
            rows = LinearRows(rows.X[np.flatnonzero(C)], rows.bias, rows.n_jobs)
            y, C = y[C > 0], C[C > 0]
        solver = self._solver(seed)
        if self.penalty == "l2":
            return solver.solve(rows, LinearDual.hinge(y, C, self.loss == "squared_hinge"))
        return solve_lasso(rows, y, C, solver)

    def _fit_together(self, X, codes, C, seed):
        """Crammer and Singer's machine; with two classes it is one vector, with 2 C."""
        k = len(self.classes_)
        rows = self._rows(X, C > 0, 1)
        codes, C = codes[C > 0], C[C > 0]
        if k == 2:
            dual = LinearDual.hinge(np.where(codes == 1, 1.0, -1.0), 2 * C, False)
            results = self._run([lambda: self._solver(seed).solve(rows, dual)])
            # ½ |w_0|² + ½ |w_1|² = ¼ |w_1 - w_0|²: half of the objective of the single vector
            results = [r.scaled(0.5) for r in results]
            return results, results[0].coef[None]
        dual = ClassDual(codes, C, k)
        results = self._run([lambda: self._solver(seed).solve(ClassRows(rows, k), dual)])
        return results, results[0].coef.reshape(k, -1)

    def _outputs(self, X: SamplesLike) -> np.ndarray:
        return self._values(X)

    def sparsify(self) -> LinearSVC:
        """Store ``coef_`` as a CSR matrix, to save memory if most weights are 0 (penalty l1)."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> LinearSVC:
        """Store ``coef_`` as an ndarray again."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self


class ClassFit(LinearFit):
    """The fit of a `LinearSVC` to a stream.

    Attributes
    ----------
    factors : ndarray of shape (classes,)
        What the weights of the rows of each class are multiplied by.
    """

    numeric: ClassVar[bool] = False
    factors: np.ndarray

    def begin(self, seen: ClassTotals) -> int:
        weight = self.learner.class_weight
        self.learner.classes_, self.factors = seen.classes(), seen.factors(weight)
        if not self.factors.all():
            raise ValueError(
                f"class_weight={weight!r}: all weights must be > 0 in a fit in "
                "chunks: leave out the rows of a class instead."
            )
        return len(self.factors) if len(self.factors) > 2 else 1

    def duals(self, y: np.ndarray, w: np.ndarray) -> list[LinearDual]:
        classes, C = self.learner.classes_, self.learner.C * w
        codes, k = np.searchsorted(classes, y), len(classes)
        own = C * self.factors[codes]
        others = own if k == 2 else C
        return [
            LinearDual.hinge(
                np.where(codes == m, 1.0, -1.0), np.where(codes == m, own, others), True
            )
            for m in ([1] if k == 2 else range(k))
        ]


@estimator
class LinearSVR(Regressor, LinearSupportVectors):
    r"""Linear support vector regression, for many samples and many columns.

    Minimise

    .. math:: \tfrac12 |w|^2 + C \sum_i v_i \max(0, |y_i - x_i w| - ε)

    over w, or the same with the square of each maximum.

    Parameters
    ----------
    epsilon : float >= 0, default=0.0
        Errors up to ε, in the units of y, cost nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The maximum in the formula, or its square.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the columns, in the dtype of X.
    intercept_ : ndarray of shape (1,)

    Notes
    -----
    Weights mean repetition: weight 2 counts the row twice, weight 0 leaves it out. The cost is that
    of `LinearSVC`.

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

    _: KW_ONLY
    epsilon: float = 0.0
    loss: str = "epsilon_insensitive"

    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._check_parameters(loss=("epsilon_insensitive", "squared_epsilon_insensitive"))
        forget(self)
        X, y, w = self.read_rows(X, y, sample_weight, numeric=True)
        rows = self._rows(X, w > 0, 1)
        squared = self.loss == "squared_epsilon_insensitive"
        unit = unit_of(y)
        y, C = y.astype(np.float64) / unit, self.C * w / (1 if squared else unit)
        dual = LinearDual.insensitive(y, C, self.epsilon / unit, squared)
        seed = drawn_seed(self.random_state)
        results = self._run([lambda: self._solver(seed).solve(rows, dual)])
        results = [results[0].scaled(unit**2)]
        self.store(results, unit * results[0].coef[None], X.dtype)
        self._conclude(results, X)
        return self

    @finite_fit
    def fit_chunks(self, chunks: Any, checkpoint: Any = None) -> Self:
        """Fit to a stream of rows and numbers, with the parameters of `LinearSVC.fit_chunks`.

        Only with ``loss="squared_epsilon_insensitive"``: the other loss needs a number for each
        row. The stream is read about six times.

        Examples
        --------
        >>> from mercer import Chunks
        >>> x = np.linspace(0, 1, 1000)[:, None]
        >>> model = LinearSVR(loss="squared_epsilon_insensitive")
        >>> model.fit_chunks(Chunks(x, 2 * x[:, 0], rows=100)).predict([[0.5]]).round(2).tolist()
        [1.0]
        """
        losses = ("epsilon_insensitive", "squared_epsilon_insensitive")
        self._check_parameters(loss=losses)
        self._check_passes(self.loss, losses[1])
        return fit_stream(RegressionFit(self), chunks, checkpoint)

    def store(self, results: list[LinearResult], W: np.ndarray, dtype: Any) -> None:
        super().store(results, W, dtype)
        self.coef_ = self.coef_[0]

    def predict(self, X: Any) -> np.ndarray:
        """x w + intercept, shape (n,)."""
        return self._values(X)[:, 0]


class RegressionFit(LinearFit):
    """The fit of a `LinearSVR` to a stream."""

    def begin(self, seen: Any) -> int:
        return 1

    def duals(self, y: np.ndarray, w: np.ndarray) -> list[LinearDual]:
        C, epsilon = self.learner.C * w, self.learner.epsilon
        y = y.astype(np.float64)
        return [LinearDual(y, C, squared=True, one_sided=False, epsilon=epsilon)]
