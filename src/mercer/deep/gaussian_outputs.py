"""Classes from Gaussian outputs: what both classifiers by deep kernel machines answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from mercer.learners.base import finite_values


class GaussianOutputs(ABC):
    """Abstract: an output for each class, of some mean and of one variance for all classes.

    Define ``_outputs``, and ``classes_`` in ``fit``.
    """

    classes_: np.ndarray

    @abstractmethod
    def _outputs(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Means (q, C) and variances (q,) of the outputs for new samples."""

    @finite_values
    def _means(self, X: Any) -> np.ndarray:
        """Outputs, made smaller where they are uncertain, (q, C)."""
        check_is_fitted(self)
        means, variances = self._outputs(X)
        # MacKay, "The evidence framework applied to classification networks", 1992
        return means / np.sqrt(1 + np.pi / 4 * variances)[:, None]

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-probabilities up to a constant, (q, C); for two classes their difference, (q,)."""
        f = self._means(X)
        return f[:, 1] - f[:, 0] if f.shape[1] == 2 else f

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, (q, C)."""
        return np.exp(log_softmax(self._means(X), axis=1))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sample, (q,)."""
        f = self._means(X)
        return self.classes_[f.argmax(axis=1)]
