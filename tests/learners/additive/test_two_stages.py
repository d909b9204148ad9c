"""Two learners, one after the other."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import AdditiveRegressor, KernelRidge
from mercer.learners.additive import TwoStageRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (500, 3))
f = np.exp(X[:, 0]) + np.sin(5 * X[:, 1] * X[:, 2])
y = f + rng.normal(scale=0.05, size=500)
RBF = KernelRidge(0.1, kernel="rbf", gamma=2.0)


@parametrize_with_checks([TwoStageRegressor(second=KernelRidge(0.1, kernel="rbf"))])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_it_is_the_sum_of_both():
    model = TwoStageRegressor(AdditiveRegressor(0), second=RBF).fit(X, y)
    first = AdditiveRegressor(0).fit(X, y)
    second = KernelRidge(0.1, kernel="rbf", gamma=2.0).fit(X, y - first.predict(X))
    assert_array_equal(model.predict(X), first.predict(X) + second.predict(X))
    Z = rng.uniform(-1, 1, (300, 3))
    truth = np.exp(Z[:, 0]) + np.sin(5 * Z[:, 1] * Z[:, 2])
    missed = [np.mean((each.predict(Z) - truth) ** 2) for each in (model, first)]
    assert missed[0] < 0.1 * missed[1]


@pytest.mark.parametrize("second", [RandomForestRegressor(20, random_state=0), RBF, None])
def test_any_learner_may_be_second(second, tmp_path):
    both = np.column_stack([y, -f])
    model = TwoStageRegressor(second=second).fit(X, both)
    assert model.predict(X).shape == (500, 2)
    assert model.score(X, both) > 0.9
    if second is not None and not isinstance(second, KernelRidge):
        return
    mercer.save(model, tmp_path / "model.mercer")
    assert_allclose(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_weights_are_repetitions_or_refused():
    w = rng.integers(0, 3, 500)
    again = np.repeat(np.arange(500), w)
    model = TwoStageRegressor(AdditiveRegressor(0, gamma=1.0), second=RBF)
    weighted, repeated = model.fit(X, y, w).predict(X), model.fit(X[again], y[again]).predict(X)
    assert_allclose(weighted, repeated, atol=1e-6)
    with pytest.raises(ValueError, match=r"second=KNeighborsRegressor\(\) takes no sample_weight"):
        TwoStageRegressor(second=KNeighborsRegressor()).fit(X, y, w)


def test_tables_and_missing_values():
    table = pd.DataFrame(X, columns=list("abc"))
    model = TwoStageRegressor(second=RBF).fit(table, y)
    assert list(model.feature_names_in_) == list("abc")
    assert_allclose(model.predict(table), TwoStageRegressor(second=RBF).fit(X, y).predict(X))
    holes = table.mask(rng.random((500, 3)) < 0.1)
    with pytest.raises(ValueError, match="NaN"):
        TwoStageRegressor(second=RBF).fit(holes, y)
    TwoStageRegressor(second=AdditiveRegressor(0)).fit(holes, y)
