"""Regression by the nearest neighbours, or by all rows within a window."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import finite_fit, finite_values
from mercer.learners.neighbours.neighbour_predictor import NeighbourPredictor
from mercer.learners.neighbours.neighbour_targets import Numbers
from mercer.threads import fitting

__all__ = ["KNeighborsRegressor"]


@estimator
class KNeighborsRegressor(MultiOutputMixin, RegressorMixin, NeighbourPredictor):
    r"""Regression by neighbours: :math:`\sum_{i \le k} w_i y_{(i)} / \sum_{i \le k} w_i`.

    Samples are of any kind, with any distance or kernel between them. k and the width of a window
    can be chosen by leaving each row out, from one search.

    Parameters
    ----------

    Attributes
    ----------
    n_neighbors_, width_ : int or None, float or None
        As given, or chosen.
    loo_scores_ : dict
        If something was chosen: the leave-one-out R² of each k, width or pair (k, width).
    algorithm_, distance_, index_, X_fit_, n_samples_fit_
        As in `NearestNeighbors`.
    effective_metric_, effective_metric_params_
        As in `NearestNeighbors`.

    Notes
    -----
    Of equally near rows those of smaller index are the neighbours. Where a window is empty, the
    nearest row decides. A row of weight 2 is two neighbours.

    Examples
    --------
    >>> from mercer import KNeighborsRegressor
    >>> model = KNeighborsRegressor(2).fit([[0.0], [1.0], [2.0], [9.0]], [0.0, 10.0, 20.0, 90.0])
    >>> model.predict([[0.4], [5.0]])
    array([ 5., 15.])
    """

    n_neighbors: Any = 5
    _: KW_ONLY
    weights: Any = "uniform"
    width: Any = None
    algorithm: Any = "auto"
    leaf_size: int | None = None
    metric: Any = "minkowski"
    p: float = 2
    metric_params: dict[str, Any] | None = None
    memory: int | float | str | None = None
    n_jobs: int | None = None

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep samples X (n) and their targets y (n) or (n, outputs).

        Parameters
        ----------
        X : samples
            (n, n) distances for ``metric="precomputed"``.
        y : array-like of shape (n,) or (n, outputs)
        sample_weight : array-like of shape (n,), optional
            How many times each row counts.

        Raises
        ------
        ValueError
            There are fewer rows than neighbours, or a parameter is out of range.
        """
        self.check_parameters()
        training = self.make_training(X, y, sample_weight)
        self._one, self._dtype = training.y.ndim == 1, training.y.dtype.name
        self.learn(training, Numbers(training.y.reshape(len(training.y), -1)))
        return self

    @finite_values
    def predict(self, X: Any) -> np.ndarray:
        """The weighted mean of the neighbours for each row of X, (q,) or (q, outputs).

        Parameters
        ----------
        X : samples, or None
            None: the training rows, none of which is its own neighbour.
        """
        check_is_fitted(self)
        answers = self._targets.answers(self.sums(X)).astype(self._dtype, copy=False)
        return answers[:, 0] if self._one else answers
