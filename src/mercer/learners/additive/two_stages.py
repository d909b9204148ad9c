"""Two learners of regression, one after the other: the second fits what the first has missed."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer.estimator import estimator
from mercer.kernels import Laplacian
from mercer.learners.additive.regressor import AdditiveRegressor
from mercer.learners.base import Regressor, check_targets, check_weights, take_rows
from mercer.learners.ridge import KernelRidge
from mercer.samples import SamplesLike, read
from mercer.streams import plain_form
from mercer.threads import forget


@estimator
class TwoStageRegressor(MultiOutputMixin, Regressor, BaseEstimator):
    r"""Regression by the sum of two learners, of which the second fits what the first misses:

    .. math:: f(x) = f_1(x) + f_2(x), \qquad f_2(x) \approx y - f_1(x)

    An additive model finds the effect of each column in counts of all rows, and a kernel machine
    after it only has to find how columns act together.

    Parameters
    ----------
    first : regressor, optional
        None means ``AdditiveRegressor()``.
    second : regressor, optional
        None means ``KernelRidge("auto", kernel=Laplacian("median"))``, for columns of one scale:
        put a scaler before it in a Pipeline, or before both.

    Attributes
    ----------
    first_, second_ : regressor
        The fitted learners. ``first_.shapes_`` are the functions of the columns.
    n_features_in_ : int

    Notes
    -----
    Both learners get the same X, and the weights of rows if they take any; both are refused before
    the fit if weights are given that one of them would not read. The residuals are those of the fit
    itself, not of folds. A classifier in two stages would have to fit in log-odds: there the sum
    of kernels is the way, ``KernelLogisticRegression(kernel=first.kernel() + RBF(...))``.

    References
    ----------
    Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29,
    2001.

    Examples
    --------
    >>> from mercer import AdditiveRegressor, KernelRidge
    >>> from mercer.learners.additive import TwoStageRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    >>> y = np.exp(X[:, 0]) + np.sin(5 * X[:, 0] * X[:, 1])
    >>> model = TwoStageRegressor(AdditiveRegressor(0), second=KernelRidge(0.01, kernel="rbf"))
    >>> round(model.fit(X, y).score(X, y), 1), round(model.first_.score(X, y), 1)
    (1.0, 0.6)
    """

    first: Any = None
    _: KW_ONLY
    second: Any = None

    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X (n) and targets y of shape (n,) or (n, n_targets).

        ``sample_weight`` is a number or one per row, >= 0 and not all 0.
        """
        forget(self)
        first, second = self._stages()
        X = plain_form(X)
        if isinstance(X, list):
            _, X = read(X, "table", reader=type(self).__name__)
        y = check_targets(X, y, type(self).__name__)
        w = check_weights(X, sample_weight)
        if w is not None and not w.all():  # a row of weight 0 counts as absent
            kept = np.flatnonzero(w)
            X, y, w = take_rows(X, kept), y[kept], w[kept]
        given = {} if w is None else {"sample_weight": w}
        for name, stage in (("first", first), ("second", second)):
            if given and not has_fit_parameter(stage, "sample_weight"):
                raise ValueError(
                    f"{name}={stage!r} takes no sample_weight: leave it out, or give a learner "
                    "that takes it."
                )
        first.fit(X, y, **given)
        second.fit(X, y - first.predict(X), **given)
        self.first_, self.second_ = first, second
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        return self

    def predict(self, X: SamplesLike) -> np.ndarray:
        """f at the rows of X, of shape (n,) or (n, n_targets)."""
        check_is_fitted(self)
        return self.first_.predict(X) + self.second_.predict(X)

    def _stages(self) -> tuple[Any, Any]:
        second = KernelRidge("auto", kernel=Laplacian("median"))
        return (
            AdditiveRegressor() if self.first is None else clone(self.first),
            second if self.second is None else clone(self.second),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        stages = [get_tags(stage).input_tags for stage in self._stages()]
        for name in ("allow_nan", "sparse", "categorical", "string"):
            setattr(tags.input_tags, name, all(getattr(each, name) for each in stages))
        return tags
