"""What predictions by a number of neighbours and by those within a radius have in common: the form
of their answers, numbers or classes of one output or of several."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import column_or_1d

from mercer.estimator import estimator
from mercer.learners.base import Classifier, Regressor, Training, check_labels, finite_fit
from mercer.learners.neighbours.neighbour_learner import NeighboursLearner
from mercer.learners.neighbours.neighbour_targets import Classes, Numbers
from mercer.samples import Samples, SamplesLike
from mercer.threads import fitting


@estimator
class Predictor(NeighboursLearner):
    """Abstract: a learner that also has ``weights``, and predicts from sums over neighbours.

    ``fit`` of a subclass calls `check_parameters`, `make_training`, makes `Classes` or `Numbers` of
    the targets, and calls `learn`. Then `sums` answers for new samples.
    """

    _: KW_ONLY
    weights: Any = "uniform"

    _targets: Any = field(init=False)

    @abstractmethod
    def fit(self, X: SamplesLike, y: object, sample_weight: object = None) -> Self:
        """Keep samples X (n) and their classes or targets y (n) or (n, outputs).

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
            A parameter is out of range, or there are fewer rows than neighbours.
        TypeError
            An outlier label is of another type than the classes.
        """

    @abstractmethod
    def predict(self, X: SamplesLike) -> np.ndarray:
        """The class with most votes of the neighbours, or the weighted mean of their targets.

        Parameters
        ----------
        X : samples, or None
            None means the training rows; no row is its own neighbour.

        Returns
        -------
        ndarray of shape (q,) or (q, outputs)
        """

    @abstractmethod
    def check_parameters(self) -> None:
        """Raise an error for parameters that are invalid alone or combined."""

    @abstractmethod
    def learn(self, training: Training, targets: Classes | Numbers) -> None:
        """Build the index, choose what is to be chosen, and keep everything."""

    @abstractmethod
    def sums(self, X: Samples) -> np.ndarray:
        """What the neighbours of each row of X sum up to, (q, columns); X may be None."""

    def queries(self, X: SamplesLike) -> Any:
        """New samples, encoded; or None for the training rows."""
        if X is not None:
            return self.encode_new(X)
        if self._rows is not None:
            raise ValueError(
                "X=None means the training rows, but some of them have weight 0 and were left out: "
                "give X."
            )
        return None


class NumberColumns(MultiOutputMixin, Regressor, Predictor):
    """Abstract: a regressor of one or more outputs."""

    @fitting
    @finite_fit
    def fit(self, X: SamplesLike, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        self.check_parameters()
        training = self.make_training(X, y, sample_weight)
        y = training.y
        self._one, self._dtype = y.ndim == 1, y.dtype.name
        self.learn(training, Numbers(y.reshape(len(y), -1)))
        return self

    def numbers(self, answers: np.ndarray) -> np.ndarray:
        """Answers (q, outputs) as y was: (q,) or (q, outputs)."""
        answers = answers.astype(self._dtype, copy=False)
        return answers[:, 0] if self._one else answers


class ClassColumns(MultiOutputMixin, Classifier):
    """Abstract: a classifier of one or more outputs. It sets ``classes_`` and ``outputs_2d_``."""

    classes_: Any
    outputs_2d_: bool

    @abstractmethod
    def predict_proba(self, X: SamplesLike) -> Any:
        """The share of each class in the votes of the neighbours.

        Parameters
        ----------
        X : samples, or None
            None means the training rows; no row is its own neighbour.

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
