"""Newton steps on free variables: feasible, downhill, and exact where nothing stands in the way."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lanes import examples
from mercer.solvers.smo.interior_point import newton_steps

DTYPES = [np.float32, np.float64]


def problem(n, rank=None, seed=0, bound=1.0, dtype=np.float64, split=None):
    """K, y, C, α inside the box, f = Kβ + y p, and p."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n if rank is None else rank))
    K = (A @ A.T / n).astype(dtype)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if split is not None:
        y[:split], y[split:] = 1.0, -1.0
    C = np.full(n, bound)
    alpha = rng.uniform(0.1, 0.9, n) * np.minimum(bound, 2.0)
    p = rng.normal(size=n)
    return K, y, C, alpha, K.astype(float) @ (y * alpha) + y * p, p


def objective(K, y, alpha, p):
    beta = y * alpha
    return beta @ K.astype(float) @ beta / 2 + p @ alpha


def check(K, y, C, alpha, f, p, split, tol=1e-9, **limits):
    """Run, and see that all that must hold does; returns what the steps said."""
    before, start = alpha.copy(), objective(K, y, alpha, p)
    moved = newton_steps(K, y, C, alpha, f, split, tol, **limits)
    rounding = 1e-5 if K.dtype == np.float32 else 1e-11
    size = min(1.0, C.max()) + np.abs(before).sum() + np.abs(alpha).sum()
    assert np.isfinite(alpha).all()
    assert ((alpha >= 0) & (alpha <= C)).all()
    for group in (slice(None, split), slice(split, None)):
        wanted = y[group] @ before[group]
        assert_allclose(y[group] @ alpha[group], wanted, atol=1e-12 * size)
    at_bound = (before == 0) | (before == C)
    assert_array_equal(alpha[at_bound], before[at_bound])
    end = objective(K, y, alpha, p)
    assert end <= start + rounding * (1 + abs(start))
    assert_allclose(f, K.astype(float) @ (y * alpha) + y * p, atol=rounding * size * 10)
    return moved


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("split", [0, 12, 30])
def test_without_bounds_in_the_way_it_is_the_solution(split, dtype):
    """One step from a start whose sums are those of a solution inside the box."""
    K, y, C, solution, _, _ = problem(
        30, dtype=dtype, bound=2.0, split=split if split == 12 else None
    )
    K += np.eye(30, dtype=dtype)
    rho = np.where(np.arange(30) < split, 0.3, -0.7)
    p = y * (rho - K.astype(float) @ (y * solution))
    shift = 0.05 * np.random.default_rng(1).normal(size=30)
    for group in (slice(None, split), slice(split, None)):
        shift[group] -= shift[group].mean() if shift[group].size else 0.0
    alpha = solution + y * shift
    assert check(K, y, C, alpha, K.astype(float) @ (y * alpha) + y * p, p, split, steps=1)
    assert_allclose(alpha, solution, atol=1e-4 if dtype == np.float32 else 1e-10)


@examples(150)
@given(
    n=st.integers(1, 40),
    rank=st.integers(1, 40),
    seed=st.integers(0, 10_000),
    bound=st.sampled_from([1e-6, 0.3, 1.0, 1e6, np.inf]),
    share=st.floats(0, 1),
    dtype=st.sampled_from(DTYPES),
    edges=st.booleans(),
)
def test_feasible_and_downhill_always(n, rank, seed, bound, share, dtype, edges):
    """Singular K, tiny and infinite boxes, groups of any size, variables at their bounds."""
    split = round(share * n)
    K, y, C, alpha, f, p = problem(n, min(rank, n), seed, bound, dtype, split)
    if edges:
        alpha[::3] = 0
        if np.isfinite(bound):
            alpha[1::3] = bound
        f = K.astype(float) @ (y * alpha) + y * p
    check(K, y, C, alpha, f, p, split)


@pytest.mark.parametrize("bound", [1.0, 100.0, np.inf])
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_indefinite_and_degenerate_matrices(scale, bound):
    rng = np.random.default_rng(0)
    S = rng.normal(size=(20, 20))
    zero, ones = np.zeros((20, 20)), np.ones((20, 20))
    for K in (S + S.T, -np.eye(20), zero, ones, ones + 1e-15 * (S + S.T)):
        K = scale * K
        _, y, C, alpha, _, p = problem(20, bound=bound)
        check(K, y, C, alpha, K @ (y * alpha) + y * p, p, 20)


def test_duplicates_of_both_signs():
    """Rows that stand twice, with opposite signs: the directions between them are flat."""
    K, y, C, alpha, _, p = problem(24, 3)
    K = np.tile(K[:12, :12], (2, 2))
    y[12:], p[12:] = -y[:12], -p[:12]
    check(K, y, C, alpha, K @ (y * alpha) + y * p, p, 24)


@pytest.mark.parametrize("shared", [1, 3])
def test_rows_of_both_groups(shared):
    """ν-regression with ε = 0: some rows are free above and below, and H is singular.

    f is far from 0 and equal at the solution; the steps end there up to rounding.
    """
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 12))
    rows = np.r_[:8, 8 - shared : 12]
    K = (A @ A.T / 12 + np.eye(12))[np.ix_(rows, rows)]
    y = np.where(np.arange(len(rows)) < 8, 1.0, -1.0)
    solution = rng.uniform(0.4, 0.6, len(rows))
    p = y * (-1.4 - K @ (y * solution))
    shift = 1e-3 * rng.normal(size=len(rows))
    for group in (slice(None, 8), slice(8, None)):
        shift[group] -= shift[group].mean()
    alpha = solution + shift
    f = K @ (y * alpha) + y * p
    assert np.ptp(f) > 1e-4
    assert check(K, y, np.ones(len(rows)), alpha, f, p, 8, tol=1e-13)
    assert_allclose(f, -1.4, rtol=0, atol=1e-12)


def test_nothing_is_free():
    K, y, C, _, _, p = problem(10)
    for alpha in (np.zeros(10), C.copy(), np.r_[0.5, C[1:]]):  # one alone cannot move either
        f = K @ (y * alpha) + y * p
        before, g = alpha.copy(), f.copy()
        newton_steps(K, y, C, alpha, f, 10, 1e-9)
        assert_array_equal(alpha, before)
        assert_array_equal(f, g)


def test_a_solution_is_left_as_it_is():
    K, y, C, alpha, _, _ = problem(10)
    f = np.full(10, 0.7) + 1e-12 * np.arange(10)
    before = alpha.copy()
    assert newton_steps(K, y, C, alpha, f, 10, 1e-9)
    assert_array_equal(alpha, before)


def test_numbers_of_steps():
    """Each takes the objective down; those that are many find what SMO finds."""
    K, y, C, alpha, f, p = problem(40, bound=0.6, seed=3)
    ends = []
    for steps in (0, 1, 8):
        a, g = alpha.copy(), f.copy()
        check(K, y, C, a, g, p, 40, steps=steps)
        ends.append(objective(K, y, a, p))
    assert ends[0] == objective(K, y, alpha, p)
    assert ends[2] <= ends[1] < ends[0]
