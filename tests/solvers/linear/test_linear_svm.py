"""The solvers of linear support vector machines: against general optimisers, against each other,
and by their certificate."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import mercer.solvers.linear.linear_rows as linear_rows
from mercer.solvers.linear.linear_dual import ClassDual, ClassRows, LinearDual
from mercer.solvers.linear.linear_rows import LinearRows, conjugate_gradients
from mercer.solvers.linear.linear_svm import LinearSolver, solve_lasso
from mercer.solvers.result import Reason
from mercer.threads import Stop

RNG = np.random.default_rng(0)
N, D, K = 60, 4, 3
X = RNG.normal(size=(N, D)) * [1, 3, 0.2, 1]
Y = np.where(X @ [1, -0.5, 2, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
T = X @ [1, 2, 0, -1] + RNG.normal(size=N)
CODES = RNG.integers(0, K, N)
C = RNG.uniform(0.1, 2, N)
BIAS = 2.0
FULL = np.hstack([X, np.full((N, 1), BIAS)])
LOSSES = ["hinge", "squared hinge", "insensitive", "squared insensitive"]


def dual_of(loss, C=C, epsilon=0.3):
    squared = "squared" in loss
    if "hinge" in loss:
        return LinearDual.hinge(Y, C, squared)
    return LinearDual.insensitive(T, C, epsilon, squared)


def slack_problem(residuals, squared):
    """min ½|w|² + Σ C ξ (or ξ²) over residuals(w) <= ξ, ξ >= 0, as a general optimiser sees it."""
    rows = len(residuals(np.zeros(D + 1)))
    weights = np.tile(C, rows // N)

    def objective(v):
        w, xi = v[: D + 1], v[D + 1 :]
        return w @ w / 2 + weights @ (xi**2 if squared else xi)

    def gradient(v):
        w, xi = v[: D + 1], v[D + 1 :]
        return np.concatenate([w, weights * (2 * xi if squared else 1)])

    constraints = {
        "type": "ineq",
        "fun": lambda v: v[D + 1 :] - residuals(v[: D + 1]),
    }
    start = np.concatenate([np.zeros(D + 1), np.maximum(residuals(np.zeros(D + 1)), 0)])
    bounds = [(None, None)] * (D + 1) + [(0, None)] * rows
    return minimize(
        objective, start, jac=gradient, method="SLSQP", bounds=bounds, constraints=constraints,
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip


def rows_of(kind, dtype=np.float64):
    A = X.astype(dtype)
    return LinearRows(A if kind == "dense" else sp.csr_array(A), BIAS)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_least_value_is_that_of_a_general_optimiser(loss):
    if "hinge" in loss:
        oracle = slack_problem(lambda w: 1 - Y * (FULL @ w), "squared" in loss)
    else:
        oracle = slack_problem(
            lambda w: np.concatenate([T - FULL @ w - 0.3, FULL @ w - T - 0.3]), "squared" in loss
        )
    result = LinearSolver().solve(rows_of("dense"), dual_of(loss))
    assert result.converged
    assert_allclose(result.objective, oracle.fun, rtol=1e-6)
    assert_allclose(result.coef, oracle.x[: D + 1], atol=1e-3)


@pytest.mark.parametrize("method", ["descent", "newton", "auto"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
def test_methods_agree_and_the_gap_is_true(loss, dtype, kind, method):
    dual = dual_of(loss)
    rows = rows_of(kind, dtype)
    exact = LinearSolver("newton", tol=1e-12).solve(rows, dual)
    result = LinearSolver(method, tol=1e-6, max_iter=20_000).solve(rows, dual)
    assert exact.converged
    assert result.converged
    assert result.gap <= 1e-6 * result.objective
    assert result.objective <= exact.objective + result.gap + 1e-12
    assert np.sum((result.coef - exact.coef) ** 2) / 2 <= result.gap + exact.gap + 1e-14
    # the gap is what it says, from the samples
    A = np.hstack([X.astype(dtype).astype(float), np.full((N, 1), BIAS)])
    w, beta = result.coef, result.beta
    assert ((beta >= dual.low) & (beta <= dual.high)).all()
    u = A.T @ beta
    value = w @ w / 2 + dual.losses(A @ w).sum()
    assert_allclose(result.objective, value)
    assert_allclose(result.gap, value + u @ u / 2 + dual.conjugates(beta).sum(), atol=1e-9)


def test_losses_are_the_largest_lines_below_them():
    f = RNG.normal(scale=3, size=N)
    r = T - f
    assert_allclose(dual_of("hinge").losses(f), C * np.maximum(0, 1 - Y * f))
    assert_allclose(dual_of("squared hinge").losses(f), C * np.maximum(0, 1 - Y * f) ** 2)
    assert_allclose(dual_of("insensitive").losses(f), C * np.maximum(0, abs(r) - 0.3))
    assert_allclose(dual_of("squared insensitive").losses(f), C * np.maximum(0, abs(r) - 0.3) ** 2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_rounded_losses_have_the_nearest_dual_variables(loss, epsilon):
    """β' is no worse than any other point of the box, and its slope is that of differences."""
    dual = dual_of(loss, epsilon=epsilon)
    beta, f = np.clip(RNG.normal(size=N), dual.low, dual.high), RNG.normal(size=N)
    pull = 0.0 if dual.squared else 0.2 / np.maximum(dual.high, -dual.low)
    rounded = dual.rounded(beta, 0.2 / dual.unit)
    near, slope = rounded.nearest(f)

    def value(b):
        return dual.conjugates(b) + f * b + pull * (b - beta) ** 2 / 2

    for other in np.linspace(-3, 3, 61):
        b = np.clip(other, dual.low, dual.high)
        assert (value(near) <= value(b) + 1e-12).all()
    moved, _ = rounded.nearest(f + 1e-7)
    smooth = rounded.nearest(f - 1e-7)[1] == rounded.nearest(f + 1e-7)[1]
    assert_allclose((near - moved)[smooth], 1e-7 * slope[smooth], atol=1e-13)
    change = RNG.normal(size=N)
    expected = change @ (rounded.nearest(f + 0.7 * change)[0] - near)
    assert_allclose(rounded.along(f, change, 0.7, near), expected, atol=1e-10)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("block", [7, 10**6])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_of_rows(kind, block, jobs, monkeypatch):
    monkeypatch.setattr(linear_rows, "BLOCK", block)
    A = np.where(RNG.random((23, 5)) < 0.5, RNG.normal(size=(23, 5)), 0)
    A[3] = 0
    rows = LinearRows(A if kind == "dense" else sp.csr_array(A), 1.5, jobs)
    B = np.hstack([A, np.full((23, 1), 1.5)])
    w, c, h = RNG.normal(size=6), RNG.normal(size=23), RNG.random(23)
    h[5:9] = c[5:9] = 0
    assert_allclose(rows.outputs(w), B @ w)
    assert_allclose(rows.combined(c), B.T @ c)
    assert_allclose(rows.squares(), np.sum(A**2, axis=1))
    assert_allclose(np.tril(rows.gram(h)), np.tril(B.T @ (h[:, None] * B)), atol=1e-12)
    taken = rows.taken(np.array([4, 2]))
    assert_allclose(taken.toarray() if kind == "sparse" else taken, B[[4, 2]])
    same = LinearRows(rows.X, 1.5, 1)
    assert_array_equal(rows.combined(c), same.combined(c))  # whatever the number of threads


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_three_ways_to_the_newton_direction(kind, monkeypatch):
    A = RNG.normal(size=(30, 12))
    rows = LinearRows(A if kind == "dense" else sp.csr_array(A), 1.0)
    B, h, g = np.hstack([A, np.ones((30, 1))]), RNG.random(30), RNG.normal(size=13)
    h[8:] = 0
    expected = np.linalg.solve(np.eye(13) + B.T @ (h[:, None] * B), g)
    assert_allclose(rows.system().inverse_times(h, g), expected, rtol=1e-8)
    monkeypatch.setattr(linear_rows, "FACTORED", 10)  # 8 free rows: Woodbury's identity
    assert_allclose(rows.system().inverse_times(h, g), expected, rtol=1e-8)
    monkeypatch.setattr(linear_rows, "FACTORED", 1)
    assert_allclose(rows.system().inverse_times(h, g), expected, atol=0.02 * np.linalg.norm(g))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_newton_matrix_follows_its_weights(kind):
    A = RNG.normal(size=(40, 5))
    system = LinearRows(A if kind == "dense" else sp.csr_array(A), 1.0).system()
    B, h = np.hstack([A, np.ones((40, 1))]), RNG.random(40)
    for changed in (0, 3, 1, 30, 2):
        rows = RNG.permutation(40)[:changed]
        h = h.copy()
        h[rows] = RNG.random(changed) * RNG.integers(0, 2, changed)
        H = system.gram(h)
        assert_allclose(np.tril(H), np.tril(B.T @ (h[:, None] * B)), atol=1e-12)
        H[:] = 0  # the caller's own


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("factored", [0, 20])
@pytest.mark.parametrize("loss", LOSSES)
def test_newton_without_the_small_system(loss, factored, kind, monkeypatch):
    monkeypatch.setattr(linear_rows, "FACTORED", factored)
    A = RNG.normal(size=(N, 200))
    rows = LinearRows(A if kind == "dense" else sp.csr_array(A), 1.0)
    result = LinearSolver("newton").solve(rows, dual_of(loss))
    assert result.converged


