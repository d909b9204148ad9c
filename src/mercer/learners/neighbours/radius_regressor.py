"""Regression by the training rows within a radius."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import finite_values
from mercer.learners.neighbours.predictor import NumberColumns
from mercer.learners.neighbours.radius_predictor import RadiusPredictor


@estimator
class RadiusNeighborsRegressor(NumberColumns, RadiusPredictor):
    r"""Regression by the rows within a radius:
    :math:`\sum_{\rho(x, x_i) \le r} w_i y_i / \sum_{\rho(x, x_i) \le r} w_i`.

    Samples are of any kind, with any distance or kernel between them.

    Attributes
    ----------
    algorithm_, distance_, index_, X_fit_, n_samples_fit_, effective_metric_,
    effective_metric_params_
        The same as in `NearestNeighbors`.

    Notes
    -----
    Where no row within the radius counts, the nearest row decides, and a warning says for how many
    samples. (scikit-learn answers NaN there.) A row of weight 2 is two neighbours.

    See Also
    --------
    NadarayaWatson : With a width that is chosen, and standard errors.

    Examples
    --------
    >>> from mercer import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(1.5).fit([[0.0], [1.0], [9.0]], [0.0, 10.0, 90.0])
    >>> model.predict([[0.5], [8.0]])
    array([ 5., 90.])
    """

    @finite_values
    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        sums = self.sums(X)
        empty = np.flatnonzero(self._targets.empty(sums))
        if len(empty):
            warnings.warn(
                f"{len(empty)} of {len(sums)} samples have no row within radius={self.radius!r} "
                "that counts: the nearest row decides.",
                UserWarning,
                stacklevel=3,
            )
            Z = None if X is None else self.encode_new(X)[empty]
            _, near = self.nearest(Z, 1)
            near = near if Z is not None else near[empty]
            sums[empty] = self._targets.filled(self._targets.sums(near, 1.0 * (near >= 0)))
        return self.numbers(self._targets.answers(sums))
