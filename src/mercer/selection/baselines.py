"""What a kernel machine must beat: the constant, and an additive linear model on splines."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from mercer.selection.encoding import Feature

__all__ = ["BASELINES", "fit_baseline"]

BASELINES = ("trivial", "linear (spline)")
ALPHAS = np.logspace(-3, 3, 7)
MANY_LEVELS = 1000  # of all categories: leave-one-out takes their cube, conjugate gradients do not


def fit_baseline(name: str, features: list[Feature], M: np.ndarray, y: np.ndarray, task: str):
    """Fit a baseline on the encoded matrix; a scikit-learn pipeline.

    Parameters
    ----------
    name : {"trivial", "linear (spline)"}
        The most frequent class or the mean; or logistic or ridge regression on cubic splines of
        each number and indicators of each category. Of fewer than 5 rows, or one class, there is
        no other than the trivial one.
    """
    if name == "trivial" or len(y) < 5 or np.all(y == y[0]):
        model = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
        return model.fit(M, y)
    scaled = [j for j, f in enumerate(features) if f.kind == "scaled"]
    codes = [j for j, f in enumerate(features) if f.kind == "code"]
    splines = SplineTransformer(n_knots=6, knots="quantile", include_bias=False)
    columns = ColumnTransformer(
        [
            ("numbers", splines, [j for j in scaled if len(np.unique(M[:, j])) > 6]),
            ("few", "passthrough", [j for j in scaled if len(np.unique(M[:, j])) <= 6]),
            ("categories", OneHotEncoder(handle_unknown="ignore"), codes),
        ]
    )
    if task == "classification":
        learner = LogisticRegression(C=1.0, max_iter=300)
    elif sum(len(np.unique(M[:, j])) for j in codes) < MANY_LEVELS:
        learner = RidgeCV(alphas=ALPHAS)
    else:
        learner = GridSearchCV(Ridge(solver="sparse_cg"), {"alpha": ALPHAS}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a baseline may stop a little early
        return make_pipeline(columns, learner).fit(M.astype(np.float64), y)
