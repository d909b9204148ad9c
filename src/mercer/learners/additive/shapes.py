"""The functions that an additive learner is the sum of, as tables of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.persistence import each, fields, whole

MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Shape:
    """The function of one column. Its mean over the training rows is 0.

    Attributes
    ----------
    column : str or int
        Name of the column.
    levels : list
        The mean of each bin of numbers, or the categories.
    ordered : bool
        Whether the levels are numbers.
    values, errors : ndarray of shape (levels + 1, outputs)
        The function at each level and its standard errors; the last row is for missing values, and
        for categories that the training rows lack.
    counts : ndarray of shape (levels + 1,)
        Weight of the training rows of each level.
    edges : ndarray
        The edges between the bins.
    """

    column: Any
    levels: list
    ordered: bool
    values: np.ndarray
    errors: np.ndarray
    counts: np.ndarray
    edges: np.ndarray

    @property
    def name(self) -> str:
        return str(self.column)

    @property
    def strength(self) -> float:
        """The standard deviation of the function over the training rows, of all outputs together.

        Examples
        --------
        >>> both = np.array([[1.0], [-1.0], [0.0]])
        >>> counts = np.array([5.0, 5.0, 0.0])
        >>> Shape("a", ["x", "y"], False, both, both, counts, np.empty(0)).strength
        1.0
        """
        share = self.counts / self.counts.sum()
        return float(np.sqrt((share @ self.values**2).sum()))


@fields(groups=each(whole(lambda surface: max(surface.values.shape[:2]))))
@dataclass(frozen=True, eq=False)
class Surface:
    """The function of a pair of columns, on a grid of joined levels.

    Attributes
    ----------
    columns : tuple
        Names of both columns.
    levels : tuple of list
        What each row and each column of the grid stands for: the mean of its numbers, or its
        categories; "missing" is the last one.
    ordered : tuple of bool
        Whether the levels of each column are numbers.
    groups : tuple of ndarray of uint8
        Which row or column of the grid each level of the column's shape belongs to.
    values : ndarray of shape (rows, columns, outputs)
    counts : ndarray of shape (rows, columns)
        Weight of the training rows of each cell.
    """

    columns: tuple[Any, Any]
    levels: tuple[list, list]
    ordered: tuple[bool, bool]
    groups: tuple[np.ndarray, np.ndarray]
    values: np.ndarray
    counts: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.columns[0]} × {self.columns[1]}"

    @property
    def strength(self) -> float:
        """The standard deviation of the function over the training rows."""
        share = self.counts / self.counts.sum()
        return float(np.sqrt(np.einsum("ab,abo->", share, self.values**2)))


@dataclass(frozen=True, eq=False)
class ColumnReasons:
    """For each predicted row, the columns and pairs that moved its prediction most.

    Attributes
    ----------
    names : list of str
        Names of the columns, and of pairs as "a × b".
    parts : ndarray of shape (n, most), int
        Numbers of the names, the largest share first.
    contributions : ndarray of shape (n, most)
        What each adds to the output; of a classifier, to the log-odds of the predicted class.
    """

    names: list[str]
    parts: np.ndarray
    contributions: np.ndarray

    #: that these are reasons by columns, and not by rows
    kind: ClassVar[str] = "columns"

    def texts(self) -> dict[str, list[str]]:
        """Columns because_1, because_2, ... of texts such as "age (+0.52)".

        Examples
        --------
        >>> ColumnReasons(["age"], np.array([[0]]), np.array([[0.52]])).texts()
        {'because_1': ['age (+0.52)']}
        """
        return {
            f"because_{i + 1}": [
                f"{self.names[part]} ({value:+.3g})" for part, value in zip(parts, values)
            ]
            for i, (parts, values) in enumerate(
                zip(self.parts.T.tolist(), self.contributions.T.tolist())
            )
        }


def joined_levels(shape: Shape, group: np.ndarray) -> list:
    """What each group of levels of a shape stands for."""
    found: list = []
    for g in range(int(group[-1])):  # the last group is that of missing values
        members = np.flatnonzero(group[:-1] == g)
        if shape.ordered:
            weight = np.maximum(shape.counts[members], 1e-300)
            found.append(float(np.average(np.array(shape.levels)[members], weights=weight)))
        else:
            found.append(", ".join(str(shape.levels[i]) for i in members[:3]))
    return [*found, MISSING]
