"""What a kernel machine must beat: the constant, and an additive linear model on splines.

Of texts the linear model reads words, or triples of characters where there are no words, by tf-idf.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer

from mercer.kernels import Spectrum
from mercer.samples import EncodedColumns, Strings
from mercer.selection.encoding import Feature
from mercer.threads import blas_threads

__all__ = ["BASELINES", "fit_baseline"]

BASELINES = ("trivial", "linear (spline)")
ALPHAS = np.logspace(-3, 3, 7)
MOST_ROWS = 20_000  # that a baseline is fitted to
MANY_LEVELS = 1000  # of all categories: leave-one-out takes their cube, conjugate gradients do not


def fit_baseline(
    name: str,
    features: list[Feature],
    M: EncodedColumns,
    y: np.ndarray,
    task: str,
    weights: Any = None,
):
    """Fit a baseline on the encoded columns of a table; a scikit-learn pipeline.

    Parameters
    ----------
    name : {"trivial", "linear (spline)"}
        The most frequent class or the mean; or logistic or ridge regression on cubic splines of
        each number, indicators of each category, and tf-idf of each text and set. Of fewer than 5
        rows, or one class, there is no other than the trivial one. Of more than 20,000 rows it
        sees 20,000, which fix its few coefficients well enough.
    """
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
        M, y, weights = M[rows], y[rows], None if weights is None else weights[rows]
    if name == "trivial" or len(y) < 5 or np.all(y == y[0]):
        model = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
        return model.fit(np.empty((len(M), 0)), y, weights)
    scaled = [j for j, f in enumerate(features) if f.kind == "scaled"]
    codes = [j for j, f in enumerate(features) if f.kind == "code"]
    splines = SplineTransformer(n_knots=6, knots="quantile", include_bias=False)
    levels = {j: len(np.unique(M.numbers[:, j])) for j in (*scaled, *codes)}
    columns: Any = ColumnTransformer(
        [
            ("numbers", splines, [j for j in scaled if levels[j] > 6]),
            ("few", "passthrough", [j for j in scaled if levels[j] <= 6]),
            ("categories", OneHotEncoder(handle_unknown="ignore"), codes),
        ]
    )
    columns = make_pipeline(FunctionTransformer(_numbers), columns)
    texts = [(f.label, make_pipeline(_Counts(j), TfidfTransformer(sublinear_tf=True)))
             for j, f in enumerate(features) if j in _read(features)]  # fmt: skip
    if texts:
        columns = FeatureUnion([("columns", columns), *texts] if levels else texts)
    if task == "classification":
        learner = LogisticRegression(C=1.0, max_iter=300)
    elif not texts and sum(levels[j] for j in codes) < MANY_LEVELS:
        learner = RidgeCV(alphas=ALPHAS)
    else:
        # R² of the one row that a fold of few rows may have would be undefined
        learner = GridSearchCV(
            Ridge(solver="sparse_cg"), {"alpha": ALPHAS}, cv=3, scoring="neg_mean_squared_error"
        )
    # the matrices are small: several threads of BLAS would wait for each other
    with warnings.catch_warnings(), blas_threads(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # a baseline may stop a little early
        given = {} if weights is None else {"learner__sample_weight": weights}
        return Pipeline([("columns", columns), ("learner", learner)]).fit(M, y, **given)


def _read(features: list[Feature]) -> list[int]:
    """Columns of words and items, and of characters where the text has no words."""
    spoken = {f.source for f in features if f.kind == "words"}
    return [
        j for j, f in enumerate(features)
        if f.holds_objects and (f.kind != "characters" or f.source not in spoken)
    ]  # fmt: skip


def _numbers(M: EncodedColumns) -> np.ndarray:
    return M.numbers.astype(np.float64)


class _Counts(TransformerMixin, BaseEstimator):
    """How often each symbol or item of the training cells stands in each cell of a column."""

    def __init__(self, column: int):
        self.column = column

    def fit(self, M: EncodedColumns, y: Any = None) -> _Counts:
        cells = M.objects[self.column]
        self.kernel_ = None
        if isinstance(cells, Strings):
            self.kernel_ = Spectrum(3 if cells.form == "text" else 1, vocabulary=cells)
        return self

    def transform(self, M: EncodedColumns) -> sp.csr_array:
        """Counts, (n, symbols), sparse."""
        cells = M.objects[self.column]
        if self.kernel_ is not None:
            return sp.csr_array(self.kernel_.features(cells))
        return cells.indicators(cells.known)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "kernel_")
