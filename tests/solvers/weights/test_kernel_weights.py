"""Solvers of kernels' weights against scipy, brute force and each other, by their certificates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, nnls

from mercer.gram import CombinedGram, DenseGram, Place, gram
from mercer.kernels import RBF, Linear
from mercer.solvers import (
    AlignmentWeights,
    EasyWeights,
    HingeMachines,
    MarginWeights,
    NeighbourhoodWeights,
    RidgeMachine,
    inner_products,
    nonnegative_minimum,
)
from mercer.solvers.rows import by_operator
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.weights import kernel_products, margin_weights
from mercer.solvers.weights.kernel_products import entries

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 4))
NOISE = RNG.normal(size=(N, 1))
y = np.sign(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=N))
T = 6


def operators(dtype=np.float64):
    columns = [X[:, [0]], X[:, 1:3], X, NOISE, X[:, [3]]]
    found = [gram(RBF(0.5), A.astype(dtype)) for A in columns]
    return [*found, gram(Linear(), X.astype(dtype))]


GRAMS = operators()
DENSE = [K.dense() for K in GRAMS]
H = np.eye(N) - 1 / N
UNIFORM = np.full(T, 1 / T)


def on_the_simplex(function, start=UNIFORM, **options):
    """A generic convex solver."""
    return minimize(
        function, start, method="SLSQP", bounds=[(0, 1)] * len(start),
        constraints={"type": "eq", "fun": lambda mu: mu.sum() - 1},
        options={"ftol": 1e-12, "maxiter": 500} | options,
    )  # fmt: skip


# --- quadratic programs --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_least_squares_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rng.integers(1, 30), rng.integers(1, 20)))
    A = np.abs(A) if seed % 3 == 0 else A
    b = rng.normal(size=len(A))
    found = nonnegative_minimum(A.T @ A, A.T @ b)
    theirs = nnls(A, b)[1]
    assert found.converged
    assert (found.coef >= 0).all()
    assert np.linalg.norm(A @ found.coef - b) <= theirs + 1e-7
    simplex = nonnegative_minimum(A.T @ A, A.T @ b, simplex=True)
    assert simplex.converged
    assert simplex.coef.sum() == pytest.approx(1)
    assert simplex.gap <= 1e-7 * max(1, np.abs(A.T @ A).max())
    draws = rng.dirichlet(np.full(A.shape[1], 0.3), 500)
    values = ((draws @ A.T - b) ** 2).sum(axis=1)
    assert ((A @ simplex.coef - b) ** 2).sum() <= values.min() + 1e-6


def test_equal_columns_get_equal_numbers_and_the_objective_does_not_change():
    A = RNG.uniform(size=(20, 4))
    b = A @ [1.0, 2.0, 0.0, 0.5]
    one = nonnegative_minimum(A.T @ A, A.T @ b)
    B = A[:, [0, 1, 2, 3, 1]]
    two = nonnegative_minimum(B.T @ B, B.T @ b)
    assert_allclose(two.coef[[1, 4]], one.coef[1] / 2, rtol=1e-4)
    assert two.objective == pytest.approx(one.objective)


@pytest.mark.parametrize("seed", range(20))
def test_numbers_on_the_simplex_have_the_sum_1_however_near_to_singular_the_quadratic_form(seed):
    rng = np.random.default_rng(seed)
    T, rank = rng.integers(2, 9), rng.integers(1, 3)
    A = 10.0 ** rng.uniform(-4, 4) * rng.normal(size=(rank, T))
    found = nonnegative_minimum(A.T @ A, rng.normal(size=T), simplex=True)
    assert found.converged
    assert found.coef.sum() == pytest.approx(1, abs=1e-12)
    assert (found.coef >= 0).all()


@pytest.mark.parametrize("size", [1.0, 1e-8, 1e-20, 1e-38])
def test_numbers_on_the_simplex_have_the_sum_1_however_small_the_quadratic_form(size):
    c = np.array([0.0, 1.5, 1.0, 1.5])
    found = nonnegative_minimum(size * np.eye(4), c, simplex=True)
    assert found.converged
    assert_allclose(found.coef, [0, 0.5, 0, 0.5], atol=1e-9)


def test_a_quadratic_form_that_is_not_convex_is_refused():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        nonnegative_minimum(np.array([[1.0, 3.0], [3.0, 1.0]]), np.ones(2))


# --- sums by tiles -------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_inner_products_are_those_of_whole_matrices(weighted, jobs, monkeypatch):
    monkeypatch.setattr(kernel_products, "EDGE", 16)
    monkeypatch.setattr(kernel_products, "CENTRES", 7)
    w = RNG.integers(1, 4, N) if weighted else np.ones(N, int)
    rows = np.repeat(np.arange(N), w)
    C = np.eye(len(rows)) - 1 / len(rows)
    centred = [C @ K[np.ix_(rows, rows)] @ C for K in DENSE]
    target = C @ np.outer(y[rows], y[rows]) @ C
    wanted = [[(K * L).sum() for L in centred] for K in centred]
    weights = w.astype(float) if weighted else None
    found = inner_products(GRAMS, y[:, None], weights, n_jobs=jobs)
    assert_allclose(found.grams, wanted, rtol=1e-10)
    assert_allclose(found.target, [(K * target).sum() for K in centred], rtol=1e-10)
    assert found.norm == pytest.approx(np.linalg.norm(target))
    alone = inner_products(GRAMS, y[:, None], weights, pairs=False, n_jobs=jobs)
    assert_allclose(alone.grams, np.diagonal(wanted), rtol=1e-10)


def test_far_from_the_origin_few_digits_are_lost():
    far = X + 1e6
    K = [gram(Linear(), far), gram(RBF(0.5), far)]
    near = [gram(Linear(), X), gram(RBF(0.5), X)]
    assert_allclose(
        inner_products(K, y[:, None]).grams, inner_products(near, y[:, None]).grams, rtol=1e-3
    )


def test_entries_of_many_strips(monkeypatch):
    rows, columns = RNG.integers(0, N, (2, 500))
    monkeypatch.setattr(kernel_products, "STRIP", 7)
    for jobs in (1, 2):
        assert_allclose(entries(GRAMS[2], rows, columns, jobs), DENSE[2][rows, columns])


# --- alignment -----------------------------------------------------------------------------------


def alignment(mu):
    K = H @ np.einsum("t,tij->ij", mu, DENSE) @ H
    yc = H @ y
    return yc @ K @ yc / (np.linalg.norm(K) * (yc @ yc))


def test_alignment_is_that_of_least_squares_and_better_than_random_weights():
    found = AlignmentWeights().solve(GRAMS, y[:, None])
    A = np.stack([(H @ K @ H).ravel() for K in DENSE], axis=1)
    yc = H @ y
    v = nnls(A, np.outer(yc, yc).ravel())[0]
    assert_allclose(found.coef, v / v.sum(), atol=1e-7)
    assert -found.objective == pytest.approx(alignment(found.coef))
    assert found.gap < 1e-8
    draws = RNG.dirichlet(np.full(T, 0.5), 2000)
    assert alignment(found.coef) >= max(map(alignment, draws))


def test_alone_each_weight_is_the_alignment_of_its_matrix():
    found = AlignmentWeights(together=False).solve(GRAMS, y[:, None])
    each = np.array([alignment(np.eye(T)[t]) for t in range(T)])
    assert_allclose(found.coef, each / each.sum())


def test_the_gram_matrix_of_two_classes_is_that_of_their_labels():
    one_hot = (y[:, None] == [-1, 1]).astype(float)
    assert_allclose(
        AlignmentWeights().solve(GRAMS, one_hot).coef,
        AlignmentWeights().solve(GRAMS, y[:, None]).coef, atol=1e-12,
    )  # fmt: skip


# --- EasyMKL -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.0, 0.1, 0.7, 1.0])
def test_easy_is_the_minimum_of_a_generic_solver(lam):
    Q = np.outer(y, y) * ((1 - lam) * sum(DENSE) + lam * np.eye(N))
    found = EasyWeights(lam, tol=1e-8).solve(GRAMS, [y])
    start = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    sides = np.stack([y > 0, y < 0]).astype(float)
    generic = minimize(
        lambda g: g @ Q @ g, start, jac=lambda g: 2 * Q @ g, method="SLSQP", bounds=[(0, 1)] * N,
        constraints={"type": "eq", "fun": lambda g: sides @ g - 1, "jac": lambda g: sides},
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert found.objective == pytest.approx(generic.fun, rel=1e-6)
    assert found.gap <= 1e-6 * found.objective
    margins = np.array([(y * generic.x) @ K @ (y * generic.x) for K in DENSE])
    assert_allclose(found.coef, margins / margins.sum(), atol=2e-3)


def test_easy_weights_of_rows_mean_repetition():
    w = RNG.integers(1, 4, N)
    rows = np.repeat(np.arange(N), w)
    repeated = [DenseGram(K[np.ix_(rows, rows)], symmetric=True) for K in DENSE]
    one = EasyWeights(0.3, tol=1e-9).solve(GRAMS, [y], w.astype(float))
    two = EasyWeights(0.3, tol=1e-9).solve(repeated, [y[rows]])
    assert_allclose(one.coef, two.coef, atol=1e-5)
    assert one.objective == pytest.approx(two.objective, rel=1e-6)


# --- SimpleMKL -----------------------------------------------------------------------------------


def hinge(tol=1e-9):
    problem = DualProblem.classification(y, np.ones(N))
    return HingeMachines([problem], [np.arange(N)], tol)


def hinge_value(mu, machines):
    return machines.solve(CombinedGram(GRAMS, mu, Place(10**9)).held(), None).value


def test_simple_is_the_minimum_of_a_generic_solver():
    """Of the dual: max Σα - s over α and s with ½ (α y)ᵀK_t(α y) <= s for all kernels."""
    found = MarginWeights(tol=1e-8).solve(GRAMS, hinge())
    Q = np.stack([np.outer(y, y) * K for K in DENSE])
    generic = minimize(
        lambda v: v[-1] - v[:-1].sum(), np.zeros(N + 1),
        jac=lambda v: np.r_[-np.ones(N), 1.0], method="SLSQP",
        bounds=[(0, 1)] * N + [(0, None)],
        constraints=[
            {"type": "ineq", "fun": lambda v: v[-1] - (Q @ v[:-1]) @ v[:-1] / 2,
             "jac": lambda v: np.column_stack([-(Q @ v[:-1]), np.ones(T)])},
            {"type": "eq", "fun": lambda v: y @ v[:-1], "jac": lambda v: np.r_[y, 0.0]},
        ],
        options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    assert found.objective == pytest.approx(-generic.fun, rel=1e-6)
    assert found.converged
    assert 0 <= found.gap <= 1e-8 * found.objective
    assert found.coef[3] < 1e-3  # noise


def test_derivatives_are_those_of_differences():
    machines = hinge()
    mu = RNG.dirichlet(np.ones(T))
    K = CombinedGram(GRAMS, mu, Place(10**9)).held()
    S, second = machines.derivatives(GRAMS, mu, machines.solve(K, None), second=True)
    step = 1e-4
    for t in range(T):
        up, down = (hinge_value(mu + s * step * np.eye(T)[t], machines) for s in (1, -1))
        middle = hinge_value(mu, machines)
        assert (up - down) / (2 * step) == pytest.approx(-S[t] / 2, rel=1e-3)
        assert (up + down - 2 * middle) / step**2 == pytest.approx(second[t, t], rel=0.05, abs=0.05)


def test_few_free_variables_are_followed_where_memory_is_short(monkeypatch):
    wanted = MarginWeights(tol=1e-6).solve(GRAMS, hinge())
    monkeypatch.setattr(margin_weights, "FREE", 3)
    found = MarginWeights(tol=1e-6).solve(GRAMS, hinge())
    assert found.objective == pytest.approx(wanted.objective, rel=1e-5)


def test_many_rows_are_not_rounded(monkeypatch):
    """Values of machines on rows in float32 differ by more than steps near the minimum gain."""
    monkeypatch.setattr(by_operator, "ROUNDED_ROWS", 2)
    assert MarginWeights(tol=1e-6).solve(GRAMS, hinge(1e-7)).converged


@pytest.mark.parametrize("machines", [hinge(1e-7), RidgeMachine(y[:, None], 1.0)], ids=type)
def test_the_update_in_closed_form_has_the_same_minimum(machines):
    one = MarginWeights(tol=1e-6).solve(GRAMS, machines)
    two = MarginWeights(closed_form=True, tol=1e-4, max_iter=5000).solve(GRAMS, machines)
    assert two.converged
    assert two.objective == pytest.approx(one.objective, rel=1e-4)
    assert_allclose(two.coef, one.coef, atol=0.02)


def test_simple_for_regression_is_the_minimum_of_a_generic_solver():
    Y = np.stack([X[:, 0] ** 2, X[:, 1] * X[:, 2]], axis=1)
    w = RNG.integers(1, 3, N).astype(float)
    found = MarginWeights(tol=1e-9).solve(GRAMS, RidgeMachine(Y, 0.5, w))

    def value(mu):
        A = np.einsum("t,tij->ij", mu, DENSE) + np.diag(0.5 / w)
        return np.einsum("ic,ic->", Y, np.linalg.solve(A, Y)) / 2

    generic = on_the_simplex(value)
    assert found.objective == pytest.approx(generic.fun, rel=1e-6)
    assert value(found.coef) == pytest.approx(found.objective)


def test_no_convergence_is_said_with_the_measured_gap():
    found = MarginWeights(closed_form=True, tol=1e-9, max_iter=2).solve(GRAMS, hinge())
    assert not found.converged
    with pytest.warns(UserWarning, match=r"one-norm update stopped.*Measured duality gap: .* 2 it"):
        found.conclude()


# --- all -----------------------------------------------------------------------------------------

SOLVERS = {
    "alignment": lambda K, jobs, memory: AlignmentWeights(n_jobs=jobs, memory=memory).solve(
        K, y[:, None]
    ),
    "easy": lambda K, jobs, memory: EasyWeights(
        tol=1e-9, n_jobs=jobs, memory=memory
    ).solve(K, [y]),
    "simple": lambda K, jobs, memory: MarginWeights(tol=1e-7, n_jobs=jobs, memory=memory).solve(
        K, hinge()
    ),
    "ridge": lambda K, jobs, memory: MarginWeights(tol=1e-7, n_jobs=jobs, memory=memory).solve(
        K, RidgeMachine(y[:, None], 1.0)
    ),
    "neighbourhood": lambda K, jobs, memory: NeighbourhoodWeights(
        5, n_jobs=jobs, memory=memory
    ).solve(K),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
def test_weights_do_not_depend_on_order_precision_threads_or_memory(name):
    wanted = SOLVERS[name](GRAMS, 1, None).coef
    assert wanted.sum() == pytest.approx(1)
    order = RNG.permutation(T)
    assert_allclose(
        SOLVERS[name]([GRAMS[t] for t in order], 2, None).coef, wanted[order], atol=1e-4
    )
    assert_allclose(SOLVERS[name](GRAMS, 2, 40_000).coef, wanted, atol=1e-4)
    assert_allclose(SOLVERS[name](operators(np.float32), 1, None).coef, wanted, atol=3e-3)


@pytest.mark.parametrize("name", SOLVERS)
def test_equal_kernels_share_and_constant_kernels_get_nothing(name):
    best = int(SOLVERS[name](GRAMS, 1, None).coef.argmax())
    constant = DenseGram(np.ones((N, N)), symmetric=True)
    zero = DenseGram(np.zeros((N, N)), symmetric=True)
    found = SOLVERS[name]([*GRAMS, GRAMS[best]], 1, None).coef
    assert found[best] == pytest.approx(found[-1], abs=1e-3)
    if name not in ("neighbourhood", "ridge"):  # in which a constant has a meaning
        found = SOLVERS[name]([GRAMS[2], constant, zero], 1, None).coef
        assert_allclose(found, [1, 0, 0], atol=1e-9)


# --- neighbourhoods ------------------------------------------------------------------------------


def test_neighbourhood_weights_minimise_their_definition():
    """½ ‖X (I - K∘D)‖² + γ Σ K∘D∘M, whose quadratic form is exact."""
    k, gamma = 5, 0.1
    P = X @ X.T
    squares = np.diag(P)
    M = squares[:, None] + squares - 2 * P
    D = np.zeros((N, N))
    for i in range(N):
        near = np.argsort(np.where(np.arange(N) == i, np.inf, M[i]))[:k]
        D[near, i] = 1 / k

    def value(mu):
        KD = np.einsum("t,tij->ij", mu, DENSE) * D
        return ((X.T - X.T @ KD) ** 2).sum() / 2 + gamma * (KD * M).sum()

    found = NeighbourhoodWeights(k, gamma).solve(GRAMS, DenseGram(P, symmetric=True))
    constant = (X**2).sum() / 2
    assert found.objective + constant == pytest.approx(value(found.coef))
    assert found.objective + constant == pytest.approx(on_the_simplex(value).fun, rel=1e-6)
    assert found.gap < 1e-7
