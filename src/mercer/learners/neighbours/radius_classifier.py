"""Classification by the training rows within a radius."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimator import estimator
from mercer.learners.base import finite_fit
from mercer.learners.neighbours.neighbour_targets import Classes
from mercer.learners.neighbours.predictor import ClassColumns
from mercer.learners.neighbours.radius_predictor import RadiusPredictor
from mercer.threads import fitting


@estimator
class RadiusNeighborsClassifier(ClassColumns, RadiusPredictor):
    r"""Classification by the rows within a radius:
    :math:`\arg\max_y \sum_{\rho(x, x_i) \le r} w_i [y_i = y]`.

    Samples are of any kind, with any distance or kernel between them. Samples without
    neighbours are outliers, which get a label of their own.

    Parameters
    ----------
    outlier_label : label, "most_frequent", list of labels or None, default=None
        The answer for samples without neighbours; a list has one for each output. A label that is
        not a class of y has probability 0, with a warning. None means an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of them for several outputs
    outlier_label_ : list or None
        The label of outliers for each output.
    outputs_2d_ : bool
        Whether y had several columns.
    algorithm_, distance_, index_, X_fit_, n_samples_fit_, effective_metric_,
    effective_metric_params_
        The same as in `NearestNeighbors`.

    Raises
    ------
    ValueError
        A prediction has samples without neighbours, and there is no ``outlier_label``.

    Notes
    -----
    If classes have equal votes, the first one in the order of ``classes_`` wins. A row of weight 2
    counts as two neighbours.

    See Also
    --------
    KNeighborsClassifier : With ``n_neighbors=None`` and a window the nearest row decides for
        outliers, and the width can be chosen.

    Examples
    --------
    >>> from mercer import RadiusNeighborsClassifier
    >>> from mercer.distances import Edit
    >>> words = ["haus", "maus", "house", "mouse", "laus"]
    >>> model = RadiusNeighborsClassifier(1, metric=Edit(), outlier_label="?")
    >>> model.fit(words, ["de", "de", "en", "en", "de"]).predict(["raus", "moose", "tree"]).tolist()
    ['de', 'en', '?']
    """

    _: KW_ONLY
    outlier_label: Any = None

    @fitting
    @finite_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.check_parameters()
        training = self.check_classes(self.make_training(X, y, sample_weight, numeric=False))
        targets = self.keep_classes(training.y)
        self.outlier_label_ = self._outlier_labels(targets, training.all_weights)
        self.learn(training, targets)
        return self

    def _outlier_labels(self, targets: Classes, weights: np.ndarray) -> list | None:
        """The label of outliers for each output."""
        given, levels = self.outlier_label, self.levels()
        if given is None:
            return None
        if isinstance(given, str) and given == "most_frequent":
            votes = targets.split(weights @ targets.columns())
            return [classes[v.argmax()] for classes, v in zip(levels, votes)]
        several = isinstance(given, (list, tuple, np.ndarray))
        labels = list(given) if several else [given] * len(levels)
        if len(labels) != len(levels):
            raise ValueError(
                f"outlier_label={given!r} has {len(labels)} labels, but y has {len(levels)} "
                "outputs: give one label for each, or a single one for all."
            )
        for classes, label in zip(levels, labels):
            kinds = {np.asarray(label).dtype.kind, classes.dtype.kind}
            text = len(kinds) > 1 and kinds & {"U", "S"} and "O" not in kinds
            if np.ndim(label) or text or np.append(classes, label).dtype.kind not in kinds:
                raise TypeError(
                    f"outlier_label={label!r}: give a label of the type of the classes "
                    f"{classes.tolist()[:5]}."
                )
        return labels

    def predict_proba(self, X: Any) -> Any:
        votes, outliers = self._votes(X)
        shares = []
        for j, share in enumerate(self._targets.split(votes)):
            if len(outliers):
                label = self._outlier_label(j)
                share[outliers] = self.levels()[j] == label
                if not share[outliers[0]].any():
                    warnings.warn(
                        f"Outlier label {label} is not in training classes. All class "
                        "probabilities of outliers will be assigned with 0.",
                        UserWarning,
                        stacklevel=2,
                    )
            total = share.sum(axis=1, keepdims=True)
            shares.append(share / np.where(total > 0, total, 1))
        return shares if self.outputs_2d_ else shares[0]

    def predict(self, X: Any) -> np.ndarray:
        votes, outliers = self._votes(X)
        columns = list(self.labels(self._targets.answers(votes)).reshape(len(votes), -1).T)
        for j in range(len(columns) if len(outliers) else 0):
            label = self._outlier_label(j)
            columns[j] = columns[j].astype(np.append(columns[j], label).dtype)  # of longer texts
            columns[j][outliers] = label
        return np.column_stack(columns) if self.outputs_2d_ else columns[0]

    def _votes(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The votes for each class of each output, and the samples without any."""
        check_is_fitted(self)
        votes = self.sums(X)
        outliers = np.flatnonzero(self._targets.empty(votes))
        if len(outliers) and self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for test samples {outliers[:10].tolist()}"
                + (f" and {len(outliers) - 10} more" if len(outliers) > 10 else "")
                + f" within radius={self.radius!r}: give a larger radius, an outlier_label, or "
                "leave these samples out."
            )
        return votes, outliers

    def _outlier_label(self, output: int) -> Any:
        assert self.outlier_label_ is not None
        return self.outlier_label_[output]
