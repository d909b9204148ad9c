"""Weights of features that are learnt from the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.left_out import are_classes
from mercer.samples import (
    column_names,
    float_array,
    is_missing,
    number_columns,
    object_columns,
    read,
    select_columns,
)


def correlation_weights(X: Any, y: Any, *, classes: bool | None = None) -> np.ndarray:
    r"""How much each feature tells of the target, for ``weights=`` of a distance.

    .. math:: w_j = \frac{|\sum_i x_{ij} y_i|}{\sqrt{\sum_i x_{ij}^2} \sqrt{\sum_i y_i^2}}

    where columns and target are centred first: the absolute correlation. For classes it is the
    largest one over their indicators. For a column of categories it is the correlation ratio: the
    root of the share of the target's variance that is between the categories; again the largest
    over the indicators of classes. A constant column has weight 0.

    Parameters
    ----------
    X : array-like of shape (n, d), or data frame
        Numbers and categories. Missing numbers are left out; a missing category is one more.
    y : array-like of shape (n,)
        Numbers, of which two different values may stand for two classes; or classes.
    classes : bool, optional
        Whether y has classes. None: if it is not of numbers, or of whole numbers that are at most
        2 + n / 10 different ones.

    Returns
    -------
    ndarray of shape (d,), values in [0, 1]

    References
    ----------
    Fisher, "Statistical Methods for Research Workers", 1925, section 44, for the correlation ratio.

    Examples
    --------
    >>> correlation_weights([[0, 1], [1, 1], [2, 1]], [1.0, 2.0, 3.0])
    array([1., 0.])
    >>> correlation_weights([["red", 1], ["red", 5], ["blue", 2]], ["a", "a", "b"]).round(2)
    array([1.  , 0.28])
    """
    _, X = read(X, "table", reader="correlation_weights")
    shape = len(X), len(column_names(X))
    if not shape[0]:
        raise ValueError("X has no rows: give at least one.")
    if len(np.asarray(y)) != shape[0]:
        raise ValueError(
            f"X has shape {shape} and y {np.shape(y)}: give shapes (n, d) and (n,), one target for "
            "each row."
        )
    Y = _columns_of_target(y, classes)
    numbers = set(number_columns(X)[0])
    return np.array(
        [
            _of_numbers(select_columns(X, [name]), Y)
            if name in numbers
            else _of_categories(select_columns(X, [name]), Y)
            for name in column_names(X)
        ]
    )


def _columns_of_target(y: Any, classes: bool | None) -> np.ndarray:
    """The numbers, (n, 1), or the indicators of the classes, (n, classes)."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}: give one target for each row, shape (n,).")
    if not are_classes(y, classes):
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity: leave out such rows.")
        return y.astype(np.float64)[:, None]
    codes = np.unique(y, return_inverse=True)[1]
    return np.eye(codes.max() + 1)[codes]


def _of_numbers(column: Any, Y: np.ndarray) -> float:
    (values,) = object_columns(column)
    known = ~is_missing(values)
    x, Y = float_array("X", values[known]), Y[known]
    if not len(x):
        return 0.0
    if not np.isfinite(x).all():
        raise ValueError("X holds infinity: leave out such rows.")
    x = x / (np.abs(x).max() or 1.0)  # so that squares are floats
    x, Y = x - x.mean(), Y - Y.mean(axis=0)
    norms = np.linalg.norm(x) * np.linalg.norm(Y, axis=0)
    return float((np.abs(x @ Y) / np.where(norms > 0, norms, 1)).max())


def _of_categories(column: Any, Y: np.ndarray) -> float:
    (values,) = object_columns(column)
    texts = np.array(["" if m else f"={v}" for v, m in zip(values, is_missing(values))], object)
    codes = np.unique(texts, return_inverse=True)[1]
    Y = Y - Y.mean(axis=0)
    counts = np.bincount(codes)
    sums = np.stack([np.bincount(codes, column) for column in Y.T], axis=1)
    between, total = (sums**2 / counts[:, None]).sum(axis=0), (Y**2).sum(axis=0)
    return float(np.sqrt((between / np.where(total > 0, total, 1)).max()).clip(0, 1))
