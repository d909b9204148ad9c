"""Newton's method for penalised logistic regression, against scikit-learn and its own gradient."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from mercer.gram import FeatureGram
from mercer.solvers import NewtonLogistic, Reason
from mercer.solvers.ridge.newton_logistic import probabilities


def problem(classes, n=120, dtype=np.float64):
    T, y = make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=classes, random_state=classes
    )
    Y = (y[:, None] == np.arange(classes)).astype(float)
    return T.astype(dtype), y, Y[:, 1:] if classes == 2 else Y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_scikit_learns_solution(classes, fit_intercept, weighted):
    T, y, Y = problem(classes)
    w = np.random.default_rng(0).integers(0, 4, len(T)).astype(float) if weighted else None
    result = NewtonLogistic(2.0, fit_intercept=fit_intercept).solve(FeatureGram(T), Y, w)
    theirs = LogisticRegression(
        C=0.5, tol=1e-10, max_iter=1000, solver="newton-cg", fit_intercept=fit_intercept
    ).fit(T, y, w)
    assert result.converged
    assert_allclose(result.coef, theirs.coef_.T, atol=1e-6)
    if fit_intercept:
        assert_allclose(result.intercept, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_gradient_vanishes_at_the_solution(classes):
    T, _, Y = problem(classes)
    result = NewtonLogistic(0.5).solve(FeatureGram(T), Y)
    R = probabilities(T @ result.coef + result.intercept) - Y
    assert_allclose(T.T @ R + 0.5 * result.coef, 0, atol=1e-6)
    assert_allclose(R.sum(axis=0), 0, atol=1e-6)
    assert result.gap <= 1e-10


def test_objective():
    T, y, Y = problem(3)
    result = NewtonLogistic(0.5).solve(FeatureGram(T), Y)
    p = probabilities(T @ result.coef + result.intercept)
    expected = -np.log(p[np.arange(len(y)), y]).sum() + 0.25 * np.sum(result.coef**2)
    assert result.objective == pytest.approx(expected)


def test_separable_classes_and_large_outputs_stay_finite():
    T = np.linspace(-1e3, 1e3, 50)[:, None]
    result = NewtonLogistic(1e-8).solve(FeatureGram(T), (T > 0).astype(float))
    assert np.isfinite(result.coef).all()
    assert np.isfinite(result.objective)


def test_float32():
    T, _, Y = problem(3)
    exact = NewtonLogistic(1.0).solve(FeatureGram(T), Y)
    narrow = NewtonLogistic(1.0, tol=1e-6).solve(FeatureGram(T.astype(np.float32)), Y)
    assert narrow.converged
    assert_allclose(narrow.coef, exact.coef, atol=1e-3)


def test_limit_is_said():
    T, _, Y = problem(2)
    result = NewtonLogistic(1e-6, max_iter=1).solve(FeatureGram(T), Y)
    assert result.reason is Reason.LIMIT
    assert not result.converged
