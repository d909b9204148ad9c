"""The dual problems: their data, and starts that are made feasible."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from lanes import examples, few
from mercer.gram import DenseGram
from mercer.kernels import RBF
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.smo.smo import SmoSolver

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
Y = np.where(np.arange(24) % 2 == 0, 1.0, -1.0)
T = np.sin(X[:, 0])
W = RNG.uniform(0.5, 2, 24)
K = RBF(0.5)(X)

PROBLEMS = {
    "classification": DualProblem.classification(Y, 3 * W),
    "hard margin": DualProblem.classification(Y, np.full(24, np.inf)),
    "regression": DualProblem.regression(T, 2 * W, 0.1),
    "nu classification": DualProblem.nu_classification(Y, W, 0.4),
    "nu regression": DualProblem.nu_regression(T, 2 * W, 0.3),
    "one class": DualProblem.one_class(W, 0.35),
}


def oracle(K, problem):
    """The dual's maximum by a general solver; with two constraints where there are two sums."""
    Q = np.outer(problem.y, problem.y) * K[np.ix_(problem.rows, problem.rows)]
    if problem.sums is None:
        constraints = [(problem.y, 0.0)]
    else:
        pairs = zip((1.0, -1.0), problem.sums)
        constraints = [((problem.y == sign) * 1.0, wanted) for sign, wanted in pairs]
        constraints = [(a, wanted) for a, wanted in constraints if a.any()]
    found = minimize(
        lambda a: (a @ Q @ a / 2 + problem.p @ a, Q @ a + problem.p),
        problem.feasible(),
        jac=True,
        method="SLSQP",
        bounds=[(0, c if np.isfinite(c) else None) for c in problem.C],
        constraints=[
            {"type": "eq", "fun": lambda a, v=v, s=s: v @ a - s, "jac": lambda a, v=v: v}
            for v, s in constraints
        ],
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    return -found.fun


@pytest.mark.parametrize("working_set", [2, 5, 512])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_reaches_the_general_solver(name, working_set):
    problem = PROBLEMS[name]
    solver = SmoSolver(tol=1e-8, working_set=working_set, whole=0)
    result = solver.solve(DenseGram(K, symmetric=True), problem)
    assert result.converged
    # the general solver is no sharper where there are no bounds
    rtol = 1e-4 if name == "hard margin" else 1e-6
    assert_allclose(result.objective, oracle(K, problem), rtol=rtol)
    if name == "hard margin":
        assert_allclose(np.min(Y * (K @ result.coef + result.intercept)), 1, atol=1e-6)
    a, beta = result.alpha, np.bincount(problem.rows, problem.y * result.alpha, 24)
    assert_allclose(result.objective, -(beta @ K @ beta / 2 + problem.p @ a), rtol=1e-9)
    assert_allclose(result.square, beta @ K @ beta, rtol=1e-9)
    assert_array_equal(result.coef, beta)
    assert ((a >= 0) & (a <= problem.C)).all()
    wanted = problem.sums or [a[problem.y > 0].sum()] * 2
    assert_allclose([a[problem.y > 0].sum(), a[problem.y < 0].sum()], wanted, atol=1e-9)


@pytest.mark.parametrize("seed", few(15, range(60)))
def test_the_constraints_hold_on_coarse_and_singular_problems(seed):
    """Few distinct rows of few features, any penalty: many steps are cut off at the box."""
    rng = np.random.default_rng(seed)
    n, degree = int(rng.integers(10, 60)), int(rng.integers(1, 4))
    rows = rng.normal(size=(n, 2)).round()
    K = (rows @ rows.T + (degree > 1)) ** degree
    C = np.full(n, 10.0 ** rng.integers(-3, 7))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    for problem in (
        DualProblem.classification(y, C),
        DualProblem.regression(rng.normal(size=n), C, 0.1),
        DualProblem.one_class(C, 0.4),
        DualProblem.nu_regression(rng.normal(size=n), C, 0.4),
    ):
        solver = SmoSolver(tol=1e-7, max_rounds=50)
        a = solver.solve(DenseGram(K, symmetric=True), problem).alpha
        assert ((a >= 0) & (a <= problem.C)).all()
        sums = [a[problem.y > 0].sum(), a[problem.y < 0].sum()]
        assert_allclose(sums, problem.sums or sums[::-1], rtol=1e-9, atol=1e-9 * C[0])


def test_the_data_of_the_problems():
    """As the papers have them (LIBSVM, sections 2 and 4)."""
    p = PROBLEMS["nu regression"]
    assert_array_equal(p.rows, [*range(24), *range(24)])
    assert_array_equal(p.y, np.repeat([1.0, -1.0], 24))
    assert_array_equal(p.p, [*-T, *T])
    assert_array_equal(p.C, [*2 * W, *2 * W])
    assert_allclose(p.sums, [0.3 * W.sum()] * 2)  # C ν Σ w / 2 each
    assert_allclose(PROBLEMS["regression"].p, [*(0.1 - T), *(0.1 + T)])
    assert_allclose(PROBLEMS["nu classification"].sums, [0.2 * W.sum()] * 2)
    assert_allclose(PROBLEMS["one class"].sums, [0.35 * W.sum(), 0])
    assert (PROBLEMS["classification"].p == -1).all()
    assert (PROBLEMS["one class"].p == 0).all()


def test_levels_of_the_groups():
    """ρ for each sign: the tube of ν-regression is half their distance wide."""
    result = SmoSolver(tol=1e-10).solve(DenseGram(K, symmetric=True), PROBLEMS["nu regression"])
    f = K @ result.coef
    above, below = result.levels
    epsilon = (below - above) / 2
    rest = T - (f + result.intercept)
    free = (result.alpha[:24] > 0) & (result.alpha[:24] < 2 * W)
    assert_allclose(rest[free], epsilon, atol=1e-8)
    free = (result.alpha[24:] > 0) & (result.alpha[24:] < 2 * W)
    assert_allclose(rest[free], -epsilon, atol=1e-8)


# Feasible starts

numbers = st.floats(0, 10, allow_subnormal=False)


@st.composite
def starts(draw):
    n = draw(st.integers(2, 12))
    y = np.array(draw(st.lists(st.sampled_from([1.0, -1.0]), min_size=n, max_size=n)))
    y[:2] = 1, -1
    bound = st.one_of(numbers, st.just(0.0), st.just(1e-300), st.just(1e9))
    C = np.array(draw(st.lists(bound, min_size=n, max_size=n)))
    wild = st.one_of(st.floats(-5, 20), st.just(np.inf), st.just(-np.inf))
    alpha = draw(st.one_of(st.none(), st.lists(wild, min_size=n, max_size=n)))
    kind = draw(st.sampled_from(["classification", "hard margin", "nu", "one class"]))
    nu = draw(st.floats(0, 1))
    if kind == "nu":
        smaller = min(C[y > 0].sum(), C[y < 0].sum())
        nu = nu * 2 * smaller / C.sum() if C.sum() > 0 else nu
        problem = DualProblem.nu_classification(y, C, nu)
    elif kind == "one class":
        problem = DualProblem.one_class(C, nu)
    elif kind == "hard margin":
        problem = DualProblem.classification(y, np.full(n, np.inf))
        alpha = None if alpha is None else np.nan_to_num(alpha, posinf=20, neginf=-5)
    else:
        problem = DualProblem.classification(y, C)
    return problem, None if alpha is None else np.array(alpha)


@examples(300)
@given(starts())
def test_starts_are_made_feasible(start):
    problem, alpha = start
    given_ = None if alpha is None else alpha.copy()
    found = problem.feasible(alpha)
    size = 1 + found.sum()
    assert ((found >= 0) & (found <= problem.C)).all()
    sums = [found[problem.y > 0].sum(), found[problem.y < 0].sum()]
    assert_allclose(sums, problem.sums or sums[::-1], atol=1e-12 * size)
    if alpha is not None:
        assert_array_equal(alpha, given_)  # not written to
        clipped = np.clip(alpha, 0, problem.C)
        wanted = [clipped[problem.y > 0].sum(), clipped[problem.y < 0].sum()]
        if np.allclose(wanted, problem.sums or wanted[::-1], rtol=1e-15, atol=0):
            assert_allclose(found, clipped, rtol=1e-12, atol=1e-12 * size)  # it was feasible


def test_a_start_moves_no_further_than_it_must():
    """Scaled down where the sum is too large; filled up in order where it is too small."""
    problem = DualProblem.one_class(np.ones(4), 0.5)
    assert_allclose(problem.feasible(np.array([1.0, 1.0, 1.0, 1.0])), 0.5)
    assert_allclose(problem.feasible(np.array([0.5, 0.0, 0.0, 0.9])), [1.0, 0.1, 0.0, 0.9])
    assert_allclose(problem.feasible(), [1, 1, 0, 0])
    problem = DualProblem.classification(np.array([1.0, 1.0, -1.0]), np.ones(3))
    assert_allclose(problem.feasible(np.array([0.4, 0.4, 0.2])), [0.1, 0.1, 0.2])
