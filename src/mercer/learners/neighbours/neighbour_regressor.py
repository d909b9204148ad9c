"""Regression by the nearest neighbours, or by all rows within a window."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import finite_values
from mercer.learners.neighbours.neighbour_predictor import NeighbourPredictor
from mercer.learners.neighbours.predictor import NumberColumns


@estimator
class KNeighborsRegressor(NumberColumns, NeighbourPredictor):
    r"""Regression by neighbours: :math:`\sum_{i \le k} w_i y_{(i)} / \sum_{i \le k} w_i`.

    Samples are of any kind, with any distance or kernel between them. k and the width of a window
    can be chosen by leaving each row out, from one search.

    Attributes
    ----------
    n_neighbors_, width_
        As in `KNeighborsClassifier`.
    loo_scores_ : dict
        If something was chosen: the leave-one-out R² of each k, width or pair (k, width).
    algorithm_, distance_, index_, X_fit_, n_samples_fit_, effective_metric_,
    effective_metric_params_
        The same as in `NearestNeighbors`.

    Notes
    -----
    If rows are equally near, those with the smallest index are the neighbours. If a window is
    empty, the nearest row decides. A row of weight 2 counts as two neighbours.

    Examples
    --------
    >>> from mercer import KNeighborsRegressor
    >>> model = KNeighborsRegressor(2).fit([[0.0], [1.0], [2.0], [9.0]], [0.0, 10.0, 20.0, 90.0])
    >>> model.predict([[0.4], [5.0]])
    array([ 5., 15.])
    """

    @finite_values
    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.numbers(self._targets.answers(self.sums(X)))
