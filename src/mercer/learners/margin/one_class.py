"""The one-class support vector machine: a hyperplane in feature space that finds outliers."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import Training, finite_fit
from mercer.learners.margin.support_vectors import SupportVectorMachine
from mercer.learners.margin.warm_starts import CONTINUED, WarmStarts
from mercer.samples import SamplesLike
from mercer.solvers.smo import DualProblem
from mercer.threads import fitting

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

    @fitting
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
