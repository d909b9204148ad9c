"""Classification by the nearest neighbours, or by all rows within a window."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import Training, finite_fit, finite_values, weigh_classes
from mercer.learners.neighbours.neighbour_predictor import NeighbourPredictor
from mercer.learners.neighbours.predictor import ClassColumns, NumberColumns
from mercer.samples import SamplesLike
from mercer.threads import fitting


@estimator
class KNeighborsClassifier(ClassColumns, NeighbourPredictor):
    r"""Classification by neighbours: :math:`\arg\max_y \sum_{i \le k} w_i [y_{(i)} = y]`.

    Samples are of any kind, with any distance or kernel between them. k and the width of a window
    can be chosen by leaving each row out, from one search.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Factor of the votes of each class. It does not change who is a neighbour. Rows of a class of
        weight 0 are left out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    loo_scores_ : dict
        If something was chosen: the leave-one-out accuracy (weighted by rows and classes) of each
        k, of each width, or of each pair (k, width).
    outputs_2d_ : bool
        Whether y had several columns.

    Notes
    -----
    If rows are equally near, those with the smallest index are the neighbours. If classes have
    equal votes, the first one in the order of ``classes_`` wins. If scores are equal, the smallest
    width wins, then the smallest k. If a window is empty, or a function gives weight 0 to all rows,
    the nearest row decides. A row of weight 2 counts as two neighbours; leave-one-out leaves it out
    with all of its weight. Predictions cost one search; without ``n_neighbors``, q n distances.

    See Also
    --------
    Stolp : The few rows that are enough to classify the others.

    References
    ----------
    Cover & Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information
    Theory 13, 1967.

    Examples
    --------
    >>> from mercer import KNeighborsClassifier
    >>> from mercer.distances import Edit
    >>> words = ["haus", "maus", "house", "mouse", "laus"]
    >>> model = KNeighborsClassifier(3, weights="rank", metric=Edit())
    >>> model = model.fit(words, ["de", "de", "en", "en", "de"])
    >>> model.predict(["raus", "moose"]).tolist()
    ['de', 'en']
    >>> model.predict_proba(["moose"]).round(2)
    array([[0.17, 0.83]])
    """

    _: KW_ONLY
    class_weight: Any = None

    @fitting
    @finite_fit
    def fit(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        self.check_parameters()
        training = self.make_training(X, y, sample_weight, numeric=False)
        training, votes = self._class_votes(self.check_classes(training))
        self.learn(training, self.keep_classes(training.y, votes))
        return self

    def _class_votes(self, training: Training) -> tuple[Training, np.ndarray | None]:
        """The votes of each row by its class; rows of classes of weight 0 are left out."""
        if self.class_weight is None:
            return training, None
        weights = training.all_weights
        votes = weigh_classes(self.class_weight, training.y, weights) / weights
        if not votes.any():
            raise ValueError(
                f"class_weight={self.class_weight!r} is 0 for all classes of y: give some a weight "
                "> 0."
            )
        if (votes == 0).any():
            training = training.weighed(np.where(votes > 0, weights, 0))
            if (training.all_weights == 1).all():
                training = training._replace(weights=None)
        return training, votes[votes > 0]

    @finite_values
    def predict_proba(self, X: SamplesLike) -> Any:
        check_is_fitted(self)
        shares = [v / v.sum(axis=1, keepdims=True) for v in self._targets.split(self.sums(X))]
        return shares if self.outputs_2d_ else shares[0]

    def predict(self, X: SamplesLike) -> np.ndarray:
        check_is_fitted(self)
        return self.labels(self._targets.answers(self.sums(X)))


@estimator
class KNeighborsRegressor(NumberColumns, NeighbourPredictor):
    r"""Regression by neighbours: :math:`\sum_{i \le k} w_i y_{(i)} / \sum_{i \le k} w_i`.

    Samples are of any kind, with any distance or kernel between them. k and the width of a window
    can be chosen by leaving each row out, from one search.

    Attributes
    ----------
    loo_scores_ : dict
        If something was chosen: the leave-one-out R² of each k, width or pair (k, width).

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
    def predict(self, X: SamplesLike) -> np.ndarray:
        check_is_fitted(self)
        return self.numbers(self._targets.answers(self.sums(X)))
