"""The interior-point method against optimality itself, on problems where SMO hardly advances."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose

from lanes import examples
from mercer import _native
from mercer.solvers.smo.dual import DualProblem
from mercer.solvers.smo.interior_point import interior_point

KINDS = ("classification", "regression", "nu_classification", "nu_regression", "one_class")


def problem(kind, n, decades, bound, seed, dtype=np.float64):
    """K of columns whose scales differ by decades, and a problem in the order of its groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) * 10.0 ** rng.uniform(-decades, decades, 6)
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    C = bound * rng.choice([0.5, 1.0], n)
    made = {
        "classification": lambda: DualProblem.classification(y, C),
        "regression": lambda: DualProblem.regression(rng.normal(size=n), C, 0.1),
        "nu_classification": lambda: DualProblem.nu_classification(y, np.ones(n), 0.5),
        "nu_regression": lambda: DualProblem.nu_regression(rng.normal(size=n), C, 0.5),
        "one_class": lambda: DualProblem.one_class(C, 0.3),
    }[kind]()
    K = (X @ X.T).astype(dtype)
    return made, np.ascontiguousarray(K[np.ix_(made.rows, made.rows)])


def solve(made, K):
    """α, whether the objective fell, and the violation in units of the gradient."""
    alpha, offset, groups = made.feasible(), made.y * made.p, made.sums is not None
    split = int((made.y > 0).sum()) if groups else len(made.y)
    f = K.astype(float) @ (made.y * alpha) + offset
    before, size = alpha.copy(), np.abs(f).max()
    fell = interior_point(K, made.y, made.C, alpha, f, split)
    exact = K.astype(float) @ (made.y * alpha) + offset
    assert_allclose(f, exact, atol=1e-9 * max(size, np.abs(K).max() * np.abs(alpha).sum()))
    assert ((alpha >= 0) & (alpha <= made.C)).all()
    for part in (slice(None, split), slice(split, None)):
        sums = made.y[part] @ alpha[part], made.y[part] @ before[part]
        assert_allclose(*sums, atol=1e-12 * max(1, alpha.sum()))
    found = _native.smo_optimum(exact, offset, made.y, made.C, alpha, groups)
    return alpha, fell, found[0] / size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decades", [0, 6])
@pytest.mark.parametrize("bound", [1e-3, 1.0, 1e4])
def test_the_optimum_is_found_whatever_the_condition(kind, decades, bound):
    for seed in range(4):
        made, K = problem(kind, 60, decades, bound, seed)
        _, fell, violation = solve(made, K)
        assert fell
        assert violation < 1e-6


def test_the_optimum_is_that_of_many_small_steps():
    made, K = problem("classification", 30, 0, 1.0, 0)
    alpha, _, _ = solve(made, K)
    steps, f = np.zeros(30), -made.y
    assert _native.smo_solve(K, made.y, made.C, steps, f, 30, 1e-10, 0.0, 1_000_000) < 1_000_000
    assert_allclose(K @ (made.y * alpha), K @ (made.y * steps), atol=1e-7)


def test_rows_of_single_precision():
    for seed in range(4):
        made, K = problem("classification", 60, 3, 100.0, seed, np.float32)
        _, fell, violation = solve(made, K)
        assert fell
        assert violation < 1e-2  # the rounding of K times the size of α


@examples(100)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(2, 30),
    decades=st.integers(0, 12),
    bound=st.sampled_from([1e-12, 1.0, 1e12, np.inf]),
    scale=st.sampled_from([1e-100, 1.0, 1e100]),
    seed=st.integers(0, 1000),
)
def test_feasible_and_downhill_always(kind, n, decades, bound, scale, seed):
    if not np.isfinite(bound) and kind not in ("classification", "regression"):
        bound = 1.0
    made, K = problem(kind, n, decades, bound, seed)
    K = K * scale
    alpha, offset = made.feasible(), made.y * made.p
    split = int((made.y > 0).sum()) if made.sums is not None else len(made.y)
    f = K @ (made.y * alpha) + offset
    before, start = alpha.copy(), f.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # a hard margin that does not exist
        fell = interior_point(K, made.y, made.C, alpha, f, split)
    change = made.y * (alpha - before)
    assert ((alpha >= 0) & (alpha <= made.C)).all()
    if fell:
        terms = np.abs(start * change).sum() + np.abs(change) @ np.abs(K) @ np.abs(change)
        assert start @ change + change @ K @ change / 2 <= 1e-14 * terms
    else:
        assert (alpha == before).all()
        assert (f == start).all()


@pytest.mark.parametrize("K", [-np.eye(6), np.zeros((6, 6)), np.full((6, 6), 1e-320)], ids=str)
def test_matrices_without_an_answer_change_nothing_or_go_down(K):
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    alpha, f = np.zeros(6), -y
    interior_point(K, y, np.ones(6), alpha, f, 6)
    assert ((alpha >= 0) & (alpha <= 1)).all()
    assert_allclose(y @ alpha, 0, atol=1e-12)
