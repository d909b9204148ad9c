"""RidgeSweep against Cholesky's method: smooth and rough kernels, weights, precision, fallbacks."""

import numpy as np
import pytest

from mercer.gram import DenseGram
from mercer.kernels import RBF, Laplacian, Linear
from mercer.solvers import CholeskySolver, RidgeSweep
from mercer.solvers.ridge import ridge_sweep as module

PENALTIES = np.logspace(-4, 2, 9)
N = module.SMALL + 60


@pytest.fixture
def never_exact(monkeypatch):
    """Fail where a solution is left to Cholesky's method."""

    def refuse(*_):
        raise AssertionError("left to Cholesky's method")

    monkeypatch.setattr(module.CholeskySolver, "solve", refuse)


def sample(columns, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N + 50, columns))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    if outputs:
        y = np.stack([np.cos(k * X[:, -1]) + y for k in range(outputs)], axis=1)
    return X[:N], y[:N], X[N:]


def exact(K, y, penalty, weights=None):
    s = np.ones(len(y)) if weights is None else np.sqrt(weights)
    A = s[:, None] * K.astype(float) * s + penalty * np.eye(len(y))
    return (s * np.linalg.solve(A, (s * y.T).T).T).T


@pytest.mark.parametrize("columns", [2, 12])
@pytest.mark.parametrize("gamma", [0.001, 0.03, 0.3, 30.0])
def test_predictions_are_those_of_exact_solutions(columns, gamma, never_exact):
    X, y, Z = sample(columns)
    K, cross = RBF(gamma)(X), RBF(gamma)(Z, X)
    results = RidgeSweep(PENALTIES).solve(DenseGram(K, symmetric=True), y)
    for penalty, result in zip(PENALTIES, results):
        np.testing.assert_allclose(
            cross @ result.coef, cross @ exact(K, y, penalty), atol=5e-7 * np.sqrt(np.mean(y**2))
        )
        assert result.converged
        assert result.gap < 1e-6


@pytest.mark.parametrize("kernel", [Linear(), Laplacian(0.1)])
def test_other_spectra(kernel, never_exact):
    X, y, Z = sample(6)
    K = kernel(X)
    results = RidgeSweep(PENALTIES).solve(DenseGram(K, symmetric=True), y)
    peak = np.sqrt(kernel.diag(Z).max() / kernel.diag(X).max())
    for penalty, result in zip(PENALTIES, results):
        np.testing.assert_allclose(
            kernel(Z, X) @ result.coef,
            kernel(Z, X) @ exact(K, y, penalty),
            atol=5e-7 * max(1, peak) * np.sqrt(np.mean(y**2)),
        )


def test_several_outputs_in_the_order_and_shape_asked_for(never_exact):
    X, y, _ = sample(4, outputs=6)
    K = RBF(0.1)(X)
    shuffled = PENALTIES[::-1].tolist() + [PENALTIES[3]]
    results = RidgeSweep(shuffled).solve(DenseGram(K, symmetric=True), y)
    for penalty, result in zip(shuffled, results):
        assert result.coef.shape == y.shape
        np.testing.assert_allclose(K @ result.coef, K @ exact(K, y, penalty), atol=2e-6)


def test_weights_mean_repetition(never_exact):
    X, y, Z = sample(3)
    w = np.random.default_rng(1).integers(0, 4, N).astype(float)
    many = np.repeat(np.arange(N), w.astype(int))
    cross = RBF(0.2)(Z, X)
    weighted = RidgeSweep(PENALTIES).solve(DenseGram(RBF(0.2)(X), symmetric=True), y, w)
    K = RBF(0.2)(X[many])
    for penalty, result in zip(PENALTIES, weighted):
        assert not result.coef[w == 0].any()
        repeated = RBF(0.2)(Z, X[many]) @ exact(K, y[many], penalty)
        np.testing.assert_allclose(cross @ result.coef, repeated, atol=1e-6)


def test_float32_matrices_are_solved_in_float64(never_exact):
    X, y, _ = sample(5)
    K = RBF(0.1)(X.astype(np.float32))
    K = (K + K.T) / 2  # as Gram makes it
    assert K.dtype == np.float32
    for penalty, result in zip(
        PENALTIES, RidgeSweep(PENALTIES).solve(DenseGram(K, symmetric=True), y)
    ):
        assert result.coef.dtype == np.float64
        wide = K.astype(float)
        np.testing.assert_allclose(wide @ result.coef, wide @ exact(K, y, penalty), atol=1e-6)


def test_objective_and_gap_are_those_of_the_solution():
    X, y, _ = sample(4)
    K = DenseGram(RBF(0.1)(X), symmetric=True)
    for penalty, result in zip(PENALTIES, RidgeSweep(PENALTIES).solve(K, y)):
        np.testing.assert_allclose(
            result.objective, CholeskySolver(penalty).solve(K, y).objective, rtol=1e-6
        )


