"""Many small machines at once are those of `SmoSolver`, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import gram
from mercer.kernels import RBF, Polynomial
from mercer.solvers.smo import SmoSolver, smo
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.smo.smo import solve_many

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
SIZES = [2, 3, 9, 20, 40]


def problems(nu):
    found = []
    for size in SIZES:
        rows = np.sort(rng.choice(40, size, replace=False))
        y = np.where(np.arange(size) < (size + 1) // 2, 1.0, -1.0)
        w = rng.choice([0.5, 1.0, 2.0], size)
        w = np.ones(size) if nu else w
        made = DualProblem.nu_classification(y, w, nu) if nu else DualProblem.classification(y, w)
        found.append((rows, made))
    return found


@pytest.mark.parametrize("nu", [None, 0.4])
def test_they_are_those_of_the_solver(nu):
    K = gram(RBF(0.5), X)
    cases = problems(nu)
    rows, made = zip(*cases)
    results = solve_many(K.dense(), made, rows, [None] * len(made), 1e-8)
    assert all(result.converged for result in results)
    for at, problem, result in zip(rows, made, results):
        alone = SmoSolver(tol=1e-8, polish=False).solve(K.part(at), problem)
        assert_allclose(result.coef, alone.coef, atol=1e-7)
        for name in ("objective", "intercept", "square", "levels"):
            assert_allclose(getattr(result, name), getattr(alone, name), atol=1e-6)
        assert result.violation <= 1e-8
        assert 0 <= result.gap <= 1e-6
        again = solve_many(K.dense(), [problem], [at], [result.alpha], 1e-8)[0]
        assert again.iterations < max(10, result.iterations / 2)  # a warm start at the solution


def test_what_needs_more_steps_is_left_to_the_solver(monkeypatch):
    monkeypatch.setattr(smo, "FIRST_STEPS", 1)
    monkeypatch.setattr(smo, "ROUNDS", 1)
    rows, made = zip(*problems(None))
    results = solve_many(gram(RBF(0.5), X).dense(), made, rows, [None] * len(made), 1e-10)
    assert not results[-1].converged
    assert results[-1].violation > 1e-10


@pytest.mark.parametrize("power", [-600, -60, 60, 300, 600])
def test_the_size_of_the_kernel_changes_nothing(power):
    """K times a power of two, and C divided by it: α is divided by it, bit by bit."""
    K, factor = gram(RBF(0.5), X).dense(), 2.0**power
    rows, made = zip(*problems(None))
    scaled = [DualProblem.classification(each.y, each.C / factor) for each in made]
    usual = solve_many(K, made, rows, [None] * len(made), 1e-8)
    other = solve_many(factor * K, scaled, rows, [None] * len(made), 1e-8)
    for one, two in zip(usual, other):
        assert two.converged
        assert_array_equal(two.alpha * factor, one.alpha)


def test_almost_singular_machines_are_solved():
    """Rows of very different sizes, where SMO alone would take millions of steps."""
    X = rng.normal(size=(12, 9)) * 10.0 ** np.linspace(-3, 3, 9)
    K = gram(Polynomial(3, gamma=1.0), X).dense()
    y = np.where(np.arange(12) < 6, 1.0, -1.0)
    problem = DualProblem.classification(y, np.full(12, 1e9))
    (result,) = solve_many(K, [problem], [np.arange(12)], [None], 1e-6)
    assert result.converged
    alone = SmoSolver(tol=1e-6).solve(gram(Polynomial(3, gamma=1.0), X), problem)
    assert_allclose(result.objective, alone.objective, rtol=1e-6)
