"""NuSVC on classes that overlap: its two reduced hulls nearly touch, and sums of K cancel there."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import NuSVC as TheirNuSVC

from mercer import NuSVC


def overlapping(seed=24, n=300, noise=0.5):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 3))
    return X, X[:, 0] + noise * r.normal(size=n) > 0


def test_a_small_nu_converges():
    """The objective is 1e-8 of the terms that cancel in it."""
    X, y = overlapping()
    model = NuSVC(nu=0.2, tol=1e-4).fit(X, y)
    assert model.converged_
    assert model.dual_gap_ <= 1e-6 * abs(model.objective_)
    theirs = TheirNuSVC(nu=0.2, tol=1e-6).fit(X, y)
    assert_array_equal(model.predict(X), theirs.predict(X))


def before_division(K, beta, total):
    """½ βᵀKβ where the absolute values of β have this sum."""
    beta = beta * (total / np.abs(beta).sum())
    return beta @ K @ beta / 2


def beta_of(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_the_objective_is_never_above_that_of_scikit_learn(first):
    for seed in range(first, first + 20):
        tol = [1e-4, 1e-6][seed % 2]
        r = np.random.default_rng(seed)
        n, d = int(r.integers(60, 400)), int(r.integers(2, 7))
        X = r.normal(size=(n, d))
        y = X[:, 0] + r.uniform(0.1, 1) * r.normal(size=n) > 0
        nu = float(r.uniform(0.05, 0.95)) * 2 * min(y.mean(), 1 - y.mean())
        kernel = ["rbf", "rbf", "linear", "poly"][int(r.integers(4))]
        given = {"gamma": 1 / (d * X.var()), "coef0": 1.0, "degree": 3}
        K = pairwise_kernels(X, metric=kernel, filter_params=True, **given)
        theirs = TheirNuSVC(nu=nu, kernel=kernel, tol=1e-6, max_iter=10**6, **given)
        theirs.fit(X, y)
        least = before_division(K, beta_of(theirs, n), nu * n)
        try:
            ours = NuSVC(nu=nu, kernel=kernel, tol=tol, **given).fit(X, y)
        except ValueError as error:
            refused = str(error)
        else:
            assert ours.converged_
            assert before_division(K, beta_of(ours, n), nu * n) <= least * (1 + 1e-9)
            continue
        assert "there is no margin" in refused
        assert least < 1e-5 * nu * n * K.diagonal().max()  # the hulls touch, but for rounding


def middle(model, X, y):
    """The intercept in the middle of what optimality allows, where no row of a class is free."""
    coef = np.zeros(len(X))
    coef[model.support_] = np.abs(model.dual_coef_[0])
    coef /= coef.max()
    f, level = model.decision_function(X) - model.intercept_, []
    for sign in (1, -1):
        of, values = y == (sign > 0), sign * f
        level.append(values[of & (coef > 1e-12)].max() + values[of & (coef < 1 - 1e-12)].min())
    return (level[1] - level[0]) / 4


@pytest.mark.parametrize(
    ("n", "seed", "weight"), [(40, 0, 1), (40, 1, 1), (60, 0, 1), (60, 11, 1.1)]
)
def test_where_many_intercepts_are_optimal_it_is_the_middle_one(n, seed, weight):
    """As in LIBSVM, section 4.2.3, but not where the rounding of a sum leaves a row nearly free."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), np.arange(n) % 2
    X[y == 1, 0] += 1.5
    model = NuSVC(nu=0.9, gamma=0.5, tol=1e-9)
    model.fit(X, y, sample_weight=np.full(n, weight))
    assert model.intercept_[0] == pytest.approx(middle(model, X, y), abs=1e-7)


def test_classes_without_a_margin_are_refused():
    """The reduced hulls of the classes meet: the machine is 0, divided by a margin of 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 2
    with pytest.raises(ValueError, match="no margin between two classes"):
        NuSVC(nu=0.15, kernel="linear", tol=1e-6).fit(X, y)
