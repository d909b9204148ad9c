"""Elimination of columns: against refits, and that rows which choose do not score."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    SVC,
    KernelLogisticRegression,
    KernelRegressor,
    KernelRidge,
    RecursiveElimination,
)
from mercer.explain import FactorMatrices, separated_sum
from mercer.kernels import RBF, Laplacian, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 8))
y = X[:, 1] * X[:, 4] + np.sin(2 * X[:, 6]) + 0.1 * rng.normal(size=300)
RIDGE = KernelRidge(kernel="rbf", gamma=0.15, alpha=0.1)


@parametrize_with_checks([RecursiveElimination(RIDGE), RecursiveElimination(SVC())])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Laplacian(0.2), RBF(0.3) + 0.5 * Linear(), RBF(0.2) * Laplacian(0.1)]
)
def test_a_kernel_without_a_column_is_that_of_the_others(kernel):
    model = KernelRidge(kernel=kernel).fit(X[:20], y[:20])
    f, encode = separated_sum(model, X[:20])
    K = FactorMatrices.of(f, encode(X[:9]), encode(X[9:20]))
    assert_allclose(K.without([]), kernel(X[:9], X[9:20]))
    less = kernel(np.delete(X[:9], 3, axis=1), np.delete(X[9:20], 3, axis=1))
    assert_allclose(K.without([3]), less)
    assert_allclose(K.reduced(3).without([]), less)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, lambda X: pl.DataFrame(X)])
def test_the_columns_that_matter_stay(form):
    data = form(X)
    found = RecursiveElimination(RIDGE, rows=200).fit(data, y)
    assert found.support_.nonzero()[0].tolist() == [1, 4, 6]
    assert found.n_features_ == 3
    assert sorted(found.ranking_) == [1, 1, 1, 2, 3, 4, 5, 6]
    sizes, inner = found.scores_["n_features"], found.scores_["left_out"]
    assert sizes.tolist() == list(range(8, 0, -1))
    assert inner.argmax() == 5
    assert found.score_ == found.scores_["held_out"][5] > 0.8
    few = found.transform(data)
    assert few.shape == (300, 3)
    assert type(few) is type(data)
    assert_array_equal(found.predict(data), found.estimator_.predict(few))
    assert found.score(data, y) > 0.9
    again = RecursiveElimination(RIDGE, rows=200, n_jobs=1).fit(data, y)
    assert_array_equal(again.ranking_, found.ranking_)


def test_at_least_so_many_columns():
    found = RecursiveElimination(RIDGE, rows=100, min_features_to_select=6).fit(X, y)
    assert found.scores_["n_features"].tolist() == [8, 7, 6]
    assert found.n_features_ >= 6


@pytest.mark.parametrize("model", [SVC(), KernelLogisticRegression()], ids=repr)
def test_classes(model):
    side = np.where(y > 0, "high", "low")
    found = RecursiveElimination(model, rows=200).fit(X, side)
    assert set(found.support_.nonzero()[0]) >= {1, 4}
    assert found.score(X, side) > 0.85
    assert_array_equal(found.classes_, ["high", "low"])


def test_rows_that_choose_do_not_score():
    """Of columns that say nothing: what is chosen looks good where it was chosen."""
    noise, wide = rng.normal(size=200), rng.normal(size=(200, 25))
    found = RecursiveElimination(KernelRidge(kernel="rbf", gamma=0.05)).fit(wide, noise)
    best = found.scores_["left_out"].max()
    assert best > 0
    assert found.score_ < best


def test_many_columns_leave_by_fifths():
    wide = np.hstack([X, rng.normal(size=(300, 60))])
    found = RecursiveElimination(KernelRidge(kernel="rbf", gamma=0.01), rows=150).fit(wide, y)
    sizes = found.scores_["n_features"]
    assert sizes[:4].tolist() == [68, 55, 44, 36]
    assert set(found.support_.nonzero()[0]) >= {6}


def test_a_table_of_an_automatic_estimator():
    table = pd.DataFrame(X[:, :5], columns=list("abcde")).assign(k=rng.choice(list("xyz"), 300))
    height = X[:, 1] + 3.0 * (table["k"] == "x")
    from mercer.kernels import Match, TableKernel
    from mercer.selection.automatic import KernelMachine

    names = [f"{c} (scaled)" for c in "abcde"]
    kernel = TableKernel([(RBF(0.2), names), (Match(), ["k (code)"])])
    model = KernelRegressor(machines=[KernelMachine("ridge", kernel)], kind={"k": "category"})
    f, encode = separated_sum(model.fit(table, height), table)
    assert f.players == 6
    assert encode(table[:2]).shape[0] == 2


def test_what_is_wrong_is_named():
    with pytest.raises(TypeError, match="no sum of kernels of single columns"):
        RecursiveElimination(KernelRidge(kernel="poly")).fit(X, y)
    with pytest.raises(ValueError, match="test_size=2"):
        RecursiveElimination(RIDGE, test_size=2).fit(X, y)
    with pytest.raises(ValueError, match="X has 8"):
        RecursiveElimination(RIDGE, min_features_to_select=9).fit(X, y)
