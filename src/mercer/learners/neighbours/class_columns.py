"""Classes of one or several outputs, as classifiers by neighbours keep them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin
from sklearn.utils.validation import column_or_1d

from mercer.learners.base import Training, check_labels
from mercer.learners.neighbours.neighbour_targets import Classes


class ClassColumns(MultiOutputMixin, ClassifierMixin):
    """Abstract: a classifier of one or more outputs. It sets ``classes_`` and ``outputs_2d_``."""

    classes_: Any
    outputs_2d_: bool

    @abstractmethod
    def predict_proba(self, X: Any) -> Any:
        """The share of each class in the votes of the neighbours.

        Parameters
        ----------
        X : samples, or None
            None: the training rows, none of which is its own neighbour.

        Returns
        -------
        ndarray of shape (q, n_classes), or a list of them for several outputs
            Samples without neighbours have 1 for their outlier label, or 0 for all classes.
        """

    def check_classes(self, training: Training) -> Training:
        """The training samples with their classes, (n,) or (n, outputs)."""
        self.outputs_2d_ = training.y.ndim == 2 and training.y.shape[1] > 1
        if not self.outputs_2d_:
            training = training._replace(y=column_or_1d(training.y, warn=True))
        check_labels(training.y)
        return training

    def keep_classes(self, y: np.ndarray, votes: np.ndarray | None = None) -> Classes:
        """The classes as numbers, and how many votes each row has."""
        Y = y if self.outputs_2d_ else y[:, None]
        found = [np.unique(column, return_inverse=True) for column in Y.T]
        levels = [classes for classes, _ in found]
        self.classes_ = levels if self.outputs_2d_ else levels[0]
        codes = np.column_stack([code for _, code in found])
        return Classes(codes, [len(classes) for classes in levels], votes)

    def levels(self) -> list[np.ndarray]:
        """The classes of each output."""
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def labels(self, answers: np.ndarray) -> np.ndarray:
        """Classes from their numbers (q, outputs): (q,) or (q, outputs)."""
        columns = [c[code] for c, code in zip(self.levels(), answers.T)]
        return np.column_stack(columns) if self.outputs_2d_ else columns[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