@pytest.mark.parametrize("loss", LOSSES)
def test_scale_is_no_obstacle(loss):
    """Columns of very different size and a large C, on which descent alone does not converge."""
    A = X * [1e4, 1, 1e-3, 1e2] + [0, 1e3, 0, 0]
    C = np.full(N, 1e3)
    result = LinearSolver().solve(LinearRows(A, 1.0), dual_of(loss, C))
    assert result.converged
    assert "Newton" in result.solver
    descent = LinearSolver("descent", max_iter=500).solve(LinearRows(A, 1.0), dual_of(loss, C))
    assert descent.reason is Reason.LIMIT
    assert descent.gap > 0
    assert result.objective <= descent.objective


def crammer_singer_value(W, A, codes, C):
    F = A @ W.T
    wrong = np.arange(len(W)) != codes[:, None]
    own = F[np.arange(len(codes)), codes]
    return np.sum(W * W) / 2 + C @ np.max(F + wrong - own[:, None], axis=1)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_crammer_and_singer_against_a_general_optimiser(kind):
    """Minimise ½|W|² + Σ C ξ over ξ >= every margin error."""
    m = K * (D + 1)
    wrong = (np.arange(K) != CODES[:, None]).astype(float)
    own = np.arange(N), CODES

    def errors(v):
        F = FULL @ v[:m].reshape(K, -1).T
        return (v[m:, None] - (F + wrong - F[own][:, None])).ravel()

    start = np.concatenate([np.zeros(m), np.ones(N)])
    oracle = minimize(
        lambda v: v[:m] @ v[:m] / 2 + C @ v[m:],
        start, jac=lambda v: np.concatenate([v[:m], C]), method="SLSQP",
        constraints={"type": "ineq", "fun": errors}, options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    rows, dual = ClassRows(rows_of(kind), K), ClassDual(CODES, C, K)
    for method in ("auto", "newton", "descent"):
        result = LinearSolver(method, max_iter=50_000).solve(rows, dual)
        assert result.converged
        assert_allclose(result.objective, oracle.fun, rtol=2e-6)
        W = result.coef.reshape(K, -1)
        assert_allclose(crammer_singer_value(W, FULL, CODES, C), result.objective)
        alpha = result.beta.reshape(K, -1)
        assert_allclose(alpha.sum(axis=0), 0, atol=1e-9)
        assert (alpha <= dual.bound + 1e-12).all()


def test_the_joint_newton_direction_in_two_ways(monkeypatch):
    rows, dual = ClassRows(rows_of("dense"), K), ClassDual(CODES, C, K)
    near, slope = dual.rounded(np.zeros(K * N), 0.5).nearest(RNG.normal(size=K * N))
    g = RNG.normal(size=rows.shape[1])
    exact = rows.inverse_times(slope, g)
    free, step = slope
    J = np.zeros((K * N, K * N))
    for i in range(N):
        f = free[:, i].astype(float)
        J[i::N, i::N] = step[i] * (np.diag(f) - np.outer(f, f) / f.sum())
    big = np.kron(np.eye(K), FULL)
    assert_allclose(exact, np.linalg.solve(np.eye(len(g)) + big.T @ J @ big, g), rtol=1e-8)
    monkeypatch.setattr("mercer.solvers.linear.linear_dual.FACTORED", 1)
    assert_allclose(rows.inverse_times(slope, g), exact, atol=0.02 * np.linalg.norm(g))
    assert_allclose(near.reshape(K, -1).sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("cheap", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_weights_against_a_general_optimiser(dtype, kind, cheap):
    noise = RNG.normal(size=(N, 6))
    A = np.hstack([X, noise]).astype(dtype)
    rows = LinearRows(A if kind == "dense" else sp.csr_array(A), BIAS)
    rows.cheap = cheap
    B, d = np.hstack([A.astype(float), np.full((N, 1), BIAS)]), 11
    C = np.full(N, 0.2)

    def value(v):  # w = p - q, both >= 0
        slack = np.maximum(1 - Y * (B @ (v[:d] - v[d:])), 0)
        g = -2 * B.T @ (C * Y * slack)
        return v.sum() + C @ slack**2, np.concatenate([1 + g, 1 - g])

    options = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-10, "maxfun": 100_000}
    oracle = minimize(
        value, np.zeros(2 * d), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * d),
        options=options,
    )  # fmt: skip
    result = solve_lasso(rows, Y, C, LinearSolver(tol=1e-8))
    assert result.converged
    assert_allclose(result.objective, oracle.fun, rtol=1e-7)
    assert result.gap <= 1e-8 * result.objective
    assert 0 < np.count_nonzero(result.coef) < d
    assert_allclose(result.coef, oracle.x[:d] - oracle.x[d:], atol=1e-4)


def test_no_weight_at_all():
    """The penalty alone is least where C is small."""
    result = solve_lasso(rows_of("dense"), Y, np.full(N, 1e-6), LinearSolver())
    assert result.converged
    assert not result.coef.any()
    small = LinearSolver().solve(rows_of("dense"), dual_of("insensitive", epsilon=1e6))
    assert small.converged
    assert small.objective == 0


def solved(solver, problem):
    """The result of a loss, of Crammer and Singer's classes, or of the l1 penalty."""
    if problem == "classes":
        return solver.solve(ClassRows(rows_of("dense"), K), ClassDual(CODES, C, K))
    if problem == "lasso":
        return solve_lasso(rows_of("dense"), Y, C, solver)
    return solver.solve(rows_of("dense"), dual_of(problem))


@pytest.mark.parametrize("method", ["auto", "descent", "newton"])
@pytest.mark.parametrize("problem", [*LOSSES, "classes", "lasso"])
def test_an_interrupt_keeps_what_there_is(problem, method):
    looks, stop = [], Stop()

    def report(line):
        looks.append(line)
        if len(looks) == 2:
            stop.set()

    solver = LinearSolver(method, tol=1e-30, report=report)
    with stop:
        result = solved(solver, problem)
    assert result.reason is Reason.INTERRUPTED
    assert not result.converged
    assert np.isfinite(result.coef).all()
    assert 0 < result.gap < np.inf
    assert len(looks) == 2


@pytest.mark.parametrize("method", ["auto", "descent", "newton"])
@pytest.mark.parametrize("problem", [*LOSSES, "classes", "lasso"])
def test_every_solver_ends_at_its_limit(problem, method):
    for limit in (0, 1):
        solver = LinearSolver(method, tol=1e-30, max_iter=limit)
        result = solved(solver, problem)
        assert result.reason is Reason.LIMIT
        assert result.iterations <= 2 * limit
        assert result.gap > 0


@pytest.mark.parametrize("method", ["auto", "descent", "newton"])
@pytest.mark.parametrize("loss", LOSSES)
def test_an_impossible_tolerance_ends(loss, method):
    solver = LinearSolver(method, tol=1e-300, max_iter=300)
    result = solver.solve(rows_of("dense"), dual_of(loss))
    assert result.reason in (Reason.STALLED, Reason.LIMIT, Reason.CONVERGED)
    if method != "descent":
        assert result.gap <= 1e-12 * result.objective


@pytest.mark.parametrize("method", ["auto", "descent", "newton"])
@pytest.mark.parametrize("loss", LOSSES)
def test_values_near_overflow_end(loss, method):
    with np.errstate(all="ignore"):
        rows = LinearRows(X * 1e200, 1.0)
        result = LinearSolver(method, max_iter=20).solve(rows, dual_of(loss))
    assert np.isfinite(result.coef).all()
    assert not (result.converged and np.isnan(result.gap))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_seed_gives_the_same(loss):
    one, two = (
        LinearSolver("descent", max_iter=7, seed=5).solve(rows_of("dense"), dual_of(loss))
        for _ in range(2)
    )
    assert_array_equal(one.coef, two.coef)
    other = LinearSolver("descent", max_iter=7, seed=6).solve(rows_of("dense"), dual_of(loss))
    assert (one.coef != other.coef).any()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_joint_step_lowers_the_dual_in_its_box(loss, kind):
    """After one epoch most variables are far from where they belong."""
    X, dual = rows_of(kind), dual_of(loss)

    def value(beta):
        u = X.combined(beta)
        return u @ u / 2 + dual.conjugates(beta).sum()

    descent, w = dual.descent(X, 0), np.zeros(D + 1)
    descent.run(1, 0.0, w, None)
    before = descent.beta
    assert descent.run(0, 0.0, w, X.outputs(w)) == 0
    beta = descent.beta
    least = -LinearSolver("newton", tol=1e-12).solve(X, dual).objective
    assert least <= value(beta) < value(before)
    assert ((beta >= dual.low) & (beta <= dual.high)).all()
    assert_array_equal(beta[before == 0], 0)
    assert (beta * before >= 0).all()
    assert_allclose(w, X.combined(beta), atol=1e-12)


def test_a_joint_step_of_wide_rows_solves_for_the_free_variables():
    """Where no variable meets a bound, a fifth of the gradient or less is left."""
    X = LinearRows(sp.random_array((40, 500), density=0.1, rng=1, format="csr"), 1.0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    dual = LinearDual.hinge(y, np.full(40, 100.0), True)
    descent, w = dual.descent(X, 0), np.zeros(501)
    descent.run(3, 0.0, w, None)

    def slope():
        return X.outputs(w) - y + dual.curvature * descent.beta

    before = np.linalg.norm(slope()[descent.beta != 0])
    descent.run(0, 0.0, w, X.outputs(w))
    assert (descent.beta != 0).all()
    assert 0 < np.linalg.norm(slope()) < 0.2 * before


def test_conjugate_gradients_end_where_the_matrix_is_singular():
    """A direction of no curvature ends them; what they have found stays."""
    g = np.array([1.0, 1.0])
    x = conjugate_gradients(lambda v: np.array([v[0], 0.0]), np.array([0.0, 1.0]), np.ones(2))
    assert_array_equal(x, 0)
    x = conjugate_gradients(lambda v: np.array([v[0], 0.0]), g, np.ones(2), 0.1, 3)
    assert np.isfinite(x).all()


def test_progress_is_reported():
    lines = []
    LinearSolver(report=lines.append).solve(rows_of("dense"), dual_of("hinge"))
    assert any(line.startswith("epoch") for line in lines)
    assert any(line.startswith("Newton step") and "gap" in line for line in lines)


@pytest.mark.parametrize(("n", "d", "first"), [(300, 400, "epoch"), (4000, 40, "Newton")])
def test_many_columns_are_solved_without_their_matrix(n, d, first):
    # a Newton step costs n d², and 100 epochs of descent 100 n d
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    dual = LinearDual.hinge(np.where(X[:, 0] > 0, 1.0, -1.0), np.ones(n), True)
    lines = []
    found = LinearSolver(report=lines.append).solve(LinearRows(X, 1.0), dual)
    assert lines[0].startswith(first)
    exact = LinearSolver("newton", tol=1e-9).solve(LinearRows(X, 1.0), dual)
    assert_allclose(found.objective, exact.objective, rtol=1e-6)


def test_conjugate_gradients_stop_at_a_hundredth():
    A = RNG.normal(size=(20, 20))
    H, g = A @ A.T + np.eye(20), RNG.normal(size=20)
    x = conjugate_gradients(lambda v: H @ v, g, H.diagonal())
    assert np.linalg.norm(H @ x - g) <= 1.01e-2 * np.linalg.norm(g)
