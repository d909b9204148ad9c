"""What a kernel machine must beat: the constant, and an additive linear model on splines.

Of texts the linear model reads words, or triples of characters where there are no words, by tf-idf;
of vectors their directions.
Of a wide table it is a model of few columns.
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
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LassoCV, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer

from mercer.samples import EncodedColumns, kind_of, plain_rows
from mercer.tables import Feature, read_as
from mercer.threads import blas_threads

SPARSE = "linear (sparse)"
SPARSE_FROM = 100  # with more columns, the linear baseline is sparse
SPARSE_COLUMNS = (3, 10, 30, 100)  # columns of a sparse baseline for classes
SPARSE_VALUES = 2_000_000  # of the rows that a sparse baseline is fitted to
ALPHAS = np.logspace(-3, 3, 7)
MOST_ROWS = 20_000  # that a baseline is fitted to
WORK = 3e10  # products of a value and a coefficient in all steps of a logistic regression
STEPS = (10, 300)  # of it, at least and at most
MANY_LEVELS = 1000  # of all categories: leave-one-out takes their cube, conjugate gradients do not


def baseline_names(features: list[Feature]) -> tuple[str, ...]:
    """The names of the baselines that suit the columns of a table."""
    columns = len(read_as(features, "scaled", "code"))
    return "trivial", SPARSE if columns > SPARSE_FROM else "linear (spline)"


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
    name : {"trivial", "linear (spline)", "linear (sparse)"}
        The most frequent class or the mean; or logistic or ridge regression on cubic splines of
        each number, indicators of each category, tf-idf of each text and set, and vectors of length
        1; or the lasso, and
        for classes logistic regression on the 3 to 100 columns with the largest F values. Of fewer
        than 5 rows, or one class, there is no other than the trivial one. Of more than 20,000 rows
        it sees 20,000, which fix its few coefficients well enough.
    """
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
        M, y, weights = M[rows], y[rows], None if weights is None else weights[rows]
    if name == "trivial" or len(y) < 5 or np.all(y == y[0]):
        return _fit_trivial(M, y, task, weights)
    if name == SPARSE:
        return _fit_sparse(features, M, y, task, weights)
    scaled = read_as(features, "scaled")
    codes = read_as(features, "code")
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
             for j, f in enumerate(features)
             if j in _read(features) and _counter(M.objects[j]) is not None]  # fmt: skip
    texts += [(features[j].label, _Vectors(j)) for j in read_as(features, "directions")]
    if not (levels or texts):
        return _fit_trivial(M, y, task, weights)
    if texts:
        columns = FeatureUnion([("columns", columns), *texts] if levels else texts)
    # the matrices are small: several threads of BLAS would wait for each other
    with warnings.catch_warnings(), blas_threads(1):
        warnings.simplefilter("ignore", ConvergenceWarning)  # a baseline may stop a little early
        X = columns.fit_transform(M)
        if task == "classification":
            learner: Any = LogisticRegression(C=1.0, max_iter=_steps(X, y))
        elif not texts and sum(levels[j] for j in codes) < MANY_LEVELS:
            learner = RidgeCV(alphas=ALPHAS)
        else:
            # R² of the one row that a fold of few rows may have would be undefined
            learner = GridSearchCV(
                Ridge(solver="sparse_cg"), {"alpha": ALPHAS}, cv=3, scoring="neg_mean_squared_error"
            )
        learner.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    return Pipeline([("columns", columns), ("learner", learner)])


def _fit_trivial(M: EncodedColumns, y: np.ndarray, task: str, weights: Any):
    model = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    return model.fit(np.empty((len(M), 0)), y, weights)


def _counter(cells: Any) -> Any:
    """What counts the parts of the training cells; None where their kind has no such baseline."""
    kind = kind_of(cells)
    return None if kind is None else kind.counter(cells)


def _fit_sparse(features: list[Feature], M: EncodedColumns, y: np.ndarray, task: str, weights: Any):
    scaled = read_as(features, "scaled")
    codes = read_as(features, "code")
    most = max(1000, SPARSE_VALUES // (len(scaled) + len(codes)))
    if len(y) > most:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
        M, y, weights = M[rows], y[rows], None if weights is None else weights[rows]
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer([("numbers", "passthrough", scaled), ("categories", levels, codes)])
    if task == "classification":
        few = Pipeline(
            [("few", SelectKBest(f_classif)), ("learner", LogisticRegression(max_iter=300))]
        )
        counts = sorted({min(k, len(scaled) + len(codes)) for k in SPARSE_COLUMNS})
        learner: Any = GridSearchCV(few, {"few__k": counts}, cv=3)
        weighted = "learner__learner__sample_weight"
    else:
        learner = LassoCV(cv=3, eps=0.01, max_iter=500, tol=1e-3)
        weighted = "learner__sample_weight"
    steps = [("read", FunctionTransformer(_numbers)), ("columns", columns), ("learner", learner)]
    with warnings.catch_warnings(), blas_threads(1):
        # of convergence, of constant columns, of classes of one row
        warnings.simplefilter("ignore")
        return Pipeline(steps).fit(M, y, **({} if weights is None else {weighted: weights}))


def _steps(X: Any, y: np.ndarray) -> int:
    """Steps of a logistic regression, of a thousand classes no more than take some seconds."""
    values = X.nnz if sp.issparse(X) else X.size
    return int(np.clip(WORK / (values * len(np.unique(y))), *STEPS))


def _read(features: list[Feature]) -> list[int]:
    """Columns of words, items and other samples, and of characters of texts without words."""
    spoken = {features[j].source for j in read_as(features, "words")}
    again = [j for j in read_as(features, "characters") if features[j].source in spoken]
    return [j for j, f in enumerate(features) if f.holds_objects and j not in again]


def _numbers(M: EncodedColumns) -> np.ndarray:
    return M.numbers.astype(np.float64)


class _Vectors(TransformerMixin, BaseEstimator):
    """The vectors in the cells of a column, of length 1."""

    def __init__(self, column: int):
        self.column = column

    def fit(self, M: EncodedColumns, y: Any = None) -> _Vectors:
        return self

    def transform(self, M: EncodedColumns) -> np.ndarray:
        """The vectors, (n, d)."""
        return plain_rows(M.objects[self.column]).astype(np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Counts(TransformerMixin, BaseEstimator):
    """How often each part of the training cells stands in each cell of a column."""

    def __init__(self, column: int):
        self.column = column

    def fit(self, M: EncodedColumns, y: Any = None) -> _Counts:
        self.counter_ = _counter(M.objects[self.column])
        return self

    def transform(self, M: EncodedColumns) -> sp.csr_array:
        """Counts, (n, symbols), sparse."""
        return sp.csr_array(self.counter_.features(M.objects[self.column]))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "counter_")
