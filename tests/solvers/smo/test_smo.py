"""SMO against a general quadratic solver, against itself with other working sets, and its own
certificate; it always ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer import _native
from mercer.gram import DenseGram, FeatureGram, Place, TiledGram, gram
from mercer.kernels import RBF, Linear, Sigmoid
from mercer.solvers.result import Reason
from mercer.solvers.rows import FactorRows, HeldRowSource
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.smo.smo import SmoSolver

RNG = np.random.default_rng(0)


def problem(n, seed=0, noise=0.3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(dtype)
    y = np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def dual_value(K, problem, alpha):
    beta = np.bincount(problem.rows, problem.y * alpha, len(K))
    return -(beta @ K @ beta / 2 + problem.p @ alpha)


def oracle(K, problem):
    """The dual's maximum by a general solver."""
    Q = np.outer(problem.y, problem.y) * K[np.ix_(problem.rows, problem.rows)]
    found = minimize(
        lambda a: (a @ Q @ a / 2 + problem.p @ a, Q @ a + problem.p),
        np.zeros(len(problem.y)),
        jac=True,
        method="SLSQP",
        bounds=[(0, c) for c in problem.C],
        constraints={"type": "eq", "fun": lambda a: problem.y @ a, "jac": lambda a: problem.y},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return -found.fun


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_classification_reaches_the_general_solver(C):
    X, y = problem(40)
    K = RBF(0.5).block(X, X)
    dual = DualProblem.classification(y, np.full(40, C))
    result = SmoSolver(tol=1e-6).solve(DenseGram(K, symmetric=True), dual)
    assert_allclose(result.objective, oracle(K, dual), rtol=1e-6)
    assert_allclose(dual_value(K, dual, result.alpha), result.objective, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_regression_reaches_the_general_solver(epsilon):
    X, _ = problem(30)
    target = np.sin(X[:, 0])
    K = RBF(0.5).block(X, X)
    dual = DualProblem.regression(target, np.full(30, 2.0), epsilon)
    result = SmoSolver(tol=1e-6).solve(DenseGram(K, symmetric=True), dual)
    assert_allclose(result.objective, oracle(K, dual), rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_nu_regression_with_a_tube_of_width_0_is_exact(seed):
    """Some rows are then free above and below the tube, and the last system is singular."""
    rng = np.random.default_rng(seed)
    X, target = rng.random((27, 30)), rng.integers(0, 3, 27)
    K = RBF(0.4).block(X, X)
    dual = DualProblem.nu_regression(target, np.ones(27), 0.9)
    result = SmoSolver().solve(DenseGram(K, symmetric=True), dual)
    above, below = np.split((result.alpha > 0) & (result.alpha < 1), 2)
    assert (above & below).any()
    assert_allclose(result.levels[0], result.levels[1], rtol=0, atol=1e-12)
    f = K @ result.coef + result.intercept
    assert_allclose(f[above | below], target[above | below], rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_the_certificate(C, dtype):
    """Feasible, within the tolerance of optimality, and the gap bounds the distance."""
    X, y = problem(300, dtype=dtype)
    K = RBF(0.5).block(X, X)
    K = (K + K.T) / 2  # float32 rounding times C = 1e4 would show
    dual = DualProblem.classification(y, np.full(300, C))
    result = SmoSolver().solve(DenseGram(K, symmetric=True), dual)
    a = result.alpha
    assert result.converged
    assert (a >= 0).all()
    assert (a <= dual.C).all()
    assert abs(y @ a) < 1e-9 * max(1, a.sum())
    f = K.astype(float) @ (y * a) - y
    up, low = np.where(y > 0, a < C, a > 0), np.where(y > 0, a > 0, a < C)
    assert f[low].max() - f[up].min() <= 1.1e-3
    sharp = SmoSolver(tol=1e-8).solve(DenseGram(K, symmetric=True), dual)
    assert sharp.objective - result.objective <= result.gap + 1e-6 * abs(sharp.objective)


@pytest.mark.parametrize("working_set", [2, 7, 64, 1000])
def test_the_working_set_does_not_matter(working_set):
    X, y = problem(120)
    K = DenseGram(RBF(0.5).block(X, X), symmetric=True)
    dual = DualProblem.classification(y, np.ones(120))
    wanted = SmoSolver(tol=1e-7).solve(K, dual)
    result = SmoSolver(tol=1e-7, working_set=working_set, whole=0).solve(K, dual)
    assert_allclose(result.objective, wanted.objective, rtol=1e-8)
    assert_allclose(result.intercept, wanted.intercept, atol=1e-5)


@pytest.mark.parametrize("cache_rows", [1, 30, 400])
def test_the_cache_does_not_matter(cache_rows):
    X, y = problem(300)
    dual = DualProblem.classification(y, np.ones(300))
    K = DenseGram(RBF(0.5).block(X, X), symmetric=True)
    solver = SmoSolver(tol=1e-6, working_set=20, whole=0, cache_bytes=cache_rows * 300 * 8)
    wanted = SmoSolver(tol=1e-6, working_set=20, whole=0).solve(K, dual)
    assert_allclose(solver.solve(TiledGram(RBF(0.5), X), dual).coef, wanted.coef, atol=1e-6)


def test_the_number_of_threads_does_not_matter():
    X, y = problem(1500)
    dual = DualProblem.classification(y, np.ones(1500))
    one, two = (
        SmoSolver(n_jobs=jobs).solve(TiledGram(RBF(0.5), X, place=Place(n_jobs=jobs)), dual)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef, two.coef)


def test_a_warm_start_needs_fewer_rounds_and_gives_the_same():
    X, y = problem(600)
    K = DenseGram(RBF(0.5).block(X, X), symmetric=True)
    solver = SmoSolver(working_set=32, whole=0)
    first = solver.solve(K, DualProblem.classification(y, np.full(600, 1.0)))
    dual = DualProblem.classification(y, np.full(600, 1.2))
    cold, warm = solver.solve(K, dual), solver.solve(K, dual, alpha=first.alpha)
    assert warm.iterations < cold.iterations
    assert_allclose(warm.objective, cold.objective, rtol=1e-5)


def test_an_infeasible_start_is_made_feasible():
    X, y = problem(50)
    K = DenseGram(RBF(0.5).block(X, X), symmetric=True)
    dual = DualProblem.classification(y, np.ones(50))
    result = SmoSolver().solve(K, dual, alpha=np.where(y > 0, 9.0, -1.0))
    assert abs(y @ result.alpha) < 1e-9
    assert result.converged


def test_indefinite_kernels_and_contradictions_end():
    X, y = problem(100)
    dual = DualProblem.classification(y, np.full(100, 100.0))
    K = Sigmoid(gamma=2.0, coef0=-1.0).block(X, X)
    result = SmoSolver(max_rounds=2000).solve(DenseGram(K), dual)
    assert result.reason in Reason
    twice = np.vstack([X, X])
    dual = DualProblem.classification(np.concatenate([y, -y]), np.ones(200))
    assert SmoSolver().solve(DenseGram(Linear().block(twice, twice)), dual).converged


def test_a_limit_is_said_with_the_gap():
    X, y = problem(300)
    K = DenseGram(RBF(0.5).block(X, X), symmetric=True)
    dual = DualProblem.classification(y, np.ones(300))
    result = SmoSolver(max_rounds=2, working_set=4, whole=0).solve(K, dual)
    assert result.reason is Reason.LIMIT
    assert not result.converged
    assert result.gap > 0
    with pytest.warns(UserWarning, match=r"raise max_iter.*gap"):
        result.conclude()


def test_an_interruption_keeps_the_best_so_far(monkeypatch):
    X, y = problem(500)  # fewer are solved in one call
    dual = DualProblem.classification(y, np.ones(500))
    calls = []

    class Interrupting(DenseGram):
        pass

    real = _native.smo_solve

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr("mercer.solvers.rows.row_sources._native.smo_solve", interrupted)
    K = DenseGram(RBF(0.5).block(X, X), symmetric=True)
    result = SmoSolver(working_set=8, whole=0).solve(K, dual)
    assert result.reason is Reason.INTERRUPTED
    assert result.objective > 0


@pytest.mark.parametrize("isa", _native.available_isas())
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 64, 65])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_native_step_on_every_instruction_set(isa, n, dtype):
    """The subproblem is solved: no pair violates optimality, and f is the gradient still."""
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, 4))
    K = (A @ A.T + np.eye(n)).astype(dtype)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    C, alpha, f = np.full(n, 2.0), np.zeros(n), -y
    before = _native.isa()
    try:
        assert _native.use_isa(isa)
        _native.smo_solve(K, y, C, alpha, f, n, 1e-7, 0.0, 100_000)
        assert_allclose(f, K.astype(float) @ (y * alpha) - y, atol=1e-8)
        up, low = np.where(y > 0, alpha < C, alpha > 0), np.where(y > 0, alpha > 0, alpha < C)
        if up.any() and low.any():
            assert f[low].max() - f[up].min() <= 1e-7
        g, rows = np.zeros(n), np.arange(n)[::-1].copy()
        _native.smo_add_rows(K, rows, alpha[rows].copy(), g, 0, n)
        assert_allclose(g, K.astype(float) @ alpha, rtol=1e-12, atol=1e-12)
    finally:
        _native.use_isa(before)


