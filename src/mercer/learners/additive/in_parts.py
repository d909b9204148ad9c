"""Additive learners of rows in chunks of a stream, or in parts: tables of single columns are sums
over the parts, and for pairs and classes a byte for each cell of all rows comes to where the fit
is."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from mercer.learners.additive.additive_learner import BIN_ROWS, CodedRows
from mercer.learners.additive.table_columns import LevelCounts, TableColumns, checked_table
from mercer.learners.base import PartFit, Survey, check_targets, check_weights
from mercer.persistence import fields
from mercer.samples import SamplesLike
from mercer.threads import forget


class AdditiveParts(PartFit):
    """Abstract: the fit of an additive learner in parts.

    Bins are made of the same rows as in a fit to rows that lie together, and counts and codes are
    whole numbers: so they are the same for all parts, to the last bit. Those of a stream are made
    of its first block.

    Attributes
    ----------
    begun : bool
        Whether there are bins.
    rows : int or None
        How many there are in all; None for a stream, which does not say so before its end.
    """

    block: ClassVar[int] = BIN_ROWS
    missing: ClassVar[bool] = True
    numeric: ClassVar[bool]
    begun: bool = False
    rows: int | None = None

    def surveys_samples(self, numbers: bool) -> bool:
        return not numbers or self.learner.categories is not None

    def survey(
        self, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Survey:
        name = type(self.learner).__name__
        if X is None:  # an array of numbers
            table, more = np.empty((len(y), 0)), None
        else:
            table = checked_table(clone(self.learner), X, reset=True)
            more = LevelCounts.of(table, self.learner.categories)
        targets = check_targets(table, y, name, numeric=self.numeric)
        if not self.numeric:  # what classes there are, the codes of all rows will say
            targets = np.zeros(len(targets))
        return Survey.of(targets, check_weights(table, sample_weight), more)

    def sample(self, survey: Survey) -> np.ndarray:
        return np.arange(0, survey.rows, -(-survey.rows // BIN_ROWS))

    def begin(
        self, survey: Survey, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        forget(self.learner)
        columns = survey.more and survey.more.columns()
        self.rows = survey.rows
        self.make_bins(X, y, sample_weight, columns, survey.means)

    @abstractmethod
    def make_bins(
        self,
        X: SamplesLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        columns: TableColumns | None = None,
        means: np.ndarray | None = None,
    ) -> None:
        """Bins of some rows; ``columns`` are those of all rows, and ``means`` of all targets."""
        self.begun = True

    def add(
        self, total: Any, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        if not self.begun:
            self.make_bins(X, y, sample_weight)


@fields()
@dataclass
class Counted:
    """What rows are for a regression: ``a + b`` is that of both.

    Attributes
    ----------
    tables : CountTables or None
        None before the first row.
    rows : CodedRows or None
        None where pairs of columns get no functions.
    """

    tables: Any
    rows: CodedRows | None

    def __add__(self, other: Counted) -> Counted:
        rows = None
        if self.rows is not None and other.rows is not None:
            rows = self.rows + other.rows
        return Counted(self.tables + other.tables, rows)


class AdditiveRegressionParts(AdditiveParts):
    """The fit of an `AdditiveRegressor`. Sums of targets are those of a fit up to rounding.

    Attributes
    ----------
    pairs : bool
        Whether codes are kept for pairs.
    """

    numeric: ClassVar[bool] = True
    pairs: bool = True

    def __init__(self, learner: Any):
        super().__init__(learner)
        if learner.solver != "bins":
            raise ValueError(f'solver={learner.solver!r}: a fit in chunks is by solver="bins".')

    def make_bins(self, X, y, sample_weight, columns=None, means=None) -> None:
        self.learner.begin_rows(X, y, sample_weight, columns=columns, means=means)
        self.pairs = self.rows is None or self.learner.affords_pairs(self.rows)
        super().make_bins(X, y, sample_weight)

    def empty(self) -> Counted:
        return Counted(None, CodedRows() if self.pairs else None)

    def add(
        self, total: Counted, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        super().add(total, X, y, sample_weight)
        if total.tables is None:
            total.tables = self.learner.empty_tables()
        coded = self.learner.count_rows(total.tables, X, y, sample_weight)
        if total.rows is not None:
            total.rows.add(*coded)
            if self.rows is None and not self.learner.affords_pairs(total.rows.count):
                total.rows = None

    def finish(self, total: Counted) -> Any:
        return self.learner.fit_counts(total.tables, total.rows)


class AdditiveClassificationParts(AdditiveParts):
    """The fit of an `AdditiveClassifier`, whose Newton steps read the codes of all rows."""

    numeric: ClassVar[bool] = False

    def make_bins(self, X, y, sample_weight, columns=None, means=None) -> None:
        self.learner.begin_rows(X, y, sample_weight, columns=columns)
        self.learner.refuse_codes(self.rows or 0)
        super().make_bins(X, y, sample_weight)

    def empty(self) -> CodedRows:
        return CodedRows()

    def add(
        self, total: CodedRows, X: SamplesLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        super().add(total, X, y, sample_weight)
        total.add(*self.learner.code_rows(X, y, sample_weight))
        if self.rows is None:
            self.learner.refuse_codes(total.count)

    def finish(self, total: CodedRows) -> Any:
        return self.learner.fit_coded(total)
