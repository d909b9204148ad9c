"""Penalties, ranks and centres beyond what samples allow: an error that says what to give instead,
or a stated rule.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    AdditiveClassifier,
    AdditiveRegressor,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeClassifier,
    Nystroem,
)  # fmt: skip

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=60)
TWO = np.where(Y > 0, "yes", "no")


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (KernelRidge(-0.5), r"alpha=-0.5: give a finite penalty >= 0"),
        (KernelRidge([1.0, -2.0]), r"alpha=.*-2.*: give .*>= 0"),
        (KernelRidgeClassifier(-0.5), r"alpha=-0.5: give a finite penalty >= 0"),
        (KernelLogisticRegression(C=-1.0), r"C=-1.0: give a finite number > 0"),
        (AdditiveRegressor(alpha=-1.0), r"alpha=-1.0: give a finite number >= 0"),
        (AdditiveClassifier(alpha=-1.0), r"alpha=-1.0: give a finite number >= 0"),
    ],
)
def test_a_negative_penalty(learner, words):
    y = np.column_stack([Y, Y]) if isinstance(learner.get_params().get("alpha"), list) else Y
    with pytest.raises(ValueError, match=words):
        learner.fit(X, y if isinstance(learner, (KernelRidge, AdditiveRegressor)) else TWO)


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient", "local"])
@pytest.mark.parametrize(
    ("learner", "y"),
    [(KernelRidge(0.0), Y), (KernelRidgeClassifier(0.0, fit_intercept=False), TWO)],
)
def test_no_penalty_and_a_singular_matrix(learner, y, solver):
    """Three columns, so that no coefficients of a linear kernel have these targets."""
    with pytest.warns(ConvergenceWarning, match=r"singular.*: raise the penalty, or remove dup"):
        learner.set_params(kernel="linear", solver=solver).fit(X, y)


def test_a_penalty_below_the_rounding_of_the_matrix():
    y = np.array([0.0, 1.0])
    with pytest.warns(ConvergenceWarning, match="rounding hides the penalty"):
        KernelRidge(1e-20, kernel="rbf", solver="conjugate_gradient").fit(X[[0, 0]], y)


def test_no_penalty_and_low_rank_is_least_squares():
    found = KernelRidge(0.0, kernel="linear", solver="low_rank", rank=40).fit(X, Y).predict(X)
    assert_allclose(found, X @ np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-8)


@pytest.mark.parametrize(
    "learner",
    [
        KernelRidge(0.1, kernel="rbf", solver="low_rank", random_state=0),
        KernelRidgeClassifier(0.1, kernel="rbf", solver="low_rank", random_state=0),
        KernelLogisticRegression(solver="low_rank", random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_rank_above_the_rows_is_all_rows(learner):
    """The machine is then that of all rows."""
    y = Y if isinstance(learner, KernelRidge) else TWO
    answer = "predict" if isinstance(learner, KernelRidge) else "decision_function"
    exact = learner.__class__(**learner.get_params() | {"solver": "auto"}).fit(X, y)
    ours = learner.set_params(rank=1000).fit(X, y)
    assert_allclose(getattr(ours, answer)(X), getattr(exact, answer)(X), atol=1e-5)


@pytest.mark.parametrize("centres", ["pivoted", "uniform", "k-means++", "leverage"])
def test_more_centres_than_rows_are_all_rows(centres):
    features = Nystroem(n_components=1000, centres=centres, random_state=0).fit(X)
    assert features.transform(X).shape == (60, 60)
    F = features.transform(X)
    assert_allclose(F @ F.T, features.kernel_(X), atol=1e-6)


@pytest.mark.parametrize("centres", [[0, 60], [-1, 3], np.array([10**9])])
def test_centres_outside_the_data(centres):
    words = r"centres has numbers from .*: X has rows 0 to 59\. To use centres that are not in X"
    with pytest.raises(ValueError, match=words):
        Nystroem(centres=centres).fit(X)


@pytest.mark.parametrize("level", [2.0, np.nan])
def test_a_column_of_one_level_changes_nothing(level):
    """Neither alone nor in a pair that is asked for."""
    flat = np.column_stack([X, np.full(60, level)])
    for make, y in ((AdditiveRegressor, Y), (AdditiveClassifier, TWO)):
        answer = "predict" if make is AdditiveRegressor else "decision_function"
        alone = getattr(make(pairs=0).fit(X, y), answer)(X)
        assert_allclose(getattr(make(pairs=0).fit(flat, y), answer)(flat), alone, atol=1e-6)
        pairs = make(pairs=[(0, 3)]).fit(flat, y)
        assert np.isfinite(getattr(pairs, answer)(flat)).all()
