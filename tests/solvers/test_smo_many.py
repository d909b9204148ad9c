"""Many small machines at once are those of `SmoSolver`, one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import gram
from mercer.kernels import RBF
from mercer.solvers import smo_many
from mercer.solvers.dual import DualProblem
from mercer.solvers.smo import SmoSolver
from mercer.solvers.smo_many import solve_many

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
def test_they_are_those_of_the_solver(nu, monkeypatch):
    monkeypatch.setattr(smo_many, "STEPS", 1000)  # enough for this tolerance
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
    monkeypatch.setattr(smo_many, "STEPS", 1)
    rows, made = zip(*problems(None))
    results = solve_many(gram(RBF(0.5), X).dense(), made, rows, [None] * len(made), 1e-10)
    assert not results[-1].converged
    assert results[-1].violation > 1e-10
