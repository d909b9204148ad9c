"""Additive learners of rows in parts: tables of single columns are sums over the parts, and for
pairs and classes a byte for each cell of all rows comes to where the fit is."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from mercer.learners.additive.additive_learner import BIN_ROWS, CodedRows
from mercer.learners.additive.table_columns import LevelCounts, checked_table
from mercer.learners.base import PartFit, Survey, check_targets, check_weights
from mercer.solvers.additive import CountTables
from mercer.threads import blas_limit, forget


class AdditiveParts(PartFit):
    """Abstract: the fit of an additive learner in parts.

    Bins are made of the same rows as in a fit to rows that lie together, and counts and codes are
    whole numbers: so they are the same for all parts, to the last bit.
    """

    numeric: bool

    def surveys_samples(self, numbers: bool) -> bool:
        return not numbers or self.learner.categories is not None

    def survey(self, X: Any, y: Any, sample_weight: Any = None) -> Survey:
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

    def begin(self, survey: Survey, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> None:
        forget(self.learner)
        columns = survey.more and survey.more.columns()
        self.make_bins(survey, columns, X, y, sample_weight)

    @abstractmethod
    def make_bins(
        self, survey: Survey, columns: object, X: Any, y: object, sample_weight: object
    ) -> None:
        """Bins of the sample; ``columns`` are those of all rows, or None for numbers."""


@dataclass(frozen=True)
class Counted:
    """What the rows of parts are for a regression: ``a + b`` is that of both."""

    tables: CountTables
    rows: CodedRows | None

    def __add__(self, other: Counted) -> Counted:
        rows = None
        if self.rows is not None and other.rows is not None:
            rows = self.rows + other.rows
        return Counted(self.tables + other.tables, rows)


class RegressionParts(AdditiveParts):
    """The fit of an `AdditiveRegressor`. Sums of targets are those of a fit up to rounding."""

    numeric = True
    pairs: bool

    def make_bins(self, survey: Survey, columns: Any, X: Any, y: Any, sample_weight: Any) -> None:
        learner = self.learner
        if learner.solver != "bins":
            raise ValueError(
                f'solver={learner.solver!r}: rows in parts have bins: give solver="bins".'
            )
        learner.begin_rows(X, y, sample_weight, columns=columns, means=survey.means)
        self.pairs = learner.affords_pairs(survey.rows)

    def sums(self, X: Any, y: Any, sample_weight: Any = None) -> Counted:
        tables, rows = self.learner.count_rows(X, y, sample_weight)
        return Counted(tables, rows if self.pairs else None)

    def finish(self, sums: Counted) -> Any:
        with blas_limit(0), np.errstate(all="ignore"):
            return self.learner.fit_counts(sums.tables, sums.rows)


class ClassificationParts(AdditiveParts):
    """The fit of an `AdditiveClassifier`, whose Newton steps read the codes of all rows."""

    numeric = False

    def make_bins(self, survey: Survey, columns: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.learner.begin_rows(X, y, sample_weight, columns=columns)
        self.learner.refuse_codes(survey.rows)

    def sums(self, X: Any, y: Any, sample_weight: Any = None) -> CodedRows:
        return self.learner.code_rows(X, y, sample_weight)

    def finish(self, sums: CodedRows) -> Any:
        with np.errstate(all="ignore"):
            return self.learner.fit_coded(sums)
