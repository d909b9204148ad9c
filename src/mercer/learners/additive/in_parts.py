"""An additive regression of rows in parts: tables of single columns are sums over the parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.learners.additive.additive_learner import BIN_ROWS
from mercer.learners.additive.table_columns import LevelCounts, checked_table
from mercer.learners.base import PartFit, Survey, check_targets, check_weights
from mercer.samples import is_whole
from mercer.solvers.additive import CountTables
from mercer.threads import blas_limit, forget


class AdditiveParts(PartFit):
    """The fit of an `AdditiveRegressor` in parts, of single columns alone.

    Bins are made of the same rows as in `AdditiveRegressor.fit`, and counts are whole numbers: so
    they are the same for all parts, to the last bit. Sums of targets are the same up to rounding.
    """

    def surveys_samples(self, numbers: bool) -> bool:
        return not numbers or self.learner.categories is not None

    def survey(self, X: Any, y: Any, sample_weight: Any = None) -> Survey:
        name = type(self.learner).__name__
        if X is None:  # an array of numbers
            table, more = np.empty((len(y), 0)), None
        else:
            table = checked_table(clone(self.learner), X, reset=True)
            more = LevelCounts.of(table, self.learner.categories)
        targets = check_targets(table, y, name)
        return Survey.of(targets, check_weights(table, sample_weight), more)

    def sample(self, survey: Survey) -> np.ndarray:
        return np.arange(0, survey.rows, -(-survey.rows // BIN_ROWS))

    def begin(self, survey: Survey, X: Any, y: Any, sample_weight: Any = None) -> None:
        learner = self.learner
        if learner.solver != "bins":
            raise ValueError(
                f'solver={learner.solver!r}: rows in parts have bins: give solver="bins".'
            )
        if not is_whole(learner.pairs):
            raise ValueError(
                f"pairs={learner.pairs!r}: a fit to rows in parts has functions of single columns "
                "alone: give pairs=0, or fit to some of the rows on one machine."
            )
        forget(learner)
        learner.begin_rows(
            X, y, sample_weight, columns=survey.more and survey.more.columns(), means=survey.means
        )

    def sums(self, X: Any, y: Any, sample_weight: Any = None) -> CountTables:
        return self.learner.count_rows(X, y, sample_weight)

    def finish(self, sums: CountTables) -> Any:
        with blas_limit(0), np.errstate(all="ignore"):
            return self.learner.fit_counts(sums)
