"""Data for `DecisionSurfaceDisplay`: rows, predictions and support vectors over two features."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    is_classifier,
    is_outlier_detector,
    is_regressor,
)

from mercer.plots.displays.display import FARTHEST
from mercer.plots.fitted import bound_kernel, kernel_machine, take
from mercer.plots.marks import class_codes
from mercer.samples import (
    SamplesLike,
    column_names,
    describe,
    float_array,
    frame_of,
    is_frame,
    number_columns,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def two_columns(X: Any) -> np.ndarray:
    """X as finite floats, (n, 2); raise an error if it is not."""
    shape = np.shape(X) if hasattr(X, "shape") else float_array("X", X).shape
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(
            f"X is {describe(X)}: a surface is drawn over two columns. Choose two columns, fit the "
            "estimator to these, and give the same two columns here."
        )
    if sp.issparse(X):
        raise TypeError("X is a sparse matrix: give X.toarray().")
    if not shape[0]:
        raise ValueError("X has no rows: give the training sample.")
    others = number_columns(X)[1]
    if others:
        raise ValueError(
            f"X has columns without numbers, {others}: choose two columns of numbers, and fit the "
            "estimator to these."
        )
    points = float_array("X", X)
    bad = np.flatnonzero(~(np.abs(points) <= FARTHEST).all(axis=1))
    if len(bad):
        raise ValueError(
            f"X has NaN or infinity in {len(bad)} rows, first in row {bad[0]}: leave out these "
            f"rows. (Numbers beyond {FARTHEST:g} count as infinity.)"
        )
    return points


def axis_names(X: SamplesLike, feature_names: Sequence[str] | None) -> tuple[str, str]:
    if feature_names is None:
        first, second = column_names(X) if is_frame(X) else ("$x_1$", "$x_2$")
    elif isinstance(feature_names, str) or len(feature_names) != 2:
        raise ValueError(f"feature_names={feature_names!r}: give two names, one for each column.")
    else:
        first, second = feature_names
    return str(first), str(second)


def row_target(estimator: Any, X: Any, y: ArrayLike) -> tuple[np.ndarray, list | None]:
    """The target that gives rows their colours, and the classes (None for numbers)."""
    n = np.shape(X)[0]
    if is_outlier_detector(estimator):
        return (np.asarray(estimator.predict(X)) > 0).astype(int), ["outside", "inside"]
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise TypeError(
            f"{type(estimator).__name__} is not a classifier, regressor or one-class machine: give "
            "one of these."
        )
    if y is None:
        what = "class" if is_classifier(estimator) else "number"
        raise ValueError(f"y is missing: give the {what} of each row, which colours it.")
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}: give one value for each of the {n} rows of X.")
    if is_regressor(estimator):
        return y.astype(np.float64), None
    classes = np.asarray(estimator.classes_)
    return class_codes(y, classes), classes.tolist()


def as_given(grid: np.ndarray, X: SamplesLike) -> Any:
    """Grid points in the type of X: a data frame of the same library, or an array of floats."""
    if is_frame(X):
        import narwhals as nw

        names, frame = column_names(X), frame_of(X)
        columns = dict(zip(names, grid.T))
        return nw.from_dict(columns, backend=frame.implementation).to_native()
    dtype = np.asarray(X).dtype
    return grid.astype(dtype) if dtype.kind == "f" else grid


def surface_values(
    estimator: Any, grid: Any, classes: list | None
) -> tuple[np.ndarray, dict[str, Any]]:
    """The values at the grid points, and keyword arguments that say what they mean."""
    if classes is None:
        values = np.asarray(estimator.predict(grid))
        if values.ndim != 1:
            raise ValueError(
                f"{type(estimator).__name__} predicts {values.shape[1]} numbers for each row: fit "
                "it to one target."
            )
        return values, {"label": "predicted value"}
    if len(classes) == 2 and hasattr(estimator, "decision_function"):
        margins = () if is_outlier_detector(estimator) else (-1.0, 1.0)
        values = np.asarray(estimator.decision_function(grid)).ravel()
        return values, {"boundary": 0.0, "margins": margins, "label": "decision function f(x)"}
    if len(classes) == 2 and hasattr(estimator, "predict_proba"):
        values = np.asarray(estimator.predict_proba(grid))[:, 1]
        label = f"probability of {classes[1]}"
        return values, {"boundary": 0.5, "limits": (0.0, 1.0), "label": label}
    return class_codes(estimator.predict(grid), np.asarray(classes)), {}


def _machine(estimator: BaseEstimator, X: SamplesLike) -> tuple[Any, Any]:
    """The kernel learner in an estimator and X after its transformers.

    Without a kernel learner, the last step of the estimator and None.
    """
    try:
        transformers, machine = kernel_machine(estimator)
    except TypeError:  # no kernel learner: for example a forest
        return getattr(estimator, "steps", [(None, estimator)])[-1][1], None
    for transformer in transformers:
        X = transformer.transform(X)
    return machine, X


def support_rows(estimator: BaseEstimator, X: Any) -> np.ndarray | None:
    """Numbers of the rows of X that are support vectors; None if X are not the training rows."""
    machine, Z = _machine(estimator, X)
    if Z is None or not hasattr(machine, "support_vectors_"):
        return None
    support = np.asarray(machine.support_)
    if machine.shape_fit_[0] != np.shape(X)[0]:
        return None
    vectors = machine.support_vectors_
    if isinstance(vectors, np.ndarray) and len(support):
        rows = np.asarray(take(Z, support), dtype=np.float64)
        if not np.allclose(rows, vectors, rtol=1e-5):
            return None
    return support


def panel_title(estimator: BaseEstimator, X: SamplesLike) -> str:
    """The kernel or the name of the estimator, and below it the number of support vectors."""
    machine, Z = _machine(estimator, X)
    kernel = None if Z is None else bound_kernel(machine, Z)
    text = type(machine).__name__ if kernel is None else repr(kernel)
    text = " ".join(text.split()).replace(" ,", ",")  # long reprs have line breaks
    text = re.sub(r"np\.float\d+\(([^)]*)\)", r"\1", text)
    text = re.sub(r"\d+\.\d{4,}(e-?\d+)?", lambda number: f"{float(number[0]):.3g}", text)
    lines = textwrap.wrap(text, 36)
    if hasattr(machine, "support_vectors_"):
        count = len(machine.support_)
        lines.append(f"{count} support vector{'s' if count != 1 else ''}")
    return "\n".join(lines)
