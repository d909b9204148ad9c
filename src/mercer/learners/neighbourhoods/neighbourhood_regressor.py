"""Regression and classification over a learnt neighbourhood."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import documented
from mercer.learners.base import Classifier, Regressor, encode_classes, finite_fit, finite_values
from mercer.learners.neighbourhoods.neighbourhood_machine import NeighbourhoodMachine
from mercer.samples import SamplesLike


@documented
class NeighbourhoodMachineClassifier(Classifier, NeighbourhoodMachine):
    r"""Votes of neighbours in a space that is learnt for them: the probability of a class is

    .. math:: p_c(x) = \frac{\sum_{j : y_j = c} w_j e^{-\tau \|f(x) - f(x_j)\|}}
        {\sum_j w_j e^{-\tau \|f(x) - f(x_j)\|}},

    where f has periodic features of each number and a hidden layer. It is strong where rules, maps
    and steps make the classes, and each prediction is a vote of rows that can be shown.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    validation_curve_ : list of ndarray of shape (checkpoints, 3)
        The curve of the regressor, but the loss is the mean of -log p of the right class.

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

    @finite_fit
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: Any = None,
    ) -> Self:
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

    def predict_proba(self, X: SamplesLike) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``; (n, classes)."""
        return _normed(self._means(X))

    def predict(self, X: SamplesLike) -> np.ndarray:
        """The most probable class of each row, (n,)."""
        check_is_fitted(self)
        return self.classes_[self._means(X).argmax(axis=1)]

    def signs(self, shares: np.ndarray) -> Any:
        chosen = (shares @ self._targets).argmax(axis=1)
        return np.where(self._targets.argmax(axis=1) == chosen[:, None], 1.0, -1.0)


def _normed(votes: np.ndarray) -> np.ndarray:
    """Probabilities of float32 votes."""
    votes = votes.astype(np.float64)
    return votes / votes.sum(axis=1, keepdims=True)


@documented
class NeighbourhoodMachineRegressor(MultiOutputMixin, Regressor, NeighbourhoodMachine):
    r"""The mean of the targets over the neighbours in a space that is learnt for it,

    .. math:: p(x) = \frac{\sum_j w_j e^{-\tau \|f(x) - f(x_j)\|} \, y_j}
        {\sum_j w_j e^{-\tau \|f(x) - f(x_j)\|}},

    where f has periodic features of each number and a hidden layer. It is strong where rules, maps
    and steps make the targets, and each prediction is a mean of rows that can be shown.

    Attributes
    ----------
    validation_curve_ : list of ndarray of shape (checkpoints, 3)
        An array for each member. Its columns are the number of steps, the loss of the held-out
        rows (at most 300; squared error of standardised targets), and the best temperature.

    Notes
    -----
    A step does not depend on n; with 8 numbers it takes about 1.5 ms on one core with AVX-512. A
    prediction compares a row with all training rows, 1 to 2 ns each, or with those that an index
    proposes if ``n_neighbors`` is given. Tables have numbers, dates and
    categories, and values may be missing. Weights mean repetition: copies of a row are one row of
    the sum of their weights, and never predict each other in training. After Ctrl-C the best
    network so far is kept.

    References
    ----------
    Goldberger et al., "Neighbourhood Components Analysis", NIPS 2004; Ye et al., "Revisiting
    Nearest Neighbor for Tabular Data: A Deep Tabular Baseline Two Decades Later", ICLR 2025;
    Gorishniy et al., "On Embeddings for Numerical Features in Tabular Deep Learning", NeurIPS 2022.

    Examples
    --------
    >>> from mercer import NeighbourhoodMachineRegressor
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> y = np.floor(4 * X[:, 0]) * np.floor(3 * X[:, 1])
    >>> model = NeighbourhoodMachineRegressor(steps=200, random_state=0).fit(X, y)
    >>> bool(abs(model.predict([[0.9, 0.5]])[0] - 3) < 0.5)
    True
    >>> rows = model.reasons([[0.9, 0.5]]).rows[0]
    >>> y[rows]
    array([3., 3., 3.])
    """

    @finite_fit
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: Any = None,
    ) -> Self:
        """Fit to a table X of n rows, or an array (n, d), and targets y, (n,) or (n, outputs).

        Parameters
        ----------
        X : table of n rows
        y : array-like of shape (n,) or (n, outputs)
        sample_weight : array-like of shape (n,), optional
        validation : array-like of int, optional
            Numbers of the rows that judge which epoch is kept and are not trained on, the same for
            all members: rows of other patients or of a later time, say. None draws them at
            random, as ``validation_fraction`` says.
        """
        table, y, w = self._read(X, y, sample_weight, validation, numeric=True)
        self._flat = y.ndim == 1
        Y = np.asarray(y, np.float64).reshape(len(y), -1)
        size = np.abs(Y).max(axis=0)
        size = np.where(size > 0, size, 1)
        Y = Y / size
        centre = np.average(Y, axis=0, weights=w)
        spread = np.sqrt(np.average((Y - centre) ** 2, axis=0, weights=w))
        spread = np.where(spread > 1e-12, spread, 1)
        self._centre, self._spread = centre * size, spread * size
        standard = ((Y - centre) / spread).astype(np.float32)
        found = self._learn(table, y, standard, w, classes=False)
        self.validation_predictions_ = self._answers(self._validation)
        found.conclude()
        return self

    @finite_values
    def predict(self, X: SamplesLike) -> np.ndarray:
        """p at the rows of X, of shape (n,) or (n, outputs) as y was."""
        return self._answers(self._means(X))

    def _answers(self, means: np.ndarray) -> np.ndarray:
        values = means * self._spread + self._centre
        return values[:, 0] if self._flat else values