def test_few_penalties_small_samples_and_none_are_left_to_cholesky():
    X, y, _ = sample(4)
    K = DenseGram(RBF(0.1)(X), symmetric=True)
    for result, penalty in zip(RidgeSweep([0.1, 1.0]).solve(K, y), [0.1, 1.0]):
        np.testing.assert_array_equal(result.coef, CholeskySolver(penalty).solve(K, y).coef)
    few = DenseGram(K.K[:20, :20], symmetric=True)
    for result, penalty in zip(RidgeSweep(PENALTIES).solve(few, y[:20]), PENALTIES):
        np.testing.assert_array_equal(result.coef, CholeskySolver(penalty).solve(few, y[:20]).coef)


def test_zero_and_tiny_penalties_of_a_singular_matrix():
    X, y, _ = sample(2)
    K = DenseGram(Linear()(X), symmetric=True)  # rank 2
    penalties = [0.0, 1e-13, *PENALTIES]
    results = RidgeSweep(penalties).solve(K, y)
    for penalty, result in zip(penalties[2:], results[2:]):
        expected = CholeskySolver(penalty).solve(K, y)
        np.testing.assert_allclose(K @ result.coef, K @ expected.coef, atol=1e-6)
    minimum_norm = np.linalg.pinv(K.K, rcond=1e-12, hermitian=True) @ y
    np.testing.assert_allclose(results[0].coef, minimum_norm, atol=1e-6)
    assert np.isfinite(results[1].coef).all()


def test_constant_and_zero_targets(never_exact):
    X, y, _ = sample(3)
    K = DenseGram(RBF(0.1)(X), symmetric=True)
    both = np.stack([np.zeros(N), y], axis=1)
    for result in RidgeSweep(PENALTIES).solve(K, both):
        np.testing.assert_allclose(result.coef[:, 0], 0, atol=1e-9)
    for result in RidgeSweep(PENALTIES).solve(K, np.zeros(N)):
        assert not result.coef.any()


def test_matrices_laid_out_otherwise_and_beyond_single_precision():
    X, y, _ = sample(4)
    K = RBF(0.1)(X)
    wanted = [K @ exact(K, y, penalty) for penalty in PENALTIES]
    big = np.zeros((2 * N, 2 * N))
    big[::2, ::2] = K
    for given in (np.asfortranarray(K), big[::2, ::2]):
        for result, f in zip(RidgeSweep(PENALTIES).solve(DenseGram(given, True), y), wanted):
            np.testing.assert_allclose(K @ result.coef, f, atol=1e-6)
    huge = RidgeSweep(PENALTIES * 1e45).solve(DenseGram(K * 1e45, True), y)
    for result, f in zip(huge, wanted):
        np.testing.assert_allclose(K @ (result.coef * 1e45), f, atol=1e-6)


def test_the_space_stays_small(monkeypatch):
    """20 penalties over six decades take few columns, for smooth, middling and rough kernels."""
    seen = []
    extend = module._Space.extend

    def counting(space, *arguments):
        going = extend(space, *arguments)
        seen.append(space.V.shape[1])
        return going

    monkeypatch.setattr(module._Space, "extend", counting)
    X, y, _ = sample(12)
    for gamma in (0.001, 0.03, 1.0):
        seen.clear()
        K = DenseGram(RBF(gamma)(X), symmetric=True)
        RidgeSweep(np.logspace(-4, 2, 20)).solve(K, y)
        assert 1 <= max(seen) <= 90


def test_an_inaccurate_factor_costs_columns_and_not_accuracy(monkeypatch, never_exact):
    def spoil(A, n_jobs, honest=module.cholesky_factor):
        definite = honest(A)
        A *= 1.05
        return definite

    monkeypatch.setattr(module, "cholesky_factor", spoil)
    X, y, _ = sample(4)
    K = RBF(0.3)(X)
    for penalty, result in zip(
        PENALTIES, RidgeSweep(PENALTIES).solve(DenseGram(K, symmetric=True), y)
    ):
        np.testing.assert_allclose(K @ result.coef, K @ exact(K, y, penalty), atol=1e-6)


def test_shifts_that_fail_are_left_out(monkeypatch):
    """And where all fail, Cholesky's method serves."""
    X, y, _ = sample(4)
    K = RBF(0.1)(X)
    honest, calls = module.cholesky_factor, []

    def failing(A, limit):
        calls.append(A.dtype)
        return len(calls) > limit and honest(A)

    for limit in (1, 10):
        calls.clear()
        monkeypatch.setattr(
            module, "cholesky_factor", lambda A, n_jobs, limit=limit: failing(A, limit)
        )
        results = RidgeSweep(PENALTIES).solve(DenseGram(K, symmetric=True), y)
        for penalty, result in zip(PENALTIES, results):
            np.testing.assert_allclose(K @ result.coef, K @ exact(K, y, penalty), atol=1e-6)