def test_the_native_loops_refuse_wrong_shapes():
    K, v = np.eye(3), np.zeros(3)
    with pytest.raises(ValueError, match="must be"):
        _native.smo_solve(K, v, v, v.copy(), np.zeros(2), 3, 1.0, 0.0, 1)
    with pytest.raises(IndexError, match="rows of K"):
        _native.smo_add_rows(K, np.array([3]), np.array([1.0]), v.copy(), 0, 3)


class Counting(HeldRowSource):
    """Rows that say how many of them were added."""

    def __init__(self, K):
        super().__init__(K, 1)
        self.added = 0

    def add(self, rows, change, g, again=None):
        self.added += len(rows)
        super().add(rows, change, g, again)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("C", [(0.01, 0.02), (1.0, 1.5), (1e4, 1e5)])
def test_a_path_starts_from_the_products_of_the_last_solution(C, dtype):
    """Where all variables are at their bounds, or none is, no row of K is read for the start."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    f = X[:, 0] + 0.3 * rng.normal(size=80)
    y = np.where(f > np.median(f), 1.0, -1.0)
    K = gram(RBF(0.5), X.astype(dtype))
    source, solver = Counting(K.dense()), SmoSolver(tol=1e-6)
    first = solver.solve(K, DualProblem.classification(y, np.full(80, C[0])), None, source)
    assert_allclose(first.products, K.dense() @ first.coef, atol=1e-4)
    problem = DualProblem.classification(y, np.full(80, C[1]))
    start = np.where(first.alpha == C[0], C[1], first.alpha)
    source.added = 0
    near = SmoSolver(tol=1e6).solve(K, problem, start, source, first)
    free = np.count_nonzero((start > 0) & (start < C[1]))
    if C[0] != 1.0:  # the free variables are solved for exactly at the end, which reads theirs
        assert source.added <= free
    assert_allclose(near.products, K.dense() @ near.coef, rtol=1e-5, atol=1e-5)
    warm = solver.solve(K, problem, start, source, first)
    cold = solver.solve(K, problem, None, source)
    assert_allclose(warm.objective, cold.objective, rtol=1e-6)
    assert_allclose(warm.products, K.dense() @ warm.coef, rtol=1e-5, atol=1e-5)


def test_a_source_with_sums_of_its_own_starts_anew():
    """K = F Fᵀ: what `FactorRows` has added is not that of another problem."""
    F = np.random.default_rng(0).normal(size=(60, 4))
    K = FeatureGram(F)
    y = np.where(F[:, 0] > 0, 1.0, -1.0)
    source, solver = FactorRows(K), SmoSolver(tol=1e-8)
    first = solver.solve(K, DualProblem.classification(y, np.ones(60)), None, source)
    problem = DualProblem.classification(y, np.full(60, 3.0))
    second = solver.solve(K, problem, first.alpha, source, first)
    assert_allclose(second.products, F @ (F.T @ second.coef), atol=1e-9)
    assert_allclose(second.objective, solver.solve(K, problem).objective, rtol=1e-6)
