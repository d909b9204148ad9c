"""What learners with a weight for each column share: dense or sparse rows, and their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.learners.base.training import check_targets, check_weights, one_column
from mercer.samples import (
    SamplesLike,
    accepted,
    check_format,
    kind_named,
    naming_the_kind,
    reading_numbers,
    rows_of_numbers,
)

VECTORS = kind_named("vectors")
FLOATS = [np.float64, np.float32]


def vectors_of(learner: BaseEstimator, X: SamplesLike, **options: Any) -> Any:
    """Vectors in any form as rows of numbers, for a learner that reads no other samples."""
    reader = type(learner).__name__
    check_format(X)
    instead = f" {reader} has none: SVC, KernelRidge and the neighbours have."
    with naming_the_kind(X, VECTORS, reader, instead):
        rows = rows_of_numbers(accepted(X, VECTORS, reader), reader)
        with reading_numbers(rows, reader):
            return validate_data(learner, rows, dtype=FLOATS, **options)


class LinearLearner(BaseEstimator):
    """Abstract: a learner with ``coef_`` and ``intercept_``, which need no kernel matrix."""

    coef_: Any
    intercept_: np.ndarray

    def read_rows(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, numeric: bool, reset: bool = True
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """The rows of positive weight, dense or CSR, with their targets and their weights."""
        X = vectors_of(self, X, accept_sparse="csr", order="C", reset=reset)
        y = check_targets(X, y, type(self).__name__, numeric=numeric)
        y, w = one_column(y), check_weights(X, sample_weight)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # do not change the caller's matrix
            X.sum_duplicates()
        if w is not None and not w.all():  # a row of weight 0 counts as absent
            kept = np.flatnonzero(w)
            X, y, w = X[kept], y[kept], w[kept]
        return X, y, np.ones(X.shape[0]) if w is None else w

    def new_rows(self, X: SamplesLike) -> Any:
        """New rows, dense or CSR."""
        check_is_fitted(self)
        return vectors_of(self, X, accept_sparse="csr", reset=False)

    def values_of(self, X: Any) -> np.ndarray:
        """X coefᵀ + intercept of such rows, (n, machines)."""
        coef = self.coef_.reshape(len(self.intercept_), -1)
        return safe_sparse_dot(X, coef.T, dense_output=True) + self.intercept_

    def __sklearn_is_fitted__(self) -> bool:
        return "coef_" in vars(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
