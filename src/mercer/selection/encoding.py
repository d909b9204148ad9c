"""From the columns of a table to the matrix that a table kernel reads.

A number becomes two columns: its rank among the training values (uniform, of unit variance) and
its standardised value; a missing one is replaced by the median, and where any is missing in
training, "is it missing" becomes a category. A category becomes a code: levels that fewer than
``rare`` rows have share one, and a level that the training table lacks has one of its own. A date
becomes the numbers year, month, day of week and elapsed days.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.selection.columns import Column, as_numbers, read_columns, used_columns

__all__ = ["Feature", "TableEncoder"]

RANKS = 1000  # quantiles that ranks are interpolated between
UNIT = np.float32(np.sqrt(12))  # a uniform variable times this has unit variance


@dataclass(frozen=True)
class Feature:
    """One column of the encoded matrix: "rank", "scaled" or "code", and where it is from."""

    source: Any
    label: str
    kind: str


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the used columns of a table as a float32 matrix.

    Parameters
    ----------
    columns : list of Column
        As `infer_columns` returns them.
    rare : int, default=5
        Levels of a category that fewer training rows have are pooled, when there are over 20.

    Attributes
    ----------
    features_ : list of Feature
        What each column of the matrix is.
    """

    def __init__(self, columns: list[Column], rare: int = 5):
        self.columns = columns
        self.rare = rare

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn medians, ranks, scales and levels from a training table."""
        table = X if isinstance(X, dict) else read_columns(X)
        self.numbers_: dict[str, tuple] = {}
        self.levels_: dict[Any, list] = {}
        self.features_: list[Feature] = []
        for column in used_columns(self.columns):
            values = table[column.name]
            if column.kind == "category":
                self._fit_category(column.name, values)
                continue
            for label, numbers in _number_series(column, values).items():
                self._fit_number(column.name, label, numbers)
        if not self.features_:
            raise ValueError(
                "No column can be used: "
                + "; ".join(f"{c.name}: {c.kind} ({c.reason})" for c in self.columns[:10])
            )
        return self

    def _fit_number(self, name: Any, label: str, numbers: np.ndarray) -> None:
        missing = np.isnan(numbers)
        known = numbers[~missing]
        median = float(np.median(known)) if len(known) else 0.0
        filled = np.where(missing, median, numbers)
        quantiles = np.quantile(filled, np.linspace(0, 1, min(RANKS, len(filled)) or 1))
        spread = float(filled.std()) or 1.0
        self.numbers_[label] = (median, quantiles, float(filled.mean()), spread, missing.any())
        self.features_ += [Feature(name, label, "rank"), Feature(name, label, "scaled")]
        if missing.any():
            self.features_.append(Feature(name, f"{label} is missing", "code"))

    def _fit_category(self, name: Any, values: np.ndarray) -> None:
        levels, counts = np.unique(_level_texts(values), return_counts=True)
        if len(levels) > 20:
            levels = levels[counts >= self.rare]
        self.levels_[name] = levels.tolist()
        self.features_.append(Feature(name, str(name), "code"))

    def transform(self, X: Any) -> np.ndarray:
        """The matrix of a table with the same columns, in any order; others are ignored.

        Raises
        ------
        ValueError
            A column is missing; the message lists those.
        """
        check_is_fitted(self)
        table = X if isinstance(X, dict) else read_columns(X)
        absent = [c.name for c in used_columns(self.columns) if c.name not in table]
        if absent:
            raise ValueError(
                f"X lacks the column{'s' * (len(absent) > 1)} {absent}, which the model was "
                f"trained with; it has {list(table)}."
            )
        out = []
        for column in used_columns(self.columns):
            values = table[column.name]
            if column.kind == "category":
                out.append(self._codes(column.name, values))
                continue
            for label, numbers in _number_series(column, values).items():
                median, quantiles, mean, spread, flag = self.numbers_[label]
                missing = np.isnan(numbers)
                filled = np.where(missing, median, numbers)
                out.append(_ranks(filled, quantiles) * UNIT)
                out.append(np.clip((filled - mean) / spread, -10, 10))
                if flag:
                    out.append(missing)
        return np.stack(out, axis=1).astype(np.float32)

    def _codes(self, name: Any, values: np.ndarray) -> np.ndarray:
        levels = self.levels_[name]
        code_of = {level: code for code, level in enumerate(levels)}
        texts, inverse = np.unique(_level_texts(values), return_inverse=True)
        unseen = len(levels)  # pooled or new: one code for all of them
        return np.array([code_of.get(text, unseen) for text in texts.tolist()], float)[inverse]


def _number_series(column: Column, values: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers that a column stands for, by label."""
    if column.kind == "number":
        return {str(column.name): as_numbers(values)}
    dates = values.astype("datetime64[s]")
    missing = np.isnat(dates)
    days = dates.astype("datetime64[D]")
    elapsed = dates.astype("int64") / 86400
    year = days.astype("datetime64[Y]").astype(int) + 1970
    month = days.astype("datetime64[M]").astype(int) % 12 + 1
    weekday = (days.astype(int) + 3) % 7  # day 0, 1970-01-01, was a Thursday
    parts = {"elapsed days": elapsed, "year": year, "month": month, "day of week": weekday}
    return {
        f"{column.name}: {part}": np.where(missing, np.nan, number)
        for part, number in parts.items()
    }


def _ranks(values: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Share of training values below, in the middle of ties, within [0, 1]."""
    grid = np.linspace(0, 1, len(quantiles))
    below = np.interp(values, quantiles, grid)
    above = 1 - np.interp(-values, -quantiles[::-1], grid)
    return (below + above) / 2


def _level_texts(values: np.ndarray) -> np.ndarray:
    """Values as texts: 1.0 and 1 are the same level, and a missing value is one of its own."""
    if values.dtype.kind == "f":
        texts = [_missing_mark if v != v else f"{v:g}" for v in values.tolist()]
    else:
        texts = [_missing_mark if v is None else _level_text(v) for v in values.tolist()]
    return np.array(texts, dtype=str)


_missing_mark = "\0missing"


def _level_text(value: Any) -> str:
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        return f"{value:g}"
    return str(value)
