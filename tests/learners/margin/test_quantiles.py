"""Quantile regression: its certificate, what a quantile is, and the linear one of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import GridSearchCV

from mercer import KernelQuantileRegression, KernelSearchCV
from mercer.kernels import RBF, WeightedDegree
from mercer.learners.margin.svr import _at_bounds


def noisy(n=200, seed=0):
    """A curve whose noise grows along the first column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + np.exp(X[:, 0]) * rng.normal(size=n)


def primal(model, level, K, y, w):
    """The objective, written out from the coefficients alone."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    r = y - K @ beta - model.intercept_[0]
    return beta @ K @ beta / 2 + model.C * w @ np.maximum(level * r, (level - 1) * r)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gap_is_that_between_the_primal_and_the_dual(level, weighted):
    X, y = noisy()
    w = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    model = KernelQuantileRegression(quantile=level, kernel=RBF(0.5)).fit(X, y, w)
    value = primal(model, level, RBF(0.5)(X), y, w)
    assert model.converged_
    assert_allclose(value - model.objective_, model.dual_gap_, rtol=1e-4, atol=1e-9 * value)
    assert model.dual_gap_ <= 1e-4 * value


@pytest.mark.parametrize("level", [0.1, 0.5, 0.75])
def test_a_part_of_the_targets_is_below(level):
    X, y = noisy(300)
    model = KernelQuantileRegression(quantile=level, C=0.5, tol=1e-6).fit(X, y)
    above = y - model.predict(X)
    assert (above < -1e-5).mean() <= level <= (above <= 1e-5).mean()


@pytest.mark.parametrize("level", [0.2, 0.5])
def test_without_a_penalty_it_is_linear_quantile_regression(level):
    X, y = noisy(80)
    line = QuantileRegressor(quantile=level, alpha=0).fit(X, y)
    model = KernelQuantileRegression(quantile=level, kernel="linear", C=1e4, tol=1e-7).fit(X, y)
    assert_allclose(model.predict(X), line.predict(X), atol=1e-3)
    assert_allclose(model.coef_[0], line.coef_, atol=1e-3)


def test_several_quantiles_are_those_of_single_fits_and_never_cross():
    X, y = noisy(60)
    levels = [0.9, 0.1, 0.5, 0.55, 0.45]
    several = KernelQuantileRegression(quantile=levels, gamma=5.0, C=100.0, tol=1e-7).fit(X, y)
    singles = [
        KernelQuantileRegression(quantile=level, gamma=5.0, C=100.0, tol=1e-7).fit(X, y).predict(X)
        for level in levels
    ]
    single = np.stack(singles, axis=1)
    order = np.argsort(levels)
    assert (np.diff(single[:, order], axis=1) < 0).any()  # else the sorting is not tested
    assert_allclose(several.predict(X)[:, order], np.sort(single, axis=1), atol=1e-4)
    assert several.dual_coef_.shape == (5, several.n_support_[0])
    assert several.n_iter_.shape == several.intercept_.shape == (5,)


def test_weights_are_repetitions():
    X, y = noisy(50)
    counts = np.random.default_rng(2).integers(0, 4, 50)
    settings = {"quantile": [0.25, 0.75], "gamma": 1.0, "tol": 1e-8}
    weighted = KernelQuantileRegression(**settings).fit(X, y, counts)
    repeated = KernelQuantileRegression(**settings).fit(
        np.repeat(X, counts, 0), np.repeat(y, counts)
    )
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_tolerance_is_in_the_units_of_the_target(scale):
    X, y = noisy()
    usual = KernelQuantileRegression(quantile=0.3).fit(X, y)
    scaled = KernelQuantileRegression(quantile=0.3, C=scale).fit(X, y * scale)
    assert_allclose(scaled.predict(X) / scale, usual.predict(X), atol=1e-6)
    assert_allclose(scaled.objective_ / scale**2, usual.objective_, rtol=1e-6)


def test_a_constant_target():
    model = KernelQuantileRegression(quantile=[0.1, 0.9]).fit(np.eye(4), np.full(4, 7.0))
    assert_allclose(model.predict(np.eye(4)), 7.0)


def test_float32_is_near_float64():
    X, y = noisy()
    double = KernelQuantileRegression(quantile=[0.1, 0.5]).fit(X, y)
    single = KernelQuantileRegression(quantile=[0.1, 0.5]).fit(X.astype(np.float32), y)
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.predict(X.astype(np.float32)), double.predict(X), atol=0.01)


def test_low_rank_is_near_exact():
    X, y = noisy(300)
    exact = KernelQuantileRegression(quantile=[0.2, 0.8]).fit(X, y).predict(X)
    low = KernelQuantileRegression(quantile=[0.2, 0.8], solver="low_rank", rank=60, random_state=0)
    assert_allclose(low.fit(X, y).predict(X), exact, atol=0.05)


def test_strings():
    words = ["aab", "aba", "abb", "bbb", "bba", "aaa"]
    model = KernelQuantileRegression(kernel=WeightedDegree(3), C=1e3).fit(words, [1, 2, 3, 6, 5, 0])
    assert_allclose(model.predict(words), [1, 2, 3, 6, 5, 0], atol=0.1)


def test_a_search_shares_work_and_finds_what_a_plain_one_finds():
    X, y = noisy(120)
    grid = {"gamma": [0.3, 3.0], "C": [0.1, 1.0, 10.0]}
    model = KernelQuantileRegression(quantile=0.8, tol=1e-6)
    ours, plain = (Search(model, grid, cv=3).fit(X, y) for Search in (KernelSearchCV, GridSearchCV))
    assert ours.best_params_ == plain.best_params_
    assert_allclose(
        ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=1e-5
    )


def test_the_score_is_one_for_perfect_and_zero_for_the_best_constant():
    X, y = noisy()
    model = KernelQuantileRegression(quantile=[0.2, 0.5, 0.8], gamma=50.0, C=1e4).fit(X, y)
    assert model.score(X, y) > 0.95
    flat = KernelQuantileRegression(quantile=[0.2, 0.5, 0.8], C=1e-9).fit(X, y)
    assert_allclose(flat.score(X, y), 0, atol=1e-3)


def test_a_fit_goes_on_from_the_last():
    X, y = noisy()
    model = KernelQuantileRegression(quantile=[0.2, 0.8], warm_start=True).fit(X, y)
    before, rounds = model.predict(X), model.n_iter_
    again = model.fit(X, y)
    assert (again.n_iter_ <= rounds).all()
    assert_allclose(again.predict(X), before, atol=1e-2)


@pytest.mark.parametrize(
    "wrong", [0, 1, 1.5, -0.1, np.nan, [], [0.1, 1], "half", None, ["a"], True]
)
def test_wrong_quantiles_are_named(wrong):
    with pytest.raises(ValueError, match=r"quantile=.*give a number between 0 and 1, or a list"):
        KernelQuantileRegression(quantile=wrong).fit(*noisy(10))


def test_no_hard_margin():
    with pytest.raises(ValueError, match="C=inf: must be finite"):
        KernelQuantileRegression(C=np.inf).fit(*noisy(10))


def test_the_same_rows_in_another_order():
    X, y = noisy()
    order = np.random.default_rng(3).permutation(len(y))
    model = KernelQuantileRegression(quantile=[0.7, 0.2], tol=1e-8)
    expected = model.fit(X, y).predict(X)
    assert_allclose(model.fit(X[order], y[order]).predict(X), expected, atol=1e-6)
    assert_array_equal(expected[:, 0] >= expected[:, 1], True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_many_rows_start_from_the_quantiles_of_some_and_end_where_others_do(
    C, weighted, monkeypatch
):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3200, 2))
    y = np.sin(X[:, 0]) + np.exp(X[:, 1] / 2) * rng.normal(size=3200)
    weights = rng.uniform(0.2, 2, 3200) if weighted else None
    model = KernelQuantileRegression(quantile=[0.1, 0.6], kernel=RBF(0.5), C=C, tol=1e-4, n_jobs=1)
    quick, rounds = model.fit(X, y, weights).predict(X), model.n_iter_
    monkeypatch.setattr("mercer.learners.margin.svr.GUESSED_LEAST", 3201)
    assert_allclose(quick, model.fit(X, y, weights).predict(X), atol=1e-2)
    assert rounds.sum() < model.n_iter_.sum()


def test_a_constant_of_residuals_has_each_row_at_the_bound_of_its_side():
    bounds = np.array([1.0, 3.0, 2.0, 2.0])
    beta = _at_bounds(np.array([5.0, -1.0, 0.0, 2.0]), bounds, 0.5)
    assert_array_equal(beta, [0.5, -1.5, 0.0, 1.0])
    for level in (0.1, 0.5, 0.93):
        residuals = np.random.default_rng(0).normal(size=101)
        beta = _at_bounds(residuals, np.ones(101), level)
        assert abs(beta.sum()) < 1e-12
        assert ((beta >= level - 1 - 1e-12) & (beta <= level + 1e-12)).all()
        assert ((beta != level) & (beta != level - 1)).sum() <= 1
