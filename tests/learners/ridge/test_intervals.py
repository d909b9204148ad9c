"""Intervals of kernel ridge regression, from what is missed of rows that are left out."""

import numpy as np
import pytest

import mercer
from mercer import KernelRidge

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(600, 1))
Y = np.sin(X[:, 0]) + 0.3 * RNG.standard_exponential(600)
TRAIN, TEST = slice(0, 200), slice(200, 600)


@pytest.mark.parametrize("solver", ["auto", "low_rank", "local"])
def test_intervals_hold_what_they_should(solver, tmp_path):
    model = KernelRidge("auto", kernel="rbf", solver=solver, rank=50).fit(X[TRAIN], Y[TRAIN])
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[TEST], coverage).T
        assert abs(np.mean((low < Y[TEST]) & (Y[TEST] < high)) - coverage) < 0.1
    found = model.predict_quantiles(X[TEST], (0.9, 0.1, 0.5))
    assert (found[:, 1] < found[:, 2]).all()
    assert (found[:, 2] < found[:, 0]).all()
    assert abs(np.mean(Y[TEST] < found[:, 2]) - 0.5) < 0.1
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(again.predict_quantiles(X[TEST], (0.9, 0.1, 0.5)), found)


def test_weights_mean_repetition():
    weights = RNG.integers(0, 3, 60)
    rows = np.repeat(np.arange(60), weights)
    one = KernelRidge("auto", kernel="rbf").fit(X[:60], Y[:60], weights)
    other = KernelRidge("auto", kernel="rbf").fit(X[rows], Y[rows])
    np.testing.assert_allclose(one.predict_interval(X), other.predict_interval(X), atol=1e-6)


def test_fits_that_leave_nothing_out_have_none():
    model = KernelRidge(1.0, kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match=r"alpha=1.0: quantiles need"):
        model.predict_interval(X)
    model = KernelRidge("auto", kernel="rbf").fit(X, np.stack([Y, Y], axis=1))
    with pytest.raises(ValueError, match="of one target"):
        model.predict_quantiles(X)
    with pytest.raises(ValueError, match="coverage=2"):
        model.predict_interval(X, 2)
