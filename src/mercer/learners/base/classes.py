"""The classes of targets, and class weights as factors of the weights of the rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer.samples import is_missing


class OutputClassifier(ClassifierMixin):
    """Abstract: a classifier by ``_outputs``, one for two classes, and else one for each class."""

    classes_: np.ndarray

    @abstractmethod
    def _outputs(self, X: Any) -> np.ndarray:
        """f at new samples, (n, outputs)."""

    def decision_function(self, X: Any) -> np.ndarray:
        """f at the rows of X: (n,), positive for ``classes_[1]``; or (n, n_classes)."""
        f = self._outputs(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest f for each row of X, (n,)."""
        check_is_fitted(self)
        f = self._outputs(X)
        best = (f[:, 0] > 0).astype(np.intp) if f.shape[1] == 1 else f.argmax(axis=1)
        return self.classes_[best]


def check_labels(y: np.ndarray) -> None:
    """Raise ValueError if the values of y cannot be classes: one is missing, or has a fraction.

    Examples
    --------
    >>> check_labels(np.array(["a", "b"]))
    """
    if y.dtype.kind == "O":
        rows = np.flatnonzero(is_missing(y.ravel()).reshape(len(y), -1).any(axis=1))
        if len(rows):
            raise ValueError(
                f"Input y contains NaN in row {rows[0]}; {len(rows):,} of {len(y):,} rows have no "
                "label: leave them out."
            )
    check_classification_targets(y)


def encode_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes in ascending order, and the number of each row's class in this order.

    Raises
    ------
    ValueError
        y has only one class, or has numbers that cannot be classes.

    Examples
    --------
    >>> encode_classes(np.array([3, 1, 3]))
    (array([1, 3]), array([1, 0, 1]))
    """
    if y.dtype.kind not in "biuU" or y.ndim != 1:  # integers and strings are classes, always
        check_labels(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r} (rows of weight 0 do not count): "
            "add rows of another class."
        )
    return classes, codes


def weigh_classes(class_weight: Any, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Row weights multiplied by the weight of each row's class.

    Parameters
    ----------
    class_weight : dict, "balanced" or list of these
        A dict gives the weight of each class, 1 for classes that it does not have. "balanced" is
        Σw / (classes · Σw of the class), so that all classes have the same total weight. For y
        of shape (n, labels), a list with one entry per label, or one entry for all labels; the
        factors are multiplied.
    y : ndarray of shape (n,) or, for indicators of labels, (n, labels)
    weights : ndarray of shape (n,) or None
        Weights of the rows; None means 1 for each row.

    Examples
    --------
    >>> weigh_classes("balanced", np.array(["a", "b", "b", "b"]), None)
    array([2.        , 0.66666667, 0.66666667, 0.66666667])
    """
    w = np.ones(len(y)) if weights is None else weights
    if y.ndim == 2:
        each = class_weight if isinstance(class_weight, list) else [class_weight] * y.shape[1]
        factors = [
            weigh_classes(c, column, w) / np.where(w > 0, w, 1) for c, column in zip(each, y.T)
        ]
        return w * np.prod(factors, axis=0)
    classes, codes = np.unique(y, return_inverse=True)
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weights=w)
        share = w.sum() / np.count_nonzero(totals)
        factor = np.divide(share, totals, out=np.zeros_like(totals), where=totals > 0)
    elif isinstance(class_weight, dict):
        unknown = [c for c in class_weight if c not in classes.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight has the class {unknown[0]!r}, but y does not have it: use only "
                f"classes of y, {classes.tolist()[:10]}."
            )
        factor = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
        if not ((factor >= 0) & np.isfinite(factor)).all():
            raise ValueError(f"class_weight={class_weight!r}: give finite weights >= 0.")
    else:
        raise ValueError(f'class_weight={class_weight!r}: give a dict, "balanced" or None.')
    return w * factor[codes]
