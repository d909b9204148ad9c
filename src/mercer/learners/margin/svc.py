"""Support vector machines for classes: SVC with C and NuSVC with ν, for any number of classes, and
OneClassSVM, which finds outliers of one class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import Training, finite_fit
from mercer.learners.margin.many_classes import ManyClasses
from mercer.learners.margin.support_vectors import MachineProblem, SupportVectorMachine
from mercer.learners.margin.warm_starts import CONTINUED, WarmStarts
from mercer.samples import SamplesLike
from mercer.solvers import Reason
from mercer.solvers.smo import DualProblem, SmoResult

SHARPENED = 3  # most times that NuSVC solves again with a smaller tolerance
LEAST_MARGIN = 1e-9  # smallest margin of NuSVC before the division, relative to the largest f


@estimator
class SVC(ManyClasses):
    r"""Support vector classification with any kernel.

    The dual of the soft margin: maximise

    .. math:: \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)

    over :math:`0 \le \alpha_i \le C w_i`, :math:`\sum_i \alpha_i y_i = 0`. With more than two
    classes there is one such problem for each pair of classes.

    Parameters
    ----------
    C : float > 0, default=1.0
        Penalty of an error; a larger C fits the training samples more closely. ``inf`` is the
        hard margin, and raises an error if no hyperplane separates the classes.

    Notes
    -----
    Weights mean repetition: weight 2 counts the row twice, weight 0 leaves it out. Batch SMO needs
    about as many rows of K as there are support vectors, O(n d) operations each, and O(n) memory
    in addition to its cache. With a kernel that is not positive semidefinite the dual can have
    several local maxima: the fit ends in one of them, and ``dual_gap_`` is not a bound.

    References
    ----------
    Cortes & Vapnik, "Support-vector networks", Machine Learning 20, 1995.

    Examples
    --------
    >>> model = SVC().fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-0.5], [3.0]]).tolist()
    [0, 1]
    """

    _: KW_ONLY
    C: float = 1.0

    path_parameter = "C"

    def _penalties(self, w: np.ndarray) -> np.ndarray:
        return self.C * w

    def _pair_problem(self, labels, bounds) -> DualProblem:
        return DualProblem.classification(labels, bounds)

    def leave_one_out(
        self, X: SamplesLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *,
        fit_path: Any = None,
    ) -> tuple[Any, Any] | None:  # fmt: skip
        if self.probability or isinstance(self.class_weight, str):  # weights change with the rows
            return None

        def machines(training: Training, bounds: np.ndarray, path: WarmStarts) -> Any:
            codes = self._coded(training, path)[2]
            # without its only row there is no such class
            return (self.machines(codes, bounds), 1.0) if np.bincount(codes).min() > 1 else None

        return self._left_out(machines, X, y, sample_weight, fit_path)


@estimator
class NuSVC(ManyClasses):
    r"""Support vector classification with ν in (0, 1] instead of C.

    At most a part ν of the rows is inside the margin, and at least a part ν of the rows are support
    vectors. The dual: minimise

    .. math:: \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)

    over :math:`0 \le \alpha_i \le w_i`, :math:`\sum_i \alpha_i y_i = 0`, :math:`\sum_i \alpha_i =
    \nu \sum_i w_i`. Divided by its margin, the solution is the machine of `SVC` for some C.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Must be at most twice the share of the rows in the smaller class (for each pair of classes).

    Attributes
    ----------
    objective_, dual_gap_ : float
        The same as in `SVC`, after the division by the margin.

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, "New support vector algorithms", Neural Computation
    12, 2000.

    Examples
    --------
    >>> model = NuSVC(nu=0.5).fit([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict([[-0.5], [3.0]]).tolist()
    [0, 1]
    """

    _: KW_ONLY
    nu: float = 0.5

    path_parameter = "nu"

    def _penalties(self, w: np.ndarray) -> np.ndarray:
        return w / w.mean()  # the solution is the same, and the tolerance keeps its meaning

    def _reads_again(self) -> bool:
        # `_finish` can solve again; the matrices of pairs of more classes are kept anyway
        return super()._reads_again() or len(self.classes_) == 2

    def _pair_problem(self, labels, bounds) -> DualProblem:
        smaller = min(bounds[labels > 0].sum(), bounds[labels < 0].sum())
        return DualProblem.nu_classification(
            labels, bounds, min(self.nu, 2 * smaller / bounds.sum())
        )

    def _check_totals(self, totals: np.ndarray) -> None:
        """Refuse a ν that is too large for the shares of the classes."""
        others = np.full_like(totals, totals.max()) if self._in_pairs else totals.sum() - totals
        largest = 2 * np.minimum(totals, others) / (totals + others)
        worst = int(largest.argmin())
        if self.nu > largest[worst] * (1 + 1e-12):
            names = [repr(name) for name in self.classes_.tolist()]
            pair = [names[c] for c in sorted({worst, int(totals.argmax())})]
            classes = " and ".join(pair if self._in_pairs else [names[worst], "the rest"])
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu!r} for the classes {classes} must be <= "
                f"{largest[worst]:.6g}, twice the share of the smaller class."
            )

    def _finish(self, result: SmoResult, machine: Callable[[], MachineProblem]) -> SmoResult:
        """The machine divided by its margin ρ = (ρ₊ - ρ₋) / 2, so that f = ±1 on the margin.

        (LIBSVM section 4.) The division makes the violation larger if ρ is small, so the dual is
        then solved again with a smaller tolerance first.
        """
        own = machine()
        peak = float(np.abs(own.K.diag()).max())
        least = LEAST_MARGIN * peak * sum(own.problem.sums or ()) / 2
        for _ in range(SHARPENED):
            margin = (result.levels[0] - result.levels[1]) / 2
            wanted = self._tolerance() * max(margin, least)
            if not result.converged or result.violation <= wanted:
                break
            result = own.solved(result.alpha, tol=wanted)
        margin = (result.levels[0] - result.levels[1]) / 2
        if not margin > least:
            if result.reason is Reason.INTERRUPTED:  # it has no margin yet, by which to divide
                raise KeyboardInterrupt
            raise ValueError(
                f"specified nu is infeasible: with nu={self.nu!r} there is no margin between two "
                f"classes (it is less than {least:.2g}): give a larger nu, or a kernel that "
                "separates more."
            )
        return result.scaled(1 / margin)


ROUNDINGS = 16  # largest rounding error of a decision function, in units of eps


@estimator
class OneClassSVM(OutlierMixin, SupportVectorMachine):
    r"""Outlier detection: the hyperplane farthest from the origin that has most samples beyond it.

    Minimise

    .. math:: \tfrac12 \sum_{ij} \alpha_i \alpha_j k(x_i, x_j)

    over :math:`0 \le \alpha_i \le w_i`, :math:`\sum_i \alpha_i = \nu \sum_i w_i`; a sample x is an
    outlier where :math:`f(x) = \sum_i \alpha_i k(x, x_i) - \rho < 0`.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        At most this part of the rows are outliers, and at least this part are support vectors.

    Attributes
    ----------
    offset_ : float
        ρ: ``decision_function`` is ``score_samples`` minus ρ.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola & Williamson, "Estimating the support of a
    high-dimensional distribution", Neural Computation 13, 2001.

    Examples
    --------
    >>> model = OneClassSVM(nu=0.5, gamma=1.0).fit([[0.0], [0.1], [0.2], [0.3]])
    >>> model.predict([[0.15], [5.0]]).tolist()
    [1, -1]
    """

    _: KW_ONLY
    nu: float = 0.5

    path_parameter = "nu"

    @finite_fit
    def fit(
        self,
        X: SamplesLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        fit_path: WarmStarts | None = None,
    ) -> Self:
        self._check_parameters()
        training = self.make_training(X, None, sample_weight, targets=False, fit_path=fit_path)
        bounds = self._bounds(training)
        scale = float(training.all_weights.sum() / bounds.sum())
        K, low = self._operator(training.X, bounds, fit_path)
        problem = DualProblem.one_class(bounds, float(self.nu))
        result = self._solve_one(K, problem, fit_path).scaled(scale)
        support = self._store_one(training, result, low)
        # f is 0 on the border up to rounding errors: shift f so that border rows are no outliers
        size = float(result.coef.sum()) * float(np.abs(K.diag()[support]).max())
        rounding = np.finfo(np.result_type(training.X.dtype, np.float32)).eps  # of predictions
        self.intercept_ += ROUNDINGS * float(rounding) * size
        self.offset_ = -float(self.intercept_[0])
        result.conclude(CONTINUED)
        return self

    def _bounds(self, training: Training) -> np.ndarray:
        # tol holds for weights of about 1, and if f is as large as K, so that Σ α = ν Σ w >= 1
        weights = training.all_weights / training.all_weights.mean()
        return weights * max(1.0, 1 / (float(self.nu) * len(weights)))

    def decision_function(self, X: SamplesLike) -> np.ndarray:
        """Signed score of each row, (n,): negative for outliers."""
        return self._values(X)[:, 0]

    def score_samples(self, X: SamplesLike) -> np.ndarray:
        """``decision_function`` plus ``offset_``, (n,)."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: SamplesLike) -> np.ndarray:
        """1 for rows that are like the training samples, -1 for outliers, (n,)."""
        check_is_fitted(self)
        return np.where(self.decision_function(X) >= 0, 1, -1)
