"""A fitted machine: exact and low-rank agree, budgets are kept, outputs are the kernel's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.selection.machines import PENALTIES, fit_machine
from mercer.solvers.ridge_path import RidgePath

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = np.c_[np.sin(2 * X[:, 0]) + 5, X[:, 0] * X[:, 1]] + 0.1 * RNG.normal(size=(80, 2))


def test_it_is_ridge_with_the_best_penalty_by_leave_one_out():
    machine = fit_machine(RBF(0.5), X, Y)
    K = RBF(0.5)(X)
    coef = np.linalg.solve(K + machine.penalty * np.eye(80), Y - Y.mean(axis=0))
    assert_allclose(machine.coef, coef, rtol=1e-5)
    assert_allclose(machine.outputs(X), K @ coef + Y.mean(axis=0), rtol=1e-6)
    Z = Y - Y.mean(axis=0)
    left = RidgePath(DenseGram(K, symmetric=True)).leave_one_out(Z, PENALTIES * 80)
    errors = ((left - Z) ** 2).mean(axis=(1, 2))
    assert machine.penalty == PENALTIES[errors.argmin()] * 80
    assert_allclose(machine.left_out, left[errors.argmin()] + Y.mean(axis=0))
    assert machine.solver == "eigenpairs"


def test_all_centres_are_as_good_as_the_exact_machine():
    new = RNG.normal(size=(20, 2))
    exact, low = (fit_machine(RBF(0.5), X, Y, rank=rank) for rank in (None, 80))
    assert low.solver.startswith("low rank")
    assert low.penalty == exact.penalty
    assert_allclose(low.outputs(new), exact.outputs(new), rtol=1e-4)


def test_little_memory_means_few_centres_or_few_penalties():
    machine = fit_machine(RBF(0.5), X, Y, memory=64 * 20**2)
    assert machine.solver == "low rank, 20 centres"
    assert_allclose(machine.outputs(X), Y, atol=1.0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    machine = fit_machine(RBF(0.5), X[:n], Y[:n])
    assert np.isfinite(machine.outputs(X)).all()
