"""EigenPro: the ridge solution of other solvers, steps that are long and never too long."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers import CholeskySolver, EigenProSolver
from mercer.solvers.ridge.eigenpro import PreconditionedSteps
from mercer.testing import check_ridge_solver


def problem(n=300, dtype=np.float64):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2)).astype(dtype)
    K = DenseGram(RBF(0.5)(X), symmetric=True)
    return K, np.sin(2 * X[:, 0]) + 0.1 * random.normal(size=n)


@pytest.mark.full
def test_contract_of_ridge_solvers():
    check_ridge_solver(EigenProSolver(penalty=0.5, epochs=2000, tol=1e-5, random_state=0), tol=1e-3)


@pytest.mark.spread(5)
@pytest.mark.parametrize("batch", [None, 1, 37, 300])
@pytest.mark.parametrize("rank", [None, 1, 20])
def test_any_batch_and_rank_reach_the_solution(batch, rank):
    K, y = problem()
    solver = EigenProSolver(1.0, 1500, 1e-6, batch=batch, rank=rank, random_state=0)
    result, exact = solver.solve(K, y), CholeskySolver(1.0).solve(K, y)
    assert result.converged
    np.testing.assert_allclose(result.coef, exact.coef, atol=1e-5)
    assert result.objective == pytest.approx(exact.objective, rel=1e-8)


@pytest.mark.full
def test_flattened_directions_save_epochs():
    K, y = problem()
    plain, fast = (
        EigenProSolver(0.05, 3000, 1e-4, batch=300, rank=rank, random_state=0).solve(K, y)
        for rank in (1, 30)
    )
    assert fast.converged
    assert 5 * fast.iterations < plain.iterations


def test_the_preconditioned_matrix_has_the_length_that_the_step_allows():
    K, _ = problem()
    λ = 0.01
    steps = PreconditionedSteps(K, np.array([λ]), 20, 300, np.random.RandomState(0))
    A = K.dense() + λ * np.eye(300)
    inner = np.zeros_like(A)
    inner[steps.sample] = (steps.V * steps.D) @ steps.V.T @ K.dense()[steps.sample]
    spectrum = np.linalg.eigvals((np.eye(300) - inner) @ A).real
    assert spectrum.max() * steps.length < 1  # a whole batch, since batch = n
    assert spectrum.max() < 0.2 * np.linalg.eigvalsh(A)[-1]


def test_with_no_penalty_epochs_regularise():
    K, y = problem()
    few, many = (
        EigenProSolver(0.0, epochs, 1e-9, random_state=0).solve(K, y) for epochs in (2, 60)
    )
    assert not many.converged
    assert many.gap < few.gap < 1
    assert np.linalg.norm(few.coef) < np.linalg.norm(many.coef)


def test_steps_that_are_too_long_are_shortened():
    """A sample of few rows, equal to each other, says nothing about the others."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 1))
    K = DenseGram(100.0 * RBF(0.1)(X), symmetric=True)
    result = EigenProSolver(0.0, 30, 1e-3, rank=900, batch=1500, random_state=0).solve(K, X[:, 0])
    assert result.gap < 0.5


def test_an_interrupt_keeps_the_best(monkeypatch):
    K, y = problem()
    epoch, calls = PreconditionedSteps.epoch, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return epoch(self, *arguments)

    monkeypatch.setattr(PreconditionedSteps, "epoch", interrupted)
    result = EigenProSolver(0.01, 100, 1e-9, random_state=0).solve(K, y)
    assert result.reason.name == "INTERRUPTED"
    assert result.gap < 0.7


def test_float32_and_the_learner():
    K, y = problem(dtype=np.float32)
    result = EigenProSolver(1.0, 200, 1e-5, random_state=0).solve(K, y)
    exact = CholeskySolver(1.0).solve(K, y)
    np.testing.assert_allclose(result.coef, exact.coef, atol=1e-4)
    X = np.random.default_rng(0).normal(size=(100, 2))
    solver = EigenProSolver(epochs=200, tol=1e-6, random_state=0)
    model = KernelRidge(0.3, kernel="laplacian", solver=solver).fit(X, X, sample_weight=X[:, 0] > 0)
    expected = KernelRidge(0.3, kernel="laplacian").fit(X, X, sample_weight=X[:, 0] > 0)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-4)
