"""The columns of a table as rows of floats: categories become the numbers of their levels.

A missing value is NaN, in columns of numbers and of categories, and so is a level that the
training rows lack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from mercer.persistence import fields
from mercer.samples import (
    LISTED,
    Samples,
    as_amounts,
    as_cells,
    as_rows,
    column_names,
    describe,
    describe_entry,
    frame_of,
    is_frame,
    is_missing,
    kind_in_cells,
    kind_named,
    kind_that_holds,
    naming_the_kind,
    object_columns,
    read,
    reading_numbers,
    recognised,
)
from mercer.streams import plain_form

MOST_LEVELS = 255  # of a category; codes are bytes, and one stands for what is missing


@fields()
class TableColumns:
    """What each column of a training table is; reads it, and later tables of the same columns.

    Attributes
    ----------
    names : list
        Names of the columns of a data frame, or 0, 1, ...
    levels : dict
        The levels of each column of categories, by the number of the column.
    """

    def __init__(self, names: list, levels: dict[int, list]):
        self.names, self.levels = names, levels

    @classmethod
    def of(cls, X: Samples, categories: Sequence | None) -> TableColumns:
        """The columns of a table. Those that are not numbers are categories, and those named."""
        return LevelCounts.of(X, categories).columns()

    def read(self, X: Samples) -> np.ndarray:
        """The rows (n, columns) in C order, float32 if X is, and else float64."""
        if isinstance(X, np.ndarray) and X.dtype.kind == "f" and not self.levels:
            return np.require(X, X.dtype if X.dtype == np.float32 else np.float64, ["C", "A"])
        dtype = X.dtype if getattr(X, "dtype", None) == np.float32 else np.float64
        rows = np.empty((X.shape[0], len(self.names)), dtype)
        for j, cells in enumerate(object_columns(X)):
            if j in self.levels:
                rows[:, j] = _codes(cells, self.levels[j])
            elif (amounts := _amounts(cells)) is not None:
                rows[:, j] = amounts
            else:
                raise ValueError(
                    f"column {self.names[j]!r} of X held numbers in the training table, and now "
                    "holds others: give numbers."
                )
        return rows


class LevelCounts:
    """How often each value stands in columns that are no numbers; ``a + b`` counts both tables.

    Attributes
    ----------
    names : list
        Names of all columns.
    counts : list of Counter or None
        None for columns whose type is one of numbers.
    numeric : list of bool
        Whether all values that are not missing are numbers.
    """

    def __init__(self, names: list, counts: list[Counter | None], numeric: list[bool]):
        self.names, self.counts, self.numeric = names, counts, numeric

    @classmethod
    def of(cls, X: Samples, categories: Sequence | None) -> LevelCounts:
        """The counts of one table; ``categories`` are columns that are counted in any case."""
        if not (categories is None or isinstance(categories, (list, tuple, np.ndarray))):
            raise TypeError(f"categories={categories!r}: give a list of columns, or None.")
        names = column_names(X)
        wanted = [] if categories is None else list(categories)
        lacking = [name for name in wanted if name not in names]
        if lacking:
            raise ValueError(
                f"categories={categories!r}: X has no column {lacking[0]!r}. It has the columns "
                f"{names[:20]}."
            )
        cells = object_columns(X)
        for name, column in zip(names, cells):
            objects = column[~is_missing(column)].tolist() if column.dtype.kind == "O" else []
            kind = kind_in_cells(objects)
            if objects and kind is None and not isinstance(objects[0], Hashable):
                kind = (recognised(as_cells(objects)) or [None])[0]
                if kind is None:
                    raise TypeError(
                        f"column {name!r} of X holds {describe_entry(objects[0])}, but an additive "
                        "model reads numbers and levels: give a column of such for each part."
                    )
            if kind is not None:
                raise TypeError(
                    f"column {name!r} of X holds {kind.name}, but an additive model reads numbers "
                    f"and levels. {kind.remedy()}"
                )
        numeric = [n not in wanted and _amounts(c) is not None for n, c in zip(names, cells)]
        counts = [
            None if number and column.dtype.kind != "O" else _counted(column)
            for number, column in zip(numeric, cells)
        ]
        return cls(names, counts, numeric)

    def __add__(self, other: LevelCounts) -> LevelCounts:
        if self.names != other.names:
            raise ValueError(
                f"some parts of X have the columns {self.names[:20]}, and others "
                f"{other.names[:20]}: give the same columns in all."
            )
        counts: list[Counter | None] = []
        numeric = [a and b for a, b in zip(self.numeric, other.numeric)]
        for name, a, b, number in zip(self.names, self.counts, other.counts, numeric):
            if not number and (a is None or b is None):
                raise ValueError(
                    f"column {name!r} of X holds numbers in some parts and others in others: give "
                    "it one type in all."
                )
            counts.append(None if a is None or b is None else a + b)
        return LevelCounts(self.names, counts, numeric)

    def columns(self) -> TableColumns:
        """The columns, of which those that are no numbers have levels."""
        levels = {
            j: _levels(counts)
            for j, (counts, number) in enumerate(zip(self.counts, self.numeric))
            if not number and counts is not None
        }
        return TableColumns(self.names, levels)


def checked_table(learner: Any, X: Any, *, reset: bool) -> Any:
    """X as an array of numbers, an array of objects or a data frame, with its columns checked."""
    name = type(learner).__name__
    X = plain_form(X)
    if sp.issparse(X):
        raise TypeError(
            f"X is a sparse matrix, but {name} reads columns of a table. Sparse "
            "data was passed, but dense data is required: give X.toarray()."
        )
    if not is_frame(X) or X.shape[1] == 1:  # images, or vectors in the cells of one column
        X = as_rows(X)
    if is_frame(X):
        frame_of(X)  # which refuses columns of one name
        validate_data(learner, X, skip_check_array=True, reset=reset)
        if not X.shape[0]:
            raise ValueError("X has no rows: give at least one.")
        return X
    if _has_others(X):
        _, X = read(X, "table", reader=name)
        validate_data(learner, X, skip_check_array=True, reset=reset)
        if not len(X):
            raise ValueError(f"X has no rows, 0 sample(s): {describe(X)}; give at least one.")
        return X
    instead = f" {name} has none: SVC, KernelRidge and the neighbours have."
    with naming_the_kind(X, kind_named("vectors"), name, instead), reading_numbers(X, name):
        return validate_data(
            learner, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", reset=reset
        )


def _has_others(X: Samples) -> bool:
    """Whether some values of an array or of a list of rows are neither numbers nor missing."""
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        return X.dtype.kind in "USTMm"
    if not isinstance(X, LISTED) or not getattr(X, "ndim", 1) or kind_that_holds(next(iter(X), 0)):
        return False
    rows = (row for row in X if isinstance(row, LISTED) and getattr(row, "ndim", 1))
    return any(isinstance(cell, (str, date, timedelta)) for row in rows for cell in row)


def _amounts(cells: np.ndarray) -> np.ndarray | None:
    """Numbers as floats, times in days since 1970, NaN where they are missing; None for levels."""
    if cells.dtype.kind == "O" and any(isinstance(cell, (str, bool)) for cell in cells):
        return None
    return None if cells.dtype.kind in "bUST" else as_amounts(cells)


def _plain(cells: np.ndarray) -> list:
    return [str(cell) if isinstance(cell, str) else cell for cell in cells.tolist()]


def _counted(cells: np.ndarray) -> Counter:
    return Counter(_plain(cells[~is_missing(cells)]))


def _levels(counts: Counter) -> list:
    """The most frequent levels, in their order if they have one, and else as texts."""
    if len(counts) > MOST_LEVELS:
        kept = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:MOST_LEVELS]
        counts = Counter(dict(kept))
    try:
        return sorted(counts)
    except TypeError:
        return sorted(counts, key=lambda level: (type(level).__name__, str(level)))


def _codes(cells: np.ndarray, levels: list) -> np.ndarray:
    """Codes of levels, NaN for those that are missing or new."""
    number = {level: float(code) for code, level in enumerate(levels)}
    missing = is_missing(cells)
    codes = np.full(len(cells), np.nan)
    found = [number.get(cell, np.nan) for cell in _plain(cells[~missing])]
    codes[~missing] = found
    return codes
