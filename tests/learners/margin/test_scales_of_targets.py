"""Machines whose tolerance does not depend on the units of the targets, or on the size of nu."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import SVR, NuSVR, OneClassSVM

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = np.sin(X[:, 0])


@pytest.mark.parametrize("power", [-300, -30, -9, -6, -3, 3])
@pytest.mark.parametrize("Machine", [SVR, NuSVR])
def test_targets_of_any_scale(Machine, power):
    scale = 10.0**power

    def machine(s):
        tube = {"epsilon": 0.1 * s} if Machine is SVR else {}
        return Machine(C=s, tol=1e-4, **tube).fit(X, s * Y)

    one, other = machine(1.0), machine(scale)
    assert_allclose(other.predict(X) / scale, one.predict(X), atol=1e-3)
    assert other.converged_
    if Machine is NuSVR:
        assert_allclose(other.epsilon_ / scale, one.epsilon_, atol=1e-3)


def test_left_out_rows_in_small_units():
    small = SVR(C=1e-6, epsilon=1e-7).leave_one_out(X[:40], 1e-6 * Y[:40])
    usual = SVR(C=1.0, epsilon=0.1).leave_one_out(X[:40], Y[:40])
    found, wanted = (machine.predict(rows) for machine, rows in (small, usual))
    assert_allclose(1e6 * found, wanted, atol=2e-3)


def test_targets_inside_the_tube_are_said():
    with pytest.warns(UserWarning, match=r"tube of epsilon=0\.1.* epsilon below [19].*e-0[67]"):
        model = SVR().fit(X, 1e-6 * Y)
    assert np.ptp(model.predict(X)) == 0
    SVR(epsilon=9e-7, C=1e-6).fit(X, 1e-6 * Y)


@pytest.mark.parametrize("nu", [1e-9, 1e-6, 1e-3])
def test_a_tiny_nu_has_few_outliers(nu):
    model = OneClassSVM(nu=nu).fit(X)
    assert model.converged_
    assert (model.predict(X) < 0).sum() <= 1
    assert_allclose(model.dual_coef_.sum(), nu * len(X))
