"""The training data of a fit: checks of targets, classes and weights against the rows of X; what is
left of them, `Training`; and what an estimator remembers of its columns.

New rows are read like the training rows: `encode_like_fitted` for samples of any kind,
`read_like_fitted` for tables.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mercer.distances import Comparison
from mercer.samples import (
    MatrixRows,
    Samples,
    SamplesLike,
    as_given,
    frame_of,
    is_frame,
    is_missing,
    kind_of,
    known_form,
    named_fields,
    plain_rows,
    plain_targets,
    same_rows,
)
from mercer.spoken import written
from mercer.tables import EncodedRows, ReadTable, rows_of

PLAIN = "biuf"  # types of arrays that `plain_targets` gives back as they are


class Classifier(ClassifierMixin):
    """Abstract: a classifier whose score reads targets in all forms that ``fit`` reads."""

    def score(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy of predictions for X, by the classes y in any form that ``fit`` reads."""
        return ClassifierMixin.score(self, X, _as_fitted(y), sample_weight)


class Regressor(RegressorMixin):
    """Abstract: a regressor whose score reads targets in all forms that ``fit`` reads."""

    def score(self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R² of predictions for X, by the targets y in any form that ``fit`` reads."""
        return super().score(X, _as_fitted(y), sample_weight)


def _as_fitted(y: ArrayLike) -> np.ndarray:
    y = plain_targets(y)
    return y[:, 0] if y.shape[1:] == (1,) else y


class OutputClassifier(ClassifierMixin):
    """Abstract: a classifier by ``_outputs``, one for two classes, and else one for each class."""

    classes_: np.ndarray
    score = Classifier.score

    @abstractmethod
    def _outputs(self, X: Samples) -> np.ndarray:
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
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r} (rows of weight 0 do not count): "
            "add rows of another class."
        )
    return classes, np.searchsorted(classes, y)


def weigh_classes(
    class_weight: dict | str | None, y: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
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


def require_targets(y: ArrayLike | None, reader: str) -> None:
    """Raise ValueError if there are no targets."""
    if y is None:
        raise ValueError(f"{reader} requires y to be passed, but the target y is None.")


def check_targets(
    X: Any, y: ArrayLike | None, reader: str, *, numeric: bool = True, several: bool = True
) -> np.ndarray:
    """y as an array with one entry for each row of X; finite floats if ``numeric``.

    With ``several`` it may also have one row of targets for each row of X.
    """
    require_targets(y, reader)
    if not (type(y) is np.ndarray and y.dtype.kind in PLAIN):
        y = plain_targets(y)
    if y.ndim not in (1, 2):
        raise ValueError(
            f"y has shape {y.shape}: give one target per row of X, or a 2-D array with one row of "
            "targets per row of X."
        )
    if y.shape[1:] == (0,):
        raise ValueError(f"y has no columns, but {reader} needs one target at least.")
    if not several and y.shape[1:] > (1,):
        raise ValueError(
            f"y has {y.shape[1]} columns, but {reader} learns one target: fit one for each column, "
            f"as sklearn.multioutput.MultiOutputClassifier({reader}()) does."
        )
    y = y if several else one_column(y)
    refuse_complex("y", y)
    n = X.shape[0]
    if len(y) != n:
        raise ValueError(
            f"y has {len(y)} rows, but X has {n}: give one target per sample. (Found input "
            "variables with inconsistent numbers of samples.)"
        )
    if numeric and y.dtype.kind in "mM":
        raise ValueError(
            f"y has {'dates' if y.dtype.kind == 'M' else 'durations'}, such as {y.flat[0]}: a "
            "regression needs numbers, such as days: "
            f"{'(y - y.min())' if y.dtype.kind == 'M' else 'y'} / numpy.timedelta64(1, 'D')."
        )
    if numeric and y.dtype.kind not in "fiub":
        try:
            y = y.astype(np.float64)
        except (TypeError, ValueError):
            place = first_word(y)
            with_comma = re.fullmatch(r"[-+]?[\d. ]*,\d+", str(y.flat[place]))
            remedy = 'pandas.read_csv(..., decimal=",", thousands=".") reads decimal commas'
            raise ValueError(
                f"y has values that are not numbers, such as {written(y.flat[place])} in row "
                f"{place // (y.size // n)}: a regression needs numbers; "
                f"{remedy if with_comma else 'for classes use a classifier'}."
            ) from None
    if numeric:
        y = y.astype(np.float64 if y.dtype != np.float32 else np.float32, copy=False)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        wrong = ~np.isfinite(y.reshape(n, -1)).all(axis=1)
        row = int(wrong.argmax())
        what = "NaN" if np.isnan(y[row]).any() else "infinity"
        raise ValueError(
            f"y contains {what} in row {row}; {int(wrong.sum())} of {n} rows have no finite "
            "target: leave them out."
        )
    return y


def one_column(y: np.ndarray) -> np.ndarray:
    """y (n,); a warning if it came as a column (n, 1), and a ValueError if it has several."""
    if y.shape[1:] > (1,):
        raise ValueError(
            f"y should be a 1d array, and has {y.shape[1]} columns: this learner has one target. "
            "Fit one for each column, as sklearn.multioutput does."
        )
    return column_or_1d(y, warn=True)


def target_names(y: ArrayLike) -> list:
    """The names of the columns of targets (n, k): of a frame or of fields, else 0, 1, ...

    Examples
    --------
    >>> target_names(np.zeros(3, [("low", float), ("high", float)])), target_names([[1, 2]])
    (['low', 'high'], [0, 1])
    """
    named = named_fields(as_given(y, "y"))
    return list(frame_of(named, "y").columns if is_frame(named) else range(len(named[0])))


def first_word(y: np.ndarray) -> int:
    """The place of the first value that is no number, in ``y.flat``; 0 if all are."""
    for place, value in enumerate(y.flat):
        try:
            float(value)
        except (TypeError, ValueError):
            return place
    return 0


def unit_of(y: np.ndarray) -> float:
    """The power of two that numbers are divided by, so that floats hold their squares.

    It is 1 for ordinary ones. A power of two changes no digit of the solution.
    """
    largest = float(np.abs(y).max(initial=0))
    if largest == 0 or 1e-50 < largest < 1e50:
        return 1.0
    return 2.0 ** max(int(np.frexp(largest)[1]), -1000)


def check_squares(y: np.ndarray, least: float = 1e-50, most: float = 1e50) -> None:
    """Refuse numbers that reach beyond ``most``, or differ by less than ``least``, so that their
    squares leave the range of floats."""
    largest = float(np.abs(y).max(initial=0))
    spread = float(np.ptp(y)) if largest <= most and len(y) else largest
    if largest > most or 0 < spread < least:
        much = "much" if largest > most else "little"
        raise ValueError(
            f"y reaches {largest:.3g} and differs by {spread:.3g}, too {much} for squared errors: "
            "give it in other units."
        )


def check_weights(X: Any, sample_weight: ArrayLike | None) -> np.ndarray | None:
    """sample_weight as a float64 array of one weight per row; None when all are 1."""
    if sample_weight is None:
        return None
    n = X.shape[0]
    refuse_complex("sample_weight", np.asarray(sample_weight))
    w = np.asarray(sample_weight, dtype=np.float64)
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {w.shape}, wanted ({n},): one weight for each row of X. "
            "(Sample weights must be 1D array or scalar.)"
        )
    if not np.isfinite(w).all():
        raise ValueError("sample_weight contains NaN or infinity: give finite numbers >= 0.")
    if (w < 0).any():
        row = int(np.argmin(w))
        raise ValueError(
            f"sample_weight has the negative value {w[row]:g} in row {row}: a weight says how many "
            "times the row counts; give numbers >= 0."
        )
    if not w.any():
        raise ValueError(
            "sample_weight is zero for every row, so no sample is left to fit: give some rows a "
            "weight > 0."
        )
    return None if (w == 1).all() else w


def refuse_complex(name: str, values: np.ndarray) -> None:
    """Raise ValueError if values are complex numbers, whose imaginary parts would be dropped."""
    if values.dtype.kind == "c" or any(isinstance(v, complex) for v in values.flat[:1]):
        raise ValueError(
            f"{name} has complex numbers, such as {written(values.flat[0])}. Complex data "
            f"not supported: give real numbers, such as {name}.real."
        )


def remember_table(estimator: Any, table: ReadTable | EncodedRows) -> None:
    """Store column count and names, as scikit-learn does."""
    names = table.names
    estimator.n_features_in_ = len(names)
    if all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def read_like_fitted(estimator: Any, X: Any) -> Any:
    """New rows as `mercer.tables.rows_of` gives them; an array has the columns in their order.

    Raises
    ------
    ValueError
        An array has more or fewer columns than the training table.
    """
    table = rows_of(X)
    if any(isinstance(name, str) for name in table.names):
        return table
    names = list(getattr(estimator, "feature_names_in_", []))
    if len(table.names) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(table.names)} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input{f': {names}' if names else ''}."
        )
    return table.renamed(names) if names else table


class Training(NamedTuple):
    """The training samples of a fit, without rows of weight 0.

    Attributes
    ----------
    X : encoded samples (n)
    y : ndarray of shape (n,) or (n, outputs), or None
    weights : ndarray of shape (n,) or None
        None if all weights are 1.
    rows : ndarray of shape (n,), int
        Row numbers of the samples in the data that the user gave.
    shape : tuple of int
        Shape of the data that the user gave.

    Examples
    --------
    >>> training = Training(np.ones((3, 1)), np.array([5.0, 6.0, 7.0]), None, np.arange(3), (3, 1))
    >>> training.weighed(np.array([1.0, 0.0, 2.0])).y
    array([5., 7.])
    """

    X: Any
    y: Any
    weights: np.ndarray | None
    rows: np.ndarray
    shape: tuple[int, ...]

    @property
    def all_weights(self) -> np.ndarray:
        """The weights as an array, (n,)."""
        return np.ones(self.X.shape[0]) if self.weights is None else self.weights

    @property
    def column(self) -> np.ndarray:
        """y as one column, (n,)."""
        return self.y if self.y.ndim == 1 else one_column(self.y)

    def weighed(self, weights: np.ndarray) -> Training:
        """The same samples with new weights, without the rows whose new weight is 0."""
        kept = np.flatnonzero(weights)
        if len(kept) == len(weights):
            return self._replace(weights=weights)
        y = None if self.y is None else self.y[kept]
        return Training(self.X[kept], y, weights[kept], self.rows[kept], self.shape)


def remember_columns(estimator: Any, X: Any, encoded: Samples, *, reset: bool) -> None:
    """Store (or check) column count and names, as scikit-learn does, for matrices."""
    fitted = vars(estimator)
    given: Any = X
    plain = type(given) is np.ndarray and given.ndim == 2 and "feature_names_in_" not in fitted
    if plain and not reset and fitted.get("n_features_in_") == given.shape[1]:
        return  # as scikit-learn would find, in a tenth of the time
    kind = kind_of(encoded)
    if plain and reset and kind is not None and kind.counted and given.shape == encoded.shape:
        estimator.n_features_in_ = given.shape[1]  # in the same way
    elif kind is not None and kind.counted and not isinstance(X, MatrixRows):
        X = known_form(X)
        if getattr(X, "shape", ())[1:] != encoded.shape[1:]:  # such as images, or vectors in cells
            X = plain_rows(encoded)
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    elif reset:  # an earlier fit may have stored columns, but these samples have none
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)


def check_training(
    estimator: BaseEstimator,
    X: SamplesLike,
    encoded: Samples,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    targets: bool,
    numeric: bool,
) -> Training:
    """Encoded training samples with their checked targets and weights; X as the user gave it."""
    remember_columns(estimator, X, encoded, reset=True)
    name = type(estimator).__name__
    y = check_targets(encoded, y, name, numeric=numeric) if targets else None
    w = check_weights(encoded, sample_weight)
    training = Training(encoded, y, None, np.arange(encoded.shape[0]), encoded.shape)
    return training if w is None else training.weighed(w)  # a row of weight 0 counts as absent


def encode_like_fitted(estimator: Any, comparison: Comparison, X: SamplesLike) -> Any:
    """Encode new samples with the codes of the training samples of a fitted learner."""
    points = comparison.reads.coordinates  # scikit-learn compares the columns of vectors
    encoded = comparison.encode(X, None if points else estimator.X_fit_)
    remember_columns(estimator, X, encoded, reset=False)
    return estimator.X_fit_ if same_rows(encoded, estimator.X_fit_) else encoded
