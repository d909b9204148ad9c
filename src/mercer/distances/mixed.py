"""Distances on tables: weighted sums over groups of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.distances.base import Distance
from mercer.distances.comparison import Composite
from mercer.samples import as_numbers

__all__ = ["Mixed"]


class Mixed(Composite, Distance):
    r"""Distance between rows of a table, :math:`\rho(x, z) = \sum_j w_j \rho_j(x_j, z_j)`.

    One example is Gower's distance: Manhattan on numbers scaled to [0, 1], Match on categories.

    Parameters
    ----------
    parts : list of (Distance, columns)
        Columns are names in a data frame, or numbers of columns of an array.
    weights : array-like of shape (len(parts),), optional
        The weights :math:`w_j \ge 0`. None means 1 for each part.

    Notes
    -----
    It is a metric if all parts are metrics. It costs as much as its parts.

    References
    ----------
    Gower, "A general coefficient of similarity and some of its properties", Biometrics 27, 1971.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [0.2, 0.7], "sex": ["f", "m"]})
    >>> from mercer.distances import Match, Minkowski
    >>> Mixed([(Minkowski(1), ["age"]), (Match(), ["sex"])])(table)
    array([[0. , 1.5],
           [1.5, 0. ]])
    """

    kind = "table"

    def __init__(self, parts: list[tuple[Distance, Any]], weights: Any = None):
        self.parts = parts
        self.weights = weights

    @property
    def metric(self) -> bool:  # type: ignore[override]
        return all(distance.metric for distance, _ in self.parts)

    @property
    def reflexive(self) -> bool:  # type: ignore[override]
        return all(distance.reflexive for distance, _ in self.parts)

    @property
    def definite_up_to(self) -> float:  # type: ignore[override]
        return 1.0 if all(rho.definite_up_to >= 1 for rho, _ in self.parts) else 0.0

    def validate(self) -> None:
        check_parts(self.parts, Distance, "distance")
        for distance, columns in self.parts:
            check_columns(columns)
            distance.validate()
        if self.weights is None:
            return
        w = as_numbers("weights", self.weights)
        if w.shape != (len(self.parts),) or not (w >= 0).all():
            raise ValueError(
                f"weights={self.weights!r}: give one number >= 0 for each of the "
                f"{len(self.parts)} parts."
            )

    def block(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = self.sides(X, Z)
        weights = np.ones(len(self.parts)) if self.weights is None else self.weights
        D = np.zeros((X.shape[0], Z.shape[0]), X.dtype)
        for w, (distance, _), x, z in zip(weights, self.parts, X.parts, Z.parts, strict=True):
            D += X.dtype.type(w) * distance.block(x, z)
        return D

    def terms(self, X: Any) -> int:
        return len(self.parts)

    def term(self, X: Any, Z: Any, j: int) -> np.ndarray:
        distance, columns = self.parts[j]
        key = distance.encoding(), tuple(columns)
        x = X.part(*key)
        return distance.block(x, x if Z is X else Z.part(*key))


def check_parts(parts: Any, wanted: type, name: str) -> None:
    """Raise an error if ``parts`` is not a list of pairs, of an object of a class and columns."""
    listed = isinstance(parts, (list, tuple))
    if listed and not parts:
        raise ValueError(f"parts is empty: give a list of ({name}, columns).")
    for part in parts if listed else [parts]:
        paired = isinstance(part, (list, tuple)) and len(part) == 2
        if not (paired and isinstance(part[0], wanted)):
            wrong = part[0] if paired else part
            raise TypeError(f"parts holds {wrong!r}: give a list of ({name}, columns).")


def check_columns(columns: Any) -> None:
    """Raise an error if ``columns`` is not a list of at least one column."""
    if isinstance(columns, str) or not np.iterable(columns) or not len(list(columns)):
        raise ValueError(f"columns={columns!r}: give a list of at least one column.")
