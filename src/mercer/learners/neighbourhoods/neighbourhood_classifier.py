"""Classification by the votes of a learnt neighbourhood."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import documented
from mercer.learners.base import encode_classes, finite_fit
from mercer.learners.neighbourhoods.neighbourhood_machine import NeighbourhoodMachine
from mercer.threads import fitting


@documented
class NeighbourhoodMachineClassifier(ClassifierMixin, NeighbourhoodMachine):
    r"""Votes of neighbours in a space that is learnt for them: the probability of a class is

    .. math:: p_c(x) = \frac{\sum_{j : y_j = c} w_j e^{-\tau \|f(x) - f(x_j)\|}}
        {\sum_j w_j e^{-\tau \|f(x) - f(x_j)\|}},

    where f has periodic features of each number and a hidden layer. It is strong where rules, maps
    and steps make the classes, and each prediction is a vote of rows that can be shown.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    members_, temperature_, kept_columns_, importances_, scaling_, n_steps_, encoder_, rows_,
    validation_rows_, validation_predictions_, n_features_in_, feature_names_in_
        They are as in `NeighbourhoodMachineRegressor`.
    validation_curve_ : list of ndarray of shape (checkpoints, 3)
        It is as there, but the loss is the mean of -log p of the right class.

    Notes
    -----
    All is as in `NeighbourhoodMachineRegressor`. The cost does not depend on the number of classes
    in training. One row at least of each class is trained on.

    Examples
    --------
    >>> from mercer import NeighbourhoodMachineClassifier
    >>> X = np.random.default_rng(0).integers(0, 4, (500, 3)).astype(float)
    >>> y = np.where(X[:, 0] == X[:, 1], "same", "other")
    >>> model = NeighbourhoodMachineClassifier(steps=200, random_state=0).fit(X, y)
    >>> model.predict([[2, 2, 0], [2, 1, 0]])
    array(['same', 'other'], dtype='<U5')
    >>> bool((y[model.reasons([[2, 2, 0]]).rows[0]] == "same").all())
    True
    """

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Fit to a table X of n rows, or an array (n, d), and classes y (n,).

        ``validation`` is as in `NeighbourhoodMachineRegressor`.
        """
        table, y, w = self._read(X, y, sample_weight, validation, numeric=False)
        self.classes_, codes = encode_classes(column_or_1d(y, warn=True))
        indicators = np.eye(len(self.classes_), dtype=np.float32)[codes]
        found = self._learn(table, codes, indicators, w, classes=True)
        self.validation_predictions_ = _normed(self._validation)
        found.conclude()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        return _normed(self._means(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row, (n,)."""
        check_is_fitted(self)
        return self.classes_[self._means(X).argmax(axis=1)]

    def _signs(self, shares: np.ndarray) -> Any:
        chosen = (shares @ self._targets).argmax(axis=1)
        return np.where(self._targets.argmax(axis=1) == chosen[:, None], 1.0, -1.0)


def _normed(votes: np.ndarray) -> np.ndarray:
    """Probabilities of float32 votes."""
    votes = votes.astype(np.float64)
    return votes / votes.sum(axis=1, keepdims=True)
